/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - the lists from which kernels are generated
 *
 *	X(A, ID, stored type, arithmetic type, load, store)
 *
 * A is passed through. Narrow floats compute in float where that, rounded once
 * more, is the same as computing in their own type (+ - * / and square roots),
 * and in double elsewhere. Integers compute in an unsigned type of at least 32
 * bits, so that they wrap: signed overflow is undefined, and u16 * u16 would
 * be done in int.
 */
#ifndef TPI_OPS_KERNEL_H
#define TPI_OPS_KERNEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../bits.h"
#include "../compiler.h"
#include "../op.h"

TPI_INLINE float
tpi_load_f16(uint16_t code)
{
	return tpi_f32_of(tpi_widen_f16(code));
}

/* To nearest even, beyond the largest to infinity; any NaN to one. */
TPI_INLINE uint16_t
tpi_store_f16(float x)
{
	uint32_t bits = tpi_f32_bits(x), abs = bits & 0x7fffffff;
	uint32_t sign = bits >> 16 & 0x8000, code;

	if (abs > 0x7f800000)
		return 0x7e00;
	if (abs >= UINT32_C(143) << 23)
		return (uint16_t)(sign | 0x7c00);
	if (abs < UINT32_C(113) << 23) {
		/* Adding 0.5 leaves the ten bits at the end, rounded. */
		code = tpi_f32_bits(tpi_f32_of(abs) + 0.5f) - 0x3f000000;
	} else {
		code = abs - (UINT32_C(112) << 23);
		code = (code + 0xfff + (code >> 13 & 1)) >> 13;
	}
	return (uint16_t)(sign | code);
}

TPI_INLINE float
tpi_load_bf16(uint16_t code)
{
	return tpi_f32_of((uint32_t)code << 16);
}

TPI_INLINE uint16_t
tpi_store_bf16(float x)
{
	uint32_t bits = tpi_f32_bits(x);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return 0x7fc0;
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/*
 * A double as a float that, where it is not exact, ends in a one bit: rounding
 * it once more to 22 bits or fewer is as good as rounding the double.
 */
TPI_INLINE float
tpi_round_odd(double x)
{
	float y = (float)x;
	uint32_t bits = tpi_f32_bits(y);

	if ((double)y == x || x != x || bits & 1)
		return y;
	return tpi_f32_of(fabs((double)y) < fabs(x) ? bits + 1 : bits - 1);
}

/* A double as bits of an integer: cut, and at the ends of i64 or u64 held. */
TPI_INLINE uint64_t
tpi_cut(double x)
{
	if (x != x)
		return 0;
	if (x < 0)
		return x <= -0x1p63 ? (uint64_t)INT64_MIN
				    : (uint64_t)(int64_t)x;
	return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

/*
 * Machines disagree on the sign and the payload of the NaN that 0 / 0 is, or
 * one of two NaN. Results have one NaN: quiet, positive, the rest of it zero.
 */
TPI_INLINE float
tpi_one_nan_f32(float x)
{
	return x == x ? x : tpi_f32_of(UINT32_C(0x7fc00000));
}

TPI_INLINE double
tpi_one_nan_f64(double x)
{
	return x == x ? x : (double)tpi_f32_of(UINT32_C(0x7fc00000));
}

#define TPI_KEEP(x) (x)
#define TPI_ST_f16(x) tpi_store_f16(tpi_round_odd(x))
#define TPI_ST_bf16(x) tpi_store_bf16(tpi_round_odd(x))
#define TPI_ST_f32(x) tpi_one_nan_f32((float)(x))
#define TPI_ST_u8(x) ((uint8_t)(x))
#define TPI_ST_u16(x) ((uint16_t)(x))
/* Values above the largest signed one wrap, in every compiler we know. */
#define TPI_ST_i8(x) ((int8_t)(x))
#define TPI_ST_i16(x) ((int16_t)(x))
#define TPI_ST_i32(x) ((int32_t)(x))
#define TPI_ST_i64(x) ((int64_t)(x))

/* clang-format off */
/* Floats, computing in float: + - * / and what is exact. */
#define TPI_FOREACH_FLOAT(X, A) \
	X(A, F16,  uint16_t, float,  tpi_load_f16,  tpi_store_f16)  \
	X(A, BF16, uint16_t, float,  tpi_load_bf16, tpi_store_bf16) \
	X(A, F32,  float,    float,  TPI_KEEP,      tpi_one_nan_f32) \
	X(A, F64,  double,   double, TPI_KEEP,      tpi_one_nan_f64)

/* Floats, computing in double and rounding once. */
#define TPI_FOREACH_DOUBLE(X, A) \
	X(A, F16,  uint16_t, double, tpi_load_f16,  TPI_ST_f16)  \
	X(A, BF16, uint16_t, double, tpi_load_bf16, TPI_ST_bf16) \
	X(A, F32,  float,    double, TPI_KEEP,      TPI_ST_f32)  \
	X(A, F64,  double,   double, TPI_KEEP,      tpi_one_nan_f64)

#define TPI_FOREACH_SIGNED(X, A) \
	X(A, I8,   int8_t,   uint32_t, TPI_KEEP, TPI_ST_i8)  \
	X(A, I16,  int16_t,  uint32_t, TPI_KEEP, TPI_ST_i16) \
	X(A, I32,  int32_t,  uint32_t, TPI_KEEP, TPI_ST_i32) \
	X(A, I64,  int64_t,  uint64_t, TPI_KEEP, TPI_ST_i64)

#define TPI_FOREACH_UNSIGNED(X, A) \
	X(A, U8,   uint8_t,  uint32_t, TPI_KEEP, TPI_ST_u8)  \
	X(A, U16,  uint16_t, uint32_t, TPI_KEEP, TPI_ST_u16) \
	X(A, U32,  uint32_t, uint32_t, TPI_KEEP, TPI_KEEP)   \
	X(A, U64,  uint64_t, uint64_t, TPI_KEEP, TPI_KEEP)
/* clang-format on */

#define TPI_FOREACH_INT(X, A) \
	TPI_FOREACH_SIGNED(X, A) TPI_FOREACH_UNSIGNED(X, A)
#define TPI_FOREACH_ARITH(X, A) TPI_FOREACH_FLOAT(X, A) TPI_FOREACH_INT(X, A)

/* A row of a table by dtype. */
#define TPI_KERNEL_ROW(OP, ID, T, W, LOAD, STORE) [TP_DTYPE_##ID] = OP##_##ID,

/* Element i of an operand, for kernels with any step. */
#define TPI_AT(T, data, step, i) ((T *)(void *)((data) + (int64_t)(i) * (step)))
#define TPI_CONST_AT(T, data, step, i) \
	((const T *)(const void *)((data) + (int64_t)(i) * (step)))

#endif
