/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.h - what operators of quantized numbers share */
#ifndef TPI_OPS_QUANTIZE_H
#define TPI_OPS_QUANTIZE_H

#include "../op.h"

/*
 * Whole numbers as integers of up to 32 bits, the nearest there is where they
 * are out of range, the least for NaN. At most a chunk; dst begins on a byte.
 */
void tpi_store_saturated(
    enum tp_dtype dtype, const double *x, size_t n, void *dst);

#endif
