/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_edit_new.c - messages that come into a graph
 */
#include "onnx_edit.h"

#include "onnx_message.h"

#include "banned.h"

enum tp_status
tpi_onnx_edit_new_tensor(struct tpi_onnx_edit *e, struct tp_str name,
    int32_t type, unsigned rank, const int64_t *shape,
    TpOnnx__TensorProto **out, struct tp_err *err)
{
	TpOnnx__TensorProto *t =
	    tpi_onnx_message_in(&e->arena, &tp_onnx__tensor_proto__descriptor);
	int64_t *dims = tpi_arena_array(&e->arena, rank, sizeof(*dims));

	*out = t;
	if (!t || !dims)
		return tpi_onnx_edit_no_memory(err);
	for (unsigned d = 0; d < rank; d++)
		dims[d] = shape[d];
	t->has_name = t->has_data_type = 1;
	t->name = tpi_onnx_bytes(name);
	t->data_type = type;
	t->dims = dims;
	t->n_dims = rank;
	return TP_OK;
}

enum tp_status
tpi_onnx_edit_new_node(struct tpi_onnx_edit *e, const char *op_type,
    struct tp_str output, const struct tp_str *inputs, size_t n_inputs,
    TpOnnx__NodeProto **out, struct tp_err *err)
{
	TpOnnx__NodeProto *node =
	    tpi_onnx_message_in(&e->arena, &tp_onnx__node_proto__descriptor);
	ProtobufCBinaryData *in =
	    tpi_arena_array(&e->arena, n_inputs, sizeof(*in));

	*out = node;
	if (!node || !in)
		return tpi_onnx_edit_no_memory(err);
	node->output = tpi_arena_array(&e->arena, 1, sizeof(*node->output));
	if (!node->output)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; i < n_inputs; i++)
		in[i] = tpi_onnx_bytes(inputs[i]);
	node->has_name = node->has_op_type = 1;
	node->name = node->output[0] = tpi_onnx_bytes(output);
	node->op_type = tpi_onnx_bytes(tp_str(op_type));
	node->input = in;
	node->n_input = n_inputs;
	node->n_output = 1;
	return TP_OK;
}

enum tp_status
tpi_onnx_edit_attribute(struct tpi_onnx_edit *e, TpOnnx__NodeProto *node,
    const char *name, int32_t type, TpOnnx__AttributeProto **out,
    struct tp_err *err)
{
	TpOnnx__AttributeProto *a = tpi_onnx_message_in(
	    &e->arena, &tp_onnx__attribute_proto__descriptor);
	TpOnnx__AttributeProto **list = tpi_arena_array(
	    &e->arena, node->n_attribute + 1, sizeof(TpOnnx__AttributeProto *));

	*out = a;
	if (!a || !list)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; i < node->n_attribute; i++)
		list[i] = node->attribute[i];
	list[node->n_attribute++] = a;
	node->attribute = list;
	a->has_name = a->has_type = 1;
	a->name = tpi_onnx_bytes(tp_str(name));
	a->type = type;
	return TP_OK;
}

enum tp_status
tpi_onnx_edit_new_input(struct tpi_onnx_edit *e, TpOnnx__GraphProto *g,
    const TpOnnx__TensorProto *t, struct tp_err *err)
{
	struct tpi_arena *a = &e->arena;
	TpOnnx__ValueInfoProto *v =
	    tpi_onnx_message_in(a, &tp_onnx__value_info_proto__descriptor);
	TpOnnx__TypeProto *type =
	    tpi_onnx_message_in(a, &tp_onnx__type_proto__descriptor);
	TpOnnx__TypeProto__Tensor *tensor =
	    tpi_onnx_message_in(a, &tp_onnx__type_proto__tensor__descriptor);
	TpOnnx__TensorShapeProto *shape =
	    tpi_onnx_message_in(a, &tp_onnx__tensor_shape_proto__descriptor);
	TpOnnx__ValueInfoProto **list = tpi_arena_array(
	    a, g->n_input + 1, sizeof(TpOnnx__ValueInfoProto *));

	if (!v || !type || !tensor || !shape || !list)
		return tpi_onnx_edit_no_memory(err);
	shape->dim = tpi_arena_array(a, t->n_dims, sizeof(*shape->dim));
	if (!shape->dim)
		return tpi_onnx_edit_no_memory(err);
	for (; shape->n_dim < t->n_dims; shape->n_dim++) {
		TpOnnx__TensorShapeProto__Dimension *dim = tpi_onnx_message_in(
		    a, &tp_onnx__tensor_shape_proto__dimension__descriptor);

		if (!dim)
			return tpi_onnx_edit_no_memory(err);
		dim->has_dim_value = 1;
		dim->dim_value = t->dims[shape->n_dim];
		shape->dim[shape->n_dim] = dim;
	}
	tensor->has_elem_type = 1;
	tensor->elem_type = t->data_type;
	tensor->shape = shape;
	type->tensor_type = tensor;
	v->has_name = 1;
	v->name = t->name;
	v->type = type;
	for (size_t i = 0; i < g->n_input; i++)
		list[i] = g->input[i];
	list[g->n_input++] = v;
	g->input = list;
	return TP_OK;
}
