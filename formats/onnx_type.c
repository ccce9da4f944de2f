/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_type.c - the declared type of a value
 *
 *	tensor | sequence of X | optional of X		X = tensor | sequence of
 *							    tensor | optional …
 */
#include "onnx_program.h"

#include <inttypes.h>

#include "tp/onnx_dtype.h"

#include "banned.h"

static enum tp_status
dtype_of(const TpOnnx__TypeProto__Tensor *t, struct tp_str what,
    enum tp_dtype *out, struct tp_err *err)
{
	*out = tp_onnx_dtype(t->elem_type);
	if (*out == TP_DTYPE_NONE && t->elem_type)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "'%s' is declared with the unknown elem_type %" PRId32
		    ", expected 1 to 26",
		    TP_BRIEF(what), t->elem_type);
	return TP_OK;
}

/* The kind of one level, and what the next one is. */
static enum tp_value_kind
unwrap(const TpOnnx__TypeProto *t, const TpOnnx__TypeProto **inner)
{
	*inner = NULL;
	if (t->tensor_type || t->sparse_tensor_type)
		return TP_VALUE_TENSOR;
	if (t->sequence_type)
		*inner = t->sequence_type->elem_type;
	else if (t->optional_type)
		*inner = t->optional_type->elem_type;
	else
		return TP_VALUE_NONE;
	return t->sequence_type ? TP_VALUE_SEQUENCE : TP_VALUE_OPTIONAL;
}

enum tp_status
tpi_onnx_type_of(const TpOnnx__TypeProto *from, struct tp_str what,
    struct tp_type *to, struct tp_err *err)
{
	const TpOnnx__TypeProto *at = from, *inner;
	enum tp_value_kind kind;

	*to = (struct tp_type){.kind = TP_VALUE_NONE};
	for (unsigned depth = 0; at; depth++, at = inner) {
		kind = unwrap(at, &inner);
		if (at->map_type || (depth == 2 && kind != TP_VALUE_TENSOR))
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "'%s' is declared as %s, which is not supported",
			    TP_BRIEF(what),
			    at->map_type ? "a map" : "lists in lists in lists");
		if (depth == 0)
			to->kind = kind;
		if (depth == 1)
			to->element = kind;
		if (kind == TP_VALUE_TENSOR)
			return dtype_of(at->tensor_type
					    ? at->tensor_type
					    : at->sparse_tensor_type,
			    what, &to->dtype, err);
	}
	return TP_OK;
}

static enum tp_status
build_shape(struct tpi_onnx_build *b, const TpOnnx__TensorShapeProto *shape,
    struct tp_binding *to, struct tp_err *err)
{
	struct tp_str *symbols;
	int64_t *sizes;

	if (shape->n_dim > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "'%s' is declared with %zu axes, the limit is %u",
		    TP_BRIEF(to->name), shape->n_dim, TP_MAX_RANK);
	sizes = tpi_onnx_build_array(b, shape->n_dim, sizeof(*sizes), err);
	symbols = tpi_onnx_build_array(b, shape->n_dim, sizeof(*symbols), err);
	if (!sizes || !symbols)
		return TP_ENOMEM;
	for (size_t i = 0; i < shape->n_dim; i++) {
		const TpOnnx__TensorShapeProto__Dimension *d = shape->dim[i];

		/* Negative sizes are how some exporters say "any". */
		sizes[i] =
		    d->has_dim_value && d->dim_value >= 0 ? d->dim_value : -1;
		symbols[i] = tpi_onnx_str(d->dim_param);
	}
	to->has_shape = true;
	to->rank = (unsigned)shape->n_dim;
	to->sizes = sizes;
	to->symbols = symbols;
	return TP_OK;
}

enum tp_status
tpi_onnx_build_bindings(struct tpi_onnx_build *b,
    TpOnnx__ValueInfoProto *const *from, size_t n, const struct tp_binding **to,
    struct tp_err *err)
{
	const TpOnnx__TypeProto *type;
	struct tp_binding *bindings;
	enum tp_status rc = TP_OK;

	bindings = tpi_onnx_build_array(b, n, sizeof(*bindings), err);
	if (!bindings)
		return TP_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++) {
		bindings[i].name = tpi_onnx_str(from[i]->name);
		type = from[i]->type;
		rc = tpi_onnx_type_of(
		    type, bindings[i].name, &bindings[i].type, err);
		if (!rc && type && type->tensor_type &&
		    type->tensor_type->shape)
			rc = build_shape(
			    b, type->tensor_type->shape, &bindings[i], err);
	}
	if (!rc)
		*to = bindings;
	return rc;
}
