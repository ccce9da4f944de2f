/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c and its kernels: many elements at once, as loops and tables do */
#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "tp/convert.h"

#include "support/float_bits.h"
#include "support/random.h"

/*
 * Blocks of many f64 to f32, which a kernel of its own converts. What a finite
 * one must become is what the cast of C gives.
 */
static void
many_doubles_become_floats(void **state)
{
	static double x[5000];
	static uint32_t got[5000];
	struct tp_cast_stats s = {0}, want = {.n = COUNT_OF(x)};
	uint64_t seed = 88172645463325252;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(x); i++) {
		uint64_t bits;

		bits = random_next(&seed);
		/* Exponents about the range of f32, at times anything. */
		if (i % 16)
			bits = (bits & ~(UINT64_C(0x7ff) << 52)) |
			       (873 + bits % 280) << 52;
		if (i % 8 == 0)
			bits &= ~UINT64_C(0x0fffffff); /* ties */
		if (i % 97 == 0)
			bits |= UINT64_C(0x7ff) << 52;
		if (i % 194 == 0)
			bits &= UINT64_C(0xfff) << 52;
		memcpy(x + i, &bits, sizeof(bits));
	}
	assert_int_equal(tp_convert(TP_DTYPE_F32, got, TP_DTYPE_F64, x,
			     COUNT_OF(x), TP_OVERFLOW_INF, 0, &s, NULL),
	    TP_OK);
	for (size_t i = 0; i < COUNT_OF(x); i++) {
		float f = (float)x[i];
		uint32_t bits;

		memcpy(&bits, &f, sizeof(bits));
		if (isnan(x[i])) {
			uint32_t payload =
			    (uint32_t)(f64_bits(x[i]) >> 29) & 0x7fffff;

			want.n_nan++;
			bits = (uint32_t)(f64_bits(x[i]) >> 32 & 0x80000000) |
			       0x7f800000 | (payload ? payload : 0x400000);
		} else if (isinf(x[i])) {
			want.n_inf++;
		} else if (isinf(f)) {
			if (want.n_overflow++ == 0) {
				want.first_overflow = i;
				want.first_overflow_value = x[i];
			}
		} else if ((double)f != x[i]) {
			double e = fabs((double)f - x[i]) / fabs(x[i]);

			want.n_inexact++;
			want.n_to_zero += f == 0;
			if (e > want.max_rel_error) {
				want.max_rel_error = e;
				want.max_rel_index = i;
			}
		}
		want.n_to_subnormal += f != 0 && fabsf(f) < 0x1p-126f;
		assert_int_equal(got[i], bits);
	}
	assert_true(want.n_nan && want.n_inf && want.n_overflow &&
		    want.n_to_zero && want.n_to_subnormal);
	assert_memory_equal(&s, &want, sizeof(s));
}

/* Widening keeps every code, NaNs with their payload too. */
static void
widening_goes_back_unchanged(void **state)
{
	static uint16_t all[65536], back[65536];
	static uint32_t wide[65536];
	static uint64_t wider[65536];
	static const enum tp_dtype dtypes[] = {TP_DTYPE_F16, TP_DTYPE_BF16};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(all); i++)
		all[i] = (uint16_t)i;
	for (size_t k = 0; k < COUNT_OF(dtypes); k++) {
		struct tp_cast_stats s = {0};

		assert_int_equal(tp_convert(TP_DTYPE_F32, wide, dtypes[k], all,
				     65536, TP_OVERFLOW_ERROR, 0, &s, NULL),
		    TP_OK);
		assert_int_equal(s.n_inf, 2);
		assert_int_equal(
		    s.n_nan, dtypes[k] == TP_DTYPE_F16 ? 2046 : 254);
		assert_int_equal(s.n_inexact, 0);
		assert_int_equal(
		    tp_convert(TP_DTYPE_F64, wider, TP_DTYPE_F32, wide, 65536,
			TP_OVERFLOW_ERROR, 0, NULL, NULL),
		    TP_OK);
		memset(wide, 0, sizeof(wide));
		assert_int_equal(
		    tp_convert(TP_DTYPE_F32, wide, TP_DTYPE_F64, wider, 65536,
			TP_OVERFLOW_ERROR, 0, NULL, NULL),
		    TP_OK);
		assert_int_equal(tp_convert(dtypes[k], back, TP_DTYPE_F32, wide,
				     65536, TP_OVERFLOW_ERROR, 0, NULL, NULL),
		    TP_OK);
		assert_memory_equal(back, all, sizeof(all));
	}
}

/*
 * Many elements of a narrow dtype at once give what one at a time gives, codes,
 * counts and errors alike.
 */
static void
many_at_once_are_as_one_by_one(void **state)
{
	enum { N = 9000 };
	static uint8_t x[N], got[N * 8], want[N * 8];
	static const enum tp_dtype targets[] = {TP_DTYPE_BOOL, TP_DTYPE_I8,
	    TP_DTYPE_U8, TP_DTYPE_F8E4M3FN, TP_DTYPE_F8E5M2FNUZ,
	    TP_DTYPE_F8E8M0, TP_DTYPE_F16, TP_DTYPE_F32, TP_DTYPE_F64};
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		seed = seed * 1664525 + 1013904223;
		x[i] = (uint8_t)(seed >> 24);
	}
	for (int src = 1; src < TP_DTYPE_F16; src++)
		for (size_t k = 0; k < 4 * COUNT_OF(targets); k++) {
			enum tp_dtype dst = targets[k / 4];
			enum tp_overflow overflow = (enum tp_overflow)(k % 4);
			size_t size = tp_dtype_bits(dst) / 8;
			unsigned bits = tp_dtype_bits((enum tp_dtype)src);
			struct tp_cast_stats a = {0}, b = {0};
			enum tp_status rc, all = TP_OK;

			if (bits > 8)
				continue;
			rc = tp_convert(dst, got, (enum tp_dtype)src, x, N,
			    overflow, 0, &a, NULL);
			for (size_t i = 0; i < N && !all; i += 8)
				all = tp_convert(dst, want + i * size,
				    (enum tp_dtype)src, x + i / 8 * bits, 8,
				    overflow, i, &b, NULL);
			assert_int_equal(rc, all);
			if (rc)
				continue;
			assert_memory_equal(got, want, N * size);
			assert_memory_equal(&a, &b, sizeof(a));
			memset(got, 0x55, sizeof(got));
			assert_int_equal(
			    tp_convert(dst, got, (enum tp_dtype)src, x, N,
				overflow, 0, NULL, NULL),
			    TP_OK);
			assert_memory_equal(got, want, N * size);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(many_doubles_become_floats),
	    cmocka_unit_test(widening_goes_back_unchanged),
	    cmocka_unit_test(many_at_once_are_as_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
