/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - pairs of dtypes that have a fast loop of their own
 *
 * A kernel does what number.c would do, bit for bit, and nothing else depends
 * on which of the two ran.
 */
#ifndef TPI_KERNELS_H
#define TPI_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "tp/convert.h"
#include "tp/dtype.h"

/* Elements given to a kernel at once, at most. */
#define TPI_KERNEL_BLOCK 2048

/* What a counting kernel saw, as in struct tp_cast_stats. */
struct tpi_counts {
	uint32_t n_overflow, n_to_zero, n_to_subnormal;
	uint32_t n_nan, n_inf, n_inexact;
	double max_rel; /* of the block, at most 2^-21 of itself off */
};

struct tpi_kernel {
	enum tp_dtype dst, src;
	/* Convert; an overflow gets what the policy says, ERROR as INF. */
	void (*convert)(void *restrict dst, const void *restrict src, size_t n,
	    enum tp_overflow overflow);
	/* The same, and count. */
	void (*count)(void *restrict dst, const void *restrict src, size_t n,
	    enum tp_overflow overflow, struct tpi_counts *counts);
	/* The relative error of each element, 0 where it does not count. */
	void (*errors)(double *restrict errors, const void *restrict src,
	    size_t n, enum tp_overflow overflow);
};

/* Lists that end with dst TP_DTYPE_NONE. */
extern const struct tpi_kernel tpi_narrow_kernels[];
extern const struct tpi_kernel tpi_widen_kernels[];

#endif
