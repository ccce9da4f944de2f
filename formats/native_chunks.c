/* SPDX-License-Identifier: Apache-2.0 */
/* native_chunks.c - deflating storages in pieces, and reading them back */
#include "native_chunks.h"

#include <inttypes.h>
#include <string.h>

#include <zlib.h>

#include "tp/checked.h"
#include "tp/parallel.h"

#include "crc32c.h"

#include "banned.h"

#define MAX_LANES 8
#define IN_BUFFER ((size_t)32 << 10)

/*
 * zlib gives memory back without its size, which struct tp_alloc wants: each
 * block begins with it.
 */
#define BLOCK_HEAD ((size_t)16)

static voidpf
zlib_alloc(voidpf ctx, uInt n, uInt size)
{
	const struct tp_alloc *alloc = ctx;
	size_t nbytes;
	uint8_t *p;

	if (tp_mul_size(n, size, &nbytes) ||
	    tp_add_size(nbytes, BLOCK_HEAD, &nbytes))
		return Z_NULL;
	p = alloc->alloc(alloc->ctx, nbytes);
	if (!p)
		return Z_NULL;
	memcpy(p, &nbytes, sizeof(nbytes));
	return p + BLOCK_HEAD;
}

static void
zlib_free(voidpf ctx, voidpf p)
{
	const struct tp_alloc *alloc = ctx;
	uint8_t *block = (uint8_t *)p - BLOCK_HEAD;
	size_t nbytes;

	memcpy(&nbytes, block, sizeof(nbytes));
	alloc->free(alloc->ctx, block, nbytes);
}

/* zlib's pointer to the allocator is not const; it is only handed back. */
static z_stream
zlib_stream(const struct tp_alloc *const *alloc)
{
	z_stream z = {.zalloc = zlib_alloc, .zfree = zlib_free};

	memcpy(&z.opaque, alloc, sizeof(z.opaque));
	return z;
}

static enum tp_status
out_of_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "no memory for zlib");
}

/*
 * ---- writing ----
 */

/* One piece on its way; each lane is one thread's at a time. */
struct lane {
	z_stream z;
	bool ready; /* z was initialised */
	uint8_t *in, *out;
	size_t n_in, n_out; /* n_out == n_in: did not shrink */
};

struct tpi_deflater {
	const struct tp_alloc *alloc;
	size_t n_lanes;
	struct lane lanes[MAX_LANES];
};

enum tp_status
tpi_deflater_new(const struct tp_alloc *alloc, int level,
    struct tpi_deflater **out, struct tp_err *err)
{
	struct tpi_deflater *d;
	unsigned cpus = tp_cpu_count();

	*out = NULL;
	if (!alloc)
		alloc = tp_alloc_default();
	d = tp_mem_array(alloc, 1, sizeof(*d));
	if (!d)
		return out_of_memory(err);
	d->alloc = alloc;
	for (; d->n_lanes < cpus && d->n_lanes < MAX_LANES; d->n_lanes++) {
		struct lane *l = &d->lanes[d->n_lanes];

		l->z = zlib_stream(&alloc);
		l->in = alloc->alloc(alloc->ctx, TPI_NATIVE_CHUNK);
		l->out = alloc->alloc(alloc->ctx, TPI_NATIVE_CHUNK);
		l->ready = deflateInit(&l->z, level) == Z_OK;
		if (l->in && l->out && l->ready)
			continue;
		d->n_lanes++; /* half made, but to be freed */
		tpi_deflater_free(d);
		return out_of_memory(err);
	}
	*out = d;
	return TP_OK;
}

void
tpi_deflater_free(struct tpi_deflater *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_lanes; i++) {
		struct lane *l = &d->lanes[i];

		if (l->ready)
			deflateEnd(&l->z);
		if (l->in)
			d->alloc->free(d->alloc->ctx, l->in, TPI_NATIVE_CHUNK);
		if (l->out)
			d->alloc->free(d->alloc->ctx, l->out, TPI_NATIVE_CHUNK);
	}
	tp_mem_free(d->alloc, d, 1, sizeof(*d));
}

/* A tp_part_fn: deflate lane i's piece into fewer bytes, or note that none. */
static void
deflate_lane(void *ctx, size_t i)
{
	struct tpi_deflater *d = ctx;
	struct lane *l = &d->lanes[i];

	l->n_out = l->n_in;
	if (deflateReset(&l->z) != Z_OK)
		return;
	l->z.next_in = l->in;
	l->z.avail_in = (uInt)l->n_in;
	l->z.next_out = l->out;
	l->z.avail_out = (uInt)l->n_in - 1;
	if (deflate(&l->z, Z_FINISH) == Z_STREAM_END)
		l->n_out = l->n_in - 1 - l->z.avail_out;
}

enum tp_status
tpi_deflater_put(struct tpi_deflater *d, struct tpi_sink *sink,
    struct tp_stream *s, uint32_t *chunks, uint32_t *crc32c, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	uint32_t crc = 0;
	size_t n_lanes;

	while (!rc && tp_stream_left(s)) {
		n_lanes = 0;
		while (n_lanes < d->n_lanes && tp_stream_left(s)) {
			struct lane *l = &d->lanes[n_lanes++];
			uint64_t left = tp_stream_left(s);

			l->n_in = left < TPI_NATIVE_CHUNK ? (size_t)left
							  : TPI_NATIVE_CHUNK;
			rc = tp_stream_read(s, l->in, l->n_in, err);
			if (rc)
				return rc;
			crc = tpi_crc32c(crc, l->in, l->n_in);
		}
		tp_parallel((unsigned)n_lanes, n_lanes, deflate_lane, d);
		for (size_t i = 0; i < n_lanes && !rc; i++) {
			const struct lane *l = &d->lanes[i];

			rc = tpi_sink_write(sink,
			    l->n_out < l->n_in ? l->out : l->in, l->n_out, err);
			*chunks++ = (uint32_t)l->n_out;
		}
	}
	*crc32c = crc;
	return rc;
}

/*
 * ---- reading ----
 */

struct inflater {
	struct tp_stream base;
	const struct tp_alloc *alloc;
	const struct tpi_source *src;
	const struct tpi_native_place *place;
	char what[TP_BRIEF_SIZE];
	bool check_crc, deflated, ready;
	uint32_t crc;
	size_t next_chunk;
	uint64_t at;	    /* the byte of the file that comes next */
	size_t stored_left; /* of the current piece, not read yet */
	size_t left;	    /* decoded bytes it still owes */
	z_stream z;
	uint8_t in[IN_BUFFER];
};

static enum tp_status
bad_chunk(const struct inflater *f, const char *why, struct tp_err *err)
{
	return tp_fail(err, TP_EFORMAT, f->at,
	    "tensor '%s': piece %zu of %zu is damaged: %s", f->what,
	    f->next_chunk, f->place->n_chunks, why);
}

/* One step of zlib, with more input if it needs some. Z_… in *result. */
static enum tp_status
inflate_step(struct inflater *f, int *result, struct tp_err *err)
{
	size_t n = f->stored_left < IN_BUFFER ? f->stored_left : IN_BUFFER;
	enum tp_status rc;

	if (f->z.avail_in == 0 && n) {
		rc = tpi_source_read(f->src, f->at, f->in, n, err);
		if (rc)
			return rc;
		f->at += n;
		f->stored_left -= n;
		f->z.next_in = f->in;
		f->z.avail_in = (uInt)n;
	}
	*result = inflate(&f->z, Z_NO_FLUSH);
	if (*result == Z_MEM_ERROR)
		return out_of_memory(err);
	if (*result == Z_BUF_ERROR)
		return bad_chunk(f,
		    f->z.avail_out ? "it ends early" : "it holds too much",
		    err);
	if (*result != Z_OK && *result != Z_STREAM_END)
		return bad_chunk(f, f->z.msg ? f->z.msg : "no zlib data", err);
	return TP_OK;
}

static enum tp_status
inflate_some(struct inflater *f, uint8_t *buf, size_t n, struct tp_err *err)
{
	int result = Z_OK;
	enum tp_status rc;

	f->z.next_out = buf;
	f->z.avail_out = (uInt)n;
	while (f->z.avail_out) {
		if (result == Z_STREAM_END)
			return bad_chunk(f, "it holds too little", err);
		rc = inflate_step(f, &result, err);
		if (rc)
			return rc;
	}

	/* The end of the piece is also the end of its stream. */
	if (n < f->left)
		return TP_OK;
	while (result != Z_STREAM_END) {
		rc = inflate_step(f, &result, err);
		if (rc)
			return rc;
	}
	if (f->z.avail_in || f->stored_left)
		return bad_chunk(f, "bytes follow its end", err);
	return TP_OK;
}

static enum tp_status
begin_chunk(struct inflater *f, struct tp_err *err)
{
	const struct tpi_native_place *p = f->place;
	uint64_t left =
	    f->base.nbytes - (uint64_t)f->next_chunk * p->x.chunk_nbytes;

	f->left = left < p->x.chunk_nbytes ? (size_t)left : p->x.chunk_nbytes;
	f->stored_left = p->chunks[f->next_chunk++];
	f->deflated = f->stored_left < f->left;
	f->z.avail_in = 0;
	if (f->deflated && inflateReset(&f->z) != Z_OK)
		return bad_chunk(f, "zlib refuses it", err);
	return TP_OK;
}

static enum tp_status
inflater_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct inflater *f = (struct inflater *)base;
	bool is_last = base->pos + n == base->nbytes;
	enum tp_status rc = TP_OK;
	uint8_t *p = buf;

	while (n) {
		size_t part;

		if (f->left == 0)
			rc = begin_chunk(f, err);
		part = n < f->left ? n : f->left;
		if (!rc && f->deflated)
			rc = inflate_some(f, p, part, err);
		else if (!rc) {
			rc = tpi_source_read(f->src, f->at, p, part, err);
			f->at += part;
		}
		if (rc)
			return rc;
		if (f->check_crc)
			f->crc = tpi_crc32c(f->crc, p, part);
		f->left -= part;
		p += part;
		n -= part;
	}
	if (!is_last || !f->check_crc)
		return TP_OK;
	return tpi_sum_compare(base->sum, f->crc, f->place->x.crc32c,
	    f->place->x.offset, f->what, err);
}

static void
inflater_close(struct tp_stream *base)
{
	struct inflater *f = (struct inflater *)base;

	if (f->ready)
		inflateEnd(&f->z);
	tp_mem_free(f->alloc, f, 1, sizeof(*f));
}

enum tp_status
tpi_inflate_stream(const struct tp_alloc *alloc, const struct tpi_source *src,
    const struct tpi_native_place *place, bool check_crc, struct tp_str what,
    struct tp_stream **out, struct tp_err *err)
{
	struct inflater *f;

	*out = NULL;
	if (!alloc)
		alloc = tp_alloc_default();
	f = tp_mem_array(alloc, 1, sizeof(*f));
	if (!f)
		return out_of_memory(err);
	f->base.nbytes = place->x.nbytes;
	f->base.read = inflater_read;
	f->base.close = inflater_close;
	f->alloc = alloc;
	f->src = src;
	f->place = place;
	f->check_crc = check_crc;
	f->at = place->x.offset;
	tp_str_brief(what, f->what);
	f->z = zlib_stream(&alloc);
	f->ready = inflateInit(&f->z) == Z_OK;
	if (!f->ready) {
		inflater_close(&f->base);
		return out_of_memory(err);
	}
	*out = &f->base;
	return TP_OK;
}

void
tpi_inflate_from(struct tp_stream *s, uint64_t from)
{
	struct inflater *f = (struct inflater *)s;
	size_t chunk = (size_t)(from / f->place->x.chunk_nbytes);
	uint64_t start = (uint64_t)chunk * f->place->x.chunk_nbytes;

	if (s->pos > start && s->pos <= from)
		return;
	f->next_chunk = chunk;
	f->at = f->place->starts[chunk];
	f->left = 0;
	s->pos = start;
}
