/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_finite.c - how far finite floats are from others, and nothing else
 *
 * The sums are those of compare.c: number i of a block is added in lane i % 32,
 * lanes in order make a block, blocks a chunk, chunks the whole. Here the lanes
 * of all sums are in registers, a quarter of them at a time.
 */
#include "tp/compare.h"

#include <math.h>
#include <string.h>

#include "compare_block.h"
#include "compiler.h"

#include "banned.h"

#define LANES TPI_SUM_LANES
#define WIDTH 8

typedef double vector __attribute__((vector_size(8 * WIDTH)));
typedef int64_t bits_vector __attribute__((vector_size(8 * WIDTH)));
typedef float floats __attribute__((vector_size(4 * WIDTH)));

enum { ABS, SQUARES, SQUARES_A, SQUARES_B, DOT, N_SUMS };

struct block {
	double lanes[N_SUMS][LANES];
	double max[WIDTH];
};

/* Lanes first … first+WIDTH-1 of a block; n is a multiple of LANES. */
TPI_INLINE void
sum_lanes(
    struct block *s, size_t first, const float *a, const float *b, size_t n)
{
	vector sums[N_SUMS] = {{0}}, max;

	memcpy(&max, s->max, sizeof(max));
	for (size_t i = first; i < n; i += LANES) {
		floats fa, fb;
		vector x, y, d, magnitude;
		bits_vector larger;

		memcpy(&fa, a + i, sizeof(fa));
		memcpy(&fb, b + i, sizeof(fb));
		x = __builtin_convertvector(fa, vector);
		y = __builtin_convertvector(fb, vector);
		d = x - y;
		magnitude = (vector)((bits_vector)d & INT64_MAX);
		sums[ABS] += magnitude;
		sums[SQUARES] += d * d;
		sums[SQUARES_A] += x * x;
		sums[SQUARES_B] += y * y;
		sums[DOT] += x * y;
		larger = (bits_vector)(magnitude > max);
		max = (vector)(((bits_vector)magnitude & larger) |
			       ((bits_vector)max & ~larger));
	}
	for (size_t k = 0; k < N_SUMS; k++)
		memcpy(s->lanes[k] + first, &sums[k], sizeof(sums[k]));
	memcpy(s->max, &max, sizeof(max));
}

TPI_CLONES static void
sum_block(struct block *s, const float *a, const float *b, size_t n)
{
	memset(s->max, 0, sizeof(s->max));
	for (size_t first = 0; first < LANES; first += WIDTH)
		sum_lanes(s, first, a, b, n);
}

/* Lanes in order, of all sums at a time: they do not wait for each other. */
static void
add_lanes(double totals[N_SUMS], const struct block *s)
{
	for (size_t k = 0; k < LANES; k++)
		for (size_t i = 0; i < N_SUMS; i++)
			totals[i] += s->lanes[i][k];
}

/* The first pair that is as far apart as the block has it. */
static void
find_worst(struct tp_compare *c, const float *a, const float *b, uint64_t base)
{
	size_t i = 0;

	while (fabs((double)a[i] - (double)b[i]) < c->max_abs)
		i++;
	c->worst = base + i;
	c->worst_a = (double)a[i];
	c->worst_b = (double)b[i];
}

/*
 * n pairs at number `base` of a chunk; a last short block is padded by zeros.
 */
static void
add_block(struct tp_compare *c, const float *a, const float *b, size_t n)
{
	float padded[2][TPI_PAIRS];
	const float *x = a, *y = b;
	double totals[N_SUMS] = {0}, max = 0;
	struct block s;

	if (n % LANES) {
		memset(padded, 0, sizeof(padded));
		memcpy(padded[0], a, n * sizeof(*a));
		memcpy(padded[1], b, n * sizeof(*b));
		x = padded[0];
		y = padded[1];
	}
	sum_block(&s, x, y, (n + LANES - 1) / LANES * LANES);
	for (size_t k = 0; k < WIDTH; k++)
		max = s.max[k] > max ? s.max[k] : max;
	if (max > c->max_abs) {
		c->max_abs = max;
		find_worst(c, a, b, c->n);
	}
	c->n += n;
	c->n_finite += n;
	add_lanes(totals, &s);
	c->sum_abs += totals[ABS];
	c->sum_squares += totals[SQUARES];
	c->sum_squares_a += totals[SQUARES_A];
	c->sum_squares_b += totals[SQUARES_B];
	c->dot += totals[DOT];
}

void
tp_compare_add_finite(
    struct tp_compare *c, const float *a, const float *b, size_t n)
{
	for (size_t at = 0; at < n; at += TP_COMPARE_CHUNK) {
		size_t left = n - at;
		size_t end =
		    at + (left < TP_COMPARE_CHUNK ? left : TP_COMPARE_CHUNK);
		struct tp_compare chunk = {0};

		for (size_t i = at; i < end; i += TPI_PAIRS)
			add_block(&chunk, a + i, b + i,
			    end - i < TPI_PAIRS ? end - i : TPI_PAIRS);
		tp_compare_join(c, &chunk);
	}
}
