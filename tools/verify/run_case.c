/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_case.c - one test: a model with its data sets, computed and judged
 */
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* What belongs to one test while it runs. */
struct test {
	struct run_case *c;
	struct run_settings *s;
	struct run_model m;
	struct run_random *random;
	struct run_judge judge;
};

/* One run; set is NULL where its name says nothing. */
static void
run_once(struct test *t, const char *folder, const char *set)
{
	const struct tp_graph *g = t->m.graph;
	struct run_job job = {
	    .watch.trace = run_trace_of(t->s), .watch.stop_at = t->s->stop_at};
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	rc = run_inputs(&t->m, &t->s->inputs, folder, &job.inputs, &err);
	if (!rc)
		rc = run_expectations(
		    &t->m, &t->s->inputs, folder, &job.expected, &err);
	if (!rc)
		rc = run_compute(&t->m, t->s, &job, &err);
	if (rc)
		run_not_run(&t->c->v, set, &err);
	for (size_t k = 0; !rc && k < g->n_outputs; k++)
		run_judge(&t->judge, set, g->outputs[k].name,
		    run_random_find(t->random, g->outputs[k].name),
		    &job.outputs.items[k], &job.expected.items[k]);
	run_job_release(&job);
}

/* What the options give takes the place of data sets that were only found. */
static size_t
count_sets(const struct test *t)
{
	const struct run_input_options *o = &t->s->inputs;
	bool given = o->in.n || o->named.n || o->expect.n;

	return given && !t->c->target->is_told ? 0 : t->c->target->n_sets;
}

static void
run_sets(struct test *t)
{
	const size_t n = count_sets(t);

	for (size_t i = 0; i < n; i++) {
		const char *folder = t->c->target->sets[i];
		const char *slash = strrchr(folder, '/');
		const char *name = slash ? slash + 1 : folder;

		run_once(t, folder, n > 1 ? name : NULL);
	}
	if (n == 0)
		run_once(t, NULL, NULL);
}

static enum tp_status
prepare(struct test *t, struct tp_strings *strings, struct tp_err *err)
{
	const struct run_target *target = t->c->target;
	const struct run_input_options *o = &t->s->inputs;
	enum tp_status rc;

	if (!target->model)
		return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "there is no model.onnx in it");
	rc = run_model_open(&t->m, target->model, strings, err);
	if (!rc)
		rc = run_inputs_check_names(&t->m, o, err);
	if (rc)
		return rc;
	if (!target->n_sets && !o->seeded && !o->in.n && !o->named.n &&
	    !o->expect.n)
		return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "there is no data set to compare with");
	t->random = run_random_new(tp_onnx_program_model(t->m.file));
	if (!t->random)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a graph");
	return TP_OK;
}

/* A test that is listed as failing has to fail. */
static void
check_expected(struct test *t)
{
	const char *why = t->judge.expected_failure;
	char text[600];

	if (!why || t->c->v.totals[VERDICT_EXPECTED].tensors || t->c->v.exit)
		return;
	snprintf(text, sizeof(text),
	    "it holds, but was expected to differ: %.400s", why);
	verdict_remark(&t->c->v, "unexpected", CLI_DIFFERS, text);
}

void
run_case(struct run_case *c, struct run_settings *s)
{
	struct tp_str name = run_target_name(c->target);
	struct test t = {.c = c,
	    .s = s,
	    .judge = {.v = &c->v,
		.outputs = &c->outputs,
		.tolerance = run_rules_tolerance(&s->rules, name),
		.expected_failure = run_rules_failure(&s->rules, name)}};
	struct tp_strings *strings = NULL;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	verdict_init(&c->v, "run", c->target->path, NULL);
	c->v.figures = run_figures;
	rc = tp_strings_new(NULL, 0, &strings, &err);
	t.judge.strings = strings;
	if (!rc)
		rc = prepare(&t, strings, &err);
	if (!rc) {
		run_sets(&t);
		rc = tp_onnx_program_check_files(t.m.file, &err);
	}
	if (rc)
		run_not_run(&c->v, NULL, &err);
	check_expected(&t);
	run_random_free(t.random);
	run_model_close(&t.m);
	tp_strings_free(strings);
}

void
run_case_release(struct run_case *c)
{
	verdict_release(&c->v);
	run_outputs_free(c->outputs);
	c->outputs = NULL;
}
