/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_attributes.c - attributes of nodes, of every kind */
#include "support/onnx_program.h"

#include <math.h>

/* A model of one node, whose attribute is to be filled in. */
static TpOnnx__ModelProto *
model_with_attribute(int32_t type, TpOnnx__AttributeProto **a)
{
	TpOnnx__GraphProto *g;

	build_reset();
	g = build_graph();
	*a = build_attribute(add_node(g, "Op", "x", "y"), "a", type);
	return build_model(8, 13, g);
}

/* The attribute of the only node; p is to be closed. */
static const struct tp_attr *
attribute_of(const TpOnnx__ModelProto *m, struct tp_onnx_program **p)
{
	const struct tp_graph *g;

	*p = open_model(m);
	g = &tp_onnx_program_model(*p)->graph;
	assert_int_equal(g->nodes[0].n_attrs, 1);
	assert_str(g->nodes[0].attrs[0].name, "a");
	assert_int_equal(g->nodes[0].attrs[0].ref.len, 0);
	return &g->nodes[0].attrs[0];
}

static void
fill_scalars(TpOnnx__AttributeProto *a, int32_t type)
{
	a->has_f = type == A_FLOAT;
	a->f = 0.1F;
	a->has_i = type == A_INT;
	a->i = INT64_MIN;
	a->has_s = type == A_STRING;
	a->s = (ProtobufCBinaryData){3, (uint8_t *)(uintptr_t) "a\0b"};
}

/* Once with the type, once as in the first releases, which had none. */
static void
test_scalars(void **state)
{
	TpOnnx__AttributeProto *a;
	struct tp_onnx_program *p;
	const struct tp_attr *got;
	TpOnnx__ModelProto *m;

	(void)state;
	for (int typed = 0; typed < 2; typed++)
		for (int32_t type = A_FLOAT; type <= A_STRING; type++) {
			m = model_with_attribute(type, &a);
			fill_scalars(a, type);
			a->has_type = typed;
			got = attribute_of(m, &p);
			if (type == A_FLOAT) {
				assert_int_equal(got->kind, TP_ATTR_FLOAT);
				assert_true(got->f == (double)0.1F);
			} else if (type == A_INT) {
				assert_int_equal(got->kind, TP_ATTR_INT);
				assert_true(got->i == INT64_MIN);
			} else {
				assert_int_equal(got->kind, TP_ATTR_STRING);
				assert_int_equal(got->s.len, 3);
				assert_memory_equal(got->s.s, "a\0b", 3);
			}
			tp_onnx_program_close(p);
		}

	/* Writers that drop defaults leave a 0 out. */
	got = attribute_of(model_with_attribute(A_INT, &a), &p);
	assert_int_equal(got->i, 0);
	tp_onnx_program_close(p);
	got = attribute_of(model_with_attribute(A_STRING, &a), &p);
	assert_int_equal(got->s.len, 0);
	tp_onnx_program_close(p);
}

static const struct tp_attr *
list_of(const TpOnnx__ModelProto *m, enum tp_attr_kind kind, size_t n,
    struct tp_onnx_program **p)
{
	const struct tp_attr *got = attribute_of(m, p);

	assert_int_equal(got->kind, kind);
	assert_int_equal(got->n, n);
	return got;
}

static void
test_lists(void **state)
{
	TpOnnx__AttributeProto *a;
	struct tp_onnx_program *p;
	const struct tp_attr *got;
	TpOnnx__ModelProto *m;

	(void)state;
	for (int typed = 0; typed < 2; typed++) {
		m = model_with_attribute(A_FLOATS, &a);
		BUILD_ADD(a->floats, a->n_floats, 0.1F);
		BUILD_ADD(a->floats, a->n_floats, -INFINITY);
		a->has_type = typed;
		got = list_of(m, TP_ATTR_FLOATS, 2, &p);
		assert_true(got->floats[0] == (double)0.1F);
		assert_true(got->floats[1] == -INFINITY);
		tp_onnx_program_close(p);

		m = model_with_attribute(A_INTS, &a);
		BUILD_ADD(a->ints, a->n_ints, -1);
		BUILD_ADD(a->ints, a->n_ints, INT64_MAX);
		a->has_type = typed;
		got = list_of(m, TP_ATTR_INTS, 2, &p);
		assert_true(got->ints[0] == -1 && got->ints[1] == INT64_MAX);
		tp_onnx_program_close(p);

		m = model_with_attribute(A_STRINGS, &a);
		BUILD_ADD(a->strings, a->n_strings, build_bytes("one"));
		BUILD_ADD(a->strings, a->n_strings, build_bytes(""));
		a->has_type = typed;
		got = list_of(m, TP_ATTR_STRINGS, 2, &p);
		assert_str(got->strings[0], "one");
		assert_str(got->strings[1], "");
		tp_onnx_program_close(p);
	}
	/* An empty list needs its type. */
	(void)list_of(model_with_attribute(A_INTS, &a), TP_ATTR_INTS, 0, &p);
	tp_onnx_program_close(p);
}

static void
test_tensors_in_attributes(void **state)
{
	TpOnnx__AttributeProto *a;
	struct tp_onnx_program *p;
	const struct tp_attr *got;
	TpOnnx__ModelProto *m;

	(void)state;
	for (int typed = 0; typed < 2; typed++) {
		m = model_with_attribute(A_TENSOR, &a);
		a->t = build_floats(NULL, SHAPE(2, 1), 2);
		a->has_type = typed;
		got = attribute_of(m, &p);
		assert_int_equal(got->kind, TP_ATTR_TENSOR);
		assert_floats(got->tensor, (const float[]){0.5F, 1.5F}, 2);
		assert_int_equal(tp_tensor_rank(got->tensor->tensor), 2);
		tp_onnx_program_close(p);

		m = model_with_attribute(A_SPARSE, &a);
		a->sparse_tensor = sparse_of(NULL, 4, 2);
		a->has_type = typed;
		got = attribute_of(m, &p);
		assert_int_equal(got->kind, TP_ATTR_TENSOR);
		assert_floats(got->tensor, (const float[]){0, 0, 0.5F, 0}, 4);
		tp_onnx_program_close(p);
	}

	m = model_with_attribute(A_TENSOR, &a);
	a->t = build_tensor("s", STRING, SHAPE(2));
	BUILD_ADD(a->t->string_data, a->t->n_string_data, build_bytes("x"));
	BUILD_ADD(a->t->string_data, a->t->n_string_data, build_bytes(""));
	got = attribute_of(m, &p);
	assert_int_equal(got->tensor->kind, TP_VALUE_STRINGS);
	assert_str(tp_strings_at(pool,
		       *(const uint64_t *)tp_tensor_data(got->tensor->tensor)),
	    "x");
	tp_onnx_program_close(p);

	/* A tensor without elements, as roi of a Resize may be. */
	m = model_with_attribute(A_TENSOR, &a);
	a->t = build_tensor(NULL, FLOAT, SHAPE(0));
	got = attribute_of(m, &p);
	assert_int_equal(tp_tensor_numel(got->tensor->tensor), 0);
	tp_onnx_program_close(p);
}

static void
test_graphs_and_types_in_attributes(void **state)
{
	TpOnnx__TypeProto *type;
	TpOnnx__AttributeProto *a;
	struct tp_onnx_program *p;
	const struct tp_attr *got;
	TpOnnx__ModelProto *m;

	(void)state;
	for (int typed = 0; typed < 2; typed++) {
		m = model_with_attribute(A_GRAPH, &a);
		a->g = build_graph();
		add_node(a->g, "Identity", "w", "z");
		BUILD_ADD(a->g->initializer, a->g->n_initializer,
		    build_floats("w", SHAPE(1), 1));
		a->has_type = typed;
		got = attribute_of(m, &p);
		assert_int_equal(got->kind, TP_ATTR_GRAPH);
		assert_int_equal(got->graph->n_nodes, 1);
		assert_str(got->graph->nodes[0].op, "Identity");
		assert_int_equal(got->graph->n_constants, 1);
		tp_onnx_program_close(p);

		m = model_with_attribute(A_TYPE, &a);
		a->tp = type = build_message(&tp_onnx__type_proto__descriptor);
		type->sequence_type =
		    build_message(&tp_onnx__type_proto__sequence__descriptor);
		type->sequence_type->elem_type = build_value("t", INT64)->type;
		a->has_type = typed;
		got = attribute_of(m, &p);
		assert_int_equal(got->kind, TP_ATTR_TYPE);
		assert_int_equal(got->type.kind, TP_VALUE_SEQUENCE);
		assert_int_equal(got->type.element, TP_VALUE_TENSOR);
		assert_int_equal(got->type.dtype, TP_DTYPE_I64);
		tp_onnx_program_close(p);
	}
}

static void
test_bad_attributes(void **state)
{
	static const struct {
		int32_t type;
		enum tp_status status;
		const char *message;
	} rows[] = {
	    {0, TP_EFORMAT, "node 0 (Op): attribute 'a' has neither type nor"},
	    {-1, TP_EFORMAT, "attribute 'a' has the unknown type -1"},
	    {15, TP_EFORMAT, "attribute 'a' has the unknown type 15"},
	    {A_TENSOR, TP_EFORMAT, "attribute 'a' is a tensor without one"},
	    {A_SPARSE, TP_EFORMAT, "attribute 'a' is a tensor without one"},
	    {A_GRAPH, TP_EFORMAT, "attribute 'a' is a graph without one"},
	    {A_TENSORS, TP_EUNSUPPORTED, "is a list of tensors"},
	    {A_GRAPHS, TP_EUNSUPPORTED, "is a list of graphs"},
	    {A_SPARSES, TP_EUNSUPPORTED, "is a list of sparse tensors"},
	    {A_TYPES, TP_EUNSUPPORTED, "is a list of types"},
	};
	TpOnnx__AttributeProto *a;
	TpOnnx__ModelProto *m;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(model_with_attribute(rows[i].type, &a),
		    rows[i].status, rows[i].message);

	/* The type decides, whatever other fields there are. */
	m = model_with_attribute(A_TENSOR, &a);
	a->sparse_tensor = sparse_of(NULL, 4, 2);
	assert_refused(m, TP_EFORMAT, "is a tensor without one");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PROGRAM_TEST(test_scalars),
	    PROGRAM_TEST(test_lists),
	    PROGRAM_TEST(test_tensors_in_attributes),
	    PROGRAM_TEST(test_graphs_and_types_in_attributes),
	    PROGRAM_TEST(test_bad_attributes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
