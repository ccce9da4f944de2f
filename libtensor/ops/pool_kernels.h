/* SPDX-License-Identifier: Apache-2.0 */
/* pool_kernels.h - what pools do with a row of numbers, by dtype */
#ifndef TPI_OPS_POOL_KERNELS_H
#define TPI_OPS_POOL_KERNELS_H

#include "../op.h"

/* What a kernel knows of a tap. */
struct tpi_pool_tap {
	double p;		   /* of powers */
	int64_t place, place_step; /* of number i: place + i * place_step */
};

/*
 * n accumulators (doubles) at data[0] take numbers data[1], steps[1] apart. The
 * ctx is the tap. find: the largest too, and its place goes to data[2]
 * (int64_t, -1 before).
 */
extern tp_loop_fn *const tpi_pool_max[TP_DTYPE_COUNT];
extern tp_loop_fn *const tpi_pool_find[TP_DTYPE_COUNT];
extern tp_loop_fn *const tpi_pool_sum[TP_DTYPE_COUNT];
/* Sums of |x|, x², |x|^p. */
extern tp_loop_fn *const tpi_pool_l1[TP_DTYPE_COUNT];
extern tp_loop_fn *const tpi_pool_l2[TP_DTYPE_COUNT];
extern tp_loop_fn *const tpi_pool_lp[TP_DTYPE_COUNT];

/* n accumulators data[1] become packed elements data[0]. */
extern tp_loop_fn *const tpi_pool_end[TP_DTYPE_COUNT];

#endif
