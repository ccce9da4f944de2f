/* SPDX-License-Identifier: Apache-2.0 */
/* exact.h - sums twice as exact as double, and the bits of a result */
#ifndef TEST_EXACT_H
#define TEST_EXACT_H

#include "support/numbers.h"

/* Numbers of all sizes, of both signs, whose sums cancel. */
static inline void
fill_wild(struct tp_tensor *t, uint64_t seed)
{
	for (uint64_t i = 0; i < tp_tensor_numel(t); i++) {
		uint64_t r = next_random(&seed);

		set_number(t, i,
		    ldexp((double)(int64_t)(r % 16777216) - 8388608,
			(int)(r >> 40 & 7) - 26));
	}
}

/* What f32 should make of a sum: its two halves, and what was summed in all. */
struct exact_sum {
	double sum, rest, all;
	uint64_t n;
};

/* The error of an addition in double is itself a double. */
static inline void
exact_add(struct exact_sum *s, double x)
{
	double total = s->sum + x, back = total - s->sum;

	s->rest += (s->sum - (total - back)) + (x - back);
	s->sum = total;
	s->all += fabs(x);
	s->n++;
}

/* Within half an ulp of the result plus n 2^-53 of all that was summed. */
static inline void
check_exact_f32(const struct exact_sum *s, double got)
{
	double ulp = fabs((double)nextafterf((float)got, INFINITY) - got);

	assert_true(fabs((got - s->sum) - s->rest) <=
		    ulp / 2 + (double)s->n * 0x1p-53 * s->all);
}

/* FNV-1a over the elements as doubles, which all of them are. */
static inline uint64_t
hash_numbers(const struct tp_tensor *t)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325), bits;

	for (uint64_t i = 0; i < tp_tensor_numel(t); i++) {
		double x = number_at(t, i);

		memcpy(&bits, &x, sizeof(bits));
		for (unsigned k = 0; k < 64; k += 8)
			h = (h ^ (bits >> k & 0xff)) * UINT64_C(0x100000001b3);
	}
	return h;
}

#endif
