/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow.h - the narrow floats by their definition, for tests of conversions
 *
 * Values are made by ldexp from the fields of a code and are exact doubles, so
 * are the points halfway between neighbours; what a number must become is found
 * by comparing it with those. Nothing here comes from libtensor but the dtypes.
 */
#ifndef TESTS_NARROW_H
#define TESTS_NARROW_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "tp/dtype.h"

enum narrow_nan {
	NO_NAN,
	IEEE_NAN,      /* exponent all ones: fraction 0 infinite, others NaN */
	ALL_ONES_NAN,  /* one NaN per sign */
	MINUS_ZERO_NAN /* one NaN, the code of minus zero */
};

struct narrow {
	enum tp_dtype dtype;
	int exp_bits, frac_bits, bias;
	enum narrow_nan nan;
};

static const struct narrow narrows[] = {
    {TP_DTYPE_F4E2M1, 2, 1, 1, NO_NAN},
    {TP_DTYPE_F6E2M3, 2, 3, 1, NO_NAN},
    {TP_DTYPE_F6E3M2, 3, 2, 3, NO_NAN},
    {TP_DTYPE_F8E4M3FN, 4, 3, 7, ALL_ONES_NAN},
    {TP_DTYPE_F8E5M2, 5, 2, 15, IEEE_NAN},
    {TP_DTYPE_F8E4M3FNUZ, 4, 3, 8, MINUS_ZERO_NAN},
    {TP_DTYPE_F8E5M2FNUZ, 5, 2, 16, MINUS_ZERO_NAN},
    {TP_DTYPE_F16, 5, 10, 15, IEEE_NAN},
    {TP_DTYPE_BF16, 8, 7, 127, IEEE_NAN},
};
#define N_NARROWS (sizeof(narrows) / sizeof(narrows[0]))

static inline uint32_t
narrow_sign(const struct narrow *t)
{
	return UINT32_C(1) << (t->exp_bits + t->frac_bits);
}

/* The largest finite code without sign. */
static inline uint32_t
narrow_max(const struct narrow *t)
{
	uint32_t all = narrow_sign(t) - 1;

	if (t->nan == IEEE_NAN)
		return all - (UINT32_C(1) << t->frac_bits);
	return t->nan == ALL_ONES_NAN ? all - 1 : all;
}

/* The value of a code without sign, as if there were no largest. */
static inline double
narrow_value(const struct narrow *t, uint32_t code)
{
	int field = (int)(code >> t->frac_bits);
	int frac = (int)(code & ((UINT32_C(1) << t->frac_bits) - 1));

	if (field == 0)
		return ldexp(frac, 1 - t->bias - t->frac_bits);
	return ldexp(
	    frac + (1 << t->frac_bits), field - t->bias - t->frac_bits);
}

static inline bool
narrow_is_nan(const struct narrow *t, uint32_t code)
{
	uint32_t magnitude = code & (narrow_sign(t) - 1);

	switch (t->nan) {
	case NO_NAN:
		return false;
	case IEEE_NAN:
		return magnitude > narrow_max(t) + 1;
	case ALL_ONES_NAN:
		return magnitude > narrow_max(t);
	case MINUS_ZERO_NAN:
		return code == narrow_sign(t);
	}
	return false;
}

static inline bool
narrow_is_inf(const struct narrow *t, uint32_t code)
{
	return t->nan == IEEE_NAN &&
	       (code & (narrow_sign(t) - 1)) == narrow_max(t) + 1;
}

/*
 * The code without sign that is nearest to size >= 0, ties to even; one more
 * than the largest when size overflows.
 */
static inline uint32_t
narrow_nearest(const struct narrow *t, double size)
{
	uint32_t low = 0, high = narrow_max(t) + 1;
	double half;

	if (size >= narrow_value(t, high))
		return high;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (narrow_value(t, middle) <= size)
			low = middle;
		else
			high = middle;
	}
	half = (narrow_value(t, low) + narrow_value(t, high)) / 2;
	if (size > half || (size == half && low % 2 == 1))
		return high;
	return low;
}

static inline uint32_t
narrow_with_sign(const struct narrow *t, uint32_t code, bool neg)
{
	if (!neg || (code == 0 && t->nan == MINUS_ZERO_NAN))
		return code;
	return code | narrow_sign(t);
}

#endif
