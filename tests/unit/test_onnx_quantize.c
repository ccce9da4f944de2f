/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_quantize_*.c: what becomes of a graph whose weights are narrowed */
#include "support/cmocka_all.h"

#include "support/fail_alloc.h"
#include "support/onnx_narrow.h"

static TpOnnx__ModelProto *
narrowed(const TpOnnx__ModelProto *m, struct wish w)
{
	return changed(m, &w);
}

static void
assert_becomes(
    TpOnnx__GraphProto *g, int64_t opset, struct wish w, const char *want)
{
	TpOnnx__ModelProto *m;

	if (!g->n_input)
		BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	m = narrowed(build_model(8, opset, g), w);
	assert_text(m, want);
	drop(m);
}

/* ---- tests ---- */

static TpOnnx__GraphProto *
conv_graph(void)
{
	TpOnnx__GraphProto *g = new_graph();

	add_weight(g, "w", SHAPE(2, 3, 1, 1));
	add_weight(g, "b", SHAPE(2));
	add_node(g, "Relu", "x", "r");
	add_node(g, "Conv", "r w b", "y");
	return g;
}

/* What becomes of conv_graph at an opset: its weights but b, nodes before Conv. */
struct conv_row {
	int64_t opset;
	struct wish w;
	const char *weights, *nodes;
};

static void
assert_conv_becomes(const struct conv_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char want[512];

		snprintf(want, sizeof(want),
		    "%s b:1[2]; Relu(x)=r; %s; Conv(r,w_dequantized,b)=y",
		    rows[i].weights, rows[i].nodes);
		assert_becomes(conv_graph(), rows[i].opset, rows[i].w, want);
	}
}

/* Each form of DequantizeLinear, behind what needs no weight. */
static void
test_dequantize_linear(void **state)
{
	static const struct conv_row rows[] = {
	    {13, {.scheme = "int8", .per = TP_PER_CHANNEL},
		"w:3[2,3,1,1] w_scale:1[2]",
		"DequantizeLinear(w,w_scale)=w_dequantized axis=0"},
	    {10, {.scheme = "int8", .per = TP_PER_TENSOR},
		"w:3[2,3,1,1] w_scale:1[]",
		"DequantizeLinear(w,w_scale)=w_dequantized"},
	    {13, {.scheme = "uint8", .per = TP_PER_CHANNEL},
		"w:2[2,3,1,1] w_scale:1[2] w_zero_point:2[2]",
		"DequantizeLinear(w,w_scale,w_zero_point)=w_dequantized "
		"axis=0"},
	    {21, {.scheme = "int4", .per = TP_PER_BLOCK},
		"w:22[2,3,1,1] w_scale:1[2,2,1,1]",
		"DequantizeLinear(w,w_scale)=w_dequantized axis=1 "
		"block_size=2"},
	    {21, {.scheme = "uint4", .per = TP_PER_CHANNEL, .asymmetric = true},
		"w:21[2,3,1,1] w_scale:1[2] w_zero_point:21[2]",
		"DequantizeLinear(w,w_scale,w_zero_point)=w_dequantized "
		"axis=0"},
	};

	(void)state;
	assert_conv_becomes(rows, COUNT_OF(rows));
}

/* The same arithmetic where there is no such operator. */
static void
test_arithmetic(void **state)
{
	static const struct conv_row rows[] = {
	    {12, {.scheme = "int8", .per = TP_PER_CHANNEL},
		"w:3[2,3,1,1] w_scale:1[2,1,1,1]",
		"Cast(w)=w_cast to=1; Mul(w_cast,w_scale)=w_dequantized"},
	    {9, {.scheme = "uint8", .per = TP_PER_CHANNEL, .asymmetric = true},
		"w:2[2,3,1,1] w_scale:1[2,1,1,1] w_zero_point:2[2,1,1,1]",
		"Cast(w)=w_cast to=1; "
		"Cast(w_zero_point)=w_zero_point_cast to=1; "
		"Sub(w_cast,w_zero_point_cast)=w_shifted; "
		"Mul(w_shifted,w_scale)=w_dequantized"},
	    {9, {.scheme = "int8", .per = TP_PER_TENSOR},
		"w:3[2,3,1,1] w_scale:1[]",
		"Cast(w)=w_cast to=1; Mul(w_cast,w_scale)=w_dequantized"},
	    /* Attributes said how operands broadcast, a text what Cast gives. */
	    {6,
		{.scheme = "int8",
		    .per = TP_PER_CHANNEL,
		    .axis = 1,
		    .fixed = true},
		"w:3[2,3,1,1] w_scale:1[3]",
		"Cast(w)=w_cast to=1; "
		"Mul(w_cast,w_scale)=w_dequantized broadcast=1 axis=1"},
	    {5, {.scheme = "int8", .per = TP_PER_TENSOR},
		"w:3[2,3,1,1] w_scale:1[]",
		"Cast(w)=w_cast to=FLOAT; "
		"Mul(w_cast,w_scale)=w_dequantized broadcast=1"},
	};

	(void)state;
	assert_conv_becomes(rows, COUNT_OF(rows));
}

static void
test_casts(void **state)
{
	static const struct conv_row rows[] = {
	    {7, {.scheme = "f16"}, "w:10[2,3,1,1]",
		"Cast(w)=w_dequantized to=1"},
	    {19, {.scheme = "f8e4m3"}, "w:17[2,3,1,1]",
		"Cast(w)=w_dequantized to=1"},
	};

	(void)state;
	assert_conv_becomes(rows, COUNT_OF(rows));
}

/* The axis is the consumer's. */
static void
test_axes(void **state)
{
	static const struct {
		const char *op_type, *inputs;
		const char *attribute; /* = 1 */
		int channels, blocks;
	} rows[] = {
	    {"Conv", "x w", NULL, 0, 1},
	    {"ConvTranspose", "x w", NULL, 1, 0},
	    {"Gemm", "x w", NULL, 1, 0},
	    {"Gemm", "x w", "transB", 0, 1},
	    {"Gemm", "w x", NULL, 0, 1},
	    {"Gemm", "w x", "transA", 1, 0},
	    {"MatMul", "x w", NULL, 1, 0},
	    {"MatMul", "w x", NULL, 0, 1},
	    {"Gather", "w x", NULL, 0, 1},
	    {"Gather", "w x", "axis", 1, 1},
	    {"LSTM", "x w", NULL, 1, 1},
	    {"Transpose", "w", NULL, 0, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int block = 0; block < 2; block++) {
			TpOnnx__GraphProto *g = new_graph();
			TpOnnx__NodeProto *node;
			TpOnnx__ModelProto *m;
			struct wish w = {.scheme = "int8",
			    .per = block ? TP_PER_BLOCK : TP_PER_CHANNEL};

			add_weight(g, "w", SHAPE(4, 6));
			BUILD_ADD(
			    g->input, g->n_input, build_value("x", FLOAT));
			node =
			    add_node(g, rows[i].op_type, rows[i].inputs, "y");
			if (rows[i].attribute)
				add_int(node, rows[i].attribute, 1);
			m = narrowed(build_model(10, 21, g), w);
			assert_int_equal(m->graph->node[0]->attribute[0]->i,
			    block ? rows[i].blocks : rows[i].channels);
			drop(m);
		}
}

/* Of consumers that want different axes the first has its way. */
static void
test_axes_in_conflict(void **state)
{
	(void)state;
	for (int gather_first = 0; gather_first < 2; gather_first++) {
		TpOnnx__GraphProto *g = new_graph();
		TpOnnx__ModelProto *m;

		add_weight(g, "w", SHAPE(4, 6));
		BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
		if (gather_first)
			add_node(g, "Gather", "w x", "e");
		add_node(g, "MatMul", "x w", "y");
		if (!gather_first)
			add_node(g, "Gather", "w x", "e");
		m = narrowed(build_model(8, 13, g),
		    (struct wish){.scheme = "int8", .per = TP_PER_CHANNEL});
		assert_int_equal(m->graph->n_node, 3);
		assert_int_equal(
		    m->graph->node[0]->attribute[0]->i, !gather_first);
		drop(m);
	}
}

/* Kept, and why. */
static void
test_reasons(void **state)
{
	TpOnnx__GraphProto *g = new_graph();
	struct wish w = {.scheme = "int8", .per = TP_PER_CHANNEL};
	struct tp_quantize_options o = {
	    .recipe = choose, .ctx = &w, .keep_graph = true};
	const char *in = temp_path(&test_dir, "in.onnx");
	static const struct {
		const char *name, *why;
	} rows[] = {
	    {"added", "node 'a' (Add) uses it"},
	    {"both", "node 'm' (Mul) uses it"},
	    {"bound", "callers may replace it"},
	    {"idle", "no node uses it"},
	    {"out", "it is an output of a graph"},
	    {"good", NULL},
	};
	struct tp_reader *r = NULL, *q = NULL;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		add_weight(g, rows[i].name, SHAPE(4, 4));
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	BUILD_ADD(g->input, g->n_input, build_value("bound", FLOAT));
	BUILD_ADD(g->output, g->n_output, build_value("out", FLOAT));
	add_node(g, "Add", "x added", "a");
	add_node(g, "MatMul", "a both", "b");
	add_node(g, "Mul", "b both", "m");
	add_node(g, "MatMul", "m bound", "n");
	add_node(g, "MatMul", "n out", "o");
	add_node(g, "MatMul", "o good", "p");
	onnx_put(in, build_model(8, 13, g));
	assert_int_equal(tp_open(in, NULL, &r, NULL), TP_OK);
	assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct tp_recipe *p = &tp_quantized_item(q, i)->recipe;

		if (!rows[i].why)
			assert_non_null(p->scheme);
		else if (p->scheme || !strstr(p->why, rows[i].why))
			fail_msg("%s: %s", rows[i].name, p->why);
	}
	tp_close(q);
	tp_close(r);
}

/*
 * A branch that sees a weight of the main graph, and has two of its own; the
 * second one's names must not be those that the first one got.
 */
static void
test_inner_graphs(void **state)
{
	TpOnnx__GraphProto *g = new_graph(), *a = build_graph();

	(void)state;
	add_weight(g, "w", SHAPE(2, 2));
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	BUILD_ADD(g->input, g->n_input, build_value("c", 9));
	add_weight(a, "v", SHAPE(2, 2));
	add_node(a, "MatMul", "x w", "i");
	add_constant(a, "k", SHAPE(2, 2));
	add_node(a, "MatMul", "i k", "w_scale");
	add_node(a, "MatMul", "w_scale v", "r");
	BUILD_ADD(a->output, a->n_output, build_value("r", FLOAT));
	add_node(g, "Relu", "x", "x2");
	add_if(g, a);
	assert_becomes(g, 13,
	    (struct wish){.scheme = "int8", .per = TP_PER_TENSOR},
	    "w:3[2,2] w_scale_2:1[]; Relu(x)=x2; "
	    "DequantizeLinear(w,w_scale_2)=w_dequantized; "
	    "If(c)=y then_branch={v:3[2,2] v_scale:1[]; "
	    "MatMul(x,w_dequantized)=i; "
	    "Constant()=k value=3[2,2]; "
	    "Constant()=k_scale value=1[]; "
	    "DequantizeLinear(k,k_scale)=k_dequantized; "
	    "MatMul(i,k_dequantized)=w_scale; "
	    "DequantizeLinear(v,v_scale)=v_dequantized; "
	    "MatMul(w_scale,v_dequantized)=r}");
}

/* What Transpose does by default is said where it reads narrowed weights. */
static void
test_transpose(void **state)
{
	TpOnnx__GraphProto *g = new_graph();
	TpOnnx__ModelProto *m;
	const TpOnnx__AttributeProto *a;

	(void)state;
	add_weight(g, "w", SHAPE(2, 3, 4));
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	add_node(g, "Transpose", "w", "t");
	add_node(g, "Transpose", "t", "y");
	m = narrowed(build_model(8, 13, g),
	    (struct wish){.scheme = "int8", .per = TP_PER_CHANNEL});
	assert_int_equal(m->graph->node[1]->n_attribute, 1);
	a = m->graph->node[1]->attribute[0];
	assert_int_equal(a->n_ints, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(a->ints[i], 2 - i);
	assert_int_equal(m->graph->node[2]->n_attribute, 0);
	drop(m);
}

/* A branch's own w is not the main graph's. */
static void
test_names_that_hide(void **state)
{
	TpOnnx__GraphProto *g = new_graph(), *a = build_graph();

	(void)state;
	add_weight(g, "w", SHAPE(2, 2));
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	BUILD_ADD(g->input, g->n_input, build_value("c", 9));
	add_node(a, "Relu", "x", "w");
	add_node(a, "MatMul", "x w", "r");
	BUILD_ADD(a->output, a->n_output, build_value("r", FLOAT));
	add_if(g, a);
	add_node(g, "MatMul", "y w", "z");
	assert_becomes(g, 13,
	    (struct wish){.scheme = "int8", .per = TP_PER_TENSOR},
	    "w:3[2,2] w_scale:1[]; "
	    "If(c)=y then_branch={Relu(x)=w; MatMul(x,w)=r}; "
	    "DequantizeLinear(w,w_scale)=w_dequantized; "
	    "MatMul(y,w_dequantized)=z");
}

/* Initializers are inputs too in IR version 3. */
static void
test_old_inputs(void **state)
{
	TpOnnx__GraphProto *g = conv_graph();
	TpOnnx__ModelProto *m;

	(void)state;
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	BUILD_ADD(g->input, g->n_input, build_value("w", FLOAT));
	BUILD_ADD(g->input, g->n_input, build_value("b", FLOAT));
	BUILD_ADD(g->value_info, g->n_value_info, build_value("w", FLOAT));
	m = narrowed(build_model(3, 9, g),
	    (struct wish){.scheme = "int8", .per = TP_PER_CHANNEL});
	assert_int_equal(m->ir_version, 3);
	assert_int_equal(m->graph->n_input, 4);
	assert_int_equal(m->graph->input[1]->type->tensor_type->elem_type, 3);
	assert_int_equal(
	    m->graph->value_info[0]->type->tensor_type->elem_type, 3);
	assert_memory_equal(m->graph->input[3]->name.data, "w_scale", 7);
	assert_int_equal(
	    m->graph->input[3]->type->tensor_type->shape->n_dim, 4);
	drop(m);
}

static TpOnnx__ModelProto *
model_with(const char *op_type, int64_t ir_version, int64_t opset)
{
	TpOnnx__GraphProto *g = new_graph();

	add_weight(g, "w", SHAPE(2, 2));
	add_node(g, "MatMul", "x w", "y");
	add_node(g, op_type, "y", "z");
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	return build_model(ir_version, opset, g);
}

/* Raised only where no operator changes. */
static void
test_opsets(void **state)
{
	static const struct {
		const char *op_type, *scheme;
		enum tp_quant_per per;
		int64_t opset, becomes, ir_version;
		const char *refusal;
	} rows[] = {
	    {"Relu", "int4", TP_PER_CHANNEL, 13, 21, 10, NULL},
	    {"Relu", "int8", TP_PER_BLOCK, 17, 21, 10, NULL},
	    {"Relu", "int8", TP_PER_CHANNEL, 11, 11, 4, NULL},
	    {"Relu", "f8e5m2", TP_PER_TENSOR, 13, 19, 9, NULL},
	    {"Relu", "bf16", TP_PER_TENSOR, 11, 13, 7, NULL},
	    {"Relu", "f16", TP_PER_TENSOR, 9, 9, 4, NULL},
	    {"Softmax", "bf16", TP_PER_TENSOR, 13, 13, 4, NULL},
	    {"Softmax", "int4", TP_PER_CHANNEL, 13, 21, 10, NULL},
	    {"Softmax", "int4", TP_PER_CHANNEL, 12, 0, 0,
		"int4 needs opset 21, the graph has 12, which cannot be "
		"raised: Softmax means something else there"},
	    {"Softmax", "bf16", TP_PER_TENSOR, 12, 0, 0, "Softmax"},
	    {"Clip", "bf16", TP_PER_TENSOR, 10, 0, 0, "Clip"},
	    {"Unsqueeze", "int8", TP_PER_BLOCK, 11, 0, 0,
		"int8 per block needs opset 21"},
	    {"Frobnicate", "int4", TP_PER_CHANNEL, 20, 0, 0,
		"Frobnicate is no operator whose history is known"},
	    {"Relu", "int4", TP_PER_CHANNEL, 6, 0, 0, "below 7"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		TpOnnx__ModelProto *m =
		    model_with(rows[i].op_type, 4, rows[i].opset);
		struct wish w = {.scheme = rows[i].scheme, .per = rows[i].per};

		if (rows[i].refusal) {
			assert_refused(m, w, rows[i].refusal);
			continue;
		}
		m = narrowed(m, w);
		assert_int_equal(m->opset_import[0]->version, rows[i].becomes);
		assert_int_equal(m->ir_version, rows[i].ir_version);
		drop(m);
	}
}

/* What some operators become at an opset concerns only some of their nodes. */
static void
test_nodes_that_change(void **state)
{
	static const struct {
		const char *op_type, *attribute, *text; /* text: is a number */
		int64_t number;
		size_t n_inputs, n_outputs;
		int64_t opset, change; /* to 21; 0: it may be raised */
	} rows[] = {
	    {"BatchNormalization", NULL, NULL, 0, 1, 1, 7, 0},
	    {"BatchNormalization", "spatial", NULL, 1, 1, 1, 8, 9},
	    {"BatchNormalization", NULL, NULL, 0, 1, 2, 13, 14},
	    {"BatchNormalization", NULL, NULL, 0, 1, 2, 14, 0},
	    {"AveragePool", "ceil_mode", NULL, 0, 1, 1, 11, 0},
	    {"AveragePool", "ceil_mode", NULL, 1, 1, 1, 18, 19},
	    {"AveragePool", "ceil_mode", NULL, 1, 1, 1, 19, 0},
	    {"AveragePool", "auto_pad", "NOTSET", 0, 1, 1, 11, 0},
	    {"AveragePool", "auto_pad", "SAME_LOWER", 0, 1, 1, 11, 19},
	    {"ConvTranspose", "auto_pad", "NOTSET", 0, 1, 1, 10, 0},
	    {"ConvTranspose", "auto_pad", "SAME_UPPER", 0, 1, 1, 10, 11},
	    {"ConvTranspose", "auto_pad", "SAME_UPPER", 0, 1, 1, 11, 0},
	    {"ConvTranspose", "output_shape", NULL, 0, 1, 1, 10, 11},
	    {"Dropout", NULL, NULL, 0, 1, 1, 7, 0},
	    {"Dropout", NULL, NULL, 0, 1, 2, 9, 10},
	    {"Dropout", NULL, NULL, 0, 1, 2, 10, 0},
	    {"Dropout", "ratio", NULL, 0, 1, 1, 11, 12},
	    {"ReduceMean", NULL, NULL, 0, 1, 1, 17, 0},
	    {"ReduceMean", "axes", NULL, 0, 1, 1, 17, 18},
	    {"ReduceSum", "axes", NULL, 0, 1, 1, 12, 13},
	    {"Squeeze", NULL, NULL, 0, 1, 1, 11, 0},
	    {"Squeeze", "axes", NULL, 0, 1, 1, 12, 13},
	    {"Split", "split", NULL, 0, 2, 1, 12, 13},
	    {"Split", NULL, NULL, 0, 1, 2, 13, 18},
	    {"Split", NULL, NULL, 0, 2, 2, 13, 0},
	    {"Resize", NULL, NULL, 0, 3, 1, 10, 11},
	    {"Resize", NULL, NULL, 0, 3, 1, 11, 0},
	    {"Resize", NULL, NULL, 0, 4, 1, 11, 13},
	    {"Resize", NULL, NULL, 0, 4, 1, 13, 0},
	    {"Resize", "coordinate_transformation_mode", "tf_half_pixel_for_nn",
		0, 3, 1, 12, 13},
	    {"Resize", "coordinate_transformation_mode", "asymmetric", 0, 3, 1,
		12, 0},
	    {"GridSample", NULL, NULL, 0, 2, 1, 16, 0},
	    {"GridSample", "mode", "bilinear", 0, 2, 1, 19, 20},
	    {"GroupNormalization", NULL, NULL, 0, 3, 1, 20, 21},
	    {"Cast", "to", NULL, 1, 1, 1, 9, 0},
	    {"Cast", "to", NULL, 16, 1, 1, 18, 19},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		TpOnnx__ModelProto *m =
		    model_with(rows[i].op_type, 8, rows[i].opset);
		TpOnnx__NodeProto *node = m->graph->node[1];
		struct wish w = {.scheme = "int4", .per = TP_PER_CHANNEL};

		while (node->n_input < rows[i].n_inputs)
			BUILD_ADD(node->input, node->n_input, build_bytes("x"));
		while (node->n_output < rows[i].n_outputs)
			BUILD_ADD(
			    node->output, node->n_output, build_bytes("more"));
		if (rows[i].text) {
			TpOnnx__AttributeProto *a =
			    build_attribute(node, rows[i].attribute, A_STRING);

			a->has_s = 1;
			a->s = build_bytes(rows[i].text);
		} else if (rows[i].attribute) {
			add_int(node, rows[i].attribute, rows[i].number);
		}
		if (rows[i].change) {
			assert_refused(m, w, rows[i].op_type);
			/* What needs 19 only does not mind. */
			if (rows[i].change > 19)
				drop(narrowed(
				    m, (struct wish){.scheme = "f8e5m2"}));
			continue;
		}
		drop(narrowed(m, w));
	}
}

/* The opset that one needs is that of all, and so are the forms. */
static void
test_two_schemes(void **state)
{
	TpOnnx__GraphProto *g = new_graph();

	(void)state;
	add_weight(g, "v", SHAPE(2, 2));
	add_weight(g, "w", SHAPE(2, 2));
	add_node(g, "MatMul", "x v", "h");
	add_node(g, "MatMul", "h w", "y");
	assert_becomes(g, 9,
	    (struct wish){
		.scheme = "int4", .per = TP_PER_CHANNEL, .second = "uint8"},
	    "v:2[2,2] v_scale:1[] v_zero_point:2[] w:22[2,2] w_scale:1[2]; "
	    "DequantizeLinear(v,v_scale,v_zero_point)=v_dequantized; "
	    "MatMul(x,v_dequantized)=h; "
	    "DequantizeLinear(w,w_scale)=w_dequantized axis=1; "
	    "MatMul(h,w_dequantized)=y");
}

/* Functions have opsets of their own, and weights that are kept. */
static void
test_functions(void **state)
{
	TpOnnx__ModelProto *m = model_with("Relu", 8, 13);
	TpOnnx__FunctionProto *f =
	    build_message(&tp_onnx__function_proto__descriptor);
	TpOnnx__NodeProto *k = build_node("Constant", "", "k");

	(void)state;
	build_attribute(k, "value", A_TENSOR)->t =
	    with_values(build_tensor(NULL, FLOAT, SHAPE(2, 2)));
	f->has_name = f->has_domain = 1;
	f->name = build_bytes("f");
	f->domain = build_bytes("local");
	BUILD_ADD(f->input, f->n_input, build_bytes("a"));
	BUILD_ADD(f->output, f->n_output, build_bytes("b"));
	BUILD_ADD(f->node, f->n_node, k);
	BUILD_ADD(f->node, f->n_node, build_node("MatMul", "a k", "b"));
	BUILD_ADD(f->opset_import, f->n_opset_import, m->opset_import[0]);
	BUILD_ADD(m->functions, m->n_functions, f);
	assert_refused(m,
	    (struct wish){.scheme = "int4", .per = TP_PER_CHANNEL},
	    "functions");
	m = narrowed(m, (struct wish){.scheme = "int8", .per = TP_PER_CHANNEL});
	assert_int_equal(
	    m->functions[0]->node[0]->attribute[0]->t->data_type, FLOAT);
	assert_text(m, "w:3[2,2] w_scale:1[2]; "
		       "DequantizeLinear(w,w_scale)=w_dequantized axis=1; "
		       "MatMul(x,w_dequantized)=y; Relu(y)=z");
	drop(m);
}

static void
test_no_memory(void **state)
{
	const char *in = temp_path(&test_dir, "in.onnx");
	const char *out = temp_path(&test_dir, "out.onnx");
	TpOnnx__GraphProto *g = conv_graph();
	struct wish w = {
	    .scheme = "uint8", .per = TP_PER_CHANNEL, .asymmetric = true};
	struct fail_alloc a = {.n_calls = 0};
	enum tp_status rc = TP_OK;

	(void)state;
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	add_constant(g, "k", SHAPE(2, 2));
	add_node(g, "MatMul", "y k", "z");
	onnx_put(in, build_model(8, 13, g));
	while (fail_alloc_next(&a, rc))
		rc = narrow_file(in, out, &w, &a.alloc, NULL);
	assert_true(a.n_rounds > 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dequantize_linear),
	    cmocka_unit_test(test_arithmetic),
	    cmocka_unit_test(test_casts),
	    cmocka_unit_test(test_axes),
	    cmocka_unit_test(test_axes_in_conflict),
	    cmocka_unit_test(test_reasons),
	    cmocka_unit_test(test_inner_graphs),
	    cmocka_unit_test(test_transpose),
	    cmocka_unit_test(test_names_that_hide),
	    cmocka_unit_test(test_old_inputs),
	    cmocka_unit_test(test_opsets),
	    cmocka_unit_test(test_nodes_that_change),
	    cmocka_unit_test(test_two_schemes),
	    cmocka_unit_test(test_functions),
	    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
