/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_encode.c - a chunk becomes codes, and these are compared with it
 */
#include "quantize.h"

#include <float.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/endian.h"

#include "banned.h"

/* What a comparison wants to be given at a time. */
#define CHUNK ((size_t)TP_COMPARE_CHUNK)

static bool
is_packed(const struct tpi_narrow *n)
{
	return tp_dtype_bits(n->recipe.scheme->dtype) == 4;
}

static size_t
code_size(const struct tpi_narrow *n)
{
	return is_packed(n) ? 1 : tp_dtype_bits(n->recipe.scheme->dtype) / 8;
}

/* Elements of a piece, or of all chunks if those are smaller. */
static size_t
piece_elems(const struct tpi_narrow_chunk *c)
{
	return c->max < CHUNK ? c->max : CHUNK;
}

/* The most pieces that a chunk can have as a whole. */
static size_t
max_wholes(const struct tpi_narrow_chunk *c)
{
	return c->max / CHUNK + 1;
}

/* The largest number of the dtype of a cast. */
static enum tp_status
find_limit(struct tpi_encoder *e, struct tp_err *err)
{
	enum tp_dtype dtype = e->n->recipe.scheme->dtype;
	const float most = FLT_MAX;
	uint16_t code;
	enum tp_status rc = tp_convert(dtype, &code, TP_DTYPE_F32, &most, 1,
	    TP_OVERFLOW_SATURATE, 0, NULL, err);

	return rc ? rc
		  : tp_convert(TP_DTYPE_F32, &e->limit, dtype, &code, 1,
			TP_OVERFLOW_INF, 0, NULL, err);
}

static bool
get_buffers(struct tpi_encoder *e)
{
	const struct tp_alloc *alloc = e->n->alloc;
	bool ok;

	e->codes = tp_mem_array(alloc, e->c.max, e->size);
	ok = e->codes != NULL;
	if (is_packed(e->n)) {
		e->pairs = tp_mem_array(alloc, e->c.max / 2 + 1, 1);
		ok &= e->pairs != NULL;
	}
	if (!e->measures)
		return ok;
	e->head = tp_mem_array(alloc, piece_elems(&e->c), sizeof(float));
	e->tail = tp_mem_array(alloc, piece_elems(&e->c), sizeof(float));
	e->wholes = tp_mem_array(alloc, max_wholes(&e->c), sizeof(*e->wholes));
	return ok && e->head && e->tail && e->wholes;
}

/* Are its buffers those that the walk needs? */
static bool
suits(const struct tpi_encoder *e, const struct tpi_walk *w, bool measures)
{
	const struct tpi_narrow *n = w->n;
	bool tries = n->recipe.calibrate == TP_CALIBRATE_MSE;

	return e->n && e->n->e->dtype == n->e->dtype &&
	       e->n->recipe.scheme == n->recipe.scheme && e->c.max >= w->max &&
	       e->measures == measures && e->fits == w->whole_groups &&
	       (!e->fits || (e->fit.n_groups >= tpi_walk_max_groups(w) &&
				(e->fit.n_tries > 0) == tries));
}

static void
take_over(struct tpi_encoder *e, const struct tpi_narrow *n)
{
	e->n = e->c.n = n;
	/* Where groups are not whole, they are counted from the first. */
	e->c.first_group = 0;
	e->n_saturated = 0;
	e->nonfinite = false;
	tpi_fit_clear(&e->fit);
}

enum tp_status
tpi_encoder_init(struct tpi_encoder *e, const struct tpi_walk *w, bool measures,
    struct tp_err *err)
{
	enum tp_status rc;

	if (suits(e, w, measures)) {
		take_over(e, w->n);
		return TP_OK;
	}
	tpi_encoder_release(e);
	*e = (struct tpi_encoder){
	    .n = w->n,
	    .measures = measures,
	    .fits = w->whole_groups,
	    .size = code_size(w->n),
	    .c = {.n = w->n},
	};
	rc = tpi_chunk_init(&e->c, w, err);
	if (!rc && e->fits)
		rc = tpi_fit_open(&e->fit, e->n, tpi_walk_max_groups(w), err);
	if (!rc && tpi_narrow_casts(e->n))
		rc = find_limit(e, err);
	if (!rc && !get_buffers(e))
		rc = tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for codes");
	if (rc)
		tpi_encoder_release(e);
	return rc;
}

void
tpi_encoder_release(struct tpi_encoder *e)
{
	const struct tp_alloc *alloc = e->n ? e->n->alloc : NULL;
	struct tpi_narrow_chunk *c = &e->c;

	if (e->fit.n_groups)
		tpi_fit_close(&e->fit);
	tp_mem_free(alloc, e->codes, c->max, e->size);
	tp_mem_free(alloc, e->pairs, c->max / 2 + 1, 1);
	tp_mem_free(alloc, e->head, piece_elems(c), sizeof(float));
	tp_mem_free(alloc, e->tail, piece_elems(c), sizeof(float));
	tp_mem_free(alloc, e->wholes, max_wholes(c), sizeof(*e->wholes));
	tpi_chunk_release(c);
	*e = (struct tpi_encoder){.n = NULL};
}

uint64_t
tpi_encoder_nbytes(const struct tpi_walk *w)
{
	uint64_t element = sizeof(float) + sizeof(uint16_t) +
			   tp_dtype_bits(w->n->e->dtype) / 8;

	return w->max * element + 2 * CHUNK * sizeof(float);
}

/* What can be done with a chunk before its codes are known. */
static enum tp_status
prepare(struct tpi_encoder *e, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (e->fits) {
		rc = tpi_fit_chunk(&e->fit, &e->c, err);
		e->nonfinite = e->fit.nonfinite;
	} else if (tpi_narrow_casts(e->n)) {
		rc = tpi_check_finite(&e->c, &e->largest, err);
		e->nonfinite = rc != TP_OK;
	}
	return rc;
}

/*
 * n elements from number i on; what saturates is counted only where it may. By
 * way of f32 an f64 would be rounded twice.
 */
static enum tp_status
cast(struct tpi_encoder *e, size_t i, size_t n, float *y, struct tp_err *err)
{
	struct tp_cast_stats stats = {0};
	enum tp_dtype dtype = e->n->recipe.scheme->dtype;
	bool wide = e->n->e->dtype == TP_DTYPE_F64;
	const void *x = wide ? (const void *)(e->c.raw + i * sizeof(double))
			     : (const void *)(e->c.x + i);
	uint8_t *codes = e->codes + i * e->size;
	enum tp_status rc = tp_convert(dtype, codes,
	    wide ? TP_DTYPE_F64 : TP_DTYPE_F32, x, n, TP_OVERFLOW_SATURATE, 0,
	    e->largest > e->limit ? &stats : NULL, err);

	e->n_saturated += stats.n_overflow;
	if (!rc && y)
		rc = tp_convert(TP_DTYPE_F32, y, dtype, codes, n,
		    TP_OVERFLOW_INF, 0, NULL, err);
	if (!rc && !tp_host_is_little())
		tp_swap_bytes(codes, n, e->size);
	return rc;
}

/* y: what n elements from number i on become, unless NULL. */
static enum tp_status
there_and_back(
    struct tpi_encoder *e, size_t i, size_t n, float *y, struct tp_err *err)
{
	const struct tpi_narrow *narrow = e->n;
	const struct tpi_narrow_chunk *c = &e->c;
	const float *scale = e->fits ? e->fit.scale : narrow->scale;
	const int16_t *zero = e->fits ? e->fit.zero : narrow->zero;
	int8_t *codes = (int8_t *)e->codes + i;

	if (tpi_narrow_casts(narrow))
		return cast(e, i, n, y, err);
	e->n_saturated += tp_quant_store(&narrow->groups, &narrow->grid,
	    c->first_group, c->first + i, c->x + i, n, scale, zero, codes);
	if (y)
		tp_quant_load(&narrow->groups, narrow->grid.is_signed,
		    c->first_group, c->first + i, codes, n, scale, zero, y);
	return TP_OK;
}

/* Where do pieces begin and end in the chunk? */
static void
divide(struct tpi_encoder *e)
{
	size_t past = (size_t)(e->c.first % CHUNK), n = e->c.n_elems;

	e->n_head = past ? CHUNK - past : 0;
	if (e->n_head > n)
		e->n_head = n;
	e->n_wholes = (n - e->n_head) / CHUNK;
	e->n_tail = (n - e->n_head) % CHUNK;
}

/* A piece that lies in the chunk as a whole; its numbers are not kept. */
static enum tp_status
measure_whole(struct tpi_encoder *e, size_t k, struct tp_err *err)
{
	size_t i = e->n_head + k * CHUNK;
	enum tp_status rc = there_and_back(e, i, CHUNK, e->tail, err);

	e->wholes[k] = (struct tp_compare){0};
	if (!rc)
		tp_compare_add_finite(
		    &e->wholes[k], e->tail, e->c.x + i, CHUNK);
	return rc;
}

enum tp_status
tpi_encode(struct tpi_encoder *e, struct tp_err *err)
{
	enum tp_status rc = tpi_chunk_load(&e->c, err);

	if (!rc)
		rc = prepare(e, err);
	if (rc)
		return rc;
	if (!e->measures)
		return there_and_back(e, 0, e->c.n_elems, NULL, err);
	divide(e);
	if (e->n_head)
		rc = there_and_back(e, 0, e->n_head, e->head, err);
	for (size_t k = 0; !rc && k < e->n_wholes; k++)
		rc = measure_whole(e, k, err);
	if (!rc && e->n_tail)
		rc = there_and_back(
		    e, e->c.n_elems - e->n_tail, e->n_tail, e->tail, err);
	return rc;
}

void
tpi_pair_codes(struct tpi_pairing *p, const int8_t *codes, size_t n,
    bool is_last, uint8_t *out, size_t *n_out)
{
	*n_out = 0;
	if (p->has_left && n > 0) {
		const int8_t pair[2] = {p->left, *codes++};

		tp_quant_pack(pair, 2, out);
		p->has_left = false;
		*n_out = 1;
		n--;
	}
	tp_quant_pack(codes, n / 2 * 2, out + *n_out);
	*n_out += n / 2;
	if (n % 2) {
		p->left = codes[n - 1];
		p->has_left = true;
	}
	if (p->has_left && is_last)
		out[(*n_out)++] = (uint8_t)(p->left & 15);
}
