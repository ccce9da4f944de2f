/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_values.c - the elements of two tensors
 *
 * Where the bytes of both lie plainly in their files, each thread takes a
 * chunk, reads it from both into memory that stays in its cache, and compares
 * it. Other bytes (compressed, strided, sparse, guarded by a checksum) come in
 * order from streams: both are read at the same time into larger pieces, whose
 * chunks the threads then share.
 *
 * First the bits are compared, up to the first difference; only tensors that
 * differ are read again for the figures.
 */
#include "diff.h"

#include <stdatomic.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/endian.h"
#include "tp/parallel.h"

#include "progress.h"

#define CHUNK ((size_t)TP_COMPARE_CHUNK)
#define MAX_WORKERS 16
#define WAVE 256 /* chunks between two joins */
/* A chunk of the widest dtype, c128. */
#define WIDEST (CHUNK * 16)

struct worker {
	uint8_t *in[2];
	uint8_t *real[2];
	double *scratch;
};

struct diff_buffers {
	struct worker workers[MAX_WORKERS];
	size_t n_workers;
	uint8_t *memory;
	size_t nbytes;
	struct tp_compare chunks[WAVE];
};

/* Bytes that a worker needs when elements have so many bytes. */
#define SHARE (2 * WIDEST)

bool
diff_engine_init(struct diff_engine *e)
{
	struct diff_buffers *b = tp_mem_array(NULL, 1, sizeof(*b));
	size_t n = e->n_threads;

	if (n > MAX_WORKERS)
		n = MAX_WORKERS;
	/* At least two shares: streams use them all as pieces. */
	if (n > e->max_memory / 2 / SHARE)
		n = (size_t)(e->max_memory / 2 / SHARE);
	if (n < 2)
		n = 2;
	e->buffers = b;
	if (!b)
		return false;
	b->n_workers = n;
	b->nbytes = n * SHARE;
	b->memory = tp_mem_array(NULL, b->nbytes, 1);
	return b->memory != NULL;
}

void
diff_engine_release(struct diff_engine *e)
{
	struct diff_buffers *b = e->buffers;

	if (!b)
		return;
	tp_mem_free(NULL, b->memory, b->nbytes, 1);
	for (size_t i = 0; i < MAX_WORKERS; i++) {
		for (int s = 0; s < 2; s++)
			tp_mem_free(
			    NULL, b->workers[i].real[s], CHUNK, sizeof(double));
		tp_mem_free(NULL, b->workers[i].scratch, CHUNK, sizeof(double));
	}
	tp_mem_free(NULL, b, 1, sizeof(*b));
}

/* One comparison of two sides. */
struct job {
	struct diff_engine *e;
	const struct diff_side *sides;
	const struct tp_entry *entries[2];
	enum tp_dtype stored[2];
	const struct tp_compare_rule *rule; /* NULL: only whether same */
	bool equal_nan;
	uint64_t n_elems;

	struct tp_stream *streams[2]; /* both NULL: read by chunks */
	uint8_t *pieces[2];
	size_t piece_elems;

	uint64_t first; /* element of the wave */
	size_t n;	/* in the wave */
	size_t n_workers;
	atomic_size_t next;
	atomic_bool differs;
	struct {
		size_t chunk;
		int side;
		struct tp_err err;
	} failed[MAX_WORKERS];
	struct tp_err read_err[2];
};

static size_t
bytes_of(enum tp_dtype dtype, size_t n)
{
	unsigned bits = tp_dtype_bits(dtype);

	return n / 8 * bits + (n % 8 * bits + 7) / 8;
}

/* True if chunks can be read by themselves. */
static bool
is_plain(const struct diff_side *side)
{
	const struct tp_entry *e = tp_reader_entry(side->r, side->entry);
	const struct tp_storage_info *s =
	    tp_reader_storage(side->r, e->storage);

	return s->encoding == TP_ENC_RAW && !s->has_crc32c && !e->strides &&
	       !e->sparse && !side->transposed &&
	       e->first % 8 * tp_dtype_bits(e->dtype) % 8 == 0;
}

/* Streams hold bytes as files do. */
static void
make_native(enum tp_dtype dtype, uint8_t *data, size_t n)
{
	size_t swap = tp_dtype_swap_size(dtype);

	if (!tp_host_is_little() && swap > 1)
		tp_swap_bytes(data, bytes_of(dtype, n) / swap, swap);
}

static enum tp_status
read_chunk(const struct job *job, int side, uint64_t first, size_t n,
    uint8_t *out, struct tp_err *err)
{
	const struct tp_entry *e = job->entries[side];
	unsigned bits = tp_dtype_bits(e->dtype);
	enum tp_status rc;

	rc = tp_reader_read_raw(job->sides[side].r, e->storage,
	    e->first / 8 * bits + e->first % 8 * bits / 8 + first / 8 * bits,
	    out, bytes_of(e->dtype, n), err);
	if (!rc)
		make_native(e->dtype, out, n);
	return rc;
}

/* The n elements from `first` on as they are compared. */
static const void *
prepare(const struct job *job, struct worker *w, int side, const void *in,
    uint64_t first, size_t n)
{
	const struct diff_side *s = &job->sides[side];

	if (!s->quant)
		return in;
	diff_quant_apply(
	    s->quant, s->dtype, w->real[side], in, first, n, w->scratch);
	return w->real[side];
}

static enum tp_status
compare_chunk(
    struct job *job, size_t worker, size_t chunk, int *side, struct tp_err *err)
{
	struct worker *w = &job->e->buffers->workers[worker];
	size_t at = chunk * CHUNK;
	size_t n = job->n - at < CHUNK ? job->n - at : CHUNK;
	uint64_t first = job->first + at;
	const void *data[2];

	for (int s = 0; s < 2; s++) {
		const uint8_t *in;

		*side = s;
		if (job->streams[0]) {
			in = job->pieces[s] + bytes_of(job->stored[s], at);
		} else {
			enum tp_status rc =
			    read_chunk(job, s, first, n, w->in[s], err);

			if (rc)
				return rc;
			in = w->in[s];
		}
		data[s] = prepare(job, w, s, in, first, n);
	}
	if (!job->streams[0])
		cli_progress_add(bytes_of(job->stored[0], n));
	if (!job->rule) {
		if (!tp_compare_same(job->sides[0].dtype, data[0], data[1], n,
			job->equal_nan))
			atomic_store(&job->differs, true);
		return TP_OK;
	}
	memset(&job->e->buffers->chunks[chunk], 0, sizeof(struct tp_compare));
	return tp_compare_add(&job->e->buffers->chunks[chunk], job->rule,
	    job->sides[0].dtype, data[0], job->sides[1].dtype, data[1], n, err);
}

/* A tp_part_fn: one worker, which takes chunks until none is left. */
static void
work(void *ctx, size_t worker)
{
	struct job *job = ctx;
	size_t n_chunks = (job->n + CHUNK - 1) / CHUNK, chunk;

	while ((chunk = atomic_fetch_add(&job->next, 1)) < n_chunks) {
		if (!job->rule && atomic_load(&job->differs))
			return;
		if (!compare_chunk(job, worker, chunk,
			&job->failed[worker].side, &job->failed[worker].err))
			continue;
		job->failed[worker].chunk = chunk;
		return;
	}
}

/* A tp_part_fn: the next piece of one side. */
static void
read_piece(void *ctx, size_t side)
{
	struct job *job = ctx;
	size_t nbytes = bytes_of(job->stored[side], job->n);

	if (!tp_stream_read(job->streams[side], job->pieces[side], nbytes,
		&job->read_err[side]))
		make_native(job->stored[side], job->pieces[side], job->n);
	if (side == 0)
		cli_progress_add(nbytes);
}

/* The error of the earliest chunk, whichever thread met it. */
static enum tp_status
first_failure(struct job *job, int *at_fault, struct tp_err *err)
{
	size_t first = SIZE_MAX;

	for (int s = 0; s < 2; s++)
		if (job->read_err[s].status) {
			*at_fault = s;
			*err = job->read_err[s];
			return err->status;
		}
	for (size_t i = 0; i < job->n_workers; i++)
		if (job->failed[i].err.status && job->failed[i].chunk < first) {
			first = job->failed[i].chunk;
			*at_fault = job->failed[i].side;
			*err = job->failed[i].err;
		}
	return first == SIZE_MAX ? TP_OK : err->status;
}

/* Room for what each worker reads and computes; false without memory. */
static bool
divide_memory(struct job *job)
{
	struct diff_buffers *b = job->e->buffers;
	size_t share[2] = {
	    bytes_of(job->stored[0], CHUNK), bytes_of(job->stored[1], CHUNK)};

	job->n_workers =
	    b->n_workers < job->e->n_threads ? b->n_workers : job->e->n_threads;
	for (size_t i = 0; i < job->n_workers; i++) {
		struct worker *w = &b->workers[i];

		w->in[0] = b->memory + i * (share[0] + share[1]);
		w->in[1] = w->in[0] + share[0];
		for (int s = 0; s < 2; s++) {
			if (!job->sides[s].quant)
				continue;
			if (!w->real[s])
				w->real[s] =
				    tp_mem_array(NULL, CHUNK, sizeof(double));
			if (!w->scratch)
				w->scratch =
				    tp_mem_array(NULL, CHUNK, sizeof(double));
			if (!w->real[s] || !w->scratch)
				return false;
		}
	}
	/* Pieces of whole chunks, as large as both fit. */
	job->piece_elems = b->nbytes / (share[0] + share[1]) * CHUNK;
	if (job->piece_elems > WAVE * CHUNK)
		job->piece_elems = WAVE * CHUNK;
	job->pieces[0] = b->memory;
	job->pieces[1] = b->memory + bytes_of(job->stored[0], job->piece_elems);
	return true;
}

static enum tp_status
open_stream(
    const struct diff_side *s, struct tp_stream **out, struct tp_err *err)
{
	const struct tp_entry *e = tp_reader_entry(s->r, s->entry);
	unsigned axes[64];

	if (!s->transposed)
		return tp_stream_entry(s->r, s->entry, out, err);
	for (unsigned d = 0; d < e->rank; d++)
		axes[d] = e->rank - 1 - d;
	return tp_stream_permuted(s->r, s->entry, axes, out, err);
}

static enum tp_status
run(struct job *job, struct tp_compare *out, int *at_fault, struct tp_err *err)
{
	bool streamed = job->streams[0] != NULL;
	unsigned n_threads = job->e->n_threads;
	size_t limit = streamed ? job->piece_elems : WAVE * CHUNK;
	enum tp_status rc = TP_OK;

	while (
	    !rc && job->first < job->n_elems && !atomic_load(&job->differs)) {
		uint64_t left = job->n_elems - job->first;
		size_t n_chunks;

		job->n = left < limit ? (size_t)left : limit;
		n_chunks = (job->n + CHUNK - 1) / CHUNK;
		/* One chunk is read sooner than a thread begins. */
		if (streamed)
			tp_parallel(
			    n_chunks > 1 ? n_threads : 1, 2, read_piece, job);
		atomic_store(&job->next, 0);
		if (!job->read_err[0].status && !job->read_err[1].status)
			tp_parallel(n_threads,
			    job->n_workers < n_chunks ? job->n_workers
						      : n_chunks,
			    work, job);
		rc = first_failure(job, at_fault, err);
		for (size_t i = 0; !rc && job->rule && i < n_chunks; i++)
			tp_compare_join(out, &job->e->buffers->chunks[i]);
		job->first += job->n;
	}
	return rc;
}

static enum tp_status
run_job(
    struct job *job, struct tp_compare *out, int *at_fault, struct tp_err *err)
{
	bool plain = is_plain(&job->sides[0]) && is_plain(&job->sides[1]);
	enum tp_status rc = TP_OK;

	for (int s = 0; s < 2; s++) {
		job->entries[s] =
		    tp_reader_entry(job->sides[s].r, job->sides[s].entry);
		job->stored[s] = job->entries[s]->dtype;
	}
	job->n_elems = job->entries[0]->n_elems;
	atomic_init(&job->next, 0);
	atomic_init(&job->differs, false);
	*at_fault = 0;
	if (!divide_memory(job))
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for numbers of a quantizer");
	for (int s = 0; !plain && !rc && s < 2; s++) {
		*at_fault = s;
		rc = open_stream(&job->sides[s], &job->streams[s], err);
	}
	if (!rc)
		rc = run(job, out, at_fault, err);
	tp_stream_close(job->streams[0]);
	tp_stream_close(job->streams[1]);
	return rc;
}

enum tp_status
diff_values_same(struct diff_engine *e, const struct diff_side sides[2],
    bool equal_nan, bool *same, int *at_fault, struct tp_err *err)
{
	struct job job = {.e = e, .sides = sides, .equal_nan = equal_nan};
	enum tp_status rc = run_job(&job, NULL, at_fault, err);

	*same = !rc && !atomic_load(&job.differs);
	return rc;
}

enum tp_status
diff_values_compare(struct diff_engine *e, const struct diff_side sides[2],
    const struct tp_compare_rule *rule, struct tp_compare *out, int *at_fault,
    struct tp_err *err)
{
	struct job job = {.e = e, .sides = sides, .rule = rule};

	*out = (struct tp_compare){0};
	return run_job(&job, out, at_fault, err);
}

enum tp_status
diff_strings_same(struct diff_engine *e, const struct diff_side sides[2],
    bool *same, int *at_fault, struct tp_err *err)
{
	struct tp_stream *s[2] = {NULL, NULL};
	uint8_t *buf[2] = {e->buffers->memory, e->buffers->memory + SHARE};
	enum tp_status rc = TP_OK;

	for (int i = 0; !rc && i < 2; i++) {
		*at_fault = i;
		rc = tp_stream_entry(sides[i].r, sides[i].entry, &s[i], err);
	}
	*same = !rc && tp_stream_left(s[0]) == tp_stream_left(s[1]);
	while (!rc && *same && tp_stream_left(s[0])) {
		uint64_t left = tp_stream_left(s[0]);
		size_t n = left < SHARE ? (size_t)left : SHARE;

		for (int i = 0; !rc && i < 2; i++) {
			*at_fault = i;
			rc = tp_stream_read(s[i], buf[i], n, err);
		}
		*same = !rc && !memcmp(buf[0], buf[1], n);
	}
	tp_stream_close(s[0]);
	tp_stream_close(s[1]);
	return rc;
}
