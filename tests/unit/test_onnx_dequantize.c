/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_dequantize*.c, onnx_expansions.c: nodes that make floats go again */
#include "support/cmocka_all.h"

#include "support/fail_alloc.h"
#include "support/onnx_narrow.h"

#define INT8 3
#define FLOAT16 10

/* ---- what we narrowed ---- */

/*
 * A Conv with an initializer, a branch that sees it and has weights of its own,
 * a Constant.
 */
static TpOnnx__ModelProto *
sample(int64_t ir_version, int64_t opset)
{
	TpOnnx__GraphProto *g = new_graph(), *a = build_graph();
	TpOnnx__NodeProto *node;

	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	BUILD_ADD(g->input, g->n_input, build_value("c", 9));
	add_weight(g, "w", SHAPE(2, 3, 1, 1));
	add_weight(g, "b", SHAPE(2));
	if (ir_version < 4) {
		BUILD_ADD(g->input, g->n_input, build_value("w", FLOAT));
		BUILD_ADD(g->input, g->n_input, build_value("b", FLOAT));
	}
	BUILD_ADD(g->value_info, g->n_value_info, build_value("w", FLOAT));
	add_node(g, "Relu", "x", "r");
	add_node(g, "Conv", "r w b", "y");
	add_constant(g, "k", SHAPE(4, 6));
	add_node(g, "MatMul", "y k", "z");
	if (ir_version >= 4)
		add_weight(a, "v", SHAPE(3, 5));
	else
		add_constant(a, "v", SHAPE(3, 5));
	add_node(a, "Conv", "z w", "i");
	add_node(a, "MatMul", "v i", "o");
	BUILD_ADD(a->output, a->n_output, build_value("o", FLOAT));
	node = add_node(g, "If", "c", "out");
	build_attribute(node, "then_branch", A_GRAPH)->g = a;
	return build_model(ir_version, opset, g);
}

static void
assert_same_file(const char *a, const char *b)
{
	size_t n_a, n_b;
	char *p = read_file(a, &n_a), *q = read_file(b, &n_b);

	assert_int_equal(n_a, n_b);
	assert_memory_equal(p, q, n_a);
	free(p);
	free(q);
}

static void
step(const char *from, const char *to, struct wish *w)
{
	struct tp_err err = TP_ERR_INIT;

	if (narrow_file(temp_path(&test_dir, from), temp_path(&test_dir, to), w,
		NULL, &err))
		fail_msg("%s to %s: %s", from, to, err.msg);
}

/* Widened, the graph is what it was; narrowed again, so are all bytes. */
static void
assert_comes_back(TpOnnx__ModelProto *m, struct wish *w)
{
	struct onnx_text before = {.n = 0};
	TpOnnx__ModelProto *d;

	onnx_text_graph(&before, m->graph);
	onnx_put(temp_path(&test_dir, "0.onnx"), m);
	step("0.onnx", "1.onnx", w);
	step("1.onnx", "2.onnx", NULL);
	step("2.onnx", "3.onnx", w);
	step("3.onnx", "4.onnx", NULL);
	d = read_valid(temp_path(&test_dir, "2.onnx"));
	assert_text(d, before.s);
	assert_int_equal(d->graph->n_input, m->graph->n_input);
	assert_int_equal(
	    d->graph->value_info[0]->type->tensor_type->elem_type, FLOAT);
	drop(d);
	assert_same_file(
	    temp_path(&test_dir, "1.onnx"), temp_path(&test_dir, "3.onnx"));
	assert_same_file(
	    temp_path(&test_dir, "2.onnx"), temp_path(&test_dir, "4.onnx"));
}

static void
test_there_and_back(void **state)
{
	static const int64_t opsets[][2] = {
	    {3, 5}, {3, 6}, {3, 9}, {5, 10}, {7, 13}, {9, 19}, {10, 21}};
	const struct tp_scheme *s;

	(void)state;
	for (size_t i = 0; (s = tp_scheme_at(i)); i++)
		for (size_t k = 0; k < COUNT_OF(opsets); k++)
			for (unsigned how = 0; how < 6; how++) {
				bool casts = s->scale == TP_DTYPE_NONE;
				struct wish w = {.scheme = s->name,
				    .per = how % 3,
				    .asymmetric = how / 3};

				/* Blocks need 21, casts know no `how`. */
				if ((casts && how) || s->block ||
				    (w.per == TP_PER_BLOCK &&
					opsets[k][1] < 21) ||
				    opsets[k][1] <
					tp_onnx_since(s->dtype).opset)
					continue;
				assert_comes_back(
				    sample(opsets[k][0], opsets[k][1]), &w);
			}
}

/* ---- what others narrowed ---- */

static TpOnnx__TensorProto *
add_tensor(TpOnnx__GraphProto *g, const char *name, int32_t type, size_t rank,
    const int64_t *dims, size_t nbytes)
{
	TpOnnx__TensorProto *t = build_tensor(name, type, rank, dims);

	t->has_raw_data = 1;
	t->raw_data.len = nbytes;
	t->raw_data.data = build_take(nbytes);
	for (size_t i = 0; i < nbytes; i++)
		t->raw_data.data[i] = (uint8_t)(i % 60);
	BUILD_ADD(g->initializer, g->n_initializer, t);
	return t;
}

/* q [2,2] of int8, s and z for all of it; d are its numbers. */
static TpOnnx__GraphProto *
quantized_graph(void)
{
	TpOnnx__GraphProto *g = new_graph();

	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	add_tensor(g, "q", INT8, SHAPE(2, 2), 4);
	add_weight(g, "s", SCALAR);
	add_tensor(g, "z", INT8, SCALAR, 1);
	add_node(g, "DequantizeLinear", "q s z", "d");
	return g;
}

static void
assert_widened(TpOnnx__GraphProto *g, int64_t opset, const char *want)
{
	TpOnnx__ModelProto *m = changed(build_model(10, opset, g), NULL);

	assert_text(m, want);
	drop(m);
}

/* Nothing changes, and why. */
static void
assert_left(TpOnnx__GraphProto *g, int64_t opset, const char *why)
{
	struct onnx_text before = {.n = 0};
	struct tp_quantize_options o = {.keep_graph = true};
	struct tp_reader *r = NULL, *d = NULL;
	const char *in = temp_path(&test_dir, "in.onnx"), *told = NULL;

	onnx_text_graph(&before, g);
	assert_widened(g, opset, before.s);
	assert_int_equal(tp_open(in, NULL, &r, NULL), TP_OK);
	assert_int_equal(tp_dequantize_reader(r, &o, &d, NULL), TP_OK);
	told = tp_quantized_item(d, tp_reader_find(r, TP_STR("q")))->recipe.why;
	if (!told || !strstr(told, why))
		fail_msg("'%s' does not say '%s'", told ? told : "", why);
	tp_close(d);
	tp_close(r);
}

static void
test_others(void **state)
{
	TpOnnx__GraphProto *g = quantized_graph();

	(void)state;
	add_node(g, "MatMul", "x d", "y");
	assert_widened(g, 13, "q:1[2,2]; MatMul(x,q)=y");

	/* The same numbers twice; a zero point that another needs. */
	g = quantized_graph();
	add_node(g, "DequantizeLinear", "q s z", "e");
	add_node(g, "QuantizeLinear", "x s z", "xq");
	add_node(g, "MatMul", "d e", "y");
	assert_widened(g, 13,
	    "q:1[2,2] s:1[] z:3[]; QuantizeLinear(x,s,z)=xq; "
	    "MatMul(q,q)=y");

	/* Its scale in a Constant, the numbers needed in a branch. */
	g = new_graph();
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	BUILD_ADD(g->input, g->n_input, build_value("c", 9));
	add_tensor(g, "q", INT8, SHAPE(2, 2), 4);
	add_constant(g, "s", SHAPE(2));
	add_int(add_node(g, "DequantizeLinear", "q s", "d"), "axis", -1);
	{
		TpOnnx__GraphProto *a = build_graph();

		add_node(a, "MatMul", "x d", "o");
		BUILD_ADD(a->output, a->n_output, build_value("o", FLOAT));
		add_if(g, a);
	}
	assert_widened(g, 13, "q:1[2,2]; If(c)=y then_branch={MatMul(x,q)=o}");

	/* Narrower floats, whoever cast them. */
	g = new_graph();
	BUILD_ADD(g->input, g->n_input, build_value("x", FLOAT));
	add_tensor(g, "h", FLOAT16, SHAPE(2, 2), 8);
	add_int(add_node(g, "Cast", "h", "f"), "to", FLOAT);
	add_node(g, "MatMul", "x f", "y");
	assert_widened(g, 13, "h:1[2,2]; MatMul(x,h)=y");
}

static void
test_left_alone(void **state)
{
	TpOnnx__GraphProto *g = quantized_graph(), *a;

	(void)state;
	BUILD_ADD(g->output, g->n_output, build_value("d", FLOAT));
	assert_left(g, 13, "what is made of it is an output");

	g = quantized_graph();
	add_node(g, "MatMulInteger", "x q", "y");
	assert_left(g, 13, "node 'y' (MatMulInteger) computes with it");

	g = quantized_graph();
	add_weight(g, "s2", SCALAR);
	add_node(g, "DequantizeLinear", "q s2 z", "e");
	assert_left(g, 13, "different numbers");

	g = quantized_graph();
	BUILD_ADD(g->input, g->n_input, build_value("q", INT8));
	assert_left(g, 13, "callers may replace it");

	/* f16 come out. */
	g = new_graph();
	add_tensor(g, "q", INT8, SHAPE(2, 2), 4);
	add_tensor(g, "s", FLOAT16, SCALAR, 2);
	add_node(g, "DequantizeLinear", "q s", "d");
	assert_left(g, 21, "other floats than f32");

	/* Codes of 16 bits. */
	g = new_graph();
	add_tensor(g, "q", 5, SHAPE(2, 2), 8);
	add_weight(g, "s", SCALAR);
	add_node(g, "DequantizeLinear", "q s", "d");
	add_node(g, "MatMul", "d d", "y");
	assert_widened(
	    g, 21, "q:5[2,2] s:1[]; DequantizeLinear(q,s)=d; MatMul(d,d)=y");

	/* Scales that do not fit. */
	g = new_graph();
	add_tensor(g, "q", INT8, SHAPE(2, 2), 4);
	add_weight(g, "s", SHAPE(3));
	add_node(g, "DequantizeLinear", "q s", "d");
	assert_left(g, 21, "do not fit");

	/* A Cast of which two products are made. */
	g = new_graph();
	add_tensor(g, "q", INT8, SHAPE(2, 2), 4);
	add_weight(g, "s", SCALAR);
	add_int(add_node(g, "Cast", "q", "f"), "to", FLOAT);
	add_node(g, "Mul", "f s", "d");
	add_node(g, "Mul", "f s", "e");
	assert_left(g, 13, "are shared");

	/* Half of it is looked at. */
	g = new_graph();
	add_tensor(g, "q", INT8, SHAPE(2, 2), 4);
	add_weight(g, "s", SCALAR);
	add_int(add_node(g, "Cast", "q", "f"), "to", FLOAT);
	add_node(g, "Mul", "f s", "d");
	add_node(g, "Relu", "f", "e");
	assert_left(g, 13, "half way");

	/* In the branch q is another. */
	g = quantized_graph();
	BUILD_ADD(g->input, g->n_input, build_value("c", 9));
	a = build_graph();
	add_node(a, "Relu", "x", "q");
	add_node(a, "MatMul", "q d", "o");
	BUILD_ADD(a->output, a->n_output, build_value("o", FLOAT));
	add_if(g, a);
	assert_left(g, 13, "its name means something else");
}

/* Numbers of a product as they broadcast; the dtype of what tells. */
static void
test_products(void **state)
{
	static const struct {
		unsigned rank;
		int64_t dims[3];
		int64_t axis; /* of a node before opset 7; -1: none */
		bool fits;
		enum tp_quant_per per;
		unsigned channel;
	} rows[] = {
	    {0, {0}, -1, true, TP_PER_TENSOR, 0},
	    {1, {4}, -1, true, TP_PER_CHANNEL, 2},
	    {2, {3, 1}, -1, true, TP_PER_CHANNEL, 1},
	    {3, {2, 1, 1}, -1, true, TP_PER_CHANNEL, 0},
	    {3, {1, 1, 1}, -1, true, TP_PER_TENSOR, 0},
	    {1, {3}, 1, true, TP_PER_CHANNEL, 1},
	    {2, {3, 4}, -1, false, TP_PER_TENSOR, 0},
	    {1, {3}, -1, false, TP_PER_TENSOR, 0},
	    {1, {3}, 3, false, TP_PER_TENSOR, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		TpOnnx__GraphProto *g = new_graph();
		const char *in = temp_path(&test_dir, "in.onnx");
		struct tp_reader *r = NULL;
		const struct tp_quant_info *q;
		TpOnnx__NodeProto *node;

		add_tensor(g, "q", INT8, SHAPE(2, 3, 4), 24);
		add_weight(g, "s", rows[i].rank, rows[i].dims);
		add_int(add_node(g, "Cast", "q", "f"), "to", FLOAT);
		node = add_node(g, "Mul", "f s", "d");
		if (rows[i].axis >= 0)
			add_int(node, "axis", rows[i].axis);
		onnx_put(in, build_model(8, 13, g));
		assert_int_equal(tp_open(in, NULL, &r, NULL), TP_OK);
		q = tp_reader_entry(r, 0)->quant;
		assert_int_equal(q != NULL, rows[i].fits);
		if (q) {
			assert_int_equal(q->per, rows[i].per);
			assert_int_equal(q->axis, rows[i].channel);
		}
		tp_close(r);
	}
}

/* Without the graph, casts are known by it all the same. */
static void
test_weights_alone(void **state)
{
	struct wish w = {.scheme = "f16"};
	struct tp_quantize_options o = {.n_threads = 1};
	struct tp_reader *r = NULL, *d = NULL;

	(void)state;
	onnx_put(temp_path(&test_dir, "0.onnx"), sample(7, 13));
	step("0.onnx", "1.onnx", &w);
	assert_int_equal(
	    tp_open(temp_path(&test_dir, "1.onnx"), NULL, &r, NULL), TP_OK);
	assert_int_equal(tp_dequantize_reader(r, &o, &d, NULL), TP_OK);
	assert_int_equal(tp_reader_n_attachments(d), 0);
	for (size_t i = 0; i < tp_reader_n_entries(d); i++)
		assert_int_equal(tp_reader_entry(d, i)->dtype, TP_DTYPE_F32);
	tp_close(d);
	tp_close(r);
}

static void
test_no_memory(void **state)
{
	const char *in = temp_path(&test_dir, "1.onnx");
	const char *out = temp_path(&test_dir, "2.onnx");
	struct wish w = {
	    .scheme = "uint8", .per = TP_PER_CHANNEL, .asymmetric = true};
	struct fail_alloc a = {.n_calls = 0};
	enum tp_status rc = TP_OK;

	(void)state;
	onnx_put(temp_path(&test_dir, "0.onnx"), sample(5, 10));
	step("0.onnx", "1.onnx", &w);
	while (fail_alloc_next(&a, rc))
		rc = narrow_file(in, out, NULL, &a.alloc, NULL);
	assert_true(a.n_rounds > 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_there_and_back),
	    cmocka_unit_test(test_others),
	    cmocka_unit_test(test_left_alone),
	    cmocka_unit_test(test_products),
	    cmocka_unit_test(test_weights_alone),
	    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
