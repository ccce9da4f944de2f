/* SPDX-License-Identifier: Apache-2.0 */
/* stream_cast_pour.c - chunks converted and written on the same thread */
#include "stream_cast_parts.h"

#include "stream_pour.h"
#include "write_behind.h"

#include "banned.h"

struct target {
	struct tpi_cast_stream *c;
	int fd;
	uint64_t offset;
};

static enum tp_status
read_chunk(void *ctx, size_t i, uint64_t k, struct tp_err *err)
{
	struct target *t = ctx;
	struct tpi_cast_slot *slot = &t->c->slots[i];

	tpi_cast_read_chunk(t->c, k, t->c->workers[i].raw, slot);
	if (slot->status)
		*err = slot->err;
	return slot->status;
}

static enum tp_status
write_chunk(void *ctx, size_t i, uint64_t k, size_t *n, struct tp_err *err)
{
	struct target *t = ctx;
	struct tpi_cast_stream *c = t->c;
	struct tpi_cast_slot *slot = &c->slots[i];
	enum tp_status rc;

	tpi_cast_convert_chunk(c, k, c->workers[i].raw, slot);
	if (slot->status) {
		*err = slot->err;
		return slot->status;
	}
	rc = tpi_write_at(t->fd, t->offset + tpi_cast_chunk_offset(c, k),
	    slot->data, slot->nbytes, err);
	if (rc)
		return rc;
	*n = slot->nbytes;
	if (c->stats) {
		pthread_mutex_lock(&c->lock);
		tp_cast_stats_merge(c->stats, &slot->stats);
		pthread_mutex_unlock(&c->lock);
	}
	return TP_OK;
}

enum tp_status
tpi_cast_pour(struct tp_stream *s, int fd, uint64_t offset, struct tp_err *err)
{
	struct tpi_cast_stream *c = (struct tpi_cast_stream *)s;
	struct target target = {.c = c, .fd = fd, .offset = offset};

	return tpi_pour(s,
	    &(struct tpi_pour){
		.n_chunks = c->n_chunks,
		.n_workers = tpi_cast_is_threaded(c) ? c->n_workers : 1,
		.ctx = &target,
		.read = read_chunk,
		.write = write_chunk,
	    },
	    err);
}
