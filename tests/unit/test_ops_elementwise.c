/* SPDX-License-Identifier: Apache-2.0 */
/* ops/: corners of elementwise operators, and what older opsets meant */
#include "support/op_calls.h"

#include <float.h>

#include "support/fail_alloc.h"

#define NAN_ ((double)NAN)
#define INF_ ((double)INFINITY)

static void
remainders_have_the_sign_of_one_or_the_other(void **state)
{
	const struct tp_attr fmod_attr[] = {ATTR_INT("fmod", 1)};

	(void)state;
	check_tensor(op_result("Mod", 13, NO_ATTRS,
			 INPUTS(I32(DIMS(6), -4, 7, 5, 4, -7, 8),
			     I32(DIMS(6), 2, -3, 8, -2, 3, 5))),
	    TP_DTYPE_I32, DIMS(6), NUMBERS(0, -2, 5, 0, 2, 3), 0);
	check_tensor(op_result("Mod", 13, fmod_attr, 1,
			 INPUTS(I32(DIMS(6), -4, 7, 5, 4, -7, 8),
			     I32(DIMS(6), 2, -3, 8, -2, 3, 5))),
	    TP_DTYPE_I32, DIMS(6), NUMBERS(0, 1, 5, 0, -1, 3), 0);
	check_tensor(op_result("Mod", 10, fmod_attr, 1,
			 INPUTS(F32(DIMS(3), -4.3f, 7.25, 5),
			     F32(DIMS(3), 2.1f, -3.5, 0))),
	    TP_DTYPE_F32, DIMS(3),
	    NUMBERS((double)fmodf(-4.3f, 2.1f), 0.25, NAN_), 0);
	/* By zero and the least by -1: defined, and no trap. */
	check_tensor(
	    op_result("Mod", 13, NO_ATTRS,
		INPUTS(I32(DIMS(2), 7, INT32_MIN), I32(DIMS(2), 0, -1))),
	    TP_DTYPE_I32, DIMS(2), NUMBERS(0, 0), 0);
	op_refuses(TP_EARG, "Mod: of dtype f32 it is defined with fmod 1 only",
	    "Mod", 13, NO_ATTRS, INPUTS(F32(DIMS(1), 1), F32(DIMS(1), 1)));
}

static void
many_inputs_become_one(void **state)
{
	struct tp_tensor *in[9];

	(void)state;
	check_tensor(op_result("Max", 13, NO_ATTRS,
			 INPUTS(F32(DIMS(3), 1, NAN_, 3), F32(DIMS(1), 2),
			     F32(DIMS(2, 1), 0, 9))),
	    TP_DTYPE_F32, DIMS(2, 3), NUMBERS(2, NAN_, 3, 9, NAN_, 9), 0);
	check_tensor(op_result("Min", 13, NO_ATTRS,
			 INPUTS(F32(DIMS(2), 1, 5), F32(DIMS(2), NAN_, 2))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(NAN_, 2), 0);
	check_tensor(op_result("Min", 13, NO_ATTRS,
			 INPUTS(TENSOR(TP_DTYPE_U64, DIMS(2), 5, 0x1p63),
			     TENSOR(TP_DTYPE_U64, DIMS(2), 4, 1))),
	    TP_DTYPE_U64, DIMS(2), NUMBERS(4, 1), 0);
	check_tensor(op_result("Max", 8, NO_ATTRS, INPUTS(F32(DIMS(2), 1, 5))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(1, 5), 0);
	/* In double: in f32, in this order, the ones would be lost. */
	for (unsigned k = 0; k < 9; k++)
		in[k] = F32(DIMS(1), k == 0 ? 0x1p24 : k == 8 ? -0x1p24 : 1);
	check_tensor(op_result("Sum", 13, NO_ATTRS, in, 9), TP_DTYPE_F32,
	    DIMS(1), NUMBERS(7), 0);
	check_tensor(
	    op_result("Mean", 13, NO_ATTRS,
		INPUTS(F32(DIMS(2), 1, 2), F32(DIMS(2), 2, 4), F32(SCALAR, 4))),
	    TP_DTYPE_F32, DIMS(2),
	    NUMBERS((double)(float)(7.0 / 3), (double)(float)(10.0 / 3)), 0);
	check_tensor(
	    op_result("Sum", 13, NO_ATTRS,
		INPUTS(I32(DIMS(1), 1), I32(DIMS(1), 2), I32(DIMS(1), 3))),
	    TP_DTYPE_I32, DIMS(1), NUMBERS(6), 0);
	op_refuses(TP_EARG, "Max: input 1 is missing", "Max", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(1), 1), NULL, F32(DIMS(1), 1)));
	op_refuses(TP_EARG, "Sum: input 1 has shape [1], input 0 has [2]",
	    "Sum", 6, NO_ATTRS, INPUTS(F32(DIMS(2), 1, 2), F32(DIMS(1), 1)));
}

static void
truth_and_bits_are_combined(void **state)
{
	const struct tp_attr left[] = {ATTR_STRING("direction", "LEFT")};
	const struct tp_attr right[] = {ATTR_STRING("direction", "RIGHT")};
	const struct tp_attr up[] = {ATTR_STRING("direction", "UP")};

	(void)state;
#define TRUTH INPUTS(BOOL(DIMS(4), 0, 0, 1, 1), BOOL(DIMS(4), 0, 1, 0, 1))
	check_tensor(op_result("And", 7, NO_ATTRS, TRUTH), TP_DTYPE_BOOL,
	    DIMS(4), NUMBERS(0, 0, 0, 1), 0);
	check_tensor(op_result("Or", 7, NO_ATTRS, TRUTH), TP_DTYPE_BOOL,
	    DIMS(4), NUMBERS(0, 1, 1, 1), 0);
	check_tensor(op_result("Xor", 1, NO_ATTRS, TRUTH), TP_DTYPE_BOOL,
	    DIMS(4), NUMBERS(0, 1, 1, 0), 0);
	check_tensor(op_result("Equal", 19, NO_ATTRS, TRUTH), TP_DTYPE_BOOL,
	    DIMS(4), NUMBERS(1, 0, 0, 1), 0);
	check_tensor(op_result("Not", 1, NO_ATTRS, INPUTS(BOOL(DIMS(2), 0, 1))),
	    TP_DTYPE_BOOL, DIMS(2), NUMBERS(1, 0), 0);
	/* All bits gone is zero, however far. */
	check_tensor(op_result("BitShift", 11, left, 1,
			 INPUTS(TENSOR(TP_DTYPE_U8, DIMS(4), 3, 255, 1, 1),
			     TENSOR(TP_DTYPE_U8, DIMS(4), 1, 4, 8, 255))),
	    TP_DTYPE_U8, DIMS(4), NUMBERS(6, 240, 0, 0), 0);
	check_tensor(op_result("BitShift", 11, right, 1,
			 INPUTS(TENSOR(TP_DTYPE_U64, DIMS(2), 0x1p63, 8),
			     TENSOR(TP_DTYPE_U64, DIMS(2), 63, 64))),
	    TP_DTYPE_U64, DIMS(2), NUMBERS(1, 0), 0);
	op_refuses(TP_EARG, "BitShift: direction 'UP', expected LEFT or RIGHT",
	    "BitShift", 11, up, 1,
	    INPUTS(TENSOR(TP_DTYPE_U8, DIMS(1), 1),
		TENSOR(TP_DTYPE_U8, DIMS(1), 1)));
}

static void
elements_are_picked_and_not_computed(void **state)
{
	(void)state;
	check_tensor(op_result("Where", 16, NO_ATTRS,
			 INPUTS(BOOL(DIMS(2, 1), 1, 0),
			     F32(DIMS(2), NAN_, INF_), F32(SCALAR, -1))),
	    TP_DTYPE_F32, DIMS(2, 2), NUMBERS(NAN_, INF_, -1, -1), 0);
	check_tensor(op_result("Where", 9, NO_ATTRS,
			 INPUTS(BOOL(DIMS(3), 1, 0, 1), I64(SCALAR, 7),
			     I64(DIMS(3), 1, 2, 3))),
	    TP_DTYPE_I64, DIMS(3), NUMBERS(7, 2, 7), 0);
	op_refuses(TP_EARG, "Where: input 0 has dtype i64, expected bool",
	    "Where", 16, NO_ATTRS,
	    INPUTS(I64(DIMS(1), 1), I64(DIMS(1), 1), I64(DIMS(1), 1)));
	op_refuses(TP_EARG, "Where: input 2 has dtype f32, input 1 has i64",
	    "Where", 16, NO_ATTRS,
	    INPUTS(BOOL(DIMS(1), 1), I64(DIMS(1), 1), F32(DIMS(1), 1)));
}

/* What is narrower than a byte, by way of Cast. */
static void
narrow_elements_are_picked_too(void **state)
{
	const struct tp_attr to_i4[] = {ATTR_INT("to", 22)};
	const struct tp_attr to_f4[] = {ATTR_INT("to", 23)};
	const struct tp_attr to_f32[] = {ATTR_INT("to", 1)};

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		const struct tp_attr *to = k ? to_f4 : to_i4;
		struct tp_tensor *a = op_result(
		    "Cast", 25, to, 1, INPUTS(F32(DIMS(3), -4, 3, -2)));
		struct tp_tensor *b = op_result(
		    "Cast", 25, to, 1, INPUTS(F32(DIMS(3), 1, -1, 6)));
		struct tp_tensor *y = op_result("Where", 16, NO_ATTRS,
		    INPUTS(BOOL(DIMS(3), 1, 0, 1), a, b));

		check_tensor(op_result("Cast", 25, to_f32, 1, INPUTS(y)),
		    TP_DTYPE_F32, DIMS(3), NUMBERS(-4, -1, -2), 0);
	}
}

/* Strings are numbers, equal ones equal. */
static void
strings_are_picked_and_compared(void **state)
{
	struct tp_value in[3] = {tp_value_of(BOOL(DIMS(2), 1, 0)),
	    tp_value_of(TENSOR(TP_DTYPE_U64, DIMS(2), 7, 8)),
	    tp_value_of(TENSOR(TP_DTYPE_U64, DIMS(2), 7, 9))};
	struct tp_err why = TP_ERR_INIT;
	struct tp_value y;

	(void)state;
	in[1].kind = in[2].kind = TP_VALUE_STRINGS;
	RUN(tp_op_run(op_named("Where", 16), NULL, 0, in, 3, &y, 1, NULL, err));
	assert_int_equal(y.kind, TP_VALUE_STRINGS);
	check_tensor(y.tensor, TP_DTYPE_U64, DIMS(2), NUMBERS(7, 9), 0);
	RUN(tp_op_run(
	    op_named("Equal", 19), NULL, 0, in + 1, 2, &y, 1, NULL, err));
	assert_int_equal(y.kind, TP_VALUE_TENSOR);
	check_tensor(y.tensor, TP_DTYPE_BOOL, DIMS(2), NUMBERS(1, 0), 0);
	in[2].kind = TP_VALUE_TENSOR;
	assert_int_equal(tp_op_run(op_named("Equal", 19), NULL, 0, in + 1, 2,
			     &y, 1, NULL, &why),
	    TP_EARG);
	assert_string_equal(
	    why.msg, "Equal: input 1 is a tensor, input 0 a tensor of strings");
	for (size_t k = 0; k < 3; k++)
		tp_value_release(&in[k]);
}

static void
bounds_hold_numbers(void **state)
{
	const struct tp_attr both[] = {
	    ATTR_FLOAT("min", -1), ATTR_FLOAT("max", 2)};

	(void)state;
	check_tensor(op_result("Clip", 13, NO_ATTRS,
			 INPUTS(F32(DIMS(4), -5, NAN_, 1, 9), F32(SCALAR, -2),
			     F32(SCALAR, 3))),
	    TP_DTYPE_F32, DIMS(4), NUMBERS(-2, NAN_, 1, 3), 0);
	/* Where they cross, the upper one. */
	check_tensor(
	    op_result("Clip", 13, NO_ATTRS,
		INPUTS(F32(DIMS(3), -5, 2, 9), F32(SCALAR, 4), F32(SCALAR, 1))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(1, 1, 1), 0);
	/* Absent ones are none, for infinity too. */
	check_tensor(
	    op_result("Clip", 11, NO_ATTRS,
		INPUTS(F32(DIMS(3), -INF_, 2, INF_), NULL, F32(SCALAR, 1))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(-INF_, 1, 1), 0);
	check_tensor(op_result("Clip", 12, NO_ATTRS,
			 INPUTS(TENSOR(TP_DTYPE_I8, DIMS(3), -128, 2, 127),
			     TENSOR(TP_DTYPE_I8, DIMS(1), 0))),
	    TP_DTYPE_I8, DIMS(3), NUMBERS(0, 2, 127), 0);
	check_tensor(op_result("Clip", 12, NO_ATTRS,
			 INPUTS(TENSOR(TP_DTYPE_U64, DIMS(2), 0, 0x1p63))),
	    TP_DTYPE_U64, DIMS(2), NUMBERS(0, 0x1p63), 0);
	check_tensor(
	    op_result("Clip", 6, both, 2, INPUTS(F32(DIMS(3), -5, 0.5, 9))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(-1, 0.5, 2), 0);
	/* The bounds of opset 6 are numbers where none are given. */
	check_tensor(
	    op_result("Clip", 6, NO_ATTRS, INPUTS(F32(DIMS(2), INF_, -1))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS((double)FLT_MAX, -1), 0);
	op_refuses(TP_EARG,
	    "Clip: input 2 has dtype f32 and shape [2], expected a scalar of "
	    "f32",
	    "Clip", 13, NO_ATTRS,
	    INPUTS(F32(DIMS(1), 1), NULL, F32(DIMS(2), 1, 2)));
}

static void
slopes_go_along_channels_once(void **state)
{
	(void)state;
#define X_222 F32(DIMS(1, 2, 2), -1, 2, -3, -4)
	check_tensor(op_result("PRelu", 6, NO_ATTRS,
			 INPUTS(X_222, F32(DIMS(2), 10, 100))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(-10, 2, -300, -400), 0);
	check_tensor(op_result("PRelu", 7, NO_ATTRS,
			 INPUTS(X_222, F32(DIMS(2), 10, 100))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(-10, 2, -30, -400), 0);
	check_tensor(
	    op_result("PRelu", 1, NO_ATTRS, INPUTS(X_222, F32(DIMS(1), 10))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(-10, 2, -30, -40), 0);
	check_tensor(op_result("PRelu", 9, NO_ATTRS,
			 INPUTS(I32(DIMS(2), -3, 3), I32(DIMS(1), 2))),
	    TP_DTYPE_I32, DIMS(2), NUMBERS(-6, 3), 0);
	op_refuses(TP_EARG, "PRelu: slopes of shape [2, 2] for shape [2]",
	    "PRelu", 16, NO_ATTRS,
	    INPUTS(F32(DIMS(2), 1, 2), F32(DIMS(2, 2), 1, 2, 3, 4)));
}

/* Operators that later opsets do not have. */
static void
experiments_of_opset_1_are_known(void **state)
{
	const struct tp_attr scaler[] = {
	    ATTR_FLOAT("scale", 2), ATTR_FLOATS("bias", 10, 20)};
	const struct tp_attr line[] = {
	    ATTR_FLOAT("alpha", 3), ATTR_FLOAT("beta", -1)};

	(void)state;
	check_tensor(op_result("ImageScaler", 1, scaler, 2,
			 INPUTS(F32(DIMS(1, 2, 2), 1, 2, 3, 4))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(12, 14, 26, 28), 0);
	op_refuses(TP_EARG, "ImageScaler: 2 numbers of bias for shape [2, 1]",
	    "ImageScaler", 1, scaler, 2, INPUTS(F32(DIMS(2, 1), 1, 2)));
	op_refuses(TP_EARG, "ImageScaler: 0 numbers of bias for shape [2]",
	    "ImageScaler", 1, NO_ATTRS, INPUTS(F32(DIMS(2), 1, 2)));
	check_tensor(
	    op_result("Affine", 1, line, 2, INPUTS(F32(DIMS(2), 1, -2))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(2, -7), 0);
}

static void
older_opsets_broadcast_at_an_axis(void **state)
{
	const struct tp_attr at_1[] = {
	    ATTR_INT("broadcast", 1), ATTR_INT("axis", 1)};
	const struct tp_attr at_9[] = {
	    ATTR_INT("broadcast", 1), ATTR_INT("axis", 9)};
	const struct tp_attr at_end[] = {ATTR_INT("broadcast", 1)};
	const struct tp_attr oldest[] = {ATTR_INTS("consumed_inputs", 0, 1)};

	(void)state;
#define A_122 F32(DIMS(1, 2, 2), 1, 2, 3, 4)
	check_tensor(
	    op_result("Add", 6, at_1, 2, INPUTS(A_122, F32(DIMS(2), 10, 20))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(11, 12, 23, 24), 0);
	check_tensor(
	    op_result("Add", 6, at_end, 1, INPUTS(A_122, F32(DIMS(2), 10, 20))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(11, 22, 13, 24), 0);
	check_tensor(
	    op_result("Pow", 1, at_1, 2, INPUTS(A_122, F32(DIMS(2), 2, 1))),
	    TP_DTYPE_F32, DIMS(1, 2, 2), NUMBERS(1, 4, 3, 4), 0);
	check_tensor(
	    op_result("Greater", 1, at_1, 2, INPUTS(A_122, F32(DIMS(2), 1, 3))),
	    TP_DTYPE_BOOL, DIMS(1, 2, 2), NUMBERS(0, 1, 0, 1), 0);
	check_tensor(op_result("Mul", 1, oldest, 1,
			 INPUTS(F32(DIMS(1), 3), F32(DIMS(1), 4))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(12), 0);
	op_refuses(TP_EARG, "Add: axis 9 of a tensor of rank 3", "Add", 6, at_9,
	    2, INPUTS(A_122, F32(DIMS(2), 1, 2)));
	op_refuses(TP_EARG,
	    "Add: input 1 of shape [2] does not lie in shape [1, 2, 2] at axis "
	    "0",
	    "Add", 6, NO_ATTRS, INPUTS(A_122, F32(DIMS(2), 1, 2)));
	op_refuses(TP_EARG,
	    "Sub: input 1 of shape [2, 2, 2] does not lie in shape [1, 2, 2] "
	    "at axis 0",
	    "Sub", 6, at_end, 1,
	    INPUTS(A_122, F32(DIMS(2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 8)));
	op_refuses(TP_EARG,
	    "Sub: input 1 of shape [2, 2] does not lie in shape [1, 2, 2] at "
	    "axis 2",
	    "Sub", 6, ATTRS(ATTR_INT("broadcast", 1), ATTR_INT("axis", 2)),
	    INPUTS(A_122, F32(DIMS(2, 2), 1, 2, 3, 4)));
}

static void
activations_take_parameters(void **state)
{
	const struct tp_attr alpha_2[] = {ATTR_FLOAT("alpha", 2)};
	const struct tp_attr as_tanh[] = {ATTR_STRING("approximate", "tanh")};
	const struct tp_attr shrink[] = {
	    ATTR_FLOAT("lambd", 1.5), ATTR_FLOAT("bias", 1)};
	double u = sqrt(2 / acos(-1)) * (1 + 0.044715);

	(void)state;
	check_tensor(
	    op_result("LeakyRelu", 16, alpha_2, 1, INPUTS(F32(DIMS(2), -1, 3))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(-2, 3), 0);
	check_tensor(
	    op_result("Elu", 6, alpha_2, 1, INPUTS(F32(DIMS(2), -1, 3))),
	    TP_DTYPE_F32, DIMS(2), NUMBERS(2 * (exp(-1) - 1), 3), FLT_EPSILON);
	check_tensor(op_result("Celu", 12, alpha_2, 1,
			 INPUTS(F32(DIMS(3), -1, 3, NAN_))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(2 * (exp(-0.5) - 1), 3, NAN_),
	    FLT_EPSILON);
	check_tensor(op_result("Selu", 6, NO_ATTRS, INPUTS(F32(DIMS(1), 1))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(1.05070102214813232421875), 0);
	check_tensor(op_result("Selu", 1, NO_ATTRS, INPUTS(F32(DIMS(1), 1))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS((double)1.0507f), 0);
	check_tensor(op_result("ThresholdedRelu", 10, alpha_2, 1,
			 INPUTS(F32(DIMS(3), 1.5, 2, 2.5))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(0, 0, 2.5), 0);
	check_tensor(op_result("Shrink", 9, shrink, 2,
			 INPUTS(F32(DIMS(4), -2, -1.5, 1.5, 3))),
	    TP_DTYPE_F32, DIMS(4), NUMBERS(-1, 0, 0, 2), 0);
	check_tensor(op_result("Shrink", 9, shrink, 2,
			 INPUTS(I64(DIMS(3), -2, 1, 0x1p60))),
	    TP_DTYPE_I64, DIMS(3), NUMBERS(-1, 0, 0x1p60), 0);
	check_tensor(op_result("Gelu", 20, as_tanh, 1, INPUTS(F64(DIMS(1), 1))),
	    TP_DTYPE_F64, DIMS(1), NUMBERS((1 + tanh(u)) / 2), 1e-15);
	check_tensor(
	    op_result("Swish", 24, alpha_2, 1, INPUTS(F64(DIMS(1), -3))),
	    TP_DTYPE_F64, DIMS(1), NUMBERS(-3 / (1 + exp(6))), 1e-15);
	op_refuses(TP_EARG, "Gelu: approximate 'x', expected none or tanh",
	    "Gelu", 20, ATTRS(ATTR_STRING("approximate", "x")),
	    INPUTS(F32(DIMS(1), 1)));
}

/* Where the formula as it is written gives NaN, or nothing at all. */
static void
functions_have_values_at_both_ends(void **state)
{
	static const char *const smooth[] = {
	    "Gelu", "Swish", "Mish", "HardSwish", "Softplus"};
	static const int opsets[] = {20, 24, 18, 14, 1};
	const struct tp_attr as_tanh[] = {ATTR_STRING("approximate", "tanh")};

	(void)state;
	for (unsigned k = 0; k < COUNT_OF(smooth); k++)
		check_tensor(
		    op_result(smooth[k], opsets[k], NO_ATTRS,
			INPUTS(F32(DIMS(5), -INF_, -1000, 1000, INF_, NAN_))),
		    TP_DTYPE_F32, DIMS(5), NUMBERS(0, 0, 1000, INF_, NAN_), 0);
	check_tensor(op_result("Gelu", 20, as_tanh, 1,
			 INPUTS(F32(DIMS(4), -INF_, -1000, INF_, NAN_))),
	    TP_DTYPE_F32, DIMS(4), NUMBERS(0, 0, INF_, NAN_), 0);
	check_tensor(op_result("Softsign", 1, NO_ATTRS,
			 INPUTS(F32(DIMS(3), -INF_, 1, INF_))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(-1, 0.5, 1), 0);
	/* Below zero nothing cancels: relative, not absolute errors. */
	check_tensor(op_result("Gelu", 20, NO_ATTRS, INPUTS(F32(DIMS(1), -10))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(-5 * erfc(10 / sqrt(2))),
	    FLT_EPSILON);
	check_tensor(
	    op_result("Softplus", 1, NO_ATTRS, INPUTS(F32(DIMS(1), -50))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(exp(-50)), FLT_EPSILON);
}

static void
whole_numbers_are_found(void **state)
{
	struct tp_tensor *y;

	(void)state;
	check_tensor(op_result("Round", 11, NO_ATTRS,
			 INPUTS(F32(DIMS(7), 0.5, 1.5, 2.5, -2.5, -1.5, 8388609,
			     0.49999997f))),
	    TP_DTYPE_F32, DIMS(7), NUMBERS(0, 2, 2, -2, -2, 8388609, 0), 0);
	check_tensor(op_result("Round", 11, NO_ATTRS,
			 INPUTS(F64(DIMS(3), 4503599627370495.5, INF_, NAN_))),
	    TP_DTYPE_F64, DIMS(3), NUMBERS(4503599627370496, INF_, NAN_), 0);
	/* Minus zero where it is due. */
	y = op_result(
	    "Ceil", 13, NO_ATTRS, INPUTS(F32(DIMS(3), -0.25, -0.75, -0.0)));
	for (uint64_t i = 0; i < 3; i++)
		assert_true(number_at(y, i) == 0 && signbit(number_at(y, i)));
	tp_tensor_free(y);
	y = op_result("Floor", 6, NO_ATTRS, INPUTS(F32(DIMS(2), -0.0, 0.75)));
	assert_true(signbit(number_at(y, 0)) && !signbit(number_at(y, 1)));
	tp_tensor_free(y);
	check_tensor(op_result("Sign", 13, NO_ATTRS,
			 INPUTS(F32(DIMS(4), -0.0, NAN_, -INF_, 1e-40f))),
	    TP_DTYPE_F32, DIMS(4), NUMBERS(0, NAN_, -1, 1), 0);
}

static void
infinity_and_nan_are_told(void **state)
{
	const struct tp_attr no_negative[] = {ATTR_INT("detect_negative", 0)};
	const struct tp_attr no_positive[] = {ATTR_INT("detect_positive", 0)};

	(void)state;
#define ENDS INPUTS(F32(DIMS(4), -INF_, NAN_, 1, INF_))
	check_tensor(op_result("IsInf", 10, NO_ATTRS, ENDS), TP_DTYPE_BOOL,
	    DIMS(4), NUMBERS(1, 0, 0, 1), 0);
	check_tensor(op_result("IsInf", 10, no_negative, 1, ENDS),
	    TP_DTYPE_BOOL, DIMS(4), NUMBERS(0, 0, 0, 1), 0);
	check_tensor(op_result("IsInf", 20, no_positive, 1, ENDS),
	    TP_DTYPE_BOOL, DIMS(4), NUMBERS(1, 0, 0, 0), 0);
	check_tensor(op_result("IsNaN", 13, NO_ATTRS, ENDS), TP_DTYPE_BOOL,
	    DIMS(4), NUMBERS(0, 1, 0, 0), 0);
	check_tensor(
	    op_result("IsInf", 20, NO_ATTRS,
		INPUTS(TENSOR(TP_DTYPE_F8E5M2, DIMS(3), 57344, INF_, NAN_))),
	    TP_DTYPE_BOOL, DIMS(3), NUMBERS(0, 1, 0), 0);
	check_tensor(op_result("IsNaN", 20, NO_ATTRS,
			 INPUTS(TENSOR(TP_DTYPE_F8E4M3FNUZ, DIMS(2), 1, NAN_))),
	    TP_DTYPE_BOOL, DIMS(2), NUMBERS(0, 1), 0);
}

/* A row of n elements that is computed in place, by several threads. */
static void
parts_do_not_show(void **state)
{
	const int64_t n = 300001;
	const struct tp_op_opts one = {.n_threads = 1}, four = {.n_threads = 4};
	struct tp_tensor *x = NULL;
	struct tp_value in[3], y[2];
	uint64_t seed = 7;

	(void)state;
	RUN(tp_tensor_empty(NULL, TP_DTYPE_F32, &n, 1, &x, err));
	for (int64_t i = 0; i < n; i++)
		((float *)tp_tensor_data_mut(x))[i] =
		    (float)(next_random(&seed) % 4001) / 500 - 4;
	for (unsigned k = 0; k < 3; k++)
		in[k] = tp_value_of(x);
	for (unsigned k = 0; k < 2; k++) {
		const char *onnx = k ? "Sum" : "Mish";
		size_t n_in = k ? 3 : 1;

		RUN(tp_op_run(op_named(onnx, 18), NULL, 0, in, n_in, &y[0], 1,
		    &one, err));
		RUN(tp_op_run(op_named(onnx, 18), NULL, 0, in, n_in, &y[1], 1,
		    &four, err));
		assert_memory_equal(tp_tensor_data(y[0].tensor),
		    tp_tensor_data(y[1].tensor), (size_t)n * sizeof(float));
		tp_value_release(&y[0]);
		tp_value_release(&y[1]);
	}
	tp_tensor_free(x);
}

static void
no_memory_is_a_clean_error(void **state)
{
	static const struct {
		const char *onnx;
		int opset;
		size_t n_in;
	} ops[] = {{"PRelu", 6, 2}, {"Sum", 13, 3}, {"Max", 13, 3},
	    {"Clip", 13, 3}, {"Pow", 6, 2}};
	struct tp_tensor *in[] = {
	    F32(DIMS(1), 4), F32(DIMS(1), 1), F32(DIMS(1), 2)};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(ops); k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;
		struct tp_value out;

		while (fail_alloc_next(&a, rc)) {
			rc = op_try(ops[k].onnx, ops[k].opset, NO_ATTRS, in,
			    ops[k].n_in, &out, 1, &a.alloc, NULL);
			tp_value_release(&out);
		}
		assert_true(a.n_rounds > 1);
	}
	for (size_t k = 0; k < 3; k++)
		tp_tensor_free(in[k]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(remainders_have_the_sign_of_one_or_the_other),
	    cmocka_unit_test(many_inputs_become_one),
	    cmocka_unit_test(truth_and_bits_are_combined),
	    cmocka_unit_test(elements_are_picked_and_not_computed),
	    cmocka_unit_test(narrow_elements_are_picked_too),
	    cmocka_unit_test(strings_are_picked_and_compared),
	    cmocka_unit_test(bounds_hold_numbers),
	    cmocka_unit_test(slopes_go_along_channels_once),
	    cmocka_unit_test(experiments_of_opset_1_are_known),
	    cmocka_unit_test(older_opsets_broadcast_at_an_axis),
	    cmocka_unit_test(activations_take_parameters),
	    cmocka_unit_test(functions_have_values_at_both_ends),
	    cmocka_unit_test(whole_numbers_are_found),
	    cmocka_unit_test(infinity_and_nan_are_told),
	    cmocka_unit_test(parts_do_not_show),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
