/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convert.c - any dtype to any other, block by block
 *
 * Elements of a block become exact numbers, the numbers become codes, and what
 * that did to them is counted. Pairs that matter for speed have a kernel, which
 * gives the same.
 */
#include "convert_table.h"
#include "kernels.h"
#include "number.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler.h"

#include "banned.h"

/* Numbers in a block; a multiple of 8, so that a block begins on a byte. */
#define BLOCK 256

struct conversion {
	enum tp_dtype dst_dtype, src_dtype;
	tpi_decode_fn *decode, *decode_result;
	tpi_encode_fn *encode;
	enum tp_overflow overflow;
	size_t src_parts, dst_parts; /* 2 for complex numbers, else 1 */
};

static enum tp_status
find_conversion(enum tp_dtype dst_dtype, enum tp_dtype src_dtype,
    enum tp_overflow overflow, struct conversion *c, struct tp_err *err)
{
	enum tp_dtype src_part = tpi_part_dtype(src_dtype);
	enum tp_dtype dst_part = tpi_part_dtype(dst_dtype);

	*c = (struct conversion){
	    .dst_dtype = dst_dtype,
	    .src_dtype = src_dtype,
	    .overflow = overflow,
	    .src_parts = src_part == src_dtype ? 1 : 2,
	    .dst_parts = dst_part == dst_dtype ? 1 : 2,
	};
	if (tp_dtype_bits(src_part) && tp_dtype_bits(dst_part)) {
		c->decode = tpi_decoders[src_part];
		c->encode = tpi_encoders[dst_part];
		c->decode_result = tpi_decoders[dst_part];
	}
	if (!c->decode || c->src_parts > c->dst_parts)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s does not convert to %s", tp_dtype_name(src_dtype),
		    tp_dtype_name(dst_dtype));
	return TP_OK;
}

/* Real numbers become complex ones, from the last to the first. */
static void
add_imaginary_parts(struct tpi_number *numbers, size_t n)
{
	for (size_t i = n; i-- > 0;) {
		numbers[2 * i] = numbers[i];
		numbers[2 * i + 1] = (struct tpi_number){.mag = 0};
	}
}

/* |y - x| / |x| of finite numbers, x not zero. */
static double
relative_error(struct tpi_number x, struct tpi_number y)
{
	double fx = tpi_number_to_f64(x), fy = tpi_number_to_f64(y);
	int shift = x.exp - y.exp;
	uint64_t a = x.mag, b = y.mag;

	/* Near each other the difference is taken exactly, as integers. */
	if (x.neg == y.neg && shift > -64 && shift < 64) {
		if (shift > 0)
			a <<= shift;
		else
			b <<= -shift;
		if ((shift > 0 ? a >> shift : a) == x.mag &&
		    (shift > 0 ? b : b >> -shift) == y.mag)
			return ldexp((double)(a > b ? a - b : b - a),
				   shift > 0 ? y.exp : x.exp) /
			       fabs(fx);
	}
	return fabs(fy - fx) / fabs(fx);
}

/* Count the parts of one element. x and y are its numbers before and after. */
static void
count_element(struct tp_cast_stats *s, uint64_t index,
    const struct tpi_number *x, const struct tpi_number *y,
    const uint8_t *outcomes, size_t n_parts)
{
	unsigned outcome = 0, classes = 0;

	for (size_t i = 0; i < n_parts; i++) {
		if (outcomes[i] & ~outcome & TPI_OVERFLOW &&
		    s->n_overflow == 0) {
			s->first_overflow = index;
			s->first_overflow_value = tpi_number_to_f64(x[i]);
		}
		outcome |= outcomes[i];
		classes |= 1u << x[i].class;
		if (outcomes[i] && x[i].class == TPI_FINITE && x[i].mag &&
		    y[i].class == TPI_FINITE) {
			double e = relative_error(x[i], y[i]);

			if (e > s->max_rel_error) {
				s->max_rel_error = e;
				s->max_rel_index = index;
			}
		}
	}
	s->n_overflow += (outcome & TPI_OVERFLOW) != 0;
	s->n_to_zero += (outcome & TPI_TO_ZERO) != 0;
	s->n_to_subnormal += (outcome & TPI_TO_SUBNORMAL) != 0;
	s->n_inexact += (outcome & (TPI_INEXACT | TPI_OVERFLOW)) == TPI_INEXACT;
	s->n_nan += classes >> TPI_NAN & 1;
	s->n_inf += classes >> TPI_INF & 1;
}

/* The error for the first part that cannot be what the policy asks. */
static enum tp_status
check_outcomes(const struct conversion *c, uint64_t index,
    const struct tpi_number *x, const uint8_t *outcomes, size_t n_numbers,
    struct tp_err *err)
{
	unsigned fatal =
	    TPI_NO_CODE |
	    (c->overflow == TP_OVERFLOW_ERROR ? (unsigned)TPI_OVERFLOW : 0);

	for (size_t i = 0; i < n_numbers; i++) {
		if (!(outcomes[i] & fatal))
			continue;
		index += i / c->dst_parts;
		if (x[i].class == TPI_NAN)
			return tp_fail(err, TP_ERANGE, TP_NO_OFFSET,
			    "element %" PRIu64 " is NaN, which %s has not",
			    index, tp_dtype_name(c->dst_dtype));
		return tp_fail(err, TP_ERANGE, TP_NO_OFFSET,
		    "element %" PRIu64 " is %.9g, out of the range of %s",
		    index, tpi_number_to_f64(x[i]),
		    tp_dtype_name(c->dst_dtype));
	}
	return TP_OK;
}

/* One block: n elements of src from `first` on, to the start of dst. */
static enum tp_status
convert_block(const struct conversion *c, void *dst, const void *src,
    size_t first, size_t n, uint64_t index, struct tp_cast_stats *stats,
    struct tp_err *err)
{
	struct tpi_number x[BLOCK], y[BLOCK];
	uint8_t outcomes[BLOCK];
	size_t n_numbers = n * c->dst_parts;
	unsigned any = 0;

	c->decode(src, first * c->src_parts, n * c->src_parts, x);
	if (c->dst_parts > c->src_parts)
		add_imaginary_parts(x, n);
	c->encode(dst, n_numbers, x, c->overflow, outcomes);

	for (size_t i = 0; i < n_numbers; i++)
		any |= outcomes[i] | x[i].class;
	if (!any)
		return TP_OK;
	if (stats) {
		c->decode_result(dst, 0, n_numbers, y);
		for (size_t i = 0; i < n; i++)
			count_element(stats, index + i, x + i * c->dst_parts,
			    y + i * c->dst_parts, outcomes + i * c->dst_parts,
			    c->dst_parts);
	}
	return check_outcomes(c, index, x, outcomes, n_numbers, err);
}

/* Bytes as they are, but for the unused bits of the last. */
static void
copy_packed(void *dst, const void *src, unsigned bits, size_t n)
{
	size_t nbytes = n / 8 * bits + (n % 8 * bits + 7) / 8;
	unsigned rest = (unsigned)(n % 8 * bits % 8);
	uint8_t *end = (uint8_t *)dst + nbytes;

	if (nbytes)
		memcpy(dst, src, nbytes);
	if (rest)
		end[-1] &= (uint8_t)((1u << rest) - 1);
}

/* n elements, counted from `index` on, the long way. */
static enum tp_status
convert_range(const struct conversion *c, uint8_t *dst, const void *src,
    size_t n, uint64_t index, struct tp_cast_stats *stats, struct tp_err *err)
{
	size_t step = BLOCK / c->dst_parts;

	for (size_t i = 0; i < n; i += step) {
		uint8_t *to = dst + i / 8 * tp_dtype_bits(c->dst_dtype);
		size_t size = n - i < step ? n - i : step;
		enum tp_status rc =
		    convert_block(c, to, src, i, size, index + i, stats, err);

		if (rc)
			return rc;
	}
	return TP_OK;
}

static const struct tpi_kernel *
find_kernel(enum tp_dtype dst, enum tp_dtype src)
{
	const struct tpi_kernel *const lists[] = {
	    tpi_narrow_kernels, tpi_widen_kernels};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const struct tpi_kernel *k = lists[i]; k->dst; k++)
			if (k->dst == dst && k->src == src)
				return k;
	return NULL;
}

/* Without a jump, so that the loop becomes vectors; most often it is 0. */
TPI_CLONES static size_t
count_above(const double *errors, size_t n, double limit)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += errors[i] > limit;
	return count;
}

/*
 * Count a block that a kernel converted. The kernel's max_rel is a little off,
 * so it only tells whether the errors are worth looking at.
 */
static void
add_counts(const struct tpi_kernel *k, const struct tpi_counts *counts,
    const uint8_t *src, size_t n, enum tp_overflow overflow, uint64_t index,
    struct tp_cast_stats *s)
{
	double errors[TPI_KERNEL_BLOCK];

	s->n_overflow += counts->n_overflow;
	s->n_to_zero += counts->n_to_zero;
	s->n_to_subnormal += counts->n_to_subnormal;
	s->n_nan += counts->n_nan;
	s->n_inf += counts->n_inf;
	s->n_inexact += counts->n_inexact;
	/* Nothing rounds or saturates by more than its own size. */
	if (counts->max_rel == 0 || s->max_rel_error >= 1 ||
	    counts->max_rel * (1 + 0x1p-20) < s->max_rel_error)
		return;
	k->errors(errors, src, n, overflow);
	if (count_above(errors, n, s->max_rel_error) == 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (errors[i] > s->max_rel_error) {
			s->max_rel_error = errors[i];
			s->max_rel_index = index + i;
		}
}

/*
 * All n elements by a kernel. A block that the kernel cannot speak for, because
 * it is an error or has the first overflow, is done again the long way.
 */
static enum tp_status
convert_fast(const struct tpi_kernel *k, const struct conversion *c,
    uint8_t *dst, const uint8_t *src, size_t n, uint64_t base,
    struct tp_cast_stats *stats, struct tp_err *err)
{
	size_t src_size = tp_dtype_bits(c->src_dtype) / 8;
	size_t dst_size = tp_dtype_bits(c->dst_dtype) / 8;
	struct tpi_counts counts;
	enum tp_status rc;

	for (size_t i = 0; i < n; i += TPI_KERNEL_BLOCK) {
		size_t size =
		    n - i < TPI_KERNEL_BLOCK ? n - i : TPI_KERNEL_BLOCK;
		uint8_t *to = dst + i * dst_size;
		const uint8_t *from = src + i * src_size;

		if (!stats && c->overflow != TP_OVERFLOW_ERROR) {
			k->convert(to, from, size, c->overflow);
			continue;
		}
		k->count(to, from, size, c->overflow, &counts);
		if (counts.n_overflow && (c->overflow == TP_OVERFLOW_ERROR ||
					     stats->n_overflow == 0)) {
			rc = convert_range(
			    c, to, from, size, base + i, stats, err);
			if (rc)
				return rc;
		} else if (stats) {
			add_counts(k, &counts, from, size, c->overflow,
			    base + i, stats);
		}
	}
	return TP_OK;
}

/* The same for a narrow source. */
static enum tp_status
convert_by_table(const struct conversion *c, uint8_t *dst, const uint8_t *src,
    size_t n, uint64_t base, struct tp_cast_stats *stats, struct tp_err *err)
{
	struct tpi_table t;
	bool is_checked;

	tpi_table_make(&t, c->dst_dtype, c->src_dtype, c->overflow);
	is_checked = stats || c->overflow == TP_OVERFLOW_ERROR || t.has_no_code;
	for (size_t i = 0; i < n; i += TPI_TABLE_BLOCK) {
		size_t size = n - i < TPI_TABLE_BLOCK ? n - i : TPI_TABLE_BLOCK;
		uint8_t *to = dst + i * t.dst_size;
		const uint8_t *from = src + i / 8 * t.src_bits;
		enum tp_status rc;

		if (tpi_table_convert(&t, to, from, size, is_checked, stats))
			continue;
		rc = convert_range(c, to, from, size, base + i, stats, err);
		if (rc)
			return rc;
	}
	return TP_OK;
}

enum tp_status
tp_convert(enum tp_dtype dst_dtype, void *dst, enum tp_dtype src_dtype,
    const void *src, size_t n, enum tp_overflow overflow, uint64_t base,
    struct tp_cast_stats *stats, struct tp_err *err)
{
	struct tp_cast_stats part = {.n = n}, *counts = stats ? &part : NULL;
	const struct tpi_kernel *kernel;
	struct conversion c;
	enum tp_status rc;

	rc = find_conversion(dst_dtype, src_dtype, overflow, &c, err);
	if (rc)
		return rc;
	if (dst_dtype == src_dtype && dst_dtype != TP_DTYPE_BOOL && !stats) {
		copy_packed(dst, src, tp_dtype_bits(dst_dtype), n);
		return TP_OK;
	}
	kernel = find_kernel(dst_dtype, src_dtype);
	if (kernel)
		rc = convert_fast(kernel, &c, dst, src, n, base, counts, err);
	else if (n >= TPI_TABLE_LEAST && tpi_table_suits(dst_dtype, src_dtype))
		rc = convert_by_table(&c, dst, src, n, base, counts, err);
	else
		rc = convert_range(&c, dst, src, n, base, counts, err);
	if (rc)
		return rc;
	if (stats)
		tp_cast_stats_merge(stats, &part);
	return TP_OK;
}

void
tp_cast_stats_merge(
    struct tp_cast_stats *into, const struct tp_cast_stats *part)
{
	if (part->n_overflow &&
	    (!into->n_overflow ||
		part->first_overflow < into->first_overflow)) {
		into->first_overflow = part->first_overflow;
		into->first_overflow_value = part->first_overflow_value;
	}
	if (part->max_rel_error > into->max_rel_error ||
	    (part->max_rel_error > 0 &&
		part->max_rel_error >= into->max_rel_error &&
		part->max_rel_index < into->max_rel_index)) {
		into->max_rel_error = part->max_rel_error;
		into->max_rel_index = part->max_rel_index;
	}
	into->n += part->n;
	into->n_overflow += part->n_overflow;
	into->n_to_zero += part->n_to_zero;
	into->n_to_subnormal += part->n_to_subnormal;
	into->n_nan += part->n_nan;
	into->n_inf += part->n_inf;
	into->n_inexact += part->n_inexact;
}

double
tp_load_f64(enum tp_dtype dtype, const void *src, size_t i)
{
	enum tp_dtype part = tpi_part_dtype(dtype);
	struct tpi_number x = {.class = TPI_NAN, .mag = UINT64_C(1) << 63};

	if (tp_dtype_bits(part))
		tpi_decoders[part](src, part == dtype ? i : 2 * i, 1, &x);
	return tpi_number_to_f64(x);
}
