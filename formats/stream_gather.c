/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_gather.c - elements in another order than they lie
 *
 * The storage is mapped and the elements are picked up from it. Pages that were
 * touched are given back again and again, so that a walk across a large storage
 * does not keep it in memory.
 */
#include "stream_entry.h"

#include <string.h>

#include "tp/copy.h"
#include "tp/shape.h"

#include "banned.h"

/* Whole elements of every dtype fit: lengths of 1, 2, … 16 bytes, and 3. */
#define BUFFER_BYTES ((size_t)192 << 10)
#define DROP_BYTES ((uint64_t)8 << 20)

struct gather_stream {
	struct tp_stream base;
	const struct tp_alloc *alloc;
	struct tpi_window window;
	struct tp_strided from;
	int64_t sizes[TP_MAX_RANK], strides[TP_MAX_RANK];
	uint64_t next; /* element that the buffer will begin with next */
	uint64_t n_elems;
	uint64_t undropped; /* bytes gathered since pages were given back */
	size_t at, filled;  /* what is left in the buffer */
	uint8_t buf[BUFFER_BYTES];
};

/* The next elements, a multiple of eight of them, into the buffer. */
static void
refill(struct gather_stream *s)
{
	size_t bits = tp_dtype_bits(s->from.dtype);
	uint64_t n = BUFFER_BYTES * 8 / bits / 8 * 8;

	if (n > s->n_elems - s->next)
		n = s->n_elems - s->next;
	tp_gather(&s->from, s->next, (size_t)n, s->buf);
	s->next += n;
	s->at = 0;
	s->filled = ((size_t)n * bits + 7) / 8;
	s->undropped += s->filled;
	if (s->undropped >= DROP_BYTES) {
		tpi_window_drop(&s->window);
		s->undropped = 0;
	}
}

static enum tp_status
gather_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct gather_stream *s = (struct gather_stream *)base;
	uint8_t *out = buf;

	(void)err;
	while (n > 0) {
		size_t part;

		if (s->at == s->filled)
			refill(s);
		part = s->filled - s->at < n ? s->filled - s->at : n;
		memcpy(out, s->buf + s->at, part);
		s->at += part;
		out += part;
		n -= part;
	}
	return TP_OK;
}

static void
gather_close(struct tp_stream *base)
{
	struct gather_stream *s = (struct gather_stream *)base;

	tpi_window_close(&s->window);
	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

enum tp_status
tpi_stream_gather(struct tp_reader *r, const struct tp_entry *e,
    struct tp_stream **out, struct tp_err *err)
{
	struct gather_stream *s = tp_mem_array(r->alloc, 1, sizeof(*s));
	enum tp_status rc;

	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a stream");
	rc = tpi_window_open(r, e->storage, e->name, &s->window, err);
	if (rc) {
		tp_mem_free(r->alloc, s, 1, sizeof(*s));
		return rc;
	}
	s->base = (struct tp_stream){
	    .nbytes = e->nbytes,
	    .read = gather_read,
	    .close = gather_close,
	};
	s->alloc = r->alloc;
	s->n_elems = e->n_elems;
	if (e->rank)
		memcpy(s->sizes, e->shape, e->rank * sizeof(*s->sizes));
	if (e->strides)
		memcpy(s->strides, e->strides, e->rank * sizeof(*s->strides));
	else
		tp_shape_strides(e->shape, e->rank, s->strides);
	s->from = (struct tp_strided){
	    .dtype = e->dtype,
	    .rank = e->rank,
	    .sizes = s->sizes,
	    .strides = s->strides,
	    .first = e->first,
	    .base = s->window.data,
	};
	*out = &s->base;
	return TP_OK;
}
