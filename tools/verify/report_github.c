/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_github.c - verdicts as annotations of a GitHub workflow
 *
 *	::error file=a.safetensors,title=tp-verify diff::w: value: …
 *
 * GitHub shows ten of each kind for a step; the tenth says how many more there
 * are. A %, and what would end a line, are written as %25, %0D and %0A, in
 * properties : and , as well. Names are cut: a line that is too long is no
 * annotation.
 */
#include "report.h"

#include <stdlib.h>

#include "text.h"

#define MAX_SHOWN 10

/* What is left of each kind. */
struct left {
	size_t errors, warnings;     /* in all */
	size_t n_errors, n_warnings; /* told */
};

static void
put_encoded(FILE *out, const char *s, size_t n, bool property)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] == '%' || s[i] == '\r' || s[i] == '\n' ||
		    (property && (s[i] == ':' || s[i] == ',')))
			fprintf(out, "%%%02X", (unsigned)s[i]);
		else
			putc(s[i], out);
}

/* Made fit for a terminal first, as everything that came from a file. */
static void
put_data(FILE *out, struct tp_str text, bool is_name, bool property)
{
	size_t size = 0;
	char *plain = cli_plain_new(text, is_name, CLI_NAME_COLUMNS, &size);

	if (plain)
		put_encoded(out, plain, size, property);
	else
		fputs("(out of memory)", out);
	free(plain);
}

/* name may be empty: about the whole file. */
static void
annotate(FILE *out, struct left *left, const struct verdict *v, bool is_error,
    struct tp_str name, const char *kind, const char *text)
{
	size_t all = is_error ? left->errors : left->warnings;
	size_t told = is_error ? ++left->n_errors : ++left->n_warnings;

	if (told > MAX_SHOWN)
		return;
	fputs(is_error ? "::error file=" : "::warning file=", out);
	put_data(out, tp_str(v->paths[v->paths[1] ? 1 : 0]), false, true);
	fprintf(out, ",title=tp-verify %s::", v->command);
	if (told == MAX_SHOWN && all > MAX_SHOWN) {
		fprintf(out, "and %zu more\n", all - told + 1);
		return;
	}
	if (name.len) {
		put_data(out, name, true, false);
		fputs(": ", out);
	}
	fputs(kind, out);
	if (text) {
		fputs(": ", out);
		put_data(out, tp_str(text), false, false);
	}
	putc('\n', out);
}

/* With out NULL: only count. */
static void
walk(FILE *out, struct left *left, const struct verdict *v)
{
	char buf[REPORT_WHY_SIZE];
	const char *why = report_why(v, buf);

	for (size_t i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];
		const char *status = report_status_name(v, item->status);

		if (!out) {
			left->errors += item->exit != CLI_OK;
			left->warnings += item->warning != NULL;
			continue;
		}
		if (item->exit)
			annotate(out, left, v, true, item->name, status,
			    item->reason);
		if (item->warning)
			annotate(out, left, v, false, item->name, "warning",
			    item->warning);
	}
	for (size_t i = 0; i < v->n_remarks; i++) {
		const struct verdict_remark *r = &v->remarks[i];

		if (!out)
			left->errors += r->exit != CLI_OK;
		else if (r->exit)
			annotate(
			    out, left, v, true, TP_STR(""), r->kind, r->text);
	}
	if (!out)
		left->errors += why != NULL;
	else if (why)
		annotate(out, left, v, true, TP_STR(""), "failed", why);
}

void
report_github(FILE *out, const struct verdict *v, size_t n)
{
	struct left left = {0};

	for (size_t i = 0; i < n; i++)
		walk(NULL, &left, &v[i]);
	for (size_t i = 0; i < n; i++)
		walk(out, &left, &v[i]);
}
