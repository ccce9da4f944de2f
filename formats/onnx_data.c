/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_data.c - a value in a file of its own
 *
 *	TensorProto | SequenceProto | OptionalProto
 *
 * The file does not tell which; whoever reads it knows from the graph.
 */
#include "tp/onnx_program.h"

#include <inttypes.h>

#include "onnx_message.h"
#include "onnx_take.h"

#include "banned.h"

/* SequenceProto.elem_type and OptionalProto.elem_type */
enum {
	ELEM_UNDEFINED = 0,
	ELEM_TENSOR = 1,
	ELEM_SPARSE_TENSOR = 2,
	ELEM_SEQUENCE = 3,
	ELEM_MAP = 4,
	ELEM_OPTIONAL = 5,
};

/* What a struct tp_type can say is as deep. */
#define MAX_DEPTH 2

/* u16 read as the bf16 it was meant to be. */
static enum tp_status
as_bf16(struct tp_value *v, struct tp_err *err)
{
	struct tp_tensor *t = v->tensor, *bf16 = NULL;
	enum tp_status rc;

	rc = tp_tensor_new(tp_tensor_storage(t), TP_DTYPE_BF16,
	    tp_tensor_sizes(t), tp_tensor_strides(t), tp_tensor_rank(t),
	    tp_tensor_first(t), &bf16, err);
	tp_value_release(v);
	*v = tp_value_of(bf16);
	return rc;
}

static enum tp_status
read_tensor(struct tpi_onnx_take *t, TpOnnx__TensorProto *from,
    enum tp_dtype expected, struct tp_value *out, struct tp_err *err)
{
	enum tp_status rc;

	rc = tpi_onnx_take_tensor(t, from, tpi_onnx_str(from->name), out, err);
	if (!rc && expected == TP_DTYPE_BF16 && out->kind == TP_VALUE_TENSOR &&
	    tp_tensor_dtype(out->tensor) == TP_DTYPE_U16)
		rc = as_bf16(out, err);
	return rc;
}

static enum tp_status
unsupported(struct tp_str name, int32_t elem_type, struct tp_err *err)
{
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "value '%s': elements of type %" PRId32 " are not supported",
	    TP_BRIEF(name), elem_type);
}

static enum tp_status
too_deep(struct tp_str name, struct tp_err *err)
{
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "value '%s': lists in lists in lists are not supported",
	    TP_BRIEF(name));
}

static enum tp_status read_optional(struct tpi_onnx_take *t,
    TpOnnx__OptionalProto *from, const struct tp_type *type, unsigned depth,
    struct tp_value *out, struct tp_err *err);

static enum tp_status read_sequence(struct tpi_onnx_take *t,
    TpOnnx__SequenceProto *from, const struct tp_type *type, unsigned depth,
    struct tp_value *out, struct tp_err *err);

static enum tp_status
read_item(struct tpi_onnx_take *t, TpOnnx__SequenceProto *from, size_t i,
    const struct tp_type *type, unsigned depth, struct tp_value *out,
    struct tp_err *err)
{
	switch (from->elem_type) {
	case ELEM_TENSOR:
		return read_tensor(
		    t, from->tensor_values[i], type->dtype, out, err);
	case ELEM_SPARSE_TENSOR:
		return tpi_onnx_take_sparse(t, from->sparse_tensor_values[i],
		    tpi_onnx_str(from->name), out, err);
	case ELEM_SEQUENCE:
		return read_sequence(
		    t, from->sequence_values[i], type, depth + 1, out, err);
	default:
		return read_optional(
		    t, from->optional_values[i], type, depth + 1, out, err);
	}
}

static enum tp_status
count_items(const TpOnnx__SequenceProto *from, size_t *n,
    enum tp_value_kind *kind, struct tp_err *err)
{
	const struct {
		size_t n;
		enum tp_value_kind kind;
	} rows[] = {
	    [ELEM_UNDEFINED] = {0, TP_VALUE_NONE},
	    [ELEM_TENSOR] = {from->n_tensor_values, TP_VALUE_TENSOR},
	    [ELEM_SPARSE_TENSOR] = {from->n_sparse_tensor_values,
		TP_VALUE_TENSOR},
	    [ELEM_SEQUENCE] = {from->n_sequence_values, TP_VALUE_SEQUENCE},
	    [ELEM_MAP] = {0, TP_VALUE_NONE},
	    [ELEM_OPTIONAL] = {from->n_optional_values, TP_VALUE_OPTIONAL},
	};

	if (from->elem_type < 0 || from->elem_type > ELEM_OPTIONAL ||
	    from->elem_type == ELEM_MAP)
		return unsupported(
		    tpi_onnx_str(from->name), from->elem_type, err);
	*n = rows[from->elem_type].n;
	*kind = rows[from->elem_type].kind;
	return TP_OK;
}

static enum tp_status
read_sequence(struct tpi_onnx_take *t, TpOnnx__SequenceProto *from,
    const struct tp_type *type, unsigned depth, struct tp_value *out,
    struct tp_err *err)
{
	struct tp_type list = {TP_VALUE_SEQUENCE, type->element, type->dtype};
	struct tp_value *items;
	enum tp_value_kind kind = TP_VALUE_NONE;
	size_t n = 0;
	enum tp_status rc;

	if (depth == MAX_DEPTH)
		return too_deep(tpi_onnx_str(from->name), err);
	rc = count_items(from, &n, &kind, err);
	if (rc)
		return rc;
	if (kind != TP_VALUE_NONE)
		list.element = kind;
	items = tp_mem_array(t->r->alloc, n, sizeof(*items));
	if (!items)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for a sequence of %zu values", n);
	for (size_t i = 0; i < n && !rc; i++)
		rc = read_item(t, from, i, type, depth, &items[i], err);
	if (!rc)
		rc = tp_list_new(t->r->alloc, list, items, n, out, err);
	for (size_t i = 0; i < n; i++)
		tp_value_release(&items[i]);
	tp_mem_free(t->r->alloc, items, n, sizeof(*items));
	return rc;
}

/* What is in it, NONE if nothing is. */
static enum tp_status
read_content(struct tpi_onnx_take *t, TpOnnx__OptionalProto *from,
    const struct tp_type *type, unsigned depth, struct tp_value *out,
    struct tp_err *err)
{
	if (from->tensor_value && from->elem_type == ELEM_TENSOR)
		return read_tensor(
		    t, from->tensor_value, type->dtype, out, err);
	if (from->sparse_tensor_value && from->elem_type == ELEM_SPARSE_TENSOR)
		return tpi_onnx_take_sparse(t, from->sparse_tensor_value,
		    tpi_onnx_str(from->name), out, err);
	if (from->sequence_value && from->elem_type == ELEM_SEQUENCE)
		return read_sequence(
		    t, from->sequence_value, type, depth + 1, out, err);
	if (from->optional_value && from->elem_type == ELEM_OPTIONAL)
		return read_optional(
		    t, from->optional_value, type, depth + 1, out, err);
	if (from->elem_type == ELEM_MAP || from->elem_type > ELEM_OPTIONAL ||
	    from->elem_type < 0)
		return unsupported(
		    tpi_onnx_str(from->name), from->elem_type, err);
	return TP_OK;
}

static enum tp_status
read_optional(struct tpi_onnx_take *t, TpOnnx__OptionalProto *from,
    const struct tp_type *type, unsigned depth, struct tp_value *out,
    struct tp_err *err)
{
	struct tp_type list = {TP_VALUE_OPTIONAL, type->element, type->dtype};
	struct tp_value content = {.kind = TP_VALUE_NONE};
	enum tp_status rc;

	if (depth == MAX_DEPTH)
		return too_deep(tpi_onnx_str(from->name), err);
	rc = read_content(t, from, type, depth, &content, err);
	if (!rc)
		rc = tp_list_new(t->r->alloc, list, &content,
		    content.kind != TP_VALUE_NONE, out, err);
	tp_value_release(&content);
	return rc;
}

enum tp_status
tp_onnx_value_read(const char *path, const struct tp_open_options *options,
    const struct tp_type *type, struct tp_strings *strings,
    struct tp_value *out, struct tp_err *err)
{
	const ProtobufCMessageDescriptor *desc =
	    &tp_onnx__tensor_proto__descriptor;
	struct tpi_onnx_take t;
	enum tp_status rc;

	*out = (struct tp_value){.kind = TP_VALUE_NONE};
	if (type->kind == TP_VALUE_SEQUENCE)
		desc = &tp_onnx__sequence_proto__descriptor;
	else if (type->kind == TP_VALUE_OPTIONAL)
		desc = &tp_onnx__optional_proto__descriptor;
	rc = tpi_onnx_take_open(&t, path, options, desc, strings, err);
	if (rc)
		return rc;
	if (type->kind == TP_VALUE_SEQUENCE)
		rc = read_sequence(
		    &t, (TpOnnx__SequenceProto *)t.message, type, 0, out, err);
	else if (type->kind == TP_VALUE_OPTIONAL)
		rc = read_optional(
		    &t, (TpOnnx__OptionalProto *)t.message, type, 0, out, err);
	else
		rc = read_tensor(&t, (TpOnnx__TensorProto *)t.message,
		    type->dtype, out, err);
	if (rc)
		tp_value_release(out);
	tpi_onnx_take_close(&t);
	return rc;
}
