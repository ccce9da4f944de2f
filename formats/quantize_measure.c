/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_measure.c - the numbers that codes stand for, against the originals
 */
#include "quantize.h"

#include <float.h>
#include <string.h>

#include "banned.h"

#define CHUNK ((size_t)TP_COMPARE_CHUNK)

/*
 * Chunks of blocks end anywhere; a comparison wants the same pieces always, so
 * they are collected here. Large: not for the stack.
 */
struct measure {
	struct tpi_narrow *n;
	struct tp_quantized_item *item;
	bool by_chunk;	    /* scales are chosen while elements are measured */
	struct tpi_fit fit; /* of a chunk, if by_chunk */
	float largest;	    /* magnitude in a chunk, of casts */
	float limit;	    /* … that the dtype of a cast has */
	size_t filled;
	float before[CHUNK], after[CHUNK];
	int8_t codes[CHUNK * sizeof(uint16_t)]; /* of casts: any dtype */
};

static void
flush(struct measure *m)
{
	tp_compare_add_finite(&m->item->errors, m->after, m->before, m->filled);
	m->filled = 0;
}

/* There and back; what saturates is counted only where something may. */
static enum tp_status
cast(struct measure *m, const float *x, size_t n, float *y, struct tp_err *err)
{
	struct tp_cast_stats stats = {0};
	enum tp_dtype dtype = m->n->recipe.scheme->dtype;
	enum tp_status rc = tp_convert(dtype, m->codes, TP_DTYPE_F32, x, n,
	    TP_OVERFLOW_SATURATE, 0, m->largest > m->limit ? &stats : NULL,
	    err);

	m->item->n_saturated += stats.n_overflow;
	return rc ? rc
		  : tp_convert(TP_DTYPE_F32, y, dtype, m->codes, n,
			TP_OVERFLOW_INF, 0, NULL, err);
}

/* y: what n elements of the chunk from number i on become. */
static enum tp_status
there_and_back(struct measure *m, const struct tpi_walk *w, size_t i, size_t n,
    float *y, struct tp_err *err)
{
	const struct tpi_narrow *narrow = m->n;
	const float *scale = m->by_chunk ? m->fit.scale : narrow->scale;
	const int16_t *zero = m->by_chunk ? m->fit.zero : narrow->zero;

	if (tpi_narrow_casts(narrow))
		return cast(m, w->x + i, n, y, err);
	m->item->n_saturated += tp_quant_store(&narrow->groups, &narrow->grid,
	    w->first_group, w->first + i, w->x + i, n, scale, zero, m->codes);
	tp_quant_load(&narrow->groups, narrow->grid.is_signed, w->first_group,
	    w->first + i, m->codes, n, scale, zero, y);
	return TP_OK;
}

static enum tp_status
add_chunk(struct measure *m, const struct tpi_walk *w, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	size_t n;

	for (size_t i = 0; !rc && i < w->n_elems; i += n) {
		n = w->n_elems - i < CHUNK - m->filled ? w->n_elems - i
						       : CHUNK - m->filled;
		rc = there_and_back(m, w, i, n, m->after + m->filled, err);
		if (!rc && n == CHUNK) {
			tp_compare_add_finite(
			    &m->item->errors, m->after, w->x + i, n);
			continue;
		}
		memcpy(m->before + m->filled, w->x + i, n * sizeof(float));
		m->filled += n;
		if (m->filled == CHUNK)
			flush(m);
	}
	return rc;
}

/* Those of channels are needed again, to write codes. */
static void
keep_scales(struct measure *m, const struct tpi_walk *w)
{
	size_t n = (size_t)w->n_groups;

	memcpy(m->n->scale + w->first_group, m->fit.scale,
	    n * sizeof(*m->n->scale));
	memcpy(
	    m->n->zero + w->first_group, m->fit.zero, n * sizeof(*m->n->zero));
}

/* What can be done with a chunk before its codes are known. */
static enum tp_status
prepare(struct measure *m, const struct tpi_walk *w, bool *nonfinite,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (m->by_chunk) {
		rc = tpi_fit_chunk(&m->fit, w, err);
		*nonfinite = m->fit.nonfinite;
		if (!rc && m->n->scale)
			keep_scales(m, w);
	} else if (tpi_narrow_casts(m->n)) {
		rc = tpi_check_finite(w, &m->largest, err);
		*nonfinite = rc != TP_OK;
	}
	return rc;
}

static enum tp_status
walk(struct measure *m, struct tpi_walk *w, bool *nonfinite, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	bool more = true;

	if (m->by_chunk)
		rc = tpi_fit_open(&m->fit, m->n, tpi_walk_max_groups(w), err);
	while (!rc) {
		rc = tpi_walk_next(w, &more, err);
		if (rc || !more)
			break;
		rc = prepare(m, w, nonfinite, err);
		if (!rc)
			rc = add_chunk(m, w, err);
	}
	flush(m);
	return rc;
}

/* The largest number of the dtype of a cast. */
static enum tp_status
find_limit(struct measure *m, struct tp_err *err)
{
	enum tp_dtype dtype = m->n->recipe.scheme->dtype;
	const float most = FLT_MAX;
	enum tp_status rc = tp_convert(dtype, m->codes, TP_DTYPE_F32, &most, 1,
	    TP_OVERFLOW_SATURATE, 0, NULL, err);

	return rc ? rc
		  : tp_convert(TP_DTYPE_F32, &m->limit, dtype, m->codes, 1,
			TP_OVERFLOW_INF, 0, NULL, err);
}

static void
note_fit(struct tp_quantized_item *item, const struct tpi_fit *f)
{
	item->n_zero_groups = f->n_zero_groups;
	item->least_scale = f->least;
	item->most_scale = f->most;
}

static enum tp_status
fit_whole(struct tpi_narrow *n, struct tp_quantized_item *item, bool *nonfinite,
    struct tp_err *err)
{
	struct tpi_fit f;
	enum tp_status rc =
	    tpi_fit_open(&f, n, (size_t)n->groups.n_groups, err);

	if (rc)
		return rc;
	rc = tpi_fit_whole(&f, n, err);
	*nonfinite = f.nonfinite;
	note_fit(item, &f);
	tpi_fit_close(&f);
	return rc;
}

enum tp_status
tpi_measure(struct tpi_narrow *n, struct tp_quantized_item *item,
    bool *nonfinite, struct tp_err *err)
{
	bool by_row = tpi_narrow_by_row(n);
	struct tpi_walk w = {.n = n};
	struct measure *m;
	enum tp_status rc = TP_OK;

	*nonfinite = false;
	m = tp_mem_array(n->alloc, 1, sizeof(*m));
	if (!m)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory to measure a tensor");
	m->n = n;
	m->item = item;
	m->by_chunk = by_row || tpi_narrow_by_chunk(n);
	if (!m->by_chunk && !tpi_narrow_casts(n))
		rc = fit_whole(n, item, nonfinite, err);
	if (tpi_narrow_casts(n))
		rc = find_limit(m, err);
	if (!rc)
		rc = tpi_walk_open(&w, n, by_row, err);
	if (!rc)
		rc = walk(m, &w, nonfinite, err);
	if (!rc && m->by_chunk)
		note_fit(item, &m->fit);
	if (m->by_chunk && m->fit.n_groups)
		tpi_fit_close(&m->fit);
	item->n_groups = tpi_narrow_casts(n) ? 0 : n->groups.n_groups;
	item->measured = !rc;
	tpi_walk_close(&w);
	tp_mem_free(n->alloc, m, 1, sizeof(*m));
	return rc;
}
