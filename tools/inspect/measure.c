/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.c - what must be computed from the bytes of tensors
 *
 * A window of tensors is computed ahead of the one that is shown. Hashes run
 * one tensor a thread; statistics one tensor after the other, each in parallel
 * where it is large. Nothing depends on the number of threads.
 */
#include "inspect.h"

#include <string.h>

#include "tp/alloc.h"
#include "tp/parallel.h"

#include "progress.h"
#include "tensor_hash.h"

#define WINDOW 64
/* For a thread; four are two chunks of any dtype. */
#define STATS_BUFFER ((size_t)512 << 10)
#define BINS 20

/* The range of a histogram is that of the finite values. */
static enum tp_status
measure(struct inspect_results *x, size_t entry, struct inspect_result *out)
{
	const struct tp_entry *e = tp_reader_entry(x->f->r, entry);
	enum tp_status rc;

	if (e->dtype == TP_DTYPE_STRING)
		return TP_OK;
	if (inspect_can_measure_raw(x->f, e))
		rc = inspect_measure_raw(x, e, &out->stats, &out->err);
	else
		rc = inspect_measure_stream(
		    x, entry, &out->stats, NULL, &out->err);
	if (rc)
		return rc;
	if (inspect_options.histogram && out->stats.n_finite) {
		out->histogram.low = out->stats.min;
		out->histogram.high = out->stats.max;
		out->histogram.n_bins = BINS;
		rc = inspect_measure_stream(
		    x, entry, NULL, &out->histogram, &out->err);
		if (rc)
			return rc;
		out->has_histogram = true;
	}
	out->has_stats = true;
	return TP_OK;
}

/* A tp_part_fn: the hash of one tensor of the window. */
static void
hash_part(void *ctx, size_t part)
{
	struct inspect_results *x = ctx;
	struct inspect_result *out = &x->ready[part];

	if (out->err.status)
		return;
	out->has_hash = !tensor_hash(
	    x->f->r, x->f->order[x->begin + part], out->hash, &out->err);
}

static void
fill_window(struct inspect_results *x, size_t begin)
{
	const struct inspect_options *o = &inspect_options;

	x->begin = begin;
	x->end = x->f->n - begin < WINDOW ? x->f->n : begin + WINDOW;
	memset(x->ready, 0, WINDOW * sizeof(x->ready[0]));
	if (o->stats || o->histogram)
		for (size_t i = begin; i < x->end; i++)
			measure(x, x->f->order[i], &x->ready[i - begin]);
	if (o->hash)
		tp_parallel(x->n_threads, x->end - begin, hash_part, x);
}

bool
inspect_results_init(struct inspect_results *x, struct inspect_file *f)
{
	const struct inspect_options *o = &inspect_options;
	uint64_t passes =
	    (uint64_t)(o->stats || o->histogram) + o->histogram + o->hash;
	struct inspect_totals t = {0};

	*x = (struct inspect_results){.f = f};
	if (!passes)
		return true;
	x->n_threads =
	    cli_common.threads ? (unsigned)cli_common.threads : tp_cpu_count();
	x->buffer_size = (x->n_threads > 4 ? x->n_threads : 4) * STATS_BUFFER;
	while (x->buffer_size > cli_common.max_memory &&
	       x->buffer_size > 4 * STATS_BUFFER)
		x->buffer_size -= STATS_BUFFER;
	x->ready = tp_mem_array(NULL, WINDOW, sizeof(x->ready[0]));
	x->buffer = tp_mem_array(NULL, x->buffer_size, 1);
	if (!x->ready || !x->buffer) {
		cli_message_about(f->path, "out of memory");
		f->status = cli_worst(f->status, CLI_INPUT);
		inspect_results_release(x);
		return false;
	}
	inspect_count(f, &t);
	cli_progress_begin("reading", t.all.nbytes * passes);
	return true;
}

const struct inspect_result *
inspect_results_get(struct inspect_results *x, size_t i)
{
	const struct inspect_result *result;

	if (!x->ready)
		return NULL;
	if (i >= x->end)
		fill_window(x, i);
	result = &x->ready[i - x->begin];
	if (result->err.status)
		x->f->status = cli_worst(
		    x->f->status, cli_report(x->f->path, &result->err));
	return result;
}

void
inspect_results_release(struct inspect_results *x)
{
	if (x->ready) {
		cli_progress_end();
		tp_mem_free(NULL, x->ready, WINDOW, sizeof(x->ready[0]));
	}
	if (x->buffer)
		tp_mem_free(NULL, x->buffer, x->buffer_size, 1);
	*x = (struct inspect_results){0};
}
