/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - tp-verify check: is each of these files whole and sane?
 *
 * Opening checks all structure. Then every byte is read and every checksum
 * compared, values are looked at, and of ONNX the graph. What a reader only
 * warns of is something that was not looked at, so here it fails (4).
 */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/onnx.h"
#include "tp/shape.h"

#include "glob.h"
#include "report.h"
#include "text.h"
#include "untrusted.h"
#include "verdict.h"

/* Problems of one graph that are told one by one. */
#define MAX_PROBLEMS 100

static const char *opt_from;
static bool opt_no_nan, opt_no_inf, opt_checksums;
static struct cli_filter filter;
static struct report_options reports;

static const struct cli_option options[] = {
    {CLI_HEADING, .help = "What fails"},
    {CLI_FLAG, 0, "no-nan", NULL, &opt_no_nan,
	.help = "a tensor that holds NaN"},
    {CLI_FLAG, 0, "no-inf", NULL, &opt_no_inf,
	.help = "a tensor that holds an infinity"},
    {CLI_FLAG, 0, "need-checksums", NULL, &opt_checksums,
	.help = "tensors that no checksum guards"},
    {CLI_HEADING, .help = "Which tensors"},
    CLI_FILTER_OPTIONS(filter),
    {CLI_STRING, 0, "from", "FMT", &opt_from,
	.help = "read as FMT (default: by content)"},
    {CLI_HEADING, .help = "Files from anyone"},
    CLI_UNTRUSTED_OPTIONS("yes"),
    {CLI_HEADING, .help = "Reports"},
    REPORT_OPTIONS(reports),
    {.kind = CLI_END},
};

static const char *
check_options(void)
{
	return cli_format_check("from", opt_from);
}

const struct cli_app check_app = {
    .name = "tp-verify check",
    .synopsis = "[options] FILE...",
    .summary = "Read every byte of model files: structure, checksums, NaN and "
	       "infinities; of ONNX also the graph and the files it refers to.",
    .options = options,
    .min_args = 1,
    .check = check_options,
};

/*
 * ---- tensors ----
 */

/* "2 NaN, the first at [0, 5]" behind what is there. */
static void
add_count(FILE *out, const struct tp_entry *e, uint64_t n, const char *what,
    const uint64_t *first)
{
	uint64_t at[TP_MAX_RANK];
	unsigned rank;

	if (n == 0)
		return;
	if (ftell(out) > 0)
		fputs("; ", out);
	fprintf(out, "%" PRIu64 " %s", n, what);
	if (!first)
		return;
	fputs(", the first at [", out);
	rank = verdict_coordinates(e->shape, e->rank, *first, at);
	for (unsigned d = 0; d < rank; d++)
		fprintf(out, "%s%" PRIu64, d ? ", " : "", at[d]);
	putc(']', out);
}

/* What fails if fails, else what does not. */
static void
put_values(
    FILE *out, const struct tp_entry *e, const struct tp_scan *s, bool fails)
{
	if (opt_no_nan == fails)
		add_count(out, e, s->n_nan, "NaN", &s->first_nan);
	if (opt_no_inf == fails)
		add_count(out, e, s->n_inf, "infinite", &s->first_inf);
	if (fails)
		return;
	/* Of 8 bits they are a good part of all values. */
	if (tp_dtype_bits(e->dtype) >= 16)
		add_count(out, e, s->n_subnormal, "subnormal", NULL);
	add_count(out, e, s->n_odd_bool, "neither 0 nor 1", NULL);
	if (s->n < 2)
		return;
	if (tp_scan_all_zero(s, e->dtype))
		fputs(ftell(out) > 0 ? "; all zero" : "all zero", out);
	else if (!s->varies)
		fputs(ftell(out) > 0 ? "; all equal" : "all equal", out);
}

static size_t
figures(const struct verdict_item *item,
    struct verdict_figure out[VERDICT_MAX_FIGURES])
{
	const struct check_result *x = item->detail;
	const struct tp_scan *s = x ? &x->scan : NULL;
	size_t n = 0;

	if (!s || x->err || item->status == VERDICT_EXCLUDED)
		return 0;
	out[n++] =
	    (struct verdict_figure){"nan", VERDICT_U64, {.u64 = s->n_nan}};
	out[n++] =
	    (struct verdict_figure){"inf", VERDICT_U64, {.u64 = s->n_inf}};
	out[n++] = (struct verdict_figure){
	    "subnormal", VERDICT_U64, {.u64 = s->n_subnormal}};
	if (s->n_nan)
		out[n++] = (struct verdict_figure){
		    "first_nan", VERDICT_INDEX, {.u64 = s->first_nan}};
	if (s->n_inf)
		out[n++] = (struct verdict_figure){
		    "first_inf", VERDICT_INDEX, {.u64 = s->first_inf}};
	return n;
}

static struct verdict_item
item_of(const struct tp_entry *e, enum verdict_status status)
{
	return (struct verdict_item){.name = e->name,
	    .status = status,
	    .n_elems = e->n_elems,
	    .nbytes = e->nbytes,
	    .rank = e->rank,
	    .shape = e->shape};
}

static void
judge(struct verdict *v, const struct tp_entry *e, const struct check_result *x)
{
	struct verdict_item item = item_of(e, VERDICT_EQUAL);
	char reason[TP_ERR_MSG_SIZE + 80] = "", warning[1024] = "";
	FILE *out;

	item.detail = x;
	if (x->err) {
		item.status = VERDICT_DIFFERENT;
		item.exit = cli_exit_of(x->err->status);
		item.kind =
		    x->err->status == TP_EMISMATCH ? "checksum" : "unreadable";
		snprintf(reason, sizeof(reason), "%s: %s",
		    tp_status_text(x->err->status), x->err->msg);
		item.reason = reason;
		verdict_add(v, &item);
		return;
	}
	/* Of ranks there are few: what is written always fits. */
	for (int fails = 0; fails < 2; fails++) {
		out = fmemopen(fails ? reason : warning,
		    fails ? sizeof(reason) : sizeof(warning), "w");
		if (!out) {
			v->no_memory = true;
			continue;
		}
		put_values(out, e, &x->scan, fails);
		fclose(out);
	}
	if (reason[0]) {
		item.status = VERDICT_DIFFERENT;
		item.kind = opt_no_nan && x->scan.n_nan ? "nan" : "inf";
		item.reason = reason;
	}
	if (warning[0])
		item.warning = warning;
	verdict_add(v, &item);
}

/*
 * ---- the model ----
 */

struct problems {
	struct verdict *v;
	size_t n_errors, n_warnings;
};

/* A tp_onnx_problem_fn */
static void
add_problem(void *ctx, bool is_error, struct tp_str scope, const char *message)
{
	struct problems *p = ctx;
	size_t n = is_error ? ++p->n_errors : ++p->n_warnings;
	char text[TP_ERR_MSG_SIZE + TP_BRIEF_SIZE + 8];

	if (n > MAX_PROBLEMS)
		return;
	snprintf(text, sizeof(text), "%s%s%s", scope.len ? TP_BRIEF(scope) : "",
	    scope.len ? ": " : "", message);
	verdict_remark(p->v, is_error ? "graph" : "graph warning",
	    is_error ? CLI_INPUT : CLI_OK, text);
}

static void
check_graph(struct verdict *v, struct tp_reader *r, const char *path)
{
	struct problems p = {.v = v};
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc = tp_onnx_check(r, add_problem, &p, &err);
	char text[64];

	if (rc && rc != TP_ENOTFOUND) {
		cli_report(path, &err);
		verdict_fail(v, path, &err);
	}
	if (p.n_errors > MAX_PROBLEMS) {
		snprintf(text, sizeof(text), "and %zu more",
		    p.n_errors - MAX_PROBLEMS);
		verdict_remark(v, "graph", CLI_INPUT, text);
	}
	if (p.n_warnings > MAX_PROBLEMS) {
		snprintf(text, sizeof(text), "and %zu more",
		    p.n_warnings - MAX_PROBLEMS);
		verdict_remark(v, "graph warning", CLI_OK, text);
	}
}

/* What the checksums prove of the values, and what they do not. */
static void
add_content(struct verdict *v, const struct check_file *f)
{
	char text[160];
	int exit = opt_checksums ? CLI_UNSUPPORTED : CLI_OK;

	if (f->n_unchecked == 0 && f->n_checksums == 0)
		return;
	if (f->n_unchecked == 0)
		snprintf(text, sizeof(text), "all of it is under checksums");
	else if (f->n_checksums == 0)
		snprintf(text, sizeof(text),
		    "not checkable: %s has no checksums of tensors",
		    tp_format_name(tp_reader_format(f->r)));
	else
		snprintf(text, sizeof(text),
		    "not checkable in part: %zu of %zu storages have no "
		    "checksum",
		    f->n_unchecked, f->n_unchecked + f->n_checksums);
	verdict_remark(v, "content", f->n_unchecked ? exit : CLI_OK, text);
}

/* A tp_warn_fn: what a reader could not look at. */
static void
add_warning(void *ctx, const char *path, const char *message)
{
	(void)path;
	verdict_remark(ctx, "incomplete", CLI_UNSUPPORTED, message);
}

static enum tp_status
choose(struct check_file *f, struct tp_err *err)
{
	f->n_all = tp_reader_n_entries(f->r);
	f->entries = tp_mem_array(NULL, f->n_all, sizeof(*f->entries));
	if (!f->entries)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "out of memory");
	for (size_t i = 0; i < f->n_all; i++)
		if (cli_filter_takes(&filter, tp_reader_entry(f->r, i)->name))
			f->entries[f->n++] = i;
	return TP_OK;
}

static bool
lies_in(const struct tp_entry *e, size_t storage)
{
	return e->storage == storage ||
	       (e->sparse && e->sparse->indices == storage);
}

static void
judge_all(struct verdict *v, const struct check_file *f)
{
	size_t at = 0;

	for (size_t i = 0; i < f->n_all; i++) {
		const struct tp_entry *e = tp_reader_entry(f->r, i);
		struct verdict_item excluded = item_of(e, VERDICT_EXCLUDED);

		if (at < f->n && f->entries[at] == i)
			judge(v, e, &f->results[at++]);
		else
			verdict_add(v, &excluded);
	}
	/* What no tensor lies in was read too. */
	for (size_t i = 0; i < f->n_storages; i++) {
		bool told = false;

		for (size_t k = 0; f->storage_errs[i] && k < f->n && !told; k++)
			told = lies_in(tp_reader_entry(f->r, f->entries[k]), i);
		if (f->storage_errs[i] && !told)
			verdict_remark(v, "storage",
			    cli_exit_of(f->storage_errs[i]->status),
			    f->storage_errs[i]->msg);
	}
	add_content(v, f);
}

/*
 * ---- what is told ----
 */

static void
put_line(const char *kind, struct tp_str name, const char *text)
{
	printf("%s: ", kind);
	cli_put_name(stdout, name, CLI_NAME_COLUMNS);
	if (text) {
		fputs(": ", stdout);
		cli_put_text(stdout, tp_str(text));
	}
	putc('\n', stdout);
}

static size_t
put_items(const struct verdict *v)
{
	size_t n_warnings = 0;

	for (size_t i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->exit || cli_common.verbose)
			put_line(report_status_name(v, item->status),
			    item->name, item->reason);
		if (!item->warning)
			continue;
		n_warnings++;
		if (!cli_common.quiet)
			put_line("warning", item->name, item->warning);
	}
	for (size_t i = 0; i < v->n_remarks; i++) {
		const struct verdict_remark *r = &v->remarks[i];

		/* That of the content is in the last line. */
		if (!r->exit &&
		    (cli_common.quiet || !strcmp(r->kind, "content")))
			continue;
		printf("%s: ", r->kind);
		cli_put_text(stdout, tp_str(r->text ? r->text : ""));
		putc('\n', stdout);
	}
	return n_warnings;
}

static void
put_verdict(const struct verdict *v)
{
	char buf[REPORT_WHY_SIZE];
	const char *why = report_why(v, buf);
	size_t n_warnings = put_items(v);

	cli_put_text(stdout, tp_str(cli_path_text(v->paths[0])));
	printf(": %s: %zu tensor%s (%" PRIu64 " element%s) checked, "
	       "%zu failed, %zu with warnings, %zu excluded",
	    verdict_exit(v) == CLI_OK ? "passed" : "failed",
	    verdict_compared(v).tensors,
	    verdict_compared(v).tensors == 1 ? "" : "s",
	    verdict_compared(v).elements,
	    verdict_compared(v).elements == 1 ? "" : "s",
	    v->totals[VERDICT_DIFFERENT].tensors, n_warnings,
	    v->totals[VERDICT_EXCLUDED].tensors);
	for (size_t i = 0; i < v->n_remarks; i++)
		if (!strcmp(v->remarks[i].kind, "content") &&
		    v->remarks[i].text)
			printf("; content: %s", v->remarks[i].text);
	if (why) {
		fputs(": ", stdout);
		cli_put_text(stdout, tp_str(why));
	}
	putc('\n', stdout);
}

static void
check_file(struct verdict *v, struct check_file *f, const char *path)
{
	struct tp_open_options open = {.format = opt_from,
	    .limits = cli_untrusted_limits(),
	    .warn = add_warning,
	    .warn_ctx = v};
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	verdict_init(v, "check", path, NULL);
	v->figures = figures;
	rc = tp_open(path, &open, &f->r, &err);
	if (!rc)
		rc = choose(f, &err);
	if (!rc)
		rc = check_read(f, &err);
	if (rc) {
		cli_untrusted_report(path, &err);
		verdict_fail(v, path, &err);
	} else {
		judge_all(v, f);
		check_graph(v, f->r, path);
		if (tp_reader_check_files(f->r, &err)) {
			cli_report(path, &err);
			verdict_fail(v, path, &err);
		}
	}
	if (!cli_common.json)
		put_verdict(v);
}

static int
check_all(size_t n, char **argv)
{
	struct verdict *v = tp_mem_array(NULL, n, sizeof(*v));
	struct check_file *f = tp_mem_array(NULL, n, sizeof(*f));
	int rc = CLI_OK;

	if (!v || !f) {
		cli_message("out of memory");
		rc = CLI_INPUT;
	}
	for (size_t i = 0; v && f && i < n; i++) {
		check_file(&v[i], &f[i], argv[i]);
		rc = cli_worst(rc, verdict_exit(&v[i]));
	}
	if (v && f)
		rc = report_all(&reports, v, n, rc);
	for (size_t i = 0; v && f && i < n; i++) {
		verdict_release(&v[i]);
		check_release(&f[i]);
	}
	if (v)
		tp_mem_free(NULL, v, n, sizeof(*v));
	if (f)
		tp_mem_free(NULL, f, n, sizeof(*f));
	return rc;
}

int
check_run(int n_args, char **argv)
{
	size_t n = (size_t)n_args;
	struct sandbox_plan plan = {.paths = NULL};
	int rc;

	for (size_t i = 0; i < n; i++)
		sandbox_plan_add(&plan, SANDBOX_READ, argv[i]);
	report_plan(&reports, &plan);
	rc = cli_untrusted_enter(CLI_UNTRUSTED, &plan);
	if (rc == CLI_OK)
		rc = check_all(n, argv);
	cli_list_release(&filter.include);
	cli_list_release(&filter.exclude);
	return rc;
}
