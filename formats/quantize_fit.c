/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_fit.c - scales of a chunk of blocks, or of a whole tensor */
#include "quantize.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/checked.h"

#include "banned.h"

/* NULL stays where nothing is needed. */
static bool
get(struct tpi_fit *f, size_t n, size_t size, void *out)
{
	void *p = tp_mem_array(f->alloc, n, size);

	memcpy(out, &p, sizeof(p));
	return p != NULL;
}

void
tpi_fit_clear(struct tpi_fit *f)
{
	f->n_zero_groups = 0;
	f->least = INFINITY;
	f->most = 0;
	f->nonfinite = false;
}

enum tp_status
tpi_fit_open(struct tpi_fit *f, const struct tpi_narrow *n, size_t n_groups,
    struct tp_err *err)
{
	size_t n_tried;
	bool ok;

	*f = (struct tpi_fit){.alloc = n->alloc,
	    .n_groups = n_groups,
	    .n_tries =
		n->recipe.calibrate == TP_CALIBRATE_MSE ? TP_QUANT_TRIES : 0};
	tpi_fit_clear(f);
	ok = get(f, n_groups, sizeof(float), &f->low) &&
	     get(f, n_groups, sizeof(float), &f->high) &&
	     get(f, n_groups, sizeof(float), &f->scale) &&
	     get(f, n_groups, sizeof(int16_t), &f->zero);
	if (ok && f->n_tries)
		ok = !tp_mul_size(n_groups, f->n_tries, &n_tried) &&
		     get(f, n_tried, sizeof(float), &f->try_scale) &&
		     get(f, n_tried, sizeof(int16_t), &f->try_zero) &&
		     get(f, n_tried, sizeof(double), &f->misfit);
	if (ok)
		return TP_OK;
	tpi_fit_close(f);
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "tensor '%s': no memory for %zu scales", TP_BRIEF(n->e->name),
	    n_groups);
}

void
tpi_fit_close(struct tpi_fit *f)
{
	size_t n_tried = f->n_groups * f->n_tries;

	tp_mem_free(f->alloc, f->low, f->n_groups, sizeof(float));
	tp_mem_free(f->alloc, f->high, f->n_groups, sizeof(float));
	tp_mem_free(f->alloc, f->scale, f->n_groups, sizeof(float));
	tp_mem_free(f->alloc, f->zero, f->n_groups, sizeof(int16_t));
	tp_mem_free(f->alloc, f->try_scale, n_tried, sizeof(float));
	tp_mem_free(f->alloc, f->try_zero, n_tried, sizeof(int16_t));
	tp_mem_free(f->alloc, f->misfit, n_tried, sizeof(double));
	f->low = f->high = f->scale = f->try_scale = NULL;
	f->zero = f->try_zero = NULL;
	f->misfit = NULL;
}

static const char *
name_of(float x)
{
	if (isnan(x))
		return "NaN";
	return x < 0 ? "-infinity" : "infinity";
}

static enum tp_status
not_finite(const struct tpi_narrow_chunk *c, size_t i, struct tp_err *err)
{
	return tp_fail(err, TP_ERANGE, TP_NO_OFFSET,
	    "tensor '%s': element %" PRIu64 " is %s, which no code stands for",
	    TP_BRIEF(c->n->e->name), c->first + i, name_of(c->x[i]));
}

enum tp_status
tpi_check_finite(
    const struct tpi_narrow_chunk *c, float *largest, struct tp_err *err)
{
	const size_t n = c->n_elems;
	const struct tp_quant_groups one = {.outer = 1,
	    .size = n,
	    .inner = 1,
	    .block = n,
	    .n_blocks = 1,
	    .n_elems = n,
	    .n_groups = 1};
	float low = 0, high = 0;
	size_t i = tp_quant_range_add(&one, 0, 0, c->x, n, &low, &high);

	if (i < n)
		return not_finite(c, i, err);
	*largest = -low > high ? -low : high;
	return TP_OK;
}

/* Widen the ranges by the chunk. */
static enum tp_status
add_ranges(
    struct tpi_fit *f, const struct tpi_narrow_chunk *c, struct tp_err *err)
{
	size_t n = tp_quant_range_add(&c->n->groups, c->first_group, c->first,
	    c->x, c->n_elems, f->low, f->high);

	if (n == c->n_elems)
		return TP_OK;
	f->nonfinite = true;
	return not_finite(c, n, err);
}

/* A scale for each range, and for each part of it that is tried. */
static void
fit_ranges(struct tpi_fit *f, const struct tpi_narrow *n, size_t n_groups)
{
	for (size_t i = 0; i < n_groups; i++) {
		tp_quant_fit(
		    &n->grid, f->low[i], f->high[i], &f->scale[i], &f->zero[i]);
		f->n_zero_groups += f->low[i] == 0 && f->high[i] == 0;
		for (unsigned k = 0; k < f->n_tries; k++) {
			size_t at = k * f->n_groups + i;

			tp_quant_fit(&n->grid, f->low[i] * tp_quant_try(k),
			    f->high[i] * tp_quant_try(k), &f->try_scale[at],
			    &f->try_zero[at]);
			f->misfit[at] = 0;
		}
	}
}

static void
add_misfits(struct tpi_fit *f, const struct tpi_narrow_chunk *c)
{
	for (unsigned k = 0; k < f->n_tries; k++) {
		size_t at = k * f->n_groups;

		tp_quant_misfit_add(&c->n->groups, &c->n->grid, c->first_group,
		    c->first, c->x, c->n_elems, f->try_scale + at,
		    f->try_zero + at, f->misfit + at);
	}
}

/* Of equals the widest range. Then look at what scales there are. */
static void
choose(struct tpi_fit *f, size_t n_groups)
{
	for (size_t i = 0; i < n_groups; i++) {
		size_t best = i;
		float a;

		for (unsigned k = 1; k < f->n_tries; k++)
			if (f->misfit[k * f->n_groups + i] < f->misfit[best])
				best = k * f->n_groups + i;
		if (f->n_tries) {
			f->scale[i] = f->try_scale[best];
			f->zero[i] = f->try_zero[best];
		}
		a = fabsf(f->scale[i]);
		f->least = a < f->least ? a : f->least;
		f->most = a > f->most ? a : f->most;
	}
}

static void
clear_ranges(struct tpi_fit *f, size_t n_groups)
{
	memset(f->low, 0, n_groups * sizeof(*f->low));
	memset(f->high, 0, n_groups * sizeof(*f->high));
}

enum tp_status
tpi_fit_chunk(
    struct tpi_fit *f, const struct tpi_narrow_chunk *c, struct tp_err *err)
{
	size_t n_groups = (size_t)c->n_groups;
	enum tp_status rc;

	clear_ranges(f, n_groups);
	rc = add_ranges(f, c, err);
	if (rc)
		return rc;
	fit_ranges(f, c->n, n_groups);
	add_misfits(f, c);
	choose(f, n_groups);
	return TP_OK;
}

/* Give every chunk to the ranges, or to what is tried. */
static enum tp_status
pass(struct tpi_fit *f, const struct tpi_narrow *n, bool is_first,
    struct tp_err *err)
{
	struct tpi_narrow_chunk c;
	struct tpi_walk w;
	enum tp_status rc = tpi_walk_open(&w, n, false, err);
	bool more = true;

	if (rc)
		return rc;
	rc = tpi_chunk_init(&c, &w, err);
	while (!rc && more) {
		rc = tpi_walk_next(&w, &c, &more, err);
		if (rc || !more)
			break;
		if (is_first)
			rc = add_ranges(f, &c, err);
		else
			add_misfits(f, &c);
	}
	tpi_chunk_release(&c);
	tpi_walk_close(&w);
	return rc;
}

enum tp_status
tpi_fit_whole(struct tpi_fit *f, struct tpi_narrow *n, struct tp_err *err)
{
	enum tp_status rc;

	clear_ranges(f, f->n_groups);
	rc = pass(f, n, true, err);
	if (!rc && n->recipe.calibrate == TP_CALIBRATE_PERCENTILE)
		rc = tpi_fit_percentile(f, n, err);
	if (rc)
		return rc;
	fit_ranges(f, n, f->n_groups);
	if (f->n_tries)
		rc = pass(f, n, false, err);
	if (rc)
		return rc;
	choose(f, f->n_groups);
	memcpy(n->scale, f->scale, f->n_groups * sizeof(*n->scale));
	memcpy(n->zero, f->zero, f->n_groups * sizeof(*n->zero));
	return TP_OK;
}
