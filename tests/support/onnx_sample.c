/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_sample.c - make a small ONNX model whose weights can be narrowed
 *
 *	onnx_sample OPSET OUTPUT
 *
 *	ids -> Gather(embedding) -> MatMul(dense) -> Add(position) -> Softmax
 *	    -> If: MatMul(branch) else Identity
 *
 * The values come from a fixed generator, so the file is always the same.
 */
#include <stdio.h>

#include "tp/endian.h"

#include "support/onnx_build.h"

#define BOOL 9

static TpOnnx__TensorProto *
weight(const char *name, int64_t rows, int64_t columns)
{
	static uint32_t x = 12345;
	const int64_t dims[] = {rows, columns};
	TpOnnx__TensorProto *t = build_tensor(name, FLOAT, 2, dims);
	size_t n = (size_t)(rows * columns);

	t->has_raw_data = 1;
	t->raw_data.len = 4 * n;
	t->raw_data.data = build_take(4 * n);
	for (size_t i = 0; i < n; i++) {
		float v;
		uint32_t bits;

		x = x * 1664525U + 1013904223U;
		v = (float)(int32_t)x * 0x1p-33F;
		memcpy(&bits, &v, sizeof(bits));
		tp_put_le32(t->raw_data.data + 4 * i, bits);
	}
	return t;
}

/* A node with the name of its output. */
static TpOnnx__NodeProto *
add_named(TpOnnx__GraphProto *g, const char *op_type, const char *inputs,
    const char *output)
{
	TpOnnx__NodeProto *node = add_node(g, op_type, inputs, output);

	node->has_name = 1;
	node->name = node->output[0];
	return node;
}

/* A branch with one output. */
static TpOnnx__GraphProto *
branch(TpOnnx__NodeProto *node, const char *name, const char *output)
{
	TpOnnx__GraphProto *g = build_graph();

	BUILD_ADD(g->output, g->n_output, build_value(output, FLOAT));
	build_attribute(node, name, A_GRAPH)->g = g;
	return g;
}

static TpOnnx__ModelProto *
sample(int64_t opset)
{
	TpOnnx__GraphProto *g = build_graph(), *inner;
	TpOnnx__NodeProto *node;

	BUILD_ADD(g->input, g->n_input, build_value("ids", INT64));
	BUILD_ADD(g->input, g->n_input, build_value("flag", BOOL));
	BUILD_ADD(g->output, g->n_output, build_value("y", FLOAT));
	BUILD_ADD(
	    g->initializer, g->n_initializer, weight("embedding", 64, 32));
	BUILD_ADD(g->initializer, g->n_initializer, weight("dense", 32, 40));
	BUILD_ADD(g->initializer, g->n_initializer, weight("position", 32, 40));
	add_named(g, "Gather", "embedding ids", "e");
	add_named(g, "MatMul", "e dense", "d");
	add_named(g, "Add", "d position", "a");
	add_named(g, "Softmax", "a", "s");
	node = add_named(g, "If", "flag", "y");
	inner = branch(node, "then_branch", "t");
	build_attribute(
	    add_named(inner, "Constant", "", "branch"), "value", A_TENSOR)
	    ->t = weight("", 40, 48);
	add_named(inner, "MatMul", "s branch", "t");
	add_named(branch(node, "else_branch", "i"), "Identity", "s", "i");
	return build_model(opset < 21 ? 8 : 10, opset, g);
}

int
main(int argc, char **argv)
{
	TpOnnx__ModelProto *m;
	uint8_t *bytes;
	FILE *out;
	size_t n;
	int failed;

	if (argc != 3) {
		fprintf(stderr, "Usage: onnx_sample OPSET OUTPUT\n");
		return 2;
	}
	m = sample(strtol(argv[1], NULL, 10));
	n = protobuf_c_message_get_packed_size(&m->base);
	bytes = build_take(n);
	protobuf_c_message_pack(&m->base, bytes);
	out = fopen(argv[2], "wb");
	if (!out) {
		perror(argv[2]);
		return 1;
	}
	failed = fwrite(bytes, 1, n, out) != n;
	return fclose(out) || failed;
}
