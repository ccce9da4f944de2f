/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.c: every code of the narrow floats both ways, every pair of dtypes,
 * policies and counts. Expectations come from support/narrow.h and from integer
 * arithmetic here, not from the library.
 */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/convert.h"

#include "support/float_bits.h"
#include "support/narrow.h"
#include "support/random.h"

/* One element converted; its code in the low bits of the result. */
static uint64_t
convert_one(enum tp_dtype dst, enum tp_dtype src, const void *x,
    enum tp_overflow overflow, enum tp_status *rc)
{
	uint8_t out[16] = {0};
	uint64_t code = 0;

	*rc = tp_convert(dst, out, src, x, 1, overflow, 0, NULL, NULL);
	if (tp_dtype_bits(dst) <= 8)
		return out[0];
	if (tp_dtype_bits(dst) == 16) {
		uint16_t c;

		memcpy(&c, out, sizeof(c));
		return c;
	}
	if (tp_dtype_bits(dst) == 32) {
		uint32_t c;

		memcpy(&c, out, sizeof(c));
		return c;
	}
	memcpy(&code, out, sizeof(code));
	return code;
}

static uint64_t
from_f64(enum tp_dtype dst, double x)
{
	enum tp_status rc;
	uint64_t code =
	    convert_one(dst, TP_DTYPE_F64, &x, TP_OVERFLOW_SATURATE, &rc);

	assert_int_equal(rc, TP_OK);
	return code;
}

static uint64_t
from_f32(enum tp_dtype dst, uint32_t bits)
{
	enum tp_status rc;
	uint64_t code =
	    convert_one(dst, TP_DTYPE_F32, &bits, TP_OVERFLOW_INF, &rc);

	assert_int_equal(rc, TP_OK);
	return code;
}

static double
load(enum tp_dtype dtype, uint64_t code)
{
	/* Little enough for every width on either byte order. */
	uint8_t c8 = (uint8_t)code;
	uint16_t c16 = (uint16_t)code;

	return tp_dtype_bits(dtype) == 16 ? tp_load_f64(dtype, &c16, 0)
					  : tp_load_f64(dtype, &c8, 0);
}

static void
every_code_has_its_value(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_NARROWS; k++) {
		const struct narrow *t = &narrows[k];
		uint32_t sign = narrow_sign(t);

		for (uint32_t code = 0; code < 2 * sign; code++) {
			double x = load(t->dtype, code);
			double want = narrow_value(t, code & (sign - 1));

			if (narrow_is_nan(t, code)) {
				assert_true(isnan(x));
				continue;
			}
			if (narrow_is_inf(t, code))
				want = INFINITY;
			if (code & sign)
				want = -want;
			assert_int_equal(f64_bits(x), f64_bits(want));
			assert_int_equal(from_f64(t->dtype, x), code);
		}
	}
}

/* Each value, each point halfway, and the doubles beside them. */
static void
rounding_is_to_nearest_even(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_NARROWS; k++) {
		const struct narrow *t = &narrows[k];

		for (uint32_t code = 0; code <= narrow_max(t); code++) {
			double v = narrow_value(t, code);
			double half = (v + narrow_value(t, code + 1)) / 2;
			double tries[] = {v, half, nextafter(half, 0),
			    nextafter(half, INFINITY), nextafter(v, INFINITY)};

			for (size_t i = 0; i < 2 * COUNT_OF(tries); i++) {
				double x = tries[i / 2] * (i % 2 ? -1 : 1);
				uint32_t want = narrow_nearest(t, fabs(x));

				if (want > narrow_max(t))
					want = narrow_max(t);
				want = narrow_with_sign(t, want, signbit(x));
				assert_int_equal(from_f64(t->dtype, x), want);
			}
		}
	}
}

static void
known_roundings(void **state)
{
	static const struct {
		enum tp_dtype dtype;
		uint32_t f32;
		uint32_t want;
	} rows[] = {
	    /* bf16: nearest, ties to even, and NaN stays NaN */
	    {TP_DTYPE_BF16, 0x4048f5c3, 0x4049},
	    {TP_DTYPE_BF16, 0x3f808000, 0x3f80},
	    {TP_DTYPE_BF16, 0x3f818000, 0x3f82},
	    {TP_DTYPE_BF16, 0x7f800001, 0x7fc0},
	    {TP_DTYPE_BF16, 0xff800001, 0xffc0},
	    {TP_DTYPE_BF16, 0x7fa00000, 0x7fa0},
	    {TP_DTYPE_BF16, 0x7f800000, 0x7f80},
	    {TP_DTYPE_BF16, 0x7f7fffff, 0x7f80},
	    {TP_DTYPE_BF16, 0x80000000, 0x8000},
	    {TP_DTYPE_BF16, 0x00000001, 0x0000},
	    {TP_DTYPE_BF16, 0x00018000, 0x0002},
	    /* f16: 20000, 65504, 65519.996, 65520, 70000, 1e-12 */
	    {TP_DTYPE_F16, 0x469c4000, 0x74e2},
	    {TP_DTYPE_F16, 0x477fe000, 0x7bff},
	    {TP_DTYPE_F16, 0x477fefff, 0x7bff},
	    {TP_DTYPE_F16, 0x477ff000, 0x7c00},
	    {TP_DTYPE_F16, 0x4788b800, 0x7c00},
	    {TP_DTYPE_F16, 0x2b8cbccc, 0x0000},
	    {TP_DTYPE_F16, 0x33000000, 0x0000}, /* 2^-25, a tie */
	    {TP_DTYPE_F16, 0x33000001, 0x0001},
	    {TP_DTYPE_F16, 0x7f800001, 0x7e00},
	    {TP_DTYPE_F16, 0xffc02000, 0xfe01},
	    /* f8: 448, the tie 464, above it there is no infinity */
	    {TP_DTYPE_F8E4M3FN, 0x43e00000, 0x7e},
	    {TP_DTYPE_F8E4M3FN, 0x43e80000, 0x7e},
	    {TP_DTYPE_F8E4M3FN, 0x7f800000, 0x7e},
	    {TP_DTYPE_F8E4M3FN, 0x7fc00000, 0x7f},
	    {TP_DTYPE_F8E4M3FN, 0xffc00000, 0xff},
	    {TP_DTYPE_F8E5M2, 0x7f800000, 0x7c},
	    {TP_DTYPE_F8E5M2, 0x7f800001, 0x7e},
	    {TP_DTYPE_F8E4M3FNUZ, 0x80000000, 0x00},
	    {TP_DTYPE_F8E4M3FNUZ, 0xffc00000, 0x80},
	    {TP_DTYPE_F8E5M2FNUZ, 0x7f800001, 0x80},
	    {TP_DTYPE_F8E5M2FNUZ, 0xb0000000, 0x00}, /* no minus zero */
	    /* e8m0: 1, 1.5 (a tie), 1.25, 0, -1, 2^-127, 2^-126, NaN */
	    {TP_DTYPE_F8E8M0, 0x3f800000, 0x7f},
	    {TP_DTYPE_F8E8M0, 0x3fc00000, 0x80},
	    {TP_DTYPE_F8E8M0, 0x3fa00000, 0x7f},
	    {TP_DTYPE_F8E8M0, 0x00000000, 0x00},
	    {TP_DTYPE_F8E8M0, 0xbf800000, 0x00},
	    {TP_DTYPE_F8E8M0, 0x00400000, 0x00},
	    {TP_DTYPE_F8E8M0, 0x00800000, 0x01},
	    {TP_DTYPE_F8E8M0, 0x00000001, 0x00},
	    {TP_DTYPE_F8E8M0, 0x7f000000, 0xfe},
	    {TP_DTYPE_F8E8M0, 0x7f7fffff, 0xfe},
	    {TP_DTYPE_F8E8M0, 0x7fc00000, 0xff},
	    /* integers: nearest even; bool: not zero */
	    {TP_DTYPE_I8, 0x3f000000, 0},
	    {TP_DTYPE_I8, 0x3fc00000, 2},
	    {TP_DTYPE_I8, 0xc0200000, 0xfe},
	    {TP_DTYPE_I8, 0xc3000000, 0x80},
	    {TP_DTYPE_I8, 0x43000000, 0x7f},
	    {TP_DTYPE_U8, 0xbf000000, 0},
	    {TP_DTYPE_U4, 0x7f800000, 15},
	    {TP_DTYPE_I2, 0xff800000, 2},
	    {TP_DTYPE_BOOL, 0x00000001, 1},
	    {TP_DTYPE_BOOL, 0x80000000, 0},
	    {TP_DTYPE_BOOL, 0x7fc00000, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
		    from_f32(rows[i].dtype, rows[i].f32), rows[i].want);
}

/* 1 + 2^-11 + 2^-40 rounds up once; by way of f32 it would be a tie. */
static void
doubles_round_once(void **state)
{
	double x = 1 + ldexp(1, -11) + ldexp(1, -40);

	(void)state;
	assert_int_equal(from_f64(TP_DTYPE_F16, x), 0x3c01);
	assert_int_equal(from_f64(TP_DTYPE_BF16, 1 + ldexp(1, -8)), 0x3f80);
	assert_int_equal(
	    from_f64(TP_DTYPE_BF16, 1 + ldexp(1, -8) + ldexp(1, -50)), 0x3f81);
	assert_int_equal(from_f64(TP_DTYPE_F32, 1 + ldexp(1, -24)), 0x3f800000);
	assert_int_equal(from_f64(TP_DTYPE_F32, ldexp(1, -149)), 1);
	assert_int_equal(from_f64(TP_DTYPE_F32, ldexp(1, -150)), 0);
	assert_int_equal(from_f64(TP_DTYPE_F32, ldexp(3, -151)), 1);
}

/* Integers to floats against rounding written with shifts. */
static uint64_t
u64_to_float(uint64_t x, int frac_bits, int bias)
{
	int top = 63, drop;
	uint64_t kept, rest, half;

	if (x == 0)
		return 0;
	while (!(x >> top))
		top--;
	drop = top - frac_bits;
	if (drop <= 0)
		return (x << -drop) - (UINT64_C(1) << frac_bits) +
		       ((uint64_t)(top + bias) << frac_bits);
	kept = x >> drop;
	half = UINT64_C(1) << (drop - 1);
	rest = x & (2 * half - 1);
	if (rest > half || (rest == half && kept % 2))
		kept++;
	return kept - (UINT64_C(1) << frac_bits) +
	       ((uint64_t)(top + bias) << frac_bits);
}

static void
wide_integers_round_once(void **state)
{
	uint64_t seed = 88172645463325252;
	enum tp_status rc;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t u;
		int64_t s;

		u = random_next(&seed) >> (i % 64);
		if (i % 3 == 0)
			u |= UINT64_C(1) << 63 | UINT64_C(1) << 10;
		if (i % 5 == 0)
			u = (u & ~UINT64_C(0x7ff)) | 0x400;
		assert_int_equal(convert_one(TP_DTYPE_F64, TP_DTYPE_U64, &u,
				     TP_OVERFLOW_ERROR, &rc),
		    u64_to_float(u, 52, 1023));
		assert_int_equal(convert_one(TP_DTYPE_F32, TP_DTYPE_U64, &u,
				     TP_OVERFLOW_ERROR, &rc),
		    u64_to_float(u, 23, 127));
		assert_int_equal(convert_one(TP_DTYPE_BF16, TP_DTYPE_U64, &u,
				     TP_OVERFLOW_ERROR, &rc),
		    u64_to_float(u, 7, 127));
		s = -(int64_t)(u >> 1);
		assert_int_equal(convert_one(TP_DTYPE_F32, TP_DTYPE_I64, &s,
				     TP_OVERFLOW_ERROR, &rc),
		    u64_to_float(u >> 1, 23, 127) |
			(s ? UINT32_C(1) << 31 : 0));
	}
}

static void
integers_fit_or_overflow(void **state)
{
	static const struct {
		enum tp_dtype src;
		uint64_t x;
		enum tp_dtype dst;
		uint64_t saturated;
		bool fits;
	} rows[] = {
	    {TP_DTYPE_U64, UINT64_MAX, TP_DTYPE_I64, INT64_MAX, false},
	    {TP_DTYPE_U64, INT64_MAX, TP_DTYPE_I64, INT64_MAX, true},
	    {TP_DTYPE_I64, UINT64_C(1) << 63, TP_DTYPE_U64, 0, false},
	    {TP_DTYPE_I64, UINT64_C(1) << 63, TP_DTYPE_I32, 0x80000000, false},
	    {TP_DTYPE_I64, (uint64_t)-129, TP_DTYPE_I8, 0x80, false},
	    {TP_DTYPE_I64, (uint64_t)-128, TP_DTYPE_I8, 0x80, true},
	    {TP_DTYPE_I64, (uint64_t)-8, TP_DTYPE_I4, 8, true},
	    {TP_DTYPE_I64, 8, TP_DTYPE_I4, 7, false},
	    {TP_DTYPE_U64, 3, TP_DTYPE_U2, 3, true},
	    {TP_DTYPE_U64, 4, TP_DTYPE_U2, 3, false},
	    {TP_DTYPE_U64, 65520, TP_DTYPE_F16, 0x7bff, false},
	    {TP_DTYPE_U64, 65519, TP_DTYPE_F16, 0x7bff, true},
	    {TP_DTYPE_U64, 2, TP_DTYPE_BOOL, 1, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		enum tp_status rc;

		assert_int_equal(convert_one(rows[i].dst, rows[i].src,
				     &rows[i].x, TP_OVERFLOW_SATURATE, &rc),
		    rows[i].saturated);
		assert_int_equal(rc, TP_OK);
		convert_one(rows[i].dst, rows[i].src, &rows[i].x,
		    TP_OVERFLOW_ERROR, &rc);
		assert_int_equal(rc, rows[i].fits ? TP_OK : TP_ERANGE);
	}
}

static void
policies_decide_about_overflow(void **state)
{
	/* NO: refused. Columns: 70000 and -70000 by inf, nan; NaN. */
	enum { NO = -1 };
	static const struct {
		enum tp_dtype dtype;
		int inf, neg_inf, nan, neg_nan, from_nan;
	} rows[] = {
	    {TP_DTYPE_F16, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7e00},
	    {TP_DTYPE_F8E5M2, 0x7c, 0xfc, 0x7e, 0xfe, 0x7e},
	    {TP_DTYPE_F8E4M3FN, 0x7e, 0xfe, 0x7f, 0xff, 0x7f},
	    {TP_DTYPE_F8E4M3FNUZ, 0x7f, 0xff, 0x80, 0x80, 0x80},
	    {TP_DTYPE_F4E2M1, 0x7, 0xf, NO, NO, NO},
	    {TP_DTYPE_F6E2M3, 0x1f, 0x3f, NO, NO, NO},
	    {TP_DTYPE_I16, 0x7fff, 0x8000, NO, NO, NO},
	    {TP_DTYPE_U8, 0xff, 0, NO, NO, NO},
	};
	const double big = 70000, small = -70000, nan_ = NAN;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct {
			const double *x;
			enum tp_overflow overflow;
			int want;
		} tries[] = {
		    {&big, TP_OVERFLOW_INF, rows[i].inf},
		    {&small, TP_OVERFLOW_INF, rows[i].neg_inf},
		    {&big, TP_OVERFLOW_NAN, rows[i].nan},
		    {&small, TP_OVERFLOW_NAN, rows[i].neg_nan},
		    {&nan_, TP_OVERFLOW_SATURATE, rows[i].from_nan},
		    {&nan_, TP_OVERFLOW_ERROR, rows[i].from_nan},
		    {&big, TP_OVERFLOW_ERROR, NO},
		};

		for (size_t j = 0; j < COUNT_OF(tries); j++) {
			enum tp_status rc;
			uint64_t code = convert_one(rows[i].dtype, TP_DTYPE_F64,
			    tries[j].x, tries[j].overflow, &rc);

			assert_int_equal(
			    rc, tries[j].want == NO ? TP_ERANGE : TP_OK);
			if (!rc)
				assert_int_equal(code, tries[j].want);
		}
	}
}

/*
 * The value of a code. A function of i386 returns it in a register of the x87,
 * to which a signalling NaN comes as a quiet one; memory has all bits.
 */
static void
load_in_memory(enum tp_dtype dtype, const void *code, double *x)
{
	double loaded = tp_load_f64(dtype, code, 0);
	enum tp_status rc;
	uint64_t bits =
	    convert_one(TP_DTYPE_F64, dtype, code, TP_OVERFLOW_INF, &rc);

	assert_int_equal(rc, TP_OK);
	memcpy(x, &bits, sizeof(*x));
	assert_true(isnan(loaded) ? isnan(*x) : loaded == *x);
}

/*
 * Every dtype of up to 8 bits, all codes, to every real dtype. A double holds
 * all these values, and what a double becomes was tested above.
 */
static void
every_pair_agrees_with_the_way_over_f64(void **state)
{
	(void)state;
	for (int src = 1; src < TP_DTYPE_COUNT; src++) {
		unsigned bits = tp_dtype_bits((enum tp_dtype)src);

		if (bits == 0 || bits > 8)
			continue;
		for (int dst = 1; dst < TP_DTYPE_COUNT; dst++) {
			enum tp_dtype_kind kind =
			    tp_dtype_kind((enum tp_dtype)dst);

			if (kind == TP_KIND_COMPLEX || kind == TP_KIND_STRING)
				continue;
			for (unsigned code = 0; code < 1u << bits; code++) {
				uint8_t c = (uint8_t)code;
				double x;
				enum tp_status rc, rc2;
				uint64_t a, b;

				load_in_memory((enum tp_dtype)src, &c, &x);

				a = convert_one((enum tp_dtype)dst,
				    (enum tp_dtype)src, &c, TP_OVERFLOW_INF,
				    &rc);
				b = convert_one((enum tp_dtype)dst,
				    TP_DTYPE_F64, &x, TP_OVERFLOW_INF, &rc2);
				assert_int_equal(rc, rc2);
				if (!rc)
					assert_int_equal(a, b);
			}
		}
	}
}

static void
narrow_elements_are_packed_from_the_low_bits(void **state)
{
	static const float x[] = {1, -2, 3, 0, -4, 2, 1};
	static const float y[] = {0.5f, -6, 1, 0, 3};
	uint8_t out[8];

	(void)state;
	memset(out, 0xaa, sizeof(out));
	assert_int_equal(tp_convert(TP_DTYPE_I4, out, TP_DTYPE_F32, x, 7,
			     TP_OVERFLOW_ERROR, 0, NULL, NULL),
	    TP_OK);
	assert_memory_equal(out, "\xe1\x03\x2c\x01\xaa", 5);
	memset(out, 0xaa, sizeof(out));
	assert_int_equal(tp_convert(TP_DTYPE_F4E2M1, out, TP_DTYPE_F32, y, 5,
			     TP_OVERFLOW_ERROR, 0, NULL, NULL),
	    TP_OK);
	assert_memory_equal(out, "\xf1\x02\x05\xaa", 4);
	/* 6 bits: 0.125 = 1, 1 = 8, -7.5 = 63, 0.5 = 4, 2 = 16 */
	{
		static const float z[] = {0.125f, 1, -7.5f, 0.5f, 2};

		memset(out, 0xaa, sizeof(out));
		assert_int_equal(tp_convert(TP_DTYPE_F6E2M3, out, TP_DTYPE_F32,
				     z, 5, TP_OVERFLOW_ERROR, 0, NULL, NULL),
		    TP_OK);
		assert_memory_equal(out, "\x01\xf2\x13\x10\xaa", 5);
		for (size_t i = 0; i < COUNT_OF(z); i++)
			assert_true(
			    tp_load_f64(TP_DTYPE_F6E2M3, out, i) == z[i]);
	}
	/* A copy clears what is left of the last byte. */
	assert_int_equal(
	    tp_convert(TP_DTYPE_U4, out, TP_DTYPE_U4, "\xff\xff\xff", 5,
		TP_OVERFLOW_ERROR, 0, NULL, NULL),
	    TP_OK);
	assert_memory_equal(out, "\xff\xff\x0f", 3);
}

static void
complex_numbers_have_two_parts(void **state)
{
	static const float x[] = {1, -2, 70000, 1e-12f};
	struct tp_cast_stats stats = {0};
	struct tp_err err = TP_ERR_INIT;
	double out[4];
	float back[4];

	(void)state;
	assert_int_equal(tp_convert(TP_DTYPE_C128, out, TP_DTYPE_C64, x, 2,
			     TP_OVERFLOW_ERROR, 0, &stats, NULL),
	    TP_OK);
	for (size_t i = 0; i < 4; i++)
		assert_true(out[i] == x[i]);
	assert_int_equal(stats.n, 2);
	assert_int_equal(tp_convert(TP_DTYPE_C64, back, TP_DTYPE_F64, out, 2,
			     TP_OVERFLOW_ERROR, 0, NULL, NULL),
	    TP_OK);
	assert_true(back[0] == 1 && back[1] == 0 && back[2] == -2);
	assert_true(tp_load_f64(TP_DTYPE_C64, x, 1) == 70000);
	assert_int_equal(tp_convert(TP_DTYPE_F32, back, TP_DTYPE_C64, x, 2,
			     TP_OVERFLOW_ERROR, 0, NULL, &err),
	    TP_EUNSUPPORTED);
	assert_string_equal(err.msg, "c64 does not convert to f32");
	assert_int_equal(tp_convert(TP_DTYPE_F32, back, TP_DTYPE_STRING, x, 2,
			     TP_OVERFLOW_ERROR, 0, NULL, &err),
	    TP_EUNSUPPORTED);
}

static void
counts_tell_what_was_lost(void **state)
{
	const float x[] = {1, 70000, 1e-12f, 6e-8f, NAN, -INFINITY, 0, -1e9f,
	    1.0f + 0x1p-11f, 2049, -0.0f};
	struct tp_cast_stats s = {0};
	uint16_t out[COUNT_OF(x)];

	(void)state;
	assert_int_equal(tp_convert(TP_DTYPE_F16, out, TP_DTYPE_F32, x,
			     COUNT_OF(x), TP_OVERFLOW_INF, 100, &s, NULL),
	    TP_OK);
	assert_int_equal(s.n, COUNT_OF(x));
	assert_int_equal(s.n_overflow, 2);
	assert_int_equal(s.first_overflow, 101);
	assert_true(s.first_overflow_value == 70000);
	assert_int_equal(s.n_to_zero, 1);
	assert_int_equal(s.n_to_subnormal, 1);
	assert_int_equal(s.n_nan, 1);
	assert_int_equal(s.n_inf, 1);
	assert_int_equal(s.n_inexact, 4);
	assert_true(s.max_rel_error == 1);
	assert_int_equal(s.max_rel_index, 102);

	/* The same struct again adds up. */
	assert_int_equal(tp_convert(TP_DTYPE_F16, out, TP_DTYPE_F32, x, 2,
			     TP_OVERFLOW_INF, 0, &s, NULL),
	    TP_OK);
	assert_int_equal(s.n, COUNT_OF(x) + 2);
	assert_int_equal(s.n_overflow, 3);
	assert_int_equal(s.first_overflow, 1);
}

static void
errors_name_element_and_value(void **state)
{
	const float x[] = {1, 2, -70000, NAN};
	struct tp_cast_stats s = {.n = 5}, before = s;
	struct tp_err err = TP_ERR_INIT;
	uint16_t out[4];

	(void)state;
	assert_int_equal(tp_convert(TP_DTYPE_F16, out, TP_DTYPE_F32, x, 4,
			     TP_OVERFLOW_ERROR, 1000, &s, &err),
	    TP_ERANGE);
	assert_string_equal(
	    err.msg, "element 1002 is -70000, out of the range of f16");
	assert_memory_equal(&s, &before, sizeof(s));
	assert_int_equal(tp_convert(TP_DTYPE_U16, out, TP_DTYPE_F32, x + 3, 1,
			     TP_OVERFLOW_SATURATE, 3, &s, &err),
	    TP_ERANGE);
	assert_string_equal(err.msg, "element 3 is NaN, which u16 has not");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_code_has_its_value),
	    cmocka_unit_test(rounding_is_to_nearest_even),
	    cmocka_unit_test(known_roundings),
	    cmocka_unit_test(doubles_round_once),
	    cmocka_unit_test(wide_integers_round_once),
	    cmocka_unit_test(integers_fit_or_overflow),
	    cmocka_unit_test(policies_decide_about_overflow),
	    cmocka_unit_test(every_pair_agrees_with_the_way_over_f64),
	    cmocka_unit_test(narrow_elements_are_packed_from_the_low_bits),
	    cmocka_unit_test(complex_numbers_have_two_parts),
	    cmocka_unit_test(counts_tell_what_was_lost),
	    cmocka_unit_test(errors_name_element_and_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
