/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_stats.c - figures and the list of live blocks
 *
 * Each noted block has a record that takes the place of its deleter's context;
 * records form a list, oldest first, guarded with the figures by one lock. The
 * switch alone is read without it.
 */
#include "mem_stats.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "tp/alloc.h"

#include "platform.h"

#include "banned.h"

#define MAX_CALLERS 12

struct record {
	struct record *before, *after;
	void *ctx; /* what the block's own deleter wants */
	tp_deleter_fn *deleter;
	size_t nbytes;
	const char *file;
	int line;
	size_t n_callers;
	void *callers[MAX_CALLERS];
};

static atomic_bool enabled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tp_mem_stats stats;
static struct record live = {&live, &live, NULL, NULL, 0, NULL, 0, 0, {NULL}};

void
tp_mem_stats_enable(bool on)
{
	atomic_store_explicit(&enabled, on, memory_order_relaxed);
}

bool
tp_mem_stats_enabled(void)
{
	return atomic_load_explicit(&enabled, memory_order_relaxed);
}

void
tp_mem_stats_get(struct tp_mem_stats *out)
{
	pthread_mutex_lock(&lock);
	*out = stats;
	pthread_mutex_unlock(&lock);
}

void
tp_mem_stats_reset(void)
{
	pthread_mutex_lock(&lock);
	stats = (struct tp_mem_stats){
	    .n_live = stats.n_live,
	    .live_bytes = stats.live_bytes,
	    .peak_bytes = stats.live_bytes,
	};
	pthread_mutex_unlock(&lock);
}

static unsigned
size_class(size_t nbytes)
{
	unsigned k = 0;

	while (k + 1 < TP_MEM_SIZES && nbytes > (size_t)16 << k)
		k++;
	return k;
}

/* The deleter of a noted block. */
static void
forget(void *ctx)
{
	struct record *r = ctx;

	pthread_mutex_lock(&lock);
	r->before->after = r->after;
	r->after->before = r->before;
	stats.n_freed++;
	stats.n_live--;
	stats.live_bytes -= r->nbytes;
	pthread_mutex_unlock(&lock);
	if (r->deleter)
		r->deleter(r->ctx);
	tp_mem_free(NULL, r, 1, sizeof(*r));
}

enum tp_status
tpi_mem_note(size_t nbytes, struct tp_data_ptr *p, const char *file, int line,
    struct tp_err *err)
{
	struct record *r = tp_mem_array(NULL, 1, sizeof(*r));

	if (!r) {
		tp_data_ptr_clear(p);
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory to note an allocation");
	}
	r->ctx = p->ctx;
	r->deleter = p->deleter;
	r->nbytes = nbytes;
	r->file = file;
	r->line = line;
	r->n_callers = tpi_callers(r->callers, MAX_CALLERS);

	pthread_mutex_lock(&lock);
	r->before = live.before;
	r->after = &live;
	live.before->after = r;
	live.before = r;
	stats.n_allocated++;
	stats.n_live++;
	stats.live_bytes += nbytes;
	if (stats.live_bytes > stats.peak_bytes)
		stats.peak_bytes = stats.live_bytes;
	stats.by_size[size_class(nbytes)]++;
	pthread_mutex_unlock(&lock);

	p->ctx = r;
	p->deleter = forget;
	return TP_OK;
}

struct printer {
	tp_line_fn *fn;
	void *ctx;
};

static void print_line(struct printer *p, const char *fmt, ...) TP_PRINTF(2, 3);

static void
print_line(struct printer *p, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	p->fn(p->ctx, line);
}

static void
print_caller(void *ctx, const char *text)
{
	print_line(ctx, "    %s", text);
}

void
tp_mem_report(tp_line_fn *fn, void *ctx)
{
	struct printer p = {fn, ctx};

	pthread_mutex_lock(&lock);
	print_line(&p,
	    "%" PRIu64 " allocations, %" PRIu64 " freed, %" PRIu64
	    " live of %" PRIu64 " bytes, peak %" PRIu64 " bytes",
	    stats.n_allocated, stats.n_freed, stats.n_live, stats.live_bytes,
	    stats.peak_bytes);
	for (unsigned k = 0; k < TP_MEM_SIZES; k++)
		if (stats.by_size[k])
			print_line(&p, "%s %zu bytes: %" PRIu64,
			    k + 1 < TP_MEM_SIZES ? "up to" : "above",
			    (size_t)16 << (k + 1 < TP_MEM_SIZES ? k : k - 1),
			    stats.by_size[k]);
	for (const struct record *r = live.after; r != &live; r = r->after) {
		print_line(
		    &p, "%zu bytes from %s:%d", r->nbytes, r->file, r->line);
		tpi_name_callers(r->callers, r->n_callers, print_caller, &p);
	}
	pthread_mutex_unlock(&lock);
}
