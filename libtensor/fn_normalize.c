/* SPDX-License-Identifier: Apache-2.0 */
/* fn_normalize.c - softmax, layer_norm: running, gradients, batches */
#include "fn.h"

#include "tp/op.h"
#include "tp/ops.h"
#include "tp/shape.h"

#include "batch.h"
#include "tensor.h"

#include "banned.h"

static enum tp_status
forward_softmax(const struct tpi_fn *fn, const struct tpi_args *args,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_attr axis = {
	    .name = TP_STR("axis"), .kind = TP_ATTR_INT, .i = args->axis};

	return tpi_run_op(fn->onnx, &axis, 1, in, n_in, into, out, err);
}

static const struct tp_tensor *
sum_axis(struct tpi_calc *c, const struct tp_tensor *t, int axis)
{
	struct tp_tensor *made = NULL;

	return c->rc ? NULL
		     : tpi_calc_keep(
			   c, tp_sum(t, &axis, 1, true, &made, c->err), &made);
}

/* y * (g - sum(g * y)) */
static enum tp_status
back_softmax(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	const struct tp_tensor *y = n->saved[TPI_FN_INPUTS].t, *t;

	(void)k;
	t = tpi_calc2(&c, tp_mul, g, y);
	t = sum_axis(&c, t, n->args.axis);
	t = tpi_calc2(&c, tp_sub, g, t);
	return tpi_calc_end(&c, tpi_calc2(&c, tp_mul, y, t), out);
}

static enum tp_status
batch_softmax(const struct tpi_fn *fn, const struct tpi_batch_call *b,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_args args = *b->args;

	args.axis++;
	return tpi_apply(fn, &args, b->in, b->n_in, NULL, out, err);
}

static enum tp_status
forward_layer_norm(const struct tpi_fn *fn, const struct tpi_args *args,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_attr attrs[] = {
	    {.name = TP_STR("axis"), .kind = TP_ATTR_INT, .i = args->axis},
	    {.name = TP_STR("epsilon"),
		.kind = TP_ATTR_FLOAT,
		.f = args->epsilon},
	};

	return tpi_run_op(fn->onnx, attrs, 2, in, n_in, into, out, err);
}

/* The mean over the normalised axes. */
static const struct tp_tensor *
mean(struct tpi_calc *c, const struct tpi_node *n, const struct tp_tensor *t)
{
	struct tp_tensor *made = NULL;
	int axes[TP_MAX_RANK];
	unsigned n_axes = 0;

	for (unsigned d = (unsigned)n->args.axis; d < n->ranks[0]; d++)
		axes[n_axes++] = (int)d;
	return c->rc
		   ? NULL
		   : tpi_calc_keep(c,
			 tp_mean(t, axes, n_axes, true, &made, c->err), &made);
}

/* 1 / sqrt(variance + epsilon), and (x - mean) times it. */
static const struct tp_tensor *
normalise(struct tpi_calc *c, const struct tpi_node *n,
    const struct tp_tensor **inverse)
{
	const struct tp_tensor *x = n->saved[0].t, *d, *v;
	struct tp_tensor *eps = NULL, *one = NULL;

	d = tpi_calc2(c, tp_sub, x, mean(c, n, x));
	v = mean(c, n, tpi_calc2(c, tp_mul, d, d));
	if (c->rc)
		return NULL;
	tpi_calc_keep(c,
	    tp_scalar(x->alloc, x->dtype, n->args.epsilon, &eps, c->err), &eps);
	v = tpi_calc1(c, tp_sqrt, tpi_calc2(c, tp_add, v, eps));
	if (c->rc)
		return NULL;
	tpi_calc_keep(c, tp_scalar(x->alloc, x->dtype, 1, &one, c->err), &one);
	*inverse = tpi_calc2(c, tp_div, one, v);
	return tpi_calc2(c, tp_mul, d, *inverse);
}

/*
 * With z the normalised x and h = g * scale:
 *	x	(h - mean(h) - z * mean(h * z)) / sqrt(variance + epsilon)
 *	scale	g * z, summed where it was repeated
 *	bias	g, summed where it was repeated
 */
static enum tp_status
back_layer_norm(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	const struct tp_tensor *z, *inverse = NULL, *h = g, *t;
	const struct tp_tensor *scale = n->saved[1].t;
	struct tp_tensor *made = NULL;

	if (k == 2)
		return tpi_reduce_to(g, n->sizes[2], n->ranks[2], out, err);
	z = normalise(&c, n, &inverse);
	if (k == 1) {
		t = tpi_calc2(&c, tp_mul, g, z);
		if (!c.rc)
			t = tpi_calc_keep(&c,
			    tpi_reduce_to(
				t, n->sizes[1], n->ranks[1], &made, err),
			    &made);
		return tpi_calc_end(&c, t, out);
	}
	if (scale)
		h = tpi_calc2(&c, tp_mul, g, scale);
	t = tpi_calc2(&c, tp_mul, z, mean(&c, n, tpi_calc2(&c, tp_mul, h, z)));
	t = tpi_calc2(&c, tp_sub, tpi_calc2(&c, tp_sub, h, mean(&c, n, h)), t);
	return tpi_calc_end(&c, tpi_calc2(&c, tp_mul, t, inverse), out);
}

/*
 * If only scale or bias is a batch, x is repeated for each example: the
 * parameters have to broadcast to x.
 */
static enum tp_status
batch_layer_norm(const struct tpi_fn *fn, const struct tpi_batch_call *b,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	const struct tp_tensor *in[TPI_FN_INPUTS] = {b->in[0], NULL, NULL};
	struct tpi_args args = *b->args;
	struct tp_tensor *made = NULL;
	int64_t sizes[TP_MAX_RANK];
	unsigned rank = b->ranks[0];

	*out = NULL;
	args.axis++;
	if (!b->is_batch[0]) {
		if (rank + 1 > TP_MAX_RANK)
			return tp_fail(
			    err, TP_ELIMIT, TP_NO_OFFSET, "rank %u", rank + 1);
		sizes[0] = b->size;
		for (unsigned d = 0; d < rank; d++)
			sizes[d + 1] = tp_tensor_sizes(in[0])[d];
		in[0] = tpi_calc_keep(
		    &c, tp_expand(in[0], sizes, rank + 1, &made, err), &made);
	}
	for (unsigned k = 1; k < b->n_in; k++)
		if (b->in[k])
			in[k] = tpi_batch_align(&c, b, k, rank);
	made = NULL;
	if (!c.rc) {
		enum tp_status rc =
		    tpi_apply(fn, &args, in, b->n_in, NULL, &made, err);

		in[0] = tpi_calc_keep(&c, rc, &made);
	}
	return tpi_calc_end(&c, in[0], out);
}

TPI_FN(softmax, "Softmax", forward_softmax, batch_softmax, TPI_SAVE_OUT);
TPI_FN(layer_norm, "LayerNormalization", forward_layer_norm, batch_layer_norm,
    TPI_SAVE(0) | TPI_SAVE(1), TPI_SAVE(0), 0);
