/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_codes.c - the codes of a tensor as a stream
 *
 * Poured, they are made by all threads, and measured meanwhile if nobody did.
 * Who reads them instead waits until all is measured. Where scales are known,
 * codes are a cast.
 */
#include "quantize.h"

#include "tp/convert.h"

#include "stream_cast.h"

#include "banned.h"

struct codes_stream {
	struct tp_stream s;
	struct tpi_narrow *n;
	unsigned n_threads;
	struct tp_stream *inner; /* NULL until something is read */
};

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

static enum tp_status
open_inner(struct codes_stream *s, struct tp_err *err)
{
	enum tp_status rc;

	if (s->inner)
		return TP_OK;
	rc = tpi_measure_now(s->n, s->n_threads, err);
	if (rc)
		return rc;
	return tpi_narrow_by_chunk(s->n)
		   ? tpi_narrow_stream(
			 s->n, TPI_CODES, s->n_threads, &s->inner, err)
		   : cast_stream(s->n, s->n_threads, &s->inner, err);
}

static enum tp_status
codes_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct codes_stream *s = (struct codes_stream *)base;
	enum tp_status rc = open_inner(s, err);

	return rc ? rc : tp_stream_read(s->inner, buf, n, err);
}

static enum tp_status
codes_take(
    struct tp_stream *base, const void **p, size_t *n, struct tp_err *err)
{
	struct codes_stream *s = (struct codes_stream *)base;
	enum tp_status rc = open_inner(s, err);

	return rc ? rc : tpi_stream_next(s->inner, NULL, 0, p, n, err);
}

static enum tp_status
codes_pour(struct tp_stream *base, int fd, uint64_t offset, struct tp_err *err)
{
	struct codes_stream *s = (struct codes_stream *)base;

	return tpi_pour_codes(s->n, s->n_threads, base, fd, offset, err);
}

static void
codes_close(struct tp_stream *base)
{
	struct codes_stream *s = (struct codes_stream *)base;

	tp_stream_close(s->inner);
	tp_mem_free(s->n->alloc, s, 1, sizeof(*s));
}

enum tp_status
tpi_codes_stream(struct tpi_narrow *n, unsigned n_threads,
    struct tp_stream **out, struct tp_err *err)
{
	struct codes_stream *s = tp_mem_array(n->alloc, 1, sizeof(*s));
	enum tp_status rc;

	*out = NULL;
	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for codes");
	s->s = (struct tp_stream){.read = codes_read,
	    .take = codes_take,
	    .pour = codes_pour,
	    .close = codes_close};
	s->n = n;
	s->n_threads = n_threads;
	rc = tp_dtype_nbytes(
	    tpi_narrow_dtype(n, TPI_CODES), n->e->n_elems, &s->s.nbytes, err);
	if (rc)
		codes_close(&s->s);
	else
		*out = &s->s;
	return rc;
}
