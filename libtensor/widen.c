/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen.c - f16, bf16 and f32 to wider floats, and f64 to f32
 *
 * All exact but the last. NaNs go as bits: an addition or a cast of the machine
 * would change a signalling one.
 */
#include "kernels.h"

#include <stdbool.h>
#include <string.h>

#include "bits.h"
#include "compiler.h"

#include "banned.h"

TPI_INLINE uint32_t
widen_F16(uint16_t code)
{
	return tpi_widen_f16(code);
}

TPI_INLINE uint32_t
widen_BF16(uint16_t code)
{
	return (uint32_t)code << 16;
}

TPI_INLINE uint64_t
widen_F32(uint32_t bits)
{
	uint64_t nan = (uint64_t)(bits >> 31) << 63 | UINT64_C(0x7ff) << 52 |
		       (uint64_t)(bits & 0x7fffff) << 29;

	return (bits & 0x7fffffff) > 0x7f800000
		   ? nan
		   : tpi_f64_bits((double)tpi_f32_of(bits));
}

/*
 * Nothing to count when widening but NaN and infinity.
 *
 *	X(source, target, source code, target code, code of infinity)
 */
/* clang-format off */
#define WIDENINGS(X) \
	X(F16,  F32, uint16_t, uint32_t, 0x7c00)    \
	X(BF16, F32, uint16_t, uint32_t, 0x7f80)    \
	X(F32,  F64, uint32_t, uint64_t, 0x7f800000)
/* clang-format on */

#define DEFINE(FROM, TO, from_type, to_type, inf)                              \
	TPI_CLONES static void convert_##FROM(void *restrict dst,              \
	    const void *restrict src, size_t n, enum tp_overflow overflow)     \
	{                                                                      \
		const uint8_t *from = src;                                     \
		uint8_t *to = dst;                                             \
                                                                               \
		(void)overflow;                                                \
		for (size_t i = 0; i < n; i++) {                               \
			from_type x;                                           \
			to_type y;                                             \
                                                                               \
			memcpy(&x, from + i * sizeof(x), sizeof(x));           \
			y = widen_##FROM(x);                                   \
			memcpy(to + i * sizeof(y), &y, sizeof(y));             \
		}                                                              \
	}                                                                      \
	TPI_CLONES static void count_##FROM(void *restrict dst,                \
	    const void *restrict src, size_t n, enum tp_overflow overflow,     \
	    struct tpi_counts *counts)                                         \
	{                                                                      \
		const uint8_t *from = src;                                     \
		uint32_t n_nan = 0, n_inf = 0;                                 \
                                                                               \
		convert_##FROM(dst, src, n, overflow);                         \
		for (size_t i = 0; i < n; i++) {                               \
			from_type x, abs;                                      \
                                                                               \
			memcpy(&x, from + i * sizeof(x), sizeof(x));           \
			abs = x & (from_type)((from_type)-1 >> 1);             \
			n_nan += abs > (inf);                                  \
			n_inf += abs == (inf);                                 \
		}                                                              \
		*counts = (struct tpi_counts){.n_nan = n_nan, .n_inf = n_inf}; \
	}
WIDENINGS(DEFINE)
#undef DEFINE

static void
errors_none(double *restrict errors, const void *restrict src, size_t n,
    enum tp_overflow overflow)
{
	(void)src;
	(void)overflow;
	for (size_t i = 0; i < n; i++)
		errors[i] = 0;
}

/*
 * f64 to f32: the cast of C rounds to nearest even and overflows to infinity.
 * Truth is a mask of all ones, as in narrow.c.
 */
struct narrowed {
	uint32_t bits;
	uint64_t abs;	 /* bits of |x| */
	uint64_t result; /* bits of |y| as f64, where finite */
	uint64_t is_nan, is_inf, is_overflow;
	uint64_t error; /* bits of |y - x| / |x| */
};

TPI_INLINE uint64_t
mask_if(int truth)
{
	return 0 - (uint64_t)truth;
}

TPI_INLINE uint64_t
pick(uint64_t mask, uint64_t yes, uint64_t no)
{
	return (yes & mask) | (no & ~mask);
}

TPI_INLINE struct narrowed
narrow(uint64_t bits, uint32_t beyond)
{
	const uint64_t inf64 = UINT64_C(0x7ff) << 52;
	const uint64_t half_beyond = UINT64_C(0x47efffffefffffff);
	struct narrowed y = {.abs = bits & (UINT64_MAX >> 1)};
	uint32_t sign = (uint32_t)(bits >> 32) & (UINT32_C(1) << 31);
	float rounded = (float)tpi_f64_of(y.abs);
	uint32_t payload = (uint32_t)(y.abs >> 29) & 0x7fffff;
	uint32_t abs, nan, over;
	uint64_t counts;

	y.is_nan = mask_if(y.abs > inf64);
	y.is_inf = mask_if(y.abs == inf64);
	y.is_overflow = mask_if(y.abs > half_beyond) & mask_if(y.abs < inf64);
	nan = (uint32_t)y.is_nan;
	over = (uint32_t)y.is_overflow;
	payload |= 0x7f800000 | ((0 - (uint32_t)(payload == 0)) & 0x400000);
	abs = (beyond & over) | (tpi_f32_bits(rounded) & ~over);
	abs = (payload & nan) | (abs & ~nan);
	y.bits = abs | sign;
	y.result = tpi_f64_bits((double)tpi_f32_of(abs));
	counts = mask_if(y.abs - 1 < inf64 - 1) & mask_if(y.result < inf64);
	y.error = tpi_f64_bits(tpi_f64_of(y.result) - tpi_f64_of(y.abs)) &
		  (UINT64_MAX >> 1) & counts;
	y.error =
	    tpi_f64_bits(tpi_f64_of(y.error) /
			 tpi_f64_of(pick(counts, y.abs, tpi_f64_bits(1.0))));
	return y;
}

static uint32_t
choose_beyond(enum tp_overflow overflow)
{
	if (overflow == TP_OVERFLOW_SATURATE)
		return 0x7f7fffff;
	return overflow == TP_OVERFLOW_NAN ? 0x7fc00000 : 0x7f800000;
}

TPI_CLONES static void
convert_F64(void *restrict dst, const void *restrict src, size_t n,
    enum tp_overflow overflow)
{
	uint32_t beyond = choose_beyond(overflow);
	const uint8_t *from = src;
	uint8_t *to = dst;

	for (size_t i = 0; i < n; i++) {
		struct narrowed y;
		uint64_t bits;

		memcpy(&bits, from + i * sizeof(bits), sizeof(bits));
		y = narrow(bits, beyond);
		memcpy(to + i * sizeof(y.bits), &y.bits, sizeof(y.bits));
	}
}

TPI_CLONES static void
count_F64(void *restrict dst, const void *restrict src, size_t n,
    enum tp_overflow overflow, struct tpi_counts *counts)
{
	uint32_t beyond = choose_beyond(overflow);
	const uint8_t *from = src;
	uint8_t *to = dst;
	const uint64_t lowest = UINT64_C(0x381) << 52; /* 2^-126 */
	uint64_t n_overflow = 0, n_to_zero = 0, n_to_subnormal = 0;
	uint64_t n_nan = 0, n_inf = 0, n_inexact = 0, max_rel = 0;

	for (size_t i = 0; i < n; i++) {
		struct narrowed y;
		uint64_t bits;

		memcpy(&bits, from + i * sizeof(bits), sizeof(bits));
		y = narrow(bits, beyond);
		memcpy(to + i * sizeof(y.bits), &y.bits, sizeof(y.bits));
		max_rel = y.error > max_rel ? y.error : max_rel;
		n_overflow -= y.is_overflow;
		n_to_zero -= mask_if(y.result == 0) & mask_if(y.abs != 0);
		n_to_subnormal -= mask_if(y.result - 1 < lowest - 1);
		n_nan -= y.is_nan;
		n_inf -= y.is_inf;
		n_inexact -= mask_if(y.error != 0) & ~y.is_overflow;
	}
	*counts = (struct tpi_counts){
	    .n_overflow = (uint32_t)n_overflow,
	    .n_to_zero = (uint32_t)n_to_zero,
	    .n_to_subnormal = (uint32_t)n_to_subnormal,
	    .n_nan = (uint32_t)n_nan,
	    .n_inf = (uint32_t)n_inf,
	    .n_inexact = (uint32_t)n_inexact,
	    .max_rel = tpi_f64_of(max_rel),
	};
}

TPI_CLONES static void
errors_F64(double *restrict errors, const void *restrict src, size_t n,
    enum tp_overflow overflow)
{
	uint32_t beyond = choose_beyond(overflow);
	const uint8_t *from = src;

	for (size_t i = 0; i < n; i++) {
		uint64_t bits;

		memcpy(&bits, from + i * sizeof(bits), sizeof(bits));
		errors[i] = tpi_f64_of(narrow(bits, beyond).error);
	}
}

const struct tpi_kernel tpi_widen_kernels[] = {
    {TP_DTYPE_F32, TP_DTYPE_F64, convert_F64, count_F64, errors_F64},
#define ROW(FROM, TO, ...)                                             \
	{TP_DTYPE_##TO, TP_DTYPE_##FROM, convert_##FROM, count_##FROM, \
	    errors_none},
    WIDENINGS(ROW)
#undef ROW
	{.dst = TP_DTYPE_NONE},
};
