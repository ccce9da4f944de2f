/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fail_alloc.h - an allocator that fails at the n-th call and counts leaks
 *
 *	for (size_t n = 1;; n++) {
 *		struct fail_alloc a;
 *
 *		fail_alloc_init(&a, n);
 *		rc = work(&a.alloc);
 *		assert_int_equal(a.n_live, 0);
 *		if (rc == TP_OK)
 *			break;
 *		assert_int_equal(rc, TP_ENOMEM);
 *	}
 *
 * Every free is checked against the size that was asked for.
 */
#ifndef TEST_FAIL_ALLOC_H
#define TEST_FAIL_ALLOC_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tp/alloc.h"

struct fail_alloc {
	struct tp_alloc alloc;
	size_t fail_at; /* the call that fails, and all after; 0: none */
	size_t n_calls;
	size_t n_live;	   /* blocks not yet freed */
	size_t live, peak; /* bytes */
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

#endif
