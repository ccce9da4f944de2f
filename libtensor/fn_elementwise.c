/* SPDX-License-Identifier: Apache-2.0 */
/* fn_elementwise.c - exp … pow: gradients, and batches */
#include "fn.h"

#include "tp/ops.h"

#include "batch.h"
#include "tensor.h"

#include "banned.h"

#define OUT(node) ((node)->saved[TPI_FN_INPUTS].t)
#define IN(node, k) ((node)->saved[k].t)

/* Exponents of another dtype would have gradients of it. */
static enum tp_status
forward_pow(const struct tpi_fn *fn, const struct tpi_args *args,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tp_tensor **out, struct tp_err *err)
{
	if (in[0]->dtype == in[1]->dtype)
		return tpi_forward_op(fn, args, in, n_in, into, out, err);
	*out = NULL;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "pow: input 1 has dtype %s, input 0 has %s",
	    tp_dtype_name(in[1]->dtype), tp_dtype_name(in[0]->dtype));
}

static enum tp_status
batch(const struct tpi_fn *fn, const struct tpi_batch_call *b,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_tensor *in[TPI_FN_INPUTS] = {NULL};
	struct tpi_calc c = {.err = err};
	struct tp_tensor *made = NULL;
	unsigned rank = 0;
	enum tp_status rc;

	if (out)
		*out = NULL;
	for (unsigned k = 0; k < b->n_in; k++)
		rank = b->ranks[k] > rank ? b->ranks[k] : rank;
	if (b->into && b->ranks[0] < rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s in place: a result of rank %u into one of rank %u",
		    fn->name, rank, b->ranks[0]);
	for (unsigned k = 0; k < b->n_in; k++)
		in[k] = tpi_batch_align(&c, b, k, rank);
	if (!c.rc)
		c.rc = tpi_apply(fn, b->args, in, b->n_in, b->into,
		    b->into ? NULL : &made, err);
	if (b->into || c.rc) {
		struct tp_tensor *none = NULL;

		rc = tpi_calc_end(&c, b->in[0], &none);
		tp_tensor_free(none);
		return rc;
	}
	return tpi_calc_end(&c, tpi_calc_keep(&c, TP_OK, &made), out);
}

static enum tp_status
back_exp(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	(void)k;
	return tp_mul(g, OUT(n), out, err);
}

static enum tp_status
back_log(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	return tp_div(g, IN(n, k), out, err);
}

static const struct tp_tensor *
one_like(struct tpi_calc *c, const struct tp_tensor *t)
{
	struct tp_tensor *one = NULL;

	return tpi_calc_keep(
	    c, tp_scalar(t->alloc, t->dtype, 1, &one, c->err), &one);
}

/* 1 - y * y */
static enum tp_status
back_tanh(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	const struct tp_tensor *y = OUT(n), *t;

	(void)k;
	t = tpi_calc2(&c, tp_mul, y, y);
	t = tpi_calc2(&c, tp_sub, one_like(&c, y), t);
	return tpi_calc_end(&c, tpi_calc2(&c, tp_mul, g, t), out);
}

/* y * (1 - y) */
static enum tp_status
back_sigmoid(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	const struct tp_tensor *y = OUT(n), *t;

	(void)k;
	t = tpi_calc2(&c, tp_sub, one_like(&c, y), y);
	t = tpi_calc2(&c, tp_mul, t, y);
	return tpi_calc_end(&c, tpi_calc2(&c, tp_mul, g, t), out);
}

static enum tp_status
back_relu(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	(void)k;
	return tpi_grad_binary(TPI_GRAD_POSITIVE, g, OUT(n), out, err);
}

static enum tp_status
back_abs(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	return tpi_grad_binary(TPI_GRAD_SIGNED, g, IN(n, k), out, err);
}

/* g / (2 * y) */
static enum tp_status
back_sqrt(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	const struct tp_tensor *y = OUT(n), *t;

	(void)k;
	t = tpi_calc2(&c, tp_add, y, y);
	return tpi_calc_end(&c, tpi_calc2(&c, tp_div, g, t), out);
}

static enum tp_status
back_neg(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	(void)n;
	(void)k;
	return tp_neg(g, out, err);
}

/* The end of the gradient of a binary function: what was repeated, summed. */
static enum tp_status
end_binary(struct tpi_calc *c, const struct tpi_node *n, unsigned k,
    const struct tp_tensor *g, struct tp_tensor **out)
{
	struct tp_tensor *sum = NULL;

	if (!c->rc) {
		enum tp_status rc =
		    tpi_reduce_to(g, n->sizes[k], n->ranks[k], &sum, c->err);

		g = tpi_calc_keep(c, rc, &sum);
	}
	return tpi_calc_end(c, g, out);
}

static enum tp_status
back_add(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};

	return end_binary(&c, n, k, g, out);
}

static enum tp_status
back_sub(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};

	if (k == 1)
		g = tpi_calc1(&c, tp_neg, g);
	return end_binary(&c, n, k, g, out);
}

static enum tp_status
back_mul(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};

	return end_binary(
	    &c, n, k, tpi_calc2(&c, tp_mul, g, IN(n, 1 - k)), out);
}

/* g / b for a; -g * y / b for b */
static enum tp_status
back_div(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	const struct tp_tensor *t = tpi_calc2(&c, tp_div, g, IN(n, 1));

	if (k == 1) {
		t = tpi_calc2(&c, tp_mul, t, OUT(n));
		t = tpi_calc1(&c, tp_neg, t);
	}
	return end_binary(&c, n, k, t, out);
}

static enum tp_status
back_pow(const struct tpi_node *n, unsigned k, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_calc c = {.err = err};
	struct tp_tensor *made = NULL;
	const struct tp_tensor *t;
	enum tp_status rc =
	    tpi_grad_binary(k == 0 ? TPI_GRAD_POW_BASE : TPI_GRAD_POW_EXPONENT,
		IN(n, 0), IN(n, 1), &made, err);

	t = tpi_calc_keep(&c, rc, &made);
	t = tpi_calc2(&c, tp_mul, g, t);
	return end_binary(&c, n, k, t, out);
}

#define FN(op, onnx_name, ...) \
	TPI_FN(op, onnx_name, tpi_forward_op, batch, __VA_ARGS__)

FN(exp, "Exp", TPI_SAVE_OUT);
FN(log, "Log", TPI_SAVE(0));
FN(tanh, "Tanh", TPI_SAVE_OUT);
FN(relu, "Relu", TPI_SAVE_OUT);
FN(sigmoid, "Sigmoid", TPI_SAVE_OUT);
FN(sqrt, "Sqrt", TPI_SAVE_OUT);
FN(neg, "Neg", 0);
FN(abs, "Abs", TPI_SAVE(0));
FN(add, "Add", 0);
FN(sub, "Sub", 0);
FN(mul, "Mul", TPI_SAVE(1), TPI_SAVE(0));
FN(div, "Div", TPI_SAVE(1), TPI_SAVE(1) | TPI_SAVE_OUT);
TPI_FN(pow, "Pow", forward_pow, batch, TPI_SAVE(0) | TPI_SAVE(1),
    TPI_SAVE(0) | TPI_SAVE(1));
