/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.h - blocks that other threads give back
 *
 * Any thread pushes, only the owner takes, and it takes all at once: so there
 * is no ABA problem and no lock. The head has a cache line of its own, because
 * it is the one word of a cache that other threads write.
 */
#ifndef TPI_REMOTE_H
#define TPI_REMOTE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

#define TPI_CACHE_LINE 64

struct tpi_remote_link {
	struct tpi_remote_link *next;
};

struct tpi_remote {
	alignas(TPI_CACHE_LINE) _Atomic(struct tpi_remote_link *) head;
	char padding[TPI_CACHE_LINE - sizeof(void *)];
};

static inline void
tpi_remote_push(struct tpi_remote *r, struct tpi_remote_link *link)
{
	struct tpi_remote_link *head =
	    atomic_load_explicit(&r->head, memory_order_relaxed);

	do
		link->next = head;
	while (!atomic_compare_exchange_weak_explicit(
	    &r->head, &head, link, memory_order_release, memory_order_relaxed));
}

/* All that were pushed, the last one first; NULL when there are none. */
static inline struct tpi_remote_link *
tpi_remote_take(struct tpi_remote *r)
{
	if (!atomic_load_explicit(&r->head, memory_order_relaxed))
		return NULL;
	return atomic_exchange_explicit(&r->head, NULL, memory_order_acquire);
}

#endif
