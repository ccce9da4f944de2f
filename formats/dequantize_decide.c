/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequantize_decide.c - what becomes of each entry of a dequantized reader
 *
 * What has scales is told by quantizers (records, or the nodes of a graph) and
 * by the metadata that tp_quantize_reader leaves.
 */
#include "dequantize_reader.h"

#include "onnx_dequantize.h"

#include "banned.h"

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
	struct tpi_dequantized *d = ctx;
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
	struct tpi_dequantized *d = ctx;

	d->recorded[i] = true;
	return take_in(ctx, i, info, err);
}

/*
 * What a graph that is kept says counts, since it is the graph that changes.
 * Else its DequantizeLinear nodes have told all, but for casts.
 */
static enum tp_status
take_from_graph(struct tpi_dequantized *d, size_t i, struct tp_err *err)
{
	const struct tp_entry *e = tp_reader_entry(d->inner, i);
	const struct tpi_onnx_wide *w =
	    d->graph ? tpi_dequantize_graph_about(d->graph, i) : NULL;

	if (!tpi_dequantize_keeps_graph(d)) {
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
ask(struct tpi_dequantized *d, size_t i, struct tp_err *err)
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
mark_parts(struct tpi_dequantized *d, bool of_chosen, size_t mark)
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
drop_parts(struct tpi_dequantized *d, struct tp_err *err)
{
	enum tp_status rc;

	if (!tpi_dequantize_keeps_graph(d)) {
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

enum tp_status
tpi_dequantize_decide(struct tpi_dequantized *d, struct tp_err *err)
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
