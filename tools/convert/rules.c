/* SPDX-License-Identifier: Apache-2.0 */
/* rules.c - the command line applied to each tensor */
#include "convert/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is wrong, with the argument that it is wrong with. */
static const char *
complain(const char *option, const char *text, const char *what)
{
	static char message[400];

	snprintf(message, sizeof(message), "--%s %.120s: %.200s", option, text,
	    what);
	return message;
}

/* [GLOB=]TYPE. A type has no '=', so the last one divides. */
static const char *
parse_dtype(const struct cli_list_item *item, struct dtype_rule *rule)
{
	const char *equals = strrchr(item->text, '=');
	const char *type = equals ? equals + 1 : item->text;

	rule->text = item->text;
	rule->dtype = tp_dtype_find(type);
	if (equals)
		rule->pattern =
		    (struct tp_str){item->text, (size_t)(equals - item->text)};
	if (rule->dtype == TP_DTYPE_NONE || rule->dtype == TP_DTYPE_STRING)
		return complain(item->option->name, item->text,
		    "no dtype of that name that values can have");
	return NULL;
}

const char *
rules_parse(struct rules *r)
{
	const struct cli_list_item *at = NULL;
	const char *wrong;

	r->dtypes = calloc(r->dtype.n + 1, sizeof(*r->dtypes));
	if (!r->dtypes)
		return cli_no_memory;
	for (size_t i = 0; i < r->dtype.n; i++) {
		wrong = parse_dtype(&r->dtype.items[i], &r->dtypes[i]);
		if (wrong)
			return wrong;
	}
	wrong = rename_parse(&r->rename, &r->renames, &at);
	return wrong ? complain(at->option->name, at->text, wrong) : NULL;
}

void
rules_release(struct rules *r)
{
	rename_free(r->renames);
	free(r->dtypes);
	cli_list_release(&r->rename);
	cli_list_release(&r->dtype);
	cli_list_release(&r->filter.include);
	cli_list_release(&r->filter.exclude);
}

/* True if a TYPE without GLOB means tensors of that dtype. */
static bool
same_kind(enum tp_dtype a, enum tp_dtype b)
{
	enum tp_dtype_kind ka = tp_dtype_kind(a), kb = tp_dtype_kind(b);
	bool int_a = ka == TP_KIND_INT || ka == TP_KIND_UINT;
	bool int_b = kb == TP_KIND_INT || kb == TP_KIND_UINT;

	return ka == kb || (int_a && int_b);
}

static void
choose_dtype(struct rules *r, const struct tp_entry *e, enum tp_dtype *dtype)
{
	bool passed_over = false;

	for (size_t i = 0; i < r->dtype.n; i++) {
		struct dtype_rule *rule = &r->dtypes[i];

		if (rule->pattern.s ? !cli_glob(rule->pattern, e->name)
				    : !same_kind(rule->dtype, e->dtype)) {
			passed_over |= !rule->pattern.s;
			continue;
		}
		rule->n_used++;
		*dtype = rule->dtype;
		return;
	}
	r->n_other_kind += passed_over;
}

enum tp_status
rules_choose(void *ctx, const struct tp_reader *reader, size_t entry,
    struct tp_choice *choice, struct tp_err *err)
{
	struct rules *r = ctx;
	const struct tp_entry *e = tp_reader_entry(reader, entry);

	if (!cli_filter_takes(&r->filter, e->name)) {
		r->n_dropped++;
		choice->drop = true;
		return TP_OK;
	}
	r->n_kept++;
	choose_dtype(r, e, &choice->dtype);
	return rename_apply(r->renames, e->name, &choice->name, err);
}

enum tp_status
rules_finish(const struct rules *r, struct tp_err *err)
{
	enum tp_status rc;

	/* An empty file would look like success; a glob was mistyped. */
	if (r->n_dropped && !r->n_kept)
		return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "--include and --exclude leave none of %zu tensors",
		    r->n_dropped);
	rc = rename_finish(r->renames, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < r->dtype.n; i++)
		if (!r->dtypes[i].n_used)
			cli_note("no tensor was converted by --dtype %s",
			    r->dtypes[i].text);
	if (r->n_other_kind)
		cli_note("%zu tensor%s of another kind than --dtype says %s "
			 "unchanged; '*=TYPE' means all",
		    r->n_other_kind, r->n_other_kind == 1 ? "" : "s",
		    r->n_other_kind == 1 ? "is" : "are");
	return TP_OK;
}
