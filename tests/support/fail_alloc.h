/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fail_alloc.h - an allocator that fails at the n-th call and counts leaks
 *
 *	struct fail_alloc a = {0};
 *	enum tp_status rc = TP_OK;
 *
 *	while (fail_alloc_next(&a, rc))
 *		rc = work(&a.alloc);
 *
 * Every free is checked against the size that was asked for.
 */
#ifndef TEST_FAIL_ALLOC_H
#define TEST_FAIL_ALLOC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/error.h"

#include "support/cmocka_all.h"

struct fail_alloc {
	struct tp_alloc alloc;
	size_t fail_at; /* the call that fails, and all after; 0: none */
	size_t n_calls;
	size_t n_live;	   /* blocks not yet freed */
	size_t live, peak; /* bytes */
	size_t n_rounds;   /* of a loop of fail_alloc_next that is over */
};

#define FAIL_ALLOC_HEAD 64 /* keeps the alignment that callers expect */

static inline void *
fail_alloc_alloc(void *ctx, size_t n)
{
	struct fail_alloc *a = ctx;
	uint8_t *p;

	a->n_calls++;
	if (a->fail_at && a->n_calls >= a->fail_at)
		return NULL;
	p = aligned_alloc(64, (n + 63) / 64 * 64 + FAIL_ALLOC_HEAD);
	if (!p)
		return NULL;
	/* Nobody may count on what is in new memory. */
	memset(p + FAIL_ALLOC_HEAD, 0xa5, n);
	*(size_t *)(void *)p = n;
	a->n_live++;
	a->live += n;
	if (a->live > a->peak)
		a->peak = a->live;
	return p + FAIL_ALLOC_HEAD;
}

static inline void
fail_alloc_free(void *ctx, void *p, size_t n)
{
	struct fail_alloc *a = ctx;
	uint8_t *block = (uint8_t *)p - FAIL_ALLOC_HEAD;

	if (*(size_t *)(void *)block != n) {
		fprintf(stderr, "freed %zu bytes of a block of %zu\n", n,
		    *(size_t *)(void *)block);
		abort();
	}
	a->n_live--;
	a->live -= n;
	free(block);
}

/* Prepare *a; it must not move afterwards. */
static inline void
fail_alloc_init(struct fail_alloc *a, size_t fail_at)
{
	*a = (struct fail_alloc){
	    .alloc = {fail_alloc_alloc, fail_alloc_free, a},
	    .fail_at = fail_at,
	};
}

/* More calls than anything here makes: who gets there never succeeds. */
#define FAIL_ALLOC_MAX 5000

/*
 * The next round. In the one before nothing leaked, and rc was TP_ENOMEM or, in
 * the last, TP_OK; then n_rounds tells how many there were, and *a may be used
 * for another loop.
 */
static inline bool
fail_alloc_next(struct fail_alloc *a, enum tp_status rc)
{
	size_t round = a->fail_at;

	if (round) {
		assert_int_equal(a->n_live, 0);
		if (rc == TP_OK) {
			a->n_rounds = round;
			a->fail_at = 0;
			return false;
		}
		assert_int_equal(rc, TP_ENOMEM);
		assert_true(round < FAIL_ALLOC_MAX);
	}
	fail_alloc_init(a, round + 1);
	return true;
}

#endif
