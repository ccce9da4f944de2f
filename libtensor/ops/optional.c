/* SPDX-License-Identifier: Apache-2.0 */
/* optional.c - Optional, OptionalHasElement, OptionalGetElement */
#include "../op.h"

#include "../banned.h"

static enum tp_status
run_optional(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "type");
	struct tp_value item = {TP_VALUE_NONE, NULL, NULL};
	struct tp_type type;
	enum tp_status rc = TP_OK;

	if (c->n_in == 0 && !a)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: neither a value nor a type", c->op->onnx);
	if (c->n_in && c->values[0].kind == TP_VALUE_OPTIONAL)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 is an optional already", c->op->onnx);
	type = c->n_in ? tp_value_type(&c->values[0]) : a->type;
	type.element = type.kind;
	type.kind = TP_VALUE_OPTIONAL;
	if (c->n_in)
		rc = tp_value_copy(&c->values[0], &item, err);
	return rc ? rc
		  : tp_list_new(c->alloc, type, &item, c->n_in != 0,
			&c->results[0], err);
}

/*
 * What is in an optional, or NULL. A value of another kind is one that has it:
 * opset 18 says so, and before it a Loop may hand on a sequence where it had an
 * optional.
 */
static const struct tp_value *
look_into(const struct tpi_call *c)
{
	const struct tp_value *v = c->n_in ? &c->values[0] : NULL;

	if (v && v->kind == TP_VALUE_OPTIONAL)
		return tp_list_count(v->list) ? tp_list_at(v->list, 0) : NULL;
	return v;
}

static enum tp_status
run_optional_has_element(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *t = NULL;
	enum tp_status rc = tpi_op_temp(c, TP_DTYPE_BOOL, NULL, 0, &t, err);

	if (rc)
		return rc;
	*(uint8_t *)tp_tensor_data_mut(t) = look_into(c) != NULL;
	c->results[0] = tp_value_of(t);
	return TP_OK;
}

static enum tp_status
run_optional_get_element(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_value *item = look_into(c);

	if (!item)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the optional is empty", c->op->onnx);
	return tp_value_copy(item, &c->results[0], err);
}

static const struct tpi_attr_spec optional_attrs[] = {
    {"type", TP_ATTR_TYPE}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, least, most, spec)                      \
	{                                                                    \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,  \
		.min_in = least, .max_in = most, .min_out = 1, .max_out = 1, \
		.flags = TPI_OP_VALUES, .attrs = spec, .run = run_##op       \
	}

const struct tp_op tpi_optional_ops[] = {
    ROW(optional, "Optional", 15, 0, 0, 1, optional_attrs),
    ROW(optional_has_element, "OptionalHasElement", 18, 0, 0, 1, NULL),
    ROW(optional_has_element, "OptionalHasElement", 15, 17, 1, 1, NULL),
    ROW(optional_get_element, "OptionalGetElement", 15, 0, 1, 1, NULL),
    {.name = NULL},
};
