/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_junit.c - verdicts as JUnit XML, the form that CI systems read
 *
 *	testsuites > testsuite (what was compared) > testcase (a tensor)
 *	    failure	it does not hold, or is missing, or extra
 *	    error	it could not be read or compared
 *	    skipped	the user has excluded it
 *	    system-out	what could be doubted
 *
 * Names become text as on a terminal (escaped control characters) before they
 * become XML, which cannot hold those at all. There are no times and no host:
 * the same verdict gives the same file.
 */
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

struct counts {
	size_t tests, failures, errors, skipped;
};

enum outcome { PASSED, FAILURE, ERROR, SKIPPED };

/* Exit 1 is a finding; whatever is worse, a test that could not be done. */
static enum outcome
outcome_of(int exit, bool excluded)
{
	if (excluded)
		return SKIPPED;
	if (exit == CLI_OK)
		return PASSED;
	return exit == CLI_DIFFERS ? FAILURE : ERROR;
}

/*
 * Text that is fit for a terminal, as XML; also in attributes. It has no
 * characters that XML has not.
 */
static void
put_xml(FILE *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] == '&')
			fputs("&amp;", out);
		else if (s[i] == '<')
			fputs("&lt;", out);
		else if (s[i] == '>')
			fputs("&gt;", out);
		else if (s[i] == '"')
			fputs("&quot;", out);
		else
			putc(s[i], out);
}

/* There was no memory for part of the text: the document must not be used. */
static bool no_memory;

/* Anything at all: a name, or prose. */
static void
put_escaped(FILE *out, struct tp_str text, bool is_name)
{
	size_t size = 0;
	char *plain = cli_plain_new(text, is_name, 0, &size);

	if (plain)
		put_xml(out, plain, size);
	else
		no_memory = true;
	free(plain);
}

static void
put_prose(FILE *out, const char *text)
{
	put_escaped(out, tp_str(text), false);
}

static void
begin_case(FILE *out, const struct verdict *v, struct tp_str name)
{
	fprintf(out, "    <testcase classname=\"tp-verify.%s\" name=\"",
	    v->command);
	put_escaped(out, name, true);
	putc('"', out);
}

static void
put_outcome(
    FILE *out, enum outcome outcome, const char *kind, const char *reason)
{
	static const char *const elements[] = {
	    [FAILURE] = "failure", [ERROR] = "error"};

	if (outcome == SKIPPED)
		fputs("      <skipped/>\n", out);
	if (outcome != FAILURE && outcome != ERROR)
		return;
	fprintf(out, "      <%s type=\"", elements[outcome]);
	put_prose(out, kind);
	fputs("\" message=\"", out);
	put_prose(out, reason ? reason : kind);
	fputs("\"/>\n", out);
}

static void
put_item(FILE *out, const struct verdict *v, const struct verdict_item *item)
{
	enum outcome outcome =
	    outcome_of(item->exit, item->status == VERDICT_EXCLUDED);
	const char *status = report_status_name(v, item->status);

	begin_case(out, v, item->name);
	if (outcome == PASSED && !item->warning) {
		fputs("/>\n", out);
		return;
	}
	fputs(">\n", out);
	put_outcome(out, outcome, item->kind ? item->kind : status,
	    item->reason ? item->reason : status);
	if (item->warning) {
		fputs("      <system-out>", out);
		put_prose(out, item->warning);
		fputs("</system-out>\n", out);
	}
	fputs("    </testcase>\n", out);
}

/* What is about no tensor: a case of its own if it fails. */
static void
put_other(FILE *out, const struct verdict *v, int exit, const char *kind,
    const char *text)
{
	begin_case(out, v, tp_str(kind));
	fputs(">\n", out);
	put_outcome(out, outcome_of(exit, false), kind, text);
	fputs("    </testcase>\n", out);
}

static void
count(struct counts *c, enum outcome outcome)
{
	c->tests++;
	c->failures += outcome == FAILURE;
	c->errors += outcome == ERROR;
	c->skipped += outcome == SKIPPED;
}

static struct counts
counts_of(const struct verdict *v)
{
	char buf[REPORT_WHY_SIZE];
	struct counts c = {0};

	for (size_t i = 0; i < v->n_items; i++)
		count(&c, outcome_of(v->items[i].exit,
			      v->items[i].status == VERDICT_EXCLUDED));
	for (size_t i = 0; i < v->n_remarks; i++)
		if (v->remarks[i].exit)
			count(&c, outcome_of(v->remarks[i].exit, false));
	if (report_why(v, buf))
		count(&c, ERROR);
	return c;
}

static void
put_counts(FILE *out, struct counts c, bool is_suite)
{
	fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", c.tests,
	    c.failures, c.errors);
	if (is_suite)
		fprintf(out, " skipped=\"%zu\"", c.skipped);
	fputs(">\n", out);
}

static void
put_suite(FILE *out, const struct verdict *v)
{
	char buf[REPORT_WHY_SIZE], *title = report_title(v);
	const char *why = report_why(v, buf);

	fputs("  <testsuite name=\"", out);
	if (title)
		put_prose(out, title);
	else
		no_memory = true;
	free(title);
	putc('"', out);
	put_counts(out, counts_of(v), true);
	for (size_t i = 0; i < v->n_items; i++)
		put_item(out, v, &v->items[i]);
	for (size_t i = 0; i < v->n_remarks; i++)
		if (v->remarks[i].exit)
			put_other(out, v, v->remarks[i].exit,
			    v->remarks[i].kind, v->remarks[i].text);
	if (why)
		put_other(out, v, CLI_INPUT, "file", why);
	fputs("  </testsuite>\n", out);
}

int
report_junit(FILE *out, const struct verdict *v, size_t n, int status)
{
	struct counts all = {0};

	(void)status;
	no_memory = false;
	for (size_t i = 0; i < n; i++) {
		struct counts c = counts_of(&v[i]);

		all.tests += c.tests;
		all.failures += c.failures;
		all.errors += c.errors;
	}
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	fprintf(out, "<testsuites name=\"tp-verify %s\"", v->command);
	put_counts(out, all, false);
	for (size_t i = 0; i < n; i++)
		put_suite(out, &v[i]);
	fputs("</testsuites>\n", out);
	return no_memory ? ENOMEM : 0;
}
