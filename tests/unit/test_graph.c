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

/* F0 calls F1, which calls F2, …; each does so `times` times. */
#define LEVELS 80

static void
make_chain(struct graphs *a, struct tp_function functions[LEVELS], int times)
{
	for (size_t i = 0; i < LEVELS; i++) {
		char *text = graphs_take(a, 4, 16);
		struct tp_graph *g;

		snprintf(text, 16, "F%d", (int)i);
		snprintf(text + 16, 16, "h = my.F%d v", (int)i + 1);
		snprintf(text + 32, 16, "r = my.F%d h", (int)i + 1);
		if (i + 1 == LEVELS || times == 0)
			g = graph_of(a, "v -> r", "r = Neg v", NULL);
		else if (times == 1)
			g = graph_of(a, "v -> h", text + 16, NULL);
		else
			g = graph_of(a, "v -> r", text + 16, text + 32, NULL);
		functions[i] = function_of(text, g);
	}
}

static void
expect_no_program(const struct tp_graph_model *model, const char *begins)
{
	struct tp_program *program = NULL;
	struct tp_err why = TP_ERR_INIT;

	assert_int_equal(
	    tp_program_new(NULL, model, &program, &why), TP_ELIMIT);
	assert_memory_equal(why.msg, begins, strlen(begins));
}

static void
deep_and_wide_functions_are_refused(void **state)
{
	struct graphs a = {.n = 0};
	struct tp_function functions[LEVELS];
	struct tp_graph_model model;

	(void)state;
	model = model_of(graph_of(&a, "x -> y", "y = my.F0 x", NULL));
	model.functions = functions;
	model.n_functions = LEVELS;
	make_chain(&a, functions, 1);
	expect_no_program(&model,
	    "node 0 (F64): more than 64 levels of graphs and functions");

	/* 40 levels of two calls are 2^40 nodes. */
	model.graph = *graph_of(&a, "x -> y", "y = my.F40 x", NULL);
	make_chain(&a, functions, 2);
	expect_no_program(&model,
	    "node 1 (F57): more than 16777216 nodes when functions are written "
	    "out; inside node 0 (F56)");
	graphs_free(&a);
}

static void
deep_graphs_are_refused(void **state)
{
	struct graphs a = {.n = 0};
	struct tp_graph *g = graph_of(&a, "-> x", NULL);
	struct tp_graph_model model;

	(void)state;
	for (int i = 0; i < 70; i++) {
		struct tp_graph *outer = graph_of(
		    &a, i < 69 ? "-> y" : "x c -> y", "y = If c", NULL);

		set_graph(&a, outer, 0, "then_branch", g);
		set_graph(&a, outer, 0, "else_branch", g);
		g = outer;
	}
	model = model_of(g);
	expect_no_program(
	    &model, "node 0 (If): more than 64 levels of graphs and functions");
	graphs_free(&a);
}

/* The outer y while the inner one is not there yet, then that. */
static void
inner_names_hide_outer_ones(void **state)
{
	static const double in[][2] = {{1, 2}};
	struct graphs a = {.n = 0};
	struct tp_graph *branch = graph_of(
	    &a, "-> z", "h = Neg y", "y = Add h h", "z = Mul y x", NULL);
	struct tp_graph *g =
	    graph_of(&a, "x -> z", "y = Add x x", "z = If yes", NULL);
	struct tp_graph_model model;
	struct tp_tensor *yes =
	    tensor_of(NULL, TP_DTYPE_BOOL, NULL, 0, (const double[]){1});
	double out[2];

	(void)state;
	set_graph(&a, g, 1, "then_branch", branch);
	set_graph(&a, g, 1, "else_branch", branch);
	add_constant(&a, g, "yes", yes);
	model = model_of(g);
	RUN(run_model(NULL, &model, in, 1, out, err));
	assert_true(out[0] == -4 && out[1] == -16);

	/* What comes later outside is not seen inside. */
	model.graph = *graph_of(&a, "x -> z", "z = If yes", "y = Neg x", NULL);
	model.graph.constants = g->constants;
	model.graph.n_constants = 1;
	set_graph(&a, &model.graph, 0, "then_branch", branch);
	expect_refusal(&model, TP_EARG,
	    "node 0 (Neg): input 0, 'y', comes from node 1 '' (Add), which is "
	    "not before it: the graph is out of order or has a cycle; inside "
	    "node 0 (If)");
	tp_tensor_free(yes);
	graphs_free(&a);
}

static void
constants_are_what_inputs_are_if_not_given(void **state)
{
	static const double in[][2] = {{1, 2}, {10, 20}}, w[] = {5, 6};
	static const int64_t two = 2;
	struct graphs a = {.n = 0};
	struct tp_graph *g = graph_of(&a, "x w -> y", "y = Add x w", NULL);
	struct tp_tensor *t = tensor_of(NULL, TP_DTYPE_F32, &two, 1, w);
	struct tp_graph_model model;
	double out[2];

	(void)state;
	add_constant(&a, g, "w", t);
	model = model_of(g);
	RUN(run_model(NULL, &model, in, 1, out, err));
	assert_true(out[0] == 6 && out[1] == 8);
	RUN(run_model(NULL, &model, in, 2, out, err));
	assert_true(out[0] == 11 && out[1] == 22);
	add_constant(&a, g, "w", t);
	model = model_of(g);
	expect_refusal(
	    &model, TP_EARG, "two constants of the graph are called 'w'");
	tp_tensor_free(t);
	graphs_free(&a);
}

/* An attribute of a function may be a graph of the caller's, with its names. */
static void
functions_run_graphs_of_their_callers(void **state)
{
	static const double in[][2] = {{1, 2}, {10, 20}};
	struct graphs a = {.n = 0};
	struct tp_graph *body = graph_of(&a, "c -> r", "r = If c", NULL);
	struct tp_graph *f = graph_of(&a, "-> s", "s = Mul x y", NULL);
	struct tp_graph *g =
	    graph_of(&a, "x y -> z", "z = my.Choose yes", NULL);
	static const struct tp_str attr_names[] = {{"what", 4}};
	struct tp_function function;
	struct tp_tensor *yes =
	    tensor_of(NULL, TP_DTYPE_BOOL, NULL, 0, (const double[]){1});
	struct tp_graph_model model;
	double out[2];

	(void)state;
	set_ref(&a, body, 0, "then_branch", TP_ATTR_GRAPH, "what");
	set_graph(&a, g, 0, "what", f);
	add_constant(&a, g, "yes", yes);
	model = model_of(g);
	function = function_of("Choose", body);
	function.attr_names = attr_names;
	function.n_attr_names = 1;
	model.functions = &function;
	model.n_functions = 1;
	RUN(run_model(NULL, &model, in, 2, out, err));
	assert_true(out[0] == 10 && out[1] == 40);
	tp_tensor_free(yes);
	graphs_free(&a);
}

/* What two calls of a function draw, and a node beside them. */
static void
draw(uint64_t seed, double out[3])
{
	struct graphs a = {.n = 0};
	struct tp_graph *body =
	    graph_of(&a, "v -> r", "r = RandomUniformLike v", NULL);
	struct tp_graph *g = graph_of(&a, "x -> p q r", "p = my.F x",
	    "q = my.F x", "r = RandomUniformLike x", NULL);
	struct tp_function f = function_of("F", body);
	struct tp_graph_model model = model_of(g);
	struct tp_run_opts opts = {.seed = seed};
	struct tp_program *program = NULL;
	struct tp_value in, values[3];

	model.functions = &f;
	model.n_functions = 1;
	in = tp_value_of(
	    tensor_of(NULL, TP_DTYPE_F64, NULL, 0, (const double[]){0}));
	RUN(tp_program_new(NULL, &model, &program, err));
	RUN(tp_program_run(program, &in, 1, values, 3, &opts, err));
	for (size_t k = 0; k < 3; k++) {
		out[k] = number_at(values[k].tensor, 0);
		tp_value_release(&values[k]);
	}
	tp_program_free(program);
	tp_value_release(&in);
	graphs_free(&a);
}

/* The same for the same seed, and no two alike. */
static void
draws_depend_on_seed_and_node(void **state)
{
	double first[3], again[3], other[3];

	(void)state;
	draw(1, first);
	draw(1, again);
	draw(2, other);
	for (size_t i = 0; i < 3; i++) {
		assert_true(first[i] == again[i]);
		for (size_t k = 0; k < 3; k++) {
			assert_true(first[i] != other[k]);
			assert_true(i == k || first[i] != first[k]);
		}
	}
}

/* Values of 256 KiB, and what else a run may take. */
#define N_WIDE 65536
#define WIDE ((uint64_t)4 * N_WIDE)
#define BESIDES 16384

struct measured {
	uint64_t peak;
	size_t n_nodes; /* that were run */
};

static enum tp_status
count_node(void *ctx, const struct tp_watched *w, struct tp_err *err)
{
	struct measured *m = ctx;

	(void)w;
	(void)err;
	m->n_nodes++;
	return TP_OK;
}

/* Run on one wide input and a condition. */
static enum tp_status
run_wide(const struct tp_graph *g, uint64_t max_memory, struct measured *m,
    struct tp_err *why)
{
	const struct tp_graph_model model = model_of(g);
	const int64_t sizes[] = {N_WIDE, 1};
	struct tp_run_opts opts = {.max_memory = max_memory,
	    .peak_memory = &m->peak,
	    .watch = count_node,
	    .watch_ctx = m};
	struct tp_value in[2], y;
	struct tp_tensor *x = NULL;
	struct tp_program *program = NULL;
	enum tp_status rc;

	*m = (struct measured){0, 0};
	RUN(tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, 2, &x, err));
	in[0] = tp_value_of(x);
	in[1] = tp_value_of(
	    tensor_of(NULL, TP_DTYPE_BOOL, NULL, 0, (const double[]){1}));
	RUN(tp_program_new(NULL, &model, &program, err));
	rc = tp_program_run(program, in, g->n_inputs, &y, 1, &opts, why);
	tp_program_free(program);
	/* The result outlives what made it. */
	if (!rc)
		assert_int_equal(tp_tensor_numel(y.tensor), N_WIDE);
	tp_value_release(&y);
	tp_value_release(&in[0]);
	tp_value_release(&in[1]);
	return rc;
}

static void
expect_peak(const struct tp_graph *g, uint64_t n_values)
{
	struct measured m;

	RUN(run_wide(g, 0, &m, err));
	assert_in_range(m.peak, n_values * WIDE, n_values * WIDE + BESIDES);
	/* That limit is enough, and what lies below is refused at once. */
	RUN(run_wide(g, m.peak, &m, err));
	assert_int_equal(run_wide(g, n_values * WIDE - 1, &m, NULL), TP_ELIMIT);
}

static void
values_end_after_their_last_use(void **state)
{
	struct graphs a = {.n = 0};
	struct tp_graph *branch = graph_of(&a, "-> r", "r = Neg h", NULL);
	struct tp_graph *g = graph_of(&a, "x -> y", "a = Neg x", "b = Neg a",
	    "c = Neg b", "d = Neg c", "y = Neg d", NULL);

	(void)state;
	expect_peak(g, 2);
	/* a lives until it is added. */
	expect_peak(graph_of(&a, "x -> y", "a = Neg x", "b = Neg a",
			"c = Neg b", "d = Neg c", "y = Add a d", NULL),
	    3);
	/* What nobody uses does not stay. */
	expect_peak(graph_of(&a, "x -> y", "a = Neg x", "b = Neg x",
			"c = Neg x", "y = Neg x", NULL),
	    1);
	/* h is captured, and ends with the node that does it. */
	g = graph_of(&a, "x c -> y", "h = Neg x", "i = If c", "j = Neg i",
	    "y = Neg j", NULL);
	set_graph(&a, g, 1, "then_branch", branch);
	expect_peak(g, 2);
	graphs_free(&a);
}

static void
what_cannot_fit_is_not_begun(void **state)
{
	struct graphs a = {.n = 0};
	struct tp_graph *branch, *g;
	struct tp_err why = TP_ERR_INIT;
	struct measured m;

	(void)state;
	/* 2^32 elements. */
	g = graph_of(&a, "x -> y", "a = Neg x", "t = Transpose a",
	    "big: y = Add t a", NULL);
	assert_int_equal(run_wide(g, 10 * WIDE, &m, &why), TP_ELIMIT);
	assert_string_equal(why.msg,
	    "node 2 'big' (Add): values of 17180131328 bytes at once, the "
	    "limit is 2621440");
	assert_int_equal(m.n_nodes, 0);

	/* Inside a branch it is seen when it comes to that. */
	branch = graph_of(&a, "-> y", "big: y = Add t a", NULL);
	g = graph_of(
	    &a, "x c -> y", "a = Neg x", "t = Transpose a", "y = If c", NULL);
	set_graph(&a, g, 2, "then_branch", branch);
	if (SIZE_MAX == UINT32_MAX) {
		assert_int_equal(run_wide(g, 10 * WIDE, &m, &why), TP_ENOMEM);
		assert_non_null(strstr(why.msg,
		    "node 0 'big' (Add): no memory for 17179869184 bytes"));
	} else {
		assert_int_equal(run_wide(g, 10 * WIDE, &m, &why), TP_ELIMIT);
		assert_non_null(strstr(
		    why.msg, "node 0 'big' (Add): 17179869248 bytes, with "));
		assert_non_null(strstr(why.msg,
		    " taken and a limit of 2621440; inside node 2 (If)"));
	}
	assert_int_equal(m.n_nodes, 2);
	graphs_free(&a);
}

/* Names of scopes and nodes in the order in which they ran. */
static enum tp_status
note_node(void *ctx, const struct tp_watched *w, struct tp_err *err)
{
	char *text = ctx;
	size_t at = strlen(text);

	snprintf(text + at, 400 - at, "%.*s:%zu:%s:%d ", (int)w->scope.len,
	    w->scope.s ? w->scope.s : "", w->index,
	    w->op ? tp_op_info(w->op).onnx : "call", (int)w->outputs[0].kind);
	if (w->index == 7)
		return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET, "enough");
	return TP_OK;
}

/* Everything at once: functions, graphs, captures, somebody who watches. */
static enum tp_status
run_everything(const struct tp_alloc *alloc, char text[400])
{
	struct graphs a = {.n = 0};
	struct tp_graph *branch = graph_of(&a, "-> r", "n: r = my.F h h", NULL);
	struct tp_graph *body =
	    graph_of(&a, "v w -> r q", "r = Mul v w", "q = Neg v", NULL);
	struct tp_graph *g = graph_of(&a, "x -> y", "h = Neg x",
	    "choice: r = If yes", "_ q = my.F r h", "y = Add q r", NULL);
	struct tp_function f = function_of("F", body);
	struct tp_tensor *yes =
	    tensor_of(NULL, TP_DTYPE_BOOL, NULL, 0, (const double[]){1});
	struct tp_tensor *x =
	    tensor_of(NULL, TP_DTYPE_F32, NULL, 0, (const double[]){3});
	struct tp_value in = tp_value_of(x), y = tp_value_of(NULL);
	struct tp_run_opts opts = {
	    .alloc = alloc, .watch = note_node, .watch_ctx = text};
	struct tp_program *program = NULL;
	struct tp_graph_model model;
	enum tp_status rc;

	set_graph(&a, g, 1, "then_branch", branch);
	add_constant(&a, g, "yes", yes);
	model = model_of(g);
	model.functions = &f;
	model.n_functions = 1;
	text[0] = 0;
	rc = tp_program_new(alloc, &model, &program, NULL);
	if (!rc)
		rc = tp_program_run(program, &in, 1, &y, 1, &opts, NULL);
	if (!rc)
		assert_true(number_at(y.tensor, 0) == 0);
	tp_value_release(&y);
	tp_program_free(program);
	tp_tensor_free(yes);
	tp_tensor_free(x);
	graphs_free(&a);
	return rc;
}

static void
runs_can_be_watched(void **state)
{
	char text[400];

	(void)state;
	assert_int_equal(run_everything(NULL, text), TP_OK);
	assert_string_equal(text,
	    ":0:Neg:1 choice/then_branch/n:0:Mul:1 "
	    "choice/then_branch/n:1:Neg:1 "
	    "choice/then_branch:0:call:1 :1:If:1 F#2:0:Mul:1 F#2:1:Neg:1 "
	    ":2:call:1 :3:Add:1 ");
}

static void
runs_fail_cleanly_without_memory(void **state)
{
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;
	char text[400];

	(void)state;
	while (fail_alloc_next(&a, rc))
		rc = run_everything(&a.alloc, text);
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
	    cmocka_unit_test(deep_and_wide_functions_are_refused),
	    cmocka_unit_test(deep_graphs_are_refused),
	    cmocka_unit_test(inner_names_hide_outer_ones),
	    cmocka_unit_test(constants_are_what_inputs_are_if_not_given),
	    cmocka_unit_test(functions_run_graphs_of_their_callers),
	    cmocka_unit_test(draws_depend_on_seed_and_node),
	    cmocka_unit_test(values_end_after_their_last_use),
	    cmocka_unit_test(what_cannot_fit_is_not_begun),
	    cmocka_unit_test(runs_can_be_watched),
	    cmocka_unit_test(runs_fail_cleanly_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
