/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_cast_ring.c - read, convert and hand out at the same time
 *
 *	inner stream -> worker's raw buffer -> slot -> whoever reads
 *
 * Workers convert each chunk into its slot of the ring; the reader empties the
 * slots in order. A chunk's failure waits in its slot, so the reader meets the
 * failure of the earliest chunk whatever the timing was. With one thread, or
 * little to do, the reader does a worker's job itself.
 */
#include "stream_cast_parts.h"

#include <string.h>

#include "banned.h"

static struct tpi_cast_slot *
slot_of(struct tpi_cast_stream *c, uint64_t k)
{
	return &c->slots[k % c->n_slots];
}

/*
 * Take the turn, wait for the next chunk's slot to be empty, read the chunk.
 * False when there is nothing left to do.
 */
static bool
take_chunk(struct tpi_cast_stream *c, uint8_t *raw, uint64_t *k)
{
	bool more;

	pthread_mutex_lock(&c->turn);
	pthread_mutex_lock(&c->lock);
	while (!c->stop && c->next_in < c->n_chunks &&
	       c->next_in - c->next_out >= c->n_slots)
		pthread_cond_wait(&c->emptied, &c->lock);
	more = !c->stop && c->next_in < c->n_chunks;
	*k = c->next_in;
	if (more)
		c->next_in++;
	pthread_mutex_unlock(&c->lock);

	if (more)
		tpi_cast_read_chunk(c, *k, raw, slot_of(c, *k));
	if (more && slot_of(c, *k)->status) {
		pthread_mutex_lock(&c->lock);
		c->next_in = c->n_chunks;
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&c->turn);
	return more;
}

static void *
work(void *arg)
{
	struct tpi_cast_worker *w = arg;
	struct tpi_cast_stream *c = w->c;
	uint64_t k;

	while (take_chunk(c, w->raw, &k)) {
		struct tpi_cast_slot *slot = slot_of(c, k);

		if (!slot->status)
			tpi_cast_convert_chunk(c, k, w->raw, slot);
		pthread_mutex_lock(&c->lock);
		slot->full = true;
		pthread_cond_signal(&c->filled);
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

/* Give the slot that was handed out back to the workers. */
static void
leave_slot(struct tpi_cast_stream *c)
{
	pthread_mutex_lock(&c->lock);
	slot_of(c, c->next_out)->full = false;
	c->next_out++;
	pthread_cond_signal(&c->emptied);
	pthread_mutex_unlock(&c->lock);
	c->out_pos = 0;
	c->lent = false;
}

/* The slot of the chunk that is to be handed out, full. */
static struct tpi_cast_slot *
await_slot(struct tpi_cast_stream *c)
{
	uint8_t *raw = c->workers[0].raw;
	struct tpi_cast_slot *slot;

	if (c->lent)
		leave_slot(c);
	slot = slot_of(c, c->next_out);
	if (c->n_started) {
		pthread_mutex_lock(&c->lock);
		while (!slot->full)
			pthread_cond_wait(&c->filled, &c->lock);
		pthread_mutex_unlock(&c->lock);
	} else if (!slot->full) {
		tpi_cast_read_chunk(c, c->next_out, raw, slot);
		if (!slot->status)
			tpi_cast_convert_chunk(c, c->next_out, raw, slot);
		slot->full = true;
	}
	return slot;
}

/* n more bytes of the slot are handed out. */
static void
hand_out(struct tpi_cast_stream *c, const struct tpi_cast_slot *slot, size_t n)
{
	c->out_pos += n;
	c->lent = c->out_pos == slot->nbytes;
	if (c->lent && c->stats)
		tp_cast_stats_merge(c->stats, &slot->stats);
}

static void
start_workers(struct tpi_cast_stream *c)
{
	if (!tpi_cast_is_threaded(c))
		return;
	while (c->n_started < c->n_workers &&
	       !pthread_create(&c->workers[c->n_started].thread, NULL, work,
		   &c->workers[c->n_started]))
		c->n_started++;
}

/* The slot with the next bytes, or the failure that is there instead. */
static enum tp_status
next_slot(
    struct tpi_cast_stream *c, struct tpi_cast_slot **slot, struct tp_err *err)
{
	if (c->s.pos == 0 && c->n_started == 0)
		start_workers(c);
	*slot = await_slot(c);
	if ((*slot)->status && err)
		*err = (*slot)->err;
	return (*slot)->status;
}

enum tp_status
tpi_cast_ring_take(
    struct tp_stream *s, const void **p, size_t *n, struct tp_err *err)
{
	struct tpi_cast_stream *c = (struct tpi_cast_stream *)s;
	struct tpi_cast_slot *slot;
	enum tp_status rc = next_slot(c, &slot, err);

	if (rc)
		return rc;
	*p = slot->data + c->out_pos;
	*n = slot->nbytes - c->out_pos;
	hand_out(c, slot, *n);
	return TP_OK;
}

enum tp_status
tpi_cast_ring_read(struct tp_stream *s, void *buf, size_t n, struct tp_err *err)
{
	struct tpi_cast_stream *c = (struct tpi_cast_stream *)s;
	uint8_t *to = buf;

	while (n > 0) {
		struct tpi_cast_slot *slot;
		enum tp_status rc = next_slot(c, &slot, err);
		size_t part;

		if (rc)
			return rc;
		part = slot->nbytes - c->out_pos;
		if (part > n)
			part = n;
		memcpy(to, slot->data + c->out_pos, part);
		to += part;
		n -= part;
		hand_out(c, slot, part);
	}
	return TP_OK;
}

void
tpi_cast_ring_stop(struct tpi_cast_stream *c)
{
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_broadcast(&c->emptied);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->n_started; i++)
		pthread_join(c->workers[i].thread, NULL);
}
