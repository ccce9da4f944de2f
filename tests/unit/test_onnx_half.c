/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_half*.c: graphs that compute with f16 */
#include "support/cmocka_all.h"

#include "tp/endian.h"

#include "support/fail_alloc.h"
#include "support/onnx_narrow.h"

#define BOOL 9
#define FLOAT16 10

static const struct wish half = {.half = true};

/* x and y are the model's. */
static TpOnnx__GraphProto *
open_graph(void)
{
	TpOnnx__GraphProto *g = new_graph();

	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	BUILD_ADD(g->output, g->n_output, build_value("y", FLOAT));
	return g;
}

static TpOnnx__ModelProto *
halved(TpOnnx__GraphProto *g, int64_t ir_version, int64_t opset)
{
	struct wish w = half;

	return changed(build_model(ir_version, opset, g), &w);
}

static void
assert_half(TpOnnx__GraphProto *g, const char *want)
{
	TpOnnx__ModelProto *m = halved(g, 8, 13);

	assert_text(m, want);
	drop(m);
}

static void
test_outside_stays(void **state)
{
	TpOnnx__GraphProto *g = open_graph();
	TpOnnx__ModelProto *m;

	(void)state;
	add_weight(g, "w", SHAPE(2, 2));
	add_weight(g, "b", SHAPE(2));
	BUILD_ADD(g->value_info, g->n_value_info, build_value("h", FLOAT));
	BUILD_ADD(g->value_info, g->n_value_info, build_value("s", INT64));
	add_node(g, "Gemm", "x w b", "h");
	add_node(g, "Shape", "h", "s");
	add_node(g, "Reshape", "h s", "y");
	m = halved(g, 8, 13);
	assert_text(m, "w:10[2,2] b:10[2]; Cast(x)=x_half to=10; "
		       "Gemm(x_half,w,b)=h; Shape(h)=s; Reshape(h,s)=y_half; "
		       "Cast(y_half)=y to=1");
	assert_int_equal(
	    m->graph->input[0]->type->tensor_type->elem_type, FLOAT);
	assert_int_equal(
	    m->graph->output[0]->type->tensor_type->elem_type, FLOAT);
	assert_int_equal(
	    m->graph->value_info[0]->type->tensor_type->elem_type, FLOAT16);
	assert_int_equal(
	    m->graph->value_info[1]->type->tensor_type->elem_type, INT64);
	drop(m);
}

/* Between Casts; the weight that only they use stays, one that others use too
 * is cast back. */
static void
test_operators_that_keep_f32(void **state)
{
	TpOnnx__GraphProto *g = open_graph();

	(void)state;
	add_weight(g, "two", SCALAR);
	add_weight(g, "w", SHAPE(2));
	add_node(g, "Mul", "x w", "h");
	add_node(g, "Pow", "h two", "p");
	add_node(g, "Pow", "p w", "q");
	add_node(g, "Relu", "q", "y");
	assert_half(g,
	    "two:1[] w:10[2]; Cast(x)=x_half to=10; Mul(x_half,w)=h; "
	    "Cast(h)=h_float to=1; Pow(h_float,two)=p_float; "
	    "Cast(p_float)=p to=10; Cast(p)=p_float_2 to=1; "
	    "Cast(w)=w_float to=1; Pow(p_float_2,w_float)=q_float; "
	    "Cast(q_float)=q to=10; Relu(q)=y_half; Cast(y_half)=y to=1");
}

/* Casts to f32 are to f16, those to others stay; comparisons give no floats. */
static void
test_types(void **state)
{
	TpOnnx__GraphProto *g = open_graph();

	(void)state;
	BUILD_ADD(g->input, g->n_input, build_value("n", INT64));
	add_int(add_node(g, "Cast", "n", "f"), "to", FLOAT);
	add_int(add_node(g, "Cast", "x", "i"), "to", INT64);
	add_node(g, "Greater", "x f", "c");
	add_node(g, "Where", "c n i", "k");
	add_node(g, "Gather", "f k", "o");
	add_node(g, "ConstantOfShape", "k", "z");
	add_node(g, "Where", "c z o", "y");
	assert_half(g,
	    "Cast(x)=x_half to=10; Cast(n)=f to=10; Cast(x_half)=i to=7; "
	    "Greater(x_half,f)=c; Where(c,n,i)=k; Gather(f,k)=o; "
	    "ConstantOfShape(k)=z_float; Cast(z_float)=z to=10; "
	    "Where(c,z,o)=y_half; Cast(y_half)=y to=1");
}

/* Values of Constants, as tensors and as numbers. */
static void
test_constants(void **state)
{
	TpOnnx__GraphProto *g = open_graph();
	TpOnnx__AttributeProto *a;

	(void)state;
	add_constant(g, "k", SHAPE(2));
	a = build_attribute(
	    add_node(g, "Constant", "", "v"), "value_float", A_FLOAT);
	a->has_f = 1;
	a->f = 0.5f;
	a = build_attribute(
	    add_node(g, "Constant", "", "l"), "value_floats", A_FLOATS);
	a->floats = build_take(2 * sizeof(float));
	a->n_floats = 2;
	a->floats[0] = 1;
	a->floats[1] = 2;
	a = build_attribute(
	    add_node(g, "Constant", "", "n"), "value_int", A_INT);
	a->has_i = 1;
	a->i = 3;
	add_node(g, "Add", "x k", "a");
	add_node(g, "Mul", "a v", "b");
	add_node(g, "Sub", "b l", "c");
	add_node(g, "Gather", "c n", "y");
	assert_half(g, "Cast(x)=x_half to=10; Constant()=k value=10[2]; "
		       "Constant()=v value=10[]; Constant()=l value=10[2]; "
		       "Constant()=n value_int=3; Add(x_half,k)=a; Mul(a,v)=b; "
		       "Sub(b,l)=c; Gather(c,n)=y_half; Cast(y_half)=y to=1");
}

static void
test_branches(void **state)
{
	TpOnnx__GraphProto *g = open_graph(), *a = build_graph(),
			   *b = build_graph();
	TpOnnx__ModelProto *m;

	(void)state;
	BUILD_ADD(g->input, g->n_input, build_value("c", BOOL));
	add_weight(a, "v", SHAPE(2));
	add_node(a, "Add", "x v", "s");
	add_node(a, "ReduceMean", "s", "t");
	BUILD_ADD(a->output, a->n_output, build_value("t", FLOAT));
	BUILD_ADD(b->output, b->n_output, build_value("x", FLOAT));
	build_attribute(add_if(g, a), "else_branch", A_GRAPH)->g = b;
	m = halved(g, 8, 13);
	assert_text(m,
	    "Cast(x)=x_half to=10; "
	    "If(c)=y_half then_branch={v:10[2]; Add(x_half,v)=s; "
	    "Cast(s)=s_float to=1; ReduceMean(s_float)=t_float; "
	    "Cast(t_float)=t to=10} else_branch={}; Cast(y_half)=y to=1");
	for (size_t i = 0; i < 2; i++) {
		const TpOnnx__ValueInfoProto *out =
		    m->graph->node[1]->attribute[i]->g->output[0];

		assert_int_equal(out->type->tensor_type->elem_type, FLOAT16);
	}
	assert_memory_equal(
	    m->graph->node[1]->attribute[1]->g->output[0]->name.data, "x_half",
	    6);
	drop(m);
}

/* What a Loop carries, with and without declared types. */
static void
test_loops(void **state)
{
	for (int declared = 0; declared < 2; declared++) {
		TpOnnx__GraphProto *g = open_graph(), *a = build_graph();
		TpOnnx__ModelProto *m;

		(void)state;
		BUILD_ADD(g->input, g->n_input, build_value("m", INT64));
		BUILD_ADD(a->input, a->n_input, build_value("i", INT64));
		BUILD_ADD(a->input, a->n_input, build_value("go", BOOL));
		BUILD_ADD(a->input, a->n_input, build_value("s", FLOAT));
		if (!declared)
			a->input[2]->type = NULL;
		add_node(a, "Identity", "go", "on");
		add_node(a, "Add", "s x", "t");
		add_node(a, "Shape", "t", "n");
		BUILD_ADD(a->output, a->n_output, build_value("on", BOOL));
		BUILD_ADD(a->output, a->n_output, build_value("t", FLOAT));
		BUILD_ADD(a->output, a->n_output, build_value("n", INT64));
		build_attribute(
		    add_node(g, "Loop", "m  x", "last"), "body", A_GRAPH)
		    ->g = a;
		BUILD_ADD(g->node[0]->output, g->node[0]->n_output,
		    build_bytes("sizes"));
		add_node(g, "Gather", "last sizes", "y");
		m = halved(g, 8, 13);
		assert_text(m,
		    "Cast(x)=x_half to=10; "
		    "Loop(m,,x_half)=last,sizes body={Identity(go)=on; "
		    "Add(s,x_half)=t; Shape(t)=n}; Gather(last,sizes)=y_half; "
		    "Cast(y_half)=y to=1");
		drop(m);
	}
}

/* Weights of IR version 3 are inputs, which are of their type. */
static void
test_old_inputs(void **state)
{
	TpOnnx__GraphProto *g = open_graph();
	TpOnnx__ModelProto *m;

	(void)state;
	add_weight(g, "w", SHAPE(2, 2));
	BUILD_ADD(g->input, g->n_input, build_value("w", FLOAT));
	add_node(g, "MatMul", "x w", "y");
	m = halved(g, 3, 9);
	assert_int_equal(
	    m->graph->input[0]->type->tensor_type->elem_type, FLOAT);
	assert_int_equal(
	    m->graph->input[1]->type->tensor_type->elem_type, FLOAT16);
	drop(m);
}

static TpOnnx__GraphProto *
graph_of(const char *op_type)
{
	TpOnnx__GraphProto *g = open_graph();

	add_weight(g, "w", SHAPE(2, 2));
	add_node(g, "MatMul", "x w", "h");
	add_node(g, op_type, "h", "y");
	return g;
}

static void
test_refused(void **state)
{
	TpOnnx__GraphProto *g;
	TpOnnx__ModelProto *m;

	(void)state;
	assert_refused(build_model(8, 13, graph_of("SequenceConstruct")), half,
	    "node 'y' (SequenceConstruct) is not known to");
	g = graph_of("Relu");
	g->node[1]->has_domain = 1;
	g->node[1]->domain = build_bytes("local");
	assert_refused(build_model(8, 13, g), half, "(Relu) is not known to");
	assert_refused(build_model(3, 5, graph_of("Relu")), half, "below 6");

	g = graph_of("Relu");
	BUILD_ADD(g->input, g->n_input, build_value("w", FLOAT));
	assert_refused(
	    build_model(8, 13, g), half, "callers may replace the weight 'w'");
	g = graph_of("Relu");
	BUILD_ADD(g->output, g->n_output, build_value("w", FLOAT));
	assert_refused(
	    build_model(8, 13, g), half, "an output is the weight 'w'");
	g = graph_of("Relu");
	BUILD_ADD(g->output, g->n_output, build_value("x", FLOAT));
	assert_refused(
	    build_model(8, 13, g), half, "an output is the input 'x'");

	m = build_model(8, 13, graph_of("Relu"));
	BUILD_ADD(m->functions, m->n_functions,
	    build_message(&tp_onnx__function_proto__descriptor));
	assert_refused(m, half, "has functions");

	/* Nodes out of order: what h is is not known yet. */
	g = open_graph();
	add_node(g, "Relu", "h", "y");
	add_node(g, "Relu", "x", "h");
	assert_refused(
	    build_model(8, 13, g), half, "has an input of unknown type");
}

/* Beyond f16, but for what stands for infinity. */
static void
test_range(void **state)
{
	static const struct {
		float value;
		const char *refusal;
		uint16_t becomes;
	} rows[] = {
	    {65504, NULL, 0x7bff},
	    {65519, NULL, 0x7bff},
	    {-1048576, "tensor 'w' has 1 numbers beyond 65504", 0},
	    {-3e38f, NULL, 0xfbff},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		TpOnnx__GraphProto *g = graph_of("Relu");
		TpOnnx__ModelProto *m = build_model(8, 13, g);
		uint32_t bits;

		memcpy(&bits, &rows[i].value, 4);
		tp_put_le32(g->initializer[0]->raw_data.data, bits);
		if (rows[i].refusal) {
			assert_refused(m, half, rows[i].refusal);
			continue;
		}
		m = halved(g, 8, 13);
		assert_int_equal(
		    tp_le16(m->graph->initializer[0]->raw_data.data),
		    rows[i].becomes);
		drop(m);
	}
}

static void
test_no_memory(void **state)
{
	const char *in = temp_path(&test_dir, "in.onnx");
	const char *out = temp_path(&test_dir, "out.onnx");
	TpOnnx__GraphProto *g = open_graph();
	struct wish w = half;
	struct fail_alloc a = {.n_calls = 0};
	enum tp_status rc = TP_OK;

	(void)state;
	add_weight(g, "w", SHAPE(2));
	add_node(g, "Mul", "x w", "h");
	add_node(g, "Softplus", "h", "p");
	add_node(g, "ReduceSum", "p", "y");
	onnx_put(in, build_model(8, 12, g));
	while (fail_alloc_next(&a, rc))
		rc = narrow_file(in, out, &w, &a.alloc, NULL);
	assert_true(a.n_rounds > 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_outside_stays),
	    cmocka_unit_test(test_operators_that_keep_f32),
	    cmocka_unit_test(test_types),
	    cmocka_unit_test(test_constants),
	    cmocka_unit_test(test_branches),
	    cmocka_unit_test(test_loops),
	    cmocka_unit_test(test_old_inputs),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_range),
	    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
