/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequantize_reader.c - a reader over a reader, with codes as f32 again
 *
 * What is kept is still copied as it lies (wrapped.h); computed storages
 * follow.
 */
#include "dequantize_reader.h"

#include "quantize_graph.h"
#include "stream_cast.h"
#include "wrapped.h"

#include "banned.h"

enum tp_status
tpi_dequantize_no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a dequantized model");
}

/*
 * ---- the format's functions ----
 */

static enum tp_status
cast_stream(const struct tpi_dequantized *d, const struct tpi_widen *w,
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
	struct tpi_dequantized *d = r->priv;
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
	struct tpi_dequantized *d = r->priv;

	if (tpi_dequantize_keeps_graph(d) && tpi_wrapped_is_graph(r, i))
		return tpi_dequantize_graph_attach(
		    d->graph, &r->arena, &r->attachments[i], err);
	return tpi_wrapped_attach(r, d->inner, i, err);
}

static void
dequantized_close(struct tp_reader *r)
{
	struct tpi_dequantized *d = r->priv;

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
	const struct tpi_dequantized *d = r->priv;

	return r->format == &dequantized_format && i < d->n ? &d->items[i]
							    : NULL;
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
twin_of(struct tpi_dequantized *d, size_t i)
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
add_widened(struct tp_reader *r, struct tpi_dequantized *d, size_t i,
    struct tp_err *err)
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
	if (tpi_dequantize_keeps_graph(d))
		tpi_dequantize_graph_name(d->graph, i, &e);
	return rc ? rc : tpi_reader_add(r, &e, TP_NO_OFFSET, err);
}

static enum tp_status
add_kept(struct tp_reader *r, struct tpi_dequantized *d, size_t i,
    struct tp_err *err)
{
	struct tp_entry e = *tp_reader_entry(d->inner, i);

	if (tpi_dequantize_keeps_graph(d))
		tpi_dequantize_graph_name(d->graph, i, &e);
	return tpi_reader_add(r, &e, TP_NO_OFFSET, err);
}

static enum tp_status
add_entries(struct tp_reader *r, struct tpi_dequantized *d, struct tp_err *err)
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
build(struct tp_reader *r, struct tpi_dequantized *d, struct tp_err *err)
{
	enum tp_status rc = tpi_wrapped_copy_files(r, d->inner, err);
	bool any = false;

	for (size_t i = 0; i < d->n; i++)
		any |= d->widens[i].chosen;
	if (!rc)
		rc = add_entries(r, d, err);
	if (!rc)
		rc = tpi_wrapped_add_attachments(
		    r, d->inner, !any || tpi_dequantize_keeps_graph(d), err);
	return rc;
}

/* Everything lives in the arena of the new reader. */
static struct tpi_dequantized *
new_dequantized(struct tp_reader *r, struct tp_reader *inner,
    const struct tp_quantize_options *options)
{
	struct tpi_arena *a = &r->arena;
	struct tpi_dequantized *d = tpi_arena_array(a, 1, sizeof(*d));
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
	struct tp_reader *r =
	    tpi_wrapped_new(inner, &dequantized_format, options->alloc);
	struct tpi_dequantized *d;
	enum tp_status rc;

	*out = NULL;
	if (!r)
		return tpi_dequantize_no_memory(err);
	d = new_dequantized(r, inner, options);
	r->priv = d;
	rc = d ? TP_OK : tpi_dequantize_no_memory(err);
	if (!rc && tpi_has_graph(inner))
		rc =
		    tpi_dequantize_graph_open(&d->graph, inner, &r->arena, err);
	if (!rc)
		rc = tpi_dequantize_decide(d, err);
	if (!rc)
		rc = build(r, d, err);
	if (rc) {
		tp_close(r);
		return rc;
	}
	*out = r;
	return TP_OK;
}
