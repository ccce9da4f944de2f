/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_cache.c - the caching allocator
 *
 *	block -> +----------------------+
 *	         | header, 64 bytes     |  total size, whose block it is
 *	data  -> +----------------------+  block + 64, so 64-byte alignment
 *	         | size, a multiple of  |
 *	         | 64                   |
 *	         +----------------------+
 *
 * A freed block goes to the list of its exact size, in front. Lists of sizes up
 * to 64 KiB are found by index, larger ones by a small table that is searched
 * by size when a block is asked for; a free finds its list through the header.
 */
#include <stdlib.h>

#include "tp/allocator.h"
#include "tp/checked.h"

#include "debug_block.h"
#include "thread_cache.h"

#include "banned.h"

#define UNIT 64
#define N_SMALL 1024 /* lists of 64, 128, … 64 KiB */
#define N_LARGE 256  /* places for lists of larger sizes */
#define MAX_PROBES 8 /* how far a size may lie from its place */
#define DEFAULT_MAX_CACHED ((size_t)256 << 20)

struct block;

struct list {
	size_t size; /* of the data; 0: no list yet */
	struct block *first;
};

struct block {
	struct tpi_remote_link link; /* free: the next of its list */
	struct list *list; /* where it goes when freed; NULL: nowhere */
	struct cache *owner;
	size_t size;
#ifdef TP_DEBUG_CHECKS
	struct tpi_debug_block debug;
#endif
};
_Static_assert(sizeof(struct block) <= UNIT, "the header is one unit");

struct cache {
	struct tpi_cache base;
	struct caching_allocator *allocator;
	size_t cached; /* bytes in the lists, headers included */
	struct list small[N_SMALL + 1];
	struct list large[N_LARGE];
};

struct caching_allocator {
	struct tp_allocator base;
	struct tpi_caches caches;
	size_t max_cached;
};

static void *
data_of(struct block *b)
{
	return (char *)b + UNIT;
}

/* Put a block into its list, or give it back to the system. */
static void
keep(struct cache *c, struct block *b)
{
	/* Its list may have been taken for another size while it was away. */
	if (!b->list || b->list->size != b->size ||
	    c->cached + b->size > c->allocator->max_cached) {
		free(b);
		return;
	}
	b->link.next = (struct tpi_remote_link *)b->list->first;
	b->list->first = b;
	c->cached += b->size + UNIT;
}

/* Blocks that other threads gave back become this cache's again. */
static void
take_remote(struct cache *c)
{
	struct tpi_remote_link *link = tpi_remote_take(&c->base.remote);

	while (link) {
		struct block *b = (struct block *)link;

		link = link->next;
		keep(c, b);
	}
}

static void
give_back(void *ctx)
{
	struct block *b = ctx;
	struct cache *c = b->owner;

#ifdef TP_DEBUG_CHECKS
	tpi_debug_freed(&b->debug, data_of(b));
#endif
	if (tpi_cache_is_mine(&c->base))
		keep(c, b);
	else
		tpi_remote_push(&c->base.remote, &b->link);
}

/*
 * The list of a size above 64 KiB, near the place that the size hashes to. When
 * other sizes have all places there an empty list changes its size; NULL when
 * none is empty.
 */
static struct list *
large_list(struct cache *c, size_t size)
{
	size_t at = (size / UNIT * (size_t)2654435761u >> 8) % N_LARGE;
	struct list *vacant = NULL;

	for (unsigned probe = 0; probe < MAX_PROBES; probe++) {
		struct list *l = &c->large[(at + probe) % N_LARGE];

		if (l->size == size)
			return l;
		if (!l->first && !vacant)
			vacant = l;
	}
	if (vacant)
		vacant->size = size;
	return vacant;
}

static struct list *
list_of(struct cache *c, size_t size)
{
	struct list *l;

	if (size > N_SMALL * UNIT)
		return large_list(c, size);
	l = &c->small[size / UNIT];
	l->size = size;
	return l;
}

static struct block *
new_block(struct cache *c, struct list *list, size_t size)
{
	struct block *b;
	size_t total;

	if (tp_add_size(size, UNIT, &total))
		return NULL;
	b = aligned_alloc(UNIT, total);
	if (!b)
		return NULL;
	b->list = list;
	b->owner = c;
	b->size = size;
	return b;
}

static enum tp_status
caching_allocate(struct tp_allocator *self, size_t nbytes, size_t alignment,
    struct tp_device device, struct tp_data_ptr *out, struct tp_err *err)
{
	struct caching_allocator *a = (struct caching_allocator *)self;
	struct cache *c;
	struct block *b;
	struct list *list;
	size_t size;

	if (alignment > UNIT)
		return tp_system_allocator()->allocate(
		    tp_system_allocator(), nbytes, alignment, device, out, err);
	if (tp_add_size(nbytes, UNIT - 1 + TPI_GUARD_BYTES, &size))
		goto no_memory;
	size = size / UNIT * UNIT;
	if (size == 0)
		size = UNIT;
	c = (struct cache *)tpi_cache_get(&a->caches);
	if (!c)
		goto no_memory;
	c->allocator = a;
	list = list_of(c, size);
	if (!list || !list->first)
		take_remote(c);
	if (list && list->first) {
		b = list->first;
		list->first = (struct block *)b->link.next;
		c->cached -= size + UNIT;
	} else {
		b = new_block(c, list, size);
		if (!b)
			goto no_memory;
	}
#ifdef TP_DEBUG_CHECKS
	tpi_debug_made(&b->debug, data_of(b), nbytes);
#endif
	*out = (struct tp_data_ptr){data_of(b), b, give_back, device};
	return TP_OK;

no_memory:
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for %zu bytes", nbytes);
}

static void
empty_list(struct cache *c, struct list *l)
{
	while (l->first) {
		struct block *b = l->first;

		l->first = (struct block *)b->link.next;
		c->cached -= b->size + UNIT;
		free(b);
	}
}

static void
empty_cache(struct tpi_cache *base)
{
	struct cache *c = (struct cache *)base;

	if (!c->allocator)
		return;
	take_remote(c);
	for (size_t i = 0; i <= N_SMALL; i++)
		empty_list(c, &c->small[i]);
	for (size_t i = 0; i < N_LARGE; i++)
		empty_list(c, &c->large[i]);
}

static void
caching_trim(struct tp_allocator *self)
{
	struct caching_allocator *a = (struct caching_allocator *)self;

	tpi_caches_each_free(&a->caches, empty_cache);
}

static void
caching_free(struct tp_allocator *self)
{
	struct caching_allocator *a = (struct caching_allocator *)self;

	for (struct tpi_cache *c = a->caches.all; c; c = c->next)
		empty_cache(c);
	tpi_caches_release(&a->caches);
	tp_mem_free(NULL, a, 1, sizeof(*a));
}

enum tp_status
tp_caching_allocator_new(const struct tp_caching_options *options,
    struct tp_allocator **out, struct tp_err *err)
{
	struct caching_allocator *a = tp_mem_array(NULL, 1, sizeof(*a));

	*out = NULL;
	if (!a || !tpi_caches_init(&a->caches, sizeof(struct cache))) {
		tp_mem_free(NULL, a, 1, sizeof(*a));
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for an allocator");
	}
	a->base.name = "caching";
	a->base.allocate = caching_allocate;
	a->base.trim = caching_trim;
	a->base.free = caching_free;
	a->max_cached = options && options->max_cached ? options->max_cached
						       : DEFAULT_MAX_CACHED;
	*out = &a->base;
	return TP_OK;
}
