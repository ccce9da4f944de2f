/* SPDX-License-Identifier: Apache-2.0 */
/* fn_reduce.c - sum, mean, max: running, gradients, batches */
#include "fn.h"

#include <string.h>

#include "tp/op.h"
#include "tp/ops.h"
#include "tp/shape.h"
#include "tp/view.h"

#include "tensor.h"

#include "banned.h"

/* An i64 tensor of the axes, over memory that is there while it is used. */
static enum tp_status
axes_tensor(const struct tpi_args *args, const struct tp_alloc *alloc,
    struct tp_tensor **out, struct tp_err *err)
{
	const int64_t sizes[] = {args->n};
	enum tp_status rc =
	    tp_tensor_empty(alloc, TP_DTYPE_I64, sizes, 1, out, err);

	if (!rc && args->n)
		memcpy(tp_tensor_data_mut(*out), args->list,
		    args->n * sizeof(int64_t));
	return rc;
}

static enum tp_status
forward(const struct tpi_fn *fn, const struct tpi_args *args,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_attr attrs[] = {
	    {.name = TP_STR("keepdims"),
		.kind = TP_ATTR_INT,
		.i = args->keepdims},
	    {.name = TP_STR("noop_with_empty_axes"),
		.kind = TP_ATTR_INT,
		.i = 1},
	};
	struct tp_tensor *axes = NULL;
	enum tp_status rc = axes_tensor(args, in[0]->alloc, &axes, err);

	(void)n_in;
	*out = NULL;
	if (!rc) {
		const struct tp_tensor *both[] = {in[0], axes};

		rc = tpi_run_op(fn->onnx, attrs, 2, both, 2, into, out, err);
	}
	tp_tensor_free(axes);
	return rc;
}

/* Axes behind the batch are one further. */
static enum tp_status
batch(const struct tpi_fn *fn, const struct tpi_batch_call *b,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_args args = *b->args;
	int64_t list[TP_MAX_RANK];

	for (unsigned i = 0; i < args.n; i++)
		list[i] = args.list[i] + 1;
	args.list = list;
	return tpi_apply(fn, &args, b->in, b->n_in, NULL, out, err);
}

/* g (or y) with the reduced axes as size 1: a view. */
static const struct tp_tensor *
with_axes(
    struct tpi_calc *c, const struct tpi_node *n, const struct tp_tensor *g)
{
	bool is_reduced[TP_MAX_RANK] = {false};

	for (unsigned i = 0; i < n->args.n; i++)
		is_reduced[n->args.list[i]] = true;
	for (unsigned d = 0; d < n->ranks[0] && !n->args.keepdims; d++) {
		struct tp_tensor *next = NULL;
		enum tp_status rc;

		if (!is_reduced[d] || c->rc)
			continue;
		/* The last is enough to keep. */
		rc = tp_tensor_unsqueeze(g, (int)d, &next, c->err);
		if (c->n && c->temps[c->n - 1] == g)
			tp_tensor_free(c->temps[--c->n]);
		g = tpi_calc_keep(c, rc, &next);
	}
	return g;
}

static enum tp_status
back_sum(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	struct tp_tensor *full = NULL;

	(void)k;
	g = with_axes(&c, n, g);
	if (!c.rc)
		g = tpi_calc_keep(&c,
		    tp_tensor_expand(g, n->sizes[0], n->ranks[0], &full, err),
		    &full);
	return tpi_calc_end(&c, g, out);
}

static double
count_reduced(const struct tpi_node *n)
{
	double count = 1;

	for (unsigned i = 0; i < n->args.n; i++)
		count *= (double)n->sizes[0][n->args.list[i]];
	return count;
}

static enum tp_status
back_mean(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *part = NULL;
	enum tp_status rc = tpi_grad_scale(g, 1 / count_reduced(n), &part, err);

	*out = NULL;
	if (!rc)
		rc = back_sum(n, k, part, out, err);
	tp_tensor_free(part);
	return rc;
}

/* Shared evenly by all elements that are the largest. */
static enum tp_status
back_max(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	const struct tp_tensor *x = n->saved[0].t, *y, *is_max, *share;
	struct tp_tensor *made = NULL;
	int axes[TP_MAX_RANK];

	(void)k;
	for (unsigned i = 0; i < n->args.n; i++)
		axes[i] = (int)n->args.list[i];
	y = with_axes(&c, n, n->saved[TPI_FN_INPUTS].t);
	if (c.rc)
		return tpi_calc_end(&c, NULL, out);
	is_max = tpi_calc_keep(
	    &c, tpi_grad_binary(TPI_GRAD_EQUAL, x, y, &made, err), &made);
	g = c.rc ? NULL : with_axes(&c, n, g);
	made = NULL;
	if (!c.rc) {
		enum tp_status rc =
		    tp_sum(is_max, axes, n->args.n, true, &made, err);

		share = tpi_calc_keep(&c, rc, &made);
		share = tpi_calc2(&c, tp_div, g, share);
		g = tpi_calc2(&c, tp_mul, is_max, share);
	}
	return tpi_calc_end(&c, g, out);
}

enum tp_status
tpi_reduce_to(const struct tp_tensor *g, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *sum = NULL;
	int axes[TP_MAX_RANK];
	unsigned n = 0;
	enum tp_status rc;

	*out = NULL;
	for (unsigned d = 0; d < g->rank; d++) {
		unsigned lead = g->rank - rank;

		if (d < lead ||
		    (sizes[d - lead] == 1 && tp_tensor_sizes(g)[d] != 1))
			axes[n++] = (int)d;
	}
	if (n == 0)
		return tp_tensor_alias(g, out, err);
	rc = tp_sum(g, axes, n, true, &sum, err);
	if (!rc)
		rc = tp_tensor_reshape(sum, sizes, rank, out, err);
	tp_tensor_free(sum);
	return rc;
}

TPI_FN(sum, "ReduceSum", forward, batch, 0);
TPI_FN(mean, "ReduceMean", forward, batch, 0);
TPI_FN(max, "ReduceMax", forward, batch, TPI_SAVE(0) | TPI_SAVE_OUT);
