/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_decide.c - what becomes of each entry of a quantized reader */
#include "quantize_reader.h"

#include <inttypes.h>
#include <pthread.h>

#include "tp/parallel.h"

#include "banned.h"

/* Numbers that stand for infinity where f16 has nothing larger than 65504. */
#define INFINITE_ENOUGH 1e30

static bool
is_real(enum tp_dtype dtype)
{
	return dtype == TP_DTYPE_F16 || dtype == TP_DTYPE_BF16 ||
	       dtype == TP_DTYPE_F32 || dtype == TP_DTYPE_F64;
}

static enum tp_status
keep_scales(struct tpi_narrow *n, struct tp_err *err)
{
	size_t count = (size_t)n->groups.n_groups;

	n->scale = tp_mem_array(n->alloc, count, sizeof(*n->scale));
	n->zero = tp_mem_array(n->alloc, count, sizeof(*n->zero));
	return n->scale && n->zero ? TP_OK : tpi_quantize_no_memory(err);
}

/* Ask for a recipe; see that it is one. */
static enum tp_status
ask_recipe(struct tpi_quantized *q, size_t i, struct tp_recipe *recipe,
    struct tp_err *err)
{
	const struct tp_entry *e = tp_reader_entry(q->inner, i);
	enum tp_status rc;

	if (q->graph)
		recipe->why = tpi_quantize_graph_why(q->graph, i);
	if (q->options.half_graph) {
		if (!recipe->why)
			recipe->scheme = tp_scheme_find("f16");
		return TP_OK;
	}
	rc = q->options.recipe(q->options.ctx, q->inner, i, recipe, err);
	if (rc || !recipe->scheme)
		return rc;
	if (!is_real(e->dtype) || e->n_elems == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': elements of dtype %s cannot be narrowed",
		    TP_BRIEF(e->name), tp_dtype_name(e->dtype));
	if (recipe->why)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "tensor '%s': %s",
		    TP_BRIEF(e->name), recipe->why);
	if (recipe->calibrate == TP_CALIBRATE_PERCENTILE &&
	    (recipe->per == TP_PER_BLOCK || !(recipe->percentile > 0) ||
		recipe->percentile > 100))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': no percentile of blocks, or of %g",
		    TP_BRIEF(e->name), recipe->percentile);
	if (recipe->axis == TP_AXIS_AUTO && q->graph)
		recipe->axis =
		    tpi_quantize_graph_axis(q->graph, i, recipe->per);
	else if (recipe->axis == TP_AXIS_AUTO)
		recipe->axis =
		    recipe->per == TP_PER_BLOCK && e->rank ? e->rank - 1 : 0;
	return q->graph ? tpi_quantize_graph_check(q->graph, recipe, err)
			: TP_OK;
}

/* Ask, and get ready to measure. */
static enum tp_status
ask(struct tpi_quantized *q, size_t i, struct tp_err *err)
{
	const struct tp_entry *e = tp_reader_entry(q->inner, i);
	struct tp_quantized_item *item = &q->items[i];
	struct tpi_narrow *n = &q->narrows[i];
	struct tp_recipe *recipe = &item->recipe;
	enum tp_status rc;

	item->name = e->name;
	item->source = i;
	item->nbytes_before = item->nbytes_after = e->nbytes;
	if (q->place[i]) {
		recipe->why = "it is the scale or zero point of another";
		return TP_OK;
	}
	rc = ask_recipe(q, i, recipe, err);
	if (rc || !recipe->scheme)
		return rc;
	*n = (struct tpi_narrow){
	    .alloc = q->options.alloc,
	    .r = q->inner,
	    .entry = i,
	    .e = e,
	    .recipe = *recipe,
	    .grid = tp_quant_grid_of(recipe->scheme, recipe->symmetric),
	    .proceed = q->options.proceed,
	    .ctx = q->options.ctx,
	    .max_memory = q->options.max_memory,
	    .scale_dtype = recipe->scheme->scale,
	};
	if (q->graph && !tpi_narrow_casts(n))
		n->scale_dtype = TP_DTYPE_F32;
	if (tpi_narrow_casts(n))
		return TP_OK;
	rc = tp_quant_groups_init(&n->groups, e->shape, e->rank, recipe->per,
	    recipe->axis, recipe->block, err);
	if (rc || tpi_narrow_by_chunk(n))
		return rc;
	return keep_scales(n, err);
}

/* Nothing that is measured may change what becomes of the tensor then. */
static bool
puts_off(const struct tpi_quantized *q, const struct tp_recipe *recipe)
{
	return q->options.measure_later && !q->options.accept &&
	       !q->options.half_graph && !recipe->keep_nonfinite;
}

/* What measuring has shown. An error is large, and one is enough. */
struct measured {
	struct tpi_quantized *q;
	struct result {
		enum tp_status status;
		bool nonfinite;
	} * results;	   /* of each entry */
	struct tp_err err; /* of entry first, which is the first that failed */
	size_t first;
	pthread_mutex_t lock;
};

/* Is that a tensor to be kept, and no failure? */
static bool
is_kept(const struct tp_quantized_item *item, const struct result *result)
{
	return result->nonfinite && item->recipe.keep_nonfinite;
}

/* A tp_part_fn. */
static void
measure_one(void *ctx, size_t i)
{
	struct measured *m = ctx;
	struct tpi_quantized *q = m->q;
	struct tp_quantized_item *item = &q->items[i];
	struct result *result = &m->results[i];
	struct tp_err err = TP_ERR_INIT;

	if (!item->recipe.scheme)
		return;
	result->status =
	    (puts_off(q, &item->recipe) ? tpi_measure_later : tpi_measure)(
		&q->narrows[i], item, &result->nonfinite, &err);
	if (!result->status || is_kept(item, result))
		return;
	pthread_mutex_lock(&m->lock);
	if (i < m->first) {
		m->first = i;
		m->err = err;
	}
	pthread_mutex_unlock(&m->lock);
}

static enum tp_status
count_bytes(struct tpi_quantized *q, size_t i, struct tp_err *err)
{
	struct tpi_narrow *n = &q->narrows[i];
	struct tp_quantized_item *item = &q->items[i];

	item->nbytes_after = 0;
	for (int part = 0; part < TPI_N_PARTS; part++) {
		enum tp_dtype dtype =
		    tpi_narrow_dtype(n, (enum tpi_narrow_part)part);
		uint64_t nbytes = 0;
		enum tp_status rc;

		if (dtype == TP_DTYPE_NONE)
			continue;
		rc = tp_dtype_nbytes(dtype,
		    tpi_narrow_count(n, (enum tpi_narrow_part)part), &nbytes,
		    err);
		if (rc)
			return rc;
		item->nbytes_after += nbytes;
	}
	return TP_OK;
}

static void
keep(struct tpi_quantized *q, size_t i, const char *why)
{
	struct tp_quantized_item *item = &q->items[i];

	q->narrows[i].recipe.scheme = NULL;
	item->recipe.scheme = NULL;
	item->recipe.why = why;
	item->nbytes_after = item->nbytes_before;
}

/*
 * A number that f16 cannot hold is a wrong one in all that is computed with it,
 * unless it only stands for infinity, as in masks.
 */
static enum tp_status
check_half(const struct tpi_quantized *q, const struct tp_quantized_item *item,
    struct tp_err *err)
{
	if (!q->options.half_graph || !item->n_saturated ||
	    item->errors.max_abs >= INFINITE_ENOUGH)
		return TP_OK;
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "the graph cannot compute with f16: tensor '%s' has %" PRIu64
	    " numbers beyond 65504",
	    TP_BRIEF(item->name), item->n_saturated);
}

/* Look at what was measured: fail, keep as it is, or go on. */
static enum tp_status
judge(const struct measured *m, size_t i, struct tp_err *err)
{
	struct tpi_quantized *q = m->q;
	struct tp_quantized_item *item = &q->items[i];
	const char *why = NULL;

	if (!item->recipe.scheme)
		return TP_OK;
	if (is_kept(item, &m->results[i])) {
		keep(q, i, "a value is NaN or infinite");
		return TP_OK;
	}
	if (m->results[i].status) {
		if (err)
			*err = m->err;
		return m->results[i].status;
	}
	if (check_half(q, item, err))
		return TP_EUNSUPPORTED;
	if (count_bytes(q, i, err))
		return TP_ELIMIT;
	if (q->options.accept && !q->options.half_graph)
		why = q->options.accept(q->options.ctx, item);
	if (why)
		keep(q, i, why);
	return TP_OK;
}

/* Mark, by a place that is not 0, what belongs to quantizers already. */
static void
mark_parts(struct tpi_quantized *q)
{
	for (size_t i = 0; i < q->n; i++) {
		const struct tp_quant_info *info =
		    tp_reader_entry(q->inner, i)->quant;

		if (!info)
			continue;
		q->place[info->scale] = 1;
		if (info->zero_point != TP_NONE)
			q->place[info->zero_point] = 1;
	}
}

enum tp_status
tpi_quantize_decide(struct tpi_quantized *q, struct tp_err *err)
{
	const struct tp_alloc *alloc = q->options.alloc;
	struct measured m = {.q = q, .err = TP_ERR_INIT, .first = SIZE_MAX};
	enum tp_status rc = TP_OK;

	mark_parts(q);
	for (size_t i = 0; !rc && i < q->n; i++)
		rc = ask(q, i, err);
	if (rc)
		return rc;
	m.results = tp_mem_array(alloc, q->n, sizeof(*m.results));
	if (!m.results || pthread_mutex_init(&m.lock, NULL)) {
		tp_mem_free(alloc, m.results, q->n, sizeof(*m.results));
		return tpi_quantize_no_memory(err);
	}
	tp_parallel(q->options.n_threads, q->n, measure_one, &m);
	for (size_t i = 0; !rc && i < q->n; i++)
		rc = judge(&m, i, err);
	pthread_mutex_destroy(&m.lock);
	tp_mem_free(alloc, m.results, q->n, sizeof(*m.results));
	return rc;
}
