/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequantize_reader.c - a reader over a reader, with codes as f32 again
 *
 * What has scales is told by quantizers (records, or a graph's
 * DequantizeLinear) and by the metadata that tp_quantize_reader leaves.
 */
#include "dequantize.h"

#include <string.h>

#include "dequantize_graph.h"
#include "onnx_dequantize.h"
#include "quantize_graph.h"
#include "stream_cast.h"

#include "banned.h"

struct dequantized {
	struct tp_reader *inner;
	struct tp_quantize_options options;
	size_t n; /* entries of the reader underneath */
	struct tp_quantized_item *items;
	struct tpi_widen *widens;
	size_t *place;	  /* of each entry in the new reader, or TP_NONE */
	size_t *widen_of; /* entry of each computed storage */
	size_t *storage;  /* computed, of each entry */
	size_t *first_of; /* for each storage: entry seen first, or TP_NONE */
	bool *recorded;	  /* the metadata speaks of it */
	size_t n_kept_storages, n_computed;
	struct tpi_dequantize_graph *graph; /* NULL: there is none */
};

/* The graph goes along, changed. */
static bool
keeps_graph(const struct dequantized *d)
{
	return d->graph && d->options.keep_graph;
}

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a dequantized model");
}

/*
 * ---- the format's functions ----
 */

static enum tp_status
cast_stream(const struct dequantized *d, const struct tpi_widen *w,
    struct tp_stream **out, struct tp_err *err)
{
	struct tp_stream *inner = NULL;
	struct tpi_cast cast = {.from = w->codes->dtype,
	    .to = TP_DTYPE_F32,
	    .n_elems = w->codes->n_elems,
	    .overflow = TP_OVERFLOW_INF,
	    .n_threads = d->options.n_threads,
	    .max_memory = w->max_memory / 4,
	    .what = w->codes->name};
	enum tp_status rc = tp_stream_entry(w->r, w->entry, &inner, err);

	return rc ? rc
		  : tpi_stream_cast(w->alloc, inner, &cast, NULL, out, err);
}

static enum tp_status
dequantized_stream(
    struct tp_reader *r, size_t i, struct tp_stream **out, struct tp_err *err)
{
	struct dequantized *d = r->priv;
	const struct tpi_widen *w;

	if (i < d->n_kept_storages)
		return tp_stream_storage(d->inner, i, out, err);
	w = &d->widens[d->widen_of[i - d->n_kept_storages]];
	return w->is_cast ? cast_stream(d, w, out, err)
			  : tpi_widen_stream(w, out, err);
}

static enum tp_status
dequantized_attach(struct tp_reader *r, size_t i, struct tp_err *err)
{
	struct dequantized *d = r->priv;
	size_t k = 0;

	if (keeps_graph(d) &&
	    !tp_str_cmp(r->attachments[i].name, TP_STR(TP_ATTACHMENT_ONNX)))
		return tpi_dequantize_graph_attach(
		    d->graph, &r->arena, &r->attachments[i], err);
	while (tp_str_cmp(
	    tp_reader_attachment_name(d->inner, k), r->attachments[i].name))
		k++;
	return tp_reader_attachment(d->inner, k, &r->attachments[i], err);
}

static void
dequantized_close(struct tp_reader *r)
{
	struct dequantized *d = r->priv;

	if (d)
		tpi_dequantize_graph_close(d->graph);
}

static const struct tp_format dequantized_format = {
    .name = "dequantized",
    .stream = dequantized_stream,
    .attach = dequantized_attach,
    .close = dequantized_close,
};

const struct tp_quantized_item *
tpi_dequantized_item(const struct tp_reader *r, size_t i)
{
	const struct dequantized *d = r->priv;

	return r->format == &dequantized_format && i < d->n ? &d->items[i]
							    : NULL;
}

/*
 * ---- what becomes of each entry ----
 */

static bool
is_code(const struct tp_entry *e)
{
	enum tp_dtype_kind kind = tp_dtype_kind(e->dtype);
	unsigned bits = tp_dtype_bits(e->dtype);

	return (kind == TP_KIND_INT || kind == TP_KIND_UINT) &&
	       (bits == 4 || bits == 8);
}

static bool
is_scale(const struct tp_entry *e)
{
	return e->dtype == TP_DTYPE_F16 || e->dtype == TP_DTYPE_BF16 ||
	       e->dtype == TP_DTYPE_F32;
}

static enum tp_status
refuse(struct tp_err *err, const struct tp_entry *e, const char *why)
{
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "tensor '%s' cannot be dequantized: %s", TP_BRIEF(e->name), why);
}

/* A tpi_record_fn: check that the parts fit, and take them in. */
static enum tp_status
take_in(
    void *ctx, size_t i, const struct tp_quant_info *info, struct tp_err *err)
{
	struct dequantized *d = ctx;
	struct tpi_widen *w = &d->widens[i];
	const struct tp_entry *e = tp_reader_entry(d->inner, i);
	enum tp_status rc;

	*w = (struct tpi_widen){.chosen = true,
	    .is_cast = !info,
	    .alloc = d->options.alloc,
	    .r = d->inner,
	    .entry = i,
	    .codes = e,
	    .max_memory = d->options.max_memory};
	if (!info)
		return TP_OK;
	w->info = *info;
	w->scale = tp_reader_entry(d->inner, info->scale);
	if (info->zero_point != TP_NONE)
		w->zero = tp_reader_entry(d->inner, info->zero_point);
	if (e->n_elems == 0)
		return refuse(err, e, "it has no elements");
	if (!is_code(e))
		return refuse(err, e, "codes of 4 or 8 bits are expected");
	if (!is_scale(w->scale))
		return refuse(
		    err, e, "scales of f16, bf16 or f32 are expected");
	if (w->zero && !is_code(w->zero))
		return refuse(
		    err, e, "zero points of 4 or 8 bits are expected");
	if (info->per != TP_PER_TENSOR && info->axis >= e->rank)
		return refuse(err, e, "it has no such axis");
	rc = tp_quant_groups_init(&w->groups, e->shape, e->rank, info->per,
	    info->axis, info->block, err);
	if (rc)
		return rc;
	if (w->scale->n_elems != w->groups.n_groups ||
	    (w->zero && w->zero->n_elems != w->groups.n_groups))
		return refuse(
		    err, e, "scales or zero points are too many or too few");
	return TP_OK;
}

/* The same for what a record in metadata says. */
static enum tp_status
take_recorded(
    void *ctx, size_t i, const struct tp_quant_info *info, struct tp_err *err)
{
	struct dequantized *d = ctx;

	d->recorded[i] = true;
	return take_in(ctx, i, info, err);
}

/*
 * What a graph that is kept says counts, since it is the graph that changes.
 * Else its DequantizeLinear nodes have told all, but for casts.
 */
static enum tp_status
take_from_graph(struct dequantized *d, size_t i, struct tp_err *err)
{
	const struct tp_entry *e = tp_reader_entry(d->inner, i);
	const struct tpi_onnx_wide *w =
	    d->graph ? tpi_dequantize_graph_about(d->graph, i) : NULL;

	if (!keeps_graph(d)) {
		if (e->quant)
			return take_in(d, i, e->quant, err);
		return w && w->found && w->is_cast ? take_in(d, i, NULL, err)
						   : TP_OK;
	}
	if (!w || !w->found) {
		d->items[i].recipe.why = w ? w->why : NULL;
		return TP_OK;
	}
	return take_in(d, i, w->is_cast ? NULL : &w->info, err);
}

/* Is it wanted? */
static enum tp_status
ask(struct dequantized *d, size_t i, struct tp_err *err)
{
	struct tp_quantized_item *item = &d->items[i];
	struct tpi_widen *w = &d->widens[i];
	enum tp_status rc = TP_OK;

	if (!w->chosen) {
		if (!item->recipe.why || !is_code(tp_reader_entry(d->inner, i)))
			item->recipe.why = "it is not quantized";
		return TP_OK;
	}
	if (d->options.recipe)
		rc = d->options.recipe(
		    d->options.ctx, d->inner, i, &item->recipe, err);
	if (rc)
		return rc;
	if (item->recipe.why) {
		w->chosen = false;
		if (d->recorded[i])
			return refuse(err, w->codes,
			    "its record is one for all tensors; they are "
			    "dequantized together or not at all");
		return TP_OK;
	}
	item->widened = true;
	return tp_dtype_nbytes(
	    TP_DTYPE_F32, w->codes->n_elems, &item->nbytes_after, err);
}

/* Parts of what is widened go, unless another still needs them. */
static void
mark_parts(struct dequantized *d, bool of_chosen, size_t mark)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct tpi_widen *w = &d->widens[i];

		if (w->codes && !w->is_cast && w->chosen == of_chosen) {
			d->place[w->info.scale] = mark;
			if (w->zero)
				d->place[w->info.zero_point] = mark;
		}
	}
}

/* The graph knows what its nodes still need. */
static enum tp_status
drop_parts(struct dequantized *d, struct tp_err *err)
{
	enum tp_status rc;

	if (!keeps_graph(d)) {
		mark_parts(d, true, TP_NONE);
		mark_parts(d, false, 0);
		return TP_OK;
	}
	rc = tpi_dequantize_graph_change(d->graph, d->widens, err);
	for (size_t i = 0; !rc && i < d->n; i++) {
		const struct tpi_onnx_wide *w =
		    tpi_dequantize_graph_about(d->graph, i);

		if (w && w->gone)
			d->place[i] = TP_NONE;
	}
	return rc;
}

static enum tp_status
decide(struct dequantized *d, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < d->n; i++) {
		const struct tp_entry *e = tp_reader_entry(d->inner, i);

		d->items[i].name = e->name;
		d->items[i].source = i;
		d->items[i].nbytes_before = d->items[i].nbytes_after =
		    e->nbytes;
		rc = take_from_graph(d, i, err);
	}
	if (!rc)
		rc = tpi_dequantize_record(d->inner, take_recorded, d, err);
	for (size_t i = 0; !rc && i < d->n; i++)
		rc = ask(d, i, err);
	if (!rc)
		rc = drop_parts(d, err);
	for (size_t i = 0; i < d->n; i++)
		if (d->place[i] == TP_NONE) {
			d->items[i].recipe.why =
			    "it was the scale or zero point of another";
			d->items[i].nbytes_after = 0;
		}
	return rc;
}

/*
 * ---- the new reader ----
 */

static bool
same_part(const struct tp_entry *a, const struct tp_entry *b)
{
	return (!a && !b) || (a && b && tpi_same_view(a, b));
}

/* The entry whose numbers are the same ones: tied weights stay tied. */
static size_t
twin_of(struct dequantized *d, size_t i)
{
	const struct tpi_widen *b = &d->widens[i], *a;
	size_t *first = &d->first_of[b->codes->storage];

	if (*first == TP_NONE)
		*first = i;
	a = &d->widens[*first];
	return a->is_cast == b->is_cast && same_part(a->codes, b->codes) &&
		       same_part(a->scale, b->scale) &&
		       same_part(a->zero, b->zero) &&
		       a->info.per == b->info.per &&
		       a->info.axis == b->info.axis &&
		       a->info.block == b->info.block
		   ? *first
		   : i;
}

static enum tp_status
add_widened(
    struct tp_reader *r, struct dequantized *d, size_t i, struct tp_err *err)
{
	const struct tp_entry *from = d->widens[i].codes;
	struct tp_entry e = {.name = from->name,
	    .dtype = TP_DTYPE_F32,
	    .rank = from->rank,
	    .shape = from->shape};
	struct tp_storage_info info = {.encoding = TP_ENC_OTHER,
	    .file = d->inner->storages[from->storage].file,
	    .nbytes = d->items[i].nbytes_after};
	size_t twin = twin_of(d, i);
	enum tp_status rc = TP_OK;

	if (twin == i) {
		rc = tpi_reader_add_storage(
		    r, &info, e.name, &d->storage[i], err);
		d->widen_of[d->n_computed++] = i;
	}
	e.storage = d->storage[twin];
	if (keeps_graph(d))
		tpi_dequantize_graph_name(d->graph, i, &e);
	return rc ? rc : tpi_reader_add(r, &e, TP_NO_OFFSET, err);
}

static enum tp_status
add_kept(
    struct tp_reader *r, struct dequantized *d, size_t i, struct tp_err *err)
{
	struct tp_entry e = *tp_reader_entry(d->inner, i);

	if (keeps_graph(d))
		tpi_dequantize_graph_name(d->graph, i, &e);
	return tpi_reader_add(r, &e, TP_NO_OFFSET, err);
}

static enum tp_status
add_entries(struct tp_reader *r, struct dequantized *d, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < d->n; i++) {
		if (d->place[i] == TP_NONE)
			continue;
		d->place[i] = r->n_entries;
		rc = d->widens[i].chosen ? add_widened(r, d, i, err)
					 : add_kept(r, d, i, err);
	}
	for (size_t i = 0; !rc && i < d->n; i++) {
		const struct tpi_widen *w = &d->widens[i];
		struct tp_quant_info info = w->info;

		if (!w->codes || w->chosen || w->is_cast)
			continue;
		info.scale = d->place[info.scale];
		if (w->zero)
			info.zero_point = d->place[info.zero_point];
		rc = tpi_reader_set_quant(r, d->place[i], &info, err);
	}
	return rc;
}

static enum tp_status
build(struct tp_reader *r, struct dequantized *d, struct tp_err *err)
{
	enum tp_status rc = tpi_reader_copy_files(r, d->inner, err);
	bool any = false;

	for (size_t i = 0; i < d->n; i++)
		any |= d->widens[i].chosen;
	if (!rc)
		rc = add_entries(r, d, err);
	for (size_t i = 0; !rc && i < d->inner->n_attachments; i++) {
		struct tp_str name = d->inner->attachments[i].name;

		if (!any || keeps_graph(d) ||
		    tp_str_cmp(name, TP_STR(TP_ATTACHMENT_ONNX)))
			rc = tpi_reader_add_attachment(r, name, err);
	}
	return rc;
}

/* Everything lives in the arena of the new reader. */
static struct dequantized *
new_dequantized(struct tp_reader *r, struct tp_reader *inner,
    const struct tp_quantize_options *options)
{
	struct tpi_arena *a = &r->arena;
	struct dequantized *d = tpi_arena_array(a, 1, sizeof(*d));
	size_t n = tp_reader_n_entries(inner);

	if (!d)
		return NULL;
	d->inner = inner;
	d->options = *options;
	if (!d->options.max_memory)
		d->options.max_memory = (uint64_t)64 << 20;
	d->n_kept_storages = tp_reader_n_storages(inner);
	d->items = tpi_arena_array(a, n, sizeof(*d->items));
	d->widens = tpi_arena_array(a, n, sizeof(*d->widens));
	d->place = tpi_arena_array(a, n, sizeof(*d->place));
	d->widen_of = tpi_arena_array(a, n, sizeof(*d->widen_of));
	d->storage = tpi_arena_array(a, n, sizeof(*d->storage));
	d->first_of =
	    tpi_arena_array(a, d->n_kept_storages, sizeof(*d->first_of));
	d->recorded = tpi_arena_array(a, n, sizeof(*d->recorded));
	if (!d->items || !d->widens || !d->place || !d->widen_of ||
	    !d->recorded || !d->storage || !d->first_of)
		return NULL;
	for (size_t i = 0; i < d->n_kept_storages; i++)
		d->first_of[i] = TP_NONE;
	d->n = n;
	return d;
}

enum tp_status
tp_dequantize_reader(struct tp_reader *inner,
    const struct tp_quantize_options *options, struct tp_reader **out,
    struct tp_err *err)
{
	const struct tp_open_options open = {.alloc = options->alloc,
	    .flags = inner->flags,
	    .limits = inner->limits,
	    .warn = inner->warn,
	    .warn_ctx = inner->warn_ctx};
	struct tp_reader *r = tpi_reader_new(&open);
	struct dequantized *d;
	enum tp_status rc;

	*out = NULL;
	if (!r)
		return no_memory(err);
	r->format = &dequantized_format;
	d = new_dequantized(r, inner, options);
	r->priv = d;
	rc = d ? TP_OK : no_memory(err);
	if (!rc && tpi_has_graph(inner))
		rc =
		    tpi_dequantize_graph_open(&d->graph, inner, &r->arena, err);
	if (!rc)
		rc = decide(d, err);
	if (!rc)
		rc = build(r, d, err);
	if (rc) {
		tp_close(r);
		return rc;
	}
	*out = r;
	return TP_OK;
}
