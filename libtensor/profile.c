/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.c - counters a thread, added up at the report
 *
 * A thread's counters are a small open-addressing table that only it writes.
 * When it ends they are added to those of the threads that ended before.
 */
#include "tp/profile.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tp/alloc.h"

#include "banned.h"

#define N_ROWS 256 /* names a program may use; more are counted as "other" */

struct table {
	struct table *next; /* of the threads that run */
	struct tp_profile_row rows[N_ROWS];
};

static atomic_bool enabled;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table *running;
static struct table ended;

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void
tp_profile_enable(bool on)
{
	atomic_store_explicit(&enabled, on, memory_order_relaxed);
}

bool
tp_profile_enabled(void)
{
	return atomic_load_explicit(&enabled, memory_order_relaxed);
}

/* The row of a name; the last one serves all names that found no room. */
static struct tp_profile_row *
row_of(struct table *t, const char *name)
{
	size_t h = 5381;

	for (const char *s = name; *s; s++)
		h = h * 33 ^ (unsigned char)*s;
	for (size_t i = 0; i < N_ROWS - 1; i++) {
		struct tp_profile_row *row = &t->rows[(h + i) % (N_ROWS - 1)];

		if (row->name &&
		    (row->name == name || !strcmp(row->name, name)))
			return row;
		if (!row->name) {
			row->name = name;
			return row;
		}
	}
	t->rows[N_ROWS - 1].name = "other";
	return &t->rows[N_ROWS - 1];
}

static void
add_table(struct table *to, const struct table *from)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct tp_profile_row *row = &from->rows[i];

		if (row->name) {
			struct tp_profile_row *sum = row_of(to, row->name);

			sum->n_calls += row->n_calls;
			sum->total_ns += row->total_ns;
		}
	}
}

/* Runs when a thread ends. */
static void
retire(void *value)
{
	struct table *t = value;

	pthread_mutex_lock(&lock);
	for (struct table **at = &running; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			break;
		}
	add_table(&ended, t);
	pthread_mutex_unlock(&lock);
	tp_mem_free(NULL, t, 1, sizeof(*t));
}

static void
make_key(void)
{
	if (pthread_key_create(&key, retire))
		abort();
}

/* This thread's counters; NULL when there is no memory for them. */
static struct table *
my_table(void)
{
	static _Thread_local struct table *mine;

	pthread_once(&once, make_key);
	if (mine && pthread_getspecific(key) == mine)
		return mine;
	mine = tp_mem_array(NULL, 1, sizeof(*mine));
	if (!mine || pthread_setspecific(key, mine)) {
		tp_mem_free(NULL, mine, 1, sizeof(*mine));
		return mine = NULL;
	}
	pthread_mutex_lock(&lock);
	mine->next = running;
	running = mine;
	pthread_mutex_unlock(&lock);
	return mine;
}

struct tp_scope
tp_scope_begin(const char *name)
{
	if (!tp_profile_enabled())
		return (struct tp_scope){NULL, 0};
	return (struct tp_scope){name, now_ns()};
}

void
tp_scope_end(struct tp_scope *scope)
{
	struct tp_profile_row *row;
	struct table *t;
	uint64_t end;

	if (!scope->name)
		return;
	end = now_ns();
	t = my_table();
	if (t) {
		row = row_of(t, scope->name);
		row->n_calls++;
		row->total_ns += end - scope->start;
	}
	scope->name = NULL;
}

/* The longest first. */
static int
compare_rows(const void *a, const void *b)
{
	const struct tp_profile_row *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

size_t
tp_profile_rows(struct tp_profile_row *rows, size_t max)
{
	struct table *sum = tp_mem_array(NULL, 1, sizeof(*sum));
	uint64_t total = 0;
	size_t n = 0;

	if (!sum)
		return 0;
	pthread_mutex_lock(&lock);
	add_table(sum, &ended);
	for (const struct table *t = running; t; t = t->next)
		add_table(sum, t);
	pthread_mutex_unlock(&lock);

	for (size_t i = 0; i < N_ROWS; i++)
		if (sum->rows[i].name) {
			total += sum->rows[i].total_ns;
			sum->rows[n++] = sum->rows[i];
		}
	qsort(sum->rows, n, sizeof(sum->rows[0]), compare_rows);
	for (size_t i = 0; i < n && i < max; i++) {
		rows[i] = sum->rows[i];
		rows[i].share =
		    total ? (double)rows[i].total_ns / (double)total : 0;
	}
	tp_mem_free(NULL, sum, 1, sizeof(*sum));
	return n;
}

void
tp_profile_report(tp_profile_line_fn *fn, void *ctx)
{
	struct tp_profile_row rows[N_ROWS];
	size_t n = tp_profile_rows(rows, N_ROWS);
	char line[256];

	snprintf(line, sizeof(line), "%-32s %10s %12s %12s %7s", "scope",
	    "calls", "total ms", "mean us", "share");
	fn(ctx, line);
	for (size_t i = 0; i < n; i++) {
		snprintf(line, sizeof(line),
		    "%-32s %10" PRIu64 " %12.3f %12.3f %6.1f%%", rows[i].name,
		    rows[i].n_calls, (double)rows[i].total_ns / 1e6,
		    (double)rows[i].total_ns / 1e3 / (double)rows[i].n_calls,
		    rows[i].share * 100);
		fn(ctx, line);
	}
}

void
tp_profile_reset(void)
{
	pthread_mutex_lock(&lock);
	memset(ended.rows, 0, sizeof(ended.rows));
	for (struct table *t = running; t; t = t->next)
		memset(t->rows, 0, sizeof(t->rows));
	pthread_mutex_unlock(&lock);
}
