/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_alloc.c - the allocators against malloc and against the usual cache
 *
 * The trace is what a model makes of an allocator: sizes of a few hundred
 * shapes, most of them small, some of a MB; most blocks live shortly, a few
 * long. Each page of a block is written once, as a tensor's would be. The rival
 * beside malloc is the cache that most frameworks begin with: a map of size to
 * vector of blocks, under a mutex.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tp/allocator.h"

#include "bench.h"

#define N_STEPS 20000
#define N_SLOTS 512
#define N_SIZES 200
#define MAX_THREADS 2

/* A step frees what the slot has and puts a new block there. */
struct trace_step {
	uint32_t slot;
	uint32_t size;
};

static struct trace_step trace[MAX_THREADS][N_STEPS];

static uint64_t
next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* 80 % up to 256 bytes, 15 % up to 16 KiB, 4.5 % to 256 KiB, the rest 2 MiB. */
static uint32_t
random_size(uint64_t *rng)
{
	uint64_t r = next_random(rng) % 1000;
	uint32_t most = r < 800	  ? 256
			: r < 950 ? 16384
			: r < 995 ? 262144
				  : 2097152;

	return (uint32_t)(next_random(rng) % most) + 1;
}

static void
make_trace(void)
{
	uint64_t rng = 20261130;
	uint32_t sizes[N_SIZES];

	for (unsigned i = 0; i < N_SIZES; i++)
		sizes[i] = random_size(&rng);
	for (unsigned t = 0; t < MAX_THREADS; t++)
		for (unsigned i = 0; i < N_STEPS; i++) {
			uint64_t r = next_random(&rng);

			/* Three of four take one of the first few slots. */
			trace[t][i].slot =
			    (uint32_t)((r >> 8) % (r % 4 ? 16 : N_SLOTS));
			trace[t][i].size = sizes[(r >> 32) % N_SIZES];
		}
}

static void
write_pages(char *data, size_t nbytes)
{
	for (size_t at = 0; at < nbytes; at += 4096)
		data[at] = 1;
}

/* What a slot holds, whoever made it. */
struct held {
	struct tp_data_ptr p;
	size_t nbytes;
};

struct rival {
	void (*put)(struct held *h, size_t nbytes);
	void (*clear)(struct held *h);
	struct tp_allocator *allocator; /* registered for the run */
	unsigned n_threads;
};

static void
ours_put(struct held *h, size_t nbytes)
{
	const struct tp_device cpu = {TP_DEVICE_CPU, 0};

	if (tp_allocate(nbytes, 64, cpu, &h->p, NULL))
		abort();
}

static void
ours_clear(struct held *h)
{
	tp_data_ptr_clear(&h->p);
}

static void
malloc_put(struct held *h, size_t nbytes)
{
	h->p.data = malloc(nbytes);
	if (!h->p.data)
		abort();
}

static void
malloc_clear(struct held *h)
{
	free(h->p.data);
}

/* The map: sizes in ascending order, found by halving. */
struct bucket {
	size_t size, n, cap;
	void **blocks;
};

static struct bucket map[N_SIZES];
static size_t map_n;
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;

static struct bucket *
map_at(size_t size)
{
	size_t low = 0, high = map_n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (map[mid].size < size)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < map_n && map[low].size == size)
		return &map[low];
	for (size_t i = map_n++; i > low; i--)
		map[i] = map[i - 1];
	map[low] = (struct bucket){.size = size};
	return &map[low];
}

static void
map_put(struct held *h, size_t nbytes)
{
	struct bucket *b;

	pthread_mutex_lock(&map_lock);
	b = map_at(nbytes);
	h->p.data = b->n ? b->blocks[--b->n] : NULL;
	pthread_mutex_unlock(&map_lock);
	if (!h->p.data)
		malloc_put(h, nbytes);
}

static void
map_clear(struct held *h)
{
	struct bucket *b;

	pthread_mutex_lock(&map_lock);
	b = map_at(h->nbytes);
	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 8;
		b->blocks = realloc(b->blocks, b->cap * sizeof(*b->blocks));
		if (!b->blocks)
			abort();
	}
	b->blocks[b->n++] = h->p.data;
	pthread_mutex_unlock(&map_lock);
}

static void
map_release(void)
{
	for (size_t i = 0; i < map_n; i++) {
		while (map[i].n)
			free(map[i].blocks[--map[i].n]);
		free(map[i].blocks);
	}
	map_n = 0;
}

struct worker {
	const struct rival *rival;
	const struct trace_step *steps;
};

static void *
work(void *arg)
{
	const struct worker *w = arg;
	struct held *slots = calloc(N_SLOTS, sizeof(*slots));

	if (!slots)
		abort();
	for (unsigned i = 0; i < N_STEPS; i++) {
		struct held *h = &slots[w->steps[i].slot];

		if (h->p.data)
			w->rival->clear(h);
		w->rival->put(h, w->steps[i].size);
		h->nbytes = w->steps[i].size;
		write_pages(h->p.data, h->nbytes);
	}
	for (unsigned i = 0; i < N_SLOTS; i++)
		if (slots[i].p.data)
			w->rival->clear(&slots[i]);
	free(slots);
	return NULL;
}

static void
run_rival(void *ctx)
{
	const struct rival *rival = ctx;
	struct worker workers[MAX_THREADS];
	struct tp_allocator *before = NULL;
	pthread_t threads[MAX_THREADS];

	if (rival->allocator)
		before = tp_allocator_set(TP_DEVICE_CPU, rival->allocator);
	for (unsigned i = 0; i < rival->n_threads; i++) {
		workers[i] = (struct worker){rival, trace[i]};
		if (i > 0 &&
		    pthread_create(&threads[i], NULL, work, &workers[i]))
			abort();
	}
	work(&workers[0]);
	for (unsigned i = 1; i < rival->n_threads; i++)
		pthread_join(threads[i], NULL);
	if (before)
		(void)tp_allocator_set(TP_DEVICE_CPU, before);
}

_Bool
bench_allocators(void)
{
	static const char *const names[MAX_THREADS] = {"1 thread", "2 threads"};
	struct tp_allocator *made[2] = {NULL, NULL};
	_Bool good = 1;

	if (tp_caching_allocator_new(NULL, &made[0], NULL) ||
	    tp_pool_allocator_new(NULL, &made[1], NULL))
		abort();
	make_trace();
	for (unsigned a = 0; a < 2; a++)
		for (unsigned t = 1; t <= MAX_THREADS; t++) {
			struct rival ours = {ours_put, ours_clear, made[a], t};
			struct rival libc = {malloc_put, malloc_clear, NULL, t};
			struct rival map_cache = {map_put, map_clear, NULL, t};
			char what[64];
			struct bench b = {what, "malloc", run_rival, run_rival,
			    &ours, &libc, 1, 1};

			snprintf(what, sizeof(what), "%s allocator, %s",
			    made[a]->name, names[t - 1]);
			good &= bench_run(&b);
			b.against = "mutex and size map";
			b.theirs_ctx = &map_cache;
			good &= bench_run(&b);
			map_release();
		}
	tp_allocator_free(made[0]);
	tp_allocator_free(made[1]);
	return good;
}
