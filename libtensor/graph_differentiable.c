/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_differentiable.c - operators as functions of tp/ops.h
 *
 * Most need nothing but their inputs. Those with axes or shapes have a rule
 * that finds them as the operator of that opset does.
 */
#include "graph_gradient.h"

#include "tp/ops.h"

#include "fn.h"
#include "op.h"
#include "tensor.h"

#include "banned.h"

typedef enum tp_status rule_fn(const struct tpi_call *c,
    const struct tpi_fn *fn, struct tp_tensor **out, struct tp_err *err);

/* Inputs alone; attributes of old opsets change what they mean. */
static enum tp_status
run_plain(const struct tpi_call *c, const struct tpi_fn *fn,
    struct tp_tensor **out, struct tp_err *err)
{
	static const struct tpi_args no_args;

	if (c->n_attrs)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "no gradient of %s with attributes", c->op->onnx);
	return tpi_apply(fn, &no_args, (const struct tp_tensor *const *)c->in,
	    (unsigned)c->n_in, NULL, out, err);
}

/* Another shape of the same elements, whichever infer says. */
static enum tp_status
run_reshaping(const struct tpi_call *c, const struct tpi_fn *fn,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_info info = tpi_info_of(c->in[0]);
	enum tp_status rc = c->op->infer ? c->op->infer(c, &info, err) : TP_OK;

	(void)fn;
	return rc ? rc : tp_reshape(c->in[0], info.sizes, info.rank, out, err);
}

static enum tp_status
run_expand(const struct tpi_call *c, const struct tpi_fn *fn,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_info info;
	enum tp_status rc = c->op->infer(c, &info, err);

	(void)fn;
	return rc ? rc : tp_expand(c->in[0], info.sizes, info.rank, out, err);
}

static enum tp_status
run_transpose(const struct tpi_call *c, const struct tpi_fn *fn,
    struct tp_tensor **out, struct tp_err *err)
{
	unsigned rank = c->in[0]->rank;
	int64_t perm[TP_MAX_RANK];
	int axes[TP_MAX_RANK];
	bool given;
	size_t n;
	enum tp_status rc =
	    tpi_int_list(c, "perm", TPI_OP_FEW, perm, &n, &given, err);

	(void)fn;
	for (unsigned d = 0; d < rank && d < TP_MAX_RANK; d++)
		axes[d] = given && d < n ? (int)perm[d] : (int)(rank - 1 - d);
	return rc ? rc
		  : tp_permute(
			c->in[0], axes, given ? (unsigned)n : rank, out, err);
}

static enum tp_status
run_reduce(const struct tpi_call *c, const struct tpi_fn *fn,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t axes[TP_MAX_RANK];
	struct tpi_args args = {
	    .list = axes, .keepdims = tpi_attr_int(c, "keepdims", 1) != 0};
	bool given;
	size_t n;
	enum tp_status rc = tpi_int_list(c, "axes", 1, axes, &n, &given, err);

	for (size_t i = 0; i < n && !rc; i++) {
		unsigned axis = 0;

		rc = tpi_op_axis(c, axes[i], x->rank, &axis, err);
		axes[i] = axis;
	}
	if (rc)
		return rc;
	/* No axes are all of them, or none at all. */
	if (n == 0 && !tpi_attr_int(c, "noop_with_empty_axes", 0))
		for (; n < x->rank; n++)
			axes[n] = (int64_t)n;
	args.n = (unsigned)n;
	return tpi_apply(fn, &args, &x, 1, NULL, out, err);
}

static enum tp_status
run_softmax(const struct tpi_call *c, const struct tpi_fn *fn,
    struct tp_tensor **out, struct tp_err *err)
{
	int64_t axis = tpi_attr_int(c, "axis", -1);
	unsigned found = 0;
	enum tp_status rc = tpi_op_axis(c, axis, c->in[0]->rank, &found, err);

	(void)fn;
	if (c->op->until)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "no gradient of Softmax before opset 13");
	return rc ? rc : tp_softmax(c->in[0], (int)found, out, err);
}

static enum tp_status
run_layer_norm(const struct tpi_call *c, const struct tpi_fn *fn,
    struct tp_tensor **out, struct tp_err *err)
{
	int64_t axis = tpi_attr_int(c, "axis", -1);
	unsigned found = 0;
	enum tp_status rc = tpi_op_axis(c, axis, c->in[0]->rank, &found, err);

	(void)fn;
	return rc ? rc
		  : tp_layer_norm(c->in[0], (int)found, c->in[1], c->in[2],
			tpi_attr_float(c, "epsilon", 1e-5), out, err);
}

/* All inputs, one after another. */
static enum tp_status
run_sum(const struct tpi_call *c, const struct tpi_fn *fn,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tp_tensor *sum = NULL;
	enum tp_status rc =
	    tp_reshape(x, tp_tensor_sizes(x), x->rank, &sum, err);

	(void)fn;

	for (size_t k = 1; k < c->n_in && !rc; k++) {
		struct tp_tensor *next = NULL;

		rc = tp_add(sum, c->in[k], &next, err);
		tp_tensor_free(sum);
		sum = next;
	}
	*out = sum;
	return rc;
}

static const struct rule {
	const char *onnx;
	const struct tpi_fn *fn;
	rule_fn *run;
} rules[] = {
    {"Abs", &tpi_fn_abs, run_plain},
    {"Add", &tpi_fn_add, run_plain},
    {"Div", &tpi_fn_div, run_plain},
    {"Exp", &tpi_fn_exp, run_plain},
    {"Expand", NULL, run_expand},
    {"Flatten", NULL, run_reshaping},
    {"Identity", NULL, run_reshaping},
    {"LayerNormalization", NULL, run_layer_norm},
    {"Log", &tpi_fn_log, run_plain},
    {"MatMul", &tpi_fn_matmul, run_plain},
    {"Mul", &tpi_fn_mul, run_plain},
    {"Neg", &tpi_fn_neg, run_plain},
    {"Pow", &tpi_fn_pow, run_plain},
    {"ReduceMax", &tpi_fn_max, run_reduce},
    {"ReduceMean", &tpi_fn_mean, run_reduce},
    {"ReduceSum", &tpi_fn_sum, run_reduce},
    {"Relu", &tpi_fn_relu, run_plain},
    {"Reshape", NULL, run_reshaping},
    {"Sigmoid", &tpi_fn_sigmoid, run_plain},
    {"Softmax", NULL, run_softmax},
    {"Sqrt", &tpi_fn_sqrt, run_plain},
    {"Squeeze", NULL, run_reshaping},
    {"Sub", &tpi_fn_sub, run_plain},
    {"Sum", NULL, run_sum},
    {"Tanh", &tpi_fn_tanh, run_plain},
    {"Transpose", NULL, run_transpose},
    {"Unsqueeze", NULL, run_reshaping},
};

static const struct rule *
find_rule(const struct tp_op *op)
{
	for (size_t i = 0; !op->domain && i < sizeof(rules) / sizeof(rules[0]);
	     i++)
		if (!tp_str_cmp(tp_str(rules[i].onnx), tp_str(op->onnx)))
			return &rules[i];
	return NULL;
}

/* What has no rule may still make integers, which have no gradient. */
static enum tp_status
run_other(const struct tpi_call *c, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_value values[TPI_OP_FEW], result;
	enum tp_status rc;

	if (c->n_in > TPI_OP_FEW)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "no gradient of %s is known", c->op->onnx);
	/* Values may be owned, so they are not const; inputs are only read. */
	for (size_t k = 0; k < c->n_in; k++)
		values[k] =
		    tp_value_of((struct tp_tensor *)(uintptr_t)c->in[k]);
	rc = tp_op_run(c->op, c->attrs, c->n_attrs, values, c->n_in, &result, 1,
	    c->opts, err);
	if (rc)
		return rc;
	if (result.kind != TP_VALUE_TENSOR ||
	    tp_dtype_kind(result.tensor->dtype) == TP_KIND_FLOAT) {
		tp_value_release(&result);
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "no gradient of %s is known", c->op->onnx);
	}
	*out = result.tensor;
	return TP_OK;
}

enum tp_status
tpi_run_differentiable(const struct tp_op *op, const struct tp_attr *attrs,
    size_t n_attrs, const struct tp_tensor **in, size_t n_in,
    const struct tp_op_opts *opts, struct tp_tensor **out, struct tp_err *err)
{
	const struct rule *rule = find_rule(op);
	const struct tpi_call c = {.op = op,
	    .attrs = attrs,
	    .n_attrs = n_attrs,
	    .in = in,
	    .n_in = n_in,
	    .alloc = opts->alloc,
	    .opts = opts};

	for (size_t k = 0; k < n_in; k++)
		if (!in[k] && (!rule || k < op->min_in))
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "no gradient of %s without input %zu", op->onnx, k);
	return rule ? rule->run(&c, rule->fn, out, err)
		    : run_other(&c, out, err);
}
