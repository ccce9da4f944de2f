/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_program.c - ONNX files as graphs that can be evaluated */
#include "support/cmocka_all.h"

#include <math.h>

#include "tp/endian.h"
#include "tp/onnx_program.h"

#include "support/fact.h"
#include "support/fail_alloc.h"
#include "support/onnx_build.h"
#include "support/onnx_files.h"
#include "support/random.h"

#define FLOAT 1
#define INT64 7
#define STRING 8

/* AttributeProto.type */
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

static struct tp_strings *pool;

static int
setup(void **state)
{
	assert_int_equal(tp_strings_new(NULL, 0, &pool, NULL), TP_OK);
	build_reset();
	return temp_dir_setup(state);
}

static int
teardown(void **state)
{
	tp_strings_free(pool);
	pool = NULL;
	return temp_dir_teardown(state);
}

static const char *
model_path(void)
{
	return temp_path(&test_dir, "m.onnx");
}

static struct tp_onnx_program *
open_model(const TpOnnx__ModelProto *m)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_onnx_program *p;

	onnx_put(model_path(), m);
	if (tp_onnx_program_open(model_path(), NULL, pool, &p, &err))
		fail_msg("%s", err.msg);
	return p;
}

static void
assert_refused(
    const TpOnnx__ModelProto *m, enum tp_status status, const char *message)
{
	struct tp_onnx_program *p = (void *)&p;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	onnx_put(model_path(), m);
	rc = tp_onnx_program_open(model_path(), NULL, pool, &p, &err);
	assert_null(p);
	if (rc != status || !strstr(err.msg, message))
		fail_msg(
		    "status %d, '%s' does not say '%s'", rc, err.msg, message);
}

#define assert_str(text, expected) \
	assert_int_equal(tp_str_cmp((text), tp_str(expected)), 0)

static TpOnnx__NodeProto *
add_node(TpOnnx__GraphProto *g, const char *op, const char *inputs,
    const char *output)
{
	TpOnnx__NodeProto *node = build_node(op, inputs, output);

	BUILD_ADD(g->node, g->n_node, node);
	return node;
}

/*
 * ---- graphs ----
 */

static void
test_graph(void **state)
{
	TpOnnx__GraphProto *g = build_graph();
	TpOnnx__NodeProto *node = add_node(g, "Clip", "x  w", "y");
	TpOnnx__ModelProto *m = build_model(8, 13, g);
	struct tp_onnx_program *p;
	const struct tp_graph_model *model;
	const struct tp_node *n;
	const float *w;

	(void)state;
	node->has_name = node->has_domain = node->has_overload = 1;
	node->name = build_bytes("clip");
	node->domain = build_bytes("my.domain");
	node->overload = build_bytes("o");
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	BUILD_ADD(g->output, g->n_output, build_value("y", FLOAT));
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_floats("w", SHAPE(3), 3));
	p = open_model(m);
	model = tp_onnx_program_model(p);
	assert_int_equal(model->n_opsets, 1);
	assert_str(model->opsets[0].domain, "");
	assert_int_equal(model->opsets[0].version, 13);
	assert_int_equal(model->graph.n_nodes, 1);
	n = &model->graph.nodes[0];
	assert_str(n->name, "clip");
	assert_str(n->domain, "my.domain");
	assert_str(n->op, "Clip");
	assert_str(n->overload, "o");
	assert_int_equal(n->n_inputs, 3);
	assert_str(n->inputs[0], "x");
	assert_str(n->inputs[1], "");
	assert_str(n->inputs[2], "w");
	assert_int_equal(n->n_outputs, 1);
	assert_str(n->outputs[0], "y");
	assert_int_equal(model->graph.n_constants, 1);
	assert_str(model->graph.constants[0].name, "w");
	assert_int_equal(model->graph.constants[0].value.kind, TP_VALUE_TENSOR);
	w = tp_tensor_data(model->graph.constants[0].value.tensor);
	assert_true(w[0] == 0.5F && w[1] == 1.5F && w[2] == 2.5F);
	tp_onnx_program_close(p);
	tp_onnx_program_close(NULL);
}

static void
test_imports(void **state)
{
	TpOnnx__ModelProto *m = build_model(2, 1, build_graph());
	struct tp_onnx_program *p;

	(void)state;
	/* The second version of the format had no imports: opset 1. */
	m->n_opset_import = 0;
	p = open_model(m);
	assert_int_equal(tp_onnx_program_model(p)->n_opsets, 1);
	assert_int_equal(tp_onnx_program_model(p)->opsets[0].version, 1);
	tp_onnx_program_close(p);
	m->ir_version = 3;
	p = open_model(m);
	assert_int_equal(tp_onnx_program_model(p)->n_opsets, 0);
	tp_onnx_program_close(p);
	m->n_opset_import = 1;
	m->opset_import[0]->version = 0;
	assert_refused(m, TP_EFORMAT, "opset 0 of domain ''");
	m->opset_import[0]->version = INT64_C(1) << 40;
	assert_refused(m, TP_EFORMAT, "opset 1099511627776");
}

static void
test_function(void **state)
{
	TpOnnx__FunctionProto *f =
	    build_message(&tp_onnx__function_proto__descriptor);
	TpOnnx__ModelProto *m = build_model(8, 13, build_graph());
	TpOnnx__NodeProto *node = build_node("LeakyRelu", "x", "y");
	TpOnnx__AttributeProto *a = build_attribute(node, "alpha", A_FLOAT);
	TpOnnx__NodeProto *holder = build_node("-", "", "");
	TpOnnx__AttributeProto *d = build_attribute(holder, "beta", A_INT);
	const struct tp_function *got;
	struct tp_onnx_program *p;

	(void)state;
	f->has_name = f->has_domain = f->has_overload = 1;
	f->name = build_bytes("Leak");
	f->domain = build_bytes("local");
	f->overload = build_bytes("a");
	BUILD_ADD(f->input, f->n_input, build_bytes("x"));
	BUILD_ADD(f->output, f->n_output, build_bytes("y"));
	BUILD_ADD(f->attribute, f->n_attribute, build_bytes("slope"));
	BUILD_ADD(f->node, f->n_node, node);
	BUILD_ADD(f->opset_import, f->n_opset_import, m->opset_import[0]);
	a->has_ref_attr_name = 1;
	a->ref_attr_name = build_bytes("slope");
	d->has_i = 1;
	d->i = 7;
	BUILD_ADD(f->attribute_proto, f->n_attribute_proto, d);
	BUILD_ADD(m->functions, m->n_functions, f);
	p = open_model(m);
	assert_int_equal(tp_onnx_program_model(p)->n_functions, 1);
	got = &tp_onnx_program_model(p)->functions[0];
	assert_str(got->name, "Leak");
	assert_str(got->domain, "local");
	assert_str(got->overload, "a");
	assert_int_equal(got->n_opsets, 1);
	assert_int_equal(got->n_attr_names, 1);
	assert_str(got->attr_names[0], "slope");
	assert_int_equal(got->n_defaults, 1);
	assert_str(got->defaults[0].name, "beta");
	assert_int_equal(got->defaults[0].i, 7);
	assert_int_equal(got->graph.n_inputs, 1);
	assert_str(got->graph.inputs[0].name, "x");
	assert_int_equal(got->graph.inputs[0].type.kind, TP_VALUE_NONE);
	assert_str(got->graph.outputs[0].name, "y");
	assert_int_equal(got->graph.n_nodes, 1);
	assert_str(got->graph.nodes[0].attrs[0].ref, "slope");
	assert_int_equal(got->graph.nodes[0].attrs[0].kind, TP_ATTR_FLOAT);
	tp_onnx_program_close(p);
}

/*
 * ---- attributes ----
 */

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
		got = attribute_of(m, &p);
		assert_int_equal(got->kind, TP_ATTR_FLOATS);
		assert_int_equal(got->n, 2);
		assert_true(got->floats[0] == (double)0.1F);
		assert_true(got->floats[1] == -INFINITY);
		tp_onnx_program_close(p);

		m = model_with_attribute(A_INTS, &a);
		BUILD_ADD(a->ints, a->n_ints, -1);
		BUILD_ADD(a->ints, a->n_ints, INT64_MAX);
		a->has_type = typed;
		got = attribute_of(m, &p);
		assert_int_equal(got->kind, TP_ATTR_INTS);
		assert_int_equal(got->n, 2);
		assert_true(got->ints[0] == -1 && got->ints[1] == INT64_MAX);
		tp_onnx_program_close(p);

		m = model_with_attribute(A_STRINGS, &a);
		BUILD_ADD(a->strings, a->n_strings, build_bytes("one"));
		BUILD_ADD(a->strings, a->n_strings, build_bytes(""));
		a->has_type = typed;
		got = attribute_of(m, &p);
		assert_int_equal(got->kind, TP_ATTR_STRINGS);
		assert_int_equal(got->n, 2);
		assert_str(got->strings[0], "one");
		assert_str(got->strings[1], "");
		tp_onnx_program_close(p);
	}
	/* An empty list needs its type. */
	got = attribute_of(model_with_attribute(A_INTS, &a), &p);
	assert_int_equal(got->kind, TP_ATTR_INTS);
	assert_int_equal(got->n, 0);
	tp_onnx_program_close(p);
}

static TpOnnx__SparseTensorProto *
sparse_of(const char *name, int64_t size, int64_t index)
{
	TpOnnx__SparseTensorProto *s =
	    build_message(&tp_onnx__sparse_tensor_proto__descriptor);

	s->values = build_floats(name, SHAPE(1), 1);
	s->indices = build_tensor(NULL, INT64, SHAPE(1));
	BUILD_ADD(s->indices->int64_data, s->indices->n_int64_data, index);
	BUILD_ADD(s->dims, s->n_dims, size);
	return s;
}

static void
assert_floats(const struct tp_value *v, const float *expected, size_t n)
{
	assert_int_equal(v->kind, TP_VALUE_TENSOR);
	assert_int_equal(tp_tensor_dtype(v->tensor), TP_DTYPE_F32);
	assert_int_equal(tp_tensor_numel(v->tensor), n);
	assert_memory_equal(tp_tensor_data(v->tensor), expected, n * 4);
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

/*
 * ---- declared types ----
 */

enum wrap { TENSOR, SEQUENCE, OPTIONAL };

/* A float tensor in up to three wraps, the outermost first. */
static TpOnnx__TypeProto *
wrapped(const enum wrap *wraps, size_t n)
{
	TpOnnx__TypeProto *t;

	if (n == 0)
		return build_value("t", FLOAT)->type;
	t = build_message(&tp_onnx__type_proto__descriptor);
	if (*wraps == SEQUENCE) {
		t->sequence_type =
		    build_message(&tp_onnx__type_proto__sequence__descriptor);
		t->sequence_type->elem_type = wrapped(wraps + 1, n - 1);
	} else {
		t->optional_type =
		    build_message(&tp_onnx__type_proto__optional__descriptor);
		t->optional_type->elem_type = wrapped(wraps + 1, n - 1);
	}
	return t;
}

static TpOnnx__ModelProto *
model_with_input(TpOnnx__TypeProto *type)
{
	TpOnnx__GraphProto *g = build_graph();
	TpOnnx__ValueInfoProto *v = build_value("x", FLOAT);

	v->type = type;
	BUILD_ADD(g->input, g->n_input, v);
	return build_model(8, 13, g);
}

static void
test_types(void **state)
{
	static const struct {
		enum wrap wraps[3];
		size_t n;
		enum tp_value_kind kind, element;
	} rows[] = {
	    {{0}, 0, TP_VALUE_TENSOR, TP_VALUE_NONE},
	    {{SEQUENCE}, 1, TP_VALUE_SEQUENCE, TP_VALUE_TENSOR},
	    {{OPTIONAL}, 1, TP_VALUE_OPTIONAL, TP_VALUE_TENSOR},
	    {{OPTIONAL, SEQUENCE}, 2, TP_VALUE_OPTIONAL, TP_VALUE_SEQUENCE},
	    {{SEQUENCE, SEQUENCE}, 2, TP_VALUE_SEQUENCE, TP_VALUE_SEQUENCE},
	};
	static const enum wrap deep[] = {SEQUENCE, SEQUENCE, SEQUENCE};
	TpOnnx__TypeProto *type;
	struct tp_onnx_program *p;
	struct tp_type got;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		build_reset();
		p = open_model(
		    model_with_input(wrapped(rows[i].wraps, rows[i].n)));
		got = tp_onnx_program_model(p)->graph.inputs[0].type;
		assert_int_equal(got.kind, rows[i].kind);
		assert_int_equal(got.element, rows[i].element);
		assert_int_equal(got.dtype, TP_DTYPE_F32);
		tp_onnx_program_close(p);
	}
	assert_refused(model_with_input(wrapped(deep, 3)), TP_EUNSUPPORTED,
	    "'x' is declared as lists in lists in lists");

	type = build_message(&tp_onnx__type_proto__descriptor);
	type->map_type = build_message(&tp_onnx__type_proto__map__descriptor);
	assert_refused(model_with_input(type), TP_EUNSUPPORTED,
	    "'x' is declared as a map");
	type = build_value("t", 77)->type;
	assert_refused(model_with_input(type), TP_EFORMAT,
	    "'x' is declared with the unknown elem_type 77");

	p = open_model(model_with_input(NULL));
	got = tp_onnx_program_model(p)->graph.inputs[0].type;
	assert_int_equal(got.kind, TP_VALUE_NONE);
	tp_onnx_program_close(p);
}

static void
test_shapes(void **state)
{
	TpOnnx__TypeProto *type = build_value("t", FLOAT)->type;
	TpOnnx__TensorShapeProto *shape =
	    build_message(&tp_onnx__tensor_shape_proto__descriptor);
	const struct tp_binding *got;
	struct tp_onnx_program *p;

	(void)state;
	p = open_model(model_with_input(type));
	assert_false(tp_onnx_program_model(p)->graph.inputs[0].has_shape);
	tp_onnx_program_close(p);

	/* A size, a name, neither, and what some exporters write for it. */
	type->tensor_type->shape = shape;
	for (int i = 0; i < 4; i++) {
		TpOnnx__TensorShapeProto__Dimension *d = build_message(
		    &tp_onnx__tensor_shape_proto__dimension__descriptor);

		d->has_dim_value = i == 0 || i == 3;
		d->dim_value = i ? -1 : 5;
		d->has_dim_param = i == 1;
		d->dim_param = build_bytes("batch");
		BUILD_ADD(shape->dim, shape->n_dim, d);
	}
	p = open_model(model_with_input(type));
	got = &tp_onnx_program_model(p)->graph.inputs[0];
	assert_true(got->has_shape);
	assert_int_equal(got->rank, 4);
	assert_int_equal(got->sizes[0], 5);
	for (int i = 1; i < 4; i++)
		assert_int_equal(got->sizes[i], -1);
	assert_str(got->symbols[1], "batch");
	assert_int_equal(got->symbols[2].len, 0);
	tp_onnx_program_close(p);

	while (shape->n_dim < 65)
		BUILD_ADD(shape->dim, shape->n_dim, shape->dim[0]);
	assert_refused(model_with_input(type), TP_ELIMIT,
	    "'x' is declared with 65 axes, the limit is 64");
}

/*
 * ---- weights ----
 */

static void
test_external_and_mapped(void **state)
{
	enum { N = 65536 };
	TpOnnx__GraphProto *g = build_graph();
	TpOnnx__TensorProto *t = build_tensor("w", FLOAT, SHAPE(N));
	TpOnnx__StringStringEntryProto *e =
	    build_message(&tp_onnx__string_string_entry_proto__descriptor);
	float *data = calloc(N, sizeof(*data));
	struct tp_onnx_program *p;
	const float *got;
	struct tp_tensor *w;

	(void)state;
	assert_non_null(data);
	data[N - 1] = 7;
	if (!tp_host_is_little())
		tp_swap_bytes(data, N, sizeof(*data));
	write_file(temp_path(&test_dir, "w.bin"), data, N * sizeof(*data));
	free(data);
	t->has_data_location = 1;
	t->data_location = 1;
	e->has_key = e->has_value = 1;
	e->key = build_bytes("location");
	e->value = build_bytes("w.bin");
	BUILD_ADD(t->external_data, t->n_external_data, e);
	BUILD_ADD(g->initializer, g->n_initializer, t);
	p = open_model(build_model(8, 13, g));
	w = tp_onnx_program_model(p)->graph.constants[0].value.tensor;
	if (tp_host_is_little())
		assert_int_equal(
		    tp_storage_kind(tp_tensor_storage(w)), TP_STORAGE_MAPPED);
	got = tp_tensor_data(w);
	assert_true(got[0] == 0 && got[N - 1] == 7);
	tp_onnx_program_close(p);

	/* The paths of every reader of ONNX are those of this one. */
	e->value = build_bytes("../w.bin");
	assert_refused(build_model(8, 13, g), TP_EFORMAT, "'w'");
	e->value = build_bytes("gone.bin");
	assert_refused(build_model(8, 13, g), TP_EIO, "gone.bin");
}

static void
test_sparse_and_names(void **state)
{
	TpOnnx__GraphProto *g = build_graph();
	const struct tp_graph *got;
	struct tp_onnx_program *p;

	(void)state;
	/* Names that are taken, also by what would be made of them. */
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_floats("w", SHAPE(1), 1));
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_floats("w", SHAPE(2), 2));
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_floats("w #3", SCALAR, 1));
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_floats("w", SHAPE(3), 3));
	BUILD_ADD(g->sparse_initializer, g->n_sparse_initializer,
	    sparse_of("s", 3, 1));
	p = open_model(build_model(8, 13, g));
	got = &tp_onnx_program_model(p)->graph;
	assert_int_equal(got->n_constants, 5);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
		    tp_tensor_numel(got->constants[i].value.tensor),
		    i == 2   ? 1
		    : i == 3 ? 3
			     : i + 1);
	assert_str(got->constants[3].name, "w");
	assert_str(got->constants[4].name, "s");
	assert_floats(&got->constants[4].value, (const float[]){0, 0.5F, 0}, 3);
	tp_onnx_program_close(p);
}

static void
test_bad_weights(void **state)
{
	static const int64_t huge[] = {INT64_MAX, 2};
	TpOnnx__GraphProto *g = build_graph();
	TpOnnx__ModelProto *m = build_model(8, 13, g);

	(void)state;
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_floats("", SHAPE(1), 1));
	assert_refused(m, TP_EFORMAT, "initializer 0 of graph 'g' has no name");
	g->initializer[0] = build_floats("w", SHAPE(2), 3);
	assert_refused(
	    m, TP_EFORMAT, "'w': 3 values in float_data, expected 2");
	g->initializer[0] = build_floats("w", 2, huge, 1);
	assert_refused(m, TP_EFORMAT, "'w'");
	g->initializer[0] = build_tensor("w", 99, SHAPE(1));
	assert_refused(m, TP_EFORMAT, "'w': unknown data_type 99");
	g->initializer[0] = build_tensor("w", STRING, SHAPE(2));
	assert_refused(m, TP_EFORMAT, "'w': no data (0 elements)");
	g->n_initializer = 0;
	BUILD_ADD(g->sparse_initializer, g->n_sparse_initializer,
	    sparse_of("s", 3, 3));
	assert_refused(m, TP_EFORMAT, "'s': sparse index 3");
	g->sparse_initializer[0] = sparse_of("s", INT64_C(1) << 40, 3);
	assert_refused(m, TP_ELIMIT, "'s': 4398046511104 bytes when it is not");
	g->sparse_initializer[0]->values = NULL;
	assert_refused(m, TP_EFORMAT, "initializer 0 of graph 'g' has no name");
}

/*
 * ---- files that are none ----
 */

static void
test_bad_files(void **state)
{
	TpOnnx__GraphProto *g = build_graph();
	TpOnnx__ModelProto *m = build_model(8, 13, NULL);
	struct tp_onnx_program *p;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	assert_refused(m, TP_EFORMAT, "no graph");
	write_file(model_path(), "", 0);
	assert_int_equal(
	    tp_onnx_program_open(model_path(), NULL, pool, &p, &err),
	    TP_EFORMAT);
	assert_int_equal(tp_onnx_program_open(temp_path(&test_dir, "gone"),
			     NULL, pool, &p, &err),
	    TP_EIO);
	assert_int_equal(
	    tp_onnx_program_open(test_dir.path, NULL, pool, &p, &err), TP_EIO);

	/* Graphs in graphs, deeper than any limit allows. */
	for (int i = 0; i < 60; i++) {
		TpOnnx__GraphProto *outer = build_graph();

		build_attribute(
		    add_node(outer, "If", "c", "y"), "then_branch", A_GRAPH)
		    ->g = g;
		g = outer;
	}
	m->graph = g;
	assert_refused(m, TP_ELIMIT, "nested more than");

	/* Strings, and no pool for them. */
	build_reset();
	g = build_graph();
	BUILD_ADD(g->initializer, g->n_initializer,
	    build_tensor("s", STRING, SHAPE(0)));
	onnx_put(model_path(), build_model(8, 13, g));
	assert_int_equal(
	    tp_onnx_program_open(model_path(), NULL, NULL, &p, &err),
	    TP_EUNSUPPORTED);
}

/* One of everything. */
static TpOnnx__ModelProto *
rich_model(void)
{
	TpOnnx__GraphProto *g = build_graph(), *inner = build_graph();
	TpOnnx__NodeProto *node = add_node(g, "Loop", "n c x", "y");
	TpOnnx__AttributeProto *a;
	TpOnnx__TensorProto *s = build_tensor("s", STRING, SHAPE(1));
	static const enum wrap wraps[] = {OPTIONAL, SEQUENCE};
	TpOnnx__ValueInfoProto *v = build_value("x", FLOAT);

	BUILD_ADD(s->string_data, s->n_string_data, build_bytes("text"));
	v->type = wrapped(wraps, 2);
	BUILD_ADD(g->input, g->n_input, v);
	BUILD_ADD(g->output, g->n_output, build_value("y", FLOAT));
	BUILD_ADD(
	    g->initializer, g->n_initializer, build_floats("w", SHAPE(3), 3));
	BUILD_ADD(g->initializer, g->n_initializer, s);
	BUILD_ADD(g->sparse_initializer, g->n_sparse_initializer,
	    sparse_of("sp", 5, 2));
	build_attribute(node, "body", A_GRAPH)->g = inner;
	BUILD_ADD(inner->initializer, inner->n_initializer,
	    build_floats("w", SHAPE(2), 2));
	node = add_node(inner, "Op", "w", "z");
	a = build_attribute(node, "f", A_FLOATS);
	BUILD_ADD(a->floats, a->n_floats, 1.5F);
	a = build_attribute(node, "i", A_INTS);
	BUILD_ADD(a->ints, a->n_ints, 300);
	a = build_attribute(node, "s", A_STRINGS);
	BUILD_ADD(a->strings, a->n_strings, build_bytes("text"));
	build_attribute(node, "t", A_TENSOR)->t =
	    build_floats(NULL, SHAPE(2), 2);
	build_attribute(node, "tp", A_TYPE)->tp = wrapped(wraps, 2);
	return build_model(8, 13, g);
}

static void
test_no_memory(void **state)
{
	struct tp_open_options options = {0};
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	onnx_put(model_path(), rich_model());
	options.alloc = &a.alloc;
	while (fail_alloc_next(&a, rc)) {
		struct tp_onnx_program *p;

		rc = tp_onnx_program_open(
		    model_path(), &options, pool, &p, NULL);
		tp_onnx_program_close(p);
	}
	assert_true(a.n_rounds > 20);
}

/* Whatever the bytes are: an answer, and no harm. */
static void
test_mutants(void **state)
{
	uint64_t r = 2026;
	size_t n, n_good = 0;
	uint8_t *good, *bad;

	(void)state;
	onnx_put(model_path(), rich_model());
	good = read_file(model_path(), &n);
	bad = malloc(n);
	assert_non_null(bad);
	for (int i = 0; i < 3000; i++) {
		struct tp_onnx_program *p;

		memcpy(bad, good, n);
		for (uint64_t k = 1 + random_next(&r) % 3; k-- > 0;)
			bad[random_next(&r) % n] = (uint8_t)random_next(&r);
		write_file(model_path(), bad,
		    i % 4 ? n : (size_t)(random_next(&r) % n));
		n_good +=
		    !tp_onnx_program_open(model_path(), NULL, pool, &p, NULL);
		tp_onnx_program_close(p);
	}
	print_fact("damaged.onnx_program", 3000);
	/* Not all of them are told by their first byte. */
	assert_true(n_good > 100 && n_good < 2900);
	free(bad);
	free(good);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_graph),
	    TEST(test_imports),
	    TEST(test_function),
	    TEST(test_scalars),
	    TEST(test_lists),
	    TEST(test_tensors_in_attributes),
	    TEST(test_graphs_and_types_in_attributes),
	    TEST(test_bad_attributes),
	    TEST(test_types),
	    TEST(test_shapes),
	    TEST(test_external_and_mapped),
	    TEST(test_sparse_and_names),
	    TEST(test_bad_weights),
	    TEST(test_bad_files),
	    TEST(test_no_memory),
	    TEST(test_mutants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
