/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_values.c - an entry into its slot of a graph
 *
 * A slot keeps its form while the entry fits it: a Constant's number stays a
 * number if the dtype is still that of the attribute, else it becomes a tensor.
 */
#include "onnx_out.h"

#include "banned.h"

/* AttributeProto.type */
#define TYPE_TENSOR 4
#define TYPE_SPARSE_TENSOR 11

/* The attributes of a Constant that hold plain numbers or strings. */
static const struct tpi_onnx_plain plain_forms[] = {
    {TPI_SLOT_VALUE_FLOAT, TP_DTYPE_F32, 0, 2, TPI_FORM_FIXED32},
    {TPI_SLOT_VALUE_FLOATS, TP_DTYPE_F32, 1, 7, TPI_FORM_FIXED32},
    {TPI_SLOT_VALUE_INT, TP_DTYPE_I64, 0, 3, TPI_FORM_VARINT},
    {TPI_SLOT_VALUE_INTS, TP_DTYPE_I64, 1, 8, TPI_FORM_VARINT},
    {TPI_SLOT_VALUE_STRING, TP_DTYPE_STRING, 0, 4, TPI_FORM_BYTES},
    {TPI_SLOT_VALUE_STRINGS, TP_DTYPE_STRING, 1, 9, TPI_FORM_BYTES},
};

const struct tpi_onnx_plain *
tpi_onnx_plain(enum tpi_slot_kind kind)
{
	for (size_t i = 0; i < sizeof(plain_forms) / sizeof(*plain_forms); i++)
		if (plain_forms[i].kind == kind)
			return &plain_forms[i];
	return NULL;
}

static void
clear_attribute(TpOnnx__AttributeProto *a)
{
	a->has_f = a->has_i = a->has_s = 0;
	a->n_floats = a->n_ints = a->n_strings = 0;
	a->t = NULL;
	a->sparse_tensor = NULL;
}

/* What was of that kind already stays as it is: old files have no type. */
static void
set_attribute(const struct tpi_onnx_slot *slot, enum tpi_slot_kind kind,
    struct tp_str name, int32_t type)
{
	TpOnnx__AttributeProto *a = slot->attribute;

	clear_attribute(a);
	if (slot->kind == kind)
		return;
	a->has_name = a->has_type = 1;
	a->name = tpi_onnx_bytes(name);
	a->type = type;
}

/* A Constant that is to hold a sparse tensor, or one that is not any more. */
static enum tp_status
fill_attribute(struct tpi_onnx_out *o, struct tpi_onnx_slot *slot,
    const struct tp_entry *e, struct tp_err *err)
{
	const struct tpi_onnx_plain *plain = tpi_onnx_plain(slot->kind);
	TpOnnx__AttributeProto *a = slot->attribute;

	if (plain && !e->sparse && e->dtype == plain->dtype) {
		clear_attribute(a);
		return tpi_onnx_fill_field(
		    o, &a->base, plain->number, plain->form, e, err);
	}
	if (e->sparse) {
		if (!slot->sparse)
			slot->sparse = TPI_ONNX_MESSAGE(
			    o, SparseTensorProto, sparse_tensor_proto);
		if (!slot->sparse)
			return tpi_onnx_no_memory(err);
		set_attribute(slot, TPI_SLOT_SPARSE_VALUE,
		    TP_STR("sparse_value"), TYPE_SPARSE_TENSOR);
		a->sparse_tensor = slot->sparse;
		return tpi_onnx_fill_sparse(o, slot->sparse, e, err);
	}
	if (!slot->tensor && slot->sparse)
		slot->tensor = slot->sparse->values;
	if (!slot->tensor)
		slot->tensor = TPI_ONNX_MESSAGE(o, TensorProto, tensor_proto);
	if (!slot->tensor)
		return tpi_onnx_no_memory(err);
	set_attribute(slot, TPI_SLOT_VALUE, TP_STR("value"), TYPE_TENSOR);
	a->t = slot->tensor;
	return tpi_onnx_fill_dense(o, slot->tensor, e, true, err);
}

static enum tp_status
fill_initializer(struct tpi_onnx_out *o, struct tpi_onnx_slot *slot,
    const struct tp_entry *e, bool *moved, struct tp_err *err)
{
	if (e->sparse) {
		if (!slot->sparse) {
			slot->sparse = TPI_ONNX_MESSAGE(
			    o, SparseTensorProto, sparse_tensor_proto);
			if (!slot->sparse)
				return tpi_onnx_no_memory(err);
			slot->sparse->values = slot->tensor;
			slot->tensor = NULL;
			*moved = true;
		}
		return tpi_onnx_fill_sparse(o, slot->sparse, e, err);
	}
	if (!slot->tensor) {
		slot->tensor = slot->sparse->values;
		slot->sparse = NULL;
		*moved = true;
	}
	return tpi_onnx_fill_dense(o, slot->tensor, e, false, err);
}

enum tp_status
tpi_onnx_fill_slot(struct tpi_onnx_out *o, struct tpi_onnx_slot *slot,
    const struct tp_entry *e, bool *moved, struct tp_err *err)
{
	return slot->attribute ? fill_attribute(o, slot, e, err)
			       : fill_initializer(o, slot, e, moved, err);
}

/* Lists are made anew, in the order of the slots. */
enum tp_status
tpi_onnx_relist(struct tpi_onnx_out *o, struct tp_err *err)
{
	for (size_t i = 0; i < o->slots.n_scopes; i++) {
		TpOnnx__GraphProto *g = o->slots.scopes[i].graph;
		size_t n;

		if (!g)
			continue;
		n = g->n_initializer + g->n_sparse_initializer;
		g->initializer = tpi_arena_array(&o->arena, n, sizeof(void *));
		g->sparse_initializer =
		    tpi_arena_array(&o->arena, n, sizeof(void *));
		if (!g->initializer || !g->sparse_initializer)
			return tpi_onnx_no_memory(err);
		g->n_initializer = g->n_sparse_initializer = 0;
	}
	for (size_t i = 0; i < o->slots.n_items; i++) {
		const struct tpi_onnx_slot *slot = &o->slots.items[i];
		TpOnnx__GraphProto *g = o->slots.scopes[slot->scope].graph;

		if (slot->attribute)
			continue;
		if (slot->sparse)
			g->sparse_initializer[g->n_sparse_initializer++] =
			    slot->sparse;
		else
			g->initializer[g->n_initializer++] = slot->tensor;
	}
	return TP_OK;
}
