/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_text.c - a verdict for people */
#include "verdict.h"

#include <inttypes.h>
#include <string.h>

#include "text.h"

static void
put_item(FILE *out, const struct verdict_item *item)
{
	cli_put_name(out, item->name, CLI_NAME_COLUMNS);
	if (item->other_name.s) {
		fputs(" (", out);
		cli_put_name(out, item->other_name, CLI_NAME_COLUMNS);
		putc(')', out);
	}
	fprintf(out, ": %s", verdict_status_name(item->status));
	if (item->reason) {
		fputs(": ", out);
		cli_put_text(out, tp_str(item->reason));
	}
	putc('\n', out);
}

void
verdict_put_items(FILE *out, const struct verdict *v)
{
	for (size_t i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];
		bool fine = item->status == VERDICT_EQUAL ||
			    item->status == VERDICT_EXCLUDED;

		if (!fine || cli_common.verbose)
			put_item(out, item);
		if (item->warning && !cli_common.quiet) {
			cli_put_name(out, item->name, CLI_NAME_COLUMNS);
			fputs(": warning: ", out);
			cli_put_text(out, tp_str(item->warning));
			putc('\n', out);
		}
	}
	for (size_t i = 0; i < v->n_remarks; i++) {
		fprintf(out, "%s: ", v->remarks[i].kind);
		if (v->remarks[i].text)
			cli_put_text(out, tp_str(v->remarks[i].text));
		putc('\n', out);
	}
}

static void
put_count(FILE *out, struct verdict_totals t, const char *what)
{
	fprintf(out, "%zu tensor%s (%" PRIu64 " element%s) %s", t.tensors,
	    t.tensors == 1 ? "" : "s", t.elements, t.elements == 1 ? "" : "s",
	    what);
}

/* " (2 unreadable, 1 unsupported)": why nothing was proved of them. */
static void
put_reasons(FILE *out, const struct verdict *v)
{
	struct {
		const char *kind;
		size_t n;
	} rows[8] = {{NULL, 0}};
	size_t n_rows = 0;

	for (size_t i = 0; i < v->n_items; i++) {
		const char *kind = v->items[i].kind;
		size_t k = 0;

		if (v->items[i].status != VERDICT_NOT_COMPARED || !kind)
			continue;
		while (k < n_rows && strcmp(rows[k].kind, kind) != 0)
			k++;
		if (k == sizeof(rows) / sizeof(rows[0]))
			continue;
		rows[k].kind = kind;
		rows[k].n++;
		n_rows += k == n_rows;
	}
	for (size_t k = 0; k < n_rows; k++)
		fprintf(
		    out, "%s%zu %s", k ? ", " : " (", rows[k].n, rows[k].kind);
	if (n_rows)
		putc(')', out);
}

void
verdict_put_totals(FILE *out, const struct verdict *v)
{
	put_count(out, verdict_compared(v), "compared: ");
	for (unsigned s = 0; s < VERDICT_STATUS_COUNT; s++) {
		/* Always said, even when there are none. */
		bool always = s == VERDICT_EQUAL || s == VERDICT_DIFFERENT ||
			      s == VERDICT_NOT_COMPARED;

		if (always || v->totals[s].tensors)
			fprintf(out, "%s%zu %s", s ? ", " : "",
			    v->totals[s].tensors, verdict_status_name(s));
		if (s == VERDICT_NOT_COMPARED)
			put_reasons(out, v);
	}
	putc('\n', out);
}
