/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exhaustive_convert.c - f32 to the floats of 16 and 8 bits, every n-th f32
 *
 *	exhaustive_convert STEP
 *
 * STEP 1 tries all 2^32, by the policy "inf" only. Codes and counts are
 * expected from the values of the narrow type and the points halfway between
 * them (support/narrow.h).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/convert.h"

#include "support/narrow.h"

#define CHUNK 50000
#define MAX_CODES 0x8001

struct target {
	const struct narrow *t;
	uint32_t max, inf, nan; /* codes; inf is max where there is none */
	double value[MAX_CODES], half[MAX_CODES];
};

static const char *const policy_names[] = {"error", "saturate", "inf", "nan"};

static void
make_target(struct target *g, const struct narrow *t)
{
	g->t = t;
	g->max = narrow_max(t);
	g->inf = t->nan == IEEE_NAN ? g->max + 1 : g->max;
	g->nan = g->max + 1;
	if (t->nan == IEEE_NAN)
		g->nan = g->inf | UINT32_C(1) << (t->frac_bits - 1);
	for (uint32_t c = 0; c <= g->max; c++) {
		g->value[c] = narrow_value(t, c);
		g->half[c] = (g->value[c] + narrow_value(t, c + 1)) / 2;
	}
}

/* The code and outcome of one f32, by the definition. */
static uint32_t
expect(const struct target *g, uint32_t bits, enum tp_overflow overflow,
    uint32_t *at, uint64_t index, struct tp_cast_stats *s)
{
	uint32_t sign = bits >> 31 ? narrow_sign(g->t) : 0, code;
	uint32_t payload = (bits & 0x7fffff) >> (23 - g->t->frac_bits);
	double x, size, y = 0;
	float f;

	memcpy(&f, &bits, sizeof(f));
	x = (double)f;
	size = fabs(x);
	if (isnan(x)) {
		s->n_nan++;
		if (g->t->nan == MINUS_ZERO_NAN)
			return narrow_sign(g->t);
		if (g->t->nan == IEEE_NAN && payload)
			return sign | g->inf | payload;
		return sign | g->nan;
	}
	s->n_inf += isinf(x) != 0;
	if (isinf(x) && g->t->nan == IEEE_NAN)
		return sign | g->inf;

	/* Inputs ascend, so the search goes on from the last answer. */
	if (*at > 0 && size < g->half[*at - 1])
		*at = 0;
	while (*at <= g->max &&
	       (size > g->half[*at] || (size == g->half[*at] && *at % 2 == 1)))
		++*at;
	code = *at;
	if (code > g->max) {
		if (s->n_overflow++ == 0) {
			s->first_overflow = index;
			s->first_overflow_value = x;
		}
		code = overflow == TP_OVERFLOW_SATURATE ? g->max : g->inf;
		if (overflow == TP_OVERFLOW_NAN) {
			if (g->t->nan == MINUS_ZERO_NAN)
				return narrow_sign(g->t);
			return sign | g->nan;
		}
		if (code > g->max || isinf(x))
			return sign | code;
		y = g->value[code];
	} else {
		y = g->value[code];
		s->n_inexact += y != size;
		s->n_to_zero += code == 0 && size > 0;
		s->n_to_subnormal += code > 0 && code >> g->t->frac_bits == 0;
	}
	if (size > 0 && fabs(y - size) / size > s->max_rel_error) {
		s->max_rel_error = fabs(y - size) / size;
		s->max_rel_index = index;
	}
	if (code == 0 && g->t->nan == MINUS_ZERO_NAN)
		return 0;
	return sign | code;
}

static int
same_stats(const struct tp_cast_stats *a, const struct tp_cast_stats *b)
{
	return a->n == b->n && a->n_overflow == b->n_overflow &&
	       a->n_to_zero == b->n_to_zero &&
	       a->n_to_subnormal == b->n_to_subnormal && a->n_nan == b->n_nan &&
	       a->n_inf == b->n_inf && a->n_inexact == b->n_inexact &&
	       (a->n_overflow == 0 ||
		   (a->first_overflow == b->first_overflow &&
		       a->first_overflow_value == b->first_overflow_value)) &&
	       a->max_rel_error == b->max_rel_error &&
	       (a->max_rel_error == 0 || a->max_rel_index == b->max_rel_index);
}

static void
show_stats(const char *who, const struct tp_cast_stats *s)
{
	printf("%s: n %" PRIu64 " overflow %" PRIu64 " (%" PRIu64 " %g) zero "
	       "%" PRIu64 " subnormal %" PRIu64 " nan %" PRIu64 " inf %" PRIu64
	       " inexact %" PRIu64 " error %.17g at %" PRIu64 "\n",
	    who, s->n, s->n_overflow, s->first_overflow,
	    s->first_overflow_value, s->n_to_zero, s->n_to_subnormal, s->n_nan,
	    s->n_inf, s->n_inexact, s->max_rel_error, s->max_rel_index);
}

static uint32_t
code_at(const struct target *g, const void *codes, size_t i)
{
	uint16_t c;

	if (tp_dtype_bits(g->t->dtype) == 8)
		return ((const uint8_t *)codes)[i];
	memcpy(&c, (const uint8_t *)codes + 2 * i, sizeof(c));
	return c;
}

/* One chunk of inputs, with counts and without. Returns what differed. */
static unsigned
try_chunk(const struct target *g, const uint32_t *x, size_t n,
    enum tp_overflow overflow, uint32_t *at)
{
	static uint16_t counted[CHUNK], plain[CHUNK];
	struct tp_cast_stats want = {.n = n}, got = {0};
	unsigned n_bad = 0;

	if (tp_convert(g->t->dtype, counted, TP_DTYPE_F32, x, n, overflow, 7,
		&got, NULL) ||
	    tp_convert(g->t->dtype, plain, TP_DTYPE_F32, x, n, overflow, 7,
		NULL, NULL))
		return 1;
	for (size_t i = 0; i < n; i++) {
		uint32_t code = expect(g, x[i], overflow, at, 7 + i, &want);

		if (code_at(g, counted, i) == code &&
		    code_at(g, plain, i) == code)
			continue;
		if (n_bad++ < 3)
			printf("f32 %08" PRIx32
			       " to %s (%s): %x, %x, want %x\n",
			    x[i], tp_dtype_name(g->t->dtype),
			    policy_names[overflow], code_at(g, counted, i),
			    code_at(g, plain, i), code);
	}
	if (!same_stats(&want, &got)) {
		show_stats("want", &want);
		show_stats("got ", &got);
		n_bad++;
	}
	return n_bad;
}

static unsigned
try_target(const struct target *g, uint64_t step)
{
	static uint32_t x[CHUNK];
	unsigned n_bad = 0;

	for (int p = TP_OVERFLOW_SATURATE; p <= TP_OVERFLOW_NAN; p++) {
		uint32_t at = 0;

		if (step == 1 && p != TP_OVERFLOW_INF)
			continue;
		for (uint64_t bits = 0; bits <= UINT32_MAX && n_bad < 20;) {
			size_t n = 0;

			for (; n < CHUNK && bits <= UINT32_MAX; bits += step)
				x[n++] = (uint32_t)bits;
			n_bad += try_chunk(g, x, n, (enum tp_overflow)p, &at);
		}
	}
	printf("%s: %s\n", tp_dtype_name(g->t->dtype), n_bad ? "BAD" : "ok");
	fflush(stdout);
	return n_bad;
}

int
main(int argc, char **argv)
{
	static struct target g;
	uint64_t step = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	unsigned n_bad = 0;

	if (step == 0) {
		fprintf(stderr, "usage: exhaustive_convert STEP\n");
		return 64;
	}
	for (size_t k = 0; k < N_NARROWS; k++) {
		if (tp_dtype_bits(narrows[k].dtype) < 8)
			continue;
		make_target(&g, &narrows[k]);
		n_bad += try_target(&g, step);
	}
	return n_bad != 0;
}
