/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_check.c: a good graph, and one fault after the other put into it */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "tp/onnx.h"

#include "formats/plugin.h"
#include "support/fail_alloc.h"
#include "support/fake_reader.h"
#include "support/onnx_build.h"
#include "support/temp_dir.h"

/* A model and the parts of it that faults are put into. */
struct model {
	TpOnnx__ModelProto *m;
	TpOnnx__GraphProto *g, *then, *inner;
	TpOnnx__NodeProto *add, *branch, *last;
	TpOnnx__FunctionProto *f;
};

static void
add_dims(TpOnnx__ValueInfoProto *v, size_t n, const int64_t *dims)
{
	TpOnnx__TensorShapeProto *s =
	    build_message(&tp_onnx__tensor_shape_proto__descriptor);

	for (size_t i = 0; i < n; i++) {
		TpOnnx__TensorShapeProto__Dimension *d = build_message(
		    &tp_onnx__tensor_shape_proto__dimension__descriptor);

		d->has_dim_value = dims[i] >= 0;
		d->dim_value = dims[i];
		BUILD_ADD(s->dim, s->n_dim, d);
	}
	v->type->tensor_type->shape = s;
}

/* local.twice(a) -> b, of which k is a parameter. */
static void
add_function(struct model *x)
{
	TpOnnx__FunctionProto *f =
	    build_message(&tp_onnx__function_proto__descriptor);
	TpOnnx__OperatorSetIdProto *o =
	    build_message(&tp_onnx__operator_set_id_proto__descriptor);
	TpOnnx__NodeProto *node = build_node("Scale", "a", "b");
	TpOnnx__AttributeProto *a = build_attribute(node, "factor", A_FLOAT);

	o->has_version = 1;
	o->version = 17;
	BUILD_ADD(f->opset_import, f->n_opset_import, o);
	f->has_name = f->has_domain = 1;
	f->name = build_bytes("twice");
	f->domain = build_bytes("local");
	BUILD_ADD(f->input, f->n_input, build_bytes("a"));
	BUILD_ADD(f->output, f->n_output, build_bytes("b"));
	BUILD_ADD(f->attribute, f->n_attribute, build_bytes("k"));
	a->has_ref_attr_name = 1;
	a->ref_attr_name = build_bytes("k");
	BUILD_ADD(f->node, f->n_node, node);
	BUILD_ADD(x->m->functions, x->m->n_functions, f);
	x->f = f;
}

/*
 * x, w -> Add -> y -> If (then: y, c -> Mul -> t, in it a body) -> z -> Abs
 */
static struct model
good_model(void)
{
	static const int64_t two[] = {2};
	struct model x = {.g = build_graph()};
	TpOnnx__ValueInfoProto *v;
	TpOnnx__AttributeProto *a;

	build_reset();
	x.g = build_graph();
	x.m = build_model(8, 17, x.g);
	v = build_value("x", FLOAT);
	add_dims(v, 1, two);
	BUILD_ADD(x.g->input, x.g->n_input, v);
	BUILD_ADD(x.g->initializer, x.g->n_initializer,
	    build_tensor("w", FLOAT, 1, two));
	x.add = build_node("Add", "x w", "y");
	BUILD_ADD(x.g->node, x.g->n_node, x.add);

	x.then = build_graph();
	BUILD_ADD(x.then->initializer, x.then->n_initializer,
	    build_tensor("c", FLOAT, 1, two));
	BUILD_ADD(x.then->node, x.then->n_node, build_node("Mul", "y c", "t"));
	BUILD_ADD(x.then->output, x.then->n_output, build_value("t", FLOAT));
	x.inner = build_graph();
	BUILD_ADD(x.inner->node, x.inner->n_node, build_node("Neg", "c", "n"));
	a = build_attribute(x.then->node[0], "bodies", A_GRAPHS);
	BUILD_ADD(a->graphs, a->n_graphs, x.inner);

	x.branch = build_node("If", "x", "z");
	a = build_attribute(x.branch, "then", A_GRAPH);
	a->g = x.then;
	BUILD_ADD(x.g->node, x.g->n_node, x.branch);
	x.last = build_node("Abs", "z", "out");
	BUILD_ADD(x.g->node, x.g->n_node, x.last);
	BUILD_ADD(x.g->output, x.g->n_output, build_value("out", FLOAT));
	add_function(&x);
	return x;
}

/* Each problem as a line. */
static char told[8192];

static void
note(void *ctx, bool is_error, struct tp_str scope, const char *message)
{
	size_t n = strlen(told);

	(void)ctx;
	snprintf(told + n, sizeof(told) - n, "%s %.*s: %s\n",
	    is_error ? "error" : "warning", (int)scope.len, scope.s, message);
}

static enum tp_status
check(const struct tp_alloc *alloc, struct temp_dir *dir,
    const TpOnnx__ModelProto *m, struct tp_err *err)
{
	static uint8_t packed[1 << 16];
	size_t n = protobuf_c_message_pack(&m->base, packed);
	struct tp_reader *r = fake_reader(NULL, temp_path(dir, "m"), "", 0);
	enum tp_status rc;

	assert_int_equal(
	    tpi_reader_add_attachment(r, TP_STR(TP_ATTACHMENT_ONNX), NULL),
	    TP_OK);
	r->attachments[0].data = packed;
	r->attachments[0].nbytes = n;
	told[0] = '\0';
	if (alloc)
		r->alloc = alloc;
	rc = tp_onnx_check(r, note, NULL, err);
	r->alloc = NULL;
	tp_close(r);
	return rc;
}

static void
expect(struct temp_dir *dir, const TpOnnx__ModelProto *m, const char *lines)
{
	assert_int_equal(check(NULL, dir, m, NULL), TP_OK);
	assert_string_equal(told, lines);
}

static void
a_good_graph(void **state)
{
	struct model x = good_model();

	expect(*state, x.m, "");
	/* Sizes that are not said may be anything. */
	add_dims(x.g->input[0], 1, (const int64_t[]){-1});
	BUILD_ADD(x.g->value_info, x.g->n_value_info, x.g->input[0]);
	x.g->input[0]->name = build_bytes("w");
	BUILD_ADD(x.g->input, x.g->n_input, build_value("x", FLOAT));
	x.m->ir_version = 3;
	expect(*state, x.m, "");
}

static void
names(void **state)
{
	struct model x = good_model();

	x.add->input[1] = build_bytes("v");
	x.add->input[0] = build_bytes("");
	expect(*state, x.m,
	    "error : node 0 (Add): input 'v' is defined nowhere\n");

	x = good_model();
	x.last->output[0] = build_bytes("w");
	expect(*state, x.m,
	    "error : 'w' is defined twice: by an input or initializer and "
	    "node 2\nerror : output 'out' is defined nowhere\n");

	x = good_model();
	BUILD_ADD(x.g->input, x.g->n_input, build_value("x", FLOAT));
	BUILD_ADD(x.g->input, x.g->n_input, build_value("", FLOAT));
	x.g->input[0]->type = NULL;
	expect(*state, x.m,
	    "error : 'x' is defined twice: by an input or initializer and an "
	    "input or initializer\nerror : input 2 has no name\n"
	    "error : input 'x' has no type\n");

	/* t is that of an inner graph. */
	x = good_model();
	x.last->input[0] = build_bytes("t");
	expect(*state, x.m,
	    "error : node 2 (Abs): input 't' is defined nowhere\n");

	x = good_model();
	x.then->node[0]->output[0] = build_bytes("w");
	expect(*state, x.m,
	    "warning 1.then: 'w' hides one of that name around it\n"
	    "error 1.then: output 't' is defined nowhere\n");

	x = good_model();
	x.inner->node[0]->input[0] = build_bytes("n2");
	expect(*state, x.m,
	    "error 1.then/0.bodies[0]: node 0 (Neg): input 'n2' is defined "
	    "nowhere\n");

	x = good_model();
	x.then->output[0]->name = build_bytes("y");
	x.then->name = build_bytes("");
	expect(*state, x.m,
	    "warning 1.then: the graph has no name\n"
	    "warning 1.then: output 'y' comes from around the graph\n");

	x = good_model();
	BUILD_ADD(x.g->initializer, x.g->n_initializer,
	    build_tensor("w", FLOAT, 0, NULL));
	expect(*state, x.m, "error : initializer 'w' appears twice\n");
}

static void
order(void **state)
{
	struct model x = good_model();

	/* The branch needs y, which comes later: also from inside. */
	x.g->node[0] = x.branch;
	x.g->node[1] = x.add;
	expect(*state, x.m,
	    "warning : the nodes are not in order: node 0 uses 'y' of node "
	    "1\n");

	x = good_model();
	x.add->input[1] = build_bytes("out");
	expect(*state, x.m,
	    "error : the nodes cannot be ordered: node 2 (Abs) needs its own "
	    "result\n");

	x = good_model();
	x.then->node[0]->input[1] = build_bytes("n");
	expect(*state, x.m,
	    "error 1.then: node 0 (Mul): input 'n' is defined nowhere\n");

	x = good_model();
	x.last->input[0] = build_bytes("out");
	expect(*state, x.m,
	    "error : the nodes cannot be ordered: node 2 (Abs) needs its own "
	    "result\n");
}

static void
types(void **state)
{
	struct model x = good_model();
	TpOnnx__ValueInfoProto *v = build_value("w", INT64);

	BUILD_ADD(x.g->input, x.g->n_input, v);
	expect(*state, x.m,
	    "error : initializer 'w' is f32, as input it is declared as "
	    "i64\n");
	v->type->tensor_type->elem_type = 99;
	add_dims(v, 2, (const int64_t[]){2, 1});
	expect(*state, x.m,
	    "error : initializer 'w' is f32, as input it is declared as type "
	    "99\nerror : initializer 'w' has 1 axes, as input it is declared "
	    "with 2\n");
	v->type->tensor_type->elem_type = FLOAT;
	add_dims(v, 1, (const int64_t[]){3});
	expect(*state, x.m,
	    "error : initializer 'w' has size 2 on axis 0, as input it is "
	    "declared with 3\n");

	x = good_model();
	v = build_value("c", INT64);
	BUILD_ADD(x.then->value_info, x.then->n_value_info, v);
	expect(*state, x.m,
	    "error 1.then: initializer 'c' is f32, as value it is declared as "
	    "i64\n");
	v->type->sequence_type =
	    build_message(&tp_onnx__type_proto__sequence__descriptor);
	v->type->tensor_type = NULL;
	expect(*state, x.m,
	    "error 1.then: initializer 'c' is declared as something else than "
	    "a tensor\n");

	x = good_model();
	x.m->ir_version = 3;
	expect(*state, x.m,
	    "error : initializer 'w' is no input, which ir_version 3 "
	    "demands\n");
}

static void
nodes(void **state)
{
	struct model x = good_model();
	TpOnnx__AttributeProto *a;

	x.add->has_domain = 1;
	x.add->domain = build_bytes("far");
	x.last->op_type = build_bytes("");
	expect(*state, x.m,
	    "error : node 0 (Add): no version of domain 'far' is imported\n"
	    "error : node 2 names no operator\n");

	x = good_model();
	a = build_attribute(x.add, "k", A_FLOAT);
	a->has_i = 1;
	build_attribute(x.add, "k", 0);
	build_attribute(x.add, "", A_INT);
	expect(*state, x.m,
	    "error : node 0: attribute 'k' holds another value than its type "
	    "says\n"
	    "error : node 0 has attribute 'k' twice\n"
	    "error : node 0: attribute 'k' has no type\n"
	    "error : node 0 has an attribute without a name\n");

	x = good_model();
	a = build_attribute(x.add, "k", A_FLOAT);
	a->has_ref_attr_name = 1;
	a->ref_attr_name = build_bytes("p");
	expect(*state, x.m,
	    "error : node 0: attribute 'k' is that of a function, outside of "
	    "one\n");
}

static void
functions_and_training(void **state)
{
	struct model x = good_model();
	TpOnnx__TrainingInfoProto *t;

	x.f->node[0]->input[0] = build_bytes("x");
	x.f->attribute[0] = build_bytes("j");
	x.f->output[0] = build_bytes("q");
	x.f->n_opset_import = 0;
	expect(*state, x.m,
	    "error function:local.twice: node 0 (Scale): no version of domain "
	    "'' is imported\n"
	    "error function:local.twice: node 0 (Scale): input 'x' is defined "
	    "nowhere\n"
	    "error function:local.twice: node 0: attribute 'factor' is 'k' of "
	    "the function, which has none of that name\n"
	    "error function:local.twice: output 'q' is defined nowhere\n");

	x = good_model();
	t = build_message(&tp_onnx__training_info_proto__descriptor);
	t->algorithm = build_graph();
	BUILD_ADD(t->algorithm->node, t->algorithm->n_node,
	    build_node("Sub", "w gone", "w2"));
	BUILD_ADD(x.m->training_info, x.m->n_training_info, t);
	expect(*state, x.m,
	    "error training[0].algorithm: node 0 (Sub): input 'gone' is "
	    "defined nowhere\n");
}

static void
models(void **state)
{
	struct model x = good_model();
	struct tp_reader *r;

	BUILD_ADD(x.m->opset_import, x.m->n_opset_import,
	    build_message(&tp_onnx__operator_set_id_proto__descriptor));
	x.m->opset_import[1]->has_domain = 1;
	x.m->opset_import[1]->domain = build_bytes("ai.onnx");
	x.m->has_ir_version = 0;
	expect(*state, x.m,
	    "error : the model has no ir_version\n"
	    "error : domain '' is imported twice\n");
	x.m->n_opset_import = 0;
	x.m->has_ir_version = 1;
	x.m->ir_version = 2;
	BUILD_ADD(x.g->input, x.g->n_input, build_value("w", FLOAT));
	expect(*state, x.m, "");
	x.m->ir_version = 4;
	expect(*state, x.m,
	    "error : the model imports no set of operators\n"
	    "error : node 0 (Add): no version of domain '' is imported\n"
	    "error : node 1 (If): no version of domain '' is imported\n"
	    "error 1.then: node 0 (Mul): no version of domain '' is imported\n"
	    "error 1.then/0.bodies[0]: node 0 (Neg): no version of domain '' "
	    "is imported\n"
	    "error : node 2 (Abs): no version of domain '' is imported\n");
	x.m->graph = NULL;
	assert_int_equal(check(NULL, *state, x.m, NULL), TP_EFORMAT);
	r = fake_reader(NULL, temp_path(*state, "m"), "", 0);
	assert_int_equal(tp_onnx_check(r, note, NULL, NULL), TP_ENOTFOUND);
	tp_close(r);
}

/* The n-th allocation fails, for every n: an error, no leak, no crash. */
static void
no_memory(void **state)
{
	struct model x = good_model();
	enum tp_status rc = TP_ENOMEM;

	x.g->node[0] = x.branch;
	x.g->node[1] = x.add;
	for (size_t n = 1; rc; n++) {
		struct fail_alloc f;

		assert_true(n < 10000);
		fail_alloc_init(&f, n);
		rc = check(&f.alloc, *state, x.m, NULL);
		if (rc)
			assert_int_equal(rc, TP_ENOMEM);
		assert_int_equal(f.n_live, 0);
	}
}

static int
setup(void **state)
{
	static struct temp_dir dir;

	temp_dir_make(&dir);
	*state = &dir;
	return 0;
}

static int
teardown(void **state)
{
	temp_dir_remove(*state);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_good_graph),
	    cmocka_unit_test(names),
	    cmocka_unit_test(order),
	    cmocka_unit_test(types),
	    cmocka_unit_test(nodes),
	    cmocka_unit_test(functions_and_training),
	    cmocka_unit_test(models),
	    cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
