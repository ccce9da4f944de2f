/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c: counts, strides, extents and texts, up to where they overflow */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/shape.h"

static void
counts_are_checked_from_the_left(void **state)
{
	static const struct {
		unsigned rank;
		int64_t sizes[4];
		enum tp_status rc;
		uint64_t n;
	} rows[] = {
	    {0, {0}, TP_OK, 1},
	    {1, {0}, TP_OK, 0},
	    {3, {2, 3, 4}, TP_OK, 24},
	    {2, {INT64_MAX, 1}, TP_OK, INT64_MAX},
	    {2, {INT64_C(1) << 32, INT64_C(1) << 31}, TP_ELIMIT, 0},
	    {2, {INT64_C(1) << 32, INT64_C(1) << 32}, TP_ELIMIT, 0},
	    {3, {INT64_C(1) << 62, 4, 0}, TP_ELIMIT, 0},
	    {3, {0, INT64_C(1) << 62, 4}, TP_OK, 0},
	    {2, {3, -1}, TP_EARG, 0},
	    {2, {0, INT64_MIN}, TP_EARG, 0},
	};
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t n = 77;

		assert_int_equal(
		    tp_shape_numel(rows[i].sizes, rows[i].rank, &n, &err),
		    rows[i].rc);
		assert_true(n == (rows[i].rc ? 77 : rows[i].n));
	}
	assert_int_equal(
	    tp_shape_numel(rows[8].sizes, 2, &(uint64_t){0}, &err), TP_EARG);
	assert_string_equal(err.msg, "axis 1 has the negative size -1");
}

static void
strides_are_row_major(void **state)
{
	static const struct {
		unsigned rank;
		int64_t sizes[4], strides[4];
	} rows[] = {
	    {4, {2, 3, 4, 5}, {60, 20, 5, 1}},
	    {3, {1, 1, 7}, {7, 7, 1}},
	    {3, {3, 0, 2}, {2, 2, 1}},
	    {3, {0, INT64_C(1) << 62, 8}, {INT64_MAX, 8, 1}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t strides[4] = {0};

		tp_shape_strides(rows[i].sizes, rows[i].rank, strides);
		assert_memory_equal(
		    strides, rows[i].strides, rows[i].rank * sizeof(*strides));
		assert_true(tp_shape_is_row_major(
		    rows[i].sizes, strides, rows[i].rank));
	}
	tp_shape_strides(NULL, 0, NULL);
	assert_true(tp_shape_is_row_major(NULL, NULL, 0));
}

static void
other_strides_are_not(void **state)
{
	static const struct {
		int64_t sizes[3], strides[3];
		bool row_major;
	} rows[] = {
	    {{2, 3, 4}, {12, 4, 1}, true}, {{2, 3, 4}, {12, 4, 2}, false},
	    {{2, 3, 4}, {12, 1, 3}, false}, {{2, 3, 4}, {13, 4, 1}, false},
	    {{2, 3, 4}, {-12, 4, 1}, false}, {{2, 3, 4}, {0, 4, 1}, false},
	    {{1, 3, 1}, {99, 1, -5}, true}, /* one element: any stride */
	    {{2, 0, 4}, {7, 8, 9}, true},   /* none at all */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
		    tp_shape_is_row_major(rows[i].sizes, rows[i].strides, 3),
		    rows[i].row_major);
}

static void
extents_reach_both_ways(void **state)
{
	static const struct {
		int64_t sizes[2], strides[2], low, high;
		enum tp_status rc;
	} rows[] = {
	    {{2, 3}, {3, 1}, 0, 5, TP_OK},
	    {{2, 3}, {-3, 1}, -3, 2, TP_OK},
	    {{2, 3}, {-3, -1}, -5, 0, TP_OK},
	    {{5, 3}, {0, 0}, 0, 0, TP_OK},
	    {{0, 3}, {INT64_MAX, INT64_MAX}, 0, 0, TP_OK},
	    {{3, 0}, {1, INT64_MIN}, 0, 0, TP_OK},
	    {{3, 0}, {INT64_MAX, 1}, 0, 0, TP_OK},
	    {{3, 2}, {INT64_MAX, 1}, 0, 0, TP_ELIMIT},
	    {{2, 2}, {INT64_MAX, 1}, 0, 0, TP_ELIMIT},
	    {{2, 1}, {INT64_MAX, 1}, 0, INT64_MAX, TP_OK},
	    {{2, 2}, {INT64_MIN, -1}, 0, 0, TP_ELIMIT},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t low = 77, high = 78;

		assert_int_equal(tp_shape_extent(rows[i].sizes, rows[i].strides,
				     2, &low, &high, NULL),
		    rows[i].rc);
		assert_true(low == (rows[i].rc ? 77 : rows[i].low));
		assert_true(high == (rows[i].rc ? 78 : rows[i].high));
	}
}

static void
texts_are_cut_at_an_axis(void **state)
{
	int64_t sizes[64];

	(void)state;
	assert_string_equal(TP_SHAPE_TEXT(NULL, 0), "[]");
	sizes[0] = 2;
	sizes[1] = INT64_MAX;
	assert_string_equal(
	    TP_SHAPE_TEXT(sizes, 2), "[2, 9223372036854775807]");
	for (unsigned width = 1; width < 19; width++)
		for (unsigned rank = 1; rank <= 64; rank++) {
			char buf[TP_SHAPE_TEXT_SIZE + 1];
			size_t n;

			sizes[rank - 1] = 1;
			for (unsigned k = 1; k < width; k++)
				sizes[rank - 1] *= 10;
			memset(buf, 'x', sizeof(buf));
			assert_ptr_equal(tp_shape_text(sizes, rank, buf), buf);
			assert_int_equal(buf[TP_SHAPE_TEXT_SIZE], 'x');
			n = strlen(buf);
			assert_true(n < TP_SHAPE_TEXT_SIZE);
			assert_int_equal(buf[n - 1], ']');
			if (width * rank > TP_SHAPE_TEXT_SIZE)
				assert_string_equal(buf + n - 4, "...]");
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(counts_are_checked_from_the_left),
	    cmocka_unit_test(strides_are_row_major),
	    cmocka_unit_test(other_strides_are_not),
	    cmocka_unit_test(extents_reach_both_ways),
	    cmocka_unit_test(texts_are_cut_at_an_axis),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
