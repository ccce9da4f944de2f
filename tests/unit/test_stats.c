/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c: known sums, what is not finite, all dtypes, threads and pieces */
#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/stats.h"

#include "support/random.h"

static void
assert_near(double got, double want)
{
	assert_true(fabs(got - want) <= 1e-13 * fabs(want));
}

/* 0, 1, … n-1 in every length around the sizes of blocks and chunks. */
static void
sums_of_a_ramp(void **state)
{
	static const size_t lengths[] = {1, 2, 3, 7, 8, 9, 2047, 2048, 2049,
	    4095, 65535, 65536, 65537, 200001};
	float *x = malloc(200001 * sizeof(*x));

	(void)state;
	assert_non_null(x);
	for (size_t i = 0; i < 200001; i++)
		x[i] = (float)i;
	for (size_t k = 0; k < COUNT_OF(lengths); k++) {
		struct tp_stats s = {0};
		double n = (double)lengths[k];

		assert_int_equal(
		    tp_stats_add(&s, TP_DTYPE_F32, x, lengths[k], 1, NULL),
		    TP_OK);
		assert_int_equal(s.n, lengths[k]);
		assert_int_equal(s.n_finite, lengths[k]);
		assert_int_equal(s.n_zero, 1);
		assert_true(s.min == 0 && s.max == n - 1);
		assert_near(s.mean, (n - 1) / 2);
		assert_near(s.sum_squares, n * (n * n - 1) / 12);
		assert_near(tp_stats_std(&s), sqrt((n * n - 1) / 12));
	}
	free(x);
}

/* A naive sum of squares would lose everything here. */
static void
a_large_mean_does_not_cancel(void **state)
{
	double x[5000];
	struct tp_stats s = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(x); i++)
		x[i] = 1e12 + (double)(i % 2);
	assert_int_equal(
	    tp_stats_add(&s, TP_DTYPE_F64, x, COUNT_OF(x), 1, NULL), TP_OK);
	assert_near(s.mean, 1e12 + 0.5);
	assert_near(tp_stats_std(&s), 0.5);
}

static void
what_is_not_finite_is_counted_apart(void **state)
{
	const float x[] = {
	    -0.0f, 3, INFINITY, NAN, -5, -INFINITY, INFINITY, NAN, 0, 2, 0};
	const float none[] = {NAN, INFINITY};
	struct tp_stats s = {0};

	(void)state;
	assert_int_equal(
	    tp_stats_add(&s, TP_DTYPE_F32, x, COUNT_OF(x), 1, NULL), TP_OK);
	assert_int_equal(s.n, 11);
	assert_int_equal(s.n_finite, 6);
	assert_int_equal(s.n_nan, 2);
	assert_int_equal(s.n_pos_inf, 2);
	assert_int_equal(s.n_neg_inf, 1);
	assert_int_equal(s.n_zero, 3);
	assert_int_equal(s.first_nan, 3);
	assert_int_equal(s.first_inf, 2);
	assert_true(s.min == -5 && s.max == 3 && s.mean == 0);
	assert_near(s.sum_squares, 9 + 25 + 4);

	s = (struct tp_stats){0};
	assert_int_equal(tp_stats_add(&s, TP_DTYPE_F32, none, 2, 1, NULL), 0);
	assert_int_equal(s.n_finite, 0);
	assert_true(s.min == 0 && s.max == 0 && s.mean == 0);
	assert_true(tp_stats_std(&s) == 0);
	s = (struct tp_stats){0};
	assert_int_equal(tp_stats_add(&s, TP_DTYPE_F32, NULL, 0, 4, NULL), 0);
	assert_int_equal(s.n, 0);
}

/* Every dtype holds 0, 1 and 2, but bool (1 for 2) and the signed 2 bits. */
static void
every_dtype_is_counted(void **state)
{
	static const double values[] = {1, 2, 1, 1, 2};
	uint8_t packed[80];

	(void)state;
	for (int d = 1; d < TP_DTYPE_COUNT; d++) {
		enum tp_dtype dtype = (enum tp_dtype)d;
		double two =
		    dtype == TP_DTYPE_BOOL || dtype == TP_DTYPE_I2 ? 1 : 2;
		struct tp_stats s = {0};

		if (dtype == TP_DTYPE_STRING) {
			assert_int_equal(
			    tp_stats_add(&s, dtype, packed, 1, 1, NULL),
			    TP_EUNSUPPORTED);
			continue;
		}
		assert_int_equal(tp_convert(dtype, packed, TP_DTYPE_F64, values,
				     5, TP_OVERFLOW_SATURATE, 0, NULL, NULL),
		    TP_OK);
		assert_int_equal(
		    tp_stats_add(&s, dtype, packed, 5, 1, NULL), TP_OK);
		assert_int_equal(s.n_finite, 5);
		assert_true(s.min == 1 && s.max == two);
		assert_near(s.mean, (3 + 2 * two) / 5);
		if (tp_dtype_kind(dtype) == TP_KIND_UINT) {
			assert_int_equal(s.uint_min, 1);
			assert_int_equal(s.uint_max, 2);
		}
		if (tp_dtype_kind(dtype) == TP_KIND_INT) {
			assert_int_equal(s.int_min, 1);
			assert_int_equal(s.int_max, two);
		}
	}
}

static void
wide_integers_have_exact_ends(void **state)
{
	const int64_t i[] = {INT64_MIN + 1, 5, INT64_MAX - 1};
	const uint64_t u[] = {UINT64_MAX - 2, UINT64_MAX - 1};
	const float c[] = {3, 4, 0, 0, NAN, INFINITY, -INFINITY, 1};
	struct tp_stats s = {0};

	(void)state;
	assert_int_equal(tp_stats_add(&s, TP_DTYPE_I64, i, 3, 1, NULL), TP_OK);
	assert_true(s.int_min == INT64_MIN + 1 && s.int_max == INT64_MAX - 1);
	s = (struct tp_stats){0};
	assert_int_equal(tp_stats_add(&s, TP_DTYPE_U64, u, 2, 1, NULL), TP_OK);
	assert_true(s.uint_min == UINT64_MAX - 2);
	assert_true(s.uint_max == UINT64_MAX - 1);

	/* Magnitudes of complex numbers: 5, 0, NaN, infinite. */
	s = (struct tp_stats){0};
	assert_int_equal(tp_stats_add(&s, TP_DTYPE_C64, c, 4, 1, NULL), TP_OK);
	assert_true(s.max == 5 && s.n_zero == 1 && s.n_nan == 1);
	assert_int_equal(s.n_pos_inf, 1);
}

/* The same bits for any threads and pieces. */
static void
threads_and_pieces_change_nothing(void **state)
{
	const size_t n = 70 * TP_STATS_CHUNK + 12345;
	struct tp_stats one = {0}, two = {0}, pieces = {0}, joined = {0};
	float *x = malloc(n * sizeof(*x));
	uint64_t seed = 88172645463325252;

	(void)state;
	assert_non_null(x);
	for (size_t i = 0; i < n; i++) {
		uint32_t bits = (uint32_t)random_next(&seed);

		memcpy(x + i, &bits, sizeof(bits));
		x[i] = fabsf(x[i]) < 1e9f || bits % 1000 == 0 ? x[i] : 0.5f;
	}
	assert_int_equal(tp_stats_add(&one, TP_DTYPE_F32, x, n, 1, NULL), 0);
	assert_int_equal(tp_stats_add(&two, TP_DTYPE_F32, x, n, 5, NULL), 0);
	for (size_t i = 0; i < n; i += 3 * TP_STATS_CHUNK) {
		size_t piece = 3 * TP_STATS_CHUNK;

		if (piece > n - i)
			piece = n - i;
		assert_int_equal(
		    tp_stats_add(&pieces, TP_DTYPE_F32, x + i, piece, 2, NULL),
		    TP_OK);
	}
	for (size_t i = 0; i < n; i += TP_STATS_CHUNK) {
		struct tp_stats chunk = {0};

		assert_int_equal(
		    tp_stats_add(&chunk, TP_DTYPE_F32, x + i,
			n - i < TP_STATS_CHUNK ? n - i : TP_STATS_CHUNK, 1,
			NULL),
		    TP_OK);
		tp_stats_join(&joined, &chunk);
	}
	assert_memory_equal(&one, &joined, sizeof(one));
	assert_memory_equal(&one, &two, sizeof(one));
	assert_memory_equal(&one, &pieces, sizeof(one));
	free(x);
}

static void
histograms_have_edges(void **state)
{
	const float x[] = {-1, 0, 0.24f, 0.25f, 0.5f, 0.99f, 1, 1.5f, NAN};
	struct tp_histogram h = {.low = 0, .high = 1, .n_bins = 4};
	struct tp_histogram flat = {.low = 1, .high = 1, .n_bins = 5};
	struct tp_histogram bad = {.low = 1, .high = 0, .n_bins = 4};

	(void)state;
	assert_int_equal(
	    tp_histogram_add(&h, TP_DTYPE_F32, x, COUNT_OF(x), NULL), TP_OK);
	assert_int_equal(h.n_below, 1);
	assert_int_equal(h.n_above, 1);
	assert_int_equal(h.n_nan, 1);
	assert_int_equal(h.counts[0], 2);
	assert_int_equal(h.counts[1], 1);
	assert_int_equal(h.counts[2], 1);
	assert_int_equal(h.counts[3], 2);
	assert_int_equal(
	    tp_histogram_add(&flat, TP_DTYPE_F32, x, COUNT_OF(x), NULL), TP_OK);
	assert_int_equal(flat.counts[2], 1);
	/* Ranges as wide and as narrow as there are. */
	{
		const double y[] = {-1.7e308, 0.1, 1.7e308};
		const double z[] = {0, 5e-324};
		struct tp_histogram wide = {
		    .low = -1.7e308, .high = 1.7e308, .n_bins = 2};
		struct tp_histogram narrow = {.high = 5e-324, .n_bins = 64};

		assert_int_equal(
		    tp_histogram_add(&wide, TP_DTYPE_F64, y, 3, NULL), TP_OK);
		assert_int_equal(wide.counts[0], 1);
		assert_int_equal(wide.counts[1], 2);
		assert_int_equal(
		    tp_histogram_add(&narrow, TP_DTYPE_F64, z, 2, NULL), 0);
		assert_int_equal(narrow.counts[0], 1);
		assert_int_equal(narrow.counts[63], 1);
	}
	assert_int_equal(
	    tp_histogram_add(&bad, TP_DTYPE_F32, x, 1, NULL), TP_EARG);
	bad = (struct tp_histogram){.high = 1, .n_bins = 65};
	assert_int_equal(
	    tp_histogram_add(&bad, TP_DTYPE_F32, x, 1, NULL), TP_EARG);
	assert_int_equal(
	    tp_histogram_add(&h, TP_DTYPE_STRING, x, 1, NULL), TP_EUNSUPPORTED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sums_of_a_ramp),
	    cmocka_unit_test(a_large_mean_does_not_cancel),
	    cmocka_unit_test(what_is_not_finite_is_counted_apart),
	    cmocka_unit_test(every_dtype_is_counted),
	    cmocka_unit_test(wide_integers_have_exact_ends),
	    cmocka_unit_test(threads_and_pieces_change_nothing),
	    cmocka_unit_test(histograms_have_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
