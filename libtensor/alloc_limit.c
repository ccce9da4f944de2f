/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_limit.c - an allocator that counts what it holds and may refuse more
 *
 * Blocks of the registered allocator carry their handle in front of them:
 *
 *	| struct tp_data_ptr, padded to 64 bytes | n bytes |
 */
#include "alloc_limit.h"

#include <stdatomic.h>

#include "tp/allocator.h"
#include "tp/checked.h"

#include "banned.h"

#define HEAD 64

_Static_assert(sizeof(struct tp_data_ptr) <= HEAD, "the handle fits");

struct tpi_limit {
	struct tp_alloc alloc;
	const struct tp_alloc *base;
	uint64_t max_bytes;
	atomic_size_t n_refs; /* one a block and one of the maker */
	atomic_uint_least64_t live, peak, refused;
};

static void *
take_registered(size_t n)
{
	const struct tp_device cpu = {TP_DEVICE_CPU, 0};
	struct tp_data_ptr p;
	size_t total;

	if (tp_add_size(n, HEAD, &total) ||
	    tp_allocate(total, HEAD, cpu, &p, NULL))
		return NULL;
	*(struct tp_data_ptr *)p.data = p;
	return (char *)p.data + HEAD;
}

static void
drop_registered(void *block)
{
	struct tp_data_ptr p =
	    *(struct tp_data_ptr *)(void *)((char *)block - HEAD);

	tp_data_ptr_clear(&p);
}

/* Count n bytes more, if they are allowed. */
static bool
reserve(struct tpi_limit *limit, size_t n)
{
	uint64_t live = atomic_fetch_add(&limit->live, n) + n;
	uint64_t peak = atomic_load(&limit->peak);

	if (live < n || (limit->max_bytes && live > limit->max_bytes)) {
		atomic_fetch_sub(&limit->live, n);
		atomic_store(&limit->refused, n);
		return false;
	}
	while (live > peak &&
	       !atomic_compare_exchange_weak(&limit->peak, &peak, live))
		;
	return true;
}

static void *
limited_alloc(void *ctx, size_t n)
{
	struct tpi_limit *limit = ctx;
	void *p;

	if (!reserve(limit, n))
		return NULL;
	p = limit->base ? limit->base->alloc(limit->base->ctx, n)
			: take_registered(n);
	if (p)
		atomic_fetch_add(&limit->n_refs, 1);
	else
		atomic_fetch_sub(&limit->live, n);
	return p;
}

static void
limited_free(void *ctx, void *p, size_t n)
{
	struct tpi_limit *limit = ctx;

	if (limit->base)
		limit->base->free(limit->base->ctx, p, n);
	else
		drop_registered(p);
	atomic_fetch_sub(&limit->live, n);
	tpi_limit_unref(limit);
}

enum tp_status
tpi_limit_new(const struct tp_alloc *base, uint64_t max_bytes,
    struct tpi_limit **out, struct tp_err *err)
{
	struct tpi_limit *limit = tp_mem_array(base, 1, sizeof(*limit));

	*out = limit;
	if (!limit)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for an allocator");
	limit->alloc = (struct tp_alloc){limited_alloc, limited_free, limit};
	limit->base = base;
	limit->max_bytes = max_bytes;
	atomic_init(&limit->n_refs, 1);
	return TP_OK;
}

void
tpi_limit_unref(struct tpi_limit *limit)
{
	if (limit && atomic_fetch_sub(&limit->n_refs, 1) == 1)
		tp_mem_free(limit->base, limit, 1, sizeof(*limit));
}

const struct tp_alloc *
tpi_limit_alloc(const struct tpi_limit *limit)
{
	return &limit->alloc;
}

struct tpi_limit_figures
tpi_limit_figures(const struct tpi_limit *limit)
{
	return (struct tpi_limit_figures){atomic_load(&limit->live),
	    atomic_load(&limit->peak), atomic_load(&limit->refused)};
}
