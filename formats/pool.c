/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - an allocator that can give back everything at once
 *
 *	links and size (padded to the alignment) | what the caller sees
 */
#include "pool.h"

#include <stdalign.h>

#include "tp/checked.h"

#include "banned.h"

struct tpi_pool_block {
	struct tpi_pool_block *prev, *next;
	size_t n; /* with this header */
};

#define ALIGN alignof(max_align_t)
#define HEAD ((sizeof(struct tpi_pool_block) + ALIGN - 1) / ALIGN * ALIGN)

static void *
pool_alloc(void *ctx, size_t n)
{
	struct tpi_pool *p = ctx;
	struct tpi_pool_block *b;
	size_t whole;

	if (tp_add_size(n, HEAD, &whole))
		return NULL;
	b = tp_mem_array(p->alloc, whole, 1);
	if (!b)
		return NULL;
	b->n = whole;
	b->next = p->blocks;
	if (b->next)
		b->next->prev = b;
	p->blocks = b;
	return (char *)b + HEAD;
}

static void
pool_free(void *ctx, void *mem, size_t n)
{
	struct tpi_pool *p = ctx;
	struct tpi_pool_block *b = (void *)((char *)mem - HEAD);

	(void)n;
	if (b->next)
		b->next->prev = b->prev;
	if (b->prev)
		b->prev->next = b->next;
	else
		p->blocks = b->next;
	tp_mem_free(p->alloc, b, b->n, 1);
}

void
tpi_pool_init(struct tpi_pool *p, const struct tp_alloc *alloc)
{
	*p = (struct tpi_pool){
	    .base = {pool_alloc, pool_free, p},
	    .alloc = alloc,
	};
}

void
tpi_pool_release(struct tpi_pool *p)
{
	while (p->blocks) {
		struct tpi_pool_block *b = p->blocks;

		p->blocks = b->next;
		tp_mem_free(p->alloc, b, b->n, 1);
	}
}
