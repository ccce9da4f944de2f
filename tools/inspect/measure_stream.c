/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure_stream.c - statistics or a histogram of what only a stream can give
 *
 * Bytes that are compressed, strided, sparse or guarded by a checksum come in
 * order from one stream. While one piece is counted the next is read, into the
 * other half of the buffer.
 */
#include "inspect.h"

#include "tp/endian.h"
#include "tp/parallel.h"

#include "progress.h"

/* Elements in memory, whole chunks but for the last. */
struct piece {
	void *data;
	size_t n, nbytes;
};

struct job {
	const struct tp_entry *e;
	struct tp_stream *stream;
	struct tp_stats *stats;
	struct tp_histogram *histogram; /* not NULL: count into it instead */
	unsigned n_threads;		/* for counting */
	struct piece now, next;		/* n == 0: there is none */
	struct tp_err count_err, read_err;
};

static void
count_piece(struct job *job)
{
	const struct piece *p = &job->now;
	size_t swap = tp_dtype_swap_size(job->e->dtype);

	if (!tp_host_is_little() && swap > 1)
		tp_swap_bytes(p->data, p->nbytes / swap, swap);
	/* The status is in the error. */
	if (job->histogram)
		(void)!tp_histogram_add(job->histogram, job->e->dtype, p->data,
		    p->n, &job->count_err);
	else
		(void)!tp_stats_add(job->stats, job->e->dtype, p->data, p->n,
		    job->n_threads, &job->count_err);
}

/* A tp_part_fn: part 0 counts what was read, part 1 reads on. */
static void
work(void *ctx, size_t part)
{
	struct job *job = ctx;

	if (part == 0 && job->now.n)
		count_piece(job);
	if (part == 1 && job->next.n)
		(void)!tp_stream_read(job->stream, job->next.data,
		    job->next.nbytes, &job->read_err);
}

static enum tp_status
run(struct job *job, void *buffers[2], size_t n_max, unsigned n_threads,
    struct tp_err *err)
{
	unsigned bits = tp_dtype_bits(job->e->dtype);
	uint64_t left = job->e->n_elems;

	for (unsigned turn = 0; left || job->next.n; turn++) {
		size_t n = left < n_max ? (size_t)left : n_max;

		job->now = job->next;
		job->next = (struct piece){buffers[turn % 2], n,
		    n / 8 * bits + (n % 8 * bits + 7) / 8};
		left -= n;
		tp_parallel(n_threads > 1 ? 2 : 1, 2, work, job);
		/* What was counted came earlier in the file. */
		if (job->count_err.status || job->read_err.status) {
			*err = job->count_err.status ? job->count_err
						     : job->read_err;
			return err->status;
		}
		cli_progress_add(job->next.nbytes);
	}
	return TP_OK;
}

enum tp_status
inspect_measure_stream(const struct inspect_results *x, size_t entry,
    struct tp_stats *stats, struct tp_histogram *histogram, struct tp_err *err)
{
	size_t half = x->buffer_size / 2;
	void *buffers[2] = {x->buffer, (char *)x->buffer + half};
	struct job job = {.e = tp_reader_entry(x->f->r, entry),
	    .stats = stats,
	    .histogram = histogram,
	    .n_threads = x->n_threads > 1 ? x->n_threads - 1 : 1,
	    .count_err = TP_ERR_INIT,
	    .read_err = TP_ERR_INIT};
	size_t n_max = half / tp_dtype_bits(job.e->dtype) * 8 / TP_STATS_CHUNK *
		       TP_STATS_CHUNK;
	enum tp_status rc;

	rc = tp_stream_entry(x->f->r, entry, &job.stream, err);
	if (!rc)
		rc = run(&job, buffers, n_max, x->n_threads, err);
	tp_stream_close(job.stream);
	return rc;
}
