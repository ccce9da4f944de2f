/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_pool.c - the pool allocator
 *
 * Small blocks (up to 256 bytes) come from slabs of one size each:
 * alloc_slab.c. Larger ones are cut from regions of some MB and joined again:
 * alloc_region.c. What would take about half a region or more comes from the
 * system.
 */
#include "alloc_pool.h"

#include "tp/alloc.h"
#include "tp/checked.h"

#include "debug_block.h"

#include "banned.h"

#define DEFAULT_REGION_BYTES ((size_t)4 << 20)
#define MIN_REGION_BYTES ((size_t)64 << 10)
#define MAX_REGION_BYTES ((size_t)1 << 30)
#define DEFAULT_MAX_KEPT 4

static enum tp_status
pool_allocate(struct tp_allocator *self, size_t nbytes, size_t alignment,
    struct tp_device device, struct tp_data_ptr *out, struct tp_err *err)
{
	struct tpi_pool_allocator *a = (struct tpi_pool_allocator *)self;
	struct tpi_pool *p;
	size_t size, room;
	bool made;

	/* Twice the alignment: a block cut to fit may have a lead of that. */
	if (tp_add_size(nbytes, TPI_GUARD_BYTES, &size) ||
	    tp_mul_size(alignment, 2, &room) || tp_add_size(size, room, &room))
		goto no_memory;
	if (room > a->region_bytes / 2)
		return tp_system_allocator()->allocate(
		    tp_system_allocator(), nbytes, alignment, device, out, err);

	p = (struct tpi_pool *)tpi_cache_get(&a->pools);
	if (!p)
		goto no_memory;
	p->allocator = a;
	if (size <= TPI_SLAB_MAX && alignment <= TPI_SLAB_MAX)
		made = tpi_slab_allocate(p, size, alignment, nbytes, out);
	else
		made = tpi_region_allocate(p, size, alignment, nbytes, out);
	if (made) {
		out->device = device;
		return TP_OK;
	}

no_memory:
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for %zu bytes", nbytes);
}

static void
trim_pool(struct tpi_cache *c)
{
	struct tpi_pool *p = (struct tpi_pool *)c;

	tpi_slab_take_remote(p);
	tpi_region_take_remote(p);
	tpi_region_flush(p);
	tpi_slab_trim(p);
	tpi_region_trim(p, 0);
}

static void
pool_trim(struct tp_allocator *self)
{
	tpi_caches_each_free(
	    &((struct tpi_pool_allocator *)self)->pools, trim_pool);
}

static void
pool_free(struct tp_allocator *self)
{
	struct tpi_pool_allocator *a = (struct tpi_pool_allocator *)self;

	for (struct tpi_cache *c = a->pools.all; c; c = c->next)
		trim_pool(c);
	tpi_caches_release(&a->pools);
	tp_mem_free(NULL, a, 1, sizeof(*a));
}

enum tp_status
tp_pool_allocator_new(const struct tp_pool_options *options,
    struct tp_allocator **out, struct tp_err *err)
{
	size_t region = options && options->region_bytes ? options->region_bytes
							 : DEFAULT_REGION_BYTES;
	struct tpi_pool_allocator *a;

	*out = NULL;
	if ((region & (region - 1)) || region < MIN_REGION_BYTES ||
	    region > MAX_REGION_BYTES)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "regions of %zu bytes; a power of two from %zu to %zu is "
		    "expected",
		    region, MIN_REGION_BYTES, MAX_REGION_BYTES);
	a = tp_mem_array(NULL, 1, sizeof(*a));
	if (!a || !tpi_caches_init(&a->pools, sizeof(struct tpi_pool))) {
		tp_mem_free(NULL, a, 1, sizeof(*a));
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for an allocator");
	}
	a->base.name = "pool";
	a->base.allocate = pool_allocate;
	a->base.trim = pool_trim;
	a->base.free = pool_free;
	a->region_bytes = region;
	a->max_kept =
	    options && options->max_kept ? options->max_kept : DEFAULT_MAX_KEPT;
	*out = &a->base;
	return TP_OK;
}
