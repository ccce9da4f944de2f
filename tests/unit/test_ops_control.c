/* SPDX-License-Identifier: Apache-2.0 */
/* ops/control_*.c: If, Loop, Scan, SequenceMap inside programs */
#include "support/numbers.h"

#include "support/fail_alloc.h"
#include "support/graphs.h"

#define MANY 4 /* inputs and outputs of a graph here */

/* A graph, at an opset, with inputs that are made before it runs. */
struct fixture {
	struct graphs a;
	struct tp_graph *g;
	int64_t opset;
	struct tp_value in[MANY], out[MANY];
	uint64_t max_iterations;
};

static enum tp_status
evaluate(struct fixture *f, const struct tp_alloc *alloc, struct tp_err *err)
{
	struct tp_opset opset = {TP_STR(""), f->opset ? f->opset : 17};
	struct tp_graph_model model = {
	    .opsets = &opset, .n_opsets = 1, .graph = *f->g};
	struct tp_run_opts opts = {
	    .alloc = alloc, .max_iterations = f->max_iterations};
	struct tp_program *program = NULL;
	enum tp_status rc = tp_program_new(alloc, &model, &program, err);

	if (!rc)
		rc = tp_program_run(program, f->in, f->g->n_inputs, f->out,
		    f->g->n_outputs, &opts, err);
	tp_program_free(program);
	return rc;
}

static void
drop_outputs(struct fixture *f)
{
	for (size_t k = 0; k < MANY; k++)
		tp_value_release(&f->out[k]);
}

static void
release(struct fixture *f)
{
	drop_outputs(f);
	for (size_t k = 0; k < MANY; k++)
		tp_value_release(&f->in[k]);
	graphs_free(&f->a);
}

/* Without memory at any point it fails cleanly. */
static void
expect_clean_failures(struct fixture *f)
{
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;

	drop_outputs(f);
	while (fail_alloc_next(&a, rc)) {
		rc = evaluate(f, &a.alloc, NULL);
		drop_outputs(f);
	}
}

static void
expect_error(struct fixture *f, enum tp_status status, const char *msg)
{
	struct tp_err why = TP_ERR_INIT;

	assert_int_equal(evaluate(f, NULL, &why), status);
	assert_string_equal(why.msg, msg);
	for (size_t k = 0; k < MANY; k++)
		assert_int_equal(f->out[k].kind, TP_VALUE_NONE);
}

static struct tp_value
scalar(enum tp_dtype dtype, double x)
{
	return tp_value_of(tensor_of(NULL, dtype, NULL, 0, &x));
}

static struct tp_value
vector(int64_t n, const double *x)
{
	return tp_value_of(tensor_of(NULL, TP_DTYPE_F32, &n, 1, x));
}

static struct tp_value
matrix(int64_t n, int64_t m, const double *x)
{
	const int64_t sizes[] = {n, m};

	return tp_value_of(tensor_of(NULL, TP_DTYPE_F32, sizes, 2, x));
}

static void
expect(const struct tp_value *v, unsigned rank, const int64_t *sizes,
    const double *x)
{
	assert_int_equal(v->kind, TP_VALUE_TENSOR);
	assert_int_equal(tp_tensor_rank(v->tensor), rank);
	for (unsigned d = 0; d < rank; d++)
		assert_int_equal(tp_tensor_sizes(v->tensor)[d], sizes[d]);
	for (uint64_t i = 0; i < tp_tensor_numel(v->tensor); i++)
		if (number_at(v->tensor, i) != x[i])
			fail_msg("element %d is %g, expected %g", (int)i,
			    number_at(v->tensor, i), x[i]);
}

#define EXPECT(v, rank, sizes, ...) \
	expect(                     \
	    &(v), rank, (const int64_t[])sizes, (const double[]){__VA_ARGS__})
#define SIZES(...)          \
	{                   \
		__VA_ARGS__ \
	}

static void
if_runs_one_branch(void **state)
{
	struct fixture f = {.opset = 17};
	struct tp_graph *yes, *no;

	(void)state;
	/* Both see x; a branch may give back what it did not make. */
	yes = graph_of(&f.a, "-> r", "r = Neg x", NULL);
	no = graph_of(&f.a, "-> x", NULL);
	f.g = graph_of(&f.a, "c x -> y", "n: y = If c", NULL);
	set_graph(&f.a, f.g, 0, "then_branch", yes);
	set_graph(&f.a, f.g, 0, "else_branch", no);
	f.in[0] = scalar(TP_DTYPE_BOOL, 1);
	f.in[1] = vector(2, (double[]){3, 4});
	for (f.opset = 13; f.opset < 26; f.opset += 4) {
		RUN(evaluate(&f, NULL, err));
		EXPECT(f.out[0], 1, SIZES(2), -3, -4);
		drop_outputs(&f);
	}
	f.opset = 17;
	expect_clean_failures(&f);

	tp_value_release(&f.in[0]);
	f.in[0] = scalar(TP_DTYPE_BOOL, 0);
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[0], 1, SIZES(2), 3, 4);
	drop_outputs(&f);

	tp_value_release(&f.in[0]);
	f.in[0] = vector(2, (double[]){1, 1});
	expect_error(&f, TP_EARG,
	    "node 0 'n' (If): If: the condition has dtype f32 and shape [2], "
	    "expected one bool");
	release(&f);
}

/* s' = s + x; rows s', and the number of the round. */
static void
make_loop(struct fixture *f, const char *line)
{
	struct tp_graph *body =
	    graph_of(&f->a, "i c s -> c t t i", "t = Add s x", NULL);

	f->g = graph_of(&f->a, "m c x -> s rows numbers", line, NULL);
	set_graph(&f->a, f->g, 0, "body", body);
	f->in[0] = scalar(TP_DTYPE_I64, 3);
	f->in[1] = scalar(TP_DTYPE_BOOL, 1);
	f->in[2] = vector(2, (double[]){1, 10});
}

static void
loop_hands_states_on_and_stacks_rows(void **state)
{
	struct fixture f = {.opset = 17};

	(void)state;
	make_loop(&f, "n: s rows numbers = Loop m c x");
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[0], 1, SIZES(2), 4, 40);
	EXPECT(f.out[1], 2, SIZES(3, 2), 2, 20, 3, 30, 4, 40);
	/* Rows of scalars are a vector. */
	EXPECT(f.out[2], 1, SIZES(3), 0, 1, 2);
	assert_int_equal(tp_tensor_dtype(f.out[2].tensor), TP_DTYPE_I64);
	expect_clean_failures(&f);
	release(&f);
}

static void
loop_that_never_runs_has_rows_of_no_size(void **state)
{
	static const int64_t declared[] = {-1, 5};
	struct fixture f = {.opset = 17};
	struct tp_binding *outputs;

	(void)state;
	make_loop(&f, "n: s rows numbers = Loop m c x");
	tp_value_release(&f.in[0]);
	f.in[0] = scalar(TP_DTYPE_I64, -2);
	expect_error(&f, TP_EARG,
	    "node 0 'n' (Loop): Loop: its graph never ran and does not declare "
	    "what output 1 is");
	outputs = (struct tp_binding *)(uintptr_t)f.g->nodes[0]
		      .attrs[0]
		      .graph->outputs;
	for (size_t k = 2; k < 4; k++)
		outputs[k].type = (struct tp_type){TP_VALUE_TENSOR,
		    TP_VALUE_NONE, k == 2 ? TP_DTYPE_F16 : TP_DTYPE_I64};
	outputs[2].has_shape = true;
	outputs[2].rank = 2;
	outputs[2].sizes = declared;
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[0], 1, SIZES(2), 1, 10);
	EXPECT(f.out[1], 3, SIZES(0, 0, 5), 0);
	assert_int_equal(tp_tensor_dtype(f.out[1].tensor), TP_DTYPE_F16);
	EXPECT(f.out[2], 1, SIZES(0), 0);
	expect_clean_failures(&f);
	release(&f);
}

/* Neither a number nor a condition ends it. */
static void
make_endless(struct fixture *f)
{
	struct tp_graph *body =
	    graph_of(&f->a, "i c s -> c t", "t = Add s one", NULL);

	f->g = graph_of(&f->a, "c x one -> y", "n: y = Loop _ c x", NULL);
	set_graph(&f->a, f->g, 0, "body", body);
	f->in[0] = scalar(TP_DTYPE_BOOL, 1);
	f->in[1] = scalar(TP_DTYPE_F32, 0);
	f->in[2] = scalar(TP_DTYPE_F32, 1);
}

static void
loop_without_end_is_stopped(void **state)
{
	struct fixture f = {.opset = 17, .max_iterations = 50};

	(void)state;
	make_endless(&f);
	expect_error(&f, TP_ELIMIT,
	    "node 0 'n' (Loop): Loop: still going on after 50 iterations, "
	    "which is the limit");
	release(&f);
}

/* The shape of a state may change, and an absent condition is true. */
static void
loop_states_may_change_shape(void **state)
{
	struct fixture f = {.opset = 17};
	struct tp_graph *body;

	(void)state;
	body = graph_of(&f.a, "i c s -> c t", "t = Add s x", NULL);
	f.g = graph_of(&f.a, "m z x -> y", "y = Loop m _ z", NULL);
	set_graph(&f.a, f.g, 0, "body", body);
	f.in[0] = scalar(TP_DTYPE_I64, 2);
	f.in[1] = scalar(TP_DTYPE_F32, 5);
	f.in[2] = vector(3, (double[]){1, 2, 3});
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[0], 1, SIZES(3), 7, 9, 11);
	release(&f);
}

/* What the graph takes as an optional is one, whatever it gave itself. */
static void
loop_states_become_optionals_again(void **state)
{
	struct fixture f = {.opset = 17};
	struct tp_graph *body;
	struct tp_binding *inputs;

	(void)state;
	body = graph_of(&f.a, "i c s -> c e", "e = OptionalGetElement s", NULL);
	inputs = (struct tp_binding *)(uintptr_t)body->inputs;
	inputs[2].type =
	    (struct tp_type){TP_VALUE_OPTIONAL, TP_VALUE_TENSOR, TP_DTYPE_F32};
	f.g = graph_of(&f.a, "m s -> y", "y = Loop m _ s", NULL);
	set_graph(&f.a, f.g, 0, "body", body);
	f.in[0] = scalar(TP_DTYPE_I64, 3);
	f.in[1] = vector(2, (double[]){5, 6});
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[0], 1, SIZES(2), 5, 6);
	expect_clean_failures(&f);
	release(&f);
}

static void
rows_of_other_shapes_are_refused(void **state)
{
	struct fixture f = {.opset = 17};
	struct tp_graph *body;

	(void)state;
	body = graph_of(&f.a, "i c s -> c t s", "t = Add s x", NULL);
	f.g = graph_of(&f.a, "m z x -> y r", "n: y r = Loop m _ z", NULL);
	set_graph(&f.a, f.g, 0, "body", body);
	f.in[0] = scalar(TP_DTYPE_I64, 2);
	f.in[1] = scalar(TP_DTYPE_F32, 5);
	f.in[2] = vector(3, (double[]){1, 2, 3});
	expect_error(&f, TP_EARG,
	    "node 0 'n' (Loop): Loop: output 1 has dtype f32 and shape [3] "
	    "this time, f32 and [] before");
	release(&f);
}

/* Bytes that were ever asked for. */
static size_t total_bytes;

static void *
count_alloc(void *ctx, size_t n)
{
	(void)ctx;
	total_bytes += n;
	return calloc(1, n);
}

static void
count_free(void *ctx, void *p, size_t n)
{
	(void)ctx;
	(void)n;
	free(p);
}

static size_t
bytes_of_loop(double n)
{
	static const struct tp_alloc counting = {count_alloc, count_free, NULL};
	struct fixture f = {.opset = 17};

	make_loop(&f, "n: s rows numbers = Loop m c x");
	tp_value_release(&f.in[0]);
	f.in[0] = scalar(TP_DTYPE_I64, n);
	total_bytes = 0;
	RUN(evaluate(&f, &counting, err));
	assert_int_equal(tp_tensor_sizes(f.out[1].tensor)[0], (int64_t)n);
	release(&f);
	return total_bytes;
}

static void
stacking_takes_linear_memory(void **state)
{
	size_t few = bytes_of_loop(1000), many = bytes_of_loop(16000);

	(void)state;
	assert_true(many < 17 * few);
}

/* A sum that runs along, as state and as rows. */
static struct tp_graph *
running_sum(struct graphs *a)
{
	return graph_of(a, "s v -> t r", "t = Add s v", "r = Neg t", NULL);
}

static void
set_ints(struct graphs *a, struct tp_graph *g, const char *name,
    const int64_t *list, size_t n)
{
	struct tp_attr *attr = set_attr(a, g, 0, name, TP_ATTR_INTS);

	attr->ints = list;
	attr->n = n;
}

static void
scan_goes_along_axes_both_ways(void **state)
{
	static const int64_t one[] = {1}, minus_one[] = {-1};
	static const double x[] = {1, 2, 3, 10, 20, 30};
	struct fixture f = {.opset = 17};

	(void)state;
	f.g = graph_of(&f.a, "s x -> y rows", "n: y rows = Scan s x", NULL);
	set_graph(&f.a, f.g, 0, "body", running_sum(&f.a));
	set_attr(&f.a, f.g, 0, "num_scan_inputs", TP_ATTR_INT)->i = 1;
	f.in[0] = vector(3, (double[]){0, 0, 0});
	f.in[1] = matrix(2, 3, x);
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[0], 1, SIZES(3), 11, 22, 33);
	EXPECT(f.out[1], 2, SIZES(2, 3), -1, -2, -3, -11, -22, -33);
	expect_clean_failures(&f);

	/* Columns from the last on; rows become columns, the last one first. */
	tp_value_release(&f.in[0]);
	f.in[0] = vector(2, (double[]){0, 0});
	set_ints(&f.a, f.g, "scan_input_axes", one, 1);
	set_ints(&f.a, f.g, "scan_input_directions", one, 1);
	set_ints(&f.a, f.g, "scan_output_axes", minus_one, 1);
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[0], 1, SIZES(2), 6, 60);
	EXPECT(f.out[1], 2, SIZES(2, 3), -3, -5, -6, -30, -50, -60);
	drop_outputs(&f);
	set_ints(&f.a, f.g, "scan_output_directions", one, 1);
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[1], 2, SIZES(2, 3), -6, -5, -3, -60, -50, -30);
	release(&f);
}

static void
scans_that_do_not_fit_are_refused(void **state)
{
	static const int64_t one[] = {1}, two[] = {2, 2};
	static const double x[6] = {0};
	struct fixture f = {.opset = 17};
	struct tp_attr *n;

	(void)state;
	f.g = graph_of(&f.a, "s x -> y rows", "n: y rows = Scan s x", NULL);
	set_graph(&f.a, f.g, 0, "body", running_sum(&f.a));
	n = set_attr(&f.a, f.g, 0, "num_scan_inputs", TP_ATTR_INT);
	f.in[0] = matrix(3, 1, x);
	f.in[1] = matrix(2, 3, x);
	n->i = 3;
	expect_error(&f, TP_EARG,
	    "node 0 'n' (Scan): Scan: num_scan_inputs is 3, there are 2 states "
	    "and tensors");
	n->i = 2;
	expect_error(&f, TP_EARG,
	    "node 0 'n' (Scan): Scan: input 1 to slice has 2 parts along its "
	    "axis 0, those before it 3");
	n->i = 1;
	set_ints(&f.a, f.g, "scan_input_axes", two, 2);
	expect_error(&f, TP_EARG,
	    "node 0 'n' (Scan): Scan: scan_input_axes has 2 entries, expected "
	    "1");
	((struct tp_attr *)(uintptr_t)&f.g->nodes[0].attrs[2])->n = 1;
	expect_error(&f, TP_EARG,
	    "node 0 'n' (Scan): Scan: axis 2 of a tensor of rank 2");
	((struct tp_attr *)(uintptr_t)&f.g->nodes[0].attrs[2])->ints = one;
	f.max_iterations = 2;
	expect_error(&f, TP_ELIMIT,
	    "node 0 'n' (Scan): Scan: 3 iterations, the limit is 2");
	release(&f);
}

static void
scan_8_takes_a_batch_and_lengths(void **state)
{
	static const int64_t sizes[] = {2, 3}, two = 2, back[] = {1};
	static const double lengths[] = {2, 3}, x[] = {1, 2, 3, 10, 20, 30};
	struct fixture f = {.opset = 8};

	(void)state;
	f.g = graph_of(&f.a, "n s x -> y rows", "y rows = Scan n s x", NULL);
	/* No other operator is needed at opset 8. */
	set_graph(&f.a, f.g, 0, "body",
	    graph_of(&f.a, "s v -> t t", "t = Add s v", NULL));
	set_attr(&f.a, f.g, 0, "num_scan_inputs", TP_ATTR_INT)->i = 1;
	f.in[0] = tp_value_of(tensor_of(NULL, TP_DTYPE_I64, &two, 1, lengths));
	f.in[1] = vector(2, (double[]){0, 100});
	f.in[2] = tp_value_of(tensor_of(NULL, TP_DTYPE_F32, sizes, 2, x));
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[0], 1, SIZES(2), 3, 160);
	EXPECT(f.out[1], 2, SIZES(2, 3), 1, 3, 0, 110, 130, 160);
	expect_clean_failures(&f);

	/* Backwards from the end of each example. */
	set_ints(&f.a, f.g, "directions", back, 1);
	RUN(evaluate(&f, NULL, err));
	EXPECT(f.out[0], 1, SIZES(2), 3, 160);
	EXPECT(f.out[1], 2, SIZES(2, 3), 2, 3, 0, 130, 150, 160);
	drop_outputs(&f);

	((int64_t *)tp_tensor_data_mut(f.in[0].tensor))[1] = 4;
	expect_error(&f, TP_EARG,
	    "node 0 (Scan): Scan: sequence 1 has length 4, the longest is 3");
	release(&f);
}

/* A sequence of scalars. */
static struct tp_value
sequence(size_t n, const double *x)
{
	struct tp_type type = {
	    TP_VALUE_SEQUENCE, TP_VALUE_TENSOR, TP_DTYPE_F32};
	struct tp_value items[MANY], out;

	for (size_t i = 0; i < n; i++)
		items[i] = scalar(TP_DTYPE_F32, x[i]);
	RUN(tp_list_new(NULL, type, items, n, &out, err));
	return out;
}

static void
sequence_map_takes_elements_together(void **state)
{
	struct fixture f = {.opset = 17};
	struct tp_type type;

	(void)state;
	f.g = graph_of(&f.a, "p q r w -> y", "n: y = SequenceMap p q r", NULL);
	set_graph(&f.a, f.g, 0, "body",
	    graph_of(&f.a, "a b c -> d", "h = Mul a b", "i = Add h c",
		"d = Add i w", NULL));
	f.in[0] = sequence(3, (double[]){1, 2, 3});
	f.in[1] = sequence(3, (double[]){10, 20, 30});
	f.in[2] = scalar(TP_DTYPE_F32, 0.5);
	f.in[3] = vector(2, (double[]){0, 1000});
	RUN(evaluate(&f, NULL, err));
	assert_int_equal(f.out[0].kind, TP_VALUE_SEQUENCE);
	assert_int_equal(tp_list_count(f.out[0].list), 3);
	EXPECT(*tp_list_at(f.out[0].list, 2), 1, SIZES(2), 90.5, 1090.5);
	type = tp_value_type(&f.out[0]);
	assert_true(
	    type.element == TP_VALUE_TENSOR && type.dtype == TP_DTYPE_F32);
	expect_clean_failures(&f);

	tp_value_release(&f.in[1]);
	f.in[1] = sequence(2, (double[]){10, 20});
	expect_error(&f, TP_EARG,
	    "node 0 'n' (SequenceMap): SequenceMap: sequence 1 has 2 elements, "
	    "the first 3");
	release(&f);
}

static void
graphs_need_a_program(void **state)
{
	const struct tp_op *op = NULL;
	struct graphs a = {.n = 0};
	struct tp_attr attr = {
	    .name = TP_STR("then_branch"), .kind = TP_ATTR_GRAPH};
	struct tp_value in = scalar(TP_DTYPE_BOOL, 1), out;
	struct tp_err why = TP_ERR_INIT;

	(void)state;
	attr.graph = graph_of(&a, "-> x", "x = Neg y", NULL);
	RUN(tp_op_find(TP_STR(""), TP_STR("If"), 17, &op, err));
	assert_int_equal(tp_op_run(op, &attr, 1, &in, 1, &out, 1, NULL, &why),
	    TP_EUNSUPPORTED);
	assert_string_equal(why.msg,
	    "If: operators with graphs run as nodes of a program only");
	assert_int_equal(
	    tp_op_run(op, NULL, 0, &in, 1, &out, 1, NULL, &why), TP_EARG);
	assert_string_equal(why.msg, "If: attribute 'then_branch' is missing");
	tp_value_release(&in);
	graphs_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(if_runs_one_branch),
	    cmocka_unit_test(loop_hands_states_on_and_stacks_rows),
	    cmocka_unit_test(loop_that_never_runs_has_rows_of_no_size),
	    cmocka_unit_test(loop_without_end_is_stopped),
	    cmocka_unit_test(loop_states_may_change_shape),
	    cmocka_unit_test(loop_states_become_optionals_again),
	    cmocka_unit_test(rows_of_other_shapes_are_refused),
	    cmocka_unit_test(stacking_takes_linear_memory),
	    cmocka_unit_test(scan_goes_along_axes_both_ways),
	    cmocka_unit_test(scans_that_do_not_fit_are_refused),
	    cmocka_unit_test(scan_8_takes_a_batch_and_lengths),
	    cmocka_unit_test(sequence_map_takes_elements_together),
	    cmocka_unit_test(graphs_need_a_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
