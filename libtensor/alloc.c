/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - the default allocator and arrays over any allocator */
#include "tp/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "tp/checked.h"

static void *
default_alloc(void *ctx, size_t n)
{
	(void)ctx;
	return malloc(n ? n : 1);
}

static void
default_free(void *ctx, void *p, size_t n)
{
	(void)ctx;
	(void)n;
	free(p);
}

static const struct tp_alloc default_allocator = {
    .alloc = default_alloc,
    .free = default_free,
    .ctx = NULL,
};

const struct tp_alloc *
tp_alloc_default(void)
{
	return &default_allocator;
}

static const struct tp_alloc *
or_default(const struct tp_alloc *a)
{
	return a ? a : &default_allocator;
}

/* At least one byte, so that an empty array has an address. */
static bool
array_bytes(size_t n, size_t size, size_t *nbytes)
{
	if (tp_mul_size(n, size, nbytes))
		return false;
	if (*nbytes == 0)
		*nbytes = 1;
	return true;
}

void *
tp_mem_array(const struct tp_alloc *a, size_t n, size_t size)
{
	size_t nbytes;
	void *p;

	a = or_default(a);
	if (!array_bytes(n, size, &nbytes))
		return NULL;
	p = a->alloc(a->ctx, nbytes);
	if (p)
		memset(p, 0, nbytes);
	return p;
}

void *
tp_mem_grow(const struct tp_alloc *a, void *old, size_t old_n, size_t new_n,
    size_t size)
{
	void *p = tp_mem_array(a, new_n, size);

	if (!p)
		return NULL;
	if (old) {
		memcpy(p, old, (old_n < new_n ? old_n : new_n) * size);
		tp_mem_free(a, old, old_n, size);
	}
	return p;
}

void
tp_mem_free(const struct tp_alloc *a, void *p, size_t n, size_t size)
{
	size_t nbytes;

	a = or_default(a);
	if (p && array_bytes(n, size, &nbytes))
		a->free(a->ctx, p, nbytes);
}
