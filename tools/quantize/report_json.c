/* SPDX-License-Identifier: Apache-2.0 */
/* report_json.c - what became of each tensor, as one JSON document */
#include "cli_json.h"
#include "untrusted.h"

#include "quantize/report.h"

static const char *const calibrations[] = {
    [TP_CALIBRATE_MINMAX] = "minmax",
    [TP_CALIBRATE_PERCENTILE] = "percentile",
    [TP_CALIBRATE_MSE] = "mse",
};

static void
put_recipe(struct tp_json *j, const struct tp_quantized_item *item)
{
	const struct tp_recipe *p = &item->recipe;

	cli_json_text(j, "scheme", p->scheme->name);
	if (p->scheme->scale == TP_DTYPE_NONE)
		return;
	cli_json_bool(j, "symmetric", p->symmetric);
	cli_json_text(j, "per", tp_quant_per_name(p->per));
	if (p->per != TP_PER_TENSOR)
		cli_json_u64(j, "axis", p->axis);
	if (p->per == TP_PER_BLOCK)
		cli_json_u64(j, "block", p->block);
	cli_json_text(j, "calibrate", calibrations[p->calibrate]);
	if (p->calibrate == TP_CALIBRATE_PERCENTILE)
		cli_json_double(j, "percentile", p->percentile);
	cli_json_u64(j, "scales", item->n_groups);
	cli_json_u64(j, "zero_channels", item->n_zero_groups);
	tp_json_key(j, "least_scale");
	tp_json_float(j, item->least_scale);
	tp_json_key(j, "most_scale");
	tp_json_float(j, item->most_scale);
}

static void
put_errors(struct tp_json *j, const struct tp_quantized_item *item)
{
	const struct tp_compare *c = &item->errors;

	tp_json_key(j, "errors");
	tp_json_object_begin(j);
	cli_json_double(j, "max_abs", c->max_abs);
	cli_json_double(j, "rms", tp_compare_rms(c));
	cli_json_double(j, "sqnr", tp_compare_sqnr(c));
	cli_json_double(j, "cosine", tp_compare_cosine(c));
	cli_json_u64(j, "saturated", item->n_saturated);
	tp_json_object_end(j);
}

static void
put_item(struct tp_json *j, const struct quantize_report *r,
    const struct tp_quantized_item *item)
{
	const struct tp_entry *e = tp_reader_entry(r->reader, item->source);
	const struct gate *hit = NULL;

	tp_json_object_begin(j);
	cli_json_str(j, "name", item->name);
	cli_json_text(j, "dtype", tp_dtype_name(e->dtype));
	cli_json_sizes(j, "shape", e->shape, e->rank);
	cli_json_text(j, "status",
	    item->widened	      ? "widened"
	    : item->recipe.scheme     ? "narrowed"
	    : report_is_dropped(item) ? "dropped"
				      : "kept");
	if (item->widened) {
		cli_json_text(j, "to", "f32");
	} else if (item->recipe.scheme) {
		put_recipe(j, item);
		hit = gates_hit(r->gates, item);
	} else {
		cli_json_text(j, "why", item->recipe.why);
	}
	if (item->measured)
		put_errors(j, item);
	if (hit)
		cli_json_text(j, "fails", hit->text);
	cli_json_u64(j, "bytes_before", item->nbytes_before);
	cli_json_u64(j, "bytes_after", item->nbytes_after);
	tp_json_object_end(j);
}

static void
put_items(struct tp_json *j, const struct quantize_report *r)
{
	const struct tp_quantized_item *item;
	uint64_t before = 0, after = 0;
	size_t n_narrowed = 0, n_widened = 0, n_kept = 0;

	tp_json_key(j, "tensors");
	tp_json_array_begin(j);
	for (size_t i = 0; (item = tp_quantized_item(r->quantized, i)); i++) {
		put_item(j, r, item);
		n_narrowed += item->recipe.scheme != NULL;
		n_widened += item->widened;
		n_kept += !report_is_dropped(item) && !item->recipe.scheme &&
			  !item->widened;
		before += item->nbytes_before;
		after += item->nbytes_after;
	}
	tp_json_array_end(j);
	tp_json_key(j, "totals");
	tp_json_object_begin(j);
	cli_json_u64(j, "narrowed", n_narrowed);
	cli_json_u64(j, "widened", n_widened);
	cli_json_u64(j, "kept", n_kept);
	cli_json_u64(j, "bytes_before", before);
	cli_json_u64(j, "bytes_after", after);
	tp_json_object_end(j);
}

static void
put_plan(struct tp_json *j, const struct quantize_report *r)
{
	tp_json_key(j, "plan");
	tp_json_object_begin(j);
	cli_json_text(j, "from", r->plan->from);
	if (r->plan->has_sqnr)
		cli_json_double(j, "target_sqnr", r->plan->sqnr);
	if (r->plan->max_nbytes)
		cli_json_u64(j, "target_size", r->plan->max_nbytes);
	if (r->quantized)
		cli_json_double(
		    j, "worst_sqnr", report_worst_sqnr(r->quantized));
	tp_json_object_end(j);
}

void
report_json(FILE *out, const struct quantize_report *r)
{
	struct tp_json j;

	cli_json_begin(&j, out, "tp-quantize");
	cli_json_text(&j, "status", r->status);
	cli_json_text(&j, "input", r->input);
	cli_json_text(&j, "output", r->output);
	cli_untrusted_put_json(&j);
	if (r->err)
		cli_json_error(&j, r->err, r->err_path);
	if (r->transfer) {
		cli_json_bool(&j, "verified", r->verified);
	}
	if (r->plan)
		put_plan(&j, r);
	if (r->quantized)
		put_items(&j, r);
	cli_json_end(&j);
}
