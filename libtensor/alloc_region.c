/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_region.c - blocks of any size, cut from regions
 *
 *	region
 *	+--------+--------+------+--------+-----------+-- … --+-----+
 *	| header | block  | data | block  | data      |       | end |
 *	+--------+--------+------+--------+-----------+-- … --+-----+
 *
 * Each block begins with a header of 64 bytes that has its size and that of the
 * block before it, so both neighbours are found without a search; the end is a
 * header that is never free. Sizes are multiples of 64. A free block is in the
 * list of its size and never beside another free one. A request takes the first
 * block of the first list whose blocks are all large enough, and what is left
 * of it, when it is worth a block, is free again.
 *
 * A block that its own thread frees first waits in a quick list for a request
 * of its size, which is likely to come soon and finds it in the caches of the
 * processor. When such blocks make up a region, and before a new region is
 * taken, they are joined with their neighbours.
 */
#include <stdlib.h>

#include "alloc_pool.h"
#include "compiler.h"
#include "debug_block.h"

#include "banned.h"

#define UNIT ((size_t)64)
#define MIN_SPLIT (4 * UNIT) /* a rest below this stays with the block */

struct tpi_region_block {
	struct tpi_remote_link link; /* while it waits for its thread */
	struct tpi_region *region;
	size_t size;   /* header and data */
	size_t before; /* size of the block before; 0: first */
	size_t asked;  /* the size that was looked for */
	struct tpi_region_block *next, *prev; /* of its list, when free */
	bool is_free;
#ifdef TP_DEBUG_CHECKS
	struct tpi_debug_block debug;
#endif
};

#define HEADER ((sizeof(struct tpi_region_block) + UNIT - 1) / UNIT * UNIT)

struct tpi_region {
	struct tpi_pool *pool;
	struct tpi_region *next, *prev;
	size_t n_live;
};
_Static_assert(sizeof(struct tpi_region) <= UNIT, "the header is one unit");

static void *
data_of(struct tpi_region_block *b)
{
	return (char *)b + HEADER;
}

static struct tpi_region_block *
block_after(struct tpi_region_block *b)
{
	return (struct tpi_region_block *)((char *)b + b->size);
}

static struct tpi_region_block *
block_before(struct tpi_region_block *b)
{
	return (struct tpi_region_block *)((char *)b - b->before);
}

/* The list that a block of this size belongs to: four to a power of two. */
static unsigned
list_of(size_t size)
{
	size_t units = size / UNIT;
	unsigned k = (unsigned)tpi_msb64(units);
	unsigned quarter = k >= 2 ? (unsigned)(units >> (k - 2)) & 3 : 0;

	return 4 * k + quarter;
}

/* The first list in which every block has at least this size. */
static unsigned
list_for(size_t size)
{
	unsigned i = list_of(size);
	size_t units = size / UNIT;
	unsigned k = (unsigned)tpi_msb64(units);
	size_t step = k >= 2 ? (size_t)1 << (k - 2) : (size_t)1 << k;

	return units % step ? i + 1 : i;
}

static void
set_free(struct tpi_pool *p, struct tpi_region_block *b)
{
	unsigned i = list_of(b->size);

	b->is_free = true;
	b->prev = NULL;
	b->next = p->lists[i];
	if (b->next)
		b->next->prev = b;
	p->lists[i] = b;
	p->in_use[i / 64] |= (uint64_t)1 << i % 64;
}

static void
unset_free(struct tpi_pool *p, struct tpi_region_block *b)
{
	unsigned i = list_of(b->size);

	b->is_free = false;
	if (b->next)
		b->next->prev = b->prev;
	if (b->prev)
		b->prev->next = b->next;
	else
		p->lists[i] = b->next;
	if (!p->lists[i])
		p->in_use[i / 64] &= ~((uint64_t)1 << i % 64);
}

/* The lowest list from i on that holds a block, or TPI_REGION_LISTS. */
static unsigned
next_in_use(const struct tpi_pool *p, unsigned i)
{
	for (; i < TPI_REGION_LISTS; i = (i / 64 + 1) * 64) {
		uint64_t bits = p->in_use[i / 64] >> i % 64;

		/* The lowest bit alone is the highest of what it leaves. */
		if (bits)
			return i + (unsigned)tpi_msb64(bits & (~bits + 1));
	}
	return TPI_REGION_LISTS;
}

static bool
add_region(struct tpi_pool *p)
{
	size_t nbytes = p->allocator->region_bytes;
	struct tpi_region *r = aligned_alloc(UNIT, nbytes);
	struct tpi_region_block *b, *end;

	if (!r)
		return false;
	*r = (struct tpi_region){.pool = p, .next = p->regions};
	if (r->next)
		r->next->prev = r;
	p->regions = r;
	p->n_empty++;

	b = (struct tpi_region_block *)((char *)r + UNIT);
	*b = (struct tpi_region_block){
	    .region = r, .size = nbytes - UNIT - HEADER};
	end = block_after(b);
	*end = (struct tpi_region_block){
	    .region = r, .size = 0, .before = b->size};
	set_free(p, b);
	return true;
}

static void
drop_region(struct tpi_pool *p, struct tpi_region *r)
{
	/* Without a live block there is just one, and it is free. */
	unset_free(p, (struct tpi_region_block *)((char *)r + UNIT));
	if (r->next)
		r->next->prev = r->prev;
	if (r->prev)
		r->prev->next = r->next;
	else
		p->regions = r->next;
	p->n_empty--;
	free(r);
}

/* Cut b, not free, after `size` bytes; the rest is a block, not free either. */
static struct tpi_region_block *
split(struct tpi_region_block *b, size_t size)
{
	struct tpi_region_block *rest =
	    (struct tpi_region_block *)((char *)b + size);

	*rest = (struct tpi_region_block){
	    .region = b->region, .size = b->size - size, .before = size};
	block_after(rest)->before = rest->size;
	b->size = size;
	return rest;
}

static void
free_block(struct tpi_pool *p, struct tpi_region_block *b)
{
	struct tpi_region *r = b->region;
	struct tpi_region_block *after = block_after(b);

	if (after->is_free) {
		unset_free(p, after);
		b->size += after->size;
	}
	if (b->before && block_before(b)->is_free) {
		struct tpi_region_block *before = block_before(b);

		unset_free(p, before);
		before->size += b->size;
		b = before;
	}
	block_after(b)->before = b->size;
	set_free(p, b);
	if (--r->n_live == 0) {
		p->n_empty++;
		if (p->n_empty > p->allocator->max_kept)
			drop_region(p, r);
	}
}

void
tpi_region_take_remote(struct tpi_pool *p)
{
	struct tpi_remote_link *link = tpi_remote_take(&p->base.remote);

	while (link) {
		struct tpi_remote_link *next = link->next;

		free_block(p, (struct tpi_region_block *)link);
		link = next;
	}
}

static struct tpi_quick_list *
quick_list(struct tpi_pool *p, size_t size)
{
	size_t units = size / UNIT;

	return &p->quick[(units ^ units / TPI_QUICK_LISTS) % TPI_QUICK_LISTS];
}

static void
flush_list(struct tpi_pool *p, struct tpi_quick_list *q)
{
	struct tpi_region_block *b = q->first, *next;

	for (; b; b = next) {
		next = b->next;
		p->quick_bytes -= b->size;
		free_block(p, b);
	}
	q->first = NULL;
	q->n = 0;
}

void
tpi_region_flush(struct tpi_pool *p)
{
	for (size_t i = 0; i < TPI_QUICK_LISTS && p->quick_bytes; i++)
		flush_list(p, &p->quick[i]);
}

/* To its quick list, whose blocks of another size make room. */
static void
keep(struct tpi_pool *p, struct tpi_region_block *b)
{
	struct tpi_quick_list *q = quick_list(p, b->asked);

	if (p->quick_bytes + b->size > p->allocator->region_bytes)
		tpi_region_flush(p);
	if (q->size != b->asked) {
		flush_list(p, q);
		q->size = b->asked;
	}
	if (q->n == TPI_QUICK_MAX) {
		free_block(p, b);
		return;
	}
	b->next = q->first;
	q->first = b;
	q->n++;
	p->quick_bytes += b->size;
}

/* The last freed block of a size, or NULL. */
static struct tpi_region_block *
take_quick(struct tpi_pool *p, size_t size)
{
	struct tpi_quick_list *q = quick_list(p, size);
	struct tpi_region_block *b = q->size == size ? q->first : NULL;

	if (b) {
		q->first = b->next;
		q->n--;
		p->quick_bytes -= b->size;
	}
	return b;
}

static void
give_back(void *ctx)
{
	struct tpi_region_block *b = ctx;
	struct tpi_pool *p = b->region->pool;

#ifdef TP_DEBUG_CHECKS
	tpi_debug_freed(&b->debug, data_of(b));
#endif
	if (tpi_cache_is_mine(&p->base))
		keep(p, b);
	else
		tpi_remote_push(&p->base.remote, &b->link);
}

/* Bytes to leave in front so that the data is aligned: 0, or a whole block. */
static size_t
lead_for(struct tpi_region_block *b, size_t alignment)
{
	uintptr_t data = (uintptr_t)data_of(b);
	size_t lead = (alignment - data % alignment) % alignment;

	while (lead && lead < HEADER + UNIT)
		lead += alignment;
	return lead;
}

/* A free block of at least this size, not free any more; NULL: no memory. */
static struct tpi_region_block *
find_block(struct tpi_pool *p, size_t size)
{
	unsigned from = list_for(size);
	unsigned i = next_in_use(p, from);
	struct tpi_region_block *b;

	if (i == TPI_REGION_LISTS) {
		tpi_region_take_remote(p);
		tpi_region_flush(p);
		i = next_in_use(p, from);
	}
	if (i == TPI_REGION_LISTS && add_region(p))
		i = next_in_use(p, from);
	if (i == TPI_REGION_LISTS)
		return NULL;
	b = p->lists[i];
	unset_free(p, b);
	return b;
}

/* Take a block and give back what is too much of it, in front and behind. */
static struct tpi_region_block *
cut_block(struct tpi_pool *p, size_t need, size_t alignment)
{
	struct tpi_region_block *b;
	size_t lead;

	/* With room for any lead, the first block that is found will do. */
	b = find_block(
	    p, alignment > UNIT ? need + 2 * alignment + HEADER : need);
	if (!b)
		return NULL;
	lead = lead_for(b, alignment);
	if (lead) {
		struct tpi_region_block *front = b;

		b = split(front, lead);
		set_free(p, front);
	}
	if (b->size - need >= HEADER + MIN_SPLIT)
		set_free(p, split(b, need));
	if (b->region->n_live++ == 0)
		p->n_empty--;
	b->asked = need;
	return b;
}

bool
tpi_region_allocate(struct tpi_pool *p, size_t size, size_t alignment,
    size_t asked, struct tp_data_ptr *out)
{
	struct tpi_region_block *b = NULL;
	size_t need = HEADER + (size + UNIT - 1) / UNIT * UNIT;

	if (need < HEADER + UNIT)
		need = HEADER + UNIT;
	if (alignment <= UNIT)
		b = take_quick(p, need);
	if (!b)
		b = cut_block(p, need, alignment);
	if (!b)
		return false;
#ifdef TP_DEBUG_CHECKS
	tpi_debug_made(&b->debug, data_of(b), asked);
#else
	(void)asked;
#endif
	*out = (struct tp_data_ptr){
	    .data = data_of(b), .ctx = b, .deleter = give_back};
	return true;
}

void
tpi_region_trim(struct tpi_pool *p, size_t keep)
{
	struct tpi_region *next;

	for (struct tpi_region *r = p->regions; r; r = next) {
		next = r->next;
		if (r->n_live == 0 && p->n_empty > keep)
			drop_region(p, r);
	}
}
