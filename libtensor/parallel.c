/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c - threads that take the next part until none is left */
#include "tp/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "platform.h"

#include "banned.h"

#define MAX_THREADS 64

struct work {
	tp_part_fn *fn;
	void *ctx;
	size_t n_parts;
	atomic_size_t next;
};

static void *
take_parts(void *arg)
{
	struct work *w = arg;
	size_t part;

	while ((part = atomic_fetch_add(&w->next, 1)) < w->n_parts)
		w->fn(w->ctx, part);
	return NULL;
}

void
tp_parallel(unsigned n_threads, size_t n_parts, tp_part_fn *fn, void *ctx)
{
	struct work w = {.fn = fn, .ctx = ctx, .n_parts = n_parts};
	pthread_t threads[MAX_THREADS];
	unsigned n_started = 0;

	atomic_init(&w.next, 0);
	/* Counting asks the system. */
	if (n_threads == 0 && n_parts > 1)
		n_threads = tp_cpu_count();
	if (n_threads > MAX_THREADS)
		n_threads = MAX_THREADS;
	while (n_started + 1 < n_threads && n_started + 1 < n_parts &&
	       !pthread_create(&threads[n_started], NULL, take_parts, &w))
		n_started++;
	take_parts(&w);
	for (unsigned i = 0; i < n_started; i++)
		pthread_join(threads[i], NULL);
}

unsigned
tp_cpu_count(void)
{
	return tpi_cpu_count();
}
