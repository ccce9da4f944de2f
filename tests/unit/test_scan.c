/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c: every code of narrow floats, positions, constants, pieces */
#include "support/cmocka_all.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/scan.h"

/* All codes once, classed by the numbers that they are. */
static void
all_codes(enum tp_dtype dtype, double least_normal)
{
	size_t n = (size_t)1 << tp_dtype_bits(dtype);
	uint16_t *codes = calloc(n, sizeof(*codes));
	double *x = calloc(n, sizeof(*x));
	uint64_t nan = 0, inf = 0, subnormal = 0, zero = 0;
	uint64_t first_nan = 0, first_inf = 0;
	struct tp_scan s = {0};

	for (size_t i = 0; i < n; i++) {
		codes[i] = (uint16_t)i;
		if (n == 256)
			((uint8_t *)codes)[i] = (uint8_t)i;
	}
	assert_int_equal(tp_convert(TP_DTYPE_F64, x, dtype, codes, n,
			     TP_OVERFLOW_INF, 0, NULL, NULL),
	    TP_OK);
	for (size_t i = 0; i < n; i++) {
		if (isnan(x[i]) && nan++ == 0)
			first_nan = i;
		if (isinf(x[i]) && inf++ == 0)
			first_inf = i;
		zero += x[i] == 0;
		subnormal += x[i] != 0 && fabs(x[i]) < least_normal;
	}
	assert_int_equal(tp_scan_add(&s, dtype, codes, n, NULL), TP_OK);
	assert_int_equal(s.n, n);
	assert_int_equal(s.n_nan, nan);
	assert_int_equal(s.n_inf, inf);
	assert_int_equal(s.n_zero, zero);
	assert_int_equal(s.n_subnormal, subnormal);
	assert_int_equal(s.first_nan, first_nan);
	assert_int_equal(s.first_inf, first_inf);
	assert_true(s.varies);
	assert_false(tp_scan_all_zero(&s, dtype));
	free(codes);
	free(x);
}

static void
codes_of_narrow_floats(void **state)
{
	(void)state;
	all_codes(TP_DTYPE_F16, ldexp(1, -14));
	all_codes(TP_DTYPE_BF16, ldexp(1, -126));
	all_codes(TP_DTYPE_F8E4M3FN, ldexp(1, -6));
	all_codes(TP_DTYPE_F8E5M2, ldexp(1, -14));
	all_codes(TP_DTYPE_F8E4M3FNUZ, ldexp(1, -7));
	all_codes(TP_DTYPE_F8E5M2FNUZ, ldexp(1, -15));
	all_codes(TP_DTYPE_F8E8M0, 0);
}

/* One odd value at each of many places of many, given in pieces. */
static void
places(void **state)
{
	enum { N = 70000 };
	static float x[N];
	static double y[N];

	(void)state;
	for (size_t i = 0; i < N; i++)
		y[i] = x[i] = 1.5F;
	for (size_t at = 0; at < N; at = at * 3 + 1) {
		struct tp_scan s = {0}, d = {0};

		x[at] = -NAN;
		x[N - 1] = -INFINITY;
		y[at] = DBL_MIN / 2;
		for (size_t i = 0; i < N; i += 32768) {
			size_t n = N - i < 32768 ? N - i : 32768;

			assert_int_equal(
			    tp_scan_add(&s, TP_DTYPE_F32, x + i, n, NULL),
			    TP_OK);
			assert_int_equal(
			    tp_scan_add(&d, TP_DTYPE_F64, y + i, n, NULL),
			    TP_OK);
		}
		assert_int_equal(s.n, N);
		assert_int_equal(s.n_nan, 1);
		assert_int_equal(s.first_nan, at);
		assert_int_equal(s.n_inf, 1);
		assert_int_equal(s.first_inf, N - 1);
		assert_int_equal(d.n_subnormal, 1);
		assert_int_equal(d.n_nan + d.n_inf + d.n_zero, 0);
		assert_true(s.varies && d.varies);
		x[at] = 1.5F;
		y[at] = 1.5;
	}
}

static struct tp_scan
scan(enum tp_dtype dtype, const void *src, size_t n)
{
	struct tp_scan s = {0};

	assert_int_equal(tp_scan_add(&s, dtype, src, n, NULL), TP_OK);
	return s;
}

static void
complex_parts(void **state)
{
	const float x[] = {0, 1, 2, NAN, INFINITY, NAN};
	struct tp_scan s = scan(TP_DTYPE_C64, x, 3);

	(void)state;
	assert_int_equal(s.n, 3);
	assert_int_equal(s.n_nan, 2);
	assert_int_equal(s.first_nan, 1);
	assert_int_equal(s.first_inf, 2);
}

/* Constants of every width; of narrow ones the unused bits do not count. */
static void
constants(void **state)
{
	const uint8_t nibbles[] = {0x33, 0x33, 0x33, 0x33, 0xf3};
	const uint8_t sixes[] = {0x41, 0x10, 0x04, 0x41, 0x10, 0x04, 0xc1, 0};
	const uint8_t none[] = {0, 0, 0, 0x80};
	const double zeros[] = {0.0, -0.0, 0.0};
	const int64_t ints[] = {7, 7, 7, 7};
	const uint8_t bools[] = {1, 2, 0, 255};
	struct tp_scan s;

	(void)state;
	assert_false(scan(TP_DTYPE_U4, nibbles, 9).varies);
	assert_true(scan(TP_DTYPE_U4, nibbles, 10).varies);
	assert_false(scan(TP_DTYPE_F6E2M3, sixes, 9).varies);
	assert_true(scan(TP_DTYPE_F6E2M3, sixes, 10).varies);
	assert_false(scan(TP_DTYPE_I64, ints, 4).varies);
	s = scan(TP_DTYPE_F64, zeros, 3);
	assert_true(s.varies && tp_scan_all_zero(&s, TP_DTYPE_F64));
	s = scan(TP_DTYPE_I4, none, 7);
	assert_true(!s.varies && tp_scan_all_zero(&s, TP_DTYPE_I4));
	s = scan(TP_DTYPE_I4, none, 8);
	assert_true(s.varies && !tp_scan_all_zero(&s, TP_DTYPE_I4));
	s = scan(TP_DTYPE_U8, none, 4);
	assert_false(tp_scan_all_zero(&s, TP_DTYPE_U8));
	s = scan(TP_DTYPE_F8E8M0, none, 3);
	assert_false(tp_scan_all_zero(&s, TP_DTYPE_F8E8M0));
	assert_int_equal(scan(TP_DTYPE_BOOL, bools, 4).n_odd_bool, 2);
	s = scan(TP_DTYPE_F32, NULL, 0);
	assert_false(tp_scan_all_zero(&s, TP_DTYPE_F32));
	assert_int_equal(
	    tp_scan_add(&s, TP_DTYPE_STRING, "", 1, NULL), TP_EUNSUPPORTED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(codes_of_narrow_floats),
	    cmocka_unit_test(places),
	    cmocka_unit_test(complex_parts),
	    cmocka_unit_test(constants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
