/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_reader.c - a reader over a reader, with tensors narrowed
 *
 * It has the files and storages of the one underneath, under the same numbers,
 * so that what is kept is still copied as it lies; computed storages follow.
 */
#include "quantize.h"

#include <inttypes.h>
#include <string.h>

#include "tp/parallel.h"
#include "tp/shape.h"

#include "dequantize.h"
#include "quantize_graph.h"

#include "banned.h"

#define INFINITE_ENOUGH 1e30

/* What a computed storage holds. */
struct computed {
	size_t narrow;
	enum tpi_narrow_part part;
};

struct quantized {
	struct tp_reader *inner;
	struct tp_quantize_options options;
	size_t n; /* entries of the reader underneath */
	struct tp_quantized_item *items;
	struct tpi_narrow *narrows;
	struct result {
		enum tp_status status;
		bool nonfinite;
		struct tp_err err;
	} * results;
	size_t *place;	  /* of each entry in the new reader */
	size_t *storages; /* of each entry and part, or TP_NONE */
	size_t *first_of; /* for each storage: entry seen first, or TP_NONE */
	struct computed *computed;
	size_t n_kept_storages, n_computed;
	struct tpi_quantize_graph *graph; /* NULL: there is none to keep */
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a quantized model");
}

/*
 * ---- the format's functions ----
 */

static enum tp_status
quantized_stream(
    struct tp_reader *r, size_t i, struct tp_stream **out, struct tp_err *err)
{
	struct quantized *q = r->priv;
	const struct computed *c;

	if (i < q->n_kept_storages)
		return tp_stream_storage(q->inner, i, out, err);
	c = &q->computed[i - q->n_kept_storages];
	return tpi_narrow_stream(
	    &q->narrows[c->narrow], c->part, q->options.n_threads, out, err);
}

static enum tp_status
quantized_attach(struct tp_reader *r, size_t i, struct tp_err *err)
{
	struct quantized *q = r->priv;
	size_t k = 0;

	if (q->graph &&
	    !tp_str_cmp(r->attachments[i].name, TP_STR(TP_ATTACHMENT_ONNX)))
		return tpi_quantize_graph_attach(
		    q->graph, &r->arena, &r->attachments[i], err);
	while (tp_str_cmp(
	    tp_reader_attachment_name(q->inner, k), r->attachments[i].name))
		k++;
	return tp_reader_attachment(q->inner, k, &r->attachments[i], err);
}

static void
quantized_close(struct tp_reader *r)
{
	struct quantized *q = r->priv;

	for (size_t i = 0; q && q->narrows && i < q->n; i++) {
		struct tpi_narrow *n = &q->narrows[i];
		size_t count = (size_t)n->groups.n_groups;

		if (n->scale)
			tp_mem_free(r->alloc, n->scale, count, sizeof(float));
		if (n->zero)
			tp_mem_free(r->alloc, n->zero, count, sizeof(int16_t));
	}
	if (q)
		tpi_quantize_graph_close(q->graph);
}

static const struct tp_format quantized_format = {
    .name = "quantized",
    .stream = quantized_stream,
    .attach = quantized_attach,
    .close = quantized_close,
};

/*
 * ---- what becomes of each entry ----
 */

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
	return n->scale && n->zero ? TP_OK : no_memory(err);
}

/* Ask for a recipe; see that it is one. */
static enum tp_status
ask_recipe(
    struct quantized *q, size_t i, struct tp_recipe *recipe, struct tp_err *err)
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
ask(struct quantized *q, size_t i, struct tp_err *err)
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

/* A tp_part_fn. */
static void
measure_one(void *ctx, size_t i)
{
	struct quantized *q = ctx;
	struct result *result = &q->results[i];

	if (q->items[i].recipe.scheme)
		result->status = tpi_measure(&q->narrows[i], &q->items[i],
		    &result->nonfinite, &result->err);
}

static enum tp_status
count_bytes(struct quantized *q, size_t i, struct tp_err *err)
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
keep(struct quantized *q, size_t i, const char *why)
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
check_half(const struct quantized *q, const struct tp_quantized_item *item,
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
judge(struct quantized *q, size_t i, struct tp_err *err)
{
	struct tp_quantized_item *item = &q->items[i];
	struct result *result = &q->results[i];
	const char *why = NULL;

	if (!item->recipe.scheme)
		return TP_OK;
	if (result->nonfinite && item->recipe.keep_nonfinite) {
		keep(q, i, "a value is NaN or infinite");
		return TP_OK;
	}
	if (result->status) {
		if (err)
			*err = result->err;
		return result->status;
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
mark_parts(struct quantized *q)
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

static enum tp_status
decide(struct quantized *q, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	mark_parts(q);
	for (size_t i = 0; !rc && i < q->n; i++)
		rc = ask(q, i, err);
	if (rc)
		return rc;
	tp_parallel(q->options.n_threads, q->n, measure_one, q);
	for (size_t i = 0; !rc && i < q->n; i++)
		rc = judge(q, i, err);
	return rc;
}

/*
 * ---- the new reader ----
 */

enum tp_status
tpi_reader_copy_files(
    struct tp_reader *r, const struct tp_reader *inner, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < inner->n_sources; i++) {
		struct tpi_source *source = NULL;
		size_t index;

		rc = tpi_source_again(inner->sources[i], &source, err);
		if (!rc)
			rc = tpi_reader_adopt_source(r, source, &index, err);
	}
	for (size_t i = 0; !rc && i < inner->n_storages; i++) {
		size_t index;

		rc = tpi_reader_add_storage(
		    r, &inner->storages[i], TP_STR(""), &index, err);
	}
	for (size_t i = 0; !rc && i < inner->n_meta; i++)
		if (tp_str_cmp(inner->meta[i].key, TP_STR(TP_QUANTIZED_KEY)))
			rc = tpi_reader_add_meta(r, inner->meta[i].key,
			    inner->meta[i].value, TP_NO_OFFSET, err);
	return rc;
}

static bool
same_recipe(const struct tp_recipe *a, const struct tp_recipe *b)
{
	return a->scheme == b->scheme && a->symmetric == b->symmetric &&
	       a->per == b->per && a->axis == b->axis && a->block == b->block &&
	       a->calibrate == b->calibrate &&
	       (a->calibrate != TP_CALIBRATE_PERCENTILE ||
		   !(a->percentile < b->percentile ||
		       a->percentile > b->percentile));
}

bool
tpi_same_view(const struct tp_entry *a, const struct tp_entry *b)
{
	size_t dims = a->rank * sizeof(int64_t);

	return a->storage == b->storage && a->dtype == b->dtype &&
	       a->first == b->first && a->rank == b->rank && !a->sparse &&
	       !b->sparse && !a->strides == !b->strides &&
	       (!dims ||
		   (!memcmp(a->shape, b->shape, dims) &&
		       (!a->strides || !memcmp(a->strides, b->strides, dims))));
}

/* The entry whose computed storages this one can share: itself, if none. */
static size_t
twin_of(struct quantized *q, size_t i)
{
	const struct tp_entry *e = q->narrows[i].e;
	size_t *first = &q->first_of[e->storage];

	if (*first == TP_NONE)
		*first = i;
	return tpi_same_view(q->narrows[*first].e, e) &&
		       same_recipe(
			   &q->items[*first].recipe, &q->items[i].recipe)
		   ? *first
		   : i;
}

static enum tp_status
add_computed(struct tp_reader *r, struct quantized *q, size_t i,
    enum tpi_narrow_part part, struct tp_err *err)
{
	const struct tpi_narrow *n = &q->narrows[i];
	struct tp_storage_info info = {.encoding = TP_ENC_OTHER,
	    .file = q->inner->storages[n->e->storage].file};
	enum tp_status rc = tp_dtype_nbytes(tpi_narrow_dtype(n, part),
	    tpi_narrow_count(n, part), &info.nbytes, err);

	if (!rc)
		rc = tpi_reader_add_storage(r, &info, n->e->name,
		    &q->storages[i * TPI_N_PARTS + part], err);
	if (!rc)
		q->computed[q->n_computed++] = (struct computed){i, part};
	return rc;
}

/* The name of a part, where no graph gives it. */
static enum tp_status
name_part(struct tp_reader *r, const struct tpi_narrow *n,
    enum tpi_narrow_part part, struct tp_entry *e, struct tp_err *err)
{
	struct tp_str suffix =
	    part == TPI_SCALES ? TP_STR("_scale") : TP_STR("_zero_point");
	char *name = tpi_arena_array(&r->arena, e->name.len + suffix.len, 1);

	if (!name)
		return no_memory(err);
	memcpy(name, e->name.s, e->name.len);
	memcpy(name + e->name.len, suffix.s, suffix.len);
	e->name = (struct tp_str){name, e->name.len + suffix.len};
	if (tp_reader_find(n->r, e->name) == TP_NONE)
		return TP_OK;
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "tensor '%s' is there already; it would be a part of '%s'",
	    TP_BRIEF(e->name), TP_BRIEF(n->e->name));
}

/* The shape of scales and zero points, where no graph gives it. */
static void
shape_part(const struct tpi_narrow *n, unsigned *rank, int64_t *shape)
{
	*rank = n->recipe.per == TP_PER_BLOCK	  ? n->e->rank
		: n->recipe.per == TP_PER_CHANNEL ? 1
						  : 0;
	if (n->recipe.per == TP_PER_CHANNEL)
		shape[0] = (int64_t)n->groups.n_groups;
	for (unsigned d = 0; n->recipe.per == TP_PER_BLOCK && d < *rank; d++)
		shape[d] = d == n->recipe.axis ? (int64_t)n->groups.n_blocks
					       : n->e->shape[d];
}

static enum tp_status
add_part(struct tp_reader *r, struct quantized *q, size_t i, size_t twin,
    enum tpi_narrow_part part, struct tp_err *err)
{
	const struct tpi_narrow *n = &q->narrows[i];
	int64_t shape[TP_MAX_RANK];
	struct tp_entry e = {.name = n->e->name,
	    .dtype = tpi_narrow_dtype(n, part),
	    .rank = n->e->rank,
	    .shape = part == TPI_CODES ? n->e->shape : shape};
	enum tp_status rc = TP_OK;

	if (e.dtype == TP_DTYPE_NONE)
		return TP_OK;
	if (twin == i)
		rc = add_computed(r, q, i, part, err);
	if (q->graph)
		tpi_quantize_graph_name(q->graph, i, part, &e);
	else if (!rc && part != TPI_CODES)
		rc = name_part(r, n, part, &e, err);
	if (q->graph && part != TPI_CODES)
		tpi_quantize_graph_shape(q->graph, n, &e.rank, shape);
	else if (part != TPI_CODES)
		shape_part(n, &e.rank, shape);
	e.storage = q->storages[twin * TPI_N_PARTS + part];
	return rc ? rc : tpi_reader_add(r, &e, TP_NO_OFFSET, err);
}

static enum tp_status
add_kept(struct tp_reader *r, struct quantized *q, size_t i, struct tp_err *err)
{
	struct tp_entry e = *tp_reader_entry(q->inner, i);

	if (q->graph)
		tpi_quantize_graph_name(q->graph, i, TPI_CODES, &e);
	return tpi_reader_add(r, &e, TP_NO_OFFSET, err);
}

/* Codes, scales and zero points, one after the other. */
static enum tp_status
add_narrowed(
    struct tp_reader *r, struct quantized *q, size_t i, struct tp_err *err)
{
	const struct tpi_narrow *n = &q->narrows[i];
	struct tp_quant_info info = {.per = n->recipe.per,
	    .axis = n->recipe.axis,
	    .block = n->recipe.block,
	    .scale = r->n_entries + 1,
	    .zero_point = TP_NONE};
	size_t twin = twin_of(q, i), at = r->n_entries;
	enum tp_status rc = TP_OK;

	for (int part = 0; !rc && part < TPI_N_PARTS; part++)
		rc = add_part(r, q, i, twin, (enum tpi_narrow_part)part, err);
	if (rc || tpi_narrow_casts(n) || !q->options.records)
		return rc;
	if (tpi_narrow_dtype(n, TPI_ZEROS) != TP_DTYPE_NONE)
		info.zero_point = at + 2;
	return tpi_reader_set_quant(r, at, &info, err);
}

static enum tp_status
add_entries(struct tp_reader *r, struct quantized *q, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < q->n; i++) {
		q->place[i] = r->n_entries;
		rc = q->items[i].recipe.scheme ? add_narrowed(r, q, i, err)
					       : add_kept(r, q, i, err);
	}
	/* Quantizers that were there before, their tensors renumbered. */
	for (size_t i = 0; !rc && i < q->n; i++) {
		const struct tp_quant_info *old =
		    tp_reader_entry(q->inner, i)->quant;
		struct tp_quant_info info;

		if (!old)
			continue;
		info = *old;
		info.scale = q->place[old->scale];
		if (old->zero_point != TP_NONE)
			info.zero_point = q->place[old->zero_point];
		rc = tpi_reader_set_quant(r, q->place[i], &info, err);
	}
	return rc;
}

static enum tp_status
add_attachments(struct tp_reader *r, const struct quantized *q, bool any,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < q->inner->n_attachments; i++) {
		struct tp_str name = q->inner->attachments[i].name;

		if (!any || q->graph ||
		    tp_str_cmp(name, TP_STR(TP_ATTACHMENT_ONNX)))
			rc = tpi_reader_add_attachment(r, name, err);
	}
	return rc;
}

static enum tp_status
build(struct tp_reader *r, struct quantized *q, struct tp_err *err)
{
	enum tp_status rc = tpi_reader_copy_files(r, q->inner, err);
	bool any = false;

	for (size_t i = 0; i < q->n; i++)
		any |= q->items[i].recipe.scheme != NULL;
	if (!rc && q->graph)
		rc = tpi_quantize_graph_change(q->graph, q->narrows, q->n, err);
	if (!rc)
		rc = add_entries(r, q, err);
	if (!rc && any && !q->graph)
		rc = tpi_quantize_record(r, q->narrows, q->place, q->n, err);
	if (!rc)
		rc = add_attachments(r, q, any, err);
	return rc;
}

/* Everything but scales lives in the arena of the new reader. */
static struct quantized *
new_quantized(struct tp_reader *r, struct tp_reader *inner,
    const struct tp_quantize_options *options)
{
	struct tpi_arena *a = &r->arena;
	struct quantized *q = tpi_arena_array(a, 1, sizeof(*q));
	size_t n = tp_reader_n_entries(inner);

	if (!q)
		return NULL;
	q->inner = inner;
	q->options = *options;
	if (!q->options.max_memory)
		q->options.max_memory = (uint64_t)64 << 20;
	q->n_kept_storages = tp_reader_n_storages(inner);
	q->items = tpi_arena_array(a, n, sizeof(*q->items));
	q->narrows = tpi_arena_array(a, n, sizeof(*q->narrows));
	q->results = tpi_arena_array(a, n, sizeof(*q->results));
	q->place = tpi_arena_array(a, n, sizeof(*q->place));
	q->storages = tpi_arena_array(a, n, TPI_N_PARTS * sizeof(*q->storages));
	q->computed = tpi_arena_array(a, n, TPI_N_PARTS * sizeof(*q->computed));
	q->first_of =
	    tpi_arena_array(a, q->n_kept_storages, sizeof(*q->first_of));
	if (!q->items || !q->narrows || !q->results || !q->place ||
	    !q->storages || !q->computed || !q->first_of)
		return NULL;
	for (size_t i = 0; i < q->n_kept_storages; i++)
		q->first_of[i] = TP_NONE;
	q->n = n;
	return q;
}

enum tp_status
tp_quantize_reader(struct tp_reader *inner,
    const struct tp_quantize_options *options, struct tp_reader **out,
    struct tp_err *err)
{
	const struct tp_open_options open = {.alloc = options->alloc,
	    .flags = inner->flags,
	    .limits = inner->limits,
	    .warn = inner->warn,
	    .warn_ctx = inner->warn_ctx};
	struct quantized *q = NULL;
	struct tp_reader *r;
	enum tp_status rc = TP_OK;

	*out = NULL;
	for (size_t i = 0; i < tp_reader_n_meta(inner); i++)
		if (!tp_str_cmp(tp_reader_meta(inner, i)->key,
			TP_STR(TP_QUANTIZED_KEY)))
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "the model is quantized already; --dequantize it "
			    "first");
	r = tpi_reader_new(&open);
	if (!r)
		return no_memory(err);
	r->format = &quantized_format;
	q = new_quantized(r, inner, options);
	r->priv = q;
	rc = q ? TP_OK : no_memory(err);
	if (!rc && options->keep_graph && tpi_has_graph(inner))
		rc = tpi_quantize_graph_open(
		    &q->graph, inner, options->half_graph, &r->arena, err);
	else if (!rc && options->half_graph)
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "there is no graph that could compute with f16");
	if (!rc)
		rc = decide(q, err);
	if (!rc)
		rc = build(r, q, err);
	if (rc) {
		tp_close(r);
		return rc;
	}
	*out = r;
	return TP_OK;
}

const struct tp_quantized_item *
tp_quantized_item(const struct tp_reader *r, size_t i)
{
	const struct quantized *q = r->priv;

	if (r->format != &quantized_format)
		return tpi_dequantized_item(r, i);
	return i < q->n ? &q->items[i] : NULL;
}
