/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure_raw.c - statistics of bytes that lie in the file as they are
 *
 * Each thread reads a chunk into memory that stays in its cache, and counts it,
 * so that reading is divided too. The chunks are then joined in order, so the
 * result is the same, bit by bit, as from one stream.
 */
#include "inspect.h"

#include <stdatomic.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/endian.h"
#include "tp/parallel.h"

#include "progress.h"

/* Chunks between two joins. */
#define WAVE 1024
#define MAX_WORKERS 64

struct job {
	const struct inspect_file *f;
	const struct tp_entry *e;
	uint8_t *buffer;
	size_t chunk_nbytes;
	uint64_t first_chunk; /* of the wave, in the tensor */
	size_t n_chunks;      /* in the wave */
	atomic_size_t next;
	struct tp_stats *chunks;
	struct {
		size_t chunk;
		struct tp_err err;
	} failed[MAX_WORKERS]; /* err.status is TP_OK: it has not */
};

static enum tp_status
measure_chunk(
    struct job *job, size_t chunk, uint8_t *buffer, struct tp_err *err)
{
	const struct tp_entry *e = job->e;
	unsigned bits = tp_dtype_bits(e->dtype);
	uint64_t at = (job->first_chunk + chunk) * TP_STATS_CHUNK;
	uint64_t left = e->n_elems - at;
	size_t n = left < TP_STATS_CHUNK ? (size_t)left : TP_STATS_CHUNK;
	size_t nbytes = n / 8 * bits + (n % 8 * bits + 7) / 8;
	size_t swap = tp_dtype_swap_size(e->dtype);
	enum tp_status rc;

	/* Both parts are whole bytes: inspect_can_measure_raw saw to it. */
	rc = tp_reader_read_raw(job->f->r, e->storage,
	    e->first / 8 * bits + e->first % 8 * bits / 8 + at / 8 * bits,
	    buffer, nbytes, err);
	if (rc)
		return rc;
	if (!tp_host_is_little() && swap > 1)
		tp_swap_bytes(buffer, nbytes / swap, swap);
	cli_progress_add(nbytes);
	return tp_stats_add(&job->chunks[chunk], e->dtype, buffer, n, 1, err);
}

/* A tp_part_fn: one worker, which takes chunks until none is left. */
static void
work(void *ctx, size_t worker)
{
	struct job *job = ctx;
	uint8_t *buffer = job->buffer + worker * job->chunk_nbytes;
	size_t chunk;

	while ((chunk = atomic_fetch_add(&job->next, 1)) < job->n_chunks) {
		if (!measure_chunk(
			job, chunk, buffer, &job->failed[worker].err))
			continue;
		job->failed[worker].chunk = chunk;
		return;
	}
}

/* The error of the earliest chunk, whichever thread met it. */
static enum tp_status
first_failure(const struct job *job, size_t n_workers, struct tp_err *err)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < n_workers; i++)
		if (job->failed[i].err.status && job->failed[i].chunk < first) {
			first = job->failed[i].chunk;
			*err = job->failed[i].err;
		}
	return first == SIZE_MAX ? TP_OK : err->status;
}

bool
inspect_can_measure_raw(const struct inspect_file *f, const struct tp_entry *e)
{
	const struct tp_storage_info *s = tp_reader_storage(f->r, e->storage);

	return s->encoding == TP_ENC_RAW && !s->has_crc32c && !e->strides &&
	       !e->sparse && e->first % 8 * tp_dtype_bits(e->dtype) % 8 == 0;
}

enum tp_status
inspect_measure_raw(const struct inspect_results *x, const struct tp_entry *e,
    struct tp_stats *stats, struct tp_err *err)
{
	size_t chunk_nbytes = TP_STATS_CHUNK / 8 * tp_dtype_bits(e->dtype);
	uint64_t n_chunks =
	    e->n_elems / TP_STATS_CHUNK + (e->n_elems % TP_STATS_CHUNK != 0);
	size_t n_workers = x->buffer_size / chunk_nbytes;
	size_t n_results = n_chunks < WAVE ? (size_t)n_chunks : WAVE;
	struct job job = {.f = x->f,
	    .e = e,
	    .buffer = x->buffer,
	    .chunk_nbytes = chunk_nbytes};
	enum tp_status rc = TP_OK;

	if (n_workers > x->n_threads)
		n_workers = x->n_threads;
	if (n_workers > MAX_WORKERS)
		n_workers = MAX_WORKERS;
	job.chunks = tp_mem_array(NULL, n_results, sizeof(job.chunks[0]));
	if (!job.chunks)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for statistics");
	while (!rc && job.first_chunk < n_chunks) {
		uint64_t left = n_chunks - job.first_chunk;

		job.n_chunks = left < WAVE ? (size_t)left : WAVE;
		atomic_store(&job.next, 0);
		memset(job.chunks, 0, job.n_chunks * sizeof(job.chunks[0]));
		tp_parallel((unsigned)n_workers,
		    n_workers < job.n_chunks ? n_workers : job.n_chunks, work,
		    &job);
		rc = first_failure(&job, n_workers, err);
		for (size_t i = 0; !rc && i < job.n_chunks; i++)
			tp_stats_join(stats, &job.chunks[i]);
		job.first_chunk += job.n_chunks;
	}
	tp_mem_free(NULL, job.chunks, n_results, sizeof(job.chunks[0]));
	return rc;
}
