/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_against.c - two models, given the same inputs
 *
 * The second is the reference. Outputs belong together by name, or by their
 * place where no name is the same. With --intermediates so do all values that
 * nodes make of others, in inner graphs and functions too: those of the
 * reference are kept in a file, and each is compared as soon as the first model
 * has made its own.
 */
#include "run.h"

#include <inttypes.h>
#include <string.h>

struct against {
	struct run_case *c;
	struct run_settings *s;
	struct run_model m[2]; /* what is judged, and the reference */
	struct run_job job[2];
	struct run_random *random[2];
	struct run_judge judge;
	struct run_spool *kept; /* of the reference */
	bool parted;
};

/* Weights may be another's on purpose: only what depends on something. */
static bool
is_wanted(const struct tp_watched *seen, size_t i)
{
	return seen->node->n_inputs && seen->outputs[i].kind == TP_VALUE_TENSOR;
}

/* A run_output_fn: one value of the reference. */
static enum tp_status
keep_value(void *ctx, const struct tp_watched *seen, size_t i,
    struct tp_str name, struct tp_err *err)
{
	struct against *a = ctx;

	return is_wanted(seen, i)
		   ? run_spool_add(a->kept, name, &seen->outputs[i],
			 a->judge.strings, err)
		   : TP_OK;
}

/* A tp_watch_fn: values of the reference. */
static enum tp_status
keep(void *ctx, const struct tp_watched *seen, struct tp_err *err)
{
	return run_watch_outputs(seen, keep_value, ctx, err);
}

static bool
is_output(const struct run_model *m, struct tp_str name)
{
	size_t k;

	return tp_map_find(&m->outputs, name, &k);
}

/* What depends on chance in one of the models does so in both. */
static const struct run_chance *
chance_of(const struct against *a, struct tp_str mine, struct tp_str theirs)
{
	const struct run_chance *chance = run_random_find(a->random[0], mine);

	return chance ? chance : run_random_find(a->random[1], theirs);
}

static void
part(struct against *a, const struct tp_watched *seen, struct tp_str name)
{
	const struct tp_node *node = seen->node;
	char text[4 * TP_BRIEF_SIZE];

	if (a->parted)
		return;
	a->parted = true;
	snprintf(text, sizeof(text), "first at node %zu%s%s%s (%s), value '%s'",
	    seen->index, node->name.len ? " '" : "",
	    node->name.len ? TP_BRIEF(node->name) : "",
	    node->name.len ? "'" : "", TP_BRIEF(node->op), TP_BRIEF(name));
	verdict_remark(&a->c->v, "parts", CLI_DIFFERS, text);
}

/*
 * A run_output_fn: one value of the first model, beside what is kept of that
 * name.
 */
static enum tp_status
compare_value(void *ctx, const struct tp_watched *seen, size_t i,
    struct tp_str name, struct tp_err *err)
{
	struct against *a = ctx;
	struct tp_str own = seen->node->outputs[i], kept_name = name;
	struct tp_value kept;
	enum tp_status rc;

	if (!is_wanted(seen, i))
		return TP_OK;
	rc = run_spool_next(a->kept, name, &kept_name, &kept, err);
	/* Outputs have items of their own. */
	if (rc || kept.kind == TP_VALUE_NONE ||
	    (!seen->scope.len && is_output(&a->m[0], own)))
		name.len = 0;
	if (name.len && !run_judge(&a->judge, NULL, kept_name,
			    seen->scope.len ? NULL : chance_of(a, own, own),
			    &seen->outputs[i], &kept))
		part(a, seen, kept_name);
	tp_value_release(&kept);
	return rc;
}

/* A tp_watch_fn: what the first model has made. */
static enum tp_status
compare(void *ctx, const struct tp_watched *seen, struct tp_err *err)
{
	return run_watch_outputs(seen, compare_value, ctx, err);
}

/* The reference gets the values of the inputs with the same names. */
static enum tp_status
share_inputs(struct against *a, struct tp_err *err)
{
	const struct tp_graph *to = a->m[1].graph;
	enum tp_status rc = TP_OK;

	if (!run_values_init(&a->job[1].inputs, to->n_inputs))
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for values");
	for (size_t k = 0; k < to->n_inputs && !rc; k++) {
		struct tp_str name = to->inputs[k].name;
		struct tp_value *v = &a->job[1].inputs.items[k];
		size_t i;

		if (tp_map_find(&a->m[0].inputs, name, &i))
			rc = tp_value_copy(&a->job[0].inputs.items[i], v, err);
		if (!rc && v->kind == TP_VALUE_NONE && !a->m[1].has_default[k])
			rc = tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
			    "%.200s: input '%s' is none of %.200s",
			    a->m[1].path, TP_BRIEF(name), a->m[0].path);
	}
	return rc;
}

static enum tp_status
compute(struct against *a, int which, struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;
	enum tp_status rc;

	rc = run_compute(&a->m[which], a->s, &a->job[which], &why);
	return rc ? tp_fail(err, rc, TP_NO_OFFSET, "%.200s: %s",
			a->m[which].path, why.msg)
		  : TP_OK;
}

static enum tp_status
compute_both(struct against *a, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	rc = run_inputs(&a->m[0], &a->s->inputs, NULL, &a->job[0].inputs, err);
	if (!rc)
		rc = share_inputs(a, err);
	if (!rc && a->s->intermediates) {
		rc = run_spool_new(&a->kept, err);
		a->job[0].watch.more = compare;
		a->job[1].watch.more = keep;
		a->job[0].watch.more_ctx = a->job[1].watch.more_ctx = a;
	}
	a->job[0].watch.trace = run_trace_of(a->s);
	a->job[0].watch.stop_at = a->s->stop_at;
	if (!rc)
		rc = compute(a, 1, err);
	return rc ? rc : compute(a, 0, err);
}

/* The place in the reference of output k, if it has one. */
static bool
find_partner(const struct against *a, size_t k, bool by_place, size_t *i)
{
	struct tp_str name = a->m[0].graph->outputs[k].name;

	*i = k;
	return by_place || tp_map_find(&a->m[1].outputs, name, i);
}

static void
judge_outputs(struct against *a)
{
	const struct tp_graph *x = a->m[0].graph, *y = a->m[1].graph;
	struct verdict_item alone = {.reason = "only in one of the models"};
	bool by_place = x->n_outputs == y->n_outputs;

	for (size_t k = 0; k < x->n_outputs; k++)
		by_place = by_place && !is_output(&a->m[1], x->outputs[k].name);
	for (size_t k = 0; k < x->n_outputs; k++) {
		size_t i;

		alone.name = x->outputs[k].name;
		alone.status = VERDICT_MISSING;
		if (!find_partner(a, k, by_place, &i)) {
			run_judge_alone(&a->judge, &alone);
			continue;
		}
		run_judge(&a->judge, NULL, x->outputs[k].name,
		    chance_of(a, x->outputs[k].name, y->outputs[i].name),
		    &a->job[0].outputs.items[k], &a->job[1].outputs.items[i]);
	}
	for (size_t i = 0; i < y->n_outputs && !by_place; i++) {
		alone.name = y->outputs[i].name;
		alone.status = VERDICT_EXTRA;
		if (!is_output(&a->m[0], alone.name))
			run_judge_alone(&a->judge, &alone);
	}
}

static enum tp_status
open_both(struct against *a, const char *const paths[2],
    struct tp_strings *strings, struct tp_err *err)
{
	for (int i = 0; i < 2; i++) {
		struct tp_err why = TP_ERR_INIT;
		enum tp_status rc =
		    run_model_open(&a->m[i], paths[i], strings, &why);

		if (rc)
			return tp_fail(err, rc, why.offset, "%.200s: %s",
			    paths[i], why.msg);
		a->random[i] =
		    run_random_new(tp_onnx_program_model(a->m[i].file));
		if (!a->random[i])
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "out of memory for a graph");
	}
	return run_inputs_check_names(&a->m[0], &a->s->inputs, err);
}

void
run_against(struct run_case *c, struct run_settings *s, const char *other)
{
	const char *const paths[2] = {c->target->model, other};
	struct tp_str name = run_target_name(c->target);
	struct against a = {.c = c,
	    .s = s,
	    .judge = {.v = &c->v,
		.outputs = &c->outputs,
		.tolerance = run_rules_tolerance(&s->rules, name)}};
	struct tp_strings *strings = NULL;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	verdict_init(&c->v, "run", c->target->path, other);
	c->v.figures = run_figures;
	rc = tp_strings_new(NULL, 0, &strings, &err);
	a.judge.strings = strings;
	if (!rc && !paths[0])
		rc = tp_fail(&err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "there is no model.onnx in it");
	if (!rc)
		rc = open_both(&a, paths, strings, &err);
	if (!rc)
		rc = compute_both(&a, &err);
	for (int i = 0; i < 2 && !rc; i++)
		rc = tp_onnx_program_check_files(a.m[i].file, &err);
	if (rc)
		run_not_run(&c->v, NULL, &err);
	else
		judge_outputs(&a);
	for (int i = 0; i < 2; i++) {
		run_job_release(&a.job[i]);
		run_random_free(a.random[i]);
		run_model_close(&a.m[i]);
	}
	run_spool_free(a.kept);
	tp_strings_free(strings);
}
