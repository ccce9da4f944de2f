/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_op.c - elementwise operators on every dtype, and has each operator a
 * test?
 *
 * An operator without a line in these lists fails the test: add one with it, or
 * write tests of its own and name it in op_tests/.
 */
#include "support/op_sweep.h"

static void
check_unary_to(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, enum tp_dtype y_dtype, int64_t n, enum placement how)
{
	bool in_place = y_dtype == dtype;
	const int64_t sizes[] = {3, n};
	struct tp_tensor *x = placed_tensor(dtype, sizes, 2, how), *y;
	size_t count = (size_t)tp_tensor_numel(x);
	double *want = calloc(count + 1, sizeof(*want));

	fill(x, 5, e->low, e->high);
	y = run(op, NULL, 0, &x, 1);
	assert_int_equal(tp_tensor_dtype(y), y_dtype);
	assert_int_equal(tp_tensor_numel(y), count);
	for (uint64_t i = 0; i < count; i++) {
		want[i] = as_dtype(y_dtype, e->f(number_at(x, i)));
		check_number(e->name, y_dtype, number_at(y, i), want[i]);
	}
	tp_tensor_free(y);
	/* In place, which counts as a write. */
	assert_int_equal(tp_tensor_version(x), 0);
	y = in_place ? run_into(op, NULL, 0, &x, 1, x) : NULL;
	assert_int_equal(tp_tensor_version(x), in_place);
	for (uint64_t i = 0; i < count && in_place; i++)
		check_number(e->name, dtype, number_at(x, i), want[i]);
	free(want);
	tp_tensor_free(y);
	tp_tensor_free(x);
}

static void
check_unary(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	check_unary_to(e, op, dtype, dtype, n, how);
}

static void
check_question(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	check_unary_to(e, op, dtype, TP_DTYPE_BOOL, n, how);
}

/* Before opset 7 the second input broadcasts, and only when told to. */
static void
check_binary_to(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, enum tp_dtype y_dtype, int64_t n, enum placement how)
{
	const int64_t full[] = {3, n}, row[] = {n}, column[] = {3, 1};
	struct tp_tensor *shapes[3] = {placed_tensor(dtype, full, 2, how),
	    placed_tensor(dtype, row, 1, how),
	    placed_tensor(dtype, column, 2, how)};
	struct tp_tensor *a = placed_tensor(dtype, full, 2, PACKED), *y;
	const struct tp_attr broadcast = {
	    .name = TP_STR("broadcast"), .kind = TP_ATTR_INT, .i = 1};
	bool is_old = tp_op_info(op).until && tp_op_info(op).until < 7;

	fill(a, 9, e->low, e->high);
	for (unsigned s = 0; s < 3; s++)
		fill(shapes[s], 11 + s, 1, 5);
	/* The broadcast operand second, then first. */
	for (unsigned k = 0; k < (is_old ? 3 : 6); k++) {
		unsigned s = k % 3;
		struct tp_tensor *b = shapes[s];
		struct tp_tensor *in[2] = {k < 3 ? a : b, k < 3 ? b : a};

		y = run(op, &broadcast, is_old, in, 2);
		assert_int_equal(tp_tensor_numel(y), 3 * n);
		assert_int_equal(tp_tensor_dtype(y), y_dtype);
		for (uint64_t i = 0; i < tp_tensor_numel(y); i++) {
			uint64_t j = s == 0   ? i
				     : s == 1 ? i % (uint64_t)n
					      : i / (uint64_t)n;
			double p = number_at(a, i), q = number_at(b, j);
			double want = k < 3 ? e->f2(p, q) : e->f2(q, p);

			check_number(e->name, y_dtype, number_at(y, i),
			    as_dtype(y_dtype, want));
		}
		tp_tensor_free(y);
	}
	/* In place on each input, and on both. */
	for (unsigned k = 0; k < 3 && y_dtype == dtype; k++) {
		struct tp_tensor *b = shapes[0];
		struct tp_tensor *in[2] = {k == 1 ? b : a, k == 1 ? a : b};
		struct tp_tensor *want;

		if (k == 2)
			in[1] = a;
		want = run(op, NULL, 0, in, 2);
		y = run_into(op, NULL, 0, in, 2, in[0]);
		for (uint64_t i = 0; i < tp_tensor_numel(y); i++)
			check_number(e->name, dtype, number_at(in[0], i),
			    number_at(want, i));
		tp_tensor_free(want);
		tp_tensor_free(y);
		fill(in[0], 9, e->low, e->high);
	}
	for (unsigned s = 0; s < 3; s++)
		tp_tensor_free(shapes[s]);
	tp_tensor_free(a);
}

static void
check_binary(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	check_binary_to(e, op, dtype, dtype, n, how);
}

static void
check_comparison(const struct expectation *e, const struct tp_op *op,
    enum tp_dtype dtype, int64_t n, enum placement how)
{
	check_binary_to(e, op, dtype, TP_DTYPE_BOOL, n, how);
}

/*
 *	X(operator, an element of the result, bounds of the first input)
 *
 * Sums that nearly cancel lose digits, so the ranges keep off zeros.
 */
/* clang-format off */
#define UNARY(X) \
	X(acos, acos(x), -0.9, 0.9) \
	X(acosh, acosh(x), 1.25, 9) \
	X(asin, asin(x), -0.9, 0.9) \
	X(asinh, asinh(x), -9, 9) \
	X(atan, atan(x), -9, 9) \
	X(atanh, atanh(x), -0.9, 0.9) \
	X(cos, cos(x), -3, 3) \
	X(cosh, cosh(x), -3, 3) \
	X(erf, erf(x), -3, 3) \
	X(sin, sin(x), -3, 3) \
	X(sinh, sinh(x), -3, 3) \
	X(tan, tan(x), -1.5, 1.5) \
	X(floor, floor(x), -9, 9) \
	X(ceil, ceil(x), -9, 9) \
	X(round, rint(x), -9, 9) \
	X(sign, x < 0 ? -1 : x > 0, -3, 3) \
	X(softplus, log(1 + exp(x)), -3, 9) \
	X(softsign, x / (1 + fabs(x)), -9, 9) \
	X(hard_swish, x * fmax(0, fmin(1, x / 6 + 0.5)), -9, 9) \
	X(mish, x * tanh(log(1 + exp(x))), -3, 9) \
	X(swish, x / (1 + exp(-x)), -9, 9) \
	X(gelu, x * (1 + erf(x / sqrt(2))) / 2, -1, 9) \
	X(elu, x < 0 ? exp(x) - 1 : x, -3, 3) \
	X(celu, x < 0 ? exp(x) - 1 : x, -3, 3) \
	X(leaky_relu, x < 0 ? (double)0.01f * x : x, -9, 9) \
	X(hard_sigmoid, fmax(0, fmin(1, (double)0.2f * x + 0.5)), -2, 9) \
	X(thresholded_relu, x > 1 ? x : 0, -9, 9) \
	X(shrink, fabs(x) > 0.5 ? x : 0, -2, 2) \
	X(clip, x, -9, 9) \
	X(affine, x, -9, 9) \
	X(parametric_softplus, log(1 + exp(x)), -3, 9) \
	X(scaled_tanh, tanh(x), -3, 3) \
	X(bit_not, -1 - x, -100, 100) \
	X(exp, exp(x), -5, 5) \
	X(log, log(x), 0, 9) \
	X(tanh, tanh(x), -3, 3) \
	X(relu, x > 0 ? x : 0, -9, 9) \
	X(sigmoid, 1 / (1 + exp(-x)), -9, 9) \
	X(sqrt, sqrt(x), 0, 99) \
	X(reciprocal, 1 / x, 1, 9) \
	X(neg, -x, -128, 99) \
	X(abs, fabs(x), -99, 99)
#define QUESTIONS(X) \
	X(is_nan, 0, -3, 3) \
	X(is_inf, 0, -3, 3)
#define BINARY(X) \
	X(bit_and, (double)((int)a & (int)b), 1, 100) \
	X(bit_or, (double)((int)a | (int)b), 1, 100) \
	X(bit_xor, (double)((int)a ^ (int)b), 1, 100) \
	X(swiglu, a * b / (1 + exp(-a)), 1, 9) \
	X(add, a + b, 1, 100) \
	X(sub, a - b, 1, 100) \
	X(mul, a * b, 1, 100) \
	X(div, a / b, 1, 100) \
	X(pow, pow(a, b), 1, 4)
#define COMPARISONS(X) \
	X(equal, a == b, 1, 6) \
	X(less, a < b, 1, 6) \
	X(greater, a > b, 1, 6) \
	X(less_equal, a <= b, 1, 6) \
	X(greater_equal, a >= b, 1, 6)
/* clang-format on */

#define DEFINE(name, value, low, high)       \
	static double unary_##name(double x) \
	{                                    \
		(void)x;                     \
		return value;                \
	}
UNARY(DEFINE)
QUESTIONS(DEFINE)
#undef DEFINE
#define DEFINE(name, value, low, high)                  \
	static double binary_##name(double a, double b) \
	{                                               \
		return value;                           \
	}
BINARY(DEFINE)
COMPARISONS(DEFINE)
#undef DEFINE

#define UNARY_ROW(name, value, low, high) \
	{#name, check_unary, unary_##name, NULL, low, high},
#define QUESTION_ROW(name, value, low, high) \
	{#name, check_question, unary_##name, NULL, low, high},
#define BINARY_ROW(name, value, low, high) \
	{#name, check_binary, NULL, binary_##name, low, high},
#define COMPARISON_ROW(name, value, low, high) \
	{#name, check_comparison, NULL, binary_##name, low, high},

static const struct expectation expected[] = {UNARY(UNARY_ROW)
	QUESTIONS(QUESTION_ROW) BINARY(BINARY_ROW) COMPARISONS(COMPARISON_ROW)};

/* Operators that are not of one dtype throughout have tests of their own. */
static const char *const tested_elsewhere[] = {
#define TP_OP_TESTED(name) #name,
#include "op_tests/attention.def"
#include "op_tests/axes.def"
#include "op_tests/control.def"
#include "op_tests/conv.def"
#include "op_tests/data.def"
#include "op_tests/elementwise.def"
#include "op_tests/ml.def"
#include "op_tests/normalization.def"
#include "op_tests/product.def"
#include "op_tests/quantization.def"
#include "op_tests/random.def"
#include "op_tests/reduction.def"
#include "op_tests/resample.def"
#include "op_tests/rnn.def"
#include "op_tests/select.def"
#include "op_tests/sequence.def"
#include "op_tests/signal.def"
#include "op_tests/text.def"
#include "op_tests/training.def"
#undef TP_OP_TESTED
    NULL};

static bool
is_tested_elsewhere(const char *name)
{
	for (size_t i = 0; tested_elsewhere[i]; i++)
		if (!strcmp(tested_elsewhere[i], name))
			return true;
	return false;
}

static void
every_operator_has_a_test(void **state)
{
	const struct tp_op *op;

	(void)state;
	for (size_t i = 0; (op = tp_op_at(i)); i++) {
		const char *name = tp_op_info(op).name;

		if (!is_tested_elsewhere(name) &&
		    !expectation_of(expected, COUNT_OF(expected), name))
			fail_msg("operator %s has no expectation", name);
	}
}

static void
elements_are_right_on_every_dtype(void **state)
{
	(void)state;
	assert_true(sweep(expected, COUNT_OF(expected)) > 500);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_operator_has_a_test),
	    cmocka_unit_test(elements_are_right_on_every_dtype),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
