/* SPDX-License-Identifier: Apache-2.0 */
/* quant_fit.c - schemes, groups of elements, and a scale for a range */
#include "tp/quant_fit.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/convert.h"

#include "quant_groups.h"

#include "banned.h"

static const struct tp_scheme schemes[] = {
#define TP_SCHEME(                                                            \
    name, dtype, lowest, highest, symmetric, per, block, scale, signed_scale) \
	{name, TP_DTYPE_##dtype, lowest, highest, symmetric, TP_PER_##per,    \
	    block, TP_DTYPE_##scale, signed_scale},
#include "quant/schemes.def"
#undef TP_SCHEME
};

const struct tp_scheme *
tp_scheme_at(size_t i)
{
	return i < sizeof(schemes) / sizeof(schemes[0]) ? &schemes[i] : NULL;
}

const struct tp_scheme *
tp_scheme_find(const char *name)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (!strcmp(schemes[i].name, name))
			return &schemes[i];
	return NULL;
}

struct tp_quant_grid
tp_quant_grid_of(const struct tp_scheme *scheme, bool symmetric)
{
	struct tp_quant_grid grid = {
	    .lowest = scheme->lowest,
	    .highest = scheme->highest,
	    .symmetric = symmetric,
	    .is_signed = scheme->lowest < 0,
	    .signed_scale = scheme->signed_scale,
	    .scale = scheme->scale,
	};

	if (!symmetric || scheme->signed_scale)
		return grid;
	/* An even number of codes has one too many on the negative side. */
	if ((grid.highest - grid.lowest) % 2)
		grid.lowest++;
	grid.zero = (grid.lowest + grid.highest) / 2;
	return grid;
}

static enum tp_status
count_groups(struct tp_quant_groups *g, struct tp_err *err)
{
	g->n_blocks = g->size / g->block + (g->size % g->block ? 1 : 0);
	if (tp_mul_u64(g->outer, g->size, &g->n_elems) ||
	    tp_mul_u64(g->n_elems, g->inner, &g->n_elems) ||
	    tp_mul_u64(g->outer, g->n_blocks, &g->n_groups) ||
	    tp_mul_u64(g->n_groups, g->inner, &g->n_groups))
		return tp_fail(
		    err, TP_ELIMIT, TP_NO_OFFSET, "too many elements");
	return TP_OK;
}

enum tp_status
tp_quant_groups_init(struct tp_quant_groups *g, const int64_t *shape,
    unsigned rank, enum tp_quant_per per, unsigned axis, uint64_t block,
    struct tp_err *err)
{
	struct tp_quant_groups made = {.outer = 1, .size = 1, .inner = 1};
	uint64_t *part = &made.outer;
	enum tp_status rc;

	if (per != TP_PER_TENSOR && axis >= rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "axis %u of a tensor of rank %u", axis, rank);
	if (per == TP_PER_BLOCK && block == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "blocks of 0");
	for (unsigned d = 0; d < rank; d++) {
		if (per == TP_PER_TENSOR || d == axis)
			part = &made.size;
		else if (d > axis)
			part = &made.inner;
		if (tp_mul_u64(*part, (uint64_t)shape[d], part))
			return tp_fail(
			    err, TP_ELIMIT, TP_NO_OFFSET, "too many elements");
	}
	made.block = per == TP_PER_BLOCK ? block : made.size ? made.size : 1;
	rc = count_groups(&made, err);
	if (rc)
		return rc;
	if (per == TP_PER_CHANNEL) {
		/* One scale for an index, wherever it is: outer has no part. */
		made.block = 1;
		made.n_blocks = made.n_groups = made.size;
	}
	*g = made;
	return TP_OK;
}

uint64_t
tp_quant_group_of(const struct tp_quant_groups *g, uint64_t elem)
{
	uint64_t row = elem / g->inner;

	if (tpi_quant_is_channel(g))
		return row % g->size;
	return (row / g->size * g->n_blocks + row % g->size / g->block) *
		   g->inner +
	       elem % g->inner;
}

/*
 * ---- a scale for a range ----
 */

/* The f16 nearest to f, which is not negative; the largest if f is beyond. */
static float
round_half(float f)
{
	uint32_t bits;

	if (f >= 65504)
		return 65504;
	if (f < 0x1p-14f)
		return rintf(f * 0x1p24f) * 0x1p-24f;
	/* 13 bits of the significand go, to nearest even. */
	memcpy(&bits, &f, sizeof(bits));
	bits = (bits + 0xfff + (bits >> 13 & 1)) & ~(uint32_t)0x1fff;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* The nearest number that the scale's dtype has, not 0 and not infinite. */
static float
round_scale(enum tp_dtype dtype, double s)
{
	float f = (float)s;

	if (dtype != TP_DTYPE_F16)
		return f > 0 ? f : 0x1p-149f;
	f = round_half(f);
	return f > 0 ? f : 0x1p-24f;
}

/* The next larger (up) or smaller number of the scale's dtype. */
static float
next_scale(enum tp_dtype dtype, float s, bool up)
{
	float step;
	int e;

	if (dtype != TP_DTYPE_F16)
		return nextafterf(s, up ? INFINITY : 0x1p-149f);
	frexpf(s, &e);
	step = ldexpf(1, e - 11 < -24 ? -24 : e - 11);
	if (!up && s == ldexpf(1, e - 1) && e - 12 >= -24)
		step /= 2;
	s += up ? step : -step;
	return s > 65504 ? 65504 : s < 0x1p-24f ? 0x1p-24f : s;
}

/* The code of x, not limited. */
static double
steps(float x, float scale)
{
	return rint((double)(x / scale));
}

static float
number_of(double code, float scale)
{
	return (float)(code * (double)scale);
}

/* With so few bits scales are as far apart as codes, or nearly. */
static bool
is_coarse(enum tp_dtype dtype, float s)
{
	return s < (dtype == TP_DTYPE_F16 ? 0x1p-14f : FLT_MIN);
}

/* A scale for a, which gets the code n, or a lower one where that is coarse. */
static float
scale_for_magnitude(enum tp_dtype dtype, int n, float a)
{
	float s = round_scale(dtype, (double)(a / (float)n));

	/* Where scales are coarse, the next one up; not past the largest. */
	if (steps(a, s) > n)
		s = next_scale(dtype, s, true);
	while (!isfinite(number_of(n, s)))
		s = next_scale(dtype, s, false);
	return s;
}

/* Symmetric: the largest magnitude gets the outermost code. */
static float
fit_magnitude(const struct tp_quant_grid *grid, float a)
{
	int n = grid->signed_scale ? -grid->lowest : grid->highest - grid->zero;
	float s = scale_for_magnitude(grid->scale, n, a), before;

	if (!is_coarse(grid->scale, s))
		return s;
	/*
	 * The number that a becomes may be nearer to a smaller scale, of which
	 * a is hardly more than n then. In the end it is the code n, or one
	 * that stays; nothing but zeros has the scale of zeros.
	 */
	do {
		double code = steps(a, s);

		if (code < 1)
			return 1;
		before = s;
		s = scale_for_magnitude(
		    grid->scale, n, number_of(code > n ? n : code, s));
	} while (s < before);
	return s;
}

/* The zero point that goes with a scale. */
static int
zero_for(const struct tp_quant_grid *grid, float low, float scale)
{
	double z = grid->lowest - steps(low, scale);

	return z > grid->highest ? grid->highest : (int)z;
}

/* s, or the largest scale with which `code` stands for a finite number. */
static float
limit_scale(enum tp_dtype dtype, float s, int code)
{
	if (isfinite(number_of(code, s)))
		return s;
	/* What is not below this is rounded to infinity. */
	s = (float)(0x1.ffffffp127 / (code < 0 ? -code : code));
	while (!isfinite(number_of(code, s)))
		s = next_scale(dtype, s, false);
	return s;
}

static float
scale_for(const struct tp_quant_grid *grid, float low, float high)
{
	double range = (double)high - (double)low;
	int n = grid->highest - grid->lowest;
	float s = round_scale(grid->scale, range / n), before;

	/* Where scales are coarse, one that the range fits into. */
	if (range / (double)s > n * (1 + 0x1p-15))
		s = next_scale(grid->scale, s, true);
	/* A smaller one moves zero up, which may ask for a smaller one. */
	do {
		int zero = zero_for(grid, low, s);

		before = s;
		s = limit_scale(grid->scale, s, grid->highest - zero);
		s = limit_scale(grid->scale, s, grid->lowest - zero);
	} while (s < before);
	return s;
}

static float
clamped(const struct tp_quant_grid *grid, float x, float scale, int zero)
{
	double code = steps(x, scale) + zero;

	code = code < grid->lowest ? grid->lowest : code;
	code = code > grid->highest ? grid->highest : code;
	return number_of(code - zero, scale);
}

/* Do the numbers that low and high become lead to the same scale again? */
static bool
is_settled(
    const struct tp_quant_grid *grid, float low, float high, float s, int zero)
{
	float low2 = clamped(grid, low, s, zero);
	float high2 = clamped(grid, high, s, zero);

	return isfinite(low2) && isfinite(high2) && (low2 < 0 || high2 > 0) &&
	       scale_for(grid, low2, high2) == s &&
	       zero_for(grid, low2, s) == zero;
}

/* … and do they all have codes? */
static bool
is_stable(
    const struct tp_quant_grid *grid, float low, float high, float s, int zero)
{
	return ((double)high - (double)low) / (double)s <=
		   grid->highest - grid->lowest + 0.5 &&
	       is_settled(grid, low, high, s, zero);
}

/* s with its significand cut to 16 bits: codes times it are exact. */
static float
cut(float s)
{
	int e;
	float m = frexpf(s, &e);

	return ldexpf(rintf(m * 65536.0f) / 65536.0f, e);
}

static void
fit_range(const struct tp_quant_grid *grid, float low, float high, float *scale,
    int16_t *zero)
{
	float plain = scale_for(grid, low, high), s = plain;

	/*
	 * The plain scale nearly always. Where rounding both ends leaves a code
	 * unused, or rounding products moves the range, one nearby.
	 */
	for (int i = 0; i < 64; i++) {
		int z = zero_for(grid, low, s), step = (i - 1) / 2;

		if (is_stable(grid, low, high, s, z)) {
			*scale = s;
			*zero = (int16_t)z;
			return;
		}
		/* The neighbours, then in turn below and above by 2^-15. */
		s = plain * (1 + (float)step * (i % 2 ? -0x1p-15f : 0x1p-15f));
		s = round_scale(grid->scale, (double)cut(s));
		if (i < 2)
			s = next_scale(grid->scale, plain, i == 1);
	}
	/* Subnormal scales are far apart: the largest that stays as it is. */
	s = plain;
	for (int i = 0; i < 64; i++) {
		*scale = s;
		*zero = (int16_t)zero_for(grid, low, s);
		if (is_settled(grid, low, high, s, *zero))
			return;
		s = next_scale(grid->scale, s, false);
	}
	*scale = plain;
	*zero = (int16_t)zero_for(grid, low, plain);
}

void
tp_quant_fit(const struct tp_quant_grid *grid, float low, float high,
    float *scale, int16_t *zero)
{
	float a = -low > high ? -low : high;
	double below;

	*scale = 1;
	*zero = (int16_t)grid->zero;
	if (low == 0 && high == 0)
		return;
	if (!grid->symmetric) {
		fit_range(grid, low, high, scale, zero);
		return;
	}
	*scale = fit_magnitude(grid, a);
	if (!grid->signed_scale || high <= -low)
		return;
	/* Where scales are coarse, both ends may become the same number. */
	below = steps(-low, *scale);
	below = below > grid->highest ? grid->highest : below;
	if (steps(high, *scale) > below)
		*scale = -*scale;
}

float
tp_quant_try(unsigned i)
{
	return (float)(TP_QUANT_TRIES - i) / TP_QUANT_TRIES;
}
