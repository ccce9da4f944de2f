/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax.h - Softmax and its logarithm of one row of doubles, in place
 *
 * The largest element is taken from all, so that no exponent is above 0. NaN
 * counts as the largest: the whole row becomes NaN.
 */
#ifndef TPI_OPS_SOFTMAX_H
#define TPI_OPS_SOFTMAX_H

#include <stddef.h>

void tpi_softmax_row(double *e, size_t n);
void tpi_log_softmax_row(double *e, size_t n);

#endif
