/* SPDX-License-Identifier: Apache-2.0 */
/* report_text.c - a conversion as people read it */
#include "convert/report.h"

#include <inttypes.h>

#include "tp/shape.h"

#include "text.h"

#define NAME_COLUMNS 48

/* "f32 -> f16", or the one dtype. */
static void
put_dtypes(FILE *out, const struct tp_transfer_item *it)
{
	if (it->dtype != it->source->dtype)
		fprintf(out, "%s -> ", tp_dtype_name(it->source->dtype));
	fputs(tp_dtype_name(it->dtype), out);
}

/* What a cast has done, after it was done. */
static void
put_stats(FILE *out, const struct tp_cast_stats *s)
{
	if (!s->n_overflow && !s->n_inexact) {
		fputs("exact", out);
		return;
	}
	fprintf(out,
	    "%" PRIu64 " overflowed, %" PRIu64 " became zero, %" PRIu64
	    " became subnormal, largest relative error %.3g",
	    s->n_overflow, s->n_to_zero, s->n_to_subnormal, s->max_rel_error);
	if (s->n_overflow)
		fprintf(out, "; first overflow %.9g at %" PRIu64,
		    s->first_overflow_value, s->first_overflow);
}

static void
put_item(
    FILE *out, const struct tp_transfer *t, const struct tp_transfer_item *it)
{
	const struct tp_entry *e = it->source;

	cli_put_name(out, it->name, CLI_NAME_COLUMNS);
	fputs("  ", out);
	put_dtypes(out, it);
	fprintf(out, "  %s  %s", TP_SHAPE_TEXT(e->shape, e->rank),
	    it->how == TP_HOW_LEFT_OUT ? "-" : CLI_HUMAN(it->nbytes));
	fprintf(out, "  %s", tp_how_name(it->how));
	if (it->shared != TP_NONE) {
		fputs(" with ", out);
		cli_put_name(
		    out, tp_transfer_item(t, it->shared)->name, NAME_COLUMNS);
	}
	if (tp_str_cmp(it->name, e->name)) {
		fputs("  was ", out);
		cli_put_name(out, e->name, CLI_NAME_COLUMNS);
	}
	if (it->stats.n) {
		fputs("  (", out);
		put_stats(out, &it->stats);
		putc(')', out);
	}
	putc('\n', out);
}

static void
put_cast(FILE *out, const struct tp_transfer_item *it)
{
	cli_put_name(out, it->name, CLI_NAME_COLUMNS);
	fputs(": ", out);
	put_dtypes(out, it);
	fputs(": ", out);
	put_stats(out, &it->stats);
	putc('\n', out);
}

/* "out.tpt: 12 tensors, 1.2 MiB, native", and the files if they are several. */
static void
put_totals(FILE *out, const struct report *r)
{
	const struct tp_transfer *t = r->transfer;
	size_t n = tp_transfer_n_items(t), n_out = 0;
	const char *path;
	uint64_t nbytes = 0;

	for (size_t i = 0; i < n; i++)
		n_out += tp_transfer_item(t, i)->how != TP_HOW_LEFT_OUT;
	cli_put_text(out, tp_str(r->path));
	fprintf(out, ": %zu tensor%s, %s, %s%s", n_out, n_out == 1 ? "" : "s",
	    CLI_HUMAN(tp_transfer_nbytes(t)),
	    tp_format_name(tp_transfer_format(t)),
	    tp_transfer_has_graph(t) ? " with its graph" : "");
	if (r->verified)
		fputs(", verified", out);
	if (!tp_transfer_file(t, 0, NULL))
		fputs(" (nothing was written)", out);
	putc('\n', out);
	if (!tp_transfer_file(t, 1, NULL))
		return;
	for (size_t i = 0; (path = tp_transfer_file(t, i, &nbytes)); i++) {
		fputs("  ", out);
		cli_put_text(out, tp_str(path));
		fprintf(out, "  %s\n", CLI_HUMAN(nbytes));
	}
}

void
report_losses(FILE *out, const struct tp_transfer *t)
{
	for (size_t i = 0; i < tp_transfer_n_losses(t); i++) {
		const struct tp_loss *l = tp_transfer_loss(t, i);

		fprintf(out, "  %s: ", tp_loss_name(l->kind));
		if (l->item != TP_NONE) {
			cli_put_name(out, l->name, CLI_NAME_COLUMNS);
			fputs(": ", out);
		}
		cli_put_text(out, tp_str(l->why));
		if (!l->remedy && l->kind == TP_LOSS_DTYPE)
			fputs(" (--dtype can give it another)", out);
		else if (!l->remedy)
			fputs(" (nothing can be done)", out);
		else
			fprintf(out, " (%s: %s)",
			    l->allowed ? "allowed" : "if allowed", l->remedy);
		putc('\n', out);
	}
}

void
report_text(FILE *out, const struct report *r, bool verbose)
{
	const struct tp_transfer *t = r->transfer;

	for (size_t i = 0; i < tp_transfer_n_items(t); i++) {
		const struct tp_transfer_item *it = tp_transfer_item(t, i);

		if (verbose)
			put_item(out, t, it);
		else if (it->stats.n)
			put_cast(out, it);
	}
	if (tp_transfer_n_losses(t)) {
		fputs("losses:\n", out);
		report_losses(out, t);
	}
	put_totals(out, r);
}
