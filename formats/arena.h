/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - many small things that are freed together
 *
 * Blocks of 64 KiB and up, so that 100,000 names cost a few hundred
 * allocations. Nothing is given back before tpi_arena_release.
 */
#ifndef TPI_ARENA_H
#define TPI_ARENA_H

#include <stddef.h>

#include "tp/alloc.h"
#include "tp/error.h"

struct tpi_arena {
	const struct tp_alloc *alloc;
	struct tpi_arena_block *blocks;
};

void tpi_arena_init(struct tpi_arena *a, const struct tp_alloc *alloc);
void tpi_arena_release(struct tpi_arena *a);

/* Zeroed, aligned to 16; NULL when there is no memory or n * size overflows. */
void *tpi_arena_array(struct tpi_arena *a, size_t n, size_t size);

/* A copy followed by a NUL; .s is NULL when there is no memory. */
struct tp_str tpi_arena_str(struct tpi_arena *a, struct tp_str s);

#endif
