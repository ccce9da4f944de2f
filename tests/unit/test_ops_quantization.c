/* SPDX-License-Identifier: Apache-2.0 */
/* ops/: QuantizeLinear and its kin, and products of quantized numbers */
#include "support/op_calls.h"

#include <float.h>

#include "support/fail_alloc.h"

#define NAN_ ((double)NAN)
#define INF_ ((double)INFINITY)

#define U8(dims, ...) op_tensor(TP_DTYPE_U8, dims, NUMBERS(__VA_ARGS__))
#define I8(dims, ...) op_tensor(TP_DTYPE_I8, dims, NUMBERS(__VA_ARGS__))

/* Through Cast, since a test has no address for what is below a byte. */
static struct tp_tensor *
cast_to(int64_t code, struct tp_tensor *t)
{
	return op_result("Cast", 25, ATTRS(ATTR_INT("to", code)), INPUTS(t));
}

static void
quotients_are_rounded_half_to_even(void **state)
{
	(void)state;
	check_tensor(op_result("QuantizeLinear", 10, NO_ATTRS,
			 INPUTS(F32(DIMS(7), 1, 3, 5, -3, 1000, -1000, NAN_),
			     F32(SCALAR, 2), U8(SCALAR, 128))),
	    TP_DTYPE_U8, DIMS(7), NUMBERS(128, 130, 130, 126, 255, 0, 128), 0);
	check_tensor(op_result("QuantizeLinear", 13, NO_ATTRS,
			 INPUTS(F32(DIMS(3), 200, -400, 3), F32(DIMS(1), 2),
			     I8(DIMS(1), 0))),
	    TP_DTYPE_I8, DIMS(3), NUMBERS(100, -128, 2), 0);
	check_tensor(op_result("QuantizeLinear", 10, NO_ATTRS,
			 INPUTS(I32(DIMS(2), 7, 3000), F32(SCALAR, 2))),
	    TP_DTYPE_U8, DIMS(2), NUMBERS(4, 255), 0);
	/*
	 * The quotient itself is a float: exactly it is a little less than
	 * 1.5, as f32 it is 1.5, and so it becomes 2.
	 */
	check_tensor(
	    op_result("QuantizeLinear", 13, NO_ATTRS,
		INPUTS(F32(DIMS(1), 16777215), F32(SCALAR, 11184810.5))),
	    TP_DTYPE_U8, DIMS(1), NUMBERS(2), 0);
}

static void
the_quotient_has_a_precision(void **state)
{
	/* 2.5 and a bit, which f16 does not hold. */
	(void)state;
	check_tensor(op_result("QuantizeLinear", 23, NO_ATTRS,
			 INPUTS(F32(DIMS(1), 2.5 + 0x1p-20), F32(SCALAR, 1))),
	    TP_DTYPE_U8, DIMS(1), NUMBERS(3), 0);
	check_tensor(
	    op_result("QuantizeLinear", 23, ATTRS(ATTR_INT("precision", 10)),
		INPUTS(F32(DIMS(1), 2.5 + 0x1p-20), F32(SCALAR, 1))),
	    TP_DTYPE_U8, DIMS(1), NUMBERS(2), 0);
	check_tensor(op_result("QuantizeLinear", 23, NO_ATTRS,
			 INPUTS(F32(DIMS(1), 2.5 + 0x1p-20),
			     TENSOR(TP_DTYPE_F16, SCALAR, 1))),
	    TP_DTYPE_U8, DIMS(1), NUMBERS(2), 0);
	check_tensor(op_result("QuantizeLinear", 21, NO_ATTRS,
			 INPUTS(F32(DIMS(1), 2.5 + 0x1p-20),
			     TENSOR(TP_DTYPE_F16, SCALAR, 1))),
	    TP_DTYPE_U8, DIMS(1), NUMBERS(3), 0);
	op_refuses(TP_EARG, "QuantizeLinear: precision i32", "QuantizeLinear",
	    23, ATTRS(ATTR_INT("precision", 6)),
	    INPUTS(F32(DIMS(1), 1), F32(SCALAR, 1)));
}

static void
scales_are_by_slice_or_by_block(void **state)
{
	(void)state;
#define X_23 F32(DIMS(2, 3), 10, 20, 30, 40, 50, 60)
	check_tensor(
	    op_result("QuantizeLinear", 13, NO_ATTRS,
		INPUTS(X_23, F32(DIMS(3), 1, 2, 3), U8(DIMS(3), 0, 1, 2))),
	    TP_DTYPE_U8, DIMS(2, 3), NUMBERS(10, 11, 12, 40, 26, 22), 0);
	check_tensor(
	    op_result("QuantizeLinear", 13, ATTRS(ATTR_INT("axis", -2)),
		INPUTS(X_23, F32(DIMS(2), 1, 10))),
	    TP_DTYPE_U8, DIMS(2, 3), NUMBERS(10, 20, 30, 4, 5, 6), 0);
	/* Blocks of 2 along axis 1, the last of one element. */
#define BY_2 ATTRS(ATTR_INT("axis", 1), ATTR_INT("block_size", 2))
	check_tensor(op_result("QuantizeLinear", 21, BY_2,
			 INPUTS(X_23, F32(DIMS(2, 2), 1, 3, 10, 20))),
	    TP_DTYPE_U8, DIMS(2, 3), NUMBERS(10, 20, 10, 4, 5, 3), 0);
	check_tensor(
	    op_result("DequantizeLinear", 21, BY_2,
		INPUTS(U8(DIMS(2, 3), 1, 2, 3, 4, 5, 6),
		    F32(DIMS(2, 2), 1, 3, 10, 20), U8(DIMS(2, 2), 0, 1, 2, 3))),
	    TP_DTYPE_F32, DIMS(2, 3), NUMBERS(1, 2, 6, 20, 30, 60), 0);
	/* Along axis 0: what lies behind it has scales of its own. */
	check_tensor(op_result("DequantizeLinear", 21,
			 ATTRS(ATTR_INT("axis", 0), ATTR_INT("block_size", 2)),
			 INPUTS(I8(DIMS(3, 2), 1, 2, 3, 4, 5, 6),
			     F32(DIMS(2, 2), 1, 10, 100, 1000))),
	    TP_DTYPE_F32, DIMS(3, 2), NUMBERS(1, 20, 3, 40, 500, 6000), 0);
	/* A block larger than the axis, as large as a number gets. */
	check_tensor(
	    op_result("DequantizeLinear", 21,
		ATTRS(ATTR_INT("axis", 1), ATTR_INT("block_size", INT64_MAX)),
		INPUTS(I8(DIMS(1, 2), 1, 2), F32(DIMS(1, 1), 3))),
	    TP_DTYPE_F32, DIMS(1, 2), NUMBERS(3, 6), 0);
	op_refuses(TP_EARG,
	    "QuantizeLinear: scales of shape [2] for shape [2, 3], axis 1, "
	    "blocks of 0",
	    "QuantizeLinear", 13, NO_ATTRS, INPUTS(X_23, F32(DIMS(2), 1, 10)));
	op_refuses(TP_EARG,
	    "DequantizeLinear: scales of shape [2, 2] for shape [2, 3], axis "
	    "1, blocks of -1",
	    "DequantizeLinear", 21, ATTRS(ATTR_INT("block_size", -1)),
	    INPUTS(X_23, F32(DIMS(2, 2), 1, 1, 1, 1)));
	op_refuses(TP_EARG, "QuantizeLinear: axis 2 of a tensor of rank 2",
	    "QuantizeLinear", 13, ATTRS(ATTR_INT("axis", 2)),
	    INPUTS(X_23, F32(DIMS(3), 1, 1, 1)));
	op_refuses(TP_EARG,
	    "QuantizeLinear: zero points of shape [2], scales of [3]",
	    "QuantizeLinear", 13, NO_ATTRS,
	    INPUTS(X_23, F32(DIMS(3), 1, 1, 1), U8(DIMS(2), 1, 1)));
}

static void
any_narrow_dtype_is_written(void **state)
{
	static const struct {
		int64_t code;
		double low, high;
	} rows[] = {{2, 0, 255}, {3, -128, 127}, {4, 0, 65535},
	    {5, -32768, 32767}, {21, 0, 15}, {22, -8, 7}, {25, 0, 3},
	    {26, -2, 1}, {23, -6, 6}, {17, -448, 448}, {19, -57344, 57344}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_tensor *y = op_result("QuantizeLinear", 25,
		    ATTRS(ATTR_INT("output_dtype", rows[i].code)),
		    INPUTS(F32(DIMS(3), -1e9, 2, 1e9), F32(SCALAR, 2)));

		/* And back: zero points do not change the ends. */
		y = op_result("DequantizeLinear", 25, NO_ATTRS,
		    INPUTS(y, F32(SCALAR, 1)));
		check_tensor(y, TP_DTYPE_F32, DIMS(3),
		    NUMBERS(rows[i].low, 1, rows[i].high), 0);
	}
	/* Zero points of four bits. */
	check_tensor(
	    cast_to(3, op_result("QuantizeLinear", 21, NO_ATTRS,
			   INPUTS(F32(DIMS(3), 0, 5, -100), F32(DIMS(1), 1),
			       cast_to(22, I8(DIMS(1), -3))))),
	    TP_DTYPE_I8, DIMS(3), NUMBERS(-3, 2, -8), 0);
	check_tensor(
	    op_result("QuantizeLinear", 19, ATTRS(ATTR_INT("saturate", 0)),
		INPUTS(F32(DIMS(2), 1e6, 1), F32(SCALAR, 1),
		    TENSOR(TP_DTYPE_F8E4M3FN, SCALAR, 0))),
	    TP_DTYPE_F8E4M3FN, DIMS(2), NUMBERS(NAN_, 1), 0);
	op_refuses(TP_EARG,
	    "QuantizeLinear: output_dtype is i8, zero points have u8",
	    "QuantizeLinear", 21, ATTRS(ATTR_INT("output_dtype", 3)),
	    INPUTS(F32(DIMS(1), 1), F32(SCALAR, 1), U8(SCALAR, 0)));
	op_refuses(TP_EARG,
	    "QuantizeLinear: attribute 'output_dtype' is 77, which is no dtype",
	    "QuantizeLinear", 21, ATTRS(ATTR_INT("output_dtype", 77)),
	    INPUTS(F32(DIMS(1), 1), F32(SCALAR, 1)));
	op_refuses(TP_EUNSUPPORTED, "QuantizeLinear: f32 to f32",
	    "QuantizeLinear", 21, ATTRS(ATTR_INT("output_dtype", 1)),
	    INPUTS(F32(DIMS(1), 1), F32(SCALAR, 1)));
}

static void
numbers_come_back(void **state)
{
	(void)state;
	check_tensor(op_result("DequantizeLinear", 10, NO_ATTRS,
			 INPUTS(U8(DIMS(3), 0, 128, 255), F32(SCALAR, 2),
			     U8(SCALAR, 128))),
	    TP_DTYPE_F32, DIMS(3), NUMBERS(-256, 0, 254), 0);
	check_tensor(op_result("DequantizeLinear", 13, NO_ATTRS,
			 INPUTS(I32(DIMS(1), -16777217), F32(SCALAR, 0.5))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(-8388608), 0);
	check_tensor(
	    op_result("DequantizeLinear", 19, NO_ATTRS,
		INPUTS(I8(DIMS(1), 3), TENSOR(TP_DTYPE_F16, SCALAR, 0.1))),
	    TP_DTYPE_F16, DIMS(1), NUMBERS(0.2998046875), 0);
	check_tensor(op_result("DequantizeLinear", 23,
			 ATTRS(ATTR_INT("output_dtype", 16)),
			 INPUTS(I8(DIMS(1), 3), F32(SCALAR, 0.1f))),
	    TP_DTYPE_BF16, DIMS(1), NUMBERS(0.30078125), 0);
	/* A scale that is an exponent and nothing else. */
	check_tensor(
	    op_result("DequantizeLinear", 24,
		ATTRS(ATTR_INT("output_dtype", 1)),
		INPUTS(I8(DIMS(1), 3), TENSOR(TP_DTYPE_F8E8M0, SCALAR, 0.25))),
	    TP_DTYPE_F32, DIMS(1), NUMBERS(0.75), 0);
	op_refuses(TP_EARG,
	    "DequantizeLinear: zero points have dtype i8, input 0 has u8",
	    "DequantizeLinear", 13, NO_ATTRS,
	    INPUTS(U8(DIMS(1), 1), F32(SCALAR, 1), I8(SCALAR, 1)));
	op_refuses(TP_EARG, "DequantizeLinear: scales of dtype i32",
	    "DequantizeLinear", 13, NO_ATTRS,
	    INPUTS(U8(DIMS(1), 1), I32(SCALAR, 1)));
}

static void
ranges_are_found(void **state)
{
	struct tp_tensor *x;
	struct tp_value y[3];

	(void)state;
	op_results("DynamicQuantizeLinear", 11, NO_ATTRS,
	    INPUTS(F32(DIMS(6), 0, 2, -3, -2.5f, 1.34f, 0.5)), y, 3);
	check_tensor(y[0].tensor, TP_DTYPE_U8, DIMS(6),
	    NUMBERS(153, 255, 0, 26, 221, 179), 0);
	check_tensor(y[1].tensor, TP_DTYPE_F32, SCALAR,
	    NUMBERS((double)(5.0f / 255)), 0);
	check_tensor(y[2].tensor, TP_DTYPE_U8, SCALAR, NUMBERS(153), 0);
	/* Nothing but zeros, no elements, no number. */
	for (unsigned k = 0; k < 3; k++) {
		x = k == 0   ? F32(DIMS(1), 0)
		    : k == 1 ? EMPTY(TP_DTYPE_F32, DIMS(0))
			     : F32(DIMS(1), NAN_);
		op_results(
		    "DynamicQuantizeLinear", 11, NO_ATTRS, INPUTS(x), y, 3);
		check_tensor(y[1].tensor, TP_DTYPE_F32, SCALAR, NUMBERS(0), 0);
		check_tensor(y[2].tensor, TP_DTYPE_U8, SCALAR, NUMBERS(0), 0);
		tp_value_release(&y[0]);
	}
}

static void
products_of_integers_are_exact(void **state)
{
	(void)state;
	/* By row of a and by column of b. */
	check_tensor(
	    op_result("MatMulInteger", 10, NO_ATTRS,
		INPUTS(U8(DIMS(2, 2), 1, 2, 3, 4), I8(DIMS(2, 2), 5, 6, -7, 8),
		    U8(DIMS(2), 1, 2), I8(DIMS(2), 1, -1))),
	    TP_DTYPE_I32, DIMS(2, 2), NUMBERS(-8, 9, -12, 25), 0);
	check_tensor(op_result("MatMulInteger", 10, NO_ATTRS,
			 INPUTS(U8(DIMS(2), 255, 255), U8(DIMS(2), 255, 255))),
	    TP_DTYPE_I32, SCALAR, NUMBERS(130050), 0);
	/* Padding is what the zero point stands for. */
	check_tensor(
	    op_result("ConvInteger", 10,
		ATTRS(ATTR_INTS("pads", 1, 0), ATTR_INTS("strides", 2)),
		INPUTS(U8(DIMS(1, 1, 3), 3, 4, 5),
		    U8(DIMS(2, 1, 2), 1, 2, 3, 4), U8(SCALAR, 1),
		    U8(DIMS(2), 1, 2))),
	    TP_DTYPE_I32, DIMS(1, 2, 2), NUMBERS(2, 4, 4, 11), 0);
	op_refuses(TP_EARG,
	    "MatMulInteger: input 2 of shape [3] does not fit shape [2, 2]",
	    "MatMulInteger", 10, NO_ATTRS,
	    INPUTS(U8(DIMS(2, 2), 1, 2, 3, 4), U8(DIMS(2, 1), 1, 2),
		U8(DIMS(3), 1, 2, 3)));
	op_refuses(TP_EARG,
	    "MatMulInteger: input 2 has dtype i8, input 0 has u8",
	    "MatMulInteger", 10, NO_ATTRS,
	    INPUTS(U8(DIMS(1, 1), 1), U8(DIMS(1, 1), 1), I8(SCALAR, 1)));
	op_refuses(TP_EUNSUPPORTED,
	    "MatMulInteger: input 0 has dtype i32, expected one of up to 8 "
	    "bits",
	    "MatMulInteger", 10, NO_ATTRS,
	    INPUTS(I32(DIMS(1, 1), 1), U8(DIMS(1, 1), 1)));
	op_refuses(TP_EARG, "MatMul: shapes [1, 1] and [2, 1] do not fit",
	    "MatMulInteger", 10, NO_ATTRS,
	    INPUTS(U8(DIMS(1, 1), 1), U8(DIMS(2, 1), 1, 2)));
}

static void
products_are_narrowed_again(void **state)
{
	(void)state;
	/*
	 * (1 2) * (3 5; 4 6) = (11 17): by 0.5 and 0.25, 1 and 2 as factors of
	 * the columns, and by 2 of the result.
	 */
	check_tensor(
	    op_result("QLinearMatMul", 10, NO_ATTRS,
		INPUTS(U8(DIMS(1, 2), 3, 4), F32(SCALAR, 0.5), U8(SCALAR, 2),
		    U8(DIMS(2, 2), 3, 5, 4, 6), F32(DIMS(2), 1, 2),
		    U8(DIMS(1), 0), F32(SCALAR, 0.5), U8(SCALAR, 10))),
	    TP_DTYPE_U8, DIMS(1, 2), NUMBERS(21, 44), 0);
	/* Half to even, then saturated. */
	check_tensor(
	    op_result("QLinearMatMul", 21, NO_ATTRS,
		INPUTS(I8(DIMS(3, 1), 1, 3, -100), F32(DIMS(1), 0.5),
		    I8(DIMS(1), 0), I8(DIMS(1, 1), 1), F32(DIMS(1), 1),
		    I8(DIMS(1), 0), F32(DIMS(1), 1), I8(DIMS(1), -100))),
	    TP_DTYPE_I8, DIMS(3, 1), NUMBERS(-100, -98, -128), 0);
	/* By channel, with a bias. */
	check_tensor(
	    op_result("QLinearConv", 10, ATTRS(ATTR_INT("group", 2)),
		INPUTS(U8(DIMS(1, 2, 2), 11, 12, 13, 14), F32(SCALAR, 0.5),
		    U8(SCALAR, 10), I8(DIMS(2, 1, 1), 2, 3), F32(DIMS(2), 1, 2),
		    I8(DIMS(2), 0, 1), F32(SCALAR, 1), U8(SCALAR, 100),
		    I32(DIMS(2), 4, -6))),
	    TP_DTYPE_U8, DIMS(1, 2, 2), NUMBERS(103, 104, 100, 102), 0);
	op_refuses(TP_EARG, "QLinearConv: input 8 has dtype f32, expected i32",
	    "QLinearConv", 10, NO_ATTRS,
	    INPUTS(U8(DIMS(1, 1, 1), 1), F32(SCALAR, 1), U8(SCALAR, 0),
		U8(DIMS(1, 1, 1), 1), F32(SCALAR, 1), U8(SCALAR, 0),
		F32(SCALAR, 1), U8(SCALAR, 0), F32(DIMS(1), 1)));
	op_refuses(TP_EARG,
	    "QLinearMatMul: input 1 has dtype u8, expected a float",
	    "QLinearMatMul", 10, NO_ATTRS,
	    INPUTS(U8(DIMS(1, 1), 1), U8(SCALAR, 1), U8(SCALAR, 0),
		U8(DIMS(1, 1), 1), F32(SCALAR, 1), U8(SCALAR, 0),
		F32(SCALAR, 1), U8(SCALAR, 0)));
}

/* More than a chunk, by several threads, blocks that straddle chunks. */
static void
chunks_do_not_show(void **state)
{
	const int64_t sizes[] = {3, 703, 111}, scales[] = {3, 101, 111};
	struct tp_tensor *in[2] = {
	    placed_tensor(TP_DTYPE_F32, sizes, 3, CROSSED),
	    placed_tensor(TP_DTYPE_F32, scales, 3, BACKWARDS)};
	struct tp_value y;
	uint64_t seed = 5;

	(void)state;
	for (uint64_t i = 0; i < tp_tensor_numel(in[0]); i++)
		set_number(in[0], i, (double)(next_random(&seed) % 2000) - 999);
	for (uint64_t i = 0; i < tp_tensor_numel(in[1]); i++)
		set_number(in[1], i, (double)(1 + next_random(&seed) % 16));
	RUN(op_try("QuantizeLinear", 25,
	    ATTRS(ATTR_INT("block_size", 7), ATTR_INT("output_dtype", 3)), in,
	    2, &y, 1, NULL, err));
	for (uint64_t i = 0; i < tp_tensor_numel(in[0]); i++) {
		uint64_t block = i / 111 % 703 / 7;
		uint64_t at = (i / (703 * 111) * 101 + block) * 111 + i % 111;
		float q =
		    (float)number_at(in[0], i) / (float)number_at(in[1], at);
		double want = fmax(-128, fmin(127, rint((double)q)));

		if (number_at(y.tensor, i) != want)
			fail();
	}
	tp_value_release(&y);
	tp_tensor_free(in[0]);
	tp_tensor_free(in[1]);
}

static void
no_memory_is_a_clean_error(void **state)
{
	struct tp_tensor *in[8] = {U8(DIMS(1, 1, 1), 1), F32(SCALAR, 1),
	    U8(SCALAR, 0), U8(DIMS(1, 1, 1), 1), F32(SCALAR, 1), U8(SCALAR, 0),
	    F32(SCALAR, 1), U8(SCALAR, 0)};
	static const struct {
		const char *onnx;
		size_t n_in;
	} ops[] = {{"DequantizeLinear", 3}, {"QuantizeLinear", 3},
	    {"QLinearMatMul", 8}, {"QLinearConv", 8}};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(ops); k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;
		struct tp_value out;

		while (fail_alloc_next(&a, rc)) {
			rc = op_try(ops[k].onnx, 25, NO_ATTRS, in, ops[k].n_in,
			    &out, 1, &a.alloc, NULL);
			tp_value_release(&out);
		}
		assert_true(a.n_rounds > 2);
	}
	for (size_t k = 0; k < 8; k++)
		tp_tensor_free(in[k]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quotients_are_rounded_half_to_even),
	    cmocka_unit_test(the_quotient_has_a_precision),
	    cmocka_unit_test(scales_are_by_slice_or_by_block),
	    cmocka_unit_test(any_narrow_dtype_is_written),
	    cmocka_unit_test(numbers_come_back),
	    cmocka_unit_test(ranges_are_found),
	    cmocka_unit_test(products_of_integers_are_exact),
	    cmocka_unit_test(products_are_narrowed_again),
	    cmocka_unit_test(chunks_do_not_show),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
