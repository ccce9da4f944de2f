/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - the document of --json, described by schemas/inspect.schema.json
 *
 * Facts that do not apply are left out; everything that the reader knows is in,
 * and what must be computed from bytes only when it was asked for.
 */
#include "inspect.h"

#include <inttypes.h>

#include "cli_json.h"

void
inspect_json_error(struct tp_json *j, const struct tp_err *err)
{
	tp_json_key(j, "error");
	tp_json_object_begin(j);
	cli_json_text(j, "status", tp_status_text(err->status));
	if (err->offset != TP_NO_OFFSET)
		cli_json_u64(j, "offset", err->offset);
	cli_json_text(j, "message", err->msg);
	tp_json_object_end(j);
}

static void
put_place(
    struct tp_json *j, const struct inspect_file *f, const struct tp_entry *e)
{
	static const char *const encodings[] = {"raw", "zlib", "fields"};
	const struct tp_storage_info *s = tp_reader_storage(f->r, e->storage);
	char crc[16];
	uint64_t offset;

	cli_json_u64(j, "storage", e->storage);
	if (f->sharers[e->storage] > 1)
		cli_json_u64(j, "sharers", f->sharers[e->storage]);
	cli_json_text(j, "encoding", encodings[s->encoding]);
	cli_json_u64(j, "file", s->file);
	if (inspect_offset(f, e, &offset)) {
		cli_json_u64(j, "offset", offset);
		cli_json_u64(j, "alignment", inspect_alignment(offset));
	} else {
		cli_json_u64(j, "stored_bytes", s->stored_nbytes);
	}
	if (s->has_crc32c) {
		snprintf(crc, sizeof(crc), "%08" PRIx32, s->crc32c);
		cli_json_text(j, "crc32c", crc);
	}
}

static void
put_quant(
    struct tp_json *j, const struct inspect_file *f, const struct tp_entry *e)
{
	const struct tp_quant_info *q = e->quant;

	tp_json_key(j, "quantization");
	tp_json_object_begin(j);
	cli_json_text(j, "per", tp_quant_per_name(q->per));
	if (q->per != TP_PER_TENSOR)
		cli_json_u64(j, "axis", q->axis);
	if (q->per == TP_PER_BLOCK)
		cli_json_u64(j, "block", q->block);
	cli_json_str(j, "scale", tp_reader_entry(f->r, q->scale)->name);
	if (q->zero_point != TP_NONE)
		cli_json_str(j, "zero_point",
		    tp_reader_entry(f->r, q->zero_point)->name);
	cli_json_bool(j, "in_graph", q->in_graph);
	tp_json_object_end(j);
}

/* The extremes of integers are exact, those of others are doubles. */
static void
put_range(struct tp_json *j, const struct tp_entry *e, const struct tp_stats *s)
{
	enum tp_dtype_kind kind = tp_dtype_kind(e->dtype);

	tp_json_key(j, "min");
	if (kind == TP_KIND_UINT)
		tp_json_u64(j, s->uint_min);
	else if (kind == TP_KIND_INT || kind == TP_KIND_BOOL)
		tp_json_i64(j, s->int_min);
	else
		tp_json_double(j, s->min);
	tp_json_key(j, "max");
	if (kind == TP_KIND_UINT)
		tp_json_u64(j, s->uint_max);
	else if (kind == TP_KIND_INT || kind == TP_KIND_BOOL)
		tp_json_i64(j, s->int_max);
	else
		tp_json_double(j, s->max);
}

static void
put_stats(struct tp_json *j, const struct tp_entry *e, const struct tp_stats *s)
{
	tp_json_key(j, "stats");
	tp_json_object_begin(j);
	if (s->n_finite) {
		put_range(j, e, s);
		cli_json_double(j, "mean", s->mean);
		cli_json_double(j, "std", tp_stats_std(s));
	}
	cli_json_u64(j, "finite", s->n_finite);
	cli_json_u64(j, "zeros", s->n_zero);
	cli_json_u64(j, "nan", s->n_nan);
	cli_json_u64(j, "positive_inf", s->n_pos_inf);
	cli_json_u64(j, "negative_inf", s->n_neg_inf);
	if (s->n_nan)
		cli_json_u64(j, "first_nan", s->first_nan);
	if (s->n_pos_inf + s->n_neg_inf)
		cli_json_u64(j, "first_inf", s->first_inf);
	tp_json_object_end(j);
}

static void
put_histogram(struct tp_json *j, const struct tp_histogram *h)
{
	tp_json_key(j, "histogram");
	tp_json_object_begin(j);
	cli_json_double(j, "low", h->low);
	cli_json_double(j, "high", h->high);
	tp_json_key(j, "counts");
	tp_json_row_begin(j);
	for (unsigned i = 0; i < h->n_bins; i++)
		tp_json_u64(j, h->counts[i]);
	tp_json_array_end(j);
	tp_json_object_end(j);
}

static void
put_result(
    struct tp_json *j, const struct tp_entry *e, const struct inspect_result *x)
{
	char text[SHA256_TEXT_SIZE];

	if (x->err.status)
		inspect_json_error(j, &x->err);
	if (x->has_stats && inspect_options.stats)
		put_stats(j, e, &x->stats);
	if (x->has_histogram)
		put_histogram(j, &x->histogram);
	if (x->has_hash)
		cli_json_text(j, "sha256", sha256_text(x->hash, text));
}

static void
put_tensor(struct tp_json *j, const struct inspect_file *f,
    const struct tp_entry *e, const struct inspect_result *x)
{
	tp_json_object_begin(j);
	cli_json_str(j, "name", e->name);
	if (e->scope.len) {
		cli_json_str(j, "scope", e->scope);
		cli_json_str(j, "local_name", e->local);
	}
	if (e->origin != TP_ORIGIN_PLAIN)
		cli_json_text(j, "origin", tp_origin_name(e->origin));
	cli_json_text(j, "dtype", tp_dtype_name(e->dtype));
	cli_json_sizes(j, "shape", e->shape, e->rank);
	if (e->strides)
		cli_json_sizes(j, "strides", e->strides, e->rank);
	cli_json_u64(j, "elements", e->n_elems);
	cli_json_u64(j, "bytes", e->nbytes);
	put_place(j, f, e);
	if (e->sparse) {
		tp_json_key(j, "sparse");
		tp_json_object_begin(j);
		cli_json_u64(j, "values", e->sparse->n_values);
		tp_json_object_end(j);
	}
	if (e->quant)
		put_quant(j, f, e);
	if (x)
		put_result(j, e, x);
	tp_json_object_end(j);
}

static void
put_tensors(struct tp_json *j, struct inspect_file *f)
{
	struct inspect_results results;

	tp_json_key(j, "tensors");
	tp_json_array_begin(j);
	if (inspect_results_init(&results, f)) {
		for (size_t i = 0; i < f->n && !cli_output_failed(); i++)
			put_tensor(j, f, inspect_entry(f, i),
			    inspect_results_get(&results, i));
		inspect_results_release(&results);
	}
	tp_json_array_end(j);
}

static void
put_total(struct tp_json *j, const char *dtype, const struct inspect_total *t)
{
	tp_json_object_begin(j);
	if (dtype)
		cli_json_text(j, "dtype", dtype);
	cli_json_u64(j, "tensors", t->tensors);
	cli_json_u64(j, "elements", t->elements);
	cli_json_u64(j, "bytes", t->nbytes);
	tp_json_object_end(j);
}

static void
put_totals(struct tp_json *j, struct inspect_file *f)
{
	struct inspect_totals t = {0};

	inspect_count(f, &t);
	tp_json_key(j, "total");
	put_total(j, NULL, &t.all);
	tp_json_key(j, "by_dtype");
	tp_json_array_begin(j);
	for (size_t i = 0; i < TP_DTYPE_COUNT; i++)
		if (t.by_dtype[i].tensors)
			put_total(
			    j, tp_dtype_name((enum tp_dtype)i), &t.by_dtype[i]);
	tp_json_array_end(j);
}

static void
put_files(struct tp_json *j, const struct inspect_file *f)
{
	const char *path;
	uint64_t nbytes;

	tp_json_key(j, "stored_in");
	tp_json_array_begin(j);
	for (size_t i = 0; (path = tp_reader_file(f->r, i, &nbytes)); i++)
		cli_json_file(j, path, nbytes);
	tp_json_array_end(j);
}

static void
put_metadata(struct tp_json *j, const struct inspect_file *f)
{
	tp_json_key(j, "metadata");
	tp_json_array_begin(j);
	for (size_t i = 0; i < tp_reader_n_meta(f->r); i++)
		cli_json_meta(j, tp_reader_meta(f->r, i));
	tp_json_array_end(j);
}

void
inspect_json_file(struct tp_json *j, struct inspect_file *f)
{
	tp_json_object_begin(j);
	cli_json_text(j, "path", f->path);
	cli_json_text(j, "format", tp_format_name(tp_reader_format(f->r)));
	put_files(j, f);
	put_metadata(j, f);
	if (inspect_options.graph)
		inspect_json_graph(j, f);
	put_tensors(j, f);
	put_totals(j, f);
	if (inspect_options.values.n)
		inspect_json_values(j, f);
	tp_json_object_end(j);
}

void
inspect_json_failed(
    struct tp_json *j, const char *path, const struct tp_err *err)
{
	tp_json_object_begin(j);
	cli_json_text(j, "path", path);
	inspect_json_error(j, err);
	tp_json_object_end(j);
}
