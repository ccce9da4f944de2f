/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_stream.c - scales, zero points and codes of blocks, in order
 *
 * They are read from where they are kept, or made anew of the entry, chunk by
 * chunk.
 */
#include "quantize.h"

#include <string.h>

#include "tp/convert.h"
#include "tp/endian.h"

#include "banned.h"

struct narrow_stream {
	struct tp_stream s;
	struct tpi_narrow *n;
	enum tpi_narrow_part part;
	unsigned n_threads;
	bool ready; /* what follows is */
	/* Scales that are there; else they are chosen chunk by chunk. */
	const float *scale;
	const int16_t *zero;
	struct tp_storage *kept; /* in which they are, or NULL */
	struct tpi_walk w;
	struct tpi_narrow_chunk c;
	struct tpi_fit fit;
	uint64_t next; /* scale */
	size_t max;    /* values in a chunk */
	int8_t *codes;
	struct tpi_pairing pairing;
	uint8_t *out;
	size_t out_max, n_out, out_pos;
};

enum tp_dtype
tpi_narrow_dtype(const struct tpi_narrow *n, enum tpi_narrow_part part)
{
	const struct tp_scheme *s = n->recipe.scheme;

	switch (part) {
	case TPI_CODES:
		return s->dtype;
	case TPI_SCALES:
		return n->scale_dtype;
	case TPI_ZEROS:
		if (s->scale == TP_DTYPE_NONE ||
		    (n->grid.symmetric && n->grid.zero == 0))
			return TP_DTYPE_NONE;
		return s->dtype;
	case TPI_N_PARTS:
		break;
	}
	return TP_DTYPE_NONE;
}

uint64_t
tpi_narrow_count(const struct tpi_narrow *n, enum tpi_narrow_part part)
{
	return part == TPI_CODES ? n->e->n_elems : n->groups.n_groups;
}

/* n values to bytes: one each, or two to a byte. */
static void
pack_codes(struct narrow_stream *s, const int8_t *codes, size_t n)
{
	bool is_last = s->part == TPI_CODES ? s->c.first + n == s->n->e->n_elems
					    : s->next == s->n->groups.n_groups;

	if (tp_dtype_bits(tpi_narrow_dtype(s->n, s->part)) == 4) {
		tpi_pair_codes(
		    &s->pairing, codes, n, is_last, s->out, &s->n_out);
		return;
	}
	memcpy(s->out, codes, n);
	s->n_out = n;
}

static void
pack_scales(struct narrow_stream *s, const float *scale, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t bits;

		memcpy(&bits, &scale[i], sizeof(bits));
		tp_put_le32(s->out + 4 * i, bits);
	}
	s->n_out = 4 * n;
}

/* They are halves already, so this is exact. */
static enum tp_status
pack_halves(
    struct narrow_stream *s, const float *scale, size_t n, struct tp_err *err)
{
	enum tp_status rc = tp_convert(TP_DTYPE_F16, s->out, TP_DTYPE_F32,
	    scale, n, TP_OVERFLOW_ERROR, 0, NULL, err);

	if (!rc && !tp_host_is_little())
		tp_swap_bytes(s->out, n, 2);
	s->n_out = 2 * n;
	return rc;
}

/* n scales or zero points as bytes. */
static enum tp_status
pack_groups(struct narrow_stream *s, const float *scale, const int16_t *zero,
    size_t n, struct tp_err *err)
{
	s->next += n;
	if (s->part == TPI_ZEROS) {
		for (size_t i = 0; i < n; i++)
			s->codes[i] = (int8_t)(uint8_t)zero[i];
		pack_codes(s, s->codes, n);
		return TP_OK;
	}
	if (s->n->scale_dtype == TP_DTYPE_F16)
		return pack_halves(s, scale, n, err);
	pack_scales(s, scale, n);
	return TP_OK;
}

static enum tp_status
fill_kept_groups(struct narrow_stream *s, struct tp_err *err)
{
	uint64_t left = s->n->groups.n_groups - s->next;
	size_t n = left < s->max ? (size_t)left : s->max;

	return pack_groups(s, s->scale + s->next, s->zero + s->next, n, err);
}

/* The bytes of the next chunk; a chunk can be too little for one. */
static enum tp_status
fill(struct narrow_stream *s, struct tp_err *err)
{
	const struct tpi_narrow *n = s->n;
	const struct tpi_narrow_chunk *c = &s->c;
	bool more = true;
	enum tp_status rc;

	s->n_out = s->out_pos = 0;
	if (s->scale)
		return fill_kept_groups(s, err);
	rc = tpi_walk_next(&s->w, &s->c, &more, err);
	if (!rc && !more)
		rc = tp_fail(err, TP_EIO, TP_NO_OFFSET,
		    "tensor '%s': more bytes than elements",
		    TP_BRIEF(n->e->name));
	if (!rc)
		rc = tpi_fit_chunk(&s->fit, c, err);
	if (rc)
		return rc;
	if (s->part != TPI_CODES)
		return pack_groups(
		    s, s->fit.scale, s->fit.zero, (size_t)c->n_groups, err);
	tp_quant_store(&n->groups, &n->grid, c->first_group, c->first, c->x,
	    c->n_elems, s->fit.scale, s->fit.zero, s->codes);
	pack_codes(s, s->codes, c->n_elems);
	return TP_OK;
}

/* Chunk by chunk. */
static enum tp_status
get_walk(struct narrow_stream *s, struct tp_err *err)
{
	enum tp_status rc = tpi_walk_open(&s->w, s->n, false, err);

	if (!rc)
		rc = tpi_chunk_init(&s->c, &s->w, err);
	if (!rc)
		rc = tpi_fit_open(
		    &s->fit, s->n, tpi_walk_max_groups(&s->w), err);
	s->max = s->w.max;
	return rc;
}

/* Scales that are kept, or what it takes to choose them. */
static enum tp_status
get_scales(struct narrow_stream *s, struct tp_err *err)
{
	const struct tpi_narrow *n = s->n;
	uint64_t all =
	    s->part == TPI_CODES ? n->e->n_elems : n->groups.n_groups;
	enum tp_status rc;

	s->max = all < TP_COMPARE_CHUNK ? (size_t)all : TP_COMPARE_CHUNK;
	if (tpi_narrow_by_chunk(n) && (s->part == TPI_CODES || !n->kept))
		return get_walk(s, err);
	rc = tpi_measure_now(s->n, s->n_threads, err);
	s->scale = n->scale;
	s->zero = n->zero;
	if (!rc && tpi_narrow_by_chunk(n)) {
		s->kept = tp_storage_ref(n->kept);
		s->scale = tp_storage_data(s->kept);
		s->zero = (const void *)(s->scale + n->groups.n_groups);
	}
	return rc;
}

/* All that the first bytes needed. */
static void
drop(struct narrow_stream *s)
{
	const struct tp_alloc *alloc = s->n->alloc;

	tpi_walk_close(&s->w);
	tpi_chunk_release(&s->c);
	if (s->fit.n_groups)
		tpi_fit_close(&s->fit);
	s->fit.n_groups = 0;
	tp_storage_unref(s->kept);
	s->kept = NULL;
	tp_mem_free(alloc, s->codes, s->max, 1);
	tp_mem_free(alloc, s->out, s->out_max, 1);
	s->codes = NULL;
	s->out = NULL;
}

/* The first bytes are wanted. */
static enum tp_status
get_ready(struct narrow_stream *s, struct tp_err *err)
{
	enum tp_status rc = get_scales(s, err);

	if (!rc) {
		s->out_max = s->part == TPI_SCALES ? 4 * s->max : s->max + 1;
		s->codes = tp_mem_array(s->n->alloc, s->max, 1);
		s->out = tp_mem_array(s->n->alloc, s->out_max, 1);
		if (!s->codes || !s->out)
			rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "no memory for codes");
	}
	s->ready = !rc;
	if (rc)
		drop(s);
	return rc;
}

static enum tp_status
narrow_take(
    struct tp_stream *base, const void **p, size_t *n, struct tp_err *err)
{
	struct narrow_stream *s = (struct narrow_stream *)base;
	enum tp_status rc = s->ready ? TP_OK : get_ready(s, err);

	while (!rc && s->out_pos == s->n_out)
		rc = fill(s, err);
	if (rc)
		return rc;
	*p = s->out + s->out_pos;
	*n = s->n_out - s->out_pos;
	s->out_pos = s->n_out;
	return TP_OK;
}

static enum tp_status
narrow_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct narrow_stream *s = (struct narrow_stream *)base;
	uint8_t *to = buf;

	while (n > 0) {
		const void *p;
		size_t part;
		enum tp_status rc = narrow_take(base, &p, &part, err);

		if (rc)
			return rc;
		if (part > n) {
			s->out_pos -= part - n;
			part = n;
		}
		memcpy(to, p, part);
		to += part;
		n -= part;
	}
	return TP_OK;
}

static void
narrow_close(struct tp_stream *base)
{
	struct narrow_stream *s = (struct narrow_stream *)base;

	drop(s);
	tp_mem_free(s->n->alloc, s, 1, sizeof(*s));
}

enum tp_status
tpi_narrow_stream(struct tpi_narrow *n, enum tpi_narrow_part part,
    unsigned n_threads, struct tp_stream **out, struct tp_err *err)
{
	struct narrow_stream *s = tp_mem_array(n->alloc, 1, sizeof(*s));
	enum tp_status rc;

	*out = NULL;
	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for codes");
	s->s = (struct tp_stream){.read = narrow_read,
	    .take = narrow_take,
	    .close = narrow_close,
	    .late = n->later && part != TPI_CODES &&
		    (tpi_narrow_by_row(n) ||
			(tpi_narrow_by_chunk(n) && tpi_narrow_keeps(n)))};
	s->n = n;
	s->c.n = n;
	s->part = part;
	s->n_threads = n_threads;
	rc = tp_dtype_nbytes(tpi_narrow_dtype(n, part),
	    tpi_narrow_count(n, part), &s->s.nbytes, err);
	if (rc)
		narrow_close(&s->s);
	else
		*out = &s->s;
	return rc;
}
