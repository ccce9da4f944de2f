/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/checked.h - arithmetic on numbers that came from a file
 *
 * Each helper returns true when the result does NOT fit, so that it stands in
 * the condition that rejects it:
 *
 *	if (tp_mul_u64(a, b, &product) || product > limit)
 *		return tp_fail(…);
 *
 * On overflow *out is not meaningful. This header is one of the two places
 * that use a compiler extension; elsewhere the portable branch is compiled.
 */
#ifndef TP_CHECKED_H
#define TP_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TP_CHECKED_BUILTIN 1
#endif

static inline bool
tp_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
#ifdef TP_CHECKED_BUILTIN
	return __builtin_add_overflow(a, b, out);
#else
	*out = a + b;
	return *out < a;
#endif
}

static inline bool
tp_sub_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	*out = a - b;
	return a < b;
}

static inline bool
tp_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
#ifdef TP_CHECKED_BUILTIN
	return __builtin_mul_overflow(a, b, out);
#else
	*out = a * b;
	return a != 0 && *out / a != b;
#endif
}

/* The smallest multiple of align (not zero) that is >= a. */
static inline bool
tp_round_up_u64(uint64_t a, uint64_t align, uint64_t *out)
{
	uint64_t rest = a % align;

	return tp_add_u64(a, rest ? align - rest : 0, out);
}

static inline bool
tp_mul_size(size_t a, size_t b, size_t *out)
{
#ifdef TP_CHECKED_BUILTIN
	return __builtin_mul_overflow(a, b, out);
#else
	*out = a * b;
	return a != 0 && *out / a != b;
#endif
}

static inline bool
tp_add_size(size_t a, size_t b, size_t *out)
{
#ifdef TP_CHECKED_BUILTIN
	return __builtin_add_overflow(a, b, out);
#else
	*out = a + b;
	return *out < a;
#endif
}

/* Signed, for strides and offsets in elements. */
static inline bool
tp_mul_i64(int64_t a, int64_t b, int64_t *out)
{
#ifdef TP_CHECKED_BUILTIN
	return __builtin_mul_overflow(a, b, out);
#else
	if (a > 0
		? (b > INT64_MAX / a || b < INT64_MIN / a)
		: a < 0 && (a == -1 ? b == INT64_MIN
				    : (b < INT64_MAX / a || b > INT64_MIN / a)))
		return true;
	*out = a * b;
	return false;
#endif
}

static inline bool
tp_add_i64(int64_t a, int64_t b, int64_t *out)
{
#ifdef TP_CHECKED_BUILTIN
	return __builtin_add_overflow(a, b, out);
#else
	if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
		return true;
	*out = a + b;
	return false;
#endif
}

/* A u64 as size_t; differs only where pointers have 32 bits. */
static inline bool
tp_u64_to_size(uint64_t a, size_t *out)
{
	*out = (size_t)a;
	return (uint64_t)*out != a;
}

#endif
