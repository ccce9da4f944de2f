/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_json.c - verdicts as one document that fits schemas/verify.schema.json
 */
#include "report.h"

#include <string.h>

#include "cli_json.h"
#include "untrusted.h"

static void
put_status(struct tp_json *j, int status)
{
	cli_json_bool(j, "passed", status == CLI_OK);
	cli_json_i64(j, "exit_status", status);
}

/* Element n of the tensor as its coordinates. */
static void
put_index(struct tp_json *j, const struct verdict_item *item, uint64_t n)
{
	uint64_t at[TP_MAX_RANK];
	unsigned rank = verdict_coordinates(item->shape, item->rank, n, at);

	tp_json_row_begin(j);
	for (unsigned d = 0; d < rank; d++)
		tp_json_u64(j, at[d]);
	tp_json_array_end(j);
}

static void
put_figure(struct tp_json *j, const struct verdict_item *item,
    const struct verdict_figure *f)
{
	tp_json_key(j, f->key);
	switch (f->kind) {
	case VERDICT_U64:
		tp_json_u64(j, f->v.u64);
		return;
	case VERDICT_F64:
		tp_json_double(j, f->v.f64);
		return;
	case VERDICT_TEXT:
		tp_json_text(j, f->v.text);
		return;
	case VERDICT_INDEX:
		put_index(j, item, f->v.u64);
		return;
	}
}

static void
put_item(
    struct tp_json *j, const struct verdict *v, const struct verdict_item *item)
{
	struct verdict_figure figures[VERDICT_MAX_FIGURES];
	size_t n = v->figures ? v->figures(item, figures) : 0;

	tp_json_object_begin(j);
	cli_json_str(j, "name", item->name);
	if (item->other_name.s) {
		cli_json_str(j, "other_name", item->other_name);
	}
	cli_json_text(j, "status", report_status_name(v, item->status));
	if (item->kind)
		cli_json_text(j, "kind", item->kind);
	if (item->reason)
		cli_json_text(j, "reason", item->reason);
	if (item->warning)
		cli_json_text(j, "warning", item->warning);
	if (item->shape || item->n_elems) {
		cli_json_sizes(j, "shape", item->shape, item->rank);
	}
	cli_json_u64(j, "elements", item->n_elems);
	cli_json_u64(j, "bytes", item->nbytes);
	if (n) {
		tp_json_key(j, "figures");
		tp_json_object_begin(j);
		for (size_t i = 0; i < n; i++)
			put_figure(j, item, &figures[i]);
		tp_json_object_end(j);
	}
	tp_json_object_end(j);
}

static void
put_totals(struct tp_json *j, const struct verdict *v)
{
	tp_json_key(j, "totals");
	tp_json_object_begin(j);
	for (int s = 0; s < VERDICT_STATUS_COUNT; s++) {
		bool of_run = s == VERDICT_RANDOM || s == VERDICT_EXPECTED;

		/* Other commands know nothing of these. */
		if (of_run && strcmp(v->command, "run") != 0)
			continue;
		tp_json_key(j, report_status_name(v, (enum verdict_status)s));
		tp_json_object_begin(j);
		cli_json_u64(j, "tensors", v->totals[s].tensors);
		cli_json_u64(j, "elements", v->totals[s].elements);
		tp_json_object_end(j);
	}
	tp_json_object_end(j);
}

static void
put_verdict(struct tp_json *j, const struct verdict *v)
{
	char buf[REPORT_WHY_SIZE];
	const char *why = report_why(v, buf);

	tp_json_object_begin(j);
	tp_json_key(j, "files");
	tp_json_array_begin(j);
	for (size_t i = 0; i < 2 && v->paths[i]; i++)
		tp_json_text(j, v->paths[i]);
	tp_json_array_end(j);
	put_status(j, verdict_exit(v));
	if (v->error.status)
		cli_json_error(j, &v->error, v->error_path);
	else if (why)
		cli_json_text(j, "why", why);
	tp_json_key(j, "tensors");
	tp_json_array_begin(j);
	for (size_t i = 0; i < v->n_items; i++)
		put_item(j, v, &v->items[i]);
	tp_json_array_end(j);
	tp_json_key(j, "remarks");
	tp_json_array_begin(j);
	for (size_t i = 0; i < v->n_remarks; i++) {
		tp_json_object_begin(j);
		cli_json_text(j, "kind", v->remarks[i].kind);
		cli_json_text(j, "text", v->remarks[i].text);
		cli_json_i64(j, "exit_status", v->remarks[i].exit);
		tp_json_object_end(j);
	}
	tp_json_array_end(j);
	put_totals(j, v);
	tp_json_object_end(j);
}

int
report_json(FILE *out, const struct verdict *v, size_t n, int status)
{
	struct tp_json j;

	cli_json_begin(&j, out, "tp-verify");
	cli_json_text(&j, "command", v->command);
	put_status(&j, status);
	cli_untrusted_put_json(&j);
	tp_json_key(&j, "models");
	tp_json_array_begin(&j);
	for (size_t i = 0; i < n; i++)
		put_verdict(&j, &v[i]);
	tp_json_array_end(&j);
	cli_json_end(&j);
	return 0;
}
