/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quant_store.c - ranges of groups, codes of numbers and back, run by run
 *
 * The loops have no branches and no calls, so that they become vectors: the
 * quotient is held within what a float can round by addition,
 *
 *	x / scale + 1.5 * 2^23  =  1.5 * 2^23 + code, to nearest even
 *
 * and the code is then the difference of the bits.
 */
#include <string.h>

#include "compiler.h"
#include "quant_groups.h"

#include "banned.h"

TPI_INLINE float
lesser(float a, float b)
{
	return a < b ? a : b;
}

TPI_INLINE float
greater(float a, float b)
{
	return a > b ? a : b;
}

/* A count of 32 bits lasts for this many. */
#define MAX_RUN ((size_t)1 << 30)

/* The bits of |x|: those of an infinity or more are no number. */
TPI_INLINE uint32_t
magnitude(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits & 0x7fffffff;
}

#define NOT_FINITE 0x7f800000u

/*
 * A float as an integer that ascends with it, so that the least of many can be
 * found by vectors whatever the order. ~key is the magnitude of a negative one.
 */
TPI_INLINE int32_t
key_of(float x)
{
	int32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits < 0 ? bits ^ 0x7fffffff : bits;
}

TPI_INLINE float
float_of(int32_t key)
{
	int32_t bits = key < 0 ? key ^ 0x7fffffff : key;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/*
 * Whole blocks one after the other from an element on, where blocks divide the
 * rows of the last axis: loops over them need not ask which group comes next.
 */
static size_t
count_blocks(const struct tp_quant_groups *g, uint64_t first, size_t n)
{
	bool in_line = g->inner == 1 && !tpi_quant_is_channel(g) &&
		       g->block <= MAX_RUN && g->size % g->block == 0 &&
		       first % g->block == 0;

	return in_line ? n / (size_t)g->block : 0;
}

/* Most blocks are of 32: then loops over them have no ends to look after. */
#define COMMON_BLOCK 32

/* The range of all n; returns the bits of the largest magnitude. */
TPI_INLINE uint32_t
range_of(const float *restrict x, size_t n, float *low, float *high)
{
	int32_t lo = 0, hi = 0;

	for (size_t i = 0; i < n; i++) {
		int32_t key = key_of(x[i]);

		lo = key < lo ? key : lo;
		hi = key > hi ? key : hi;
	}
	/* -0 is below 0 as a key only. */
	*low = lesser(float_of(lo), *low);
	*high = greater(float_of(hi), *high);
	return (uint32_t)(~lo > hi ? ~lo : hi);
}

TPI_CLONES
static uint32_t
range_of_run(const float *restrict x, size_t n, float *low, float *high)
{
	return range_of(x, n, low, high);
}

/* How many blocks are finite, from the first on. */
TPI_CLONES
static size_t
range_of_blocks(const float *restrict x, size_t n_blocks, size_t block,
    float *restrict low, float *restrict high)
{
	uint32_t max;

	for (size_t b = 0; b < n_blocks; b++) {
		if (block == COMMON_BLOCK)
			max = range_of(x + b * COMMON_BLOCK, COMMON_BLOCK,
			    low + b, high + b);
		else
			max = range_of(x + b * block, block, low + b, high + b);
		if (max >= NOT_FINITE)
			return b;
	}
	return n_blocks;
}

/* Each element widens the range of its own group. */
TPI_CLONES
static uint32_t
range_side_by_side(const float *restrict x, size_t n, float *restrict low,
    float *restrict high)
{
	uint32_t max = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t m = magnitude(x[i]);

		low[i] = lesser(x[i], low[i]);
		high[i] = greater(x[i], high[i]);
		max = m > max ? m : max;
	}
	return max;
}

size_t
tp_quant_range_add(const struct tp_quant_groups *g, uint64_t first_group,
    uint64_t first, const float *x, size_t n, float *low, float *high)
{
	size_t n_blocks = count_blocks(g, first, n), i = 0;
	struct tpi_quant_run run;

	if (n_blocks) {
		size_t at = (size_t)(tp_quant_group_of(g, first) - first_group);

		i = (size_t)g->block * range_of_blocks(x, n_blocks,
					   (size_t)g->block, low + at,
					   high + at);
	}
	for (; i < n; i += run.n) {
		size_t at;
		uint32_t max;

		run = tpi_quant_run_at(g, first + i, n - i);
		at = (size_t)(run.group - first_group);
		max =
		    run.side_by_side
			? range_side_by_side(x + i, run.n, low + at, high + at)
			: range_of_run(x + i, run.n, low + at, high + at);
		if (max < NOT_FINITE)
			continue;
		while (magnitude(x[i]) < NOT_FINITE)
			i++;
		return i;
	}
	return n;
}

struct limits {
	int32_t lowest, highest;
};

/*
 * How many did not fit. same: one scale for all, else each has its own.
 * Constant arguments make a loop of each case.
 */
TPI_INLINE uint32_t
store(bool same, struct limits limits, const float *restrict x, size_t n,
    const float *restrict scale, const int16_t *restrict zero,
    int8_t *restrict codes)
{
	const float magic = 0x1.8p23f;
	const float s0 = scale[0];
	const int32_t z0 = zero[0];
	uint32_t n_beyond = 0;

	for (size_t i = 0; i < n; i++) {
		float q = x[i] / (same ? s0 : scale[i]);
		int32_t code;

		/* No code is as far from zero as this. */
		q = lesser(greater(q, -1024.0f), 1024.0f) + magic;
		memcpy(&code, &q, sizeof(code));
		code = code - 0x4b400000 + (same ? z0 : zero[i]);
		n_beyond += (code < limits.lowest) | (code > limits.highest);
		code = code < limits.lowest ? limits.lowest : code;
		code = code > limits.highest ? limits.highest : code;
		codes[i] = (int8_t)(uint8_t)code;
	}
	return n_beyond;
}

TPI_CLONES
static uint32_t
store_run(struct limits limits, const float *x, size_t n, const float *scale,
    const int16_t *zero, int8_t *codes)
{
	return store(true, limits, x, n, scale, zero, codes);
}

TPI_CLONES
static uint32_t
store_side_by_side(struct limits limits, const float *x, size_t n,
    const float *scale, const int16_t *zero, int8_t *codes)
{
	return store(false, limits, x, n, scale, zero, codes);
}

TPI_CLONES
static uint64_t
store_blocks(struct limits limits, const float *x, size_t n_blocks,
    size_t block, const float *scale, const int16_t *zero, int8_t *codes)
{
	uint64_t n_beyond = 0;

	for (size_t b = 0; b < n_blocks; b++)
		if (block == COMMON_BLOCK)
			n_beyond += store(true, limits, x + b * COMMON_BLOCK,
			    COMMON_BLOCK, scale + b, zero + b,
			    codes + b * COMMON_BLOCK);
		else
			n_beyond += store(true, limits, x + b * block, block,
			    scale + b, zero + b, codes + b * block);
	return n_beyond;
}

uint64_t
tp_quant_store(const struct tp_quant_groups *g,
    const struct tp_quant_grid *grid, uint64_t first_group, uint64_t first,
    const float *x, size_t n, const float *scale, const int16_t *zero,
    int8_t *codes)
{
	const struct limits limits = {grid->lowest, grid->highest};
	struct tpi_quant_run run;
	size_t n_blocks = count_blocks(g, first, n), i = 0;
	uint64_t n_beyond = 0;

	if (n_blocks) {
		size_t at = (size_t)(tp_quant_group_of(g, first) - first_group);

		n_beyond = store_blocks(limits, x, n_blocks, (size_t)g->block,
		    scale + at, zero + at, codes);
		i = n_blocks * (size_t)g->block;
	}
	for (; i < n; i += run.n) {
		size_t at;

		run = tpi_quant_run_at(
		    g, first + i, n - i < MAX_RUN ? n - i : MAX_RUN);
		at = (size_t)(run.group - first_group);
		n_beyond += (run.side_by_side ? store_side_by_side : store_run)(
		    limits, x + i, run.n, scale + at, zero + at, codes + i);
	}
	return n_beyond;
}

TPI_INLINE void
load(bool same, bool is_signed, const int8_t *restrict codes, size_t n,
    const float *restrict scale, const int16_t *restrict zero,
    float *restrict x)
{
	const float s0 = scale[0];
	const int32_t z0 = zero[0];

	for (size_t i = 0; i < n; i++) {
		int32_t code = is_signed ? codes[i] : (uint8_t)codes[i];

		/* Both factors are exact, so this rounds once. */
		x[i] = (float)(code - (same ? z0 : zero[i])) *
		       (same ? s0 : scale[i]);
	}
}

TPI_CLONES
static void
load_run(bool is_signed, const int8_t *codes, size_t n, const float *scale,
    const int16_t *zero, float *x)
{
	if (is_signed)
		load(true, true, codes, n, scale, zero, x);
	else
		load(true, false, codes, n, scale, zero, x);
}

TPI_CLONES
static void
load_side_by_side(bool is_signed, const int8_t *codes, size_t n,
    const float *scale, const int16_t *zero, float *x)
{
	if (is_signed)
		load(false, true, codes, n, scale, zero, x);
	else
		load(false, false, codes, n, scale, zero, x);
}

TPI_CLONES
static void
load_blocks(bool is_signed, const int8_t *codes, size_t n_blocks, size_t block,
    const float *scale, const int16_t *zero, float *x)
{
	for (size_t b = 0; b < n_blocks; b++) {
		size_t at = b * block;

		if (is_signed && block == COMMON_BLOCK)
			load(true, true, codes + at, COMMON_BLOCK, scale + b,
			    zero + b, x + at);
		else
			load(true, is_signed, codes + at, block, scale + b,
			    zero + b, x + at);
	}
}

void
tp_quant_load(const struct tp_quant_groups *g, bool is_signed,
    uint64_t first_group, uint64_t first, const int8_t *codes, size_t n,
    const float *scale, const int16_t *zero, float *x)
{
	size_t n_blocks = count_blocks(g, first, n), i = 0;
	struct tpi_quant_run run;

	if (n_blocks) {
		size_t at = (size_t)(tp_quant_group_of(g, first) - first_group);

		load_blocks(is_signed, codes, n_blocks, (size_t)g->block,
		    scale + at, zero + at, x);
		i = n_blocks * (size_t)g->block;
	}
	for (; i < n; i += run.n) {
		size_t at;

		run = tpi_quant_run_at(g, first + i, n - i);
		at = (size_t)(run.group - first_group);
		(run.side_by_side ? load_side_by_side : load_run)(
		    is_signed, codes + i, run.n, scale + at, zero + at, x + i);
	}
}

TPI_CLONES
static void
pack_pairs(const int8_t *restrict codes, size_t n_pairs, uint8_t *restrict out)
{
	for (size_t i = 0; i < n_pairs; i++)
		out[i] = (uint8_t)((codes[2 * i] & 15) | (codes[2 * i + 1] & 15)
							     << 4);
}

void
tp_quant_pack(const int8_t *codes, size_t n, uint8_t *out)
{
	pack_pairs(codes, n / 2, out);
	if (n % 2)
		out[n / 2] = (uint8_t)(codes[n - 1] & 15);
}
