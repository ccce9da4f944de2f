/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_kernels.h - what becomes of an element that an update meets */
#ifndef TPI_OPS_SCATTER_KERNELS_H
#define TPI_OPS_SCATTER_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"

enum tpi_scatter {
	TPI_SCATTER_NONE, /* the update replaces it */
	TPI_SCATTER_ADD,
	TPI_SCATTER_MUL,
	TPI_SCATTER_MAX,
	TPI_SCATTER_MIN,
	TPI_SCATTER_COUNT,
};

/*
 * n updates, in order: the i-th for the element at dst + offsets[i] bytes or,
 * where offsets is NULL, for the i-th from dst on.
 */
typedef void tpi_scatter_fn(
    char *dst, const int64_t *offsets, const char *updates, size_t n);

/*
 * Integers, bool (add is or, mul is and), f64, and c128 but for the extremes;
 * NULL for the rest.
 */
tpi_scatter_fn *tpi_scatter_kernel(enum tpi_scatter how, enum tp_dtype dtype);

#endif
