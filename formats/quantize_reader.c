/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_reader.c - a reader over a reader, with tensors narrowed
 *
 * What is kept is still copied as it lies (wrapped.h); computed storages
 * follow.
 */
#include "quantize_reader.h"

#include "dequantize.h"
#include "wrapped.h"

#include "banned.h"

enum tp_status
tpi_quantize_no_memory(struct tp_err *err)
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
	struct tpi_quantized *q = r->priv;
	const struct tpi_computed *c;
	struct tpi_narrow *n;
	enum tp_status rc;

	if (i < q->n_kept_storages)
		return tp_stream_storage(q->inner, i, out, err);
	c = &q->computed[i - q->n_kept_storages];
	n = &q->narrows[c->narrow];
	n->handed_on = &q->handed_on;
	rc =
	    c->part == TPI_CODES
		? tpi_codes_stream(n, q->options.n_threads, out, err)
		: tpi_narrow_stream(n, c->part, q->options.n_threads, out, err);
	/* Codes, scales and zero points follow one another. */
	if (!rc)
		(*out)->source = i - c->part;
	return rc;
}

static enum tp_status
quantized_attach(struct tp_reader *r, size_t i, struct tp_err *err)
{
	struct tpi_quantized *q = r->priv;

	if (q->graph && tpi_wrapped_is_graph(r, i))
		return tpi_quantize_graph_attach(
		    q->graph, &r->arena, &r->attachments[i], err);
	return tpi_wrapped_attach(r, q->inner, i, err);
}

static void
quantized_close(struct tp_reader *r)
{
	struct tpi_quantized *q = r->priv;

	for (size_t i = 0; q && q->narrows && i < q->n; i++) {
		struct tpi_narrow *n = &q->narrows[i];
		size_t count = (size_t)n->groups.n_groups;

		if (n->scale)
			tp_mem_free(r->alloc, n->scale, count, sizeof(float));
		if (n->zero)
			tp_mem_free(r->alloc, n->zero, count, sizeof(int16_t));
		tp_storage_unref(n->kept);
	}
	if (!q)
		return;
	tpi_pass_free(q->handed_on.pass);
	tpi_quantize_graph_close(q->graph);
}

static const struct tp_format quantized_format = {
    .name = "quantized",
    .stream = quantized_stream,
    .attach = quantized_attach,
    .close = quantized_close,
};

/*
 * ---- the new reader ----
 */

static enum tp_status
build(struct tp_reader *r, struct tpi_quantized *q, struct tp_err *err)
{
	enum tp_status rc = tpi_wrapped_copy_files(r, q->inner, err);
	bool any = false;

	for (size_t i = 0; i < q->n; i++)
		any |= q->items[i].recipe.scheme != NULL;
	if (!rc && q->graph)
		rc = tpi_quantize_graph_change(q->graph, q->narrows, q->n, err);
	if (!rc)
		rc = tpi_quantize_add_entries(r, q, err);
	if (!rc && any && !q->graph)
		rc = tpi_quantize_record(r, q->narrows, q->place, q->n, err);
	if (!rc)
		rc = tpi_wrapped_add_attachments(
		    r, q->inner, !any || q->graph, err);
	return rc;
}

/* Everything but scales lives in the arena of the new reader. */
static struct tpi_quantized *
new_quantized(struct tp_reader *r, struct tp_reader *inner,
    const struct tp_quantize_options *options)
{
	struct tpi_arena *a = &r->arena;
	struct tpi_quantized *q = tpi_arena_array(a, 1, sizeof(*q));
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
	q->place = tpi_arena_array(a, n, sizeof(*q->place));
	q->storages = tpi_arena_array(a, n, TPI_N_PARTS * sizeof(*q->storages));
	q->computed = tpi_arena_array(a, n, TPI_N_PARTS * sizeof(*q->computed));
	q->first_of =
	    tpi_arena_array(a, q->n_kept_storages, sizeof(*q->first_of));
	if (!q->items || !q->narrows || !q->place || !q->storages ||
	    !q->computed || !q->first_of)
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
	struct tpi_quantized *q = NULL;
	struct tp_reader *r;
	enum tp_status rc = TP_OK;

	*out = NULL;
	for (size_t i = 0; i < tp_reader_n_meta(inner); i++)
		if (!tp_str_cmp(tp_reader_meta(inner, i)->key,
			TP_STR(TP_QUANTIZED_KEY)))
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "the model is quantized already; --dequantize it "
			    "first");
	r = tpi_wrapped_new(inner, &quantized_format, options->alloc);
	if (!r)
		return tpi_quantize_no_memory(err);
	q = new_quantized(r, inner, options);
	r->priv = q;
	rc = q ? TP_OK : tpi_quantize_no_memory(err);
	if (!rc && options->keep_graph && tpi_has_graph(inner))
		rc = tpi_quantize_graph_open(
		    &q->graph, inner, options->half_graph, &r->arena, err);
	else if (!rc && options->half_graph)
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "there is no graph that could compute with f16");
	if (!rc)
		rc = tpi_quantize_decide(q, err);
	if (!rc)
		rc = build(r, q, err);
	if (rc) {
		tp_close(r);
		return rc;
	}
	*out = r;
	return TP_OK;
}

/* What was measured for a tensor whose codes are those of this one too. */
static void
take_figures(struct tp_quantized_item *item, const struct tp_quantized_item *of)
{
	struct tp_quantized_item made = *of;

	made.name = item->name;
	made.source = item->source;
	*item = made;
}

const struct tp_quantized_item *
tp_quantized_item(const struct tp_reader *r, size_t i)
{
	struct tpi_quantized *q = r->priv;
	struct tp_quantized_item *item;

	if (r->format != &quantized_format)
		return tpi_dequantized_item(r, i);
	if (i >= q->n)
		return NULL;
	item = &q->items[i];
	if (q->narrows[i].later && q->narrows[i].later->measured)
		take_figures(item, q->narrows[i].later);
	return item;
}
