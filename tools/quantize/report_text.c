/* SPDX-License-Identifier: Apache-2.0 */
/* report_text.c - what became of each tensor, as people read it */
#include <inttypes.h>
#include <math.h>

#include "tp/shape.h"

#include "quantize/report.h"
#include "text.h"

static void
put_recipe(FILE *out, const struct tp_quantized_item *item)
{
	const struct tp_recipe *p = &item->recipe;

	fputs(p->scheme->name, out);
	if (p->scheme->scale == TP_DTYPE_NONE)
		return;
	if (!p->scheme->block)
		fputs(p->symmetric ? " symmetric" : " asymmetric", out);
	fprintf(out, " per %s", tp_quant_per_name(p->per));
	if (p->per == TP_PER_BLOCK)
		fprintf(out, " of %" PRIu64, p->block);
	if (p->per != TP_PER_TENSOR)
		fprintf(out, ", axis %u", p->axis);
	fprintf(out, "  scale %.3g", (double)item->least_scale);
	if (item->least_scale < item->most_scale)
		fprintf(out, " to %.3g", (double)item->most_scale);
}

bool
report_is_dropped(const struct tp_quantized_item *item)
{
	return item->nbytes_before && !item->nbytes_after;
}

static void
put_item(FILE *out, const struct tp_reader *r,
    const struct tp_quantized_item *item, const struct gates *gates)
{
	const struct tp_entry *e = tp_reader_entry(r, item->source);
	const struct gate *hit;

	cli_put_name(out, item->name, CLI_NAME_COLUMNS);
	fprintf(out, "  %s %s  ", tp_dtype_name(e->dtype),
	    TP_SHAPE_TEXT(e->shape, e->rank));
	if (item->widened) {
		fprintf(
		    out, "widened to f32  %s", CLI_HUMAN(item->nbytes_before));
		fprintf(out, " -> %s\n", CLI_HUMAN(item->nbytes_after));
		return;
	}
	if (!item->recipe.scheme) {
		fputs(report_is_dropped(item) ? "dropped: " : "kept: ", out);
		cli_put_text(out, tp_str(item->recipe.why));
		putc('\n', out);
		return;
	}
	put_recipe(out, item);
	fprintf(out, "  sqnr %.2f dB  cosine %.6f  max %.3g  rms %.3g",
	    tp_compare_sqnr(&item->errors), tp_compare_cosine(&item->errors),
	    item->errors.max_abs, tp_compare_rms(&item->errors));
	if (item->n_saturated)
		fprintf(out, "  %" PRIu64 " saturated", item->n_saturated);
	if (item->n_zero_groups)
		fprintf(out, "  %" PRIu64 " of %" PRIu64 " scales for zeros",
		    item->n_zero_groups, item->n_groups);
	fprintf(out, "  %s", CLI_HUMAN(item->nbytes_before));
	fprintf(out, " -> %s", CLI_HUMAN(item->nbytes_after));
	hit = gates_hit(gates, item);
	if (hit) {
		fputs("  FAILS ", out);
		cli_put_text(out, tp_str(hit->text));
	}
	putc('\n', out);
}

double
report_worst_sqnr(const struct tp_reader *quantized)
{
	const struct tp_quantized_item *item;
	double worst = INFINITY;

	for (size_t i = 0; (item = tp_quantized_item(quantized, i)); i++)
		if (item->recipe.scheme)
			worst = fmin(worst, tp_compare_sqnr(&item->errors));
	return worst;
}

static bool
chosen_but_kept(const struct tp_quantized_item *item)
{
	return !item->recipe.scheme && item->measured;
}

void
report_text(FILE *out, const struct quantize_report *r, bool verbose)
{
	const struct tp_quantized_item *item;
	uint64_t before = 0, after = 0;
	size_t n_changed = 0, n_kept = 0;
	const char *what = "narrowed";

	for (size_t i = 0; (item = tp_quantized_item(r->quantized, i)); i++) {
		n_changed += item->recipe.scheme || item->widened;
		n_kept += !report_is_dropped(item) && !item->recipe.scheme &&
			  !item->widened;
		what = item->widened ? "widened" : what;
		before += item->nbytes_before;
		after += item->nbytes_after;
		if (verbose || item->recipe.scheme || item->widened ||
		    chosen_but_kept(item))
			put_item(out, r->reader, item, r->gates);
	}
	if (r->plan)
		fprintf(out, "plan: the worst sqnr is %.2f dB\n",
		    report_worst_sqnr(r->quantized));
	cli_put_text(out, tp_str(r->output));
	fprintf(out, ": %zu tensor%s %s, %zu kept, %s", n_changed,
	    n_changed == 1 ? "" : "s", what, n_kept, CLI_HUMAN(before));
	fprintf(out, " -> %s", CLI_HUMAN(after));
	if (r->verified)
		fputs(", verified", out);
	if (!r->transfer || !tp_transfer_file(r->transfer, 0, NULL))
		fputs(" (nothing was written)", out);
	putc('\n', out);
}
