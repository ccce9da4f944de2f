/* SPDX-License-Identifier: Apache-2.0 */
/* test_onnx_graph.c - where a graph allows another element type */
#include "support/cmocka_all.h"

#include "tp/onnx_dtype.h"

#include "formats/onnx_graph.h"
#include "support/fail_alloc.h"
#include "support/onnx_build.h"
#include "support/onnx_files.h"

#define FLOAT16 10

static struct tpi_onnx_retype
change(const void *scope, const char *name, enum tp_dtype to)
{
	return (struct tpi_onnx_retype){
	    .at = {scope, tp_str(name)},
	    .entry = tp_str(name),
	    .from = TP_DTYPE_F32,
	    .to = to,
	    .code = tp_onnx_code(to),
	};
}

static void
assert_verdict(TpOnnx__ModelProto *m, const struct tpi_onnx_retype *changes,
    size_t n, const char *refusal, const char *what)
{
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc = tpi_onnx_retype(m, changes, n, NULL, &err);

	if (!refusal) {
		if (rc)
			fail_msg("%s: %s", what, err.msg);
		return;
	}
	if (rc != TP_EUNSUPPORTED || !strstr(err.msg, refusal))
		fail_msg("%s: status %d, '%s' does not say '%s'", what, rc,
		    err.msg, refusal);
}

static void
append(TpOnnx__GraphProto *g, TpOnnx__NodeProto *node)
{
	BUILD_ADD(g->node, g->n_node, node);
}

static TpOnnx__GraphProto *
graph_with_w(void)
{
	TpOnnx__GraphProto *g;

	build_reset();
	g = build_graph();
	BUILD_ADD(g->initializer, g->n_initializer,
	    build_tensor("w", FLOAT, SHAPE(2)));
	return g;
}

static void
test_consumers(void **state)
{
	static const struct {
		const char *domain, *op_type, *inputs;
		const char *refusal; /* NULL: allowed */
	} rows[] = {
	    {"", "Cast", "w", NULL},
	    {"ai.onnx", "Cast", "w", NULL},
	    {"", "Shape", "w", NULL},
	    {"", "Size", "w", NULL},
	    {"", "CastLike", "w x", NULL},
	    {"", "CastLike", "x w", "node 'y' (CastLike)"},
	    {"", "Relu", "x", NULL}, /* does not use it */
	    {"", "Relu", "w", "node 'y' (Relu)"},
	    {"", "Clip", "x  w", "node 'y' (Clip)"},
	    {"", "Identity", "w", "node 'y' (Identity)"},
	    {"", "QuantizeLinear", "w s", "node 'y' (QuantizeLinear)"},
	    {"local", "Cast", "w", "node 'y' (Cast)"},
	    {"", "cast", "w", "node 'y' (cast)"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		TpOnnx__GraphProto *g = graph_with_w();
		struct tpi_onnx_retype c = change(g, "w", TP_DTYPE_F16);
		TpOnnx__NodeProto *node =
		    build_node(rows[i].op_type, rows[i].inputs, "y");

		node->has_domain = 1;
		node->domain = build_bytes(rows[i].domain);
		append(g, node);
		assert_verdict(build_model(8, 17, g), &c, 1, rows[i].refusal,
		    rows[i].op_type);
	}
}

static void
test_message(void **state)
{
	TpOnnx__GraphProto *g = graph_with_w();
	struct tpi_onnx_retype c = change(g, "w", TP_DTYPE_F16);
	TpOnnx__NodeProto *node = build_node("Conv", "x w", "y");
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	node->has_name = 1;
	node->name = build_bytes("conv1");
	append(g, node);
	assert_int_equal(
	    tpi_onnx_retype(build_model(8, 17, g), &c, 1, NULL, &err),
	    TP_EUNSUPPORTED);
	assert_string_equal(err.msg,
	    "tensor 'w': f16 instead of f32 would make the graph invalid: "
	    "node 'conv1' (Conv) uses it (cast it back: --dtype 'NAME=f32')");
}

static void
test_outputs(void **state)
{
	TpOnnx__GraphProto *g = graph_with_w();
	struct tpi_onnx_retype c = change(g, "w", TP_DTYPE_F16);

	(void)state;
	BUILD_ADD(g->output, g->n_output, build_value("w", FLOAT));
	assert_verdict(
	    build_model(8, 17, g), &c, 1, "the graph output 'w'", "output");
}

static void
test_types_that_are_written_down(void **state)
{
	TpOnnx__GraphProto *g = graph_with_w();
	struct tpi_onnx_retype c = change(g, "w", TP_DTYPE_F16);

	(void)state;
	BUILD_ADD(g->input, g->n_input, build_value("w", FLOAT));
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	BUILD_ADD(g->value_info, g->n_value_info, build_value("w", FLOAT));
	BUILD_ADD(g->value_info, g->n_value_info, build_value("y", FLOAT));
	add_node(g, "Cast", "w", "y");
	assert_verdict(build_model(3, 17, g), &c, 1, NULL, "input");
	assert_int_equal(g->input[0]->type->tensor_type->elem_type, FLOAT16);
	assert_int_equal(g->input[1]->type->tensor_type->elem_type, FLOAT);
	assert_int_equal(
	    g->value_info[0]->type->tensor_type->elem_type, FLOAT16);
	assert_int_equal(g->value_info[1]->type->tensor_type->elem_type, FLOAT);
}

static void
test_versions(void **state)
{
	static const struct {
		enum tp_dtype to;
		int64_t ir, opset;
		const char *refusal;
	} rows[] = {
	    {TP_DTYPE_BF16, 8, 13, NULL},
	    {TP_DTYPE_BF16, 8, 12, "opset 12, bf16 needs 13"},
	    {TP_DTYPE_F8E5M2, 9, 19, NULL},
	    {TP_DTYPE_F8E5M2, 8, 19, "IR version 8, f8e5m2 needs 9"},
	    {TP_DTYPE_I4, 10, 20, "opset 20, i4 needs 21"},
	    {TP_DTYPE_F16, 3, 1, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		TpOnnx__GraphProto *g = graph_with_w();
		struct tpi_onnx_retype c = change(g, "w", rows[i].to);

		assert_verdict(build_model(rows[i].ir, rows[i].opset, g), &c, 1,
		    rows[i].refusal, "versions");
	}
}

/* An If whose branches are these graphs. */
static TpOnnx__NodeProto *
build_if(TpOnnx__GraphProto *then_branch, TpOnnx__GraphProto *else_branch)
{
	TpOnnx__NodeProto *node = build_node("If", "c", "r");

	build_attribute(node, "then_branch", A_GRAPH)->g = then_branch;
	build_attribute(node, "else_branch", A_GRAPH)->g = else_branch;
	return node;
}

static void
test_inner_graphs(void **state)
{
	/*
	 * The main graph and the then-branch each have a w; the else-branch
	 * sees that of the main graph. `inner` consumes in then, `outer` in
	 * else.
	 */
	static const struct {
		const char *inner, *outer;
		bool change_main, change_then;
		const char *refusal;
	} rows[] = {
	    {"Relu", "Relu", false, false, NULL},
	    {"Relu", "Cast", true, false, NULL},
	    {"Cast", "Relu", true, false, "node 'outer' (Relu)"},
	    {"Relu", "Cast", false, true, "node 'inner' (Relu)"},
	    {"Cast", "Relu", false, true, NULL},
	    {"Cast", "Cast", true, true, NULL},
	    {"Cast", "Relu", true, true, "node 'outer' (Relu)"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		TpOnnx__GraphProto *g = graph_with_w();
		TpOnnx__GraphProto *a = build_graph(), *b = build_graph();
		struct tpi_onnx_retype changes[2];
		size_t n = 0;

		BUILD_ADD(a->initializer, a->n_initializer,
		    build_tensor("w", FLOAT, SHAPE(2)));
		add_node(a, rows[i].inner, "w", "inner");
		add_node(b, rows[i].outer, "w", "outer");
		append(g, build_if(a, b));
		if (rows[i].change_main)
			changes[n++] = change(g, "w", TP_DTYPE_F16);
		if (rows[i].change_then)
			changes[n++] = change(a, "w", TP_DTYPE_F16);
		assert_verdict(build_model(8, 17, g), changes, n,
		    rows[i].refusal, rows[i].inner);
	}
}

/* Scopes with several changes each, in an order that is not theirs. */
static void
test_scopes_of_several(void **state)
{
	static const char *const used[] = {"w", "v", "k"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(used); i++) {
		TpOnnx__GraphProto *g = graph_with_w(), *a = build_graph();
		struct tpi_onnx_retype changes[3];

		BUILD_ADD(g->initializer, g->n_initializer,
		    build_tensor("v", FLOAT, SHAPE(2)));
		BUILD_ADD(a->initializer, a->n_initializer,
		    build_tensor("k", FLOAT, SHAPE(2)));
		add_node(a, "Relu", used[i], "y");
		append(g, build_if(a, build_graph()));
		changes[0] = change(g, "w", TP_DTYPE_F16);
		changes[1] = change(g, "v", TP_DTYPE_F16);
		changes[2] = change(a, "k", TP_DTYPE_F16);
		assert_verdict(build_model(8, 17, g), changes, 3,
		    "node 'y' (Relu)", used[i]);
	}
}

static void
test_names_that_hide(void **state)
{
	/* The inner graph defines w itself, in each of the ways there are. */
	(void)state;
	for (int how = 0; how < 4; how++) {
		TpOnnx__GraphProto *g = graph_with_w(), *a = build_graph();
		struct tpi_onnx_retype c = change(g, "w", TP_DTYPE_F16);
		TpOnnx__SparseTensorProto *s =
		    build_message(&tp_onnx__sparse_tensor_proto__descriptor);

		s->values = build_tensor("w", FLOAT, SHAPE(1));
		if (how == 0)
			BUILD_ADD(
			    a->input, a->n_input, build_value("w", FLOAT));
		if (how == 1)
			add_node(a, "Relu", "x", "w");
		if (how == 2)
			BUILD_ADD(
			    a->sparse_initializer, a->n_sparse_initializer, s);
		add_node(a, "Relu", "w", "z");
		append(g, build_if(a, build_graph()));
		assert_verdict(build_model(8, 17, g), &c, 1,
		    how == 3 ? "node 'z' (Relu)" : NULL, "hidden");

		/* What is hidden inside is seen again after it. */
		add_node(g, "Relu", "w", "after");
		assert_verdict(build_model(8, 17, g), &c, 1,
		    how == 3 ? "node 'z'" : "node 'after'", "after");
	}
}

static void
test_captured_as_an_output(void **state)
{
	TpOnnx__GraphProto *g = graph_with_w(), *a = build_graph();
	struct tpi_onnx_retype c = change(g, "w", TP_DTYPE_F16);

	(void)state;
	BUILD_ADD(a->output, a->n_output, build_value("w", FLOAT));
	append(g, build_if(a, build_graph()));
	assert_verdict(
	    build_model(8, 17, g), &c, 1, "the graph output 'w'", "captured");
}

static void
test_functions(void **state)
{
	/* k is a Constant of the function; the main graph's k is another. */
	(void)state;
	for (int how = 0; how < 3; how++) {
		TpOnnx__GraphProto *g = graph_with_w();
		TpOnnx__ModelProto *m = build_model(8, 17, g);
		TpOnnx__FunctionProto *f =
		    build_message(&tp_onnx__function_proto__descriptor);
		struct tpi_onnx_retype c = change(f, "k", TP_DTYPE_F16);

		BUILD_ADD(f->node, f->n_node, build_node("Constant", "", "k"));
		BUILD_ADD(f->node, f->n_node,
		    build_node(how == 1 ? "Relu" : "Cast", "k", "y"));
		if (how == 2)
			BUILD_ADD(f->output, f->n_output, build_bytes("k"));
		BUILD_ADD(
		    f->value_info, f->n_value_info, build_value("k", FLOAT));
		BUILD_ADD(m->functions, m->n_functions, f);
		add_node(g, "Relu", "k", "z");
		assert_verdict(m, &c, 1,
		    how == 0   ? NULL
		    : how == 1 ? "node 'y' (Relu)"
			       : "the function output 'k'",
		    "function");
		assert_int_equal(f->value_info[0]->type->tensor_type->elem_type,
		    how == 0 ? FLOAT16 : FLOAT);
	}
}

static void
test_function_opsets(void **state)
{
	/* The function imports an older opset than the model. */
	TpOnnx__ModelProto *m = build_model(8, 17, graph_with_w());
	TpOnnx__FunctionProto *f =
	    build_message(&tp_onnx__function_proto__descriptor);
	struct tpi_onnx_retype c = change(f, "k", TP_DTYPE_BF16);
	TpOnnx__OperatorSetIdProto *o =
	    build_message(&tp_onnx__operator_set_id_proto__descriptor);

	(void)state;
	BUILD_ADD(f->node, f->n_node, build_node("Constant", "", "k"));
	BUILD_ADD(m->functions, m->n_functions, f);
	assert_verdict(m, &c, 1, NULL, "opset of the model");
	o->has_version = 1;
	o->version = 12;
	BUILD_ADD(f->opset_import, f->n_opset_import, o);
	assert_verdict(m, &c, 1, "opset 12, bf16 needs 13", "its own opset");
}

static void
test_training(void **state)
{
	/* Training sees the main graph and gives its initializers values. */
	(void)state;
	for (int how = 0; how < 2; how++) {
		TpOnnx__GraphProto *g = graph_with_w();
		TpOnnx__ModelProto *m = build_model(8, 17, g);
		TpOnnx__TrainingInfoProto *t =
		    build_message(&tp_onnx__training_info_proto__descriptor);
		struct tpi_onnx_retype c = change(g, "w", TP_DTYPE_F16);

		if (how == 0) {
			TpOnnx__StringStringEntryProto *p = build_message(
			    &tp_onnx__string_string_entry_proto__descriptor);

			p->has_key = p->has_value = 1;
			p->key = build_bytes("w");
			p->value = build_bytes("w_new");
			BUILD_ADD(t->update_binding, t->n_update_binding, p);
		} else {
			t->algorithm = build_graph();
			add_node(t->algorithm, "Sub", "w g", "n");
		}
		BUILD_ADD(m->training_info, m->n_training_info, t);
		assert_verdict(m, &c, 1,
		    how ? "node 'n' (Sub)" : "a binding of training", "how");
	}
}

static void
test_no_memory(void **state)
{
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	while (fail_alloc_next(&a, rc)) {
		TpOnnx__GraphProto *g = graph_with_w();
		struct tpi_onnx_retype c = change(g, "w", TP_DTYPE_F16);

		add_node(g, "Cast", "w", "y");
		rc = tpi_onnx_retype(
		    build_model(8, 17, g), &c, 1, &a.alloc, NULL);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_consumers),
	    cmocka_unit_test(test_message),
	    cmocka_unit_test(test_outputs),
	    cmocka_unit_test(test_types_that_are_written_down),
	    cmocka_unit_test(test_versions),
	    cmocka_unit_test(test_inner_graphs),
	    cmocka_unit_test(test_scopes_of_several),
	    cmocka_unit_test(test_names_that_hide),
	    cmocka_unit_test(test_captured_as_an_output),
	    cmocka_unit_test(test_functions),
	    cmocka_unit_test(test_function_opsets),
	    cmocka_unit_test(test_training),
	    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
