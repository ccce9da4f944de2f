/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_rank.c - the value below which a share of a group lies, exactly
 *
 * Values are ranked by their bits, made to ascend: three passes count the
 * values by the next 11, 11 and 10 of them, among those that agree with what
 * is known of the wanted one already. As many groups at a time as there is
 * memory to count for.
 */
#include "quantize.h"

#include <math.h>
#include <string.h>

#include "banned.h"

#define DIGITS 2048
#define PASSES 3

static const unsigned shifts[PASSES] = {21, 10, 0};
static const uint32_t masks[PASSES] = {2047, 2047, 1023};

/* Which number of a value is ranked. */
enum side { MAGNITUDE, VALUE, NEGATIVE };

struct ranking {
	enum side side;
	uint64_t first_group;
	size_t n_groups;
	uint64_t *counts; /* DIGITS of each group */
	struct {
		uint32_t key;  /* what is known of it */
		uint64_t rank; /* among those that agree with that */
	} * wanted;
};

static uint32_t
key_of(enum side side, float x)
{
	uint32_t bits;

	x = side == MAGNITUDE ? fabsf(x) : side == NEGATIVE ? -x : x;
	memcpy(&bits, &x, sizeof(bits));
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static float
value_of(uint32_t key)
{
	uint32_t bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static void
count_chunk(struct ranking *r, const struct tpi_narrow_chunk *c, unsigned pass)
{
	uint32_t known = pass == 0 ? 0 : ~(uint32_t)0 << shifts[pass - 1];

	for (size_t i = 0; i < c->n_elems; i++) {
		uint64_t group =
		    tp_quant_group_of(&c->n->groups, c->first + i) -
		    r->first_group;
		uint32_t key;

		/* Groups before the first have become very large numbers. */
		if (group >= r->n_groups)
			continue;
		key = key_of(r->side, c->x[i]);
		if ((key & known) == r->wanted[group].key)
			r->counts[group * DIGITS +
				  (key >> shifts[pass] & masks[pass])]++;
	}
}

/* The digit in which the wanted one lies. */
static void
settle(struct ranking *r, unsigned pass)
{
	for (size_t g = 0; g < r->n_groups; g++) {
		const uint64_t *counts = r->counts + g * DIGITS;
		uint32_t digit = 0;

		while (r->wanted[g].rank >= counts[digit])
			r->wanted[g].rank -= counts[digit++];
		r->wanted[g].key |= digit << shifts[pass];
	}
}

static enum tp_status
rank_groups(struct ranking *r, const struct tpi_narrow *n, uint64_t rank,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t g = 0; g < r->n_groups; g++) {
		r->wanted[g].key = 0;
		r->wanted[g].rank = rank;
	}
	for (unsigned pass = 0; !rc && pass < PASSES; pass++) {
		struct tpi_narrow_chunk c;
		struct tpi_walk w;
		bool more = true;

		memset(r->counts, 0, r->n_groups * DIGITS * sizeof(*r->counts));
		rc = tpi_walk_open(&w, n, false, err);
		if (rc)
			return rc;
		rc = tpi_chunk_init(&c, &w, err);
		while (!rc && more) {
			rc = tpi_walk_next(&w, &c, &more, err);
			if (!rc && more)
				count_chunk(r, &c, pass);
		}
		tpi_chunk_release(&c);
		tpi_walk_close(&w);
		if (!rc)
			settle(r, pass);
	}
	return rc;
}

/* Narrow the ranges of the groups in the window on one side. */
static enum tp_status
rank_side(struct ranking *r, enum side side, struct tpi_fit *f,
    const struct tpi_narrow *n, uint64_t rank, struct tp_err *err)
{
	enum tp_status rc;

	r->side = side;
	rc = rank_groups(r, n, rank, err);
	for (size_t g = 0; !rc && g < r->n_groups; g++) {
		float v = value_of(r->wanted[g].key);
		size_t at = (size_t)r->first_group + g;

		/* Zero stays in the range. */
		v = v > 0 ? v : 0;
		if (side != VALUE)
			f->low[at] = -v;
		if (side != NEGATIVE)
			f->high[at] = v;
	}
	return rc;
}

/*
 * The nearest rank, from 1: the first with that share at or below it. 99.9 is
 * no double, so 99.9 percent of 1000 are a little more than 999: what is within
 * rounding of a whole number is that number.
 */
static uint64_t
rank_of(double percentile, uint64_t size)
{
	double exact = percentile / 100 * (double)size, near = rint(exact);
	uint64_t rank =
	    (uint64_t)(fabs(exact - near) <= exact * 0x1p-48 ? near
							     : ceil(exact));

	return rank > size ? size : rank < 1 ? 1 : rank;
}

enum tp_status
tpi_fit_percentile(
    struct tpi_fit *f, const struct tpi_narrow *n, struct tp_err *err)
{
	uint64_t n_groups = n->groups.n_groups;
	uint64_t size = n->groups.n_elems / n_groups;
	uint64_t rank = rank_of(n->recipe.percentile, size);
	uint64_t room = n->max_memory / 4 / (DIGITS * sizeof(uint64_t));
	struct ranking r = {.first_group = 0};
	enum tp_status rc = TP_OK;
	size_t max;

	max = (size_t)(room < 1 ? 1 : room < n_groups ? room : n_groups);
	r.counts = tp_mem_array(n->alloc, max, DIGITS * sizeof(*r.counts));
	r.wanted = tp_mem_array(n->alloc, max, sizeof(*r.wanted));
	if (!r.counts || !r.wanted)
		rc = tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory to rank values");
	for (uint64_t g = 0; !rc && g < n_groups; g += max) {
		r.first_group = g;
		r.n_groups = n_groups - g < max ? (size_t)(n_groups - g) : max;
		if (n->grid.symmetric) {
			rc = rank_side(&r, MAGNITUDE, f, n, rank - 1, err);
			continue;
		}
		rc = rank_side(&r, VALUE, f, n, rank - 1, err);
		if (!rc)
			rc = rank_side(&r, NEGATIVE, f, n, rank - 1, err);
	}
	tp_mem_free(n->alloc, r.counts, max, DIGITS * sizeof(*r.counts));
	tp_mem_free(n->alloc, r.wanted, max, sizeof(*r.wanted));
	return rc;
}
