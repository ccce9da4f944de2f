/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_pass.c - all chunks of a tensor: measured, written, or both at once
 *
 *	stream of the entry -> chunk -> codes -> file
 *				  \---> what is lost
 *
 * Workers take turns at the stream and encode side by side. What depends on the
 * order of chunks is settled in it: sums of errors, so that they are the same
 * for any number of workers, codes that share a byte with the next, checksums.
 */
#include "quantize.h"

#include <math.h>
#include <string.h>

#include "tp/parallel.h"

#include "crc32c.h"
#include "stream_pour.h"
#include "write_behind.h"

#include "banned.h"

#define CHUNK ((size_t)TP_COMPARE_CHUNK)
#define MAX_WORKERS 16

/* Of a block: its scale and its zero point. */
#define KEPT_NBYTES (sizeof(float) + sizeof(int16_t))

struct tpi_pass {
	const struct tp_alloc *alloc;
	struct tpi_narrow *n;
	struct tp_quantized_item *item; /* NULL: nothing is measured */
	struct tpi_walk w;
	struct tpi_encoder encoders[MAX_WORKERS]; /* zeros if never needed */
	unsigned n_workers;
	/* Where the scales of chunks go, or NULL. */
	float *scale;
	int16_t *zero;
	/* Elements of a piece whose end is in a chunk to come. */
	size_t piece, filled; /* room, and how much of it */
	float *before, *after;
	/* Where codes go, if they go anywhere. */
	struct target {
		struct tp_stream *s; /* NULL: nothing is written */
		int fd;
		uint64_t offset;
	} to;
	struct tpi_pairing pairing;
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory to measure a tensor");
}

/*
 * ---- the steps of a chunk ----
 */

static enum tp_status
read_chunk(void *ctx, size_t i, uint64_t k, struct tp_err *err)
{
	struct tpi_pass *p = ctx;
	bool more;

	(void)k;
	return tpi_walk_read(&p->w, &p->encoders[i].c, &more, err);
}

/* Scales of channels are needed again, and perhaps those of blocks. */
static void
keep_scales(struct tpi_pass *p, const struct tpi_encoder *e)
{
	size_t n = (size_t)e->c.n_groups;

	memcpy(p->scale + e->c.first_group, e->fit.scale, n * sizeof(float));
	memcpy(p->zero + e->c.first_group, e->fit.zero, n * sizeof(int16_t));
}

static enum tp_status
make_codes(void *ctx, size_t i, uint64_t k, struct tp_err *err)
{
	struct tpi_pass *p = ctx;
	struct tpi_encoder *e = &p->encoders[i];
	enum tp_status rc = tpi_encode(e, err);

	(void)k;
	if (!rc && e->fits && p->scale)
		keep_scales(p, e);
	return rc;
}

static void
flush(struct tpi_pass *p)
{
	tp_compare_add_finite(&p->item->errors, p->after, p->before, p->filled);
	p->filled = 0;
}

/* Elements of a piece that does not lie in one chunk. */
static void
collect(struct tpi_pass *p, const float *before, const float *after, size_t n)
{
	if (n == 0)
		return;
	memcpy(p->before + p->filled, before, n * sizeof(float));
	memcpy(p->after + p->filled, after, n * sizeof(float));
	p->filled += n;
	if (p->filled == CHUNK)
		flush(p);
}

static void
settle_errors(struct tpi_pass *p, const struct tpi_encoder *e)
{
	const float *x = e->c.x;

	collect(p, x, e->head, e->n_head);
	for (size_t i = 0; i < e->n_wholes; i++)
		tp_compare_join(&p->item->errors, &e->wholes[i]);
	collect(p, x + e->c.n_elems - e->n_tail, e->tail, e->n_tail);
}

/* The bytes of the chunk that are whole now. */
static const uint8_t *
settle_bytes(struct tpi_pass *p, struct tpi_encoder *e)
{
	const struct tpi_narrow_chunk *c = &e->c;
	bool is_last = c->first + c->n_elems == p->n->e->n_elems;

	e->n_bytes = c->n_elems * e->size;
	if (!e->pairs)
		return e->codes;
	tpi_pair_codes(&p->pairing, (const int8_t *)e->codes, c->n_elems,
	    is_last, e->pairs, &e->n_bytes);
	return e->pairs;
}

static enum tp_status
settle(void *ctx, size_t i, uint64_t k, struct tp_err *err)
{
	struct tpi_pass *p = ctx;
	struct tpi_encoder *e = &p->encoders[i];

	(void)k;
	(void)err;
	if (p->item)
		settle_errors(p, e);
	if (p->to.s)
		e->bytes = settle_bytes(p, e);
	if (p->to.s && p->to.s->crc32c)
		*p->to.s->crc32c =
		    tpi_crc32c(*p->to.s->crc32c, e->bytes, e->n_bytes);
	return TP_OK;
}

static enum tp_status
write_bytes(void *ctx, size_t i, uint64_t k, size_t *n, struct tp_err *err)
{
	struct tpi_pass *p = ctx;
	const struct tpi_encoder *e = &p->encoders[i];
	uint64_t at = e->pairs ? e->c.first / 2 : e->c.first * e->size;

	(void)k;
	*n = e->n_bytes;
	return tpi_write_at(p->to.fd, p->to.offset + at, e->bytes, *n, err);
}

/*
 * ---- the whole ----
 */

/* Every worker has some chunks to do, and memory for them. */
static unsigned
count_workers(const struct tpi_pass *p, unsigned n_threads)
{
	uint64_t most = p->n->max_memory / 2 / tpi_encoder_nbytes(&p->w);
	uint64_t n =
	    n_threads || p->w.n_chunks < 4 ? n_threads : tp_cpu_count();

	n = n > MAX_WORKERS ? MAX_WORKERS : n;
	n = n > p->w.n_chunks / 2 ? p->w.n_chunks / 2 : n;
	n = n > most ? most : n;
	return n ? (unsigned)n : 1;
}

static void
release_pieces(struct tpi_pass *p)
{
	tp_mem_free(p->alloc, p->before, p->piece, sizeof(float));
	tp_mem_free(p->alloc, p->after, p->piece, sizeof(float));
}

/* Room for a piece that is collected; a small tensor is less than one. */
static bool
get_pieces(struct tpi_pass *p)
{
	uint64_t all = p->n->e->n_elems;
	size_t piece = all < CHUNK ? (size_t)all : CHUNK;

	if (p->before && p->after && p->piece >= piece)
		return true;
	release_pieces(p);
	p->piece = piece;
	p->before = tp_mem_array(p->alloc, piece, sizeof(float));
	p->after = tp_mem_array(p->alloc, piece, sizeof(float));
	return p->before && p->after;
}

static enum tp_status
open_pass(struct tpi_pass *p, unsigned n_threads, struct tp_err *err)
{
	bool by_row = p->item && tpi_narrow_by_row(p->n);
	enum tp_status rc = tpi_walk_open(&p->w, p->n, by_row, err);

	if (rc)
		return rc;
	if (p->item && !get_pieces(p))
		return no_memory(err);
	p->n_workers = count_workers(p, n_threads);
	for (unsigned i = 0; !rc && i < p->n_workers; i++)
		rc = tpi_encoder_init(
		    &p->encoders[i], &p->w, p->item != NULL, err);
	return rc;
}

void
tpi_pass_free(struct tpi_pass *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < MAX_WORKERS; i++)
		tpi_encoder_release(&p->encoders[i]);
	release_pieces(p);
	tp_mem_free(p->alloc, p, 1, sizeof(*p));
}

/* A new one, or that of the tensor before. */
static struct tpi_pass *
take_pass(struct tpi_narrow *n)
{
	struct tpi_pass *p = n->handed_on ? n->handed_on->pass : NULL;

	if (p)
		n->handed_on->pass = NULL;
	else
		p = tp_mem_array(n->alloc, 1, sizeof(*p));
	if (!p)
		return NULL;
	p->alloc = n->alloc;
	p->n = n;
	p->scale = NULL;
	p->zero = NULL;
	p->filled = 0;
	p->pairing = (struct tpi_pairing){.has_left = false};
	return p;
}

/* Buffers cost more than a small tensor: they stay for the next. */
static void
give_pass(struct tpi_pass *p, bool failed)
{
	struct tpi_handed_on *to = p->n->handed_on;

	tpi_walk_close(&p->w);
	if (to && !to->pass && !failed)
		to->pass = p;
	else
		tpi_pass_free(p);
}

static void
note_fit(struct tp_quantized_item *item, const struct tpi_fit *f)
{
	item->n_zero_groups += f->n_zero_groups;
	item->least_scale =
	    f->least < item->least_scale ? f->least : item->least_scale;
	item->most_scale =
	    f->most > item->most_scale ? f->most : item->most_scale;
}

/* What was found while codes were made; the sums are in the item already. */
static void
note(struct tpi_pass *p)
{
	struct tp_quantized_item *item = p->item;

	flush(p);
	for (unsigned i = 0; i < p->n_workers; i++) {
		const struct tpi_encoder *e = &p->encoders[i];

		item->n_saturated += e->n_saturated;
		if (e->fits)
			note_fit(item, &e->fit);
	}
	item->measured = true;
	p->n->later = NULL;
}

bool
tpi_narrow_keeps(const struct tpi_narrow *n)
{
	return n->groups.n_groups <= n->max_memory / 4 / KEPT_NBYTES;
}

/* Room for scales of blocks, in place of those that were kept last. */
static enum tp_status
keep_blocks(struct tpi_pass *p, struct tp_err *err)
{
	struct tpi_narrow *n = p->n, *old = n->handed_on->keeper;
	size_t n_groups = (size_t)n->groups.n_groups;
	enum tp_status rc;

	if (old) {
		tp_storage_unref(old->kept);
		old->kept = NULL;
	}
	n->handed_on->keeper = NULL;
	rc = tp_storage_new(n->alloc, n_groups * KEPT_NBYTES, &n->kept, err);
	if (rc)
		return rc;
	n->handed_on->keeper = n;
	p->scale = tp_storage_data_mut(n->kept);
	p->zero = (void *)(p->scale + n_groups);
	return TP_OK;
}

static enum tp_status
begin(struct tpi_pass *p, struct tp_err *err)
{
	struct tp_quantized_item *item = p->item;

	if (!item)
		return TP_OK;
	item->errors = (struct tp_compare){0};
	item->n_saturated = 0;
	if (p->encoders[0].fits) {
		item->n_zero_groups = 0;
		item->least_scale = INFINITY;
		item->most_scale = 0;
	}
	p->scale = p->n->scale;
	p->zero = p->n->zero;
	return p->n->later && tpi_narrow_by_chunk(p->n) &&
		       tpi_narrow_keeps(p->n)
		   ? keep_blocks(p, err)
		   : TP_OK;
}

static enum tp_status
run_pass(struct tpi_narrow *n, struct tp_quantized_item *item,
    unsigned n_threads, struct target to, bool *nonfinite, struct tp_err *err)
{
	struct tpi_pass *p = take_pass(n);
	enum tp_status rc;

	if (!p)
		return no_memory(err);
	p->item = item;
	p->to = to;
	rc = open_pass(p, n_threads, err);
	if (!rc)
		rc = begin(p, err);
	if (!rc)
		rc = tpi_pour(to.s,
		    &(struct tpi_pour){
			.n_chunks = p->w.n_chunks,
			.n_workers = p->n_workers,
			.ctx = p,
			.read = read_chunk,
			.make = make_codes,
			.settle = settle,
			.write = to.s ? write_bytes : NULL,
		    },
		    err);
	if (!rc && item)
		note(p);
	for (unsigned i = 0; i < p->n_workers; i++)
		*nonfinite |= p->encoders[i].nonfinite;
	give_pass(p, rc != TP_OK);
	return rc;
}

static const struct target nowhere;

static enum tp_status
fit_whole(struct tpi_narrow *n, struct tp_quantized_item *item, bool *nonfinite,
    struct tp_err *err)
{
	struct tpi_fit f;
	enum tp_status rc =
	    tpi_fit_open(&f, n, (size_t)n->groups.n_groups, err);

	if (rc)
		return rc;
	rc = tpi_fit_whole(&f, n, err);
	*nonfinite = f.nonfinite;
	item->least_scale = INFINITY;
	note_fit(item, &f);
	tpi_fit_close(&f);
	return rc;
}

enum tp_status
tpi_measure_later(struct tpi_narrow *n, struct tp_quantized_item *item,
    bool *nonfinite, struct tp_err *err)
{
	n->later = item;
	*nonfinite = false;
	item->n_groups = tpi_narrow_casts(n) ? 0 : n->groups.n_groups;
	if (tpi_narrow_casts(n) || tpi_narrow_by_chunk(n) ||
	    tpi_narrow_by_row(n))
		return TP_OK;
	return fit_whole(n, item, nonfinite, err);
}

enum tp_status
tpi_measure(struct tpi_narrow *n, struct tp_quantized_item *item,
    bool *nonfinite, struct tp_err *err)
{
	enum tp_status rc = tpi_measure_later(n, item, nonfinite, err);

	n->later = NULL;
	return rc ? rc : run_pass(n, item, 1, nowhere, nonfinite, err);
}

enum tp_status
tpi_measure_now(struct tpi_narrow *n, unsigned n_threads, struct tp_err *err)
{
	bool nonfinite = false;

	return n->later
		   ? run_pass(n, n->later, n_threads, nowhere, &nonfinite, err)
		   : TP_OK;
}

enum tp_status
tpi_pour_codes(struct tpi_narrow *n, unsigned n_threads, struct tp_stream *s,
    int fd, uint64_t offset, struct tp_err *err)
{
	bool nonfinite = false;

	return run_pass(n, n->later, n_threads, (struct target){s, fd, offset},
	    &nonfinite, err);
}
