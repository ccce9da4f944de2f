/* SPDX-License-Identifier: Apache-2.0 */
/* ops/reduce.c, arg.c, cumulative.c: what unit_op does not see */
#include "support/op_calls.h"

#include "support/fail_alloc.h"

static void
nothing_reduces_to_what_changes_nothing(void **state)
{
	static const struct {
		const char *onnx;
		double of_none;
	} reductions[] = {{"ReduceSum", 0}, {"ReduceL1", 0}, {"ReduceL2", 0},
	    {"ReduceSumSquare", 0}, {"ReduceProd", 1},
	    {"ReduceLogSum", -INFINITY}, {"ReduceLogSumExp", -INFINITY},
	    {"ReduceMin", INFINITY}, {"ReduceMax", -INFINITY},
	    {"ReduceMean", NAN}};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(reductions); k++) {
		double want = reductions[k].of_none;

		check_tensor(op_result(reductions[k].onnx, 20, NO_ATTRS,
				 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(2, 0, 4)),
				     I64(DIMS(1), 1))),
		    TP_DTYPE_F32, DIMS(2, 1, 4),
		    NUMBERS(want, want, want, want, want, want, want, want), 0);
	}
	check_tensor(op_result("ReduceMin", 20, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_U8, DIMS(0)))),
	    TP_DTYPE_U8, DIMS(1), NUMBERS(255), 0);
	check_tensor(op_result("ReduceMax", 20, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_I64, DIMS(0)))),
	    TP_DTYPE_I64, DIMS(1), NUMBERS((double)INT64_MIN), 0);
	check_tensor(op_result("ReduceMin", 20, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_BOOL, DIMS(0)))),
	    TP_DTYPE_BOOL, DIMS(1), NUMBERS(1), 0);
	check_tensor(op_result("ReduceMax", 20, NO_ATTRS,
			 INPUTS(EMPTY(TP_DTYPE_BOOL, DIMS(0)))),
	    TP_DTYPE_BOOL, DIMS(1), NUMBERS(0), 0);
}

static void
truth_is_reduced_too(void **state)
{
	(void)state;
	check_tensor(
	    op_result("ReduceMax", 20, ATTRS(ATTR_INT("keepdims", 0)),
		INPUTS(BOOL(DIMS(3, 2), 0, 0, 0, 1, 1, 1), I64(DIMS(1), -1))),
	    TP_DTYPE_BOOL, DIMS(3), NUMBERS(0, 1, 1), 0);
	check_tensor(
	    op_result("ReduceMin", 20, ATTRS(ATTR_INT("keepdims", 0)),
		INPUTS(BOOL(DIMS(3, 2), 0, 0, 0, 1, 1, 1), I64(DIMS(1), -1))),
	    TP_DTYPE_BOOL, DIMS(3), NUMBERS(0, 0, 1), 0);
}

/* What is done to each element is done without axes, too. */
static void
without_axes_nothing_is_reduced_if_so_wanted(void **state)
{
	(void)state;
	check_tensor(op_result("ReduceSumSquare", 18,
			 ATTRS(ATTR_INT("noop_with_empty_axes", 1)),
			 INPUTS(F32(DIMS(2), -3, 2))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(9, 4), 0);
	check_tensor(
	    op_result("ReduceL1", 18,
		ATTRS(ATTR_INT("noop_with_empty_axes", 1)),
		INPUTS(F32(DIMS(2), -3, 2), EMPTY(TP_DTYPE_I64, DIMS(0)))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(3, 2), 0);
	check_tensor(op_result("ReduceLogSum", 18,
			 ATTRS(ATTR_INT("noop_with_empty_axes", 1)),
			 INPUTS(F64(DIMS(1), 5))),
	    TP_DTYPE_F64, DIMS(1), NUMBERS(log(5)), 1e-15);
	check_tensor(
	    op_result("ReduceL1", 18, NO_ATTRS,
		INPUTS(F32(DIMS(2), -3, 2), EMPTY(TP_DTYPE_I64, DIMS(0)))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(5), 0);
}

static void
exponents_of_any_size_have_a_logarithm(void **state)
{
	(void)state;
	check_tensor(op_result("ReduceLogSumExp", 18, NO_ATTRS,
			 INPUTS(F32(DIMS(1, 2), 1000, 1000))),
	    TP_DTYPE_F32, DIMS(1, 1), NUMBERS(1000 + log(2)), 6e-8);
	check_tensor(op_result("ReduceLogSumExp", 18, NO_ATTRS,
			 INPUTS(F32(DIMS(3), -INFINITY, -INFINITY, 3))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(3), 0);
	check_tensor(op_result("ReduceLogSumExp", 18, NO_ATTRS,
			 INPUTS(F32(DIMS(2), -INFINITY, -INFINITY))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(-INFINITY), 0);
	check_tensor(op_result("ReduceLogSumExp", 18, NO_ATTRS,
			 INPUTS(F32(DIMS(3), 1, INFINITY, INFINITY))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(INFINITY), 0);
	check_tensor(op_result("ReduceLogSumExp", 18, NO_ATTRS,
			 INPUTS(F32(DIMS(3), 1, NAN, INFINITY))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(NAN), 0);
}

static void
integers_are_cut_and_wrap(void **state)
{
	(void)state;
	check_tensor(
	    op_result("ReduceMean", 18, NO_ATTRS, INPUTS(I32(DIMS(2), -4, 1))),
	    TP_DTYPE_I32, DIMS(1), NUMBERS(-1), 0);
	check_tensor(op_result("ReduceL2", 18, NO_ATTRS,
			 INPUTS(TENSOR(TP_DTYPE_I8, DIMS(3), 100, 100, 0))),
	    TP_DTYPE_I8, DIMS(1), NUMBERS(127), 0);
	check_tensor(op_result("ReduceProd", 18, NO_ATTRS,
			 INPUTS(TENSOR(TP_DTYPE_U8, DIMS(2), 16, 17))),
	    TP_DTYPE_U8, DIMS(1), NUMBERS(16), 0);
	check_tensor(op_result("ReduceLogSum", 18, NO_ATTRS,
			 INPUTS(I32(DIMS(2), -5, 1))),
	    TP_DTYPE_I32, DIMS(1), NUMBERS(0), 0);
}

static void
extremes_are_found_first_or_last(void **state)
{
	const double nan = NAN;

	(void)state;
	check_tensor(op_result("ArgMax", 13, ATTRS(ATTR_INT("axis", 1)),
			 INPUTS(F32(DIMS(2, 3), 1, 2, 2, 5, nan, 7))),
	    TP_DTYPE_I64, DIMS(2, 1), NUMBERS(1, 1), 0);
	check_tensor(op_result("ArgMax", 13,
			 ATTRS(ATTR_INT("axis", -1), ATTR_INT("keepdims", 0),
			     ATTR_INT("select_last_index", 1)),
			 INPUTS(F32(DIMS(2, 4), 1, 2, 2, 0, nan, 5, nan, 7))),
	    TP_DTYPE_I64, DIMS(2), NUMBERS(2, 2), 0);
	check_tensor(
	    op_result("ArgMin", 11, ATTRS(ATTR_INT("keepdims", 0)),
		INPUTS(TENSOR(TP_DTYPE_I8, DIMS(2, 2), -128, 3, 127, 2))),
	    TP_DTYPE_I64, DIMS(2), NUMBERS(0, 1), 0);
	check_tensor(
	    op_result("ArgMin", 12, ATTRS(ATTR_INT("select_last_index", 1)),
		INPUTS(TENSOR(TP_DTYPE_U64, DIMS(3), 4, 4, 9))),
	    TP_DTYPE_I64, DIMS(1), NUMBERS(1), 0);
	check_tensor(op_result("ArgMax", 13, ATTRS(ATTR_INT("axis", 1)),
			 INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 3)))),
	    TP_DTYPE_I64, DIMS(0, 1), NO_NUMBERS, 0);
	op_refuses(TP_EARG, "ArgMax: axis 1 of shape [2, 0] has no element",
	    "ArgMax", 13, ATTRS(ATTR_INT("axis", 1)),
	    INPUTS(EMPTY(TP_DTYPE_F32, DIMS(2, 0))));
	op_refuses(TP_EARG, "ArgMin: axis 0 of a tensor of rank 0", "ArgMin",
	    13, NO_ATTRS, INPUTS(F32(SCALAR, 1)));
	op_refuses(TP_EARG,
	    "ArgMax (opset 1 on) has no attribute 'select_last_index'",
	    "ArgMax", 11, ATTRS(ATTR_INT("select_last_index", 1)),
	    INPUTS(F32(DIMS(1), 1)));
}

static void
sums_run_forwards_and_backwards(void **state)
{
	const struct tp_attr both[] = {
	    ATTR_INT("exclusive", 1), ATTR_INT("reverse", 1)};

	(void)state;
	check_tensor(
	    op_result("CumSum", 14, NO_ATTRS,
		INPUTS(F32(DIMS(2, 3), 1, 2, 3, 4, 5, 6), I32(SCALAR, 1))),
	    TP_DTYPE_F32, DIMS(2, 3), NUMBERS(1, 3, 6, 4, 9, 15), 0);
	check_tensor(
	    op_result("CumSum", 11, both, 2,
		INPUTS(I32(DIMS(2, 3), 1, 2, 3, 4, 5, 6), I64(DIMS(1), -2))),
	    TP_DTYPE_I32, DIMS(2, 3), NUMBERS(4, 5, 6, 0, 0, 0), 0);
	check_tensor(op_result("CumSum", 14, ATTRS(ATTR_INT("exclusive", 1)),
			 INPUTS(F64(DIMS(3), 1, 2, 3), I64(SCALAR, 0))),
	    TP_DTYPE_F64, DIMS(3), NUMBERS(0, 1, 3), 0);
	check_tensor(op_result("CumProd", 26, ATTRS(ATTR_INT("reverse", 1)),
			 INPUTS(TENSOR(TP_DTYPE_I8, DIMS(3), 100, 2, 3),
			     I64(SCALAR, 0))),
	    TP_DTYPE_I8, DIMS(3), NUMBERS(88, 6, 3), 0);
	check_tensor(op_result("CumProd", 26, both, 2,
			 INPUTS(F32(DIMS(3), 5, 2, 3), I64(SCALAR, 0))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(6, 3, 1), 0);
	/* 1 + 2^-24 is not a float, but what it adds up to is. */
	check_tensor(
	    op_result("CumSum", 14, NO_ATTRS,
		INPUTS(F32(DIMS(3), 1, 0x1p-24, 0x1p-24), I64(SCALAR, 0))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(1, 1, 1 + 0x1p-23), 0);
	op_refuses(TP_EARG, "CumSum: axis has 2 elements, expected 1", "CumSum",
	    14, NO_ATTRS, INPUTS(F32(DIMS(1), 1), I64(DIMS(2), 0, 0)));
	op_refuses(TP_EARG, "CumSum: axis 1 of a tensor of rank 1", "CumSum",
	    14, NO_ATTRS, INPUTS(F32(DIMS(1), 1), I64(SCALAR, 1)));
}

static void
no_memory_is_a_clean_error(void **state)
{
	static const struct {
		const char *onnx;
		bool has_axis;
	} ops[] = {{"ReduceL2", true}, {"ArgMax", false}, {"CumSum", true}};
	const struct tp_attr flat[] = {ATTR_INT("keepdims", 0)};
	const struct tp_attr back[] = {ATTR_INT("reverse", 1)};
	struct tp_tensor *in[] = {F32(DIMS(2, 2), 1, 2, 3, 4), I64(DIMS(1), 1)};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(ops); k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;
		struct tp_value out;

		while (fail_alloc_next(&a, rc)) {
			rc = op_try(ops[k].onnx, 26, k == 2 ? back : flat, 1,
			    in, ops[k].has_axis ? 2 : 1, &out, 1, &a.alloc,
			    NULL);
			tp_value_release(&out);
		}
		assert_true(a.n_rounds > 2);
	}
	tp_tensor_free(in[0]);
	tp_tensor_free(in[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_reduces_to_what_changes_nothing),
	    cmocka_unit_test(truth_is_reduced_too),
	    cmocka_unit_test(without_axes_nothing_is_reduced_if_so_wanted),
	    cmocka_unit_test(exponents_of_any_size_have_a_logarithm),
	    cmocka_unit_test(integers_are_cut_and_wrap),
	    cmocka_unit_test(extremes_are_found_first_or_last),
	    cmocka_unit_test(sums_run_forwards_and_backwards),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
