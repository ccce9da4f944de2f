/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - two tensors in one pass
 *
 * Blocks of pairs are compared in the first-level cache. What is not finite is
 * judged one by one and taken out, so that the loops over the rest need not
 * look. Sums run in LANES lanes that are added in order, which is the same for
 * any width of vectors; blocks are added to chunks and chunks to the whole.
 */
#include "tp/compare.h"

#include <math.h>
#include <string.h>

#include "tp/convert.h"

#include "bits.h"
#include "compare_block.h"
#include "compiler.h"
#include "number.h"

#include "banned.h"

#define LANES TPI_SUM_LANES

/*
 * ---- the same bits ----
 */

/* True if some element has all bits of the exponent and more: a NaN. */
#define DEFINE(type)                                                         \
	TPI_CLONES static bool has_nan_##type(                               \
	    const uint8_t *at, size_t n, type inf)                           \
	{                                                                    \
		type found = 0;                                              \
                                                                             \
		for (size_t i = 0; i < n; i++) {                             \
			type x;                                              \
                                                                             \
			memcpy(&x, at + i * sizeof(x), sizeof(x));           \
			found |=                                             \
			    (type)((type)(x & (type)((type)-1 >> 1)) > inf); \
		}                                                            \
		return found != 0;                                           \
	}
DEFINE(uint16_t)
DEFINE(uint32_t)
DEFINE(uint64_t)
#undef DEFINE

/* n elements of a real dtype, from element `first`, a multiple of 8. */
static bool
has_nan(enum tp_dtype dtype, const void *src, size_t first, size_t n)
{
	const uint8_t *at =
	    (const uint8_t *)src + first / 8 * tp_dtype_bits(dtype);
	struct tpi_number numbers[TPI_PAIRS];

	if (tp_dtype_kind(dtype) != TP_KIND_FLOAT || tp_dtype_bits(dtype) < 8)
		return false;
	if (dtype == TP_DTYPE_F32)
		return has_nan_uint32_t(at, n, UINT32_C(0x7f800000));
	if (dtype == TP_DTYPE_F64)
		return has_nan_uint64_t(at, n, UINT64_C(0x7ff) << 52);
	if (dtype == TP_DTYPE_F16)
		return has_nan_uint16_t(at, n, 0x7c00);
	if (dtype == TP_DTYPE_BF16)
		return has_nan_uint16_t(at, n, 0x7f80);
	for (size_t i = 0; i < n; i += TPI_PAIRS) {
		size_t part = n - i < TPI_PAIRS ? n - i : TPI_PAIRS;

		tpi_decoders[dtype](src, first + i, part, numbers);
		for (size_t k = 0; k < part; k++)
			if (numbers[k].class == TPI_NAN)
				return true;
	}
	return false;
}

/* A piece whose bytes are still in the cache when they are looked at again. */
#define SAME_PIECE 4096

bool
tp_compare_same(
    enum tp_dtype dtype, const void *a, const void *b, size_t n, bool equal_nan)
{
	enum tp_dtype part = tpi_part_dtype(dtype);
	unsigned bits = tp_dtype_bits(part);
	const uint8_t *x = a, *y = b;
	size_t size;

	if (bits == 0)
		return false;
	n *= part == dtype ? 1 : 2;
	for (size_t i = 0; i < n; i += size) {
		unsigned used;

		size = n - i < SAME_PIECE ? n - i : SAME_PIECE;
		x = (const uint8_t *)a + i / 8 * bits;
		y = (const uint8_t *)b + i / 8 * bits;
		if (memcmp(x, y, size * bits / 8) != 0)
			return false;
		/* The elements in a last byte that is not full. */
		used = (unsigned)(size * bits % 8);
		if (used && (x[size * bits / 8] ^ y[size * bits / 8]) &
				((1u << used) - 1))
			return false;
		if (!equal_nan && has_nan(part, a, i, size))
			return false;
	}
	return true;
}

/*
 * ---- figures of a block ----
 */

/* True if every value is finite: none has all bits of the exponent. */
TPI_CLONES static bool
all_finite(const double *x, const double *y, size_t n)
{
	const uint64_t exponent = UINT64_C(0x7ff) << 52;
	uint64_t n_special = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t a, b;

		memcpy(&a, x + i, sizeof(a));
		memcpy(&b, y + i, sizeof(b));
		n_special += (a & exponent) == exponent;
		n_special += (b & exponent) == exponent;
	}
	return n_special == 0;
}

/* One pair of which at least one is not finite; true if it passes. */
static bool
judge_special(struct tp_compare *c, const struct tp_compare_rule *rule,
    double a, double b, bool same_bits)
{
	bool same_inf = isinf(a) && isinf(b) && (a > 0) == (b > 0);
	bool both_nan = isnan(a) && isnan(b);

	c->n_nan[0] += isnan(a) != 0;
	c->n_nan[1] += isnan(b) != 0;
	c->n_inf[0] += isinf(a) != 0;
	c->n_inf[1] += isinf(b) != 0;
	c->n_both_nan += both_nan;
	c->n_same_inf += same_inf;
	c->n_equal += same_inf;
	return same_inf ||
	       (both_nan && rule->equal_nan && (same_bits || !rule->bits));
}

/* What both sides hold at element i, as bits. */
static bool
same_element(const struct tpi_side *a, const struct tpi_side *b, size_t i)
{
	size_t size = tp_dtype_bits(a->dtype) / 8;

	return a->dtype == b->dtype && size > 0 &&
	       !memcmp((const uint8_t *)a->data + i * size,
		   (const uint8_t *)b->data + i * size, size);
}

struct job {
	const struct tp_compare_rule *rule;
	struct tpi_side a, b;
	double atol, rtol;
	uint64_t ulp;
};

/* Count pairs that are not finite and make zeros of them; returns how many. */
static size_t
take_out_specials(struct tp_compare *c, const struct job *job,
    struct tpi_pairs *p, size_t first, uint64_t base, uint8_t *special)
{
	size_t n_special = 0;

	for (size_t i = 0; i < p->n; i++) {
		special[i] = !isfinite(p->a[i]) || !isfinite(p->b[i]);
		if (!special[i])
			continue;
		n_special++;
		if (!judge_special(c, job->rule, p->a[i], p->b[i],
			same_element(&job->a, &job->b, first + i))) {
			if (c->n_special_over++ == 0)
				c->first_special = base + i;
			if (c->n_over++ == 0)
				c->first_over = base + i;
		}
		p->a[i] = p->b[i] = p->diff[i] = 0;
	}
	return n_special;
}

struct ends {
	uint64_t n_equal, n_over, max_ulp;
	double max_abs, max_rel;
};

/*
 * What does not depend on an order. A double that is not negative ascends with
 * its bits, so the largest is found among integers.
 */
TPI_CLONES static void
find_ends(const struct tpi_pairs *p, double atol, double rtol, uint64_t ulp,
    struct ends *e)
{
	const uint64_t magnitude = UINT64_MAX >> 1;
	uint64_t n_equal = 0, n_over = 0, max_ulp = 0;
	int64_t max_abs = 0, max_rel = 0;
	size_t n = p->n;

	for (size_t i = 0; i < n; i++) {
		uint64_t bits;
		int64_t abs_bits, rel_bits;
		double d, b, rel;

		memcpy(&bits, p->diff + i, sizeof(bits));
		bits &= magnitude;
		abs_bits = (int64_t)bits;
		memcpy(&d, &bits, sizeof(d));
		memcpy(&bits, p->b + i, sizeof(bits));
		bits &= magnitude;
		memcpy(&b, &bits, sizeof(b));
		rel = d > 0 ? d / b : 0;
		memcpy(&rel_bits, &rel, sizeof(rel_bits));
		max_abs = abs_bits > max_abs ? abs_bits : max_abs;
		max_rel = rel_bits > max_rel ? rel_bits : max_rel;
		max_ulp = p->ulps[i] > max_ulp ? p->ulps[i] : max_ulp;
		n_equal += abs_bits == 0;
		n_over += (uint64_t) !(d <= atol + rtol * b) |
			  (uint64_t)(p->ulps[i] > ulp);
	}
	*e = (struct ends){n_equal, n_over, max_ulp,
	    tpi_f64_of((uint64_t)max_abs), tpi_f64_of((uint64_t)max_rel)};
}

/* sums[k] += x[i] * y[i] for the lane k of each i; n is a multiple of LANES. */
TPI_INLINE double
dot(const double *restrict x, const double *restrict y, size_t n)
{
	double sums[LANES] = {0}, sum = 0;

	for (size_t i = 0; i < n; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			sums[k] += x[i + k] * y[i + k];
	for (size_t k = 0; k < LANES; k++)
		sum += sums[k];
	return sum;
}

TPI_INLINE double
sum_abs(const double *x, size_t n)
{
	double sums[LANES] = {0}, sum = 0;

	for (size_t i = 0; i < n; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			sums[k] += fabs(x[i + k]);
	for (size_t k = 0; k < LANES; k++)
		sum += sums[k];
	return sum;
}

/* Lanes are padded with pairs of zeros, which add nothing. */
TPI_CLONES static void
add_sums(struct tpi_pairs *p, struct tp_compare *c)
{
	size_t n = (p->n + LANES - 1) / LANES * LANES;

	for (size_t i = p->n; i < n; i++)
		p->a[i] = p->b[i] = p->diff[i] = 0;
	c->sum_abs += sum_abs(p->diff, n);
	c->sum_squares += dot(p->diff, p->diff, n);
	c->sum_squares_a += dot(p->a, p->a, n);
	c->sum_squares_b += dot(p->b, p->b, n);
	c->dot += dot(p->a, p->b, n);
}

static double
value_at(const struct tpi_side *side, size_t i)
{
	return tp_load_f64(side->dtype, side->data, i);
}

/* The first pair that does not pass, when no earlier one failed. */
static void
find_first(struct tp_compare *c, const struct job *job,
    const struct tpi_pairs *p, uint64_t base)
{
	for (size_t i = 0; i < p->n; i++)
		if (!(fabs(p->diff[i]) <=
			job->atol + job->rtol * fabs(p->b[i])) ||
		    p->ulps[i] > job->ulp) {
			if (c->n_over == 0 || base + i < c->first_over)
				c->first_over = base + i;
			return;
		}
}

static void
find_worst(struct tp_compare *c, const struct job *job,
    const struct tpi_pairs *p, size_t first, uint64_t base)
{
	for (size_t i = 0; i < p->n; i++)
		if (fabs(p->diff[i]) >= c->max_abs) {
			c->worst = base + i;
			c->worst_a = value_at(&job->a, first + i);
			c->worst_b = value_at(&job->b, first + i);
			return;
		}
}

/*
 * Elements first … first+n-1 of the sides, of which base is the first's index.
 */
static void
compare_block(struct tp_compare *c, const struct job *job, size_t first,
    size_t n, uint64_t base)
{
	uint64_t had_over = c->n_over;
	uint8_t special[TPI_PAIRS];
	struct tpi_pairs p;
	size_t n_special = 0;
	struct ends e;

	tpi_pairs_load(&p, &job->a, &job->b, first, n);
	if (!all_finite(p.a, p.b, n))
		n_special = take_out_specials(c, job, &p, first, base, special);
	tpi_pairs_ulps(&p, &job->a, &job->b, first, job->rule->bits);
	for (size_t i = 0; n_special && i < n; i++)
		if (special[i])
			p.ulps[i] = 0;

	find_ends(&p, job->atol, job->rtol, job->ulp, &e);
	if (e.n_over && !had_over)
		find_first(c, job, &p, base);
	if (!had_over && c->n_over + e.n_over > 0) {
		size_t at = first + (size_t)(c->first_over - base);

		c->first_a = value_at(&job->a, at);
		c->first_b = value_at(&job->b, at);
	}
	if (e.max_abs > c->max_abs) {
		c->max_abs = e.max_abs;
		find_worst(c, job, &p, first, base);
	}
	c->max_rel = e.max_rel > c->max_rel ? e.max_rel : c->max_rel;
	c->max_ulp = e.max_ulp > c->max_ulp ? e.max_ulp : c->max_ulp;
	c->n += n;
	c->n_equal += e.n_equal - n_special;
	c->n_over += e.n_over;
	c->n_finite += n - n_special;
	add_sums(&p, c);
}

/*
 * ---- the whole ----
 */

/* Indices of part are those of the whole. */
static void
join(struct tp_compare *c, const struct tp_compare *part)
{
	if (part->n_over && !c->n_over) {
		c->first_over = part->first_over;
		c->first_a = part->first_a;
		c->first_b = part->first_b;
	}
	if (part->n_special_over && !c->n_special_over)
		c->first_special = part->first_special;
	if (part->max_abs > c->max_abs) {
		c->max_abs = part->max_abs;
		c->worst = part->worst;
		c->worst_a = part->worst_a;
		c->worst_b = part->worst_b;
	}
	c->max_rel = part->max_rel > c->max_rel ? part->max_rel : c->max_rel;
	c->max_ulp = part->max_ulp > c->max_ulp ? part->max_ulp : c->max_ulp;
#define ADD(field) c->field += part->field
	ADD(n);
	ADD(n_equal);
	ADD(n_over);
	ADD(n_special_over);
	ADD(n_finite);
	ADD(n_nan[0]);
	ADD(n_nan[1]);
	ADD(n_both_nan);
	ADD(n_inf[0]);
	ADD(n_inf[1]);
	ADD(n_same_inf);
	ADD(sum_abs);
	ADD(sum_squares);
	ADD(sum_squares_a);
	ADD(sum_squares_b);
	ADD(dot);
#undef ADD
}

enum tp_status
tp_compare_add(struct tp_compare *c, const struct tp_compare_rule *rule,
    enum tp_dtype dtype_a, const void *a, enum tp_dtype dtype_b, const void *b,
    size_t n, struct tp_err *err)
{
	struct job job = {
	    .rule = rule,
	    .a = {tpi_part_dtype(dtype_a), a},
	    .b = {tpi_part_dtype(dtype_b), b},
	    .atol = rule->has_abs ? rule->atol : 0,
	    .rtol = rule->has_abs ? rule->rtol : 0,
	    .ulp = rule->has_ulp ? rule->ulp : UINT64_MAX,
	};
	bool complex_a = job.a.dtype != dtype_a;
	bool complex_b = job.b.dtype != dtype_b;
	size_t parts = complex_a ? 2 : 1;

	if (!tp_dtype_bits(dtype_a) || !tp_dtype_bits(dtype_b) ||
	    complex_a != complex_b)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s and %s cannot be compared", tp_dtype_name(dtype_a),
		    tp_dtype_name(dtype_b));
	if (rule->bits && dtype_a != dtype_b)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "bits of %s and %s cannot be the same",
		    tp_dtype_name(dtype_a), tp_dtype_name(dtype_b));
	/* Only codes are judged then. */
	if (rule->has_ulp && !rule->has_abs)
		job.atol = INFINITY;
	if (rule->bits)
		job.ulp = 0;
	for (size_t at = 0; at < n; at += TP_COMPARE_CHUNK) {
		struct tp_compare chunk = {0};
		uint64_t base = c->n;
		size_t end =
		    n - at < TP_COMPARE_CHUNK ? n : at + TP_COMPARE_CHUNK;

		for (size_t i = at * parts; i < end * parts; i += TPI_PAIRS) {
			size_t size = end * parts - i;

			compare_block(&chunk, &job, i,
			    size < TPI_PAIRS ? size : TPI_PAIRS,
			    base + (i - at * parts));
		}
		join(c, &chunk);
	}
	return TP_OK;
}

void
tp_compare_join(struct tp_compare *c, const struct tp_compare *chunk)
{
	struct tp_compare moved = *chunk;

	moved.first_over += c->n;
	moved.first_special += c->n;
	moved.worst += c->n;
	join(c, &moved);
}

void
tp_compare_add_same(struct tp_compare *c, uint64_t n)
{
	c->n += n;
	c->n_equal += n;
	c->n_finite += n;
}

double
tp_compare_mean_abs(const struct tp_compare *c)
{
	return c->n_finite ? c->sum_abs / (double)c->n_finite : 0;
}

double
tp_compare_rms(const struct tp_compare *c)
{
	return c->n_finite ? sqrt(c->sum_squares / (double)c->n_finite) : 0;
}

double
tp_compare_cosine(const struct tp_compare *c)
{
	double x = c->sum_squares_a, y = c->sum_squares_b, cosine;

	if (c->max_abs <= 0)
		return 1;
	if (x <= 0 || y <= 0)
		return 0;
	/* Rounding may lead beyond 1. */
	cosine = c->dot / (sqrt(x) * sqrt(y));
	return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}

double
tp_compare_sqnr(const struct tp_compare *c)
{
	if (c->max_abs <= 0)
		return INFINITY;
	return 10 * log10(c->sum_squares_b / c->sum_squares);
}
