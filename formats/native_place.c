/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_place.c - where the bytes of a native file may lie, and reading them
 */
#include "native_read.h"

#include <inttypes.h>

#include "tp/checked.h"

#include "native_chunks.h"

#include "banned.h"

/* What one deflated piece may be: not longer than it, not too good either. */
static bool
chunk_is_possible(uint32_t stored, uint64_t nbytes)
{
	return stored > 0 && stored <= nbytes &&
	       nbytes <= (uint64_t)stored * TPI_DEFLATE_RATIO;
}

static enum tp_status
check_chunks(struct tp_reader *r, struct tpi_cursor *c,
    struct tpi_native_place *p, const char *label, size_t i, struct tp_err *err)
{
	const struct tpi_native_extent *x = &p->x;
	uint64_t at = tpi_cursor_at(c), left = x->nbytes, sum = 0;
	uint32_t *chunks;
	uint64_t *starts;

	if (x->chunk_nbytes < TPI_NATIVE_CHUNK_MIN ||
	    x->chunk_nbytes > TPI_NATIVE_CHUNK_MAX ||
	    (x->chunk_nbytes & (x->chunk_nbytes - 1)))
		return tp_fail(err, TP_EFORMAT, at,
		    "%s %zu: pieces of %" PRIu32
		    " bytes, expected a power of two from %" PRIu32
		    " to %" PRIu32,
		    label, i, x->chunk_nbytes, TPI_NATIVE_CHUNK_MIN,
		    TPI_NATIVE_CHUNK_MAX);
	if (!tpi_native_n_chunks(x->nbytes, x->chunk_nbytes, &p->n_chunks) ||
	    p->n_chunks > tpi_cursor_left(c) / 4)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s %zu: %" PRIu64 " bytes in pieces of %" PRIu32
		    ", but its record ends before their sizes",
		    label, i, x->nbytes, x->chunk_nbytes);
	chunks = tpi_arena_array(&r->arena, p->n_chunks, sizeof(*chunks));
	starts = tpi_arena_array(&r->arena, p->n_chunks, sizeof(*starts));
	if (!chunks || !starts)
		return tp_fail(err, TP_ENOMEM, at,
		    "no memory for the sizes of %zu pieces", p->n_chunks);
	for (size_t k = 0; k < p->n_chunks; k++) {
		uint64_t n = left < x->chunk_nbytes ? left : x->chunk_nbytes;

		if (!tpi_cursor_u32(c, &chunks[k]) ||
		    !chunk_is_possible(chunks[k], n))
			return tp_fail(err, TP_EFORMAT, at,
			    "%s %zu: piece %zu of %" PRIu64
			    " bytes cannot be stored in %" PRIu32,
			    label, i, k, n, chunks[k]);
		left -= n;
		starts[k] = x->offset + sum;
		sum += chunks[k]; /* at most nbytes: each is at most n */
	}
	if (sum != x->stored_nbytes)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s %zu: its pieces take %" PRIu64
		    " bytes, but its record says %" PRIu64,
		    label, i, sum, x->stored_nbytes);
	p->chunks = chunks;
	p->starts = starts;
	return TP_OK;
}

/* Behind the place before, aligned, without a hole, before the directory. */
static enum tp_status
check_offset(struct tpi_native_reader *n, const struct tpi_native_extent *x,
    uint64_t at, const char *label, size_t i, struct tp_err *err)
{
	uint64_t end;

	if (x->offset % n->align)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s %zu: offset %" PRIu64
		    " is not a multiple of the alignment %" PRIu32,
		    label, i, x->offset, n->align);
	if (x->offset < n->end)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s %zu: offset %" PRIu64 " lies before %" PRIu64
		    ", where what precedes it ends",
		    label, i, x->offset, n->end);
	if (x->offset - n->end >= n->align)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s %zu: offset %" PRIu64 " leaves %" PRIu64
		    " bytes unused, expected less than %" PRIu32,
		    label, i, x->offset, x->offset - n->end, n->align);
	if (tp_add_u64(x->offset, x->stored_nbytes, &end) ||
	    end > n->dir_offset)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s %zu: %" PRIu64 " bytes at %" PRIu64
		    " pass the directory at %" PRIu64,
		    label, i, x->stored_nbytes, x->offset, n->dir_offset);
	n->end = end;
	return TP_OK;
}

enum tp_status
tpi_native_check_place(struct tp_reader *r, struct tpi_native_reader *n,
    struct tpi_cursor *c, struct tpi_native_place *place, const char *label,
    size_t i, struct tp_err *err)
{
	const struct tpi_native_extent *x = &place->x;
	uint64_t at = tpi_cursor_at(c);
	enum tp_status rc;

	place->chunks = NULL;
	place->starts = NULL;
	place->n_chunks = 0;
	if (x->encoding != TPI_NATIVE_RAW && x->encoding != TPI_NATIVE_ZLIB)
		return tp_fail(err, TP_EUNSUPPORTED, at,
		    "%s %zu: encoding %" PRIu32
		    ", only 0 (raw) and 1 (zlib) are known",
		    label, i, x->encoding);
	rc = check_offset(n, x, at, label, i, err);
	if (rc)
		return rc;
	if (x->encoding == TPI_NATIVE_ZLIB)
		return check_chunks(r, c, place, label, i, err);
	if (x->stored_nbytes != x->nbytes || x->chunk_nbytes != 0)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s %zu: %" PRIu64 " raw bytes stored in %" PRIu64
		    ", pieces of %" PRIu32 "; expected %" PRIu64 " and 0",
		    label, i, x->nbytes, x->stored_nbytes, x->chunk_nbytes,
		    x->nbytes);
	return TP_OK;
}

/*
 * A window of the file, so that the gaps between many small tensors do not cost
 * a system call each, and those between large ones no more than themselves.
 */
#define WINDOW ((size_t)64 << 10)
#define NEAR ((size_t)16 << 10)

struct window {
	const struct tpi_source *src;
	uint64_t offset; /* n bytes of src from here */
	size_t n;
	uint8_t *bytes;
};

/* The n < WINDOW bytes at offset, through w. */
static enum tp_status
look_at(struct window *w, uint64_t offset, size_t n, const uint8_t **out,
    struct tp_err *err)
{
	uint64_t end = w->offset + w->n, left = w->src->size - offset;
	bool is_near = offset < end + NEAR;
	size_t want = is_near && left > n ? WINDOW : n;
	enum tp_status rc;

	if (offset + n > end) {
		if (want > left)
			want = (size_t)left;
		w->n = 0;
		rc = tpi_source_read(w->src, offset, w->bytes, want, err);
		if (rc)
			return rc;
		w->offset = offset;
		w->n = want;
	}
	*out = w->bytes + (offset - w->offset);
	return TP_OK;
}

/* All zero from one offset up to another, less than an alignment further. */
static enum tp_status
check_zeros(struct window *w, uint64_t from, uint64_t to, struct tp_err *err)
{
	const uint8_t *p = NULL;
	size_t n = (size_t)(to - from);
	enum tp_status rc = n ? look_at(w, from, n, &p, err) : TP_OK;

	for (size_t i = 0; i < n && !rc; i++)
		if (p[i])
			rc = tp_fail(err, TP_EFORMAT, from + i,
			    "padding holds %u, expected 0", p[i]);
	return rc;
}

enum tp_status
tpi_native_check_padding(
    struct tp_reader *r, const struct tpi_native_reader *n, struct tp_err *err)
{
	struct window w = {
	    .src = r->sources[0], .bytes = tp_mem_array(r->alloc, WINDOW, 1)};
	uint64_t end = TPI_NATIVE_HEADER_SIZE;
	size_t n_places;
	enum tp_status rc = TP_OK;

	if (!w.bytes)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a window");
	n_places = r->n_storages + r->n_attachments;
	for (size_t i = 0; i < n_places && !rc; i++) {
		const struct tpi_native_extent *x =
		    i < r->n_storages ? &n->storages[i].x
				      : &n->attachments[i - r->n_storages].x;

		rc = check_zeros(&w, end, x->offset, err);
		end = x->offset + x->stored_nbytes;
	}
	if (!rc)
		rc = check_zeros(&w, end, n->dir_offset, err);
	tp_mem_free(r->alloc, w.bytes, WINDOW, 1);
	return rc;
}

enum tp_status
tpi_native_place_stream(struct tp_reader *r,
    const struct tpi_native_place *place, struct tp_str what,
    struct tp_stream **out, struct tp_err *err)
{
	const struct tpi_native_extent *x = &place->x;
	bool check = !(r->flags & TP_OPEN_NO_CHECKSUM);

	if (x->encoding == TPI_NATIVE_ZLIB)
		return tpi_inflate_stream(
		    r->alloc, r->sources[0], place, check, what, out, err);
	return tpi_stream_raw(r->alloc, r->sources[0], x->offset,
	    x->stored_nbytes, check, x->crc32c, what, out, err);
}
