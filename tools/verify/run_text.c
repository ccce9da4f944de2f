/* SPDX-License-Identifier: Apache-2.0 */
/* run_text.c - what `tp-verify run` tells to people */
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/shape.h"

#include "report.h"
#include "text.h"

/* What became of a test. */
enum outcome {
	PASSED,
	RANDOM,
	EXPECTED,
	FAILED,
	NOT_RUN,
	EXCLUDED,
	N_OUTCOMES
};

static const char *const outcome_names[N_OUTCOMES] = {
    [PASSED] = "passed",
    [RANDOM] = "random",
    [EXPECTED] = "expected to differ",
    [FAILED] = "failed",
    [NOT_RUN] = "not run",
    [EXCLUDED] = "excluded",
};

static enum outcome
outcome_of(const struct run_case *c)
{
	int exit = verdict_exit(&c->v);

	if (c->v.excluded)
		return EXCLUDED;
	if (exit == CLI_DIFFERS)
		return FAILED;
	if (exit != CLI_OK)
		return NOT_RUN;
	if (c->v.totals[VERDICT_EXPECTED].tensors)
		return EXPECTED;
	return c->v.totals[VERDICT_RANDOM].tensors ? RANDOM : PASSED;
}

static void
put_case_name(FILE *out, const struct run_case *c)
{
	cli_put_text(out, tp_str(cli_path_text(c->target->path)));
	fputs(": ", out);
}

/* "f32 [2, 3], max abs 1.2e-07 rel 1e-06 ulp 2" */
static void
put_figures(FILE *out, const struct verdict_item *item)
{
	const struct run_output *o = item->detail;
	const struct tp_compare *c = &o->c.figures;

	if (o->c.dtype)
		fprintf(out, "%s ", tp_dtype_name(o->c.dtype));
	if (item->shape)
		fputs(TP_SHAPE_TEXT(item->shape, item->rank), out);
	if (o->c.exact)
		fputs(", the same", out);
	else if (o->c.has_figures)
		fprintf(out,
		    ", max abs %.3g rel %.3g ulp %" PRIu64
		    ", of range %.3g, SQNR %.1f dB",
		    c->max_abs, c->max_rel, c->max_ulp, run_of_range(&o->c),
		    tp_compare_sqnr(c));
}

static void
put_item(FILE *out, const struct run_case *c, const struct verdict_item *item)
{
	put_case_name(out, c);
	cli_put_name(out, item->name, CLI_NAME_COLUMNS);
	fprintf(out, ": %s: ", report_status_name(&c->v, item->status));
	if (item->reason)
		cli_put_text(out, tp_str(item->reason));
	else
		put_figures(out, item);
	putc('\n', out);
}

/* "FOLDER/test_x: not run: unsupported: node 3 …" */
static void
put_remark(FILE *out, const struct run_case *c, const struct verdict_remark *r)
{
	put_case_name(out, c);
	if (r->exit)
		fputs(r->exit == CLI_DIFFERS ? "failed: " : "not run: ", out);
	fprintf(out, "%s: ", r->kind);
	cli_put_text(out, tp_str(r->text ? r->text : ""));
	putc('\n', out);
}

void
run_put_case(FILE *out, const struct run_case *c, bool all)
{
	for (size_t i = 0; i < c->v.n_items; i++)
		if (all || c->v.items[i].status != VERDICT_EQUAL)
			put_item(out, c, &c->v.items[i]);
	for (size_t i = 0; i < c->v.n_remarks; i++)
		if (c->v.remarks[i].exit || cli_common.verbose)
			put_remark(out, c, &c->v.remarks[i]);
	if (c->v.no_memory) {
		put_case_name(out, c);
		fputs("not run: out of memory\n", out);
	}
}

struct summary {
	size_t outcomes[N_OUTCOMES];
	size_t n_outputs, n_same; /* that hold; to the bit */
	/* The one that is furthest off, so that a loose pass is seen. */
	const struct run_case *test;
	const struct verdict_item *output;
};

static void
count(struct summary *s, const struct run_case *c)
{
	s->outcomes[outcome_of(c)]++;
	for (size_t i = 0; i < c->v.n_items; i++) {
		const struct verdict_item *item = &c->v.items[i];
		const struct run_output *o = item->detail, *most;

		if (item->status != VERDICT_EQUAL)
			continue;
		s->n_outputs++;
		s->n_same += o->c.exact;
		most = s->output ? s->output->detail : NULL;
		if (o->c.exact || !isfinite(run_of_range(&o->c)) ||
		    (most && run_of_range(&o->c) <= run_of_range(&most->c)))
			continue;
		s->test = c;
		s->output = item;
	}
}

void
run_put_summary(FILE *out, const struct run_case *cases, size_t n)
{
	struct summary s = {.n_outputs = 0};

	for (size_t i = 0; i < n; i++)
		count(&s, &cases[i]);
	fprintf(out, "%zu test%s: ", n, n == 1 ? "" : "s");
	for (unsigned i = 0; i < N_OUTCOMES; i++)
		fprintf(out, "%s%zu %s", i ? ", " : "", s.outcomes[i],
		    outcome_names[i]);
	fprintf(out, "\n%zu output%s, %zu to the bit", s.n_outputs,
	    s.n_outputs == 1 ? " holds" : "s hold", s.n_same);
	if (s.output && n > 1) {
		fputs("; the furthest off: ", out);
		put_case_name(out, s.test);
		cli_put_name(out, s.output->name, CLI_NAME_COLUMNS);
		fputs(": ", out);
		put_figures(out, s.output);
	}
	putc('\n', out);
}
