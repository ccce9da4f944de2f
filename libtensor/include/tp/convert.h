/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/convert.h - values from any dtype to any other
 *
 * Exact where the target can hold the value; otherwise rounded once, to nearest
 * with ties to even. NaN stays NaN where the target has one, keeping its sign
 * and the payload's leading bits. Integers from floats are rounded to nearest
 * even as well. Complex from real has a zero imaginary part; real from complex
 * is TP_EUNSUPPORTED. Strings convert to nothing.
 *
 * Targets that lack something:
 *
 *  - no infinity: an infinite value counts as overflow.
 *  - no NaN (integers, F4, F6): a NaN is TP_ERANGE, whatever the policy.
 *  - no minus zero (integers, FNUZ): it becomes zero.
 *  - F8E8M0: zero and negative values count as overflow and saturate to 2^-127;
 *    smaller positive values round to it. Halfway between powers of two is the
 *    higher one.
 *  - BOOL: every real number that is not zero, NaN included, is 1.
 */
#ifndef TP_CONVERT_H
#define TP_CONVERT_H

#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"

/* What becomes of a value that is beyond the largest of the target. */
enum tp_overflow {
	TP_OVERFLOW_ERROR,    /* TP_ERANGE; the message has index and value */
	TP_OVERFLOW_SATURATE, /* the nearest finite value of the target */
	TP_OVERFLOW_INF,      /* infinity; saturates where there is none */
	TP_OVERFLOW_NAN,      /* NaN; TP_ERANGE where there is none */
};

/*
 * What a conversion did, for the report of a narrowing cast. Counts are of
 * elements (a complex number is one); sums over calls are made by the caller
 * passing the same struct again. NaN and infinities of the input are no
 * overflow when the target has them.
 */
struct tp_cast_stats {
	uint64_t n;		 /* elements converted */
	uint64_t n_overflow;	 /* rounded, beyond the target's largest */
	uint64_t n_to_zero;	 /* not zero, became zero */
	uint64_t n_to_subnormal; /* is subnormal in the target */
	uint64_t n_nan;		 /* NaN in the input */
	uint64_t n_inf;		 /* infinite in the input */
	uint64_t n_inexact;	 /* changed value, overflow not counted */
	uint64_t first_overflow; /* index of the first, when n_overflow > 0 */
	double first_overflow_value;
	double max_rel_error;	/* |y - x| / |x| over finite x, y, x != 0 */
	uint64_t max_rel_index; /* the first element that has it */
};

/*
 * Convert n elements in the machine's byte order. src and dst are packed as
 * tp/dtype.h says, start on a byte and do not overlap. stats may be NULL;
 * indices in it and in messages count from base. TP_EUNSUPPORTED names the
 * pair; on TP_ERANGE the contents of dst are undefined and stats is untouched.
 */
TP_API TP_NODISCARD enum tp_status tp_convert(enum tp_dtype dst_dtype,
    void *dst, enum tp_dtype src_dtype, const void *src, size_t n,
    enum tp_overflow overflow, uint64_t base, struct tp_cast_stats *stats,
    struct tp_err *err);

/*
 * Add the counts of a part to those of others; parts may come in any order.
 */
TP_API void tp_cast_stats_merge(
    struct tp_cast_stats *into, const struct tp_cast_stats *part);

/*
 * One element i of packed data, as double: the real part if complex, NaN for
 * strings.
 */
TP_API double tp_load_f64(enum tp_dtype dtype, const void *src, size_t i);

#endif
