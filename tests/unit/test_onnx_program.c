/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_program.c - ONNX files as graphs that can be evaluated */
#include "support/onnx_program.h"

#include "tp/endian.h"

#include "support/fact.h"
#include "support/fail_alloc.h"
#include "support/random.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    PROGRAM_TEST(test_graph),
	    PROGRAM_TEST(test_imports),
	    PROGRAM_TEST(test_function),
	    PROGRAM_TEST(test_types),
	    PROGRAM_TEST(test_shapes),
	    PROGRAM_TEST(test_external_and_mapped),
	    PROGRAM_TEST(test_sparse_and_names),
	    PROGRAM_TEST(test_bad_weights),
	    PROGRAM_TEST(test_bad_files),
	    PROGRAM_TEST(test_no_memory),
	    PROGRAM_TEST(test_mutants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
