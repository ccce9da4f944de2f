/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_build.h - ONNX messages from a few words, for tests
 *
 * Everything is taken from one static store and never freed: build_reset makes
 * it empty again.
 */
#ifndef TEST_ONNX_BUILD_H
#define TEST_ONNX_BUILD_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"

/* TensorProto.DataType, AttributeProto.AttributeType */
enum { FLOAT = 1, UINT16 = 4, INT64 = 7, STRING = 8 };
enum {
	A_FLOAT = 1,
	A_INT,
	A_STRING,
	A_TENSOR,
	A_GRAPH,
	A_FLOATS,
	A_INTS,
	A_STRINGS,
	A_TENSORS,
	A_GRAPHS,
	A_SPARSE,
	A_SPARSES,
	A_TYPE,
	A_TYPES
};

static uint8_t build_store[1 << 20];
static size_t build_used;

static inline void
build_reset(void)
{
	memset(build_store, 0, build_used);
	build_used = 0;
}

static inline void *
build_take(size_t n)
{
	void *p = build_store + build_used;

	build_used += (n + 15) / 16 * 16;
	if (build_used > sizeof(build_store))
		abort();
	return p;
}

static inline void *
build_message(const ProtobufCMessageDescriptor *desc)
{
	ProtobufCMessage *m = build_take(desc->sizeof_message);

	protobuf_c_message_init(desc, m);
	return m;
}

static inline ProtobufCBinaryData
build_bytes(const char *text)
{
	ProtobufCBinaryData b = {strlen(text), build_take(strlen(text) + 1)};

	memcpy(b.data, text, b.len);
	return b;
}

/* Append an item to a repeated field of messages. */
#define BUILD_ADD(list, n, item)                                        \
	do {                                                            \
		void *grown_ = build_take(((n) + 1) * sizeof(*(list))); \
		if (n)                                                  \
			memcpy(grown_, (list), (n) * sizeof(*(list)));  \
		(list) = grown_;                                        \
		(list)[(n)++] = (item);                                 \
	} while (0)

/* A tensor without values; rank dims. */
static inline TpOnnx__TensorProto *
build_tensor(const char *name, int32_t type, size_t rank, const int64_t *dims)
{
	TpOnnx__TensorProto *t =
	    build_message(&tp_onnx__tensor_proto__descriptor);

	if (name) {
		t->has_name = 1;
		t->name = build_bytes(name);
	}
	t->has_data_type = 1;
	t->data_type = type;
	for (size_t i = 0; i < rank; i++)
		BUILD_ADD(t->dims, t->n_dims, dims[i]);
	return t;
}

/* n floats: 0.5, 1.5, 2.5, … */
static inline TpOnnx__TensorProto *
build_floats(const char *name, size_t rank, const int64_t *dims, size_t n)
{
	TpOnnx__TensorProto *t = build_tensor(name, FLOAT, rank, dims);

	for (size_t i = 0; i < n; i++)
		BUILD_ADD(t->float_data, t->n_float_data, (float)i + 0.5F);
	return t;
}

static inline TpOnnx__AttributeProto *
build_attribute(TpOnnx__NodeProto *node, const char *name, int32_t type)
{
	TpOnnx__AttributeProto *a =
	    build_message(&tp_onnx__attribute_proto__descriptor);

	a->has_name = a->has_type = 1;
	a->name = build_bytes(name);
	a->type = type;
	BUILD_ADD(node->attribute, node->n_attribute, a);
	return a;
}

/* Inputs and output are names separated by one space; "" leaves one out. */
static inline TpOnnx__NodeProto *
build_node(const char *op_type, const char *inputs, const char *output)
{
	TpOnnx__NodeProto *node =
	    build_message(&tp_onnx__node_proto__descriptor);
	char copy[256];

	node->has_op_type = 1;
	node->op_type = build_bytes(op_type);
	if (strlen(inputs) >= sizeof(copy))
		abort();
	memcpy(copy, inputs, strlen(inputs) + 1);
	for (char *p = copy; *p;) {
		size_t n = strcspn(p, " ");
		char *next = p[n] ? p + n + 1 : p + n;

		p[n] = '\0';
		BUILD_ADD(node->input, node->n_input, build_bytes(p));
		p = next;
	}
	BUILD_ADD(node->output, node->n_output, build_bytes(output));
	return node;
}

static inline TpOnnx__NodeProto *
add_node(TpOnnx__GraphProto *g, const char *op_type, const char *inputs,
    const char *output)
{
	TpOnnx__NodeProto *node = build_node(op_type, inputs, output);

	BUILD_ADD(g->node, g->n_node, node);
	return node;
}

static inline TpOnnx__GraphProto *
build_graph(void)
{
	TpOnnx__GraphProto *g =
	    build_message(&tp_onnx__graph_proto__descriptor);

	g->has_name = 1;
	g->name = build_bytes("g");
	return g;
}

/* A value whose type is a tensor of that element type. */
static inline TpOnnx__ValueInfoProto *
build_value(const char *name, int32_t elem_type)
{
	TpOnnx__ValueInfoProto *v =
	    build_message(&tp_onnx__value_info_proto__descriptor);

	v->has_name = 1;
	v->name = build_bytes(name);
	v->type = build_message(&tp_onnx__type_proto__descriptor);
	v->type->tensor_type =
	    build_message(&tp_onnx__type_proto__tensor__descriptor);
	v->type->tensor_type->has_elem_type = 1;
	v->type->tensor_type->elem_type = elem_type;
	return v;
}

static inline TpOnnx__ModelProto *
build_model(int64_t ir_version, int64_t opset, TpOnnx__GraphProto *graph)
{
	TpOnnx__ModelProto *m =
	    build_message(&tp_onnx__model_proto__descriptor);
	TpOnnx__OperatorSetIdProto *o =
	    build_message(&tp_onnx__operator_set_id_proto__descriptor);

	m->has_ir_version = 1;
	m->ir_version = ir_version;
	m->graph = graph;
	o->has_version = 1;
	o->version = opset;
	BUILD_ADD(m->opset_import, m->n_opset_import, o);
	return m;
}

#endif
