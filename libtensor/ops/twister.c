/* SPDX-License-Identifier: Apache-2.0 */
/* twister.c - MT19937 */
#include "twister.h"

#include <math.h>

#include "../banned.h"

#define N TPI_TWISTER_N
#define M 397
#define PI 3.14159265358979323846

void
tpi_twister_init(struct tpi_twister *t, uint32_t seed)
{
	t->state[0] = seed;
	for (uint32_t i = 1; i < N; i++) {
		uint32_t x = t->state[i - 1];

		t->state[i] = UINT32_C(1812433253) * (x ^ x >> 30) + i;
	}
	t->at = N;
	t->has_spare = false;
}

/* x is the highest bit of one word and the others of the next. */
static uint32_t
twist(uint32_t high, uint32_t low, uint32_t far)
{
	uint32_t x =
	    (high & UINT32_C(0x80000000)) | (low & UINT32_C(0x7fffffff));

	return far ^ x >> 1 ^ (x & 1 ? UINT32_C(0x9908b0df) : 0);
}

static void
renew(struct tpi_twister *t)
{
	for (unsigned i = 0; i < N; i++)
		t->state[i] = twist(
		    t->state[i], t->state[(i + 1) % N], t->state[(i + M) % N]);
	t->at = 0;
}

uint32_t
tpi_twister_next(struct tpi_twister *t)
{
	uint32_t y;

	if (t->at == N)
		renew(t);
	y = t->state[t->at++];
	y ^= y >> 11;
	y ^= y << 7 & UINT32_C(0x9d2c5680);
	y ^= y << 15 & UINT32_C(0xefc60000);
	return y ^ y >> 18;
}

double
tpi_twister_uniform(struct tpi_twister *t)
{
	uint32_t a = tpi_twister_next(t) >> 5, b = tpi_twister_next(t) >> 6;

	return (a * 0x1p26 + b) * 0x1p-53;
}

double
tpi_twister_normal(struct tpi_twister *t)
{
	double u, v, radius;

	if (t->has_spare) {
		t->has_spare = false;
		return t->spare;
	}
	u = tpi_twister_uniform(t);
	v = tpi_twister_uniform(t);
	radius = sqrt(-2 * log1p(-u));
	t->has_spare = true;
	t->spare = radius * sin(2 * PI * v);
	return radius * cos(2 * PI * v);
}

/* Any float as 32 bits, without undefined conversions. */
static uint32_t
whole_bits(double x)
{
	x = fmod(trunc(x), 0x1p32);
	if (!(x == x))
		return 0;
	return x < 0 ? (uint32_t)(0 - (uint64_t)-x) : (uint32_t)x;
}

void
tpi_twister_begin(struct tpi_twister *t, const struct tpi_call *c)
{
	const struct tp_attr *a = tpi_attr_find(c, "seed");
	uint32_t seed = (uint32_t)c->opts->seed;

	if (a)
		seed = a->kind == TP_ATTR_INT ? (uint32_t)(uint64_t)a->i
					      : whole_bits(a->f);
	tpi_twister_init(t, seed);
}
