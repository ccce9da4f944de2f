/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - one-pass statistics and histograms
 *
 * Elements become doubles in blocks that stay in the first-level cache. What is
 * not finite is counted and taken out; the sum of squares is that of the
 * differences from the block's own mean, so nothing cancels. Blocks are joined
 * in order (Chan, Golub, LeVeque), blocks to chunks and chunks to the whole. A
 * block is summed by halves, which is exact to a few units and the same for any
 * width of vectors.
 */
#include "tp/stats.h"

#include <math.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/parallel.h"

#include "compiler.h"
#include "number.h"

#include "banned.h"

#define BLOCK 2048
#define WAVE 64 /* chunks between joins */

/*
 * Reductions halve an array until one element is left, joining each element of
 * the first half with one of the second. The odd one in the middle stays.
 */
TPI_CLONES static double
sum_by_halves(double *restrict x, size_t n)
{
	for (size_t h; (h = n / 2) > 0; n -= h) {
		const double *upper = x + (n - h);

		for (size_t i = 0; i < h; i++)
			x[i] += upper[i];
	}
	return x[0];
}

TPI_CLONES static void
find_ends(double *restrict low, double *restrict high, size_t n)
{
	for (size_t h; (h = n / 2) > 0; n -= h)
		for (size_t i = 0, k = n - h; i < h; i++, k++) {
			low[i] = low[k] < low[i] ? low[k] : low[i];
			high[i] = high[k] > high[i] ? high[k] : high[i];
		}
}

/* n > 0 finite values: everything but the counts. */
TPI_CLONES static void
sum_block(const double *restrict x, size_t n, struct tp_stats *s)
{
	double sum[BLOCK / 2 + 1], low[BLOCK / 2 + 1], high[BLOCK / 2 + 1];
	size_t h = n / 2, rest = n - h;
	double mean;

	sum[h] = low[h] = high[h] = x[h];
	for (size_t i = 0; i < h; i++) {
		double a = x[i], b = x[rest + i];

		sum[i] = a + b;
		low[i] = a < b ? a : b;
		high[i] = a < b ? b : a;
	}
	find_ends(low, high, rest);
	mean = sum_by_halves(sum, rest) / (double)n;
	s->min = low[0];
	s->max = high[0];

	sum[h] = (x[h] - mean) * (x[h] - mean);
	for (size_t i = 0; i < h; i++) {
		double a = x[i] - mean, b = x[rest + i] - mean;

		sum[i] = a * a + b * b;
	}
	s->n_finite = n;
	s->mean = mean;
	s->sum_squares = sum_by_halves(sum, rest);
}

/*
 * Count zeros; true if every value is finite, that is, none has all bits of the
 * exponent.
 */
TPI_CLONES static bool
count_zeros(const double *x, size_t n, uint64_t *n_zero)
{
	const uint64_t exponent = UINT64_C(0x7ff) << 52;
	uint64_t n_special = 0, zeros = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t bits;

		memcpy(&bits, x + i, sizeof(bits));
		n_special += (bits & exponent) == exponent;
		zeros += bits << 1 == 0;
	}
	*n_zero = zeros;
	return n_special == 0;
}

/* Count what is not finite and close the gaps; returns how many are left. */
static size_t
remove_specials(double *x, size_t n, uint64_t base, struct tp_stats *s)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (isnan(x[i])) {
			if (s->n_nan++ == 0)
				s->first_nan = base + i;
		} else if (isinf(x[i])) {
			if (s->n_pos_inf + s->n_neg_inf == 0)
				s->first_inf = base + i;
			s->n_pos_inf += x[i] > 0;
			s->n_neg_inf += x[i] < 0;
		} else {
			x[n_kept++] = x[i];
		}
	}
	return n_kept;
}

TPI_CLONES static void
widen_f32(double *dst, const float *src, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = (double)src[i];
}

/*
 * n <= BLOCK elements from `first` on, a multiple of 8, as doubles. Any dtype
 * but strings converts, so the status is TP_OK.
 */
static void
load_block(
    enum tp_dtype dtype, const void *src, size_t first, size_t n, double *x)
{
	double parts[2 * BLOCK];
	float narrow[BLOCK];
	const uint8_t *at =
	    (const uint8_t *)src + first / 8 * tp_dtype_bits(dtype);

	if (dtype == TP_DTYPE_F32 && (uintptr_t)at % sizeof(float) == 0) {
		widen_f32(x, (const float *)(const void *)at, n);
		return;
	}
	if (dtype == TP_DTYPE_F16 || dtype == TP_DTYPE_BF16) {
		(void)!tp_convert(TP_DTYPE_F32, narrow, dtype, at, n,
		    TP_OVERFLOW_INF, 0, NULL, NULL);
		widen_f32(x, narrow, n);
		return;
	}
	if (tp_dtype_kind(dtype) != TP_KIND_COMPLEX) {
		(void)!tp_convert(TP_DTYPE_F64, x, dtype, at, n,
		    TP_OVERFLOW_INF, 0, NULL, NULL);
		return;
	}
	(void)!tp_convert(
	    TP_DTYPE_C128, parts, dtype, at, n, TP_OVERFLOW_INF, 0, NULL, NULL);
	for (size_t i = 0; i < n; i++)
		x[i] = isnan(parts[2 * i]) || isnan(parts[2 * i + 1])
			   ? (double)NAN
			   : hypot(parts[2 * i], parts[2 * i + 1]);
}

/* The exact ends of n > 0 integers. */
static void
find_integer_ends(enum tp_dtype dtype, const void *src, size_t first, size_t n,
    struct tp_stats *s)
{
	const uint8_t *at =
	    (const uint8_t *)src + first / 8 * tp_dtype_bits(dtype);
	union {
		int64_t i[BLOCK];
		uint64_t u[BLOCK];
	} v;

	if (tp_dtype_kind(dtype) == TP_KIND_UINT) {
		(void)!tp_convert(TP_DTYPE_U64, v.u, dtype, at, n,
		    TP_OVERFLOW_SATURATE, 0, NULL, NULL);
		s->uint_min = s->uint_max = v.u[0];
		for (size_t i = 1; i < n; i++) {
			s->uint_min =
			    v.u[i] < s->uint_min ? v.u[i] : s->uint_min;
			s->uint_max =
			    v.u[i] > s->uint_max ? v.u[i] : s->uint_max;
		}
		return;
	}
	(void)!tp_convert(TP_DTYPE_I64, v.i, dtype, at, n, TP_OVERFLOW_SATURATE,
	    0, NULL, NULL);
	s->int_min = s->int_max = v.i[0];
	for (size_t i = 1; i < n; i++) {
		s->int_min = v.i[i] < s->int_min ? v.i[i] : s->int_min;
		s->int_max = v.i[i] > s->int_max ? v.i[i] : s->int_max;
	}
}

/* Append the statistics of the elements that follow those of s. */
static void
join(struct tp_stats *s, const struct tp_stats *part)
{
	if (part->n_nan && !s->n_nan)
		s->first_nan = part->first_nan;
	if (part->n_pos_inf + part->n_neg_inf && !(s->n_pos_inf + s->n_neg_inf))
		s->first_inf = part->first_inf;
	if (part->n_finite && !s->n_finite) {
		s->min = part->min;
		s->max = part->max;
		s->mean = part->mean;
		s->sum_squares = part->sum_squares;
		s->int_min = part->int_min;
		s->int_max = part->int_max;
		s->uint_min = part->uint_min;
		s->uint_max = part->uint_max;
	} else if (part->n_finite) {
		double na = (double)s->n_finite, nb = (double)part->n_finite;
		double d = part->mean - s->mean;

		s->mean += d * (nb / (na + nb));
		s->sum_squares +=
		    part->sum_squares + d * d * (na * (nb / (na + nb)));
		s->min = part->min < s->min ? part->min : s->min;
		s->max = part->max > s->max ? part->max : s->max;
#define JOIN_ENDS(low, high)                              \
	s->low = part->low < s->low ? part->low : s->low; \
	s->high = part->high > s->high ? part->high : s->high
		JOIN_ENDS(int_min, int_max);
		JOIN_ENDS(uint_min, uint_max);
#undef JOIN_ENDS
	}
	s->n += part->n;
	s->n_finite += part->n_finite;
	s->n_nan += part->n_nan;
	s->n_pos_inf += part->n_pos_inf;
	s->n_neg_inf += part->n_neg_inf;
	s->n_zero += part->n_zero;
}

struct job {
	enum tp_dtype dtype;
	const void *src;
	size_t first, n; /* elements of this wave, from src on */
	uint64_t base;	 /* index of src's first element */
	struct tp_stats chunks[WAVE];
};

static void
add_chunk(void *ctx, size_t number)
{
	struct job *job = ctx;
	enum tp_dtype_kind kind = tp_dtype_kind(job->dtype);
	struct tp_stats *s = &job->chunks[number];
	size_t at = job->first + number * TP_STATS_CHUNK;
	size_t end = job->first + job->n;

	if (end - at > TP_STATS_CHUNK)
		end = at + TP_STATS_CHUNK;
	*s = (struct tp_stats){0};
	for (; at < end; at += BLOCK) {
		struct tp_stats part = {0};
		size_t n = end - at < BLOCK ? end - at : BLOCK, n_kept = n;
		double x[BLOCK];

		load_block(job->dtype, job->src, at, n, x);
		if (!count_zeros(x, n, &part.n_zero))
			n_kept = remove_specials(x, n, job->base + at, &part);
		if (n_kept)
			sum_block(x, n_kept, &part);
		if (kind == TP_KIND_INT || kind == TP_KIND_UINT ||
		    kind == TP_KIND_BOOL)
			find_integer_ends(job->dtype, job->src, at, n, &part);
		part.n = n;
		join(s, &part);
	}
}

enum tp_status
tp_stats_add(struct tp_stats *s, enum tp_dtype dtype, const void *src, size_t n,
    unsigned n_threads, struct tp_err *err)
{
	struct job job = {.dtype = dtype, .src = src, .base = s->n};

	if (tp_dtype_bits(dtype) == 0)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "no statistics of dtype %s", tp_dtype_name(dtype));
	while (n) {
		size_t limit = (size_t)WAVE * TP_STATS_CHUNK, n_chunks;

		job.n = n < limit ? n : limit;
		n_chunks = (job.n + TP_STATS_CHUNK - 1) / TP_STATS_CHUNK;
		tp_parallel(n_threads, n_chunks, add_chunk, &job);
		for (size_t i = 0; i < n_chunks; i++)
			join(s, &job.chunks[i]);
		job.first += job.n;
		n -= job.n;
	}
	return TP_OK;
}

void
tp_stats_join(struct tp_stats *s, const struct tp_stats *chunk)
{
	struct tp_stats moved = *chunk;

	moved.first_nan += s->n;
	moved.first_inf += s->n;
	join(s, &moved);
}

double
tp_stats_std(const struct tp_stats *s)
{
	return s->n_finite ? sqrt(s->sum_squares / (double)s->n_finite) : 0;
}

static void
count_values(struct tp_histogram *h, const double *x, size_t n)
{
	/* Halved where the width of the range is no double. */
	double half = isinf(h->high - h->low) ? 0.5 : 1;
	double low = h->low * half, width = h->high * half - low;

	for (size_t i = 0; i < n; i++) {
		size_t bin = h->n_bins / 2;

		if (isnan(x[i])) {
			h->n_nan++;
		} else if (x[i] < h->low) {
			h->n_below++;
		} else if (x[i] > h->high) {
			h->n_above++;
		} else {
			if (width > 0)
				bin = (size_t)((x[i] * half - low) / width *
					       h->n_bins);
			h->counts[bin < h->n_bins ? bin : h->n_bins - 1]++;
		}
	}
}

enum tp_status
tp_histogram_add(struct tp_histogram *h, enum tp_dtype dtype, const void *src,
    size_t n, struct tp_err *err)
{
	double x[BLOCK];

	if (tp_dtype_bits(dtype) == 0)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "no histogram of dtype %s", tp_dtype_name(dtype));
	if (h->n_bins == 0 || h->n_bins > TP_HISTOGRAM_MAX_BINS ||
	    !(h->low <= h->high) || isinf(h->low) || isinf(h->high))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a histogram of %u bins from %g to %g", h->n_bins, h->low,
		    h->high);
	for (size_t i = 0; i < n; i += BLOCK) {
		size_t part = n - i < BLOCK ? n - i : BLOCK;

		load_block(dtype, src, i, part, x);
		count_values(h, x, part);
	}
	return TP_OK;
}
