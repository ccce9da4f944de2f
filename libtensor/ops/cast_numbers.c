/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast_numbers.c - numbers from one dtype to another as ONNX's Cast has it
 *
 *  - to integers: cut towards zero, then modulo the width; NaN is 0
 *  - to bool: whatever is not zero
 *  - to floats from 16 bits on: to nearest even, infinite beyond the largest
 *  - to narrower ones: the same, but beyond the largest, and from infinity, the
 *    largest; or, not saturating, NaN, of f8e5m2 infinity. f4 always saturates,
 *    and NaN, which it has not, is minus zero.
 *  - to f8e8m0: powers of two by the rounding asked for. What it cannot hold,
 *    zero included, is the nearest it has; or, not saturating, NaN.
 */
#include "cast.h"
#include "chunk.h"
#include "kernel.h"

#include <assert.h>
#include <float.h>

#include "tp/convert.h"

#include "../packed.h"
#include "../tensor.h"

#include "../banned.h"

/* Integers as they are modulo 2^64. */
#define LOAD_WHOLE(OP, ID, T, W, LOAD, STORE)                               \
	static void load_whole_##ID(const void *src, size_t n, uint64_t *x) \
	{                                                                   \
		const T *p = src;                                           \
                                                                            \
		for (size_t i = 0; i < n; i++)                              \
			x[i] = (uint64_t)p[i];                              \
	}
#define STORE_WHOLE(OP, ID, T, W, LOAD, STORE)                               \
	static void store_whole_##ID(const uint64_t *x, size_t n, void *dst) \
	{                                                                    \
		T *p = dst;                                                  \
                                                                             \
		for (size_t i = 0; i < n; i++)                               \
			p[i] = (T)x[i];                                      \
	}
TPI_FOREACH_INT(LOAD_WHOLE, whole)
TPI_FOREACH_INT(STORE_WHOLE, whole)

static void
convert(enum tp_dtype to, void *dst, enum tp_dtype from, const void *src,
    size_t n, enum tp_overflow overflow)
{
	enum tp_status rc =
	    tp_convert(to, dst, from, src, n, overflow, 0, NULL, NULL);

	assert(rc == TP_OK);
	(void)rc;
}

static void
load_whole(enum tp_dtype dtype, const void *src, size_t n, uint64_t *x)
{
	static void (*const loads[TP_DTYPE_COUNT])(const void *, size_t,
	    uint64_t *) = {TPI_FOREACH_INT(TPI_KERNEL_ROW, load_whole)};

	if (loads[dtype])
		loads[dtype](src, n, x);
	else
		convert(TP_DTYPE_I64, x, dtype, src, n, TP_OVERFLOW_INF);
}

static void
store_whole(enum tp_dtype dtype, const uint64_t *x, size_t n, void *dst)
{
	static void (*const stores[TP_DTYPE_COUNT])(const uint64_t *, size_t,
	    void *) = {TPI_FOREACH_INT(TPI_KERNEL_ROW, store_whole)};
	unsigned bits = tp_dtype_bits(dtype);

	if (stores[dtype]) {
		stores[dtype](x, n, dst);
		return;
	}
	for (size_t i = 0; i < n; i++)
		tpi_packed_put(
		    dst, i, bits, (unsigned)x[i] & ((1u << bits) - 1));
}

static bool
is_narrow_float(enum tp_dtype dtype)
{
	return tp_dtype_kind(dtype) == TP_KIND_FLOAT &&
	       tp_dtype_bits(dtype) <= 8;
}

static double
to_power_of_two(double x, const struct tpi_cast *how)
{
	double fraction;
	int exponent;

	if (!(x > 0) || isinf(x))
		return x;
	/* What is too small is treated as the negative, which it has not. */
	if (x < 0x1p-127 && !how->saturate)
		return -1;
	fraction = frexp(x, &exponent);
	if (how->round == TPI_SCALE_NEAREST)
		return x;
	if (how->round == TPI_SCALE_DOWN || fraction <= 0.5)
		exponent--;
	return ldexp(1, exponent);
}

/* What tp_convert would do in another way than ONNX. */
static void
prepare(const struct tpi_cast *how, double *x, size_t n)
{
	bool has_nan = tp_dtype_bits(how->to) == 8;
	bool saturate = how->saturate || !has_nan;

	for (size_t i = 0; i < n; i++) {
		if (isnan(x[i]) && !has_nan)
			x[i] = -0.0;
		else if (isinf(x[i]) && saturate)
			x[i] = copysign(DBL_MAX, x[i]);
		else if (how->to == TP_DTYPE_F8E8M0)
			x[i] = to_power_of_two(x[i], how);
	}
}

static enum tp_overflow
overflow_of(const struct tpi_cast *how)
{
	if (!is_narrow_float(how->to))
		return TP_OVERFLOW_INF;
	if (how->saturate || tp_dtype_bits(how->to) < 8)
		return TP_OVERFLOW_SATURATE;
	return how->to == TP_DTYPE_F8E5M2 ? TP_OVERFLOW_INF : TP_OVERFLOW_NAN;
}

static void
cut_all(const double *x, size_t n, uint64_t *whole)
{
	for (size_t i = 0; i < n; i++)
		whole[i] = tpi_cut(x[i]);
}

static void
store_truth(const double *x, size_t n, uint8_t *dst)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = x[i] != 0;
}

void
tpi_cast_doubles(const struct tpi_cast *how, double *x, size_t n, void *dst)
{
	uint64_t whole[TPI_CHUNK];

	if (tpi_is_integer(how->to)) {
		cut_all(x, n, whole);
		store_whole(how->to, whole, n, dst);
	} else if (tp_dtype_kind(how->to) == TP_KIND_BOOL) {
		store_truth(x, n, dst);
	} else if (is_narrow_float(how->to)) {
		prepare(how, x, n);
		convert(how->to, dst, TP_DTYPE_F64, x, n, overflow_of(how));
	} else if (tp_dtype_kind(how->to) == TP_KIND_FLOAT) {
		tpi_store_doubles(how->to, x, n, dst);
	} else {
		convert(how->to, dst, TP_DTYPE_F64, x, n, TP_OVERFLOW_INF);
	}
}

/* By way of doubles they would be rounded twice. */
static void
round_whole(enum tp_dtype from, const uint64_t *x, size_t n, float *y)
{
	if (from == TP_DTYPE_U64)
		for (size_t i = 0; i < n; i++)
			y[i] = (float)x[i];
	else
		for (size_t i = 0; i < n; i++)
			y[i] = (float)(int64_t)x[i];
}

static void
cut_bf16(const double *x, size_t n, uint16_t *y)
{
	for (size_t i = 0; i < n; i++) {
		float f = (float)x[i];

		y[i] = f == f ? (uint16_t)(tpi_f32_bits(f) >> 16) : 0x7fc0;
	}
}

void
tpi_cast_numbers(const struct tpi_cast *how, enum tp_dtype from,
    const void *src, size_t n, void *dst)
{
	enum tp_dtype_kind kind = tp_dtype_kind(how->to);
	bool from_float = tp_dtype_kind(from) == TP_KIND_FLOAT;
	bool is_wide = from_float || tp_dtype_bits(from) == 64;
	bool is_plain = kind == TP_KIND_FLOAT && tp_dtype_bits(how->to) > 8;
	uint64_t whole[TPI_CHUNK];
	double x[TPI_CHUNK];

	if (how->to == from || kind == TP_KIND_COMPLEX) {
		convert(how->to, dst, from, src, n, TP_OVERFLOW_INF);
	} else if (how->cuts_bf16 && how->to == TP_DTYPE_BF16 && from_float) {
		tpi_load_doubles(from, src, n, x);
		cut_bf16(x, n, dst);
	} else if (!from_float && tpi_is_integer(how->to)) {
		load_whole(from, src, n, whole);
		store_whole(how->to, whole, n, dst);
	} else if (!from_float && is_wide && how->to == TP_DTYPE_F32) {
		load_whole(from, src, n, whole);
		round_whole(from, whole, n, dst);
	} else if (is_wide && is_plain) {
		/* Doubles do not hold all of them, or are no faster way. */
		convert(how->to, dst, from, src, n, TP_OVERFLOW_INF);
	} else {
		tpi_load_doubles(from, src, n, x);
		tpi_cast_doubles(how, x, n, dst);
	}
}
