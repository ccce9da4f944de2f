/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every dtype to every other, random values, packed and as strided tensors,
 * against a model that knows only what a code means and what rounding is.
 * TP_TEST_SEED and TP_TEST_ROUNDS choose others and more.
 *
 * The model holds a value as long double, which must hold an i64 exactly.
 */
#include "support/cmocka_all.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"
#include "tp/layout.h"
#include "tp/view.h"

#include "support/narrow.h"

#define N_ELEMS 105 /* 3 x 5 x 7 */
#define SKIPPED 77

static uint64_t rng_state;

static uint64_t
rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state;
}

/* An element as it is stored; high is the imaginary part of a c128. */
struct code {
	uint64_t low, high;
};

static struct code
get_code(enum tp_dtype dtype, const uint8_t *p, size_t i)
{
	unsigned bits = tp_dtype_bits(dtype);
	struct code c = {0, 0};

	if (bits < 8) {
		for (unsigned b = 0; b < bits; b++) {
			size_t at = i * bits + b;

			c.low |= (uint64_t)(p[at / 8] >> at % 8 & 1) << b;
		}
	} else if (bits == 8) {
		c.low = p[i];
	} else if (bits == 16) {
		uint16_t x;

		memcpy(&x, p + 2 * i, 2);
		c.low = x;
	} else if (bits == 32) {
		uint32_t x;

		memcpy(&x, p + 4 * i, 4);
		c.low = x;
	} else if (dtype == TP_DTYPE_C64) {
		uint32_t x[2];

		memcpy(x, p + 8 * i, 8);
		c.low = x[0];
		c.high = x[1];
	} else if (bits == 64) {
		memcpy(&c.low, p + 8 * i, 8);
	} else {
		memcpy(&c, p + 16 * i, 16);
	}
	return c;
}

static const struct narrow *
narrow_of(enum tp_dtype dtype)
{
	for (size_t i = 0; i < N_NARROWS; i++)
		if (narrows[i].dtype == dtype)
			return &narrows[i];
	return NULL;
}

/* The float that a part of a complex number is; others are themselves. */
static enum tp_dtype
part_of(enum tp_dtype dtype)
{
	if (dtype == TP_DTYPE_C64)
		return TP_DTYPE_F32;
	return dtype == TP_DTYPE_C128 ? TP_DTYPE_F64 : dtype;
}

/* What a code means. */
static long double
decode(enum tp_dtype dtype, uint64_t code)
{
	const struct narrow *t = narrow_of(dtype);
	unsigned bits = tp_dtype_bits(dtype);

	if (t) {
		bool neg = code & narrow_sign(t);
		uint32_t size = (uint32_t)code & (narrow_sign(t) - 1);
		double x = narrow_is_inf(t, size) ? (double)INFINITY
						  : narrow_value(t, size);

		if (narrow_is_nan(t, (uint32_t)code))
			x = (double)NAN;
		return neg ? -x : x;
	}
	if (dtype == TP_DTYPE_F8E8M0)
		return code == 255 ? NAN : ldexp(1, (int)code - 127);
	if (dtype == TP_DTYPE_F32) {
		uint32_t c = (uint32_t)code;
		float x;

		memcpy(&x, &c, 4);
		return x;
	}
	if (dtype == TP_DTYPE_F64) {
		double x;

		memcpy(&x, &code, 8);
		return x;
	}
	if (tp_dtype_kind(dtype) == TP_KIND_INT && code >> (bits - 1))
		return -(long double)((~code & (UINT64_MAX >> (64 - bits)))) -
		       1;
	return (long double)code;
}

/* The nearest code of a narrow float without its sign, ties to even. */
static uint32_t
nearest(const struct narrow *t, long double size)
{
	uint32_t low = 0, high = narrow_max(t) + 1;
	long double half;

	if (size >= narrow_value(t, high))
		return high;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (narrow_value(t, middle) <= size)
			low = middle;
		else
			high = middle;
	}
	half = ((long double)narrow_value(t, low) + narrow_value(t, high)) / 2;
	return size > half || (size == half && low % 2) ? high : low;
}

/*
 * A power of two by its exponent, halfway the higher one; what is not positive
 * is the least one.
 */
static uint64_t
nearest_e8m0(long double x)
{
	uint64_t code = 0;

	while (code < 254 && x >= 1.5L * ldexp(1, (int)code - 127))
		code++;
	return code;
}

static bool
is_nan_code(enum tp_dtype dtype, uint64_t code)
{
	return isnan(decode(dtype, code));
}

/* What x becomes where it fits, else the nearest; NaN was dealt with. */
static uint64_t
encode(enum tp_dtype dtype, long double x)
{
	const struct narrow *t = narrow_of(dtype);
	unsigned bits = tp_dtype_bits(dtype);

	if (dtype == TP_DTYPE_BOOL)
		return x != 0;
	if (t) {
		uint32_t code = nearest(t, fabsl(x));

		if (code > narrow_max(t) && !(isinf(x) && t->nan == IEEE_NAN))
			code = narrow_max(t);
		return narrow_with_sign(t, code, signbit(x));
	}
	if (dtype == TP_DTYPE_F8E8M0)
		return nearest_e8m0(x);
	if (dtype == TP_DTYPE_F32) {
		float y = (float)x;
		uint32_t c;

		if (isinf(y) && !isinf(x))
			y = copysignf(FLT_MAX, y);
		memcpy(&c, &y, 4);
		return c;
	}
	if (dtype == TP_DTYPE_F64) {
		double y = (double)x;
		uint64_t c;

		memcpy(&c, &y, 8);
		return c;
	}
	x = rintl(x);
	if (tp_dtype_kind(dtype) == TP_KIND_UINT) {
		if (x <= 0)
			return 0;
		return x >= ldexpl(1, (int)bits) ? UINT64_MAX >> (64 - bits)
						 : (uint64_t)x;
	}
	if (x < -ldexpl(1, (int)bits - 1))
		x = -ldexpl(1, (int)bits - 1);
	if (x >= ldexpl(1, (int)bits - 1))
		return (UINT64_C(1) << (bits - 1)) - 1;
	return (uint64_t)(int64_t)x & UINT64_MAX >> (64 - bits);
}

static bool
has_nan(enum tp_dtype dtype)
{
	const struct narrow *t = narrow_of(dtype);

	return tp_dtype_kind(dtype) == TP_KIND_FLOAT &&
	       !(t && t->nan == NO_NAN);
}

static void
check_part(enum tp_dtype to, uint64_t got, enum tp_dtype from, uint64_t code)
{
	long double x = decode(from, code);
	uint64_t want;

	if (isnan(x) && to != TP_DTYPE_BOOL) {
		if (!is_nan_code(to, got))
			fail_msg("%s 0x%llx to %s: 0x%llx is no NaN",
			    tp_dtype_name(from), (unsigned long long)code,
			    tp_dtype_name(to), (unsigned long long)got);
		return;
	}
	want = isnan(x) ? 1 : encode(to, x);
	if (got != want)
		fail_msg("%s 0x%llx to %s: 0x%llx, expected 0x%llx",
		    tp_dtype_name(from), (unsigned long long)code,
		    tp_dtype_name(to), (unsigned long long)got,
		    (unsigned long long)want);
}

static void
check_element(
    enum tp_dtype to, struct code got, enum tp_dtype from, struct code code)
{
	bool to_pair = tp_dtype_kind(to) == TP_KIND_COMPLEX;
	bool from_pair = tp_dtype_kind(from) == TP_KIND_COMPLEX;

	check_part(part_of(to), got.low, part_of(from), code.low);
	if (to_pair && from_pair)
		check_part(part_of(to), got.high, part_of(from), code.high);
	else if (to_pair)
		assert_int_equal(got.high, 0);
}

/* Any bits; or, where that is a float, something of moderate size. */
static void
random_elements(enum tp_dtype dtype, uint8_t *to, size_t nbytes)
{
	size_t size = tp_dtype_bits(part_of(dtype)) / 8;
	bool any = rng() % 2;

	for (size_t i = 0; i < nbytes; i++)
		to[i] =
		    dtype == TP_DTYPE_BOOL ? rng() % 2 : (uint8_t)(rng() >> 11);
	if (any || size < 4)
		return;
	for (size_t at = 0; at < nbytes; at += size) {
		double x =
		    ldexp((double)(int64_t)rng(), (int)(rng() % 80) - 79);
		float f = (float)x;
		uint64_t shifted = rng() >> rng() % 64;

		if (part_of(dtype) == TP_DTYPE_F32)
			memcpy(to + at, &f, 4);
		else if (part_of(dtype) == TP_DTYPE_F64)
			memcpy(to + at, &x, 8);
		else if (size == 8)
			memcpy(to + at, &shifted, 8);
	}
}

/* A NaN has nowhere to go but where there is one, or truth. */
static enum tp_status
expected_status(enum tp_dtype to, enum tp_dtype from, const uint8_t *src)
{
	bool from_pair = tp_dtype_kind(from) == TP_KIND_COMPLEX;

	if (from_pair && tp_dtype_kind(to) != TP_KIND_COMPLEX)
		return TP_EUNSUPPORTED;
	if (to == TP_DTYPE_BOOL)
		return TP_OK;
	if (has_nan(part_of(to)))
		return TP_OK;
	for (size_t i = 0; i < N_ELEMS; i++)
		if (is_nan_code(from, get_code(from, src, i).low))
			return TP_ERANGE;
	return TP_OK;
}

/* The same by way of tensors that lie in memory in odd orders. */
static void
assign_strided(enum tp_dtype to, enum tp_dtype from, const uint8_t *src)
{
	const int64_t from_sizes[] = {7, 3, 5}, to_sizes[] = {5, 7, 3};
	const int from_axes[] = {1, 2, 0}, to_axes[] = {2, 0, 1};
	struct tp_tensor *s = NULL, *sp = NULL, *sv = NULL, *d = NULL,
			 *dv = NULL;
	uint8_t in[N_ELEMS * 16], out[N_ELEMS * 16];
	struct tp_strided layout;

	/* Both are [3, 5, 7] in the end; the source is backwards, too. */
	assert_int_equal(
	    tp_tensor_empty(NULL, from, from_sizes, 3, &s, NULL), TP_OK);
	memcpy(tp_tensor_data_mut(s), src, N_ELEMS * tp_dtype_bits(from) / 8);
	assert_int_equal(tp_tensor_permute(s, from_axes, 3, &sp, NULL), TP_OK);
	assert_int_equal(tp_tensor_flip(sp, 1, &sv, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_empty(NULL, to, to_sizes, 3, &d, NULL), TP_OK);
	assert_int_equal(tp_tensor_permute(d, to_axes, 3, &dv, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_assign(dv, sv, TP_OVERFLOW_SATURATE, NULL), TP_OK);
	layout = tp_tensor_strided(sv);
	tp_gather(&layout, 0, N_ELEMS, in);
	layout = tp_tensor_strided(dv);
	tp_gather(&layout, 0, N_ELEMS, out);
	for (size_t i = 0; i < N_ELEMS; i++)
		check_element(
		    to, get_code(to, out, i), from, get_code(from, in, i));
	tp_tensor_free(s);
	tp_tensor_free(sp);
	tp_tensor_free(sv);
	tp_tensor_free(d);
	tp_tensor_free(dv);
}

static void
check_pair(enum tp_dtype to, enum tp_dtype from)
{
	_Alignas(16) uint8_t src[N_ELEMS * 16], dst[N_ELEMS * 16];
	size_t nbytes = (N_ELEMS * tp_dtype_bits(from) + 7) / 8;
	enum tp_status rc;

	random_elements(from, src, nbytes);
	rc = tp_convert(
	    to, dst, from, src, N_ELEMS, TP_OVERFLOW_SATURATE, 0, NULL, NULL);
	if (rc != expected_status(to, from, src))
		fail_msg("%s to %s: %s", tp_dtype_name(from), tp_dtype_name(to),
		    tp_status_text(rc));
	if (rc)
		return;
	for (size_t i = 0; i < N_ELEMS; i++)
		check_element(
		    to, get_code(to, dst, i), from, get_code(from, src, i));
	if (to != from && tp_dtype_bits(to) >= 8 && tp_dtype_bits(from) >= 8)
		assign_strided(to, from, src);
}

static void
every_pair_agrees_with_the_model(void **state)
{
	const char *text = getenv("TP_TEST_SEED");
	const char *count = getenv("TP_TEST_ROUNDS");
	uint64_t seed = text ? strtoull(text, NULL, 10) : 20261130;
	unsigned long n_rounds = count ? strtoul(count, NULL, 10) : 20;

	(void)state;
	print_message("TP_TEST_SEED=%llu TP_TEST_ROUNDS=%lu\n",
	    (unsigned long long)seed, n_rounds);
	rng_state = seed ? seed : 1;
	for (unsigned long k = 0; k < n_rounds; k++)
		for (int to = 1; to < TP_DTYPE_COUNT; to++)
			for (int from = 1; from < TP_DTYPE_COUNT; from++)
				if (to != TP_DTYPE_STRING &&
				    from != TP_DTYPE_STRING)
					check_pair((enum tp_dtype)to,
					    (enum tp_dtype)from);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_pair_agrees_with_the_model),
	};

	if (LDBL_MANT_DIG < 64) {
		fprintf(stderr,
		    "SKIP: long double has %d bits here, the model needs 64\n",
		    LDBL_MANT_DIG);
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
