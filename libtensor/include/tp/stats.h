/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/stats.h - what the values of a tensor are like
 *
 *  1. Start with `struct tp_stats s = {0};`.
 *  2. Give all elements in order to tp_stats_add, in pieces of which each but
 *     the last is a multiple of TP_STATS_CHUNK elements.
 *  3. Read the fields; tp_stats_std for the standard deviation.
 *
 * The same elements give the same bits in every field for any number of
 * threads, any such pieces and any machine. A struct holds no memory.
 *
 * A histogram works likewise, over a range that the caller knows.
 */
#ifndef TP_STATS_H
#define TP_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"

#define TP_STATS_CHUNK 65536

/*
 * min, max, mean and std are those of the finite values, 0 when there is none.
 * 64-bit integers are rounded to double there; int_ (signed dtypes, bool) and
 * uint_ (unsigned dtypes) are exact. A complex number counts as its magnitude.
 * Sums beyond the largest double (f64 above 1e150) are infinite.
 */
struct tp_stats {
	uint64_t n;
	uint64_t n_finite;
	uint64_t n_nan;
	uint64_t n_pos_inf, n_neg_inf;
	uint64_t n_zero;
	uint64_t first_nan; /* index of the first, when n_nan > 0 */
	uint64_t first_inf; /* likewise, of either sign */
	double min, max, mean;
	double sum_squares; /* of the differences from the mean */
	int64_t int_min, int_max;
	uint64_t uint_min, uint_max;
};

/*
 * Add n packed elements in the machine's byte order, on up to n_threads threads
 * (0: one a processor). TP_EUNSUPPORTED for strings.
 */
TP_API TP_NODISCARD enum tp_status tp_stats_add(struct tp_stats *s,
    enum tp_dtype dtype, const void *src, size_t n, unsigned n_threads,
    struct tp_err *err);

/*
 * Append the statistics of the next elements, TP_STATS_CHUNK of them or, at the
 * end, fewer: the same as giving those to tp_stats_add. For those who divide
 * the work themselves.
 */
TP_API void tp_stats_join(struct tp_stats *s, const struct tp_stats *chunk);

/* Of the population: sqrt(sum_squares / n_finite); 0 when there is none. */
TP_API double tp_stats_std(const struct tp_stats *s);

#define TP_HISTOGRAM_MAX_BINS 64

/*
 * Set low <= high and 1 … TP_HISTOGRAM_MAX_BINS n_bins, the rest zero. Bins
 * divide [low, high] evenly, each has its lower edge, the last has both; when
 * low == high every such value is in the middle bin.
 */
struct tp_histogram {
	double low, high;
	unsigned n_bins;
	uint64_t n_below, n_above, n_nan;
	uint64_t counts[TP_HISTOGRAM_MAX_BINS];
};

TP_API TP_NODISCARD enum tp_status tp_histogram_add(struct tp_histogram *h,
    enum tp_dtype dtype, const void *src, size_t n, struct tp_err *err);

#endif
