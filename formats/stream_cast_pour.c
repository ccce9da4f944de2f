/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_cast_pour.c - read, convert and write on the same thread, several such
 *
 *	inner stream -> worker's raw buffer -> worker's slot -> file
 *
 * Where a chunk goes is known before it is converted, so whoever converted it
 * writes it, while it is in that processor's cache, and waits for nobody.
 * Chunks are begun in order, so all before one that fails are done in the end:
 * the failure of the earliest chunk is told whatever the timing was.
 */
#include "stream_cast_parts.h"

#include "tp/parallel.h"

#include "write_behind.h"

#include "banned.h"

struct pour {
	struct tpi_cast_stream *c;
	int fd;
	uint64_t offset;
	pthread_t caller; /* the only thread that ticks */

	/* ---- guarded by c->lock ---- */
	uint64_t n_untold; /* bytes written that the stream was not moved by */
	uint64_t failed;   /* the earliest chunk that failed, and how */
	enum tp_status status;
	struct tp_err err;
};

/* Begin no more chunks, because of chunk k. The lock is the caller's. */
static void
give_up(
    struct pour *p, uint64_t k, enum tp_status status, const struct tp_err *err)
{
	p->c->next_in = p->c->n_chunks;
	if (p->status && p->failed < k)
		return;
	p->failed = k;
	p->status = status;
	p->err = *err;
}

/* Take the turn and read the next chunk; false: there is none. */
static bool
begin_chunk(struct pour *p, size_t i, uint64_t *k)
{
	struct tpi_cast_stream *c = p->c;
	bool more;

	pthread_mutex_lock(&c->turn);
	pthread_mutex_lock(&c->lock);
	*k = c->next_in;
	more = *k < c->n_chunks;
	if (more)
		c->next_in++;
	pthread_mutex_unlock(&c->lock);
	if (more)
		tpi_cast_read_chunk(c, *k, c->workers[i].raw, &c->slots[i]);
	pthread_mutex_unlock(&c->turn);
	return more;
}

/* Convert chunk k, read by worker i, and write it. */
static void
move_chunk(struct pour *p, size_t i, uint64_t k)
{
	struct tpi_cast_stream *c = p->c;
	struct tpi_cast_slot *slot = &c->slots[i];

	if (!slot->status)
		tpi_cast_convert_chunk(c, k, c->workers[i].raw, slot);
	if (!slot->status)
		slot->status =
		    tpi_write_at(p->fd, p->offset + tpi_cast_chunk_offset(c, k),
			slot->data, slot->nbytes, &slot->err);
}

/* Move the stream by what was written since this was done last. */
static void
tell(struct pour *p, uint64_t k)
{
	struct tpi_cast_stream *c = p->c;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;
	uint64_t n;

	pthread_mutex_lock(&c->lock);
	n = p->n_untold;
	p->n_untold = 0;
	pthread_mutex_unlock(&c->lock);
	rc = tpi_stream_moved(&c->s, n, &err);
	if (!rc)
		return;
	pthread_mutex_lock(&c->lock);
	give_up(p, k, rc, &err);
	pthread_mutex_unlock(&c->lock);
}

/* What became of chunk k. */
static void
settle_chunk(struct pour *p, const struct tpi_cast_slot *slot, uint64_t k)
{
	struct tpi_cast_stream *c = p->c;

	pthread_mutex_lock(&c->lock);
	if (slot->status) {
		give_up(p, k, slot->status, &slot->err);
	} else {
		p->n_untold += slot->nbytes;
		if (c->stats)
			tp_cast_stats_merge(c->stats, &slot->stats);
	}
	pthread_mutex_unlock(&c->lock);
	if (pthread_equal(p->caller, pthread_self()))
		tell(p, k);
}

static void
pour_chunks(void *ctx, size_t i)
{
	struct pour *p = ctx;
	uint64_t k;

	while (begin_chunk(p, i, &k)) {
		move_chunk(p, i, k);
		settle_chunk(p, &p->c->slots[i], k);
	}
}

enum tp_status
tpi_cast_pour(struct tp_stream *s, int fd, uint64_t offset, struct tp_err *err)
{
	struct tpi_cast_stream *c = (struct tpi_cast_stream *)s;
	struct pour p = {
	    .c = c,
	    .fd = fd,
	    .offset = offset,
	    .caller = pthread_self(),
	    .err = TP_ERR_INIT,
	};
	unsigned n = tpi_cast_is_threaded(c) ? c->n_workers : 1;

	tp_parallel(n, n, pour_chunks, &p);
	if (!p.status)
		tell(&p, c->n_chunks);
	if (p.status && err)
		*err = p.err;
	return p.status;
}
