/* SPDX-License-Identifier: Apache-2.0 */
/* graph_gradient*.c: Gradient of parts of a graph, against formulas */
#include "support/numbers.h"

#include "support/fail_alloc.h"
#include "support/graphs.h"

#define DOMAIN "ai.onnx.preview.training"
#define MANY 6

static const struct tp_opset opsets[] = {
    {{"", 0}, 17}, {{DOMAIN, sizeof(DOMAIN) - 1}, 1}};

static void
set_names(struct graphs *a, struct tp_graph *g, size_t node, const char *attr,
    const char *text)
{
	struct tp_attr *at = set_attr(a, g, node, attr, TP_ATTR_STRINGS);
	struct tp_str *names;

	at->n = words_of(a, text, strlen(text), &names);
	at->strings = names;
}

/* The last node of g: the gradient of y by xs where zs are given too. */
static void
set_gradient(struct graphs *a, struct tp_graph *g, const char *y,
    const char *xs, const char *zs)
{
	size_t last = g->n_nodes - 1;

	set_attr(a, g, last, "y", TP_ATTR_STRING)->s = tp_str(y);
	set_names(a, g, last, "xs", xs);
	if (zs)
		set_names(a, g, last, "zs", zs);
}

static enum tp_status
run(const struct tp_alloc *alloc, const struct tp_graph *g,
    const struct tp_value *in, struct tp_value *out, struct tp_err *err)
{
	const struct tp_graph_model model = {
	    .opsets = opsets, .n_opsets = 2, .graph = *g};
	struct tp_run_opts opts = {.alloc = alloc};
	struct tp_program *program = NULL;
	enum tp_status rc = tp_program_new(alloc, &model, &program, err);

	for (size_t k = 0; k < MANY; k++)
		out[k] = tp_value_of(NULL);
	if (!rc)
		rc = tp_program_run(
		    program, in, g->n_inputs, out, g->n_outputs, &opts, err);
	tp_program_free(program);
	return rc;
}

static void
release(struct tp_value values[MANY])
{
	for (size_t k = 0; k < MANY; k++)
		tp_value_release(&values[k]);
}

static struct tp_value
vector(int64_t n, const double *x)
{
	return tp_value_of(tensor_of(NULL, TP_DTYPE_F64, &n, 1, x));
}

static void
expect(const struct tp_value *v, uint64_t n, const double *x)
{
	assert_int_equal(v->kind, TP_VALUE_TENSOR);
	assert_int_equal(tp_tensor_numel(v->tensor), n);
	for (uint64_t i = 0; i < n; i++)
		if (fabs(number_at(v->tensor, i) - x[i]) > 1e-14)
			fail_msg("element %d is %.17g, expected %.17g", (int)i,
			    number_at(v->tensor, i), x[i]);
}

#define EXPECT(v, ...)                                                       \
	expect(&(v), sizeof((const double[]){__VA_ARGS__}) / sizeof(double), \
	    (const double[]){__VA_ARGS__})

/* d = (a + b) * a: dd/da = 2a + b, dd/db = a, at other a and b than before. */
static void
gradients_are_taken_where_the_node_says(void **state)
{
	struct graphs a = {.n = 0};
	struct tp_graph *g = graph_of(&a, "a b p q -> d da db", "c = Add a b",
	    "d = Mul c a", "da db = " DOMAIN ".Gradient p q", NULL);
	struct tp_value in[MANY] = {vector(2, (double[]){1, 2}),
	    vector(2, (double[]){3, 5}), vector(2, (double[]){10, 20}),
	    vector(2, (double[]){30, 50})};
	struct tp_value out[MANY];
	struct fail_alloc alloc = {.fail_at = 0};
	enum tp_status rc = TP_OK;

	(void)state;
	set_gradient(&a, g, "d", "a b", NULL);
	RUN(run(NULL, g, in, out, err));
	EXPECT(out[0], 4, 14);
	EXPECT(out[1], 50, 90);
	EXPECT(out[2], 10, 20);
	release(out);
	while (fail_alloc_next(&alloc, rc)) {
		rc = run(&alloc.alloc, g, in, out, NULL);
		release(out);
	}
	release(in);
	graphs_free(&a);
}

/*
 * y = exp(u) * w with u = x * k: leaves may be in the middle (u), beside it
 * (zs, which are given but not differentiated by), and of no influence (v).
 */
static void
leaves_may_be_anywhere(void **state)
{
	struct graphs a = {.n = 0};
	struct tp_graph *g = graph_of(&a, "x k w v -> du dv", "u = Mul x k",
	    "e = Exp u", "h = Neg x", "y = Mul e w",
	    "du dv = " DOMAIN ".Gradient h v x", NULL);
	struct tp_value in[MANY] = {vector(1, (double[]){2}),
	    vector(1, (double[]){3}), vector(1, (double[]){5}),
	    vector(3, (double[]){7, 7, 7})};
	struct tp_value out[MANY];

	(void)state;
	set_gradient(&a, g, "y", "u v", "w");
	RUN(run(NULL, g, in, out, err));
	/* u is -2 and w is 2 now. */
	EXPECT(out[0], 2 * exp(-2));
	EXPECT(out[1], 0, 0, 0);
	release(out);
	release(in);
	graphs_free(&a);
}

/* y = sum over rows of softmax(x W)^2, through axes and shapes. */
static void
axes_and_shapes_are_those_of_the_operators(void **state)
{
	static const int64_t matrix[] = {2, 2}, perm[] = {1, 0}, minus[] = {-1};
	static const double x[] = {0.5, -1, 2, 0.25}, e = 1e-6;
	struct graphs a = {.n = 0};
	struct tp_graph *g = graph_of(&a, "x flat -> y dx", "t = Transpose x",
	    "r = Reshape t flat", "q = Unsqueeze r last", "i = Identity q",
	    "s = Softmax i", "m = ReduceMean s", "p = Sum m m t",
	    "f = Flatten p", "l = Tanh f", "n = Shape l", "k = Expand l n",
	    "y = ReduceSum k", "dx = " DOMAIN ".Gradient x", NULL);
	struct tp_tensor *last = tensor_of(
	    NULL, TP_DTYPE_I64, (const int64_t[]){1}, 1, (const double[]){0});
	struct tp_value in[MANY] = {
	    tp_value_of(tensor_of(NULL, TP_DTYPE_F64, matrix, 2, x)),
	    tp_value_of(tensor_of(NULL, TP_DTYPE_I64, (const int64_t[]){1}, 1,
		(const double[]){4}))};
	struct tp_value out[MANY], moved[MANY];
	struct tp_attr *attr;

	(void)state;
	attr = set_attr(&a, g, 0, "perm", TP_ATTR_INTS);
	attr->ints = perm;
	attr->n = 2;
	attr = set_attr(&a, g, 5, "axes", TP_ATTR_INTS);
	attr->ints = minus;
	attr->n = 1;
	add_constant(&a, g, "last", last);
	set_gradient(&a, g, "y", "x", NULL);
	RUN(run(NULL, g, in, out, err));
	/* Against the central difference of y. */
	for (uint64_t i = 0; i < 4; i++) {
		double y[2];

		for (int k = 0; k < 2; k++) {
			set_number(in[0].tensor, i, x[i] + (k ? e : -e));
			RUN(run(NULL, g, in, moved, err));
			y[k] = number_at(moved[0].tensor, 0);
			release(moved);
		}
		set_number(in[0].tensor, i, x[i]);
		assert_true(fabs((y[1] - y[0]) / (2 * e) -
				 number_at(out[1].tensor, i)) < 1e-8);
	}
	release(out);
	release(in);
	tp_tensor_free(last);
	graphs_free(&a);
}

static void
expect_error(const struct tp_graph *g, enum tp_status status, const char *msg)
{
	struct tp_value in[MANY] = {vector(2, (double[]){1, 2})}, out[MANY];
	struct tp_err why = TP_ERR_INIT;

	assert_int_equal(run(NULL, g, in, out, &why), status);
	assert_string_equal(why.msg, msg);
	release(in);
}

static void
what_has_no_gradient_is_named(void **state)
{
	struct graphs a = {.n = 0};
	struct tp_graph *g = graph_of(&a, "x -> dx", "n: y = Floor x",
	    "g: dx = " DOMAIN ".Gradient x", NULL);

	(void)state;
	set_gradient(&a, g, "y", "x", NULL);
	expect_error(g, TP_EUNSUPPORTED,
	    "node 0 'n' (Floor): no gradient of Floor is known; inside node 1 "
	    "'g' (Gradient)");
	g = graph_of(&a, "x -> dx", "dx = " DOMAIN ".Gradient x", NULL);
	set_gradient(&a, g, "y", "x", NULL);
	expect_error(g, TP_EARG,
	    "node 0 (Gradient): 'y' is no value that this graph has before the "
	    "node");
	g = graph_of(&a, "x -> dx", "dx = " DOMAIN ".Gradient x", NULL);
	set_gradient(&a, g, "x", "x x", NULL);
	expect_error(g, TP_EARG,
	    "node 0 (Gradient): 1 inputs and 1 outputs for 2 xs and 0 zs");
	g = graph_of(&a, "x -> dx", "dx = " DOMAIN ".Gradient x x", NULL);
	set_gradient(&a, g, "x", "x x", NULL);
	expect_error(g, TP_EARG,
	    "node 0 (Gradient): name 1 of xs and zs is there twice");
	g = graph_of(
	    &a, "x -> dx", "y = Shape x", "dx = " DOMAIN ".Gradient y", NULL);
	set_gradient(&a, g, "y", "x", NULL);
	expect_error(g, TP_EARG,
	    "node 1 (Gradient): gradients of a tensor of dtype i64, which is "
	    "not a float");
	graphs_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(gradients_are_taken_where_the_node_says),
	    cmocka_unit_test(leaves_may_be_anywhere),
	    cmocka_unit_test(axes_and_shapes_are_those_of_the_operators),
	    cmocka_unit_test(what_has_no_gradient_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
