/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_inputs.c - whether an operator takes what it is given, and by which kernel
 */
#include "op_run.h"

#include <stdio.h>

#include "tensor.h"

#include "banned.h"

/* "f16, bf16, f32": what the operator takes. */
static void
list_dtypes(const struct tp_op *op, char *text, size_t size)
{
	size_t at = 0;

	text[0] = 0;
	for (int d = 0; d < TP_DTYPE_COUNT && at < size; d++)
		if (tp_op_takes(op, (enum tp_dtype)d))
			at += (size_t)snprintf(text + at, size - at, "%s%s",
			    at ? ", " : "", tp_dtype_name((enum tp_dtype)d));
}

/* Is input k of a kind that the operator takes there? */
static enum tp_status
check_kind(const struct tpi_call *c, size_t k, const struct tp_value *v,
    struct tp_err *err)
{
	if (v->kind == TP_VALUE_NONE && k < c->op->min_in)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu is missing", c->op->onnx, k);
	if (v->kind <= TP_VALUE_TENSOR || c->op->flags & TPI_OP_VALUES)
		return TP_OK;
	if (v->kind == TP_VALUE_STRINGS && c->op->strings_in & TPI_BIT(k))
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: input %zu is a %s",
	    c->op->onnx, k, tp_value_kind_name(v->kind));
}

/*
 * Complex numbers are for operators that do not look at elements, which take
 * strings too, and for those with a kernel.
 */
static bool
may_be_complex(const struct tp_op *op, size_t k)
{
	return op->flags & TPI_OP_VALUES || op->strings_in & TPI_BIT(k) ||
	       (op->kernels && k == op->kernel_of);
}

static enum tp_status
take_input(
    struct tpi_call *c, size_t k, const struct tp_value *v, struct tp_err *err)
{
	const struct tp_tensor *t = tp_value_has_tensor(v) ? v->tensor : NULL;
	enum tp_status rc = check_kind(c, k, v, err);

	if (rc)
		return rc;
	if (t && t->sparse)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: input %zu is sparse; tp_to_dense first", c->op->onnx,
		    k);
	if (t && t->batch)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: input %zu is inside tp_vmap; tp/ops.h takes it",
		    c->op->onnx, k);
	if (t && t->quantizer)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: input %zu is quantized; tp_dequantize first",
		    c->op->onnx, k);
	if (t && tp_dtype_kind(t->dtype) == TP_KIND_COMPLEX &&
	    !may_be_complex(c->op, k))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s", c->op->onnx, k,
		    tp_dtype_name(t->dtype));
	c->in[k] = t;
	return TP_OK;
}

/* Inputs that may be strings together are, or are not. */
static enum tp_status
check_strings(struct tpi_call *c, struct tp_err *err)
{
	size_t first = c->n_in;

	for (size_t k = 0; k < c->n_in; k++) {
		if (!(c->op->strings_in & TPI_BIT(k)) ||
		    !tp_value_has_tensor(&c->values[k]))
			continue;
		if (first == c->n_in)
			first = k;
		if (c->values[k].kind != c->values[first].kind)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu is a %s, input %zu a %s",
			    c->op->onnx, k,
			    tp_value_kind_name(c->values[k].kind), first,
			    tp_value_kind_name(c->values[first].kind));
	}
	c->moves_strings = first < c->n_in && tpi_is_strings(c, first);
	return TP_OK;
}

enum tp_status
tpi_op_take_inputs(struct tpi_call *c, const struct tp_value *inputs,
    size_t n_in, size_t n_out, struct tp_err *err)
{
	const struct tp_op *op = c->op;
	enum tp_status rc = TP_OK;

	/* Absent inputs at the end are not given. */
	while (n_in > 0 && inputs[n_in - 1].kind == TP_VALUE_NONE)
		n_in--;
	if (n_in < op->min_in || (op->max_in != TP_OP_ANY && n_in > op->max_in))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu inputs, it takes %u to %u", op->onnx, n_in,
		    op->min_in, op->max_in);
	if (n_out < op->min_out ||
	    (op->max_out != TP_OP_ANY && n_out > op->max_out))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu outputs, it has %u to %u", op->onnx, n_out,
		    op->min_out, op->max_out);
	c->values = inputs;
	c->n_in = n_in;
	c->n_out = n_out;
	for (size_t k = 0; k < n_in && !rc; k++)
		rc = take_input(c, k, &inputs[k], err);
	return rc ? rc : check_strings(c, err);
}

enum tp_status
tpi_op_check_attrs(const struct tpi_call *c, struct tp_err *err)
{
	for (size_t i = 0; i < c->n_attrs; i++) {
		const struct tpi_attr_spec *spec = c->op->attrs;
		const struct tp_attr *a = &c->attrs[i];

		while (spec && spec->name &&
		       tp_str_cmp(tp_str(spec->name), a->name))
			spec++;
		if (!spec || !spec->name)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s (opset %d on) has no attribute '%s'",
			    c->op->onnx, c->op->since, TP_BRIEF(a->name));
		if (spec->kind != a->kind)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: attribute '%s' is of kind %s, expected %s",
			    c->op->onnx, spec->name, tp_attr_kind_name(a->kind),
			    tp_attr_kind_name(spec->kind));
	}
	return TP_OK;
}

enum tp_status
tpi_op_choose_kernel(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[c->op->kernel_of];
	enum tp_dtype dtype;
	char takes[240];

	if ((!c->op->kernels && !c->op->dtypes) || !t)
		return TP_OK;
	dtype = tpi_is_strings(c, c->op->kernel_of) ? TP_DTYPE_STRING
		: tpi_op_widens(c)		    ? c->moves
						    : t->dtype;
	if (c->op->kernels)
		c->kernel = c->op->kernels[t->dtype];
	if (c->op->kernels ? c->kernel != NULL : tp_op_takes(c->op, dtype))
		return TP_OK;
	list_dtypes(c->op, takes, sizeof(takes));
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "%s of dtype %s; it is implemented for %s", c->op->onnx,
	    tp_dtype_name(dtype), takes);
}
