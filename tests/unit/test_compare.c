/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c against plain loops, and against numbers known beforehand: values
 * that are not finite, zeros of both signs, subnormals, distances of codes,
 * wide integers, all pairs of dtypes, threads and pieces
 */
#include "support/cmocka_all.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tp/endian.h"
#include "tp/compare.h"
#include "tp/convert.h"
#include "tp/parallel.h"

#include "support/float_bits.h"
#include "support/random.h"

static const struct tp_compare_rule exact;

static struct tp_compare
compare(const struct tp_compare_rule *rule, enum tp_dtype dtype_a,
    const void *a, enum tp_dtype dtype_b, const void *b, size_t n)
{
	struct tp_compare c = {0};

	assert_int_equal(
	    tp_compare_add(&c, rule, dtype_a, a, dtype_b, b, n, NULL), TP_OK);
	assert_int_equal(c.n, n);
	return c;
}

static struct tp_compare
compare_f32(const struct tp_compare_rule *rule, const float *a, const float *b,
    size_t n)
{
	return compare(rule, TP_DTYPE_F32, a, TP_DTYPE_F32, b, n);
}

static void
assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-12 * fabs(want)))
		fail_msg("%.17g, expected %.17g", got, want);
}

/* The place of a float among all, both zeros being 0. */
static int64_t
place(float x)
{
	int32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits < 0 ? -(int64_t)(bits & INT32_MAX) : bits;
}

/* Everything once more, one element after the other. */
static void
check_plain(const struct tp_compare_rule *rule, const float *a, const float *b,
    size_t n)
{
	struct tp_compare c = compare_f32(rule, a, b, n), w = {0};
	long double abs_sum = 0, sq = 0, sq_a = 0, sq_b = 0, dot = 0;

	for (size_t i = 0; i < n; i++) {
		double x = (double)a[i], y = (double)b[i], d = fabs(x - y);
		uint64_t ulp = (uint64_t)llabs(place(a[i]) - place(b[i]));
		int same_bits = !memcmp(a + i, b + i, sizeof(*a));
		int passes = 1;

		if (isnan(x) || isnan(y) || isinf(x) || isinf(y)) {
			passes = x == y ||
				 (isnan(x) && isnan(y) && rule->equal_nan &&
				     (same_bits || !rule->bits));
			w.n_special_over += !passes;
			w.n_equal += x == y;
		} else {
			w.n_finite++;
			w.n_equal += x == y;
			if (rule->has_abs)
				passes &=
				    d <= rule->atol + rule->rtol * fabs(y);
			if (rule->has_ulp)
				passes &= ulp <= rule->ulp;
			if (!rule->has_abs && !rule->has_ulp)
				passes &= x == y;
			if (rule->bits)
				passes &= same_bits;
			if (d > w.max_abs) {
				w.max_abs = d;
				w.worst = i;
			}
			if (d > 0 && d / fabs(y) > w.max_rel)
				w.max_rel = d / fabs(y);
			if (rule->bits && !same_bits && ulp == 0)
				ulp = 1;
			w.max_ulp = ulp > w.max_ulp ? ulp : w.max_ulp;
			abs_sum += d;
			sq += (long double)d * d;
			sq_a += (long double)x * x;
			sq_b += (long double)y * y;
			dot += (long double)x * y;
		}
		if (!passes && w.n_over++ == 0)
			w.first_over = i;
	}
	assert_int_equal(c.n_over, w.n_over);
	assert_int_equal(c.n_special_over, w.n_special_over);
	assert_int_equal(c.n_equal, w.n_equal);
	assert_int_equal(c.n_finite, w.n_finite);
	assert_int_equal(c.max_ulp, w.max_ulp);
	assert_true(c.max_abs == w.max_abs);
	assert_true(c.max_rel == w.max_rel);
	if (w.n_over) {
		assert_int_equal(c.first_over, w.first_over);
		if (!isnan(a[w.first_over]))
			assert_true(c.first_a == (double)a[w.first_over]);
		if (!isnan(b[w.first_over]))
			assert_true(c.first_b == (double)b[w.first_over]);
	}
	if (w.max_abs > 0) {
		assert_int_equal(c.worst, w.worst);
		assert_true(c.worst_a == (double)a[w.worst]);
		assert_true(c.worst_b == (double)b[w.worst]);
	}
	assert_near(c.sum_abs, (double)abs_sum);
	assert_near(c.sum_squares, (double)sq);
	assert_near(c.sum_squares_a, (double)sq_a);
	assert_near(c.sum_squares_b, (double)sq_b);
	assert_near(c.dot, (double)dot);
}

static void
agrees_with_plain_loops(void **state)
{
	static const size_t lengths[] = {
	    1, 2, 7, 8, 9, 511, 512, 513, 65535, 65536, 65537, 200001};
	static const struct tp_compare_rule rules[] = {{.bits = false},
	    {.bits = true}, {.equal_nan = true},
	    {.equal_nan = true, .bits = true}, {.has_abs = true, .atol = 1e-3},
	    {.has_abs = true, .rtol = 1e-6},
	    {.has_abs = true, .atol = 1e-9, .rtol = 1e-7},
	    {.has_ulp = true, .ulp = 3},
	    {.has_ulp = true, .ulp = 2, .has_abs = true, .rtol = 1.5e-7},
	    {.has_ulp = true, .has_abs = true}};
	static const uint32_t odd[] = {0x7fc00000, 0xffc00001, 0x7f800000,
	    0xff800000, 0, 0x80000000, 1, 0x80000001, 0x7f7fffff, 0x00800000};
	size_t n_max = lengths[COUNT_OF(lengths) - 1];
	float *a = malloc(n_max * sizeof(*a)), *b = malloc(n_max * sizeof(*b));
	uint64_t seed = 88172645463325252;

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	for (size_t i = 0; i < n_max; i++) {
		uint32_t r = (uint32_t)random_next(&seed), bits;

		a[i] = (float)(int32_t)r * 1e-6F;
		memcpy(&bits, a + i, sizeof(bits));
		b[i] = float_of(bits + (r % 5 == 0 ? r % 7 : 0));
		if (r % 1013 == 0)
			a[i] =
			    float_of(odd[random_next(&seed) % COUNT_OF(odd)]);
		if (r % 1021 == 0 || r % 1013 == 0)
			b[i] =
			    float_of(odd[random_next(&seed) % COUNT_OF(odd)]);
	}
	for (size_t k = 0; k < COUNT_OF(rules); k++)
		for (size_t i = 0; i < COUNT_OF(lengths); i++)
			check_plain(&rules[k], a, b, lengths[i]);
	free(b);
	free(a);
}

static void
zeros_and_nan_need_their_options(void **state)
{
	const float zero = 0, minus = -0.0F, nan = NAN, one = 1;
	const float other_nan = float_of(0xffc12345);
	const struct tp_compare_rule bits = {.bits = true};
	const struct tp_compare_rule equal_nan = {.equal_nan = true};
	const struct tp_compare_rule both = {.bits = true, .equal_nan = true};
	const struct tp_compare_rule wide = {
	    .has_abs = true, .atol = 1e30, .rtol = 1e30};
	struct tp_compare c;

	(void)state;
	assert_int_equal(compare_f32(&exact, &zero, &minus, 1).n_over, 0);
	assert_int_equal(compare_f32(&bits, &zero, &minus, 1).n_over, 1);
	c = compare_f32(&exact, &nan, &nan, 1);
	assert_int_equal(c.n_over, 1);
	assert_int_equal(c.n_equal, 0);
	assert_int_equal(c.n_both_nan, 1);
	assert_int_equal(compare_f32(&bits, &nan, &nan, 1).n_over, 1);
	assert_int_equal(
	    compare_f32(&equal_nan, &nan, &other_nan, 1).n_over, 0);
	assert_int_equal(compare_f32(&both, &nan, &other_nan, 1).n_over, 1);
	assert_int_equal(compare_f32(&both, &nan, &nan, 1).n_over, 0);
	assert_int_equal(compare_f32(&equal_nan, &nan, &one, 1).n_over, 1);
	/* No tolerance is wide enough. */
	assert_int_equal(compare_f32(&wide, &nan, &one, 1).n_over, 1);
	assert_int_equal(compare_f32(&wide, &one, &nan, 1).n_over, 1);
}

static void
infinities_are_equal_or_apart(void **state)
{
	const float inf = INFINITY, minus = -INFINITY, max = FLT_MAX;
	const struct tp_compare_rule wide = {
	    .has_abs = true, .atol = 1e300, .rtol = 1};
	const struct tp_compare_rule ulp = {.has_ulp = true, .ulp = 5};
	const struct tp_compare_rule odd = {.has_abs = true, .rtol = INFINITY};
	const float one = 1, none = 0;
	struct tp_compare c;

	(void)state;
	c = compare_f32(&exact, &inf, &inf, 1);
	assert_int_equal(c.n_over, 0);
	assert_int_equal(c.n_equal, 1);
	assert_int_equal(c.n_same_inf, 1);
	assert_int_equal(c.n_finite, 0);
	assert_int_equal(compare_f32(&wide, &inf, &minus, 1).n_over, 1);
	assert_int_equal(compare_f32(&wide, &max, &inf, 1).n_over, 1);
	assert_int_equal(compare_f32(&wide, &inf, &max, 1).n_over, 1);
	/* The largest float and infinity are neighbours, and yet. */
	assert_int_equal(compare_f32(&ulp, &max, &inf, 1).n_over, 1);
	/* inf * 0 is no tolerance. */
	assert_int_equal(compare_f32(&odd, &one, &none, 1).n_over, 1);
}

/* A code as this machine holds it in memory. */
static void
put_code(enum tp_dtype dtype, uint64_t code, uint8_t *p)
{
	unsigned bits = tp_dtype_bits(dtype);
	size_t size = bits < 8 ? 1 : bits / 8;

	for (size_t k = 0; k < size; k++)
		p[k] = (uint8_t)(code >> 8 * k);
	if (!tp_host_is_little())
		tp_swap_bytes(p, size / tp_dtype_swap_size(dtype),
		    tp_dtype_swap_size(dtype));
}

static void
distances_count_codes(void **state)
{
	static const struct {
		enum tp_dtype dtype;
		uint64_t a, b, ulp;
	} rows[] = {
	    {TP_DTYPE_F32, 0x00000001, 0x80000001, 2},
	    {TP_DTYPE_F32, 0x007fffff, 0x00800000, 1},
	    {TP_DTYPE_F32, 0x3f800000, 0x3f7fffff, 1},
	    {TP_DTYPE_F32, 0x80000000, 0x00000000, 0},
	    {TP_DTYPE_F32, 0xff7fffff, 0x7f7fffff, 0xfefffffe},
	    {TP_DTYPE_F64, 1, 0x8000000000000002, 3},
	    {TP_DTYPE_F64, 0xffefffffffffffff, 0x7fefffffffffffff,
		0xffdffffffffffffe},
	    {TP_DTYPE_F16, 0x3c00, 0x3bff, 1},
	    {TP_DTYPE_F16, 0x8001, 0x0001, 2},
	    {TP_DTYPE_BF16, 0x3f80, 0x3f82, 2},
	    {TP_DTYPE_F8E4M3FN, 0x38, 0x3a, 2},
	    {TP_DTYPE_F8E5M2, 0x81, 0x01, 2},
	    {TP_DTYPE_F8E8M0, 0x80, 0x7f, 1},
	    {TP_DTYPE_F8E8M0, 0x00, 0xfe, 254},
	    {TP_DTYPE_F4E2M1, 0x9, 0x1, 2},
	    {TP_DTYPE_F6E3M2, 0x21, 0x01, 2},
	    {TP_DTYPE_I8, 0x80, 0x7f, 255},
	    {TP_DTYPE_U8, 0x80, 0x7f, 1},
	    {TP_DTYPE_I4, 0x8, 0x7, 15},
	    {TP_DTYPE_U4, 0xf, 0x0, 15},
	    {TP_DTYPE_I64, 0x8000000000000000, 0x7fffffffffffffff, UINT64_MAX},
	    {TP_DTYPE_U64, 0x8000000000000000, 0x7fffffffffffffff, 1},
	    {TP_DTYPE_BOOL, 1, 0, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t a[8], b[8];
		struct tp_compare c;

		put_code(rows[i].dtype, rows[i].a, a);
		put_code(rows[i].dtype, rows[i].b, b);
		c = compare(&exact, rows[i].dtype, a, rows[i].dtype, b, 1);
		if (c.max_ulp != rows[i].ulp)
			fail_msg(
			    "row %zu: %llu", i, (unsigned long long)c.max_ulp);
		assert_int_equal(c.n_over, rows[i].ulp != 0);
	}
}

static void
wide_integers_are_exact(void **state)
{
	const int64_t big = INT64_C(9007199254740993), near = big - 1;
	const int64_t i[] = {INT64_MIN, INT64_MAX, -1, big, 5};
	const uint64_t u[] = {0, UINT64_MAX, UINT64_MAX, (uint64_t)big, 5};
	const double d[] = {-0x1p63, 0x1p63, -1, (double)near, 5.5};
	const uint64_t max[] = {UINT64_MAX}, less[] = {UINT64_MAX - 1};
	struct tp_compare c;

	(void)state;
	c = compare(&exact, TP_DTYPE_I64, &big, TP_DTYPE_I64, &near, 1);
	assert_int_equal(c.n_over, 1);
	assert_true(c.max_abs == 1);
	c = compare(&exact, TP_DTYPE_U64, max, TP_DTYPE_U64, less, 1);
	assert_int_equal(c.n_over, 1);
	assert_true(c.max_abs == 1 && c.max_ulp == 1);
	/* As numbers: -2^63 and 0, 2^63-1 and 2^64-1, -1 and 2^64-1. */
	c = compare(&exact, TP_DTYPE_I64, i, TP_DTYPE_U64, u, 5);
	assert_int_equal(c.n_over, 3);
	assert_int_equal(c.n_equal, 2);
	assert_true(c.max_abs == 0x1p64);
	assert_true(c.max_ulp == UINT64_MAX);
	c = compare(&exact, TP_DTYPE_I64, i, TP_DTYPE_F64, d, 5);
	assert_int_equal(c.n_equal, 2); /* -2^63 and -1 */
	assert_int_equal(c.first_over, 1);
	assert_true(c.max_abs == 1);
}

/* 0, 1, 2 (bool: 1, signed 2 bits: 1) in every pair of dtypes. */
static void
every_pair_of_dtypes(void **state)
{
	static const double values[] = {0, 1, 1, 0, 1, 1, 0, 1, 1};

	(void)state;
	for (int i = 1; i < TP_DTYPE_COUNT; i++)
		for (int k = 1; k < TP_DTYPE_COUNT; k++) {
			enum tp_dtype da = (enum tp_dtype)i;
			enum tp_dtype db = (enum tp_dtype)k;
			bool complex_a = tp_dtype_kind(da) == TP_KIND_COMPLEX;
			bool complex_b = tp_dtype_kind(db) == TP_KIND_COMPLEX;
			struct tp_compare c = {0};
			uint8_t a[160], b[160];
			uint64_t n_zero;

			if (da == TP_DTYPE_STRING || db == TP_DTYPE_STRING ||
			    complex_a != complex_b) {
				assert_int_equal(tp_compare_add(&c, &exact, da,
						     a, db, b, 1, NULL),
				    TP_EUNSUPPORTED);
				assert_int_equal(c.n, 0);
				continue;
			}
			assert_int_equal(
			    tp_convert(da, a, TP_DTYPE_F64, values, 9,
				TP_OVERFLOW_SATURATE, 0, NULL, NULL),
			    TP_OK);
			assert_int_equal(
			    tp_convert(db, b, TP_DTYPE_F64, values, 9,
				TP_OVERFLOW_SATURATE, 0, NULL, NULL),
			    TP_OK);
			assert_int_equal(
			    tp_compare_add(&c, &exact, da, a, db, b, 9, NULL),
			    TP_OK);
			/* F8E8M0 has no zero. */
			n_zero = da != db && (da == TP_DTYPE_F8E8M0 ||
						 db == TP_DTYPE_F8E8M0)
				     ? 3
				     : 0;
			assert_int_equal(c.n, complex_a ? 18 : 9);
			assert_int_equal(c.n_over, n_zero);
			assert_int_equal(c.n_equal, c.n - n_zero);
			assert_int_equal(c.max_ulp, 0);
			assert_true(tp_compare_same(da, a, a, 9, false));
		}
}

static void
narrower_codes_count_across_dtypes(void **state)
{
	/* 1 + 2^-8 lies between two bf16, and rounds to the even one, 1. */
	const float x[] = {1.00390625F, 1.0078125F, 3e38F};
	const uint16_t bf16[] = {0x3f80, 0x3f83, 0x7f61};
	const struct tp_compare_rule ulp0 = {.has_ulp = true};
	struct tp_compare c;

	(void)state;
	c = compare(&ulp0, TP_DTYPE_F32, x, TP_DTYPE_BF16, bf16, 1);
	assert_int_equal(c.n_over, 0);
	assert_int_equal(c.n_equal, 0);
	assert_true(c.max_abs == 0x1p-8);
	c = compare(&ulp0, TP_DTYPE_BF16, bf16, TP_DTYPE_F32, x, 2);
	assert_int_equal(c.n_over, 1);
	assert_int_equal(c.max_ulp, 2);
	assert_int_equal(
	    tp_compare_ulp_dtype(TP_DTYPE_F32, TP_DTYPE_F16), TP_DTYPE_F16);
	assert_int_equal(
	    tp_compare_ulp_dtype(TP_DTYPE_F16, TP_DTYPE_BF16), TP_DTYPE_BF16);
	assert_int_equal(
	    tp_compare_ulp_dtype(TP_DTYPE_I8, TP_DTYPE_F32), TP_DTYPE_F32);
	assert_int_equal(
	    tp_compare_ulp_dtype(TP_DTYPE_I8, TP_DTYPE_I64), TP_DTYPE_NONE);
}

/* One code in ten million: found, placed, and nothing else. */
static void
one_ulp_in_ten_million(void **state)
{
	const size_t n = 10000000, at = 7654321;
	const struct tp_compare_rule ulp1 = {.has_ulp = true, .ulp = 1};
	float *a = malloc(n * sizeof(*a)), *b = malloc(n * sizeof(*b));
	struct tp_compare c;
	uint64_t seed = 88172645463325252;

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	for (size_t i = 0; i < n; i++)
		a[i] = b[i] = (float)(int32_t)random_next(&seed) * 1e-9F;
	assert_true(tp_compare_same(TP_DTYPE_F32, a, b, n, false));
	b[at] = nextafterf(a[at], INFINITY);
	assert_false(tp_compare_same(TP_DTYPE_F32, a, b, n, false));
	c = compare_f32(&exact, a, b, n);
	assert_int_equal(c.n_over, 1);
	assert_int_equal(c.n_equal, n - 1);
	assert_int_equal(c.first_over, at);
	assert_int_equal(c.worst, at);
	assert_int_equal(c.max_ulp, 1);
	assert_true(c.worst_a == (double)a[at] && c.worst_b == (double)b[at]);
	assert_int_equal(compare_f32(&ulp1, a, b, n).n_over, 0);
	free(b);
	free(a);
}

static void
same_bits_are_not_same_nan(void **state)
{
	static const struct {
		enum tp_dtype dtype;
		uint64_t nan;
	} rows[] = {{TP_DTYPE_F16, 0x7c01}, {TP_DTYPE_BF16, 0xff81},
	    {TP_DTYPE_F32, 0x7f800001}, {TP_DTYPE_F64, 0xfff0000000000001},
	    {TP_DTYPE_F8E4M3FN, 0x7f}, {TP_DTYPE_F8E5M2, 0xfd},
	    {TP_DTYPE_F8E4M3FNUZ, 0x80}, {TP_DTYPE_F8E5M2FNUZ, 0x80},
	    {TP_DTYPE_F8E8M0, 0xff}, {TP_DTYPE_C64, 0x7f80000100000000}};
	uint8_t *x = calloc(100000, 8), *y = calloc(100000, 8);

	(void)state;
	assert_non_null(x);
	assert_non_null(y);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t size = tp_dtype_bits(rows[i].dtype) / 8;
		size_t at = 99999 * size;

		memset(x, 0, 800000);
		put_code(rows[i].dtype, rows[i].nan, x + at);
		assert_true(tp_compare_same(rows[i].dtype, x, x, 99999, false));
		assert_false(
		    tp_compare_same(rows[i].dtype, x, x, 100000, false));
		assert_true(tp_compare_same(rows[i].dtype, x, x, 100000, true));
	}
	/* What lies behind the last element does not count. */
	memset(x, 0, 16);
	x[1] = 0xf0;
	assert_true(tp_compare_same(TP_DTYPE_U4, x, y, 3, false));
	assert_false(tp_compare_same(TP_DTYPE_U4, x, y, 4, false));
	x[1] = 0x01;
	assert_false(tp_compare_same(TP_DTYPE_U4, x, y, 3, false));
	assert_false(tp_compare_same(TP_DTYPE_STRING, x, x, 1, true));
	free(y);
	free(x);
}

static void
what_follows_from_the_sums(void **state)
{
	const float a[] = {3, 4, 0, 0}, b[] = {3, 4, 0, 1}, none[] = {0, 0};
	const float minus[] = {-3, -4, 0, 0};
	struct tp_compare c = compare_f32(&exact, a, b, 4);

	(void)state;
	assert_near(tp_compare_mean_abs(&c), 0.25);
	assert_near(tp_compare_rms(&c), 0.5);
	assert_near(tp_compare_cosine(&c), 5 / sqrt(26));
	assert_near(tp_compare_sqnr(&c), 10 * log10(26));
	c = compare_f32(&exact, a, a, 4);
	assert_true(tp_compare_cosine(&c) == 1);
	assert_true(tp_compare_sqnr(&c) == INFINITY);
	c = compare_f32(&exact, a, minus, 4);
	assert_near(tp_compare_cosine(&c), -1);
	c = compare_f32(&exact, a, none, 2);
	assert_true(tp_compare_cosine(&c) == 0);
	assert_true(tp_compare_sqnr(&c) == -INFINITY);
	assert_true(c.max_rel == INFINITY);
}

struct split {
	const double *a, *b;
	size_t n;
	struct tp_compare parts[64];
};

static void
compare_part(void *ctx, size_t part)
{
	struct split *s = ctx;
	size_t at = part * TP_COMPARE_CHUNK;
	size_t n = s->n - at < TP_COMPARE_CHUNK ? s->n - at : TP_COMPARE_CHUNK;

	s->parts[part] = compare(
	    &exact, TP_DTYPE_F64, s->a + at, TP_DTYPE_F64, s->b + at, n);
}

static void
threads_and_pieces_change_nothing(void **state)
{
	struct split s = {.n = 20 * TP_COMPARE_CHUNK + 777};
	size_t n_parts = s.n / TP_COMPARE_CHUNK + 1;
	double *a = malloc(s.n * sizeof(*a)), *b = malloc(s.n * sizeof(*b));
	struct tp_compare whole, joined = {0}, pieces = {0};
	uint64_t seed = 88172645463325252;

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	for (size_t i = 0; i < s.n; i++) {
		a[i] = (double)(uint32_t)random_next(&seed) / 3;
		b[i] = random_next(&seed) % 4 ? a[i] : a[i] * 1.0000001;
		if (random_next(&seed) % 100000 == 0)
			b[i] = NAN;
	}
	s.a = a;
	s.b = b;
	whole = compare(&exact, TP_DTYPE_F64, a, TP_DTYPE_F64, b, s.n);
	tp_parallel(5, n_parts, compare_part, &s);
	for (size_t i = 0; i < n_parts; i++)
		tp_compare_join(&joined, &s.parts[i]);
	for (size_t i = 0; i < s.n; i += 3 * TP_COMPARE_CHUNK) {
		size_t n = 3 * TP_COMPARE_CHUNK;

		if (n > s.n - i)
			n = s.n - i;
		assert_int_equal(tp_compare_add(&pieces, &exact, TP_DTYPE_F64,
				     a + i, TP_DTYPE_F64, b + i, n, NULL),
		    TP_OK);
	}
	assert_memory_equal(&whole, &joined, sizeof(whole));
	assert_memory_equal(&whole, &pieces, sizeof(whole));
	free(b);
	free(a);
}

/* The sums in their order, to the bit, at every length of a last block. */
static void
finite_pairs_give_the_same_figures(void **state)
{
	static const size_t sizes[] = {0, 1, 31, 32, 33, 511, 512, 513, 1500,
	    TP_COMPARE_CHUNK - 1, TP_COMPARE_CHUNK, TP_COMPARE_CHUNK + 700,
	    3 * TP_COMPARE_CHUNK + 45};
	size_t most = 3 * TP_COMPARE_CHUNK + 45;
	float *a = malloc(most * sizeof(*a)), *b = malloc(most * sizeof(*b));
	uint64_t seed = 11;

	(void)state;
	assert_true(a && b);
	for (size_t i = 0; i < most; i++) {
		a[i] = ldexpf((float)(int32_t)random_next(&seed),
		    (int)(random_next(&seed) % 200) - 150);
		b[i] = random_next(&seed) % 4 ? a[i] * 1.01f : a[i];
	}
	a[700] = FLT_MAX;
	b[700] = -FLT_MAX;
	a[40] = 0x1p-149f;
	b[40] = -0.0f;
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct tp_compare w = compare_f32(&exact, a, b, sizes[k]);
		struct tp_compare c = {0};

		tp_compare_add_finite(&c, a, b, sizes[k]);
		assert_int_equal(c.n, w.n);
		assert_int_equal(c.n_finite, w.n_finite);
		assert_int_equal(c.worst, w.worst);
#define SAME(field) assert_memory_equal(&c.field, &w.field, sizeof(c.field))
		SAME(max_abs);
		SAME(worst_a);
		SAME(worst_b);
		SAME(sum_abs);
		SAME(sum_squares);
		SAME(sum_squares_a);
		SAME(sum_squares_b);
		SAME(dot);
#undef SAME
	}
	free(a);
	free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(agrees_with_plain_loops),
	    cmocka_unit_test(zeros_and_nan_need_their_options),
	    cmocka_unit_test(infinities_are_equal_or_apart),
	    cmocka_unit_test(distances_count_codes),
	    cmocka_unit_test(wide_integers_are_exact),
	    cmocka_unit_test(every_pair_of_dtypes),
	    cmocka_unit_test(narrower_codes_count_across_dtypes),
	    cmocka_unit_test(one_ulp_in_ten_million),
	    cmocka_unit_test(same_bits_are_not_same_nan),
	    cmocka_unit_test(what_follows_from_the_sums),
	    cmocka_unit_test(threads_and_pieces_change_nothing),
	    cmocka_unit_test(finite_pairs_give_the_same_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
