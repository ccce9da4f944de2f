/* SPDX-License-Identifier: Apache-2.0 */
/* ops/topk.c, unique.c, nms.c: what is chosen */
#include "support/op_calls.h"

#include "support/fail_alloc.h"
#include "support/tensors.h"

#define CHECK(value, ...) check_tensor((value).tensor, __VA_ARGS__)

static void
equals_come_in_their_order(void **state)
{
	struct tp_value out[2];

	(void)state;
	op_results("TopK", 11, NO_ATTRS,
	    INPUTS(
		F32(DIMS(2, 4), 1, 3, 3, 2, -0.0, 0, -1, 0), I64(DIMS(1), 3)),
	    out, 2);
	CHECK(out[0], TP_DTYPE_F32, DIMS(2, 3), NUMBERS(3, 3, 2, 0, 0, 0), 0);
	CHECK(out[1], TP_DTYPE_I64, DIMS(2, 3), NUMBERS(1, 2, 3, 0, 1, 3), 0);
	op_results("TopK", 11,
	    ATTRS(ATTR_INT("largest", 0), ATTR_INT("axis", 0),
		ATTR_INT("sorted", 0)),
	    INPUTS(I32(DIMS(3, 2), 5, 5, 2, -7, 2, 9), I64(DIMS(1), 2)), out,
	    2);
	CHECK(out[0], TP_DTYPE_I32, DIMS(2, 2), NUMBERS(2, -7, 2, 5), 0);
	CHECK(out[1], TP_DTYPE_I64, DIMS(2, 2), NUMBERS(1, 1, 2, 0), 0);
}

static void
every_opset_has_its_k(void **state)
{
	struct tp_value out[2];

	(void)state;
	op_results("TopK", 1, ATTRS(ATTR_INT("k", 1)),
	    INPUTS(F32(DIMS(3), 1, 9, 2)), out, 2);
	CHECK(out[0], TP_DTYPE_F32, DIMS(1), NUMBERS(9), 0);
	CHECK(out[1], TP_DTYPE_I64, DIMS(1), NUMBERS(1), 0);
	op_results("TopK", 10, NO_ATTRS,
	    INPUTS(TENSOR(TP_DTYPE_U64, DIMS(3), 0x1p63, 9, 0x1p62),
		I64(DIMS(1), 2)),
	    out, 2);
	CHECK(out[0], TP_DTYPE_U64, DIMS(2), NUMBERS(0x1p63, 0x1p62), 0);
	CHECK(out[1], TP_DTYPE_I64, DIMS(2), NUMBERS(0, 2), 0);
	op_results("TopK", 24, NO_ATTRS,
	    INPUTS(TENSOR(TP_DTYPE_BF16, DIMS(4), -1, NAN, 3, -INFINITY),
		I64(DIMS(1), 4)),
	    out, 2);
	CHECK(
	    out[0], TP_DTYPE_BF16, DIMS(4), NUMBERS(NAN, 3, -1, -INFINITY), 0);
	CHECK(out[1], TP_DTYPE_I64, DIMS(4), NUMBERS(1, 2, 0, 3), 0);
	op_results("TopK", 24, NO_ATTRS,
	    INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0, 3)), I64(DIMS(1), 2)), out, 2);
	CHECK(out[0], TP_DTYPE_F32, DIMS(0, 2), NO_NUMBERS, 0);
	CHECK(out[1], TP_DTYPE_I64, DIMS(0, 2), NO_NUMBERS, 0);
}

/* A long row against the plain definition: how many are better than this? */
static void
a_heap_chooses_what_counting_does(void **state)
{
	enum { N = 500, K = 77 };
	static const int64_t sizes[] = {N};
	struct tp_tensor *x = NULL;
	struct tp_value out[2];
	uint64_t seed = 11;
	double all[N];

	(void)state;
	RUN(tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, 1, &x, err));
	for (size_t i = 0; i < N; i++) {
		all[i] = (double)(next_random(&seed) % 90);
		set_number(x, i, all[i]);
	}
	op_results("TopK", 11, NO_ATTRS, INPUTS(x, I64(DIMS(1), K)), out, 2);
	for (size_t i = 0; i < N; i++) {
		size_t better = 0;

		for (size_t k = 0; k < N; k++)
			better +=
			    all[k] > all[i] || (all[k] == all[i] && k < i);
		if (better >= K)
			continue;
		assert_true(number_at(out[0].tensor, better) == all[i]);
		assert_true(number_at(out[1].tensor, better) == (double)i);
	}
	tp_value_release(&out[0]);
	tp_value_release(&out[1]);
}

/* Codes of four bits, whose order is not that of the codes. */
static void
narrow_numbers_have_an_order(void **state)
{
	static const struct {
		enum tp_dtype dtype;
		double of_codes[4]; /* 0x9, 0x2, 0xf, 0x0 */
	} rows[] = {{TP_DTYPE_I4, {-7, 2, -1, 0}}, {TP_DTYPE_U4, {9, 2, 15, 0}},
	    {TP_DTYPE_F4E2M1, {-0.5, 1, -6, 0}}};
	const struct tp_attr smallest = ATTR_INT("largest", 0);

	(void)state;
	for (size_t r = 0; r < COUNT_OF(rows); r++) {
		struct tp_tensor *x = NULL;
		struct tp_value out[2];
		uint8_t *codes;
		double before = -100;

		RUN(tp_tensor_empty(
		    NULL, rows[r].dtype, (const int64_t[]){4}, 1, &x, err));
		codes = tp_tensor_data_mut(x);
		codes[0] = 0x29;
		codes[1] = 0x0f;
		op_results("TopK", 24, &smallest, 1, INPUTS(x, I64(DIMS(1), 4)),
		    out, 2);
		assert_int_equal(tp_tensor_dtype(out[0].tensor), rows[r].dtype);
		for (uint64_t i = 0; i < 4; i++) {
			double value = number_at(out[0].tensor, i);
			size_t at = (size_t)number_at(out[1].tensor, i);

			assert_true(value == rows[r].of_codes[at]);
			assert_true(value > before);
			before = value;
		}
		tp_value_release(&out[0]);
		tp_value_release(&out[1]);
	}
}

static void
each_is_there_once(void **state)
{
	struct tp_value out[4];

	(void)state;
	op_results("Unique", 11, NO_ATTRS,
	    INPUTS(F32(DIMS(2, 4), 2, 1, NAN, 2, -0.0, NAN, 0, 1)), out, 4);
	CHECK(out[0], TP_DTYPE_F32, DIMS(4), NUMBERS(-0.0, 1, 2, NAN), 0);
	CHECK(out[1], TP_DTYPE_I64, DIMS(4), NUMBERS(4, 1, 0, 2), 0);
	CHECK(
	    out[2], TP_DTYPE_I64, DIMS(8), NUMBERS(2, 1, 3, 2, 0, 3, 0, 1), 0);
	CHECK(out[3], TP_DTYPE_I64, DIMS(4), NUMBERS(2, 2, 2, 2), 0);
	op_results("Unique", 11, ATTRS(ATTR_INT("sorted", 0)),
	    INPUTS(I32(DIMS(6), 5, -1, 5, 3, -1, 5)), out, 4);
	CHECK(out[0], TP_DTYPE_I32, DIMS(3), NUMBERS(5, -1, 3), 0);
	CHECK(out[1], TP_DTYPE_I64, DIMS(3), NUMBERS(0, 1, 3), 0);
	CHECK(out[2], TP_DTYPE_I64, DIMS(6), NUMBERS(0, 1, 0, 2, 1, 0), 0);
	CHECK(out[3], TP_DTYPE_I64, DIMS(3), NUMBERS(3, 2, 1), 0);
	op_results("Unique", 11, ATTRS(ATTR_INT("axis", -1)),
	    INPUTS(I32(DIMS(2, 3), 1, 0, 1, 2, 9, 2)), out, 1);
	CHECK(out[0], TP_DTYPE_I32, DIMS(2, 2), NUMBERS(0, 1, 9, 2), 0);
	op_results("Unique", 11, NO_ATTRS,
	    INPUTS(EMPTY(TP_DTYPE_F32, DIMS(2, 0))), out, 4);
	CHECK(out[0], TP_DTYPE_F32, DIMS(0), NO_NUMBERS, 0);
	for (size_t k = 1; k < 4; k++)
		CHECK(out[k], TP_DTYPE_I64, DIMS(0), NO_NUMBERS, 0);
}

/* The real part decides, then the imaginary one. */
static void
complex_numbers_are_told_apart(void **state)
{
	static const float x[] = {1, 2, 0, 9, 1, -2, 1, 2};
	static const int64_t n[] = {4};
	struct tp_value out[2];
	const float *got;

	(void)state;
	op_results("Unique", 11, NO_ATTRS,
	    INPUTS(make_tensor(TP_DTYPE_C64, n, 1, x, sizeof(x))), out, 2);
	got = tp_tensor_data(out[0].tensor);
	assert_int_equal(tp_tensor_numel(out[0].tensor), 3);
	assert_true(got[1] == 9 && got[3] == -2 && got[5] == 2);
	tp_value_release(&out[0]);
	CHECK(out[1], TP_DTYPE_I64, DIMS(3), NUMBERS(1, 2, 0), 0);
}

/* Strings are ordered by their bytes, not by their numbers. */
static void
strings_are_ordered_by_text(void **state)
{
	static const char *const texts[] = {"pear", "", "apple", "pear", "fig"};
	static const char *const want[] = {"", "apple", "fig", "pear"};
	struct tp_strings *pool = NULL;
	struct tp_op_opts opts = {.n_threads = 1};
	struct tp_value in = {TP_VALUE_STRINGS, NULL, NULL}, out;
	uint64_t *numbers;

	(void)state;
	RUN(tp_strings_new(NULL, 0, &pool, err));
	opts.strings = pool;
	RUN(tp_tensor_empty(
	    NULL, TP_DTYPE_U64, (const int64_t[]){5}, 1, &in.tensor, err));
	numbers = tp_tensor_data_mut(in.tensor);
	for (size_t i = 0; i < 5; i++)
		RUN(tp_strings_add(pool, tp_str(texts[i]), &numbers[i], err));
	RUN(tp_op_run(
	    op_named("Unique", 11), NULL, 0, &in, 1, &out, 1, &opts, err));
	assert_int_equal(out.kind, TP_VALUE_STRINGS);
	assert_int_equal(tp_tensor_numel(out.tensor), 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(
		    tp_strings_at(
			pool, ((const uint64_t *)tp_tensor_data(out.tensor))[i])
			.s,
		    want[i]);
	tp_value_release(&out);
	tp_value_release(&in);
	tp_strings_free(pool);
}

#define BOXES(...) F32(DIMS(1, 4, 4), __VA_ARGS__)

static void
boxes_make_room_for_better_ones(void **state)
{
	(void)state;
	/* 1 covers 0 by 1/3 and 2 is 0 upside down; 3 is elsewhere. */
	check_tensor(
	    op_result("NonMaxSuppression", 11, NO_ATTRS,
		INPUTS(BOXES(0, 0, 2, 2, 0, 1, 2, 3, 2, 2, 0, 0, 9, 9, 10, 10),
		    F32(DIMS(1, 1, 4), 0.5, 0.9, 0.5, 0.1), I64(DIMS(1), 9),
		    F32(DIMS(1), 0.3), F32(DIMS(1), 0.1))),
	    TP_DTYPE_I64, DIMS(1, 3), NUMBERS(0, 0, 1), 0);
	/* A third is not more than a third; the score need only be more. */
	check_tensor(
	    op_result("NonMaxSuppression", 10, NO_ATTRS,
		INPUTS(BOXES(0, 0, 2, 2, 0, 1, 2, 3, 2, 2, 0, 0, 9, 9, 10, 10),
		    F32(DIMS(1, 1, 4), 0.5, 0.9, 0.5, 0.1), I64(DIMS(1), 9),
		    F32(DIMS(1), 1.0 / 3), F32(DIMS(1), 0.05))),
	    TP_DTYPE_I64, DIMS(3, 3), NUMBERS(0, 0, 1, 0, 0, 0, 0, 0, 3), 0);
	/* By their centers; two of a class. */
	check_tensor(
	    op_result("NonMaxSuppression", 11,
		ATTRS(ATTR_INT("center_point_box", 1)),
		INPUTS(BOXES(1, 1, 2, 2, 5, 5, 2, 2, 1, 1, 2, 2, 9, 9, 2, 2),
		    F32(DIMS(1, 2, 4), 1, 2, 3, 0, 4, 0, 0, 5), I64(DIMS(1), 2),
		    F32(DIMS(1), 0.5))),
	    TP_DTYPE_I64, DIMS(4, 3),
	    NUMBERS(0, 0, 2, 0, 0, 1, 0, 1, 3, 0, 1, 0), 0);
	/* None, unless a number is asked for. */
	check_tensor(
	    op_result("NonMaxSuppression", 11, NO_ATTRS,
		INPUTS(BOXES(0, 0, 2, 2, 0, 1, 2, 3, 2, 2, 0, 0, 9, 9, 10, 10),
		    F32(DIMS(1, 1, 4), 1, 1, 1, 1))),
	    TP_DTYPE_I64, DIMS(0, 3), NO_NUMBERS, 0);
	op_refuses(TP_EARG,
	    "NonMaxSuppression: boxes of shape [1, 1, 3] and scores of shape "
	    "[1, 1, 1]",
	    "NonMaxSuppression", 11, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 1, 3), 1, 2, 3), F32(DIMS(1, 1, 1), 1)));
}

static void
too_many_are_refused(void **state)
{
	(void)state;
	op_refuses(TP_EARG, "TopK: k is 3 along an axis of size 2", "TopK", 11,
	    NO_ATTRS, INPUTS(F32(DIMS(2), 1, 2), I64(DIMS(1), 3)));
	op_refuses(TP_EARG, "TopK: axis 0 of a tensor of rank 0", "TopK", 11,
	    ATTRS(ATTR_INT("axis", 0)),
	    INPUTS(F32(SCALAR, 1), I64(DIMS(1), 1)));
	op_refuses(TP_EUNSUPPORTED,
	    "TopK of dtype c64; it is implemented for bool, u2, i2, u4, i4, "
	    "u8, i8, u16, i16, u32, i32, u64, i64, f4e2m1, f6e2m3, f6e3m2, "
	    "f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0, f16, bf16, f32, "
	    "f64, string",
	    "TopK", 11, NO_ATTRS,
	    INPUTS(TENSOR(TP_DTYPE_C64, DIMS(1), 1), I64(DIMS(1), 1)));
}

static enum tp_status
choose(const struct tp_alloc *alloc, int which)
{
	static const char *const names[] = {
	    "TopK", "Unique", "NonMaxSuppression"};
	static const size_t n_in[] = {2, 1, 3}, n_out[] = {2, 4, 1};
	struct tp_tensor *in[3] = {NULL, NULL, NULL};
	struct tp_value out[4];
	enum tp_status rc;

	if (which == 2) {
		in[0] = F32(DIMS(1, 2, 4), 0, 0, 1, 1, 5, 5, 6, 6);
		in[1] = F32(DIMS(1, 1, 2), 1, 2);
		in[2] = I64(DIMS(1), 2);
	} else {
		in[0] = I32(DIMS(4), 4, 2, 4, 1);
		in[1] = I64(DIMS(1), 2);
	}
	rc = op_try(names[which], 11, NULL, 0, in, n_in[which], out,
	    n_out[which], alloc, NULL);
	for (size_t k = 0; k < n_out[which]; k++) {
		if (rc)
			assert_int_equal(out[k].kind, TP_VALUE_NONE);
		tp_value_release(&out[k]);
	}
	for (size_t k = 0; k < 3; k++)
		tp_tensor_free(in[k]);
	return rc;
}

static void
no_memory_is_a_clean_error(void **state)
{
	(void)state;
	for (int which = 0; which < 3; which++) {
		struct fail_alloc a = {.fail_at = 0};
		enum tp_status rc = TP_OK;

		while (fail_alloc_next(&a, rc))
			rc = choose(&a.alloc, which);
		assert_true(a.n_rounds > 5);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equals_come_in_their_order),
	    cmocka_unit_test(every_opset_has_its_k),
	    cmocka_unit_test(a_heap_chooses_what_counting_does),
	    cmocka_unit_test(narrow_numbers_have_an_order),
	    cmocka_unit_test(each_is_there_once),
	    cmocka_unit_test(complex_numbers_are_told_apart),
	    cmocka_unit_test(strings_are_ordered_by_text),
	    cmocka_unit_test(boxes_make_room_for_better_ones),
	    cmocka_unit_test(too_many_are_refused),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
