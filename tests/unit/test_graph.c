/* SPDX-License-Identifier: Apache-2.0 */
/* graph*.c: what is refused, functions, scopes, how long values live */
#include "support/numbers.h"

#include "support/fail_alloc.h"
#include "support/graphs.h"

static const struct tp_opset opsets[] = {{{"", 0}, 17}, {{"my", 2}, 1}};

static struct tp_graph_model
model_of(const struct tp_graph *g)
{
	return (struct tp_graph_model){
	    .opsets = opsets, .n_opsets = 2, .graph = *g};
}

static struct tp_function
function_of(const char *name, const struct tp_graph *g)
{
	return (struct tp_function){.domain = TP_STR("my"),
	    .name = tp_str(name),
	    .opsets = opsets,
	    .n_opsets = 2,
	    .graph = *g};
}

/* What a model computes from numbers of shape [2]: the first output. */
static enum tp_status
run_model(const struct tp_alloc *alloc, const struct tp_graph_model *model,
    const double (*in)[2], size_t n_in, double out[2], struct tp_err *err)
{
	static const int64_t sizes[] = {2};
	struct tp_run_opts opts = {.alloc = alloc};
	struct tp_value values[8] = {{TP_VALUE_NONE, NULL, NULL}}, y;
	struct tp_program *program = NULL;
	enum tp_status rc;

	for (size_t k = 0; k < n_in; k++)
		values[k] =
		    tp_value_of(tensor_of(NULL, TP_DTYPE_F32, sizes, 1, in[k]));
	rc = tp_program_new(alloc, model, &program, err);
	assert_true(rc == TP_OK || !program);
	if (!rc) {
		rc = tp_program_run(program, values, n_in, &y, 1, &opts, err);
		assert_true(rc == TP_OK || y.kind == TP_VALUE_NONE);
	}
	if (!rc) {
		for (size_t i = 0; i < 2; i++)
			out[i] = number_at(y.tensor, i);
		tp_value_release(&y);
	}
	tp_program_free(program);
	for (size_t k = 0; k < n_in; k++)
		tp_value_release(&values[k]);
	return rc;
}

static void
expect_refusal(
    const struct tp_graph_model *model, enum tp_status status, const char *msg)
{
	struct tp_program *program = NULL;
	struct tp_err why = TP_ERR_INIT;

	assert_int_equal(tp_program_new(NULL, model, &program, &why), status);
	assert_null(program);
	assert_string_equal(why.msg, msg);
	/* Nobody has to listen. */
	assert_int_equal(tp_program_new(NULL, model, &program, NULL), status);
}

static void
nodes_run_in_order(void **state)
{
	static const double in[][2] = {{1, 2}, {3, 5}};
	struct graphs a = {.n = 0};
	struct tp_graph *g = graph_of(
	    &a, "x y -> z", "s = Add x y", "d = Sub s x", "z = Mul d s", NULL);
	struct tp_graph_model model = model_of(g);
	double out[2];

	(void)state;
	RUN(run_model(NULL, &model, in, 2, out, err));
	assert_true(out[0] == 12 && out[1] == 35);
	graphs_free(&a);
}

static void
bad_graphs_are_refused_by_name(void **state)
{
	static const struct {
		const char *lines[3];
		enum tp_status status;
		const char *msg;
	} cases[] = {
	    {{"n: y = Add x q"}, TP_EARG,
		"node 0 'n' (Add): input 1, 'q', is defined nowhere"},
	    {{"n: y = Add x z", "m: z = Neg y"}, TP_EARG,
		"node 0 'n' (Add): input 1, 'z', comes from node 1 'm' (Neg), "
		"which is not before it: the graph is out of order or has a "
		"cycle"},
	    {{"y = Add y x"}, TP_EARG,
		"node 0 (Add): input 0, 'y', comes from node 0 '' (Add), which "
		"is not before it: the graph is out of order or has a cycle"},
	    {{"y = Neg x", "y = Abs x"}, TP_EARG,
		"node 1 (Abs): output 'y' has the name of an output before it"},
	    {{"x = Neg x"}, TP_EARG,
		"node 0 (Neg): output 'x' has the name of an input or a "
		"constant"},
	    {{"z = Neg x"}, TP_EARG, "output 0, 'y', is defined nowhere"},
	    {{"n: y = Nonsense x"}, TP_ENOTFOUND,
		"node 0 'n' (Nonsense): no operator 'Nonsense' in domain ''"},
	    {{"y = my.Nonsense x"}, TP_ENOTFOUND,
		"node 0 (Nonsense): no operator 'Nonsense' in domain 'my'"},
	    {{"y = your.Thing x"}, TP_EARG,
		"node 0 (Thing): the model says no opset for domain 'your'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct graphs a = {.n = 0};
		struct tp_graph *g = graph_of(
		    &a, "x -> y", cases[i].lines[0], cases[i].lines[1], NULL);
		struct tp_graph_model model = model_of(g);

		expect_refusal(&model, cases[i].status, cases[i].msg);
		graphs_free(&a);
	}
}

static void
errors_of_operators_name_the_node(void **state)
{
	static const double in[][2] = {{1, 2}};
	struct graphs a = {.n = 0};
	struct tp_graph *g =
	    graph_of(&a, "x -> y", "z = Neg x", "last: y = Add z", NULL);
	struct tp_graph_model model = model_of(g);
	struct tp_err why = TP_ERR_INIT;
	double out[2];

	(void)state;
	assert_int_equal(run_model(NULL, &model, in, 1, out, &why), TP_EARG);
	assert_string_equal(
	    why.msg, "node 1 'last' (Add): Add: 1 inputs, it takes 2 to 2");
	assert_int_equal(run_model(NULL, &model, in, 0, out, &why), TP_EARG);
	assert_string_equal(why.msg, "input 0 of the graph, 'x', is not given");
	graphs_free(&a);
}

/* my.F(v, w) = max(v) + w; attributes of its own say over which axes. */
static void
functions_see_inputs_and_attributes(void **state)
{
	static const double in[][2] = {{1, 3}};
	static const int64_t axis = 0;
	struct graphs a = {.n = 0};
	struct tp_graph *body =
	    graph_of(&a, "v w -> r", "m = ReduceMax v", "r = Add m w", NULL);
	struct tp_graph *g =
	    graph_of(&a, "x -> y", "o = Neg x", "call: y = my.F x o", NULL);
	struct tp_function f = function_of("F", body);
	static const struct tp_str attr_names[] = {{"over", 4}};
	struct tp_graph_model model = model_of(g);
	struct tp_attr keep = {.name = TP_STR("keep"), .kind = TP_ATTR_INT};
	struct tp_err why = TP_ERR_INIT;
	struct tp_attr *over;
	double out[2];

	(void)state;
	set_ref(&a, body, 0, "axes", TP_ATTR_INTS, "over");
	set_ref(&a, body, 0, "keepdims", TP_ATTR_INT, "keep");
	f.graph = *body;
	f.attr_names = attr_names;
	f.n_attr_names = 1;
	f.defaults = &keep;
	f.n_defaults = 1;
	model.functions = &f;
	model.n_functions = 1;

	/* Without axes: over all; the default of keep says no. */
	RUN(run_model(NULL, &model, in, 1, out, err));
	assert_true(out[0] == 2 && out[1] == 0);

	over = set_attr(&a, g, 1, "over", TP_ATTR_INTS);
	over->ints = &axis;
	over->n = 1;
	model.graph = *g;
	RUN(run_model(NULL, &model, in, 1, out, err));
	assert_true(out[0] == 2 && out[1] == 0);

	over->kind = TP_ATTR_INT;
	assert_int_equal(run_model(NULL, &model, in, 1, out, &why), TP_EARG);
	assert_string_equal(why.msg,
	    "node 0 (ReduceMax): ReduceMax: attribute 'axes' is of kind int, "
	    "expected ints; inside node 1 'call' (F)");

	over->name = TP_STR("under");
	expect_refusal(&model, TP_EARG,
	    "node 1 'call' (F): the function has no attribute 'under'");
	graphs_free(&a);
}

static void
recursive_functions_are_refused(void **state)
{
	struct graphs a = {.n = 0};
	struct tp_graph *f = graph_of(&a, "v -> r", "r = my.G v", NULL);
	struct tp_graph *h = graph_of(&a, "v -> r", "r = my.F v", NULL);
	struct tp_graph *g = graph_of(&a, "x -> y", "n: y = my.F x", NULL);
	struct tp_function functions[] = {
	    function_of("F", f), function_of("G", h)};
	struct tp_graph_model model = model_of(g);

	(void)state;
	model.functions = functions;
	model.n_functions = 2;
	expect_refusal(&model, TP_EARG,
	    "node 0 (F): function 'F' calls itself; inside node 0 (G); inside "
	    "node 0 'n' (F)");
	graphs_free(&a);
}

/* A native operator of ONNX's is not replaced; one of another domain is. */
static void
functions_of_onnx_yield_to_operators(void **state)
{
	static const double in[][2] = {{1, 3}};
	struct graphs a = {.n = 0};
	struct tp_graph *f = graph_of(&a, "v -> r", "r = Abs v", NULL);
	struct tp_graph *g =
	    graph_of(&a, "x -> y", "n = Neg x", "y = Neg n", NULL);
	struct tp_function function = function_of("Neg", f);
	struct tp_graph_model model = model_of(g);
	double out[2];

	(void)state;
	model.functions = &function;
	model.n_functions = 1;
	function.domain = TP_STR("ai.onnx");
	RUN(run_model(NULL, &model, in, 1, out, err));
	assert_true(out[0] == 1 && out[1] == 3);
	function.domain = TP_STR("my");
	model.graph =
	    *graph_of(&a, "x -> y", "n = Neg x", "y = my.Neg n", NULL);
	RUN(run_model(NULL, &model, in, 1, out, err));
	assert_true(out[0] == 1 && out[1] == 3);
	/* No operator of ONNX's has that name: the function is it. */
	function.domain = TP_STR("");
	function.name = TP_STR("Absolutely");
	model.graph =
	    *graph_of(&a, "x -> y", "n = Neg x", "y = Absolutely n", NULL);
	RUN(run_model(NULL, &model, in, 1, out, err));
	assert_true(out[0] == 1 && out[1] == 3);
	graphs_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nodes_run_in_order),
	    cmocka_unit_test(bad_graphs_are_refused_by_name),
	    cmocka_unit_test(errors_of_operators_name_the_node),
	    cmocka_unit_test(functions_see_inputs_and_attributes),
	    cmocka_unit_test(recursive_functions_are_refused),
	    cmocka_unit_test(functions_of_onnx_yield_to_operators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
