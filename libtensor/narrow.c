/* SPDX-License-Identifier: Apache-2.0 */
/*
 * narrow.c - f32 to the floats of 16 and 8 bits, many elements at a time
 *
 * Without branches, so that a loop becomes vectors. A normal result is the bits
 * of the f32 with the dropped ones rounded into the kept ones by an integer
 * addition and the exponent moved by another. A subnormal result comes from
 * adding the power of two whose last bit is the smallest subnormal: the
 * addition rounds to nearest even and leaves the code in the low bits.
 *
 * Most blocks have neither NaN nor infinity nor overflow. One look at the
 * largest magnitude tells, and such a tame block skips all that.
 */
#include "kernels.h"

#include <stdbool.h>
#include <string.h>

#include "bits.h"
#include "compiler.h"

#include "banned.h"

/*
 *	X(ID, type of codes, fraction bits, bias, largest finite code,
 *	    code of infinity or 0, code of NaN, value of the largest)
 */
/* clang-format off */
#define NARROW_DTYPES(X) \
	X(F16,        uint16_t, 10, 15,  0x7bff, 0x7c00, 0x7e00, 65504.0f)    \
	X(BF16,       uint16_t, 7,  127, 0x7f7f, 0x7f80, 0x7fc0, 0x1.fep127f) \
	X(F8E4M3FN,   uint8_t,  3,  7,   0x7e,   0,      0x7f,   448.0f)      \
	X(F8E5M2,     uint8_t,  2,  15,  0x7b,   0x7c,   0x7e,   57344.0f)    \
	X(F8E4M3FNUZ, uint8_t,  3,  8,   0x7f,   0,      0x80,   240.0f)      \
	X(F8E5M2FNUZ, uint8_t,  2,  16,  0x7f,   0,      0x80,   57344.0f)
/* clang-format on */

struct narrow_format {
	unsigned bits, frac_bits, bias;
	uint32_t max, inf, nan;
	float max_value;
};

/* The code for what is beyond the largest, and whether it is finite. */
struct beyond {
	uint32_t code;
	bool is_finite;
};

TPI_INLINE struct beyond
choose_beyond(const struct narrow_format *f, enum tp_overflow overflow)
{
	if (overflow == TP_OVERFLOW_NAN)
		return (struct beyond){f->nan, false};
	if (overflow != TP_OVERFLOW_SATURATE && f->inf)
		return (struct beyond){f->inf, false};
	return (struct beyond){f->max, true};
}

/*
 * One element converted, and what there is to know about it. Truth is a mask of
 * all ones: compilers make vectors of masks where they would jump for &&.
 */
struct narrowed {
	uint32_t code;	    /* with sign */
	uint32_t magnitude; /* without */
	uint32_t abs;	    /* bits of |x| */
	uint32_t is_nan, is_inf, is_overflow;
	uint32_t has_error; /* x and y are finite, x is not 0 */
	float size, result; /* |x| and |y| */
};

TPI_INLINE uint32_t
mask_if(int truth)
{
	return 0 - (uint32_t)truth;
}

TPI_INLINE uint32_t
pick(uint32_t mask, uint32_t yes, uint32_t no)
{
	return (yes & mask) | (no & ~mask);
}

TPI_INLINE struct narrowed
narrow(const struct narrow_format *f, uint32_t bits, struct beyond beyond,
    bool is_tame)
{
	const uint32_t inf32 = 0x7f800000;
	const unsigned shift = 23 - f->frac_bits;
	const uint32_t half = UINT32_C(1) << (shift - 1);
	struct narrowed y = {.abs = bits & 0x7fffffff};
	uint32_t rounded = y.abs + (half - 1) + (y.abs >> shift & 1);
	uint32_t code = (rounded >> shift) - ((127 - f->bias) << f->frac_bits);
	uint32_t result = rounded & ~(2 * half - 1);
	uint32_t sign = bits >> 31, nan = f->nan;

	y.size = tpi_f32_of(y.abs);
	if (f->bias < 127) {
		const uint32_t magic = (127 + 1 - f->bias + shift) << 23;
		uint32_t small = mask_if(y.abs < (127 + 1 - f->bias) << 23);
		float sum = y.size + tpi_f32_of(magic);

		code = pick(small, tpi_f32_bits(sum) - magic, code);
		result =
		    pick(small, tpi_f32_bits(sum - tpi_f32_of(magic)), result);
	}

	y.has_error = mask_if(y.abs != 0);
	if (!is_tame) {
		y.is_nan = mask_if(y.abs > inf32);
		y.is_inf = mask_if(y.abs == inf32);
		y.is_overflow = mask_if(code > f->max) & ~y.is_nan;
		if (f->inf) {
			uint32_t payload = y.abs >> shift &
					   ((UINT32_C(1) << f->frac_bits) - 1);

			nan =
			    f->inf | payload | (f->nan & mask_if(payload == 0));
			y.is_overflow &= ~y.is_inf;
			code = pick(y.is_inf, f->inf, code);
		}
		code = pick(y.is_overflow, beyond.code, code);
		code = pick(y.is_nan, nan, code);
		result =
		    pick(y.is_overflow, tpi_f32_bits(f->max_value), result);
		y.has_error = mask_if(y.abs - 1 < inf32 - 1) &
			      (~y.is_overflow | mask_if(beyond.is_finite));
	}
	y.result = tpi_f32_of(result);
	y.magnitude = code;
	if (f->nan >> (f->bits - 1))
		sign &= mask_if(code != 0);
	y.code = code | sign << (f->bits - 1);
	return y;
}

/* Narrow and count one element; returns the code. */
TPI_INLINE uint32_t
narrow_counted(const struct narrow_format *f, uint32_t bits,
    struct beyond beyond, bool is_tame, struct tpi_counts *c, uint32_t *max_rel)
{
	struct narrowed y = narrow(f, bits, beyond, is_tame);
	uint32_t error = tpi_f32_bits(y.result - y.size) & 0x7fffffff, rel;

	error &= y.has_error;
	rel = tpi_f32_bits(tpi_f32_of(error) / tpi_f32_of(pick(y.has_error,
						   y.abs, tpi_f32_bits(1.0f))));
	*max_rel = rel > *max_rel ? rel : *max_rel;
	c->n_to_zero -= mask_if(y.magnitude == 0) & mask_if(y.abs != 0);
	c->n_to_subnormal -=
	    mask_if(y.magnitude - 1 < (UINT32_C(1) << f->frac_bits) - 1);
	c->n_inexact -= mask_if(error != 0) & ~y.is_overflow;
	if (!is_tame) {
		c->n_overflow -= y.is_overflow;
		c->n_nan -= y.is_nan;
		c->n_inf -= y.is_inf;
	}
	return y.code;
}

TPI_INLINE uint32_t
load32(const void *src, size_t i)
{
	uint32_t bits;

	memcpy(&bits, (const uint8_t *)src + i * sizeof(bits), sizeof(bits));
	return bits;
}

TPI_INLINE bool
is_tame_block(const struct narrow_format *f, const void *src, size_t n)
{
	uint32_t max = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t abs = load32(src, i) & 0x7fffffff;

		max = abs > max ? abs : max;
	}
	return max <= tpi_f32_bits(f->max_value);
}

/* Loops over codes of one type; `code_of` may use i. */
#define STORE_ALL(type, code_of)                                             \
	for (size_t i = 0; i < n; i++) {                                     \
		type code = (type)(code_of);                                 \
                                                                             \
		memcpy(                                                      \
		    (uint8_t *)dst + i * sizeof(code), &code, sizeof(code)); \
	}

#define DEFINE(ID, type, m, b, max_, inf_, nan_, value)                    \
	static const struct narrow_format format_##ID = {                  \
	    .bits = 8 * sizeof(type),                                      \
	    .frac_bits = (m),                                              \
	    .bias = (b),                                                   \
	    .max = (max_),                                                 \
	    .inf = (inf_),                                                 \
	    .nan = (nan_),                                                 \
	    .max_value = (value),                                          \
	};                                                                 \
	TPI_CLONES static void convert_##ID(void *restrict dst,            \
	    const void *restrict src, size_t n, enum tp_overflow overflow) \
	{                                                                  \
		const struct narrow_format *f = &format_##ID;              \
		struct beyond beyond = choose_beyond(f, overflow);         \
                                                                           \
		if (is_tame_block(f, src, n))                              \
			STORE_ALL(type,                                    \
			    narrow(f, load32(src, i), beyond, true).code)  \
		else                                                       \
			STORE_ALL(type,                                    \
			    narrow(f, load32(src, i), beyond, false).code) \
	}                                                                  \
	TPI_CLONES static void count_##ID(void *restrict dst,              \
	    const void *restrict src, size_t n, enum tp_overflow overflow, \
	    struct tpi_counts *counts)                                     \
	{                                                                  \
		const struct narrow_format *f = &format_##ID;              \
		struct beyond beyond = choose_beyond(f, overflow);         \
		struct tpi_counts c = {0};                                 \
		uint32_t max_rel = 0;                                      \
                                                                           \
		if (is_tame_block(f, src, n))                              \
			STORE_ALL(type, narrow_counted(f, load32(src, i),  \
					    beyond, true, &c, &max_rel))   \
		else                                                       \
			STORE_ALL(type, narrow_counted(f, load32(src, i),  \
					    beyond, false, &c, &max_rel))  \
		c.max_rel = (double)tpi_f32_of(max_rel);                   \
		*counts = c;                                               \
	}                                                                  \
	TPI_CLONES static void errors_##ID(double *restrict errors,        \
	    const void *restrict src, size_t n, enum tp_overflow overflow) \
	{                                                                  \
		const struct narrow_format *f = &format_##ID;              \
		struct beyond beyond = choose_beyond(f, overflow);         \
                                                                           \
		for (size_t i = 0; i < n; i++) {                           \
			struct narrowed y =                                \
			    narrow(f, load32(src, i), beyond, false);      \
			double size = (double)y.size;                      \
			double error = (double)y.result - size;            \
                                                                           \
			error = (error < 0 ? -error : error) / size;       \
			errors[i] = y.has_error ? error : 0;               \
		}                                                          \
	}
NARROW_DTYPES(DEFINE)
#undef DEFINE

const struct tpi_kernel tpi_narrow_kernels[] = {
#define ROW(ID, ...) \
	{TP_DTYPE_##ID, TP_DTYPE_F32, convert_##ID, count_##ID, errors_##ID},
    NARROW_DTYPES(ROW)
#undef ROW
	{.dst = TP_DTYPE_NONE},
};
