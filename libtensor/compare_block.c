/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_block.c - elements of two tensors as doubles and as code distances
 *
 * A 64-bit integer is two doubles, the nearest one and what is left, so that
 * differences are exact where they are small and zero only where both are the
 * same. Distances are those of unsigned keys that ascend with the value.
 */
#include "compare_block.h"

#include <stdbool.h>
#include <string.h>

#include "tp/compare.h"
#include "tp/convert.h"

#include "compiler.h"
#include "packed.h"

#include "banned.h"

static const uint8_t *
address(const struct tpi_side *side, size_t first)
{
	return (const uint8_t *)side->data +
	       first / 8 * tp_dtype_bits(side->dtype);
}

static bool
is_integer(enum tp_dtype dtype)
{
	enum tp_dtype_kind kind = tp_dtype_kind(dtype);

	return kind == TP_KIND_INT || kind == TP_KIND_UINT ||
	       kind == TP_KIND_BOOL;
}

/*
 * ---- values ----
 */

/* X(ID, type): dtypes that a cast of C turns into their doubles. */
#define CASTS(X)         \
	X(F32, float)    \
	X(F64, double)   \
	X(I8, int8_t)    \
	X(U8, uint8_t)   \
	X(I16, int16_t)  \
	X(U16, uint16_t) \
	X(I32, int32_t)  \
	X(U32, uint32_t) \
	X(I64, int64_t)  \
	X(U64, uint64_t)

#define DEFINE(ID, type)                                                \
	TPI_CLONES static void load_##ID(                               \
	    double *restrict out, const uint8_t *restrict at, size_t n) \
	{                                                               \
		for (size_t i = 0; i < n; i++) {                        \
			type x;                                         \
                                                                        \
			memcpy(&x, at + i * sizeof(x), sizeof(x));      \
			out[i] = (double)x;                             \
		}                                                       \
	}
CASTS(DEFINE)
#undef DEFINE

typedef void load_fn(
    double *restrict out, const uint8_t *restrict at, size_t n);

static load_fn *const loaders[TP_DTYPE_COUNT] = {
#define ROW(ID, type) [TP_DTYPE_##ID] = load_##ID,
    CASTS(ROW)
#undef ROW
};

/*
 * Any dtype but complex numbers and strings converts, so the status is TP_OK.
 */
static void
load_values(const struct tpi_side *side, size_t first, size_t n, double *out)
{
	const uint8_t *at = address(side, first);
	float narrow[TPI_PAIRS];

	if (loaders[side->dtype]) {
		loaders[side->dtype](out, at, n);
	} else if (side->dtype == TP_DTYPE_F16 ||
		   side->dtype == TP_DTYPE_BF16) {
		(void)!tp_convert(TP_DTYPE_F32, narrow, side->dtype, at, n,
		    TP_OVERFLOW_INF, 0, NULL, NULL);
		load_F32(out, (const uint8_t *)narrow, n);
	} else {
		(void)!tp_convert(TP_DTYPE_F64, out, side->dtype, at, n,
		    TP_OVERFLOW_INF, 0, NULL, NULL);
	}
}

/* What the nearest double leaves of each 64-bit integer; else zeros. */
static void
load_rests(const struct tpi_side *side, size_t first, size_t n, double *out)
{
	const uint8_t *at = address(side, first);

	memset(out, 0, n * sizeof(*out));
	for (size_t i = 0; i < n; i++) {
		uint64_t bits, back;
		TPI_ROUNDED double near;

		if (side->dtype == TP_DTYPE_U64) {
			memcpy(&bits, at + i * sizeof(bits), sizeof(bits));
			near = (double)bits;
			/* 2^64 itself is no uint64_t, and stands for 0. */
			back = near < 0x1p64 ? (uint64_t)near : 0;
			out[i] = (double)(int64_t)(bits - back);
		} else if (side->dtype == TP_DTYPE_I64) {
			int64_t v;

			memcpy(&v, at + i * sizeof(v), sizeof(v));
			near = (double)v;
			back = near < 0x1p63 ? (uint64_t)(int64_t)near
					     : UINT64_C(1) << 63;
			out[i] = (double)(int64_t)((uint64_t)v - back);
		}
	}
}

TPI_CLONES static void
subtract(double *restrict out, const double *restrict a,
    const double *restrict b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = a[i] - b[i];
}

static bool
is_wide(enum tp_dtype dtype)
{
	return dtype == TP_DTYPE_I64 || dtype == TP_DTYPE_U64;
}

void
tpi_pairs_load(struct tpi_pairs *p, const struct tpi_side *a,
    const struct tpi_side *b, size_t first, size_t n)
{
	double rest_a[TPI_PAIRS], rest_b[TPI_PAIRS];

	p->n = n;
	load_values(a, first, n, p->a);
	load_values(b, first, n, p->b);
	subtract(p->diff, p->a, p->b, n);
	if (!is_wide(a->dtype) && !is_wide(b->dtype))
		return;
	load_rests(a, first, n, rest_a);
	load_rests(b, first, n, rest_b);
	for (size_t i = 0; i < n; i++)
		p->diff[i] += rest_a[i] - rest_b[i];
}

/*
 * ---- distances of codes ----
 */

/*
 * Keys: a float of magnitude m is 2^63 + m or 2^63 - m, so both zeros are one;
 * an integer has its sign bit turned over. width is that of the code.
 */
#define DEFINE(type)                                                        \
	TPI_CLONES static void float_ulps_##type(uint64_t *restrict out,    \
	    const uint8_t *restrict a, const uint8_t *restrict b, size_t n, \
	    unsigned width)                                                 \
	{                                                                   \
		const uint64_t zero = UINT64_C(1) << 63;                    \
		const uint64_t sign = UINT64_C(1) << (width - 1);           \
                                                                            \
		for (size_t i = 0; i < n; i++) {                            \
			type x, y;                                          \
			uint64_t sx, sy, kx, ky;                            \
                                                                            \
			memcpy(&x, a + i * sizeof(x), sizeof(x));           \
			memcpy(&y, b + i * sizeof(y), sizeof(y));           \
			sx = 0 - (uint64_t)((x & sign) != 0);               \
			sy = 0 - (uint64_t)((y & sign) != 0);               \
			kx = zero + (((x & (sign - 1)) ^ sx) - sx);         \
			ky = zero + (((y & (sign - 1)) ^ sy) - sy);         \
			out[i] = kx > ky ? kx - ky : ky - kx;               \
		}                                                           \
	}                                                                   \
	TPI_CLONES static void int_ulps_##type(uint64_t *restrict out,      \
	    const uint8_t *restrict a, const uint8_t *restrict b, size_t n, \
	    uint64_t flip)                                                  \
	{                                                                   \
		for (size_t i = 0; i < n; i++) {                            \
			type x, y;                                          \
			uint64_t kx, ky;                                    \
                                                                            \
			memcpy(&x, a + i * sizeof(x), sizeof(x));           \
			memcpy(&y, b + i * sizeof(y), sizeof(y));           \
			kx = x ^ flip;                                      \
			ky = y ^ flip;                                      \
			out[i] = kx > ky ? kx - ky : ky - kx;               \
		}                                                           \
	}
DEFINE(uint8_t)
DEFINE(uint16_t)
DEFINE(uint32_t)
DEFINE(uint64_t)
#undef DEFINE

static void
code_ulps(uint64_t *out, enum tp_dtype dtype, const uint8_t *a,
    const uint8_t *b, size_t n)
{
	enum tp_dtype_kind kind = tp_dtype_kind(dtype);
	unsigned width = tp_dtype_bits(dtype);
	bool is_float = kind == TP_KIND_FLOAT && dtype != TP_DTYPE_F8E8M0;
	uint64_t flip = kind == TP_KIND_INT ? UINT64_C(1) << (width - 1) : 0;
	uint8_t codes[2][TPI_PAIRS];

	/* One code a byte; the sign of an integer stays where width says. */
	if (width < 8) {
		for (size_t i = 0; i < n; i++) {
			codes[0][i] = (uint8_t)tpi_packed_get(a, i, width);
			codes[1][i] = (uint8_t)tpi_packed_get(b, i, width);
		}
		a = codes[0];
		b = codes[1];
	}
#define ULPS(type)                                      \
	if (is_float)                                   \
		float_ulps_##type(out, a, b, n, width); \
	else                                            \
		int_ulps_##type(out, a, b, n, flip)
	if (width <= 8) {
		ULPS(uint8_t);
	} else if (width == 16) {
		ULPS(uint16_t);
	} else if (width == 32) {
		ULPS(uint32_t);
	} else {
		ULPS(uint64_t);
	}
#undef ULPS
}

/* Integers of two dtypes, one of which may be u64. */
static void
mixed_int_ulps(struct tpi_pairs *p, const struct tpi_side *a,
    const struct tpi_side *b, size_t first)
{
	const struct tpi_side *sides[2] = {a, b};
	uint64_t mags[2][TPI_PAIRS];
	bool neg[2][TPI_PAIRS];

	for (int s = 0; s < 2; s++) {
		enum tp_dtype to = sides[s]->dtype == TP_DTYPE_U64
				       ? TP_DTYPE_U64
				       : TP_DTYPE_I64;

		(void)!tp_convert(to, mags[s], sides[s]->dtype,
		    address(sides[s], first), p->n, TP_OVERFLOW_SATURATE, 0,
		    NULL, NULL);
		for (size_t i = 0; i < p->n; i++) {
			neg[s][i] = to == TP_DTYPE_I64 && mags[s][i] >> 63;
			if (neg[s][i])
				mags[s][i] = 0 - mags[s][i];
		}
	}
	for (size_t i = 0; i < p->n; i++) {
		uint64_t x = mags[0][i], y = mags[1][i];

		if (neg[0][i] == neg[1][i])
			p->ulps[i] = x > y ? x - y : y - x;
		else
			p->ulps[i] = x + y < x ? UINT64_MAX : x + y;
	}
}

enum tp_dtype
tp_compare_ulp_dtype(enum tp_dtype a, enum tp_dtype b)
{
	if (a == b)
		return is_integer(a) ? TP_DTYPE_NONE : a;
	if (is_integer(a) || is_integer(b))
		return is_integer(a) ? (is_integer(b) ? TP_DTYPE_NONE : b) : a;
	/* bf16 has fewer bits of precision than f16, so it is the narrower. */
	if (tp_dtype_bits(a) == 16 && tp_dtype_bits(b) == 16)
		return TP_DTYPE_BF16;
	if (tp_dtype_bits(a) == tp_dtype_bits(b))
		return a < b ? a : b;
	return tp_dtype_bits(a) < tp_dtype_bits(b) ? a : b;
}

/*
 * The codes of one side in the narrower dtype. F4 and F6 have no code for NaN
 * and infinity, so there the doubles, which are finite, are rounded; they
 * saturate.
 */
static const uint8_t *
round_codes(const struct tpi_side *side, size_t first, size_t n,
    enum tp_dtype dtype, const double *values, void *out)
{
	if (side->dtype == dtype)
		return address(side, first);
	if (tp_dtype_bits(dtype) < 8)
		(void)!tp_convert(dtype, out, TP_DTYPE_F64, values, n,
		    TP_OVERFLOW_SATURATE, 0, NULL, NULL);
	else
		(void)!tp_convert(dtype, out, side->dtype, address(side, first),
		    n, TP_OVERFLOW_INF, 0, NULL, NULL);
	return out;
}

static void
rounded_ulps(struct tpi_pairs *p, const struct tpi_side *a,
    const struct tpi_side *b, size_t first, enum tp_dtype dtype)
{
	double codes[2][TPI_PAIRS]; /* as wide as any code */

	code_ulps(p->ulps, dtype,
	    round_codes(a, first, p->n, dtype, p->a, codes[0]),
	    round_codes(b, first, p->n, dtype, p->b, codes[1]), p->n);
}

/* Elements of the same value but other bits are one apart. */
static void
part_bits(struct tpi_pairs *p, const struct tpi_side *a,
    const struct tpi_side *b, size_t first)
{
	const uint8_t *x = address(a, first), *y = address(b, first);
	unsigned width = tp_dtype_bits(a->dtype);

	for (size_t i = 0; i < p->n; i++) {
		bool same = width < 8 ? tpi_packed_get(x, i, width) ==
					    tpi_packed_get(y, i, width)
				      : !memcmp(x + i * (width / 8),
					    y + i * (width / 8), width / 8);

		if (!same && p->ulps[i] == 0)
			p->ulps[i] = 1;
	}
}

void
tpi_pairs_ulps(struct tpi_pairs *p, const struct tpi_side *a,
    const struct tpi_side *b, size_t first, int bits)
{
	enum tp_dtype narrower = tp_compare_ulp_dtype(a->dtype, b->dtype);

	if (a->dtype == b->dtype && a->dtype != TP_DTYPE_BOOL)
		code_ulps(p->ulps, a->dtype, address(a, first),
		    address(b, first), p->n);
	else if (narrower == TP_DTYPE_NONE)
		mixed_int_ulps(p, a, b, first);
	else
		rounded_ulps(p, a, b, first, narrower);
	if (bits && a->dtype == b->dtype)
		part_bits(p, a, b, first);
}
