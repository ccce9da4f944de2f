/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_stream.c - codes, scales and zero points as streams
 *
 *	stream of the entry -> chunk of f32 -> codes (int8) -> packed bytes
 *
 * Where scales are known, codes are a cast, on several threads. Those of blocks
 * are made chunk by chunk: of 4 bits they are packed in pairs, and one that is
 * left over at the end of a chunk waits for the next.
 */
#include "quantize.h"

#include <string.h>

#include "tp/convert.h"
#include "tp/endian.h"

#include "stream_cast.h"

#include "banned.h"

struct narrow_stream {
	struct tp_stream s;
	const struct tpi_narrow *n;
	enum tpi_narrow_part part;
	struct tpi_walk w;
	struct tpi_fit fit; /* of a chunk */
	uint64_t next;	    /* of kept scales */
	size_t max;	    /* values in a chunk */
	int8_t *codes;	    /* [0] is free for what was left over */
	bool has_left;
	int8_t left;
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
	bool is_last = s->w.first + s->w.n_elems == s->n->e->n_elems &&
		       s->part == TPI_CODES;

	if (tp_dtype_bits(tpi_narrow_dtype(s->n, s->part)) == 8) {
		memcpy(s->out, codes, n);
		s->n_out = n;
		return;
	}
	if (s->part == TPI_ZEROS)
		is_last = s->next == s->n->groups.n_groups;
	s->n_out = 0;
	if (s->has_left && n > 0) {
		const int8_t pair[2] = {s->left, *codes++};

		tp_quant_pack(pair, 2, s->out);
		s->has_left = false;
		s->n_out = 1;
		n--;
	}
	tp_quant_pack(codes, n / 2 * 2, s->out + s->n_out);
	s->n_out += n / 2;
	if (n % 2) {
		s->left = codes[n - 1];
		s->has_left = true;
	}
	if (s->has_left && is_last)
		s->out[s->n_out++] = (uint8_t)(s->left & 15);
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

	return pack_groups(
	    s, s->n->scale + s->next, s->n->zero + s->next, n, err);
}

/* The bytes of the next chunk; a chunk can be too little for one. */
static enum tp_status
fill(struct narrow_stream *s, struct tp_err *err)
{
	const struct tpi_narrow *n = s->n;
	bool more = true;
	enum tp_status rc;

	s->n_out = s->out_pos = 0;
	if (!tpi_narrow_by_chunk(n))
		return fill_kept_groups(s, err);
	rc = tpi_walk_next(&s->w, &more, err);
	if (!rc && !more)
		rc = tp_fail(err, TP_EIO, TP_NO_OFFSET,
		    "tensor '%s': more bytes than elements",
		    TP_BRIEF(n->e->name));
	if (!rc)
		rc = tpi_fit_chunk(&s->fit, &s->w, err);
	if (rc)
		return rc;
	if (s->part != TPI_CODES)
		return pack_groups(
		    s, s->fit.scale, s->fit.zero, (size_t)s->w.n_groups, err);
	tp_quant_store(&n->groups, &n->grid, s->w.first_group, s->w.first,
	    s->w.x, s->w.n_elems, s->fit.scale, s->fit.zero, s->codes);
	pack_codes(s, s->codes, s->w.n_elems);
	return TP_OK;
}

static enum tp_status
narrow_take(
    struct tp_stream *base, const void **p, size_t *n, struct tp_err *err)
{
	struct narrow_stream *s = (struct narrow_stream *)base;

	while (s->out_pos == s->n_out) {
		enum tp_status rc = fill(s, err);

		if (rc)
			return rc;
	}
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
	const struct tp_alloc *alloc = s->n->alloc;

	tpi_walk_close(&s->w);
	if (s->fit.n_groups)
		tpi_fit_close(&s->fit);
	tp_mem_free(alloc, s->codes, s->max, 1);
	tp_mem_free(alloc, s->out, s->out_max, 1);
	tp_mem_free(alloc, s, 1, sizeof(*s));
}

static enum tp_status
get_buffers(struct narrow_stream *s, struct tp_err *err)
{
	bool by_chunk = tpi_narrow_by_chunk(s->n);
	enum tp_status rc = TP_OK;

	s->max = TP_COMPARE_CHUNK;
	if (by_chunk) {
		rc = tpi_walk_open(&s->w, s->n, false, err);
		if (rc)
			return rc;
		s->max = s->w.max;
		rc = tpi_fit_open(
		    &s->fit, s->n, tpi_walk_max_groups(&s->w), err);
		if (rc)
			return rc;
	}
	s->out_max = s->part == TPI_SCALES ? 4 * s->max : s->max;
	s->codes = tp_mem_array(s->n->alloc, s->max, 1);
	s->out = tp_mem_array(s->n->alloc, s->out_max, 1);
	if (!s->codes || !s->out)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for codes");
	return TP_OK;
}

#define PART 2048

/* Codes by scales that are known; ctx is the struct tpi_narrow. */
static void
store_codes(
    const void *ctx, void *dst, const void *src, size_t n, uint64_t base)
{
	const struct tpi_narrow *narrow = ctx;
	unsigned size = tp_dtype_bits(narrow->e->dtype) / 8;
	bool pairs = tp_dtype_bits(narrow->recipe.scheme->dtype) == 4;
	size_t part;

	for (size_t i = 0; i < n; i += part) {
		const uint8_t *at = (const uint8_t *)src + i * size;
		int8_t codes[PART];
		float x[PART];

		part = n - i < PART ? n - i : PART;
		/* To f32 with infinities nothing can fail. */
		(void)!tp_convert(TP_DTYPE_F32, x, narrow->e->dtype, at, part,
		    TP_OVERFLOW_INF, base + i, NULL, NULL);
		tp_quant_store(&narrow->groups, &narrow->grid, 0, base + i, x,
		    part, narrow->scale, narrow->zero,
		    pairs ? codes : (int8_t *)dst + i);
		if (pairs)
			tp_quant_pack(codes, part, (uint8_t *)dst + i / 2);
	}
}

/* A cast that nobody counts: what was measured is finite and cannot fail. */
static void
store_cast(const void *ctx, void *dst, const void *src, size_t n, uint64_t base)
{
	const struct tpi_narrow *narrow = ctx;

	(void)!tp_convert(narrow->recipe.scheme->dtype, dst, narrow->e->dtype,
	    src, n, TP_OVERFLOW_SATURATE, base, NULL, NULL);
}

/* A cast, or codes by scales that are known. */
static enum tp_status
cast_stream(const struct tpi_narrow *n, unsigned n_threads,
    struct tp_stream **out, struct tp_err *err)
{
	struct tp_stream *inner = NULL;
	struct tpi_cast cast = {.from = n->e->dtype,
	    .to = n->recipe.scheme->dtype,
	    .n_elems = n->e->n_elems,
	    .overflow = TP_OVERFLOW_SATURATE,
	    .n_threads = n_threads,
	    .max_memory = n->max_memory / 4,
	    .what = n->e->name,
	    .convert = tpi_narrow_casts(n) ? store_cast : store_codes,
	    .ctx = n};
	enum tp_status rc = tp_stream_entry(n->r, n->entry, &inner, err);

	return rc ? rc
		  : tpi_stream_cast(n->alloc, inner, &cast, NULL, out, err);
}

enum tp_status
tpi_narrow_stream(const struct tpi_narrow *n, enum tpi_narrow_part part,
    unsigned n_threads, struct tp_stream **out, struct tp_err *err)
{
	struct narrow_stream *s;
	enum tp_status rc;

	*out = NULL;
	if (part == TPI_CODES && !tpi_narrow_by_chunk(n))
		return cast_stream(n, n_threads, out, err);
	s = tp_mem_array(n->alloc, 1, sizeof(*s));
	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for codes");
	s->s = (struct tp_stream){
	    .read = narrow_read, .take = narrow_take, .close = narrow_close};
	s->n = n;
	s->part = part;
	s->w.n = n;
	rc = tp_dtype_nbytes(tpi_narrow_dtype(n, part),
	    tpi_narrow_count(n, part), &s->s.nbytes, err);
	if (!rc)
		rc = get_buffers(s, err);
	if (rc) {
		narrow_close(&s->s);
		return rc;
	}
	*out = &s->s;
	return TP_OK;
}
