/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/compare.h - how far two tensors are apart
 *
 *  1. Say in a struct tp_compare_rule when two elements count as the same.
 *  2. tp_compare_same tells, at the speed of memcmp, whether packed elements
 *     pass every rule because they are the same bits. Where it says yes,
 *     nothing else needs to be worked out.
 *  3. Else start with `struct tp_compare c = {0};` and give all elements in
 *     order to tp_compare_add, in pieces of which each but the last is a
 *     multiple of TP_COMPARE_CHUNK elements; or give each chunk to a struct of
 *     its own, on any thread, and tp_compare_join them in order.
 *  4. Read the fields, and tp_compare_rms and so on for what follows from them.
 *
 * The same elements give the same bits in every field for any number of
 * threads, any such pieces and any machine. A struct holds no memory.
 */
#ifndef TP_COMPARE_H
#define TP_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"

#define TP_COMPARE_CHUNK 65536

/*
 * An element passes when it meets all of these. All zero: values must be equal;
 * -0 and +0 are, NaN is equal to nothing. Infinities pass only when they are
 * equal, whatever the tolerances.
 */
struct tp_compare_rule {
	bool has_abs; /* |a - b| <= atol + rtol * |b| */
	double atol, rtol;
	bool has_ulp; /* at most ulp codes apart, see max_ulp */
	uint64_t ulp;
	bool equal_nan; /* NaN passes beside NaN */
	bool bits;	/* also the same bits; dtypes must be the same */
};

/*
 * Counts are of elements; a complex number counts as two, its real and its
 * imaginary part, and its indices are those of parts. Fields from max_abs on
 * are of the n_finite elements that are finite on both sides. The second tensor
 * is the reference of relative figures.
 */
struct tp_compare {
	uint64_t n;
	uint64_t n_equal; /* of the same value, infinities too; not NaN */
	uint64_t n_over;  /* do not pass */
	uint64_t n_special_over; /* those of them with a NaN or an infinity */
	uint64_t first_over;	 /* index of the first, when n_over > 0 */
	uint64_t first_special;	 /* likewise for n_special_over */
	uint64_t n_finite;
	uint64_t n_nan[2], n_both_nan;
	uint64_t n_inf[2], n_same_inf;

	double max_abs; /* |a - b| */
	double max_rel; /* |a - b| / |b|; infinite where b alone is 0 */
	/*
	 * Steps between neighbouring codes of the narrower dtype, to which the
	 * other value is rounded first; of integers the difference. Both zeros
	 * are one step (with `bits`, neighbours).
	 */
	uint64_t max_ulp;
	uint64_t worst; /* the first index of max_abs, when max_abs > 0 */
	double sum_abs, sum_squares;		  /* of a - b */
	double sum_squares_a, sum_squares_b, dot; /* of a, of b, of a * b */

	/* Values at first_over and at worst; 64-bit integers rounded. */
	double first_a, first_b, worst_a, worst_b;
};

/*
 * True if n packed elements of one dtype are the same bits and none is a NaN
 * (unless equal_nan). Never true for strings.
 */
TP_API bool tp_compare_same(enum tp_dtype dtype, const void *a, const void *b,
    size_t n, bool equal_nan);

/*
 * Add n packed elements of each side, in the machine's byte order. 64-bit
 * integers are compared exactly, everything else as the double that it is.
 * TP_EUNSUPPORTED for strings, and for a complex beside a real dtype.
 */
TP_API TP_NODISCARD enum tp_status tp_compare_add(struct tp_compare *c,
    const struct tp_compare_rule *rule, enum tp_dtype dtype_a, const void *a,
    enum tp_dtype dtype_b, const void *b, size_t n, struct tp_err *err);

/*
 * The same for pairs that are all finite and judged by nobody: fills n,
 * n_finite, max_abs, worst with its values, and the sums. Faster.
 */
TP_API void tp_compare_add_finite(
    struct tp_compare *c, const float *a, const float *b, size_t n);

/* Append the comparison of the next elements: a chunk or, at the end, fewer. */
TP_API void tp_compare_join(
    struct tp_compare *c, const struct tp_compare *chunk);

/* What n elements that tp_compare_same found equal would add, but for sums. */
TP_API void tp_compare_add_same(struct tp_compare *c, uint64_t n);

/* The dtype whose codes max_ulp counts; TP_DTYPE_NONE for two integers. */
TP_API enum tp_dtype tp_compare_ulp_dtype(enum tp_dtype a, enum tp_dtype b);

TP_API double tp_compare_mean_abs(const struct tp_compare *c);
TP_API double tp_compare_rms(const struct tp_compare *c);
/* 1 where nothing differs; 0 where one side alone is all zeros. */
TP_API double tp_compare_cosine(const struct tp_compare *c);
/* 10 log10(sum b^2 / sum (a - b)^2) dB; infinite where nothing differs. */
TP_API double tp_compare_sqnr(const struct tp_compare *c);

#endif
