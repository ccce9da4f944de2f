/* SPDX-License-Identifier: Apache-2.0 */
/* ops/cast*.c: Cast, CastLike and BitCast between all dtypes, and strings */
#include "support/op_calls.h"

#include <float.h>

#include "support/fail_alloc.h"

#include "tp/onnx_dtype.h"

#define NAN_ ((double)NAN)
#define INF_ ((double)INFINITY)

/* The result of a cast, as f64, and that it has the dtype. */
static void
check_cast(struct tp_tensor *x, enum tp_dtype to, int saturate,
    const char *round_mode, const double *want, size_t n)
{
	const struct tp_attr attrs[] = {
	    ATTR_INT("to", tp_onnx_code(to)),
	    ATTR_INT("saturate", saturate),
	    {.name = TP_STR("round_mode"),
		.kind = TP_ATTR_STRING,
		.s = tp_str(round_mode)},
	};
	struct tp_tensor *y = op_result("Cast", 25, attrs, 3, INPUTS(x));

	assert_int_equal(tp_tensor_dtype(y), to);
	assert_int_equal(tp_tensor_numel(y), n);
	for (size_t i = 0; i < n; i++) {
		double got = number_at(y, i);

		if (isnan(want[i])
			? isnan(got)
			: got == want[i] && signbit(got) == signbit(want[i]))
			continue;
		print_error("%s, element %zu: %.17g, expected %.17g\n",
		    tp_dtype_name(to), i, got, want[i]);
		fail();
	}
	tp_tensor_free(y);
}

static void
integers_are_cut_and_wrap(void **state)
{
	(void)state;
#define FLOATS F32(DIMS(6), 1.9f, -1.9f, -9, 300, 3e9f, NAN_)
	check_cast(FLOATS, TP_DTYPE_I32, 1, "up",
	    NUMBERS(1, -1, -9, 300, 3000000000 - 0x1p32, 0));
	check_cast(
	    FLOATS, TP_DTYPE_U8, 1, "up", NUMBERS(1, 255, 247, 44, 0, 0));
	check_cast(FLOATS, TP_DTYPE_I4, 1, "up", NUMBERS(1, -1, 7, -4, 0, 0));
	check_cast(FLOATS, TP_DTYPE_U2, 1, "up", NUMBERS(1, 3, 3, 0, 0, 0));
	check_cast(I64(DIMS(3), 0x1p40 + 5, -1, 200), TP_DTYPE_I8, 1, "up",
	    NUMBERS(5, -1, -56));
	check_cast(I64(DIMS(2), -1, 0x1p62), TP_DTYPE_U64, 1, "up",
	    NUMBERS(0x1p64, 0x1p62));
	/* Past 2^53, where doubles would round. */
	{
		const struct tp_attr to_u64[] = {ATTR_INT("to", 13)};
		struct tp_tensor *x = I64(DIMS(1), 0), *y;

		*(int64_t *)tp_tensor_data_mut(x) = INT64_MAX;
		y = op_result("Cast", 13, to_u64, 1, INPUTS(x));
		assert_true(*(const uint64_t *)tp_tensor_data(y) == INT64_MAX);
		tp_tensor_free(y);
	}
	check_cast(F64(DIMS(3), -1e300, 1e300, 0x1p62), TP_DTYPE_I64, 1, "up",
	    NUMBERS(-0x1p63, -1, 0x1p62));
}

static void
what_is_not_zero_is_true(void **state)
{
	(void)state;
	check_cast(F32(DIMS(5), 0, -0.0, 1e-45f, NAN_, -2), TP_DTYPE_BOOL, 1,
	    "up", NUMBERS(0, 0, 1, 1, 1));
	check_cast(I64(DIMS(2), 256, 0), TP_DTYPE_BOOL, 1, "up", NUMBERS(1, 0));
	check_cast(BOOL(DIMS(2), 1, 0), TP_DTYPE_F16, 1, "up", NUMBERS(1, 0));
	check_cast(BOOL(DIMS(2), 1, 0), TP_DTYPE_I2, 1, "up", NUMBERS(1, 0));
}

static void
floats_are_rounded_once(void **state)
{
	(void)state;
	check_cast(F32(DIMS(4), 65504, 65519, 65520, 1e6), TP_DTYPE_F16, 1,
	    "up", NUMBERS(65504, 65504, INF_, INF_));
	/* Past the tie of bf16 by what f32 cannot hold. */
	check_cast(F64(DIMS(2), 1 + 0x1p-8, 1 + 0x1p-8 + 0x1p-40),
	    TP_DTYPE_BF16, 1, "up", NUMBERS(1, 1 + 0x1p-7));
	check_cast(F64(DIMS(2), 1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40),
	    TP_DTYPE_F16, 1, "up", NUMBERS(1, 1 + 0x1p-10));
	check_cast(TENSOR(TP_DTYPE_U64, DIMS(1), 0x1p63), TP_DTYPE_F32, 1, "up",
	    NUMBERS(0x1p63));
	check_cast(
	    I32(DIMS(1), 16777217), TP_DTYPE_F32, 1, "up", NUMBERS(16777216));
	check_cast(F32(DIMS(1), 2), TP_DTYPE_C64, 1, "up", NUMBERS(2));
}

/* Opset 18 drops the bits that bf16 does not have, opset 19 rounds. */
static void
bf16_was_cut_once(void **state)
{
	static const double cut[] = {1, -1, 1.9921875, NAN_, INF_};
	static const double rounded[] = {1.0078125, -1.0078125, 2, NAN_, INF_};
	const struct tp_attr to = ATTR_INT("to", tp_onnx_code(TP_DTYPE_BF16));

	(void)state;
	for (int opset = 18; opset < 20; opset++) {
		struct tp_tensor *y = op_result("Cast", opset, &to, 1,
		    INPUTS(
			F32(DIMS(5), 1.0065f, -1.0065f, 1.999f, NAN_, INF_)));
		const double *want = opset < 19 ? cut : rounded;

		for (size_t i = 0; i < 5; i++)
			assert_true(isnan(want[i])
					? isnan(number_at(y, i))
					: number_at(y, i) == want[i]);
		tp_tensor_free(y);
	}
}

/* The tables of the operator's documentation. */
static void
narrow_floats_saturate_or_not(void **state)
{
	static const struct {
		enum tp_dtype to;
		double largest, beyond; /* not saturating */
	} rows[] = {
	    {TP_DTYPE_F8E4M3FN, 448, NAN_},
	    {TP_DTYPE_F8E4M3FNUZ, 240, NAN_},
	    {TP_DTYPE_F8E5M2, 57344, INF_},
	    {TP_DTYPE_F8E5M2FNUZ, 57344, NAN_},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		double m = rows[i].largest, b = rows[i].beyond;

#define ENDS F32(DIMS(6), 1e6, -1e6, INF_, -INF_, NAN_, 1.5)
		check_cast(ENDS, rows[i].to, 1, "up",
		    NUMBERS(m, -m, m, -m, NAN_, 1.5));
		check_cast(ENDS, rows[i].to, 0, "up",
		    NUMBERS(b, -b, b, -b, NAN_, 1.5));
	}
	check_cast(
	    F32(DIMS(1), -0.0), TP_DTYPE_F8E4M3FN, 1, "up", NUMBERS(-0.0));
	check_cast(
	    F32(DIMS(1), -0.0), TP_DTYPE_F8E4M3FNUZ, 1, "up", NUMBERS(0));
	/* Four bits: always the largest, and no NaN. */
	for (int saturate = 0; saturate < 2; saturate++)
		check_cast(F32(DIMS(7), 0.25, 0.75, 2.5, -3.5, 9, -INF_, NAN_),
		    TP_DTYPE_F4E2M1, saturate, "up",
		    NUMBERS(0, 1, 2, -4, 6, -6, -0.0));
	check_cast(I64(DIMS(2), 1000, -3), TP_DTYPE_F8E4M3FN, 1, "up",
	    NUMBERS(448, -3));
}

static void
scales_are_powers_of_two(void **state)
{
	(void)state;
#define SCALES F64(DIMS(5), 1.1, 1.5, 1.75, 4, 0.124)
	check_cast(
	    SCALES, TP_DTYPE_F8E8M0, 1, "up", NUMBERS(2, 2, 2, 4, 0.125));
	check_cast(
	    SCALES, TP_DTYPE_F8E8M0, 1, "down", NUMBERS(1, 1, 1, 4, 0.0625));
	check_cast(
	    SCALES, TP_DTYPE_F8E8M0, 1, "nearest", NUMBERS(1, 2, 2, 4, 0.125));
#define SCALE_ENDS F64(DIMS(5), 0, INF_, 1e300, 1e-300, NAN_)
	check_cast(SCALE_ENDS, TP_DTYPE_F8E8M0, 1, "up",
	    NUMBERS(0x1p-127, 0x1p127, 0x1p127, 0x1p-127, NAN_));
	check_cast(SCALE_ENDS, TP_DTYPE_F8E8M0, 0, "nearest",
	    NUMBERS(NAN_, NAN_, NAN_, NAN_, NAN_));
	op_refuses(TP_EARG,
	    "Cast: round_mode 'even', expected up, down or nearest", "Cast", 25,
	    ATTRS(ATTR_INT("to", 24), ATTR_STRING("round_mode", "even")),
	    INPUTS(F32(DIMS(1), 1)));
}

/* Any pair of dtypes that ONNX has: what both hold survives. */
static void
every_pair_of_dtypes_has_a_way(void **state)
{
	(void)state;
	for (int a = 1; a <= 26; a++)
		for (int b = 1; b <= 26; b++) {
			enum tp_dtype to = tp_onnx_dtype(b);
			const struct tp_attr to_a[] = {ATTR_INT("to", a)};
			const struct tp_attr to_b[] = {ATTR_INT("to", b)};
			struct tp_tensor *x, *y;

			if (a == 8 || b == 8 || a == 14 || a == 15)
				continue;
			x = op_result(
			    "Cast", 25, to_a, 1, INPUTS(F32(DIMS(3), 1, 1, 1)));
			y = op_result("Cast", 25, to_b, 1, INPUTS(x));
			assert_int_equal(tp_tensor_dtype(y), to);
			for (uint64_t i = 0; i < 3; i++)
				assert_true(number_at(y, i) == 1);
			tp_tensor_free(y);
		}
	op_refuses(TP_EUNSUPPORTED, "Cast: c64 to f32", "Cast", 13,
	    ATTRS(ATTR_INT("to", 1)), INPUTS(TENSOR(TP_DTYPE_C64, DIMS(1), 1)));
	op_refuses(TP_EARG, "Cast: attribute 'to' is 99, which is no dtype",
	    "Cast", 13, ATTRS(ATTR_INT("to", 99)), INPUTS(F32(DIMS(1), 1)));
	op_refuses(TP_EARG, "Cast: attribute 'to' is missing", "Cast", 13,
	    NO_ATTRS, INPUTS(F32(DIMS(1), 1)));
	op_refuses(TP_EARG, "Cast: attribute 'to' is 'Real', which is no dtype",
	    "Cast", 1, ATTRS(ATTR_STRING("to", "Real")),
	    INPUTS(F32(DIMS(1), 1)));
	check_tensor(op_result("Cast", 1, ATTRS(ATTR_STRING("to", "INT8")),
			 INPUTS(F32(DIMS(1), 7.5))),
	    TP_DTYPE_I8, DIMS(1), NUMBERS(7), 0);
}

/* A call with a pool of strings; the numbers of an output in it. */
static enum tp_status
run_text(const char *onnx, const struct tp_attr *attrs, size_t n_attrs,
    const struct tp_value *in, size_t n_in, struct tp_strings *pool,
    struct tp_value *out, struct tp_err *err)
{
	const struct tp_op_opts opts = {.strings = pool};

	return tp_op_run(
	    op_named(onnx, 19), attrs, n_attrs, in, n_in, out, 1, &opts, err);
}

static struct tp_value
strings_of(struct tp_strings *pool, const char *const *texts, size_t n)
{
	const int64_t size = (int64_t)n;
	struct tp_value v = {.kind = TP_VALUE_STRINGS};

	RUN(tp_tensor_empty(NULL, TP_DTYPE_U64, &size, 1, &v.tensor, err));
	for (size_t i = 0; i < n; i++)
		RUN(tp_strings_add(pool, tp_str(texts[i]),
		    (uint64_t *)tp_tensor_data_mut(v.tensor) + i, err));
	return v;
}

static void
check_text(struct tp_strings *pool, struct tp_tensor *x,
    const char *const *want, size_t n)
{
	const struct tp_attr to[] = {ATTR_INT("to", 8)};
	struct tp_value in = tp_value_of(x), out;

	RUN(run_text("Cast", to, 1, &in, 1, pool, &out, err));
	assert_int_equal(out.kind, TP_VALUE_STRINGS);
	assert_int_equal(tp_tensor_numel(out.tensor), n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(
		    tp_strings_at(
			pool, ((const uint64_t *)tp_tensor_data(out.tensor))[i])
			.s,
		    want[i]);
	tp_value_release(&out);
	tp_value_release(&in);
}

static void
numbers_become_text(void **state)
{
	static const char *const floats[] = {
	    "0.039187793", "3.0", "-0.0", "1e-05", "1e+16", "nan", "-inf"};
	static const char *const whole[] = {"-9223372036854775808", "17"};
	static const char *const truths[] = {"True", "False"};
	static const char *const halves[] = {"0.1", "65500.0"};
	struct tp_strings *pool = NULL;

	(void)state;
	RUN(tp_strings_new(NULL, 0, &pool, err));
	check_text(pool,
	    F32(DIMS(7), 0.039187793f, 3, -0.0, 1e-5f, 1e16f, NAN_, -INF_),
	    floats, 7);
	check_text(pool, I64(DIMS(2), -0x1p63, 17), whole, 2);
	check_text(pool, BOOL(DIMS(2), 1, 0), truths, 2);
	check_text(pool, TENSOR(TP_DTYPE_F16, DIMS(2), 0.1, 65504), halves, 2);
	tp_strings_free(pool);
}

static void
check_parsed(struct tp_strings *pool, const char *const *texts, size_t n,
    enum tp_dtype to, const double *want)
{
	const int64_t size = (int64_t)n;
	const struct tp_attr attrs[] = {ATTR_INT("to", tp_onnx_code(to))};
	struct tp_value in = strings_of(pool, texts, n), out;

	RUN(run_text("Cast", attrs, 1, &in, 1, pool, &out, err));
	assert_int_equal(out.kind, TP_VALUE_TENSOR);
	check_tensor(out.tensor, to, &size, 1, want, n, 0);
	tp_value_release(&in);
}

static void
text_becomes_numbers(void **state)
{
	static const char *const floats[] = {"3.14", " 1000 ", "1e-5", "1E8",
	    "NaN", "INF", "+inf", "-Infinity", ".5", "-7.", "0e999999999999",
	    "1e-999999999999", "00000.00012e4"};
	static const double f32[] = {(double)3.14f, 1000, (double)1e-5f, 1e8,
	    NAN_, INF_, INF_, -INF_, 0.5, -7, 0, 0, (double)1.2f};
	static const double f64[] = {
	    3.14, 1000, 1e-5, 1e8, NAN_, INF_, INF_, -INF_, 0.5, -7, 0, 0, 1.2};
	static const char *const whole[] = {
	    "-9223372036854775808", "100.5", "18446744073709551615", "-3"};
	static const char *const truths[] = {"True", "false", "0.0", "2"};
	static const char *const bad[] = {"1", "Hello"};
	static const char *const worse[] = {
	    "", "-", "1e", "1x", ".", "+-1", "0x10", "1 2", "e5"};
	const struct tp_attr to_f32[] = {ATTR_INT("to", 1)};
	struct tp_strings *pool = NULL;
	struct tp_err why = TP_ERR_INIT;
	struct tp_value in, out;

	(void)state;
	RUN(tp_strings_new(NULL, 0, &pool, err));
	check_parsed(pool, floats, 13, TP_DTYPE_F32, f32);
	check_parsed(pool, floats, 13, TP_DTYPE_F64, f64);
	check_parsed(pool, whole, 4, TP_DTYPE_I64,
	    (const double[]){-0x1p63, 100, -1, -3});
	check_parsed(
	    pool, whole + 1, 3, TP_DTYPE_U4, (const double[]){4, 15, 13});
	check_parsed(
	    pool, truths, 4, TP_DTYPE_BOOL, (const double[]){1, 0, 0, 1});
	in = strings_of(pool, bad, 2);
	assert_int_equal(
	    run_text("Cast", to_f32, 1, &in, 1, pool, &out, &why), TP_EARG);
	assert_string_equal(why.msg, "Cast: element 1 is 'Hello', no number");
	assert_int_equal(
	    run_text("Cast", to_f32, 1, &in, 1, NULL, &out, &why), TP_EARG);
	assert_string_equal(why.msg, "Cast: of strings, and the call has none");
	tp_value_release(&in);
	for (size_t i = 0; i < COUNT_OF(worse); i++) {
		in = strings_of(pool, worse + i, 1);
		assert_int_equal(
		    run_text("Cast", to_f32, 1, &in, 1, pool, &out, NULL),
		    TP_EARG);
		tp_value_release(&in);
	}
	tp_strings_free(pool);
}

/* Far more digits than a double has, on the edge between two of them. */
static void
long_texts_are_rounded_once(void **state)
{
	static const char edge[] =
	    "1.00000000000000011102230246251565404236316680908203125";
	char texts[2][2000];
	const char *pointers[2] = {texts[0], texts[1]};
	struct tp_strings *pool = NULL;

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		memset(texts[k], '0', sizeof(texts[k]) - 1);
		memcpy(texts[k], edge, sizeof(edge) - 1);
		texts[k][1999] = 0;
	}
	texts[1][1998] = '1';
	RUN(tp_strings_new(NULL, 0, &pool, err));
	check_parsed(pool, pointers, 2, TP_DTYPE_F64,
	    (const double[]){1, 1 + DBL_EPSILON});
	tp_strings_free(pool);
}

static void
the_second_input_tells_the_dtype(void **state)
{
	static const char *const texts[] = {"2.5"};
	struct tp_strings *pool = NULL;
	struct tp_value in[2], out;

	(void)state;
	check_tensor(
	    op_result("CastLike", 15, NO_ATTRS,
		INPUTS(F32(DIMS(2), 1.5, -2), EMPTY(TP_DTYPE_I8, DIMS(0)))),
	    TP_DTYPE_I8, DIMS(2), NUMBERS(1, -2), 0);
	check_tensor(
	    op_result("CastLike", 19, ATTRS(ATTR_INT("saturate", 0)),
		INPUTS(F32(DIMS(1), 1e6), TENSOR(TP_DTYPE_F8E5M2, DIMS(1), 1))),
	    TP_DTYPE_F8E5M2, DIMS(1), NUMBERS(INF_), 0);
	RUN(tp_strings_new(NULL, 0, &pool, err));
	in[0] = tp_value_of(F32(DIMS(1), 2.5));
	in[1] = strings_of(pool, texts, 1);
	RUN(run_text("CastLike", NULL, 0, in, 2, pool, &out, err));
	assert_int_equal(out.kind, TP_VALUE_STRINGS);
	assert_true(number_at(out.tensor, 0) == number_at(in[1].tensor, 0));
	tp_value_release(&out);
	tp_value_release(&in[0]);
	in[0] = in[1];
	in[1] = tp_value_of(F64(DIMS(1), 0));
	RUN(run_text("CastLike", NULL, 0, in, 2, pool, &out, err));
	check_tensor(out.tensor, TP_DTYPE_F64, DIMS(1), NUMBERS(2.5), 0);
	tp_value_release(&in[0]);
	tp_value_release(&in[1]);
	tp_strings_free(pool);
}

static void
bits_are_seen_as_another_dtype(void **state)
{
	(void)state;
	check_tensor(op_result("BitCast", 26, ATTRS(ATTR_INT("to", 6)),
			 INPUTS(F32(DIMS(2), 1, -0.0))),
	    TP_DTYPE_I32, DIMS(2), NUMBERS(0x3f800000, -0x1p31), 0);
	check_tensor(op_result("BitCast", 26, ATTRS(ATTR_INT("to", 2)),
			 INPUTS(BOOL(DIMS(2), 1, 0))),
	    TP_DTYPE_U8, DIMS(2), NUMBERS(1, 0), 0);
	op_refuses(TP_EARG, "BitCast: f32 has 32 bits, i64 has 64", "BitCast",
	    26, ATTRS(ATTR_INT("to", 7)), INPUTS(F32(DIMS(1), 1)));
	op_refuses(TP_EARG, "BitCast: f32 has 32 bits, string has 0", "BitCast",
	    26, ATTRS(ATTR_INT("to", 8)), INPUTS(F32(DIMS(1), 1)));
}

/* More than a chunk, from a view, on several threads. */
static void
chunks_do_not_show(void **state)
{
	const int64_t sizes[] = {3, 70000};
	struct tp_tensor *t = placed_tensor(TP_DTYPE_F32, sizes, 2, BACKWARDS);
	struct tp_tensor *y;

	(void)state;
	for (uint64_t i = 0; i < 210000; i++)
		set_number(t, i, (double)(i % 16) - 8);
	y = op_result("Cast", 21, ATTRS(ATTR_INT("to", 22)), INPUTS(t));
	for (uint64_t i = 0; i < 210000; i++)
		if (number_at(y, i) != (double)(i % 16) - 8)
			fail();
	tp_tensor_free(y);
}

static void
no_memory_is_a_clean_error(void **state)
{
	const struct tp_attr to[] = {ATTR_INT("to", 22)};
	struct tp_tensor *in[] = {F32(DIMS(1), 4), I64(DIMS(1), 1)};

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;
		struct tp_value out;

		while (fail_alloc_next(&a, rc)) {
			rc = op_try(k ? "CastLike" : "Cast", 21, to, !k, in,
			    k + 1, &out, 1, &a.alloc, NULL);
			tp_value_release(&out);
		}
		assert_true(a.n_rounds > 1);
	}
	tp_tensor_free(in[0]);
	tp_tensor_free(in[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(integers_are_cut_and_wrap),
	    cmocka_unit_test(what_is_not_zero_is_true),
	    cmocka_unit_test(floats_are_rounded_once),
	    cmocka_unit_test(bf16_was_cut_once),
	    cmocka_unit_test(narrow_floats_saturate_or_not),
	    cmocka_unit_test(scales_are_powers_of_two),
	    cmocka_unit_test(every_pair_of_dtypes_has_a_way),
	    cmocka_unit_test(numbers_become_text),
	    cmocka_unit_test(text_becomes_numbers),
	    cmocka_unit_test(long_texts_are_rounded_once),
	    cmocka_unit_test(the_second_input_tells_the_dtype),
	    cmocka_unit_test(bits_are_seen_as_another_dtype),
	    cmocka_unit_test(chunks_do_not_show),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
