/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fn_matmul.c - matmul: gradients and batches
 *
 * Both see vectors as matrices with one row or one column.
 */
#include "fn.h"

#include <string.h>

#include "tp/ops.h"
#include "tp/shape.h"
#include "tp/view.h"

#include "batch.h"
#include "tensor.h"

#include "banned.h"

/* A new axis of size 1, where wanted. */
static const struct tp_tensor *
unsqueeze(struct tpi_calc *c, const struct tp_tensor *t, int axis, bool wanted)
{
	struct tp_tensor *made = NULL;

	if (c->rc || !wanted)
		return c->rc ? NULL : t;
	return tpi_calc_keep(
	    c, tp_tensor_unsqueeze(t, axis, &made, c->err), &made);
}

static const struct tp_tensor *
transpose(struct tpi_calc *c, const struct tp_tensor *t)
{
	struct tp_tensor *made = NULL;

	return c->rc
		   ? NULL
		   : tpi_calc_keep(c,
			 tp_tensor_transpose(t, -1, -2, &made, c->err), &made);
}

/* g bᵀ for a, aᵀ g for b; summed where the matrices were repeated. */
static enum tp_status
back_matmul(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	bool row = n->ranks[0] == 1, column = n->ranks[1] == 1;
	const struct tp_tensor *other = n->saved[1 - k].t, *t;
	int64_t sizes[TP_MAX_RANK];
	struct tp_tensor *made = NULL;
	unsigned rank = n->ranks[k];

	g = unsqueeze(&c, g, -1, column);
	g = unsqueeze(&c, g, -2, row);
	other = unsqueeze(&c, other, k == 0 ? -1 : -2, k == 0 ? column : row);
	t = transpose(&c, other);
	t = k == 0 ? tpi_calc2(&c, tp_matmul, g, t)
		   : tpi_calc2(&c, tp_matmul, t, g);
	if (c.rc)
		return tpi_calc_end(&c, NULL, out);
	/* The shape that this input had as a matrix, then its own. */
	memcpy(sizes, n->sizes[k], rank * sizeof(*sizes));
	if (rank == 1) {
		sizes[1] = k == 0 ? sizes[0] : 1;
		sizes[0] = k == 0 ? 1 : sizes[0];
		rank = 2;
	}
	t = tpi_calc_keep(&c, tpi_reduce_to(t, sizes, rank, &made, err), &made);
	made = NULL;
	if (!c.rc && rank != n->ranks[k])
		t = tpi_calc_keep(&c,
		    tp_reshape(t, n->sizes[k], n->ranks[k], &made, err), &made);
	return tpi_calc_end(&c, t, out);
}

/* An input with its rank made 2 at least, then aligned behind the batch. */
static const struct tp_tensor *
as_matrices(struct tpi_calc *c, const struct tpi_batch_call *b, unsigned k,
    unsigned rank)
{
	struct tpi_batch_call matrix = *b;
	const struct tp_tensor *t = b->in[k];
	int64_t sizes[TP_MAX_RANK];
	struct tp_tensor *made = NULL;
	unsigned n = b->is_batch[k];

	if (!c->rc && b->ranks[k] == 1) {
		if (n)
			sizes[0] = tp_tensor_sizes(t)[0];
		sizes[n] = k == 0 ? 1 : tp_tensor_sizes(t)[n];
		sizes[n + 1] = k == 0 ? tp_tensor_sizes(t)[n] : 1;
		t = tpi_calc_keep(
		    c, tp_reshape(t, sizes, n + 2, &made, c->err), &made);
		matrix.in[k] = t;
		matrix.ranks[k] = 2;
	}
	return tpi_batch_align(c, &matrix, k, rank);
}

static enum tp_status
batch(const struct tpi_fn *fn, const struct tpi_batch_call *b,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	bool row = b->ranks[0] == 1, column = b->ranks[1] == 1;
	const struct tp_tensor *x, *y, *t;
	int64_t sizes[TP_MAX_RANK];
	struct tp_tensor *made = NULL;
	unsigned rank = 2, n = 0;

	(void)fn;
	*out = NULL;
	if (b->ranks[0] == 0 || b->ranks[1] == 0)
		return tp_fail(
		    err, TP_EARG, TP_NO_OFFSET, "matmul of a scalar");
	for (unsigned k = 0; k < 2; k++)
		rank = b->ranks[k] > rank ? b->ranks[k] : rank;
	x = as_matrices(&c, b, 0, rank);
	y = as_matrices(&c, b, 1, rank);
	t = tpi_calc2(&c, tp_matmul, x, y);
	if (!c.rc && (row || column)) {
		for (unsigned d = 0; d <= rank; d++)
			if (!(row && d == rank - 1) && !(column && d == rank))
				sizes[n++] = tp_tensor_sizes(t)[d];
		t = tpi_calc_keep(
		    &c, tp_reshape(t, sizes, n, &made, err), &made);
	}
	return tpi_calc_end(&c, t, out);
}

TPI_FN(matmul, "MatMul", tpi_forward_op, batch, TPI_SAVE(1), TPI_SAVE(0));
