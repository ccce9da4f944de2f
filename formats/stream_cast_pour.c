/* SPDX-License-Identifier: Apache-2.0 */
/* stream_cast_pour.c - chunks converted and written on the same thread */
#include "stream_cast_parts.h"

#include "crc32c.h"
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
convert_chunk(void *ctx, size_t i, uint64_t k, struct tp_err *err)
{
	struct target *t = ctx;
	struct tpi_cast_slot *slot = &t->c->slots[i];

	tpi_cast_convert_chunk(t->c, k, t->c->workers[i].raw, slot);
	if (slot->status)
		*err = slot->err;
	return slot->status;
}

/* Only a checksum depends on the order. */
static enum tp_status
settle_chunk(void *ctx, size_t i, uint64_t k, struct tp_err *err)
{
	struct target *t = ctx;
	const struct tpi_cast_slot *slot = &t->c->slots[i];

	(void)k;
	(void)err;
	*t->c->s.crc32c = tpi_crc32c(*t->c->s.crc32c, slot->data, slot->nbytes);
	return TP_OK;
}

static enum tp_status
write_chunk(void *ctx, size_t i, uint64_t k, size_t *n, struct tp_err *err)
{
	struct target *t = ctx;
	struct tpi_cast_stream *c = t->c;
	const struct tpi_cast_slot *slot = &c->slots[i];

	if (c->stats) {
		pthread_mutex_lock(&c->lock);
		tp_cast_stats_merge(c->stats, &slot->stats);
		pthread_mutex_unlock(&c->lock);
	}
	*n = slot->nbytes;
	return tpi_write_at(t->fd, t->offset + tpi_cast_chunk_offset(c, k),
	    slot->data, slot->nbytes, err);
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
		.make = convert_chunk,
		.settle = s->crc32c ? settle_chunk : NULL,
		.write = write_chunk,
	    },
	    err);
}
