/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_pool.h - the two levels of the pool allocator */
#ifndef TPI_ALLOC_POOL_H
#define TPI_ALLOC_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/allocator.h"

#include "thread_cache.h"

/* Sizes of slab blocks: 16, 32, 64, 128, 256. */
#define TPI_SLAB_SIZES 5
#define TPI_SLAB_MAX 256

/*
 * Free region blocks by size: four lists to each power of two, from 64 bytes to
 * the largest region. The first lists hold what is below 1 KiB, the next what
 * is below 4 KiB, and so on; a bit for each tells whether it holds any.
 */
#define TPI_REGION_LISTS 128

/*
 * Blocks just freed, as they are: the next request of the same size takes the
 * last one. Places by a hash of the size; up to TPI_QUICK_MAX blocks at each.
 */
#define TPI_QUICK_LISTS 256
#define TPI_QUICK_MAX 8

struct tpi_slab;
struct tpi_region;
struct tpi_region_block;

struct tpi_quick_list {
	struct tpi_region_block *first;
	size_t size;
	unsigned n;
};

struct tpi_pool {
	struct tpi_cache base; /* its remote list: region blocks */
	struct tpi_remote slab_remote;
	struct tpi_pool_allocator *allocator;

	struct tpi_slab *slabs[TPI_SLAB_SIZES]; /* those with a free block */

	struct tpi_region *regions;
	size_t n_empty; /* regions without a live block */
	struct tpi_region_block *lists[TPI_REGION_LISTS];
	uint64_t in_use[TPI_REGION_LISTS / 64];
	struct tpi_quick_list quick[TPI_QUICK_LISTS];
	size_t quick_bytes;
};

struct tpi_pool_allocator {
	struct tp_allocator base;
	struct tpi_caches pools;
	size_t region_bytes, max_kept;
};

/*
 * A block of size bytes (asked: without the guard) at the alignment; false when
 * there is no memory. Fills *out but for the device.
 */
bool tpi_slab_allocate(struct tpi_pool *p, size_t size, size_t alignment,
    size_t asked, struct tp_data_ptr *out);
bool tpi_region_allocate(struct tpi_pool *p, size_t size, size_t alignment,
    size_t asked, struct tp_data_ptr *out);

/* What other threads gave back becomes free here. */
void tpi_slab_take_remote(struct tpi_pool *p);
void tpi_region_take_remote(struct tpi_pool *p);

/* Blocks that wait for a request of their size are joined with neighbours. */
void tpi_region_flush(struct tpi_pool *p);

/* Give to the system what holds no live block. */
void tpi_slab_trim(struct tpi_pool *p);
void tpi_region_trim(struct tpi_pool *p, size_t keep);

#endif
