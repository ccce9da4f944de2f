/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_slab.c - many blocks of one size
 *
 *	slab, at a multiple of 64 KiB
 *	+--------+---------+-------+-------+-- … --+
 *	| header | padding | block | block |       |
 *	+--------+---------+-------+-------+-- … --+
 *	0                  256, so that a block of 2^k bytes is aligned to 2^k
 *
 * A block has no header: its slab is found by rounding the address down. Free
 * blocks of a slab are linked through their first word; slabs with a free block
 * are linked in their pool, full ones are not.
 */
#include <stdlib.h>

#include "alloc_pool.h"
#include "debug_block.h"

#include "banned.h"

#define SLAB_BYTES ((size_t)64 << 10)
#define SLAB_HEADER TPI_SLAB_MAX
#define SLAB_MAGIC UINT64_C(0x736C6162736C6162)

struct tpi_slab {
	uint64_t magic;
	struct tpi_pool *pool;
	struct tpi_slab *next, *before; /* of those with a free block */
	struct tpi_remote_link *free;
	size_t untouched; /* offset of the part that was never handed out */
	unsigned n_live;
	unsigned index; /* blocks of 16 << index bytes */
};
_Static_assert(sizeof(struct tpi_slab) <= SLAB_HEADER, "the header fits");

static unsigned
index_for(size_t size)
{
	unsigned i = 0;

	while ((size_t)16 << i < size)
		i++;
	return i;
}

static struct tpi_slab *
slab_of(const void *block)
{
	uintptr_t at = (uintptr_t)block;

	return (struct tpi_slab *)(at - at % SLAB_BYTES);
}

static bool
is_full(const struct tpi_slab *s)
{
	return !s->free && s->untouched + ((size_t)16 << s->index) > SLAB_BYTES;
}

static void
link_slab(struct tpi_pool *p, struct tpi_slab *s)
{
	s->before = NULL;
	s->next = p->slabs[s->index];
	if (s->next)
		s->next->before = s;
	p->slabs[s->index] = s;
}

static void
unlink_slab(struct tpi_pool *p, struct tpi_slab *s)
{
	if (s->next)
		s->next->before = s->before;
	if (s->before)
		s->before->next = s->next;
	else
		p->slabs[s->index] = s->next;
}

static struct tpi_slab *
new_slab(struct tpi_pool *p, unsigned index)
{
	struct tpi_slab *s = aligned_alloc(SLAB_BYTES, SLAB_BYTES);

	if (!s)
		return NULL;
	*s = (struct tpi_slab){
	    .magic = SLAB_MAGIC,
	    .pool = p,
	    .untouched = SLAB_HEADER,
	    .index = index,
	};
	link_slab(p, s);
	return s;
}

/* Into the free list of its slab; an empty slab that is not the last goes. */
static void
free_block(struct tpi_pool *p, void *block)
{
	struct tpi_slab *s = slab_of(block);
	struct tpi_remote_link *link = block;
	bool was_full = is_full(s);

	link->next = s->free;
	s->free = link;
	s->n_live--;
	if (was_full) {
		link_slab(p, s);
	} else if (s->n_live == 0 && (s->next || s->before)) {
		unlink_slab(p, s);
		free(s);
	}
}

void
tpi_slab_take_remote(struct tpi_pool *p)
{
	struct tpi_remote_link *link = tpi_remote_take(&p->slab_remote);

	while (link) {
		struct tpi_remote_link *next = link->next;

		free_block(p, link);
		link = next;
	}
}

#ifdef TP_DEBUG_CHECKS
/* Debug builds keep what they check behind the bytes asked for. */
static struct tpi_debug_block *
debug_of(void *block)
{
	size_t size = (size_t)16 << slab_of(block)->index;

	return (struct tpi_debug_block *)((char *)block + size) - 1;
}
#endif

static void
give_back(void *block)
{
	struct tpi_pool *p = slab_of(block)->pool;

#ifdef TP_DEBUG_CHECKS
	if (slab_of(block)->magic != SLAB_MAGIC)
		tpi_debug_die("given back, but not one of ours", block);
	tpi_debug_freed(debug_of(block), block);
#endif
	if (tpi_cache_is_mine(&p->base))
		free_block(p, block);
	else
		tpi_remote_push(&p->slab_remote, block);
}

bool
tpi_slab_allocate(struct tpi_pool *p, size_t size, size_t alignment,
    size_t asked, struct tp_data_ptr *out)
{
	unsigned index;
	struct tpi_slab *s;
	void *block;

#ifdef TP_DEBUG_CHECKS
	size += sizeof(struct tpi_debug_block);
	if (size > TPI_SLAB_MAX)
		return tpi_region_allocate(p, size, alignment, asked, out);
#endif
	index = index_for(size > alignment ? size : alignment);
	s = p->slabs[index];
	if (!s) {
		tpi_slab_take_remote(p);
		s = p->slabs[index];
	}
	if (!s)
		s = new_slab(p, index);
	if (!s)
		return false;

	if (s->free) {
		block = s->free;
		s->free = s->free->next;
	} else {
		block = (char *)s + s->untouched;
		s->untouched += (size_t)16 << index;
	}
	s->n_live++;
	if (is_full(s))
		unlink_slab(p, s);
#ifdef TP_DEBUG_CHECKS
	tpi_debug_made(debug_of(block), block, asked);
#else
	(void)asked;
#endif
	*out = (struct tp_data_ptr){
	    .data = block, .ctx = block, .deleter = give_back};
	return true;
}

void
tpi_slab_trim(struct tpi_pool *p)
{
	for (unsigned i = 0; i < TPI_SLAB_SIZES; i++) {
		struct tpi_slab *next;

		for (struct tpi_slab *s = p->slabs[i]; s; s = next) {
			next = s->next;
			if (s->n_live == 0) {
				unlink_slab(p, s);
				free(s);
			}
		}
	}
}
