/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.h - what reduce.c, which walks, and reduce_kernels.c, which
 * accumulates, know of each other
 *
 * Up to TPI_REDUCE_BLOCK neighbouring outputs are worked on together, so that
 * there is something to do while an addition is under way.
 */
#ifndef TPI_OPS_REDUCE_H
#define TPI_OPS_REDUCE_H

#include "../op.h"

#define TPI_REDUCE_BLOCK 32

struct tpi_reduce_block {
	union {
		double d[TPI_REDUCE_BLOCK];
		uint64_t u[TPI_REDUCE_BLOCK];
		int64_t i[TPI_REDUCE_BLOCK];
	} acc;
	double largest[TPI_REDUCE_BLOCK]; /* so far; of log_sum_exp */
	size_t n_outputs;
	bool is_first; /* the accumulators have no value yet */
	uint64_t n_reduced;
};

/*
 * Two tables by dtype for each reduction.
 * step: data[1] is the input of the first output; steps[0] leads to the next
 * output's, steps[1] to the next of n elements that one output takes.
 * end: data[0] is the outputs, which are packed.
 */
#define TPI_REDUCTIONS(X) \
	X(sum)            \
	X(mean)           \
	X(max)            \
	X(min)            \
	X(prod)           \
	X(l1)             \
	X(l2)             \
	X(sum_square)     \
	X(log_sum)        \
	X(log_sum_exp)

#define TPI_REDUCTION_TABLES(name)                                       \
	extern tp_loop_fn *const tpi_reduce_step_##name[TP_DTYPE_COUNT]; \
	extern tp_loop_fn *const tpi_reduce_end_##name[TP_DTYPE_COUNT];
TPI_REDUCTIONS(TPI_REDUCTION_TABLES)

#endif
