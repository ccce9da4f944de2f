/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.c - codes of every real dtype to exact numbers and back
 *
 * A float code is sign, exponent field, fraction. Without the sign, codes grow
 * with their values, so rounding may carry from fraction into exponent by plain
 * addition, and "too large" is one comparison with the largest finite code.
 */
#include "number.h"

#include <string.h>

#include "compiler.h"
#include "packed.h"

#include "banned.h"

/*
 *	X(ID, exponent bits, fraction bits, bias, largest finite code,
 *	    code of infinity, code of NaN, style)
 *
 * PLAIN types have a sign, zeros and subnormals; where infinity exists, every
 * code above it is a NaN and the fraction is its payload. FNUZ types keep their
 * only NaN where minus zero would be. A SCALE is an exponent and nothing else:
 * no sign, no zero.
 */
#define NO_CODE UINT64_MAX
/* clang-format off */
#define FLOAT_FORMATS(X) \
	X(F4E2M1,     2,  1,  1,    0x7,    NO_CODE, NO_CODE, PLAIN) \
	X(F6E2M3,     2,  3,  1,    0x1f,   NO_CODE, NO_CODE, PLAIN) \
	X(F6E3M2,     3,  2,  3,    0x1f,   NO_CODE, NO_CODE, PLAIN) \
	X(F8E4M3FN,   4,  3,  7,    0x7e,   NO_CODE, 0x7f,    PLAIN) \
	X(F8E5M2,     5,  2,  15,   0x7b,   0x7c,    0x7e,    PLAIN) \
	X(F8E4M3FNUZ, 4,  3,  8,    0x7f,   NO_CODE, 0x80,    FNUZ)  \
	X(F8E5M2FNUZ, 5,  2,  16,   0x7f,   NO_CODE, 0x80,    FNUZ)  \
	X(F8E8M0,     8,  0,  127,  0xfe,   NO_CODE, 0xff,    SCALE) \
	X(F16,        5,  10, 15,   0x7bff, 0x7c00,  0x7e00,  PLAIN) \
	X(BF16,       8,  7,  127,  0x7f7f, 0x7f80,  0x7fc0,  PLAIN) \
	X(F32,        8,  23, 127,  0x7f7fffff, 0x7f800000, 0x7fc00000, PLAIN) \
	X(F64,        11, 52, 1023, 0x7fefffffffffffff, 0x7ff0000000000000, \
	    0x7ff8000000000000, PLAIN)
/* clang-format on */

enum float_style {
	PLAIN,
	FNUZ,
	SCALE,
};

struct float_format {
	unsigned exp_bits, frac_bits;
	int32_t bias;
	uint64_t max, inf, nan;
	enum float_style style;
};

static const struct float_format formats[TP_DTYPE_COUNT] = {
#define ROW(ID, e, m, bias, max, inf, nan, style) \
	[TP_DTYPE_##ID] = {e, m, bias, max, inf, nan, style},
    FLOAT_FORMATS(ROW)
#undef ROW
};

/* Packed codes: get_ takes one out, put_ adds one behind the others. */
#define NARROW_CODES(bits)                                                 \
	static inline uint64_t get_##bits(const uint8_t *p, size_t i)      \
	{                                                                  \
		return tpi_packed_get(p, i, bits);                         \
	}                                                                  \
	static inline void put_##bits(uint8_t *p, size_t i, uint64_t code) \
	{                                                                  \
		tpi_packed_put(p, i, bits, (unsigned)code);                \
	}
#define WHOLE_CODES(bits)                                                  \
	static inline uint64_t get_##bits(const uint8_t *p, size_t i)      \
	{                                                                  \
		uint##bits##_t code;                                       \
                                                                           \
		memcpy(&code, p + i * sizeof(code), sizeof(code));         \
		return code;                                               \
	}                                                                  \
	static inline void put_##bits(uint8_t *p, size_t i, uint64_t wide) \
	{                                                                  \
		uint##bits##_t code = (uint##bits##_t)wide;                \
                                                                           \
		memcpy(p + i * sizeof(code), &code, sizeof(code));         \
	}
NARROW_CODES(2)
NARROW_CODES(4)
NARROW_CODES(6)
WHOLE_CODES(8)
WHOLE_CODES(16)
WHOLE_CODES(32)
WHOLE_CODES(64)

/* Codes to numbers, a function per kind of dtype. */
static inline struct tpi_number
decode_BOOL(uint64_t code, unsigned bits, const struct float_format *f)
{
	(void)bits;
	(void)f;
	return (struct tpi_number){.mag = code != 0};
}

static inline struct tpi_number
decode_UINT(uint64_t code, unsigned bits, const struct float_format *f)
{
	(void)bits;
	(void)f;
	return (struct tpi_number){.mag = code};
}

static inline struct tpi_number
decode_INT(uint64_t code, unsigned bits, const struct float_format *f)
{
	bool neg = code >> (bits - 1) & 1;
	uint64_t mask = UINT64_MAX >> (64 - bits);

	(void)f;
	return (struct tpi_number){
	    .mag = neg ? (0 - code) & mask : code, .neg = neg};
}

static inline struct tpi_number
decode_FLOAT(uint64_t code, unsigned bits, const struct float_format *f)
{
	unsigned sign_at = f->exp_bits + f->frac_bits;
	uint64_t magnitude = code & (UINT64_MAX >> (64 - sign_at));
	uint64_t one = UINT64_C(1) << f->frac_bits;
	uint64_t frac = magnitude & (one - 1);
	int32_t field = (int32_t)(magnitude >> f->frac_bits);
	struct tpi_number x = {
	    .neg = bits > sign_at && code >> sign_at & 1,
	};

	if (f->style != PLAIN && code == f->nan)
		return (struct tpi_number){
		    .class = TPI_NAN, .mag = UINT64_C(1) << 63};
	if (magnitude > f->max) {
		x.class = magnitude == f->inf ? TPI_INF : TPI_NAN;
		x.mag = f->inf == NO_CODE ? UINT64_C(1) << 63
					  : frac << (64 - f->frac_bits);
		return x;
	}
	if (field == 0 && f->style != SCALE)
		field = 1;
	else
		frac |= one;
	x.mag = frac;
	x.exp = field - f->bias - (int32_t)f->frac_bits;
	return x;
}

/*
 * mag / 2^shift rounded to nearest, ties to even. A negative shift multiplies;
 * the product must fit.
 */
static inline uint64_t
round_shift(uint64_t mag, int shift, uint8_t *outcome)
{
	uint64_t quotient, rest, half;

	if (shift <= 0)
		return mag << -shift;
	if (shift > 64) {
		*outcome |= mag ? TPI_INEXACT : 0;
		return 0;
	}
	quotient = shift < 64 ? mag >> shift : 0;
	half = UINT64_C(1) << (shift - 1);
	rest = mag & (half | (half - 1));
	*outcome |= rest ? TPI_INEXACT : 0;
	return quotient + (rest > half || (rest == half && quotient & 1));
}

/* Numbers to codes. *outcome is 0 on entry. */
static inline uint64_t
encode_BOOL(struct tpi_number x, unsigned bits, const struct float_format *f,
    enum tp_overflow overflow, uint8_t *outcome)
{
	bool is_one = x.mag && x.exp <= 0 && x.exp > -64 &&
		      x.mag == UINT64_C(1) << -x.exp && !x.neg;

	(void)bits;
	(void)f;
	(void)overflow;
	if (x.class != TPI_FINITE)
		return 1;
	*outcome = x.mag && !is_one ? TPI_INEXACT : 0;
	return x.mag != 0;
}

/* For both kinds of integers: the limit of the sign that x has. */
static inline uint64_t
encode_integer(struct tpi_number x, uint64_t limit, enum tp_overflow overflow,
    uint8_t *outcome)
{
	uint64_t q = 0;
	bool fits = x.class == TPI_FINITE;

	if (x.class == TPI_NAN) {
		*outcome = TPI_NO_CODE;
		return 0;
	}
	if (fits && x.mag) {
		fits = x.exp <= 0 || tpi_msb64(x.mag) + x.exp < 64;
		if (fits)
			q = round_shift(x.mag, -x.exp, outcome);
		fits = fits && q <= limit;
		if (fits && q == 0)
			*outcome |= TPI_TO_ZERO;
	}
	if (!fits) {
		*outcome = TPI_OVERFLOW;
		if (overflow == TP_OVERFLOW_NAN)
			*outcome |= TPI_NO_CODE;
		q = limit;
	}
	return x.neg ? 0 - q : q;
}

static inline uint64_t
encode_UINT(struct tpi_number x, unsigned bits, const struct float_format *f,
    enum tp_overflow overflow, uint8_t *outcome)
{
	uint64_t max = UINT64_MAX >> (64 - bits);

	(void)f;
	return encode_integer(x, x.neg ? 0 : max, overflow, outcome);
}

static inline uint64_t
encode_INT(struct tpi_number x, unsigned bits, const struct float_format *f,
    enum tp_overflow overflow, uint8_t *outcome)
{
	uint64_t max = UINT64_MAX >> (65 - bits);
	uint64_t mask = UINT64_MAX >> (64 - bits);

	(void)f;
	return encode_integer(x, x.neg ? max + 1 : max, overflow, outcome) &
	       mask;
}

static inline uint64_t
encode_nan(struct tpi_number x, const struct float_format *f, uint64_t sign,
    uint8_t *outcome)
{
	uint64_t payload;

	if (f->nan == NO_CODE) {
		*outcome |= TPI_NO_CODE;
		return 0;
	}
	if (f->style != PLAIN)
		return f->nan;
	if (f->inf == NO_CODE)
		return sign | f->nan;
	payload = x.mag >> (64 - f->frac_bits);
	return sign | (payload ? f->inf | payload : f->nan);
}

/* What stands for a value beyond the largest. */
static inline uint64_t
encode_overflow(bool below, const struct float_format *f, uint64_t sign,
    enum tp_overflow overflow, uint8_t *outcome)
{
	*outcome = TPI_OVERFLOW;
	if (overflow == TP_OVERFLOW_NAN)
		return encode_nan(
		    (struct tpi_number){.mag = 0}, f, sign, outcome);
	if (below)
		return 0;
	if (overflow == TP_OVERFLOW_INF && f->inf != NO_CODE)
		return sign | f->inf;
	return sign | f->max;
}

static inline uint64_t
encode_FLOAT(struct tpi_number x, unsigned bits, const struct float_format *f,
    enum tp_overflow overflow, uint8_t *outcome)
{
	unsigned sign_at = f->exp_bits + f->frac_bits;
	int frac_bits = (int)f->frac_bits;
	int lowest = (f->style == SCALE ? 0 : 1) - f->bias;
	uint64_t sign = x.neg && bits > sign_at ? UINT64_C(1) << sign_at : 0;
	uint64_t code;
	int exponent;

	if (x.class == TPI_NAN)
		return encode_nan(x, f, sign, outcome);
	if (x.class == TPI_INF && f->inf != NO_CODE)
		return sign | f->inf;
	if (f->style == SCALE &&
	    (x.neg || (x.class == TPI_FINITE && x.mag == 0)))
		return encode_overflow(true, f, sign, overflow, outcome);
	if (x.class == TPI_INF)
		return encode_overflow(false, f, sign, overflow, outcome);
	if (x.mag == 0)
		return f->style == FNUZ ? 0 : sign;

	exponent = tpi_msb64(x.mag) + x.exp;
	if (exponent >= lowest) {
		/* The carry of rounding may reach into the exponent. */
		code =
		    round_shift(x.mag, tpi_msb64(x.mag) - frac_bits, outcome);
		code += (uint64_t)(exponent + f->bias - 1) << frac_bits;
		if (code > f->max)
			return encode_overflow(
			    false, f, sign, overflow, outcome);
		return sign | code;
	}
	if (f->style == SCALE) {
		*outcome = TPI_INEXACT;
		return 0;
	}
	code = round_shift(x.mag, lowest - frac_bits - x.exp, outcome);
	if (code == 0)
		*outcome |= TPI_TO_ZERO;
	else if (code < UINT64_C(1) << frac_bits)
		*outcome |= TPI_TO_SUBNORMAL;
	return code == 0 && f->style == FNUZ ? 0 : sign | code;
}

/*
 * A decoder and an encoder per real dtype, made from the list of all. `kind`
 * picks the functions above; complex numbers and strings have no row.
 */
#define DEFINE_REAL(ID, bits, kind)                                          \
	static void decode_row_##ID(                                         \
	    const void *src, size_t first, size_t n, struct tpi_number *out) \
	{                                                                    \
		for (size_t i = 0; i < n; i++)                               \
			out[i] = decode_##kind(get_##bits(src, first + i),   \
			    bits, &formats[TP_DTYPE_##ID]);                  \
	}                                                                    \
	static void encode_row_##ID(void *dst, size_t n,                     \
	    const struct tpi_number *in, enum tp_overflow overflow,          \
	    uint8_t *outcomes)                                               \
	{                                                                    \
		for (size_t i = 0; i < n; i++) {                             \
			uint8_t outcome = 0;                                 \
			uint64_t code = encode_##kind(in[i], bits,           \
			    &formats[TP_DTYPE_##ID], overflow, &outcome);    \
                                                                             \
			put_##bits(dst, i, code);                            \
			outcomes[i] = outcome;                               \
		}                                                            \
	}
#define DEFINE_BOOL(ID, bits) DEFINE_REAL(ID, bits, BOOL)
#define DEFINE_UINT(ID, bits) DEFINE_REAL(ID, bits, UINT)
#define DEFINE_INT(ID, bits) DEFINE_REAL(ID, bits, INT)
#define DEFINE_FLOAT(ID, bits) DEFINE_REAL(ID, bits, FLOAT)
#define DEFINE_COMPLEX(ID, bits)
#define DEFINE_STRING(ID, bits)
#define DEFINE(ID, name, bits, kind) DEFINE_##kind(ID, bits)
TP_DTYPES(DEFINE)

#define ROW_BOOL(ID, row) [TP_DTYPE_##ID] = row##_##ID,
#define ROW_UINT(ID, row) ROW_BOOL(ID, row)
#define ROW_INT(ID, row) ROW_BOOL(ID, row)
#define ROW_FLOAT(ID, row) ROW_BOOL(ID, row)
#define ROW_COMPLEX(ID, row)
#define ROW_STRING(ID, row)
#define DECODER(ID, name, bits, kind) ROW_##kind(ID, decode_row)
#define ENCODER(ID, name, bits, kind) ROW_##kind(ID, encode_row)

tpi_decode_fn *const tpi_decoders[TP_DTYPE_COUNT] = {TP_DTYPES(DECODER)};
tpi_encode_fn *const tpi_encoders[TP_DTYPE_COUNT] = {TP_DTYPES(ENCODER)};

double
tpi_number_to_f64(struct tpi_number x)
{
	uint8_t outcome = 0;
	uint64_t code = encode_FLOAT(
	    x, 64, &formats[TP_DTYPE_F64], TP_OVERFLOW_INF, &outcome);
	double value;

	memcpy(&value, &code, sizeof(value));
	return value;
}

struct tpi_float
tpi_number_float(enum tp_dtype dtype, struct tpi_number x)
{
	const struct float_format *f = &formats[dtype];
	uint64_t one = UINT64_C(1) << f->frac_bits;

	/* A scale is a power of two; one digit would be true and useless. */
	if (f->style == SCALE)
		return (struct tpi_float){x.mag << 23, x.exp - 23, true};
	return (struct tpi_float){x.mag, x.exp,
	    x.mag == one && x.exp > 1 - f->bias - (int)f->frac_bits};
}

enum tp_dtype
tpi_part_dtype(enum tp_dtype dtype)
{
	if (tp_dtype_kind(dtype) != TP_KIND_COMPLEX)
		return dtype;
	return tp_dtype_bits(dtype) == 64 ? TP_DTYPE_F32 : TP_DTYPE_F64;
}
