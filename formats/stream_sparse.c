/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_sparse.c - the dense form of a sparse entry, in one pass
 *
 * Indices ascend, so values and indices are read side by side and each chunk of
 * output is zeros with the values that fall into it.
 */
#include "stream_entry.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"
#include "tp/shape.h"

#include "banned.h"

struct sparse_stream {
	struct tp_stream base;
	const struct tp_alloc *alloc;
	const struct tp_entry *entry;
	struct tp_stream *values, *indices;
	unsigned bits;
	uint64_t n_left; /* values not fetched yet */
	bool have_next;
	uint64_t next; /* element of the value that was fetched */
	uint8_t value[16];
	uint8_t packed; /* the byte that sub-byte values are taken from */
	uint64_t n_fetched;
};

/* The row-major element number of the next index. */
static enum tp_status
next_index(struct sparse_stream *s, uint64_t *element, struct tp_err *err)
{
	const struct tp_entry *e = s->entry;
	unsigned n = e->sparse->coordinates ? e->rank : 1;
	uint64_t at = 0;

	for (unsigned d = 0; d < n; d++) {
		uint64_t limit =
		    e->sparse->coordinates ? (uint64_t)e->shape[d] : e->n_elems;
		uint8_t raw[8];
		int64_t i;
		enum tp_status rc =
		    tp_stream_read(s->indices, raw, sizeof(raw), err);

		if (rc)
			return rc;
		i = (int64_t)tp_le64(raw);
		if (i < 0 || (uint64_t)i >= limit)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "tensor '%s': sparse index %" PRId64
			    " outside 0..%" PRIu64,
			    TP_BRIEF(e->name), i, limit - 1);
		/* Below n_elems at every step, which fits. */
		at = at * limit + (uint64_t)i;
	}
	*element = at;
	return TP_OK;
}

static enum tp_status
next_value(struct sparse_stream *s, struct tp_err *err)
{
	unsigned bit;
	enum tp_status rc = TP_OK;

	if (s->bits >= 8)
		return tp_stream_read(s->values, s->value, s->bits / 8, err);

	/* 2 and 4 bits never cross a byte; 6 bits may take from two. */
	bit = (unsigned)(s->n_fetched * s->bits % 8);
	if (bit == 0)
		rc = tp_stream_read(s->values, &s->packed, 1, err);
	if (rc)
		return rc;
	s->value[0] = (uint8_t)(s->packed >> bit);
	if (bit + s->bits > 8) {
		rc = tp_stream_read(s->values, &s->packed, 1, err);
		if (rc)
			return rc;
		s->value[0] |= (uint8_t)(s->packed << (8 - bit));
	}
	s->value[0] &= (uint8_t)((1u << s->bits) - 1);
	return TP_OK;
}

static enum tp_status
fetch(struct sparse_stream *s, struct tp_err *err)
{
	uint64_t element = 0;
	enum tp_status rc = next_index(s, &element, err);

	if (rc)
		return rc;
	if (s->n_fetched > 0 && element <= s->next)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': sparse indices do not ascend: %" PRIu64
		    " after %" PRIu64,
		    TP_BRIEF(s->entry->name), element, s->next);
	rc = next_value(s, err);
	if (rc)
		return rc;
	s->next = element;
	s->have_next = true;
	s->n_fetched++;
	s->n_left--;
	return TP_OK;
}

/* Put the bits of the value that fall into the n bytes from byte `from` on. */
static void
place(const struct sparse_stream *s, uint8_t *buf, uint64_t from, size_t n)
{
	uint64_t bit = s->next * s->bits;

	if (s->bits < 8) {
		uint64_t byte = bit / 8;
		unsigned wide = (unsigned)s->value[0] << bit % 8;

		if (byte >= from && byte - from < n)
			buf[byte - from] |= (uint8_t)wide;
		if (wide >> 8 && byte + 1 >= from && byte + 1 - from < n)
			buf[byte + 1 - from] |= (uint8_t)(wide >> 8);
		return;
	}
	for (unsigned k = 0; k < s->bits / 8; k++) {
		uint64_t byte = bit / 8 + k;

		if (byte >= from && byte - from < n)
			buf[byte - from] = s->value[k];
	}
}

static enum tp_status
sparse_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct sparse_stream *s = (struct sparse_stream *)base;
	uint64_t from = base->pos, end = from + n;

	memset(buf, 0, n);
	for (;;) {
		enum tp_status rc;

		if (!s->have_next) {
			if (s->n_left == 0)
				return TP_OK;
			rc = fetch(s, err);
			if (rc)
				return rc;
		}
		if (s->next * s->bits / 8 >= end)
			return TP_OK;
		place(s, buf, from, n);
		/*
		 * A value that goes on behind this chunk is kept for the next.
		 */
		if ((s->next * s->bits + s->bits + 7) / 8 > end)
			return TP_OK;
		s->have_next = false;
	}
}

static void
sparse_close(struct tp_stream *base)
{
	struct sparse_stream *s = (struct sparse_stream *)base;

	tp_stream_close(s->values);
	tp_stream_close(s->indices);
	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

enum tp_status
tpi_stream_sparse(struct tp_reader *r, const struct tp_entry *e,
    struct tp_stream **out, struct tp_err *err)
{
	struct sparse_stream *s = tp_mem_array(r->alloc, 1, sizeof(*s));
	enum tp_status rc;
	uint64_t n_bits;

	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a stream");
	s->base = (struct tp_stream){
	    .nbytes = e->nbytes,
	    .read = sparse_read,
	    .close = sparse_close,
	};
	s->alloc = r->alloc;
	s->entry = e;
	s->bits = tp_dtype_bits(e->dtype);
	s->n_left = e->sparse->n_values;
	if (tp_mul_u64(e->n_elems, s->bits, &n_bits)) {
		sparse_close(&s->base);
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " elements are too many to expand",
		    TP_BRIEF(e->name), e->n_elems);
	}
	rc = tpi_stream_storage_of(r, e->storage, e->name, &s->values, err);
	if (!rc)
		rc = tpi_stream_storage_of(
		    r, e->sparse->indices, e->name, &s->indices, err);
	if (rc) {
		sparse_close(&s->base);
		return rc;
	}
	*out = &s->base;
	return TP_OK;
}
