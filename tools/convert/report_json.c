/* SPDX-License-Identifier: Apache-2.0 */
/* report_json.c - a conversion as one JSON document */
#include "convert/report.h"

#include "cli_json.h"
#include "untrusted.h"

static void
put_reader(struct tp_json *j, const struct tp_reader *r)
{
	const char *path;
	uint64_t nbytes = 0;

	tp_json_object_begin(j);
	cli_json_text(j, "path", tp_reader_file(r, 0, NULL));
	cli_json_text(j, "format", tp_format_name(tp_reader_format(r)));
	cli_json_u64(j, "tensors", tp_reader_n_entries(r));
	tp_json_key(j, "files");
	tp_json_array_begin(j);
	for (size_t i = 0; (path = tp_reader_file(r, i, &nbytes)); i++)
		cli_json_file(j, path, nbytes);
	tp_json_array_end(j);
	tp_json_object_end(j);
}

static void
put_stats(struct tp_json *j, const struct tp_cast_stats *s)
{
	tp_json_object_begin(j);
	cli_json_u64(j, "elements", s->n);
	cli_json_u64(j, "overflowed", s->n_overflow);
	cli_json_u64(j, "to_zero", s->n_to_zero);
	cli_json_u64(j, "to_subnormal", s->n_to_subnormal);
	cli_json_u64(j, "nan", s->n_nan);
	cli_json_u64(j, "inf", s->n_inf);
	cli_json_u64(j, "inexact", s->n_inexact);
	cli_json_double(j, "max_relative_error", s->max_rel_error);
	cli_json_u64(j, "max_relative_error_index", s->max_rel_index);
	if (s->n_overflow) {
		cli_json_u64(j, "first_overflow_index", s->first_overflow);
		cli_json_double(
		    j, "first_overflow_value", s->first_overflow_value);
	}
	tp_json_object_end(j);
}

static void
put_item(struct tp_json *j, const struct report *r,
    const struct tp_transfer_item *it)
{
	const struct tp_entry *e = it->source;

	tp_json_object_begin(j);
	cli_json_str(j, "name", it->name);
	cli_json_text(j, "dtype", tp_dtype_name(it->dtype));
	cli_json_sizes(j, "shape", e->shape, e->rank);
	cli_json_u64(j, "bytes", it->how == TP_HOW_LEFT_OUT ? 0 : it->nbytes);
	cli_json_text(j, "how", tp_how_name(it->how));
	if (it->shared != TP_NONE) {
		cli_json_str(j, "shared_with",
		    tp_transfer_item(r->transfer, it->shared)->name);
	}
	tp_json_key(j, "source");
	tp_json_object_begin(j);
	cli_json_text(j, "file", it->file);
	cli_json_str(j, "name", e->name);
	cli_json_text(j, "dtype", tp_dtype_name(e->dtype));
	tp_json_object_end(j);
	if (it->stats.n) {
		tp_json_key(j, "cast");
		put_stats(j, &it->stats);
	}
	tp_json_object_end(j);
}

static void
put_losses(struct tp_json *j, const struct tp_transfer *t)
{
	tp_json_key(j, "losses");
	tp_json_array_begin(j);
	for (size_t i = 0; i < tp_transfer_n_losses(t); i++) {
		const struct tp_loss *l = tp_transfer_loss(t, i);

		tp_json_object_begin(j);
		cli_json_text(j, "kind", tp_loss_name(l->kind));
		tp_json_key(j, "tensor");
		if (l->item == TP_NONE)
			tp_json_null(j);
		else
			tp_json_str(j, l->name);
		cli_json_text(j, "why", l->why);
		cli_json_text(j, "remedy", l->remedy);
		cli_json_bool(j, "allowed", l->allowed && l->remedy);
		tp_json_object_end(j);
	}
	tp_json_array_end(j);
}

static void
put_transfer(struct tp_json *j, const struct report *r)
{
	const struct tp_transfer *t = r->transfer;
	size_t n = tp_transfer_n_items(t), n_out = 0;

	tp_json_key(j, "tensors");
	tp_json_array_begin(j);
	for (size_t i = 0; i < n; i++) {
		put_item(j, r, tp_transfer_item(t, i));
		n_out += tp_transfer_item(t, i)->how != TP_HOW_LEFT_OUT;
	}
	tp_json_array_end(j);
	tp_json_key(j, "metadata");
	tp_json_array_begin(j);
	for (size_t i = 0; i < tp_transfer_n_meta(t); i++)
		cli_json_meta(j, tp_transfer_meta(t, i));
	tp_json_array_end(j);
	put_losses(j, t);
	tp_json_key(j, "notes");
	tp_json_array_begin(j);
	for (size_t i = 0; i < tp_transfer_n_notes(t); i++)
		tp_json_text(j, tp_transfer_note(t, i));
	tp_json_array_end(j);
	tp_json_key(j, "totals");
	tp_json_object_begin(j);
	cli_json_u64(j, "tensors", n_out);
	cli_json_u64(j, "bytes", tp_transfer_nbytes(t));
	tp_json_object_end(j);
}

static void
put_output(struct tp_json *j, const struct report *r)
{
	const char *path;
	uint64_t nbytes = 0;

	tp_json_object_begin(j);
	cli_json_text(j, "path", r->path);
	cli_json_text(
	    j, "format", tp_format_name(tp_transfer_format(r->transfer)));
	cli_json_bool(j, "graph", tp_transfer_has_graph(r->transfer));
	tp_json_key(j, "files");
	tp_json_array_begin(j);
	for (size_t i = 0; (path = tp_transfer_file(r->transfer, i, &nbytes));
	     i++)
		cli_json_file(j, path, nbytes);
	tp_json_array_end(j);
	cli_json_bool(j, "verified", r->verified);
	tp_json_object_end(j);
}

void
report_json(FILE *out, const struct report *r)
{
	struct tp_json j;

	cli_json_begin(&j, out, "tp-convert");
	cli_json_text(&j, "status", r->status);
	cli_untrusted_put_json(&j);
	if (r->err)
		cli_json_error(&j, r->err, r->err_path);
	tp_json_key(&j, "inputs");
	tp_json_array_begin(&j);
	for (size_t i = 0; i < r->n_readers; i++)
		put_reader(&j, r->readers[i]);
	tp_json_array_end(&j);
	if (r->graph) {
		tp_json_key(&j, "graph");
		put_reader(&j, r->graph);
	}
	if (r->transfer) {
		tp_json_key(&j, "output");
		put_output(&j, r);
		put_transfer(&j, r);
	}
	cli_json_end(&j);
}
