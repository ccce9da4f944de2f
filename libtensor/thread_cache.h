/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_cache.h - one cache a thread for each allocator
 *
 * A cache belongs to the thread that works with it. When the thread ends the
 * cache is not freed, because blocks may still come back to it from others: it
 * is left idle, and the next thread that needs one takes it over with all it
 * holds. Embed struct tpi_cache at the beginning of an allocator's own cache.
 */
#ifndef TPI_THREAD_CACHE_H
#define TPI_THREAD_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "remote.h"

struct tpi_cache {
	struct tpi_remote remote;
	struct tpi_cache *next; /* of the allocator's list */
	struct tpi_caches *set;
	bool idle; /* guarded by the set's lock */
};

struct tpi_caches {
	pthread_key_t key;
	pthread_mutex_t lock;
	struct tpi_cache *all;
	size_t cache_size; /* of the struct that embeds tpi_cache */
	uint64_t serial;   /* no two sets ever have the same */
};

/* False when the system has no key or no memory for one. */
bool tpi_caches_init(struct tpi_caches *set, size_t cache_size);

/* This thread's cache, made or taken over when it has none; NULL: no memory. */
struct tpi_cache *tpi_cache_slow(struct tpi_caches *set);

/* Frees the caches themselves; what they hold must have been freed. */
void tpi_caches_release(struct tpi_caches *set);

/*
 * The cache last used by this thread and whose it is. An allocator is mostly
 * used many times in a row, so this answers nearly every call.
 */
struct tpi_last_cache {
	uint64_t serial;
	struct tpi_cache *cache;
};
extern _Thread_local struct tpi_last_cache tpi_last_cache;

static inline struct tpi_cache *
tpi_cache_get(struct tpi_caches *set)
{
	if (tpi_last_cache.serial == set->serial)
		return tpi_last_cache.cache;
	return tpi_cache_slow(set);
}

/* True if it is this thread's; may say false of one that was not used last. */
static inline bool
tpi_cache_is_mine(const struct tpi_cache *c)
{
	return tpi_last_cache.cache == c &&
	       tpi_last_cache.serial == c->set->serial;
}

/*
 * Call fn on this thread's cache and on each that no thread has: the ones that
 * may be looked into without their owner.
 */
void tpi_caches_each_free(
    struct tpi_caches *set, void (*fn)(struct tpi_cache *c));

#endif
