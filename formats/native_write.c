/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_write.c - lay out and write a native file
 *
 * The directory comes last, when checksums and deflated sizes are known; then
 * the header, which was left empty, is filled in. So every byte is written
 * once, in order, but for those 64.
 */
#include "native_write.h"

#include <inttypes.h>

#include "tp/checked.h"

#include "crc32c.h"

#include "banned.h"

static enum tp_status
out_of_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory to write a native file");
}

/*
 * ---- plan ----
 */

/* The size of place i (storages, then attachments), and room for its pieces. */
static enum tp_status
plan_place(struct tp_writer *w, size_t i, struct tpi_native_place *p,
    uint64_t nbytes, struct tp_err *err)
{
	struct tpi_native_writer *n = w->priv;
	size_t n_chunks;

	p->x.nbytes = nbytes;
	if (!n->deflater)
		return TP_OK;
	if (!tpi_native_n_chunks(nbytes, TPI_NATIVE_CHUNK, &n_chunks) ||
	    n_chunks > UINT32_MAX / 8)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "storage of %" PRIu64 " bytes is too large to compress",
		    nbytes);
	n->chunks[i] =
	    tpi_arena_array(&w->arena, n_chunks, sizeof(**n->chunks));
	return n->chunks[i] ? TP_OK : out_of_memory(err);
}

static enum tp_status
plan_places(struct tp_writer *w, struct tp_err *err)
{
	const struct tp_model *m = w->model;
	struct tpi_native_writer *n = w->priv;
	enum tp_status rc = TP_OK;
	size_t n_places;

	if (tp_add_size(m->n_storages, m->n_attachments, &n_places))
		return out_of_memory(err);
	n->storages =
	    tpi_arena_array(&w->arena, m->n_storages, sizeof(*n->storages));
	n->attachments = tpi_arena_array(
	    &w->arena, m->n_attachments, sizeof(*n->attachments));
	n->chunks = tpi_arena_array(&w->arena, n_places, sizeof(*n->chunks));
	if (!n->storages || !n->attachments || !n->chunks)
		return out_of_memory(err);
	for (size_t i = 0; i < m->n_storages && !rc; i++) {
		w->order[i] = i;
		rc = plan_place(
		    w, i, &n->storages[i], m->storage_nbytes[i], err);
	}
	w->n_order = m->n_storages;
	for (size_t i = 0; i < m->n_attachments && !rc; i++)
		rc = plan_place(w, m->n_storages + i, &n->attachments[i],
		    m->attachments[i].nbytes, err);
	return rc;
}

enum tp_status
tpi_native_plan(struct tp_writer *w, struct tp_err *err)
{
	uint64_t align =
	    w->options.align ? w->options.align : TPI_NATIVE_ALIGN_DEFAULT;
	struct tpi_native_writer *n;
	enum tp_status rc;

	if (align < TPI_NATIVE_ALIGN_MIN || align > TPI_NATIVE_ALIGN_MAX ||
	    (align & (align - 1)))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "alignment %" PRIu64
		    ", a native file takes a power of two from %d to %d",
		    align, TPI_NATIVE_ALIGN_MIN, TPI_NATIVE_ALIGN_MAX);
	if (w->options.compress < 0 || w->options.compress > 9)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "compression level %d, expected 0 to 9",
		    w->options.compress);
	rc = tpi_native_check_model(w->model, err);
	if (rc)
		return rc;
	n = tpi_arena_array(&w->arena, 1, sizeof(*n));
	if (!n)
		return out_of_memory(err);
	w->priv = n;
	n->align = align;
	if (w->options.compress)
		rc = tpi_deflater_new(
		    w->alloc, w->options.compress, &n->deflater, err);
	if (!rc)
		rc = plan_places(w, err);
	if (!rc)
		rc = tpi_writer_add_sink(w, w->path, &n->sink, err);
	return rc ? rc : tpi_sink_zeros(n->sink, TPI_NATIVE_HEADER_SIZE, err);
}

void
tpi_native_discard(struct tp_writer *w)
{
	struct tpi_native_writer *n = w->priv;

	if (n)
		tpi_deflater_free(n->deflater);
}

/*
 * ---- bytes ----
 */

/* A stream that computes the checksum of what is read through it. */
struct summed {
	struct tp_stream base;
	struct tp_stream *inner;
	uint32_t crc32c;
};

static enum tp_status
summed_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct summed *s = (struct summed *)base;
	enum tp_status rc = tp_stream_read(s->inner, buf, n, err);

	if (!rc)
		s->crc32c = tpi_crc32c(s->crc32c, buf, n);
	return rc;
}

static enum tp_status
summed_pour(struct tp_stream *base, int fd, uint64_t offset, struct tp_err *err)
{
	struct summed *s = (struct summed *)base;

	s->inner->crc32c = &s->crc32c;
	base->pos = base->nbytes;
	return s->inner->pour(s->inner, fd, offset, err);
}

static enum tp_status
put_raw(struct tpi_sink *sink, struct tp_stream *s, uint32_t *crc32c,
    struct tp_err *err)
{
	struct summed summed = {
	    .base = {.nbytes = tp_stream_left(s),
		.read = summed_read,
		.pour = s->pour && !s->pos ? summed_pour : NULL},
	    .inner = s,
	};
	enum tp_status rc = tpi_sink_stream(sink, &summed.base, err);

	*crc32c = summed.crc32c;
	return rc;
}

/* Place i, storages and attachments counted together. */
static enum tp_status
put_place(struct tpi_native_writer *n, size_t i, struct tpi_native_place *p,
    struct tp_stream *s, struct tp_err *err)
{
	struct tpi_native_extent *x = &p->x;
	enum tp_status rc;

	if (tp_stream_left(s) != x->nbytes)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "storage %zu: a stream of %" PRIu64
		    " bytes, expected %" PRIu64,
		    i, tp_stream_left(s), x->nbytes);
	rc = tpi_sink_align(n->sink, n->align, err);
	if (rc)
		return rc;
	x->offset = tpi_sink_size(n->sink);
	if (n->deflater)
		rc = tpi_deflater_put(
		    n->deflater, n->sink, s, n->chunks[i], &x->crc32c, err);
	else
		rc = put_raw(n->sink, s, &x->crc32c, err);
	if (rc)
		return rc;
	x->stored_nbytes = tpi_sink_size(n->sink) - x->offset;

	/*
	 * Where no piece shrank the bytes lie as they are, and can be mapped.
	 */
	x->encoding = TPI_NATIVE_RAW;
	if (x->stored_nbytes == x->nbytes)
		return TP_OK;
	x->encoding = TPI_NATIVE_ZLIB;
	x->chunk_nbytes = (uint32_t)TPI_NATIVE_CHUNK;
	p->chunks = n->chunks[i];
	(void)tpi_native_n_chunks(x->nbytes, x->chunk_nbytes, &p->n_chunks);
	return TP_OK;
}

enum tp_status
tpi_native_put(struct tp_writer *w, size_t storage, struct tp_stream *s,
    struct tp_err *err)
{
	struct tpi_native_writer *n = w->priv;

	return put_place(n, storage, &n->storages[storage], s, err);
}

static enum tp_status
put_attachments(struct tp_writer *w, struct tp_err *err)
{
	const struct tp_model *m = w->model;
	struct tpi_native_writer *n = w->priv;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < m->n_attachments && !rc; i++) {
		const struct tp_attachment *a = &m->attachments[i];
		struct tp_stream *s;

		rc = tp_stream_memory(w->alloc, a->data, a->nbytes, &s, err);
		if (rc)
			return rc;
		rc =
		    put_place(n, m->n_storages + i, &n->attachments[i], s, err);
		tp_stream_close(s);
	}
	return rc;
}

enum tp_status
tpi_native_finish(struct tp_writer *w, struct tp_err *err)
{
	const struct tp_model *m = w->model;
	struct tpi_native_writer *n = w->priv;
	struct tpi_native_header h = {
	    .magic = TPI_NATIVE_MAGIC,
	    .byte_order = TPI_NATIVE_BYTE_ORDER,
	    .major = TPI_NATIVE_MAJOR,
	    .minor = TPI_NATIVE_MINOR,
	    .align = (uint32_t)n->align,
	};
	uint8_t bytes[TPI_NATIVE_HEADER_SIZE];
	enum tp_status rc;

	rc = put_attachments(w, err);
	if (!rc)
		rc = tpi_sink_align(n->sink, TPI_NATIVE_UNIT, err);
	h.dir_offset = tpi_sink_size(n->sink);
	if (!rc)
		rc = tpi_native_put_directory(n, m, err);
	if (rc)
		return rc;

	h.file_nbytes = tpi_sink_size(n->sink);
	h.dir_nbytes = h.file_nbytes - h.dir_offset;
	h.dir_crc32c = n->dir_crc32c;
	tpi_native_put_header(bytes, &h);
	h.crc32c = tpi_crc32c(0, bytes, TPI_NATIVE_HEADER_COVERED);
	tpi_native_put_header(bytes, &h);
	return tpi_sink_patch(n->sink, 0, bytes, sizeof(bytes), err);
}
