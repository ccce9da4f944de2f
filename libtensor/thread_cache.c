/* SPDX-License-Identifier: Apache-2.0 */
/* thread_cache.c - caches that outlive their threads */
#include "thread_cache.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"

_Thread_local struct tpi_last_cache tpi_last_cache;

/* Runs when a thread that used the cache ends. */
static void
leave(void *value)
{
	struct tpi_cache *c = value;

	if (tpi_last_cache.cache == c)
		tpi_last_cache = (struct tpi_last_cache){0, NULL};
	pthread_mutex_lock(&c->set->lock);
	c->idle = true;
	pthread_mutex_unlock(&c->set->lock);
}

bool
tpi_caches_init(struct tpi_caches *set, size_t cache_size)
{
	static atomic_uint_least64_t serials;

	memset(set, 0, sizeof(*set));
	if (pthread_mutex_init(&set->lock, NULL))
		return false;
	if (pthread_key_create(&set->key, leave)) {
		pthread_mutex_destroy(&set->lock);
		return false;
	}
	set->cache_size = cache_size;
	set->serial = atomic_fetch_add(&serials, 1) + 1;
	return true;
}

struct tpi_cache *
tpi_cache_slow(struct tpi_caches *set)
{
	struct tpi_cache *c = pthread_getspecific(set->key);

	if (!c) {
		pthread_mutex_lock(&set->lock);
		for (c = set->all; c && !c->idle; c = c->next)
			;
		if (c)
			c->idle = false;
		pthread_mutex_unlock(&set->lock);
	}
	if (!c) {
		/* aligned_alloc for the cache line of the remote list. */
		size_t size = (set->cache_size + TPI_CACHE_LINE - 1) /
			      TPI_CACHE_LINE * TPI_CACHE_LINE;

		c = aligned_alloc(TPI_CACHE_LINE, size);
		if (!c)
			return NULL;
		memset(c, 0, size);
		c->set = set;
		pthread_mutex_lock(&set->lock);
		c->next = set->all;
		set->all = c;
		pthread_mutex_unlock(&set->lock);
	}
	if (pthread_setspecific(set->key, c)) {
		leave(c);
		return NULL;
	}
	tpi_last_cache.serial = set->serial;
	tpi_last_cache.cache = c;
	return c;
}

void
tpi_caches_each_free(struct tpi_caches *set, void (*fn)(struct tpi_cache *c))
{
	struct tpi_cache *mine = pthread_getspecific(set->key);

	if (mine)
		fn(mine);
	/* Under the lock none of the idle ones can be taken over meanwhile. */
	pthread_mutex_lock(&set->lock);
	for (struct tpi_cache *c = set->all; c; c = c->next)
		if (c->idle)
			fn(c);
	pthread_mutex_unlock(&set->lock);
}

void
tpi_caches_release(struct tpi_caches *set)
{
	struct tpi_cache *next;

	pthread_key_delete(set->key);
	for (struct tpi_cache *c = set->all; c; c = next) {
		next = c->next;
		free(c);
	}
	pthread_mutex_destroy(&set->lock);
}
