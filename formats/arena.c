/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c - blocks that are cut from the front */
#include "arena.h"

#include <stdint.h>
#include <string.h>

#include "tp/checked.h"

#include "banned.h"

#define BLOCK_BYTES ((size_t)64 << 10)
#define ITEM_ALIGN 16

struct tpi_arena_block {
	struct tpi_arena_block *next;
	size_t size, used; /* bytes, this header included */
};

void
tpi_arena_init(struct tpi_arena *a, const struct tp_alloc *alloc)
{
	*a = (struct tpi_arena){.alloc = alloc};
}

void
tpi_arena_release(struct tpi_arena *a)
{
	struct tpi_arena_block *next;

	for (struct tpi_arena_block *b = a->blocks; b; b = next) {
		next = b->next;
		tp_mem_free(a->alloc, b, b->size, 1);
	}
	a->blocks = NULL;
}

/* A block with room for nbytes more; large things get one of their own. */
static struct tpi_arena_block *
add_block(struct tpi_arena *a, size_t nbytes)
{
	size_t header = (sizeof(struct tpi_arena_block) + ITEM_ALIGN - 1) /
			ITEM_ALIGN * ITEM_ALIGN;
	struct tpi_arena_block *b;
	size_t size;

	if (tp_add_size(header, nbytes, &size))
		return NULL;
	if (size < BLOCK_BYTES)
		size = BLOCK_BYTES;
	b = tp_mem_array(a->alloc, size, 1);
	if (!b)
		return NULL;
	b->size = size;
	b->used = header;

	/* What is left in the newest block is kept for the next small thing. */
	if (a->blocks && size > BLOCK_BYTES) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		b->next = a->blocks;
		a->blocks = b;
	}
	return b;
}

void *
tpi_arena_array(struct tpi_arena *a, size_t n, size_t size)
{
	struct tpi_arena_block *b = a->blocks;
	size_t nbytes;
	void *p;

	if (tp_mul_size(n, size, &nbytes) ||
	    tp_add_size(nbytes, ITEM_ALIGN, &nbytes))
		return NULL;
	nbytes = nbytes / ITEM_ALIGN * ITEM_ALIGN;
	if (!b || b->size - b->used < nbytes)
		b = add_block(a, nbytes);
	if (!b)
		return NULL;
	p = (char *)b + b->used;
	b->used += nbytes;
	return p;
}

struct tp_str
tpi_arena_str(struct tpi_arena *a, struct tp_str s)
{
	char *copy =
	    s.len == SIZE_MAX ? NULL : tpi_arena_array(a, s.len + 1, 1);

	if (copy && s.len)
		memcpy(copy, s.s, s.len);
	return (struct tp_str){copy, copy ? s.len : 0};
}
