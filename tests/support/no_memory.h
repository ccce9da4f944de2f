/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_memory.h - every public function, with the heap failing at each call
 *
 * A test that includes this has functions of the C library of its own: malloc
 * and its kind. Between no_memory_arm and no_memory_disarm they fail from a call
 * on, whoever calls: also what takes no struct tp_alloc, and other libraries.
 * (Under sanitizers, which have their own, the linker sends only the calls of
 * our own libraries here: tp_no_memory_test in CMakeLists.txt.)
 *
 * The functions stand in a list, which no_memory_list.h reads, one line each:
 *
 *	GETS(f, (ARGUMENTS))	returns a status, and gets memory
 *	SOME(f, …)		the same, and does without some of it
 *	BLOCK(f, …)		returns a block that w->made gets, or NULL
 *	NEVER_S(f, …)		returns a status, and gets none
 *	NEVER(f, …)		returns something else, and gets none
 *	MAY(f, …)		returns something else, and does without if it
 *				must
 *
 * ARGUMENTS are expressions of `struct world *w` and `struct tp_err *err`.
 * Every line is called in a new world with the heap failing at call 1, 2, 3, …
 * until it succeeds. Then what failed has said TP_ENOMEM and why, the world is
 * what it was, and nothing is left on the heap when it is gone.
 *
 * With --list as its argument the test prints the names: no_memory.sh compares
 * them with the headers.
 */
#ifndef TEST_NO_MEMORY_H
#define TEST_NO_MEMORY_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/error.h"

#include "support/cmocka_all.h"
#include "support/fact.h"

/*
 * ---- the heap ----
 */

#ifdef NO_MEMORY_WRAPPED
#define HEAP(name) __wrap_##name
#define REAL(name) __real_##name
extern int __real_posix_memalign(void **out, size_t align, size_t n);
extern void *__real_aligned_alloc(size_t align, size_t n);
#else
#define HEAP(name) name
#define REAL(name) __libc_##name
extern void *__libc_memalign(size_t align, size_t n);
#define __libc_aligned_alloc __libc_memalign
#endif
extern void *REAL(malloc)(size_t n);
extern void *REAL(calloc)(size_t n, size_t size);
extern void *REAL(realloc)(void *p, size_t n);
extern void REAL(free)(void *p);

/* Blocks that were given while the world is there. Tests are small. */
#define HEAP_BLOCKS 65536

static struct {
	bool counts; /* blocks are kept account of */
	bool armed;
	bool once;    /* only call fail_at fails, else all from it on */
	long fail_at; /* 0: none */
	long n_calls; /* since it was armed */
	long n_live;
	void *live[HEAP_BLOCKS];
	atomic_flag lock;
} heap = {.lock = ATOMIC_FLAG_INIT};

static void
heap_lock(void)
{
	while (atomic_flag_test_and_set(&heap.lock))
		continue;
}

static void
heap_unlock(void)
{
	atomic_flag_clear(&heap.lock);
}

/* True if this call is to fail. */
static bool
heap_fails(void)
{
	bool fails = false;

	heap_lock();
	if (heap.armed) {
		long n = ++heap.n_calls;

		fails = heap.fail_at &&
			(heap.once ? n == heap.fail_at : n >= heap.fail_at);
	}
	heap_unlock();
	return fails;
}

/* The place of a block in the table of live ones, or where it would go. */
static void **
heap_place(const void *p)
{
	size_t i = (uintptr_t)p / 16 % HEAP_BLOCKS;

	while (heap.live[i] && heap.live[i] != p)
		i = (i + 1) % HEAP_BLOCKS;
	return &heap.live[i];
}

static void *
heap_gave(void *p)
{
	heap_lock();
	if (heap.counts && p) {
		*heap_place(p) = p;
		if (++heap.n_live > HEAP_BLOCKS / 2)
			abort();
	}
	heap_unlock();
	return p;
}

static void
heap_took(void *p)
{
	void **place;

	heap_lock();
	place = p && heap.counts ? heap_place(p) : NULL;
	if (place && *place) {
		size_t i = (size_t)(place - heap.live);

		heap.n_live--;
		*place = NULL;
		/* Those behind it may have wanted to be here. */
		for (i = (i + 1) % HEAP_BLOCKS; heap.live[i];
		     i = (i + 1) % HEAP_BLOCKS) {
			void *moved = heap.live[i];

			heap.live[i] = NULL;
			*heap_place(moved) = moved;
		}
	}
	heap_unlock();
}

extern void *HEAP(malloc)(size_t n);
extern void *HEAP(calloc)(size_t n, size_t size);
extern void *HEAP(realloc)(void *p, size_t n);
extern void *HEAP(aligned_alloc)(size_t align, size_t n);
extern int HEAP(posix_memalign)(void **out, size_t align, size_t n);
extern void HEAP(free)(void *p);

void *
HEAP(malloc)(size_t n)
{
	return heap_fails() ? NULL : heap_gave(REAL(malloc)(n));
}

void *
HEAP(calloc)(size_t n, size_t size)
{
	return heap_fails() ? NULL : heap_gave(REAL(calloc)(n, size));
}

void *
HEAP(realloc)(void *p, size_t n)
{
	void *moved;

	if (heap_fails())
		return NULL;
	heap_took(p);
	moved = REAL(realloc)(p, n);
	return heap_gave(moved ? moved : n ? p : NULL) ? moved : NULL;
}

void *
HEAP(aligned_alloc)(size_t align, size_t n)
{
	return heap_fails() ? NULL : heap_gave(REAL(aligned_alloc)(align, n));
}

int
HEAP(posix_memalign)(void **out, size_t align, size_t n)
{
	void *p = NULL;

	if (heap_fails())
		return ENOMEM;
#ifdef NO_MEMORY_WRAPPED
	/* A sanitizer wants n to be a multiple of align for aligned_alloc. */
	if (REAL(posix_memalign)(&p, align, n))
		return ENOMEM;
#else
	p = REAL(aligned_alloc)(align, n);
#endif
	if (!heap_gave(p))
		return ENOMEM;
	*out = p;
	return 0;
}

void
HEAP(free)(void *p)
{
	heap_took(p);
	REAL(free)(p);
}

static void
no_memory_arm(long fail_at, bool once)
{
	heap.fail_at = fail_at;
	heap.once = once;
	heap.n_calls = 0;
	heap.armed = true;
}

static void
no_memory_disarm(void)
{
	heap.armed = false;
}

/*
 * ---- the list ----
 */

struct world;

/* What the test has to say about its world. */
static void world_make(struct world *w);
static void world_check(struct world *w); /* a call has failed */
static void world_release(struct world *w);

/* Where a function that fails must not have written, or only NULL. */
static int untouched;
#define UNTOUCHED ((void *)&untouched)

/* In arguments: the pointer, which the function takes away from the world. */
#define take(pointer) take_pointer((pointer), sizeof(*(pointer)))

static void *
take_pointer(void *pointer, size_t size)
{
	void *taken;

	assert_int_equal(size, sizeof(taken));
	memcpy(&taken, pointer, sizeof(taken));
	memset(pointer, 0, sizeof(taken));
	return taken;
}

enum no_memory_kind {
	NO_MEMORY_GETS,
	NO_MEMORY_SOME,
	NO_MEMORY_NEVER,
	NO_MEMORY_MAY,
};

struct no_memory_row {
	const char *name;
	enum no_memory_kind kind;
	enum tp_status (*call)(struct world *w, struct tp_err *err);
};

/* One function of these for each line … */
#define NO_MEMORY_STATUS(f, args)                                           \
	static enum tp_status call_##f(struct world *w, struct tp_err *err) \
	{                                                                   \
		(void)w, (void)err;                                         \
		return f args;                                              \
	}
#define NO_MEMORY_BLOCK(f, args)                                            \
	static enum tp_status call_##f(struct world *w, struct tp_err *err) \
	{                                                                   \
		w->made = f args;                                           \
		return w->made                                              \
			   ? TP_OK                                          \
			   : tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "NULL"); \
	}
#define NO_MEMORY_OTHER(f, args)                                            \
	static enum tp_status call_##f(struct world *w, struct tp_err *err) \
	{                                                                   \
		(void)w, (void)err;                                         \
		(void)f args;                                               \
		return TP_OK;                                               \
	}

/* … and a row of the table. */
#define NO_MEMORY_ROW(f, kind) {#f, NO_MEMORY_##kind, call_##f},

/* The line that is tried, for worlds that have only what it needs. */
static const char *no_memory_name = "";

/* More calls than anything here makes: who gets there never succeeds. */
#define NO_MEMORY_MAX 5000

/*
 * One call in a world of its own; true when it went as if nothing had failed.
 */
static bool
no_memory_round(
    const struct no_memory_row *row, struct world *w, long fail_at, bool once)
{
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;
	long n_calls;

	no_memory_name = row->name;
	heap.counts = true;
	world_make(w);
	no_memory_arm(fail_at, once);
	rc = row->call(w, &err);
	no_memory_disarm();
	n_calls = heap.n_calls;
	if (rc) {
		if (rc != TP_ENOMEM || err.status != rc || !err.msg[0])
			fail_msg("%s, allocation %ld: status %d, \"%s\"",
			    row->name, fail_at, rc, err.msg);
		world_check(w);
	}
	world_release(w);
	heap.counts = false;
	if (heap.n_live)
		fail_msg("%s, allocation %ld: %ld blocks are left", row->name,
		    fail_at, heap.n_live);
	if (row->kind == NO_MEMORY_NEVER && n_calls)
		fail_msg("%s gets memory", row->name);
	if (row->kind >= NO_MEMORY_NEVER && rc)
		fail_msg("%s fails: %s", row->name, err.msg);
	if (row->kind == NO_MEMORY_GETS && !rc && n_calls >= fail_at && !once)
		fail_msg("%s, allocation %ld: no failure", row->name, fail_at);
	/* A first time may leave what the next finds. */
	return !rc && n_calls < fail_at;
}

static long
no_memory_rounds(const struct no_memory_row *row, struct world *w, bool once)
{
	long n = 1;

	while (!no_memory_round(row, w, n, once))
		if (++n > NO_MEMORY_MAX)
			fail_msg("%s never succeeds", row->name);
	return n - 1;
}

#endif
