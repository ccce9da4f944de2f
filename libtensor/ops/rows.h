/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - the same function for every row along an axis of some tensors
 *
 * A kernel makes one row: kernel(ctx, data, steps, n), where ctx is a struct
 * tpi_row. data[k] is the row of operand k, whose elements are steps[k] bytes
 * apart; NULL if the operand is absent or a row has no elements. An operand
 * with one element along the axis has the same for all of the row: its step
 * is 0.
 */
#ifndef TPI_OPS_ROWS_H
#define TPI_OPS_ROWS_H

#include "../op.h"

struct tpi_row {
	const void *how; /* of struct tpi_rows */
	double *scratch; /* n_scratch doubles, for this row alone */
};

struct tpi_rows {
	tp_loop_fn *kernel;
	const void *how; /* what the kernel has to know */
	/*
	 * Of one rank, and of one shape but for the axis and for what
	 * broadcasts to those that are written, which come first.
	 */
	const struct tp_tensor *operands[TP_ITER_OPERANDS];
	unsigned n_written, n_operands;
	unsigned axis;
	int64_t n; /* elements of a row */
	size_t n_scratch;
};

enum tp_status tpi_rows_run(
    const struct tpi_call *c, const struct tpi_rows *rows, struct tp_err *err);

/*
 * The first `lead` axes of t and behind them all others as one, so that a row
 * along axis `lead` is packed. A view if t is row-major, else a copy.
 */
enum tp_status tpi_rows_flatten(const struct tp_tensor *t, unsigned lead,
    struct tp_tensor **out, struct tp_err *err);
/*
 * After rows of flat, which was made of t, were written: they are in t then.
 * Frees flat.
 */
enum tp_status tpi_rows_unflatten(
    struct tp_tensor *flat, struct tp_tensor *t, struct tp_err *err);

#endif
