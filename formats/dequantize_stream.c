/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequantize_stream.c - the numbers that codes stand for, as a stream of f32
 *
 *	codes, scales, zero points  ->  (code - zero point) * scale
 *
 * Scales of a whole tensor and of channels are read at once, those of blocks
 * as the codes come to them.
 */
#include "dequantize.h"

#include <string.h>

#include "tp/convert.h"
#include "tp/endian.h"

#include "banned.h"

#define CHUNK ((size_t)65536)

struct widen_stream {
	struct tp_stream s;
	const struct tpi_widen *w;
	struct tp_stream *codes, *scales, *zeros;
	uint64_t next;	      /* element, or block */
	uint64_t n_blocks;    /* of a chunk */
	uint64_t n_all;	      /* blocks in all */
	size_t max, n_groups; /* elements of a chunk; room for groups */
	uint64_t first_group;
	int8_t *unpacked;
	uint8_t *raw; /* what the parts are read into */
	size_t raw_nbytes;
	int16_t *zero;
	float *scale, *out;
	size_t n_out, pos;
	/* A byte holds two: what is left of it, of codes and zero points. */
	uint8_t half[2];
	bool has_halves[2];
};

/* n integers of 4 or 8 bits. which: 0 codes, 1 zero points. */
static enum tp_status
read_integers(struct widen_stream *s, struct tp_stream *from,
    enum tp_dtype dtype, int which, int8_t *to, size_t n, struct tp_err *err)
{
	bool is_signed = tp_dtype_kind(dtype) == TP_KIND_INT;
	size_t pending, nbytes, at = 0;
	enum tp_status rc = TP_OK;

	if (tp_dtype_bits(dtype) == 8)
		return tp_stream_read(from, to, n, err);
	pending = s->has_halves[which] && n > 0;
	nbytes = (n - pending + 1) / 2;
	if (nbytes)
		rc = tp_stream_read(from, s->raw, nbytes, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		uint8_t v;

		if (s->has_halves[which]) {
			v = s->half[which];
			s->has_halves[which] = false;
		} else {
			v = s->raw[at] & 15;
			s->half[which] = s->raw[at++] >> 4;
			s->has_halves[which] = true;
		}
		to[i] = (int8_t)(is_signed ? (v ^ 8) - 8 : v);
	}
	return TP_OK;
}

static enum tp_status
read_scales(struct widen_stream *s, size_t n, struct tp_err *err)
{
	enum tp_dtype dtype = s->w->scale->dtype;
	unsigned size = tp_dtype_bits(dtype) / 8;
	enum tp_status rc = tp_stream_read(s->scales, s->raw, n * size, err);

	if (rc)
		return rc;
	if (!tp_host_is_little())
		tp_swap_bytes(s->raw, n, size);
	return tp_convert(TP_DTYPE_F32, s->scale, dtype, s->raw, n,
	    TP_OVERFLOW_INF, 0, NULL, err);
}

/* The next n scales and zero points. */
static enum tp_status
read_groups(struct widen_stream *s, size_t n, struct tp_err *err)
{
	enum tp_status rc = read_scales(s, n, err);
	enum tp_dtype dtype;
	int8_t *narrow;

	if (rc || !s->zeros)
		return rc;
	dtype = s->w->zero->dtype;
	/* In the room of the larger numbers, from the back. */
	narrow = (int8_t *)s->zero + n;
	rc = read_integers(s, s->zeros, dtype, 1, narrow, n, err);
	for (size_t i = 0; !rc && i < n; i++)
		s->zero[i] = (int16_t)(tp_dtype_kind(dtype) == TP_KIND_INT
					   ? narrow[i]
					   : (uint8_t)narrow[i]);
	return rc;
}

static uint64_t
element_of(const struct tp_quant_groups *g, uint64_t block)
{
	return (block / g->n_blocks * g->size +
		   block % g->n_blocks * g->block) *
	       g->inner;
}

/* Which elements are next, and their scales if they are of blocks. */
static enum tp_status
move_on(struct widen_stream *s, uint64_t *first, struct tp_err *err)
{
	const struct tp_quant_groups *g = &s->w->groups;
	uint64_t end;

	if (s->w->info.per != TP_PER_BLOCK) {
		*first = s->next;
		s->n_out = g->n_elems - s->next < CHUNK
			       ? (size_t)(g->n_elems - s->next)
			       : CHUNK;
		s->next += s->n_out;
		return TP_OK;
	}
	end =
	    s->n_all - s->next < s->n_blocks ? s->n_all : s->next + s->n_blocks;
	*first = element_of(g, s->next);
	s->n_out = (size_t)(element_of(g, end) - *first);
	s->first_group = s->next * g->inner;
	end -= s->next;
	s->next += end;
	return read_groups(s, (size_t)(end * g->inner), err);
}

static enum tp_status
fill(struct widen_stream *s, struct tp_err *err)
{
	enum tp_dtype dtype = s->w->codes->dtype;
	uint64_t first = 0;
	enum tp_status rc = move_on(s, &first, err);

	s->pos = 0;
	if (!rc)
		rc = read_integers(
		    s, s->codes, dtype, 0, s->unpacked, s->n_out, err);
	if (rc)
		return rc;
	tp_quant_load(&s->w->groups, tp_dtype_kind(dtype) == TP_KIND_INT,
	    s->first_group, first, s->unpacked, s->n_out, s->scale, s->zero,
	    s->out);
	if (!tp_host_is_little())
		tp_swap_bytes(s->out, s->n_out, sizeof(float));
	s->n_out *= sizeof(float);
	return TP_OK;
}

static enum tp_status
widen_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct widen_stream *s = (struct widen_stream *)base;
	uint8_t *to = buf;

	while (n > 0) {
		size_t part;

		if (s->pos == s->n_out) {
			enum tp_status rc = fill(s, err);

			if (rc)
				return rc;
		}
		part = s->n_out - s->pos < n ? s->n_out - s->pos : n;
		memcpy(to, (const uint8_t *)s->out + s->pos, part);
		s->pos += part;
		to += part;
		n -= part;
	}
	return TP_OK;
}

static void
widen_close(struct tp_stream *base)
{
	struct widen_stream *s = (struct widen_stream *)base;
	const struct tp_alloc *a = s->w->alloc;

	tp_stream_close(s->codes);
	tp_stream_close(s->scales);
	tp_stream_close(s->zeros);
	tp_mem_free(a, s->unpacked, s->max, 1);
	tp_mem_free(a, s->raw, s->raw_nbytes, 1);
	tp_mem_free(a, s->zero, s->n_groups, sizeof(*s->zero));
	tp_mem_free(a, s->scale, s->n_groups, sizeof(*s->scale));
	tp_mem_free(a, s->out, s->max, sizeof(*s->out));
	tp_mem_free(a, s, 1, sizeof(*s));
}

/* Elements and groups of a chunk. */
static enum tp_status
size_chunk(struct widen_stream *s, struct tp_err *err)
{
	const struct tp_quant_groups *g = &s->w->groups;
	uint64_t elems, all = s->w->codes->n_elems;

	s->max = all < CHUNK ? (size_t)all : CHUNK;
	s->n_groups = (size_t)g->n_groups;
	if (s->w->info.per != TP_PER_BLOCK)
		return TP_OK;
	s->n_all = g->n_groups / g->inner;
	elems = (g->block < g->size ? g->block : g->size) * g->inner;
	if (elems > CHUNK && elems > s->w->max_memory / 32)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': one row of blocks does not fit into the "
		    "memory allowed",
		    TP_BRIEF(s->w->codes->name));
	s->n_blocks = elems < CHUNK ? CHUNK / elems : 1;
	if (elems > CHUNK)
		s->max = (size_t)elems;
	if (s->n_blocks * g->inner < s->n_groups)
		s->n_groups = (size_t)(s->n_blocks * g->inner);
	return TP_OK;
}

static enum tp_status
get_buffers(struct widen_stream *s, struct tp_err *err)
{
	const struct tp_alloc *a = s->w->alloc;

	s->raw_nbytes = s->max > 4 * s->n_groups ? s->max : 4 * s->n_groups;
	s->unpacked = tp_mem_array(a, s->max, 1);
	s->raw = tp_mem_array(a, s->raw_nbytes, 1);
	s->zero = tp_mem_array(a, s->n_groups, sizeof(*s->zero));
	s->scale = tp_mem_array(a, s->n_groups, sizeof(*s->scale));
	s->out = tp_mem_array(a, s->max, sizeof(*s->out));
	if (!s->unpacked || !s->raw || !s->zero || !s->scale || !s->out)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory to dequantize a tensor");
	return TP_OK;
}

static enum tp_status
open_parts(struct widen_stream *s, struct tp_err *err)
{
	const struct tpi_widen *w = s->w;
	enum tp_status rc = tp_stream_entry(w->r, w->entry, &s->codes, err);

	if (!rc)
		rc = tp_stream_entry(w->r, w->info.scale, &s->scales, err);
	if (!rc && w->zero)
		rc = tp_stream_entry(w->r, w->info.zero_point, &s->zeros, err);
	if (!rc && w->info.per != TP_PER_BLOCK)
		rc = read_groups(s, s->n_groups, err);
	return rc;
}

enum tp_status
tpi_widen_stream(
    const struct tpi_widen *w, struct tp_stream **out, struct tp_err *err)
{
	struct widen_stream *s = tp_mem_array(w->alloc, 1, sizeof(*s));
	enum tp_status rc;

	*out = NULL;
	if (!s)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory to dequantize a tensor");
	s->w = w;
	s->s = (struct tp_stream){.read = widen_read, .close = widen_close};
	rc =
	    tp_dtype_nbytes(TP_DTYPE_F32, w->codes->n_elems, &s->s.nbytes, err);
	if (!rc)
		rc = size_chunk(s, err);
	if (!rc)
		rc = get_buffers(s, err);
	if (!rc)
		rc = open_parts(s, err);
	if (rc) {
		widen_close(&s->s);
		return rc;
	}
	*out = &s->s;
	return TP_OK;
}
