/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_case.c - one test: a model with its data sets, computed and judged
 */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tp/shape.h"

/* What belongs to one run over one data set. */
struct job {
	struct run_case *c;
	struct run_settings *s;
	struct run_model m;
	struct run_chance *chances;
	struct run_tolerance tolerance;
	const char *expected_failure;
	const char *set; /* NULL: there is one, its name says nothing */
	size_t n_differ;
};

/* The program refuses a model that makes no sense: the file's fault. */
static int
exit_of(const struct tp_err *err)
{
	return err->status == TP_EARG ? CLI_INPUT : cli_exit_of(err->status);
}

/* The test as a whole was not run; names the data set where one is at fault. */
static void
not_run(struct job *j, const char *set, const struct tp_err *err)
{
	char text[TP_ERR_MSG_SIZE + 300];
	const char *kind =
	    exit_of(err) == CLI_UNSUPPORTED ? "unsupported" : "unreadable";

	snprintf(text, sizeof(text), "%s%s%s", set ? set : "", set ? ": " : "",
	    err->msg);
	verdict_remark(&j->c->v, kind, exit_of(err), text);
}

static struct run_output *
add_output(struct job *j, size_t k)
{
	struct tp_str name = j->m.graph->outputs[k].name;
	struct tp_str set = j->set ? tp_str(j->set) : (struct tp_str){"", 0};
	struct run_output *out = calloc(1, sizeof(*out));
	size_t n = set.len ? set.len + 1 : 0;

	if (!out)
		return NULL;
	out->name = malloc(n + name.len + 1);
	if (!out->name) {
		free(out);
		return NULL;
	}
	memcpy(out->name, set.s, set.len);
	if (n)
		out->name[set.len] = '/';
	memcpy(out->name + n, name.s, name.len);
	out->name[n + name.len] = '\0';
	out->name_len = n + name.len;
	out->next = j->c->outputs;
	j->c->outputs = out;
	return out;
}

/* Shape and size of what was expected, where it is one tensor. */
static void
describe(
    struct run_output *out, struct verdict_item *item, const struct tp_value *v)
{
	unsigned rank;

	if (!tp_value_has_tensor(v))
		return;
	rank = tp_tensor_rank(v->tensor);
	item->n_elems = tp_tensor_numel(v->tensor);
	out->shape = calloc(rank + 1, sizeof(*out->shape));
	if (!out->shape)
		return;
	for (unsigned d = 0; d < rank; d++)
		out->shape[d] = tp_tensor_sizes(v->tensor)[d];
	out->rank = rank;
	item->rank = rank;
	item->shape = out->shape;
	if (v->kind == TP_VALUE_TENSOR &&
	    tp_dtype_nbytes(
		tp_tensor_dtype(v->tensor), item->n_elems, &item->nbytes, NULL))
		item->nbytes = 0;
}

static void
conclude(struct job *j, struct verdict_item *item, struct run_comparison *c,
    const struct run_chance *chance)
{
	char reason[sizeof(c->why.text) + 200];

	item->kind = c->kind;
	item->reason = c->why.n ? c->why.text : NULL;
	item->status = VERDICT_EQUAL;
	if (c->kind && j->expected_failure) {
		j->n_differ++;
		item->status = VERDICT_EXPECTED;
		snprintf(reason, sizeof(reason), "%s (%s)", j->expected_failure,
		    c->why.text);
		item->reason = reason;
	} else if (c->kind) {
		item->status = VERDICT_DIFFERENT;
	} else if (chance->range) {
		item->status = VERDICT_RANDOM;
	}
	verdict_add(&j->c->v, item);
}

static void
judge(struct job *j, size_t k, const struct tp_value *got,
    const struct tp_value *expected)
{
	const struct run_chance *chance = &j->chances[k];
	struct run_output *out = add_output(j, k);
	struct verdict_item item = {.detail = out};
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	if (!out) {
		j->c->v.no_memory = true;
		return;
	}
	out->c.strings = j->m.strings;
	out->c.tolerance = j->tolerance;
	item.name = (struct tp_str){out->name, out->name_len};
	describe(out, &item, expected);
	rc = chance->range
		 ? run_compare_chance(&out->c, chance, got, expected, &err)
		 : run_compare(&out->c, got, expected, &err);
	if (!rc) {
		conclude(j, &item, &out->c, chance);
		return;
	}
	item.status = VERDICT_NOT_COMPARED;
	item.exit = exit_of(&err);
	item.kind = "unsupported";
	item.reason = err.msg;
	verdict_add(&j->c->v, &item);
}

static enum tp_status
compute(struct job *j, const struct run_values *inputs,
    struct run_values *outputs, struct tp_err *err)
{
	const struct tp_run_opts opts = {
	    .n_threads = j->s->n_threads,
	    .strings = j->m.strings,
	    .max_iterations = j->s->max_iterations,
	    .seed = j->s->seed,
	};

	if (!run_values_init(outputs, j->m.graph->n_outputs))
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for outputs");
	return tp_program_run(j->m.program, inputs->items, inputs->n,
	    outputs->items, outputs->n, &opts, err);
}

static void
run_set(struct job *j, const char *folder)
{
	struct run_values in = {NULL, 0}, out = {NULL, 0}, want = {NULL, 0};
	struct tp_err err = TP_ERR_INIT;
	const char *slash = strrchr(folder, '/');
	enum tp_status rc;

	j->set = j->c->target->n_sets > 1 ? (slash ? slash + 1 : folder) : NULL;
	rc = run_data_inputs(&j->m, folder, &in, &err);
	if (!rc)
		rc = run_data_outputs(&j->m, folder, &want, &err);
	if (!rc)
		rc = compute(j, &in, &out, &err);
	if (rc)
		not_run(j, j->set, &err);
	for (size_t k = 0; !rc && k < want.n; k++)
		judge(j, k, &out.items[k], &want.items[k]);
	run_values_release(&in);
	run_values_release(&out);
	run_values_release(&want);
}

static enum tp_status
prepare(struct job *j, struct tp_strings *strings, struct tp_err *err)
{
	const struct run_target *t = j->c->target;
	enum tp_status rc;

	if (!t->model)
		return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "there is no model.onnx in it");
	rc = run_model_open(&j->m, t->model, strings, err);
	if (rc)
		return rc;
	if (!t->n_sets)
		return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "there is no data set to compare with");
	j->chances = calloc(j->m.graph->n_outputs + 1, sizeof(*j->chances));
	if (!j->chances ||
	    !run_find_chance(tp_onnx_program_model(j->m.file), j->chances))
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for outputs");
	return TP_OK;
}

/* A test that is listed as failing has to fail. */
static void
check_expected(struct job *j)
{
	char text[600];

	if (!j->expected_failure || j->n_differ || j->c->v.exit)
		return;
	snprintf(text, sizeof(text), "it holds, but was expected to differ: %s",
	    j->expected_failure);
	verdict_remark(&j->c->v, "unexpected", CLI_DIFFERS, text);
}

void
run_case(struct run_case *c, struct run_settings *s)
{
	struct tp_str name = run_target_name(c->target);
	struct job j = {.c = c,
	    .s = s,
	    .tolerance = run_rules_tolerance(&s->rules, name),
	    .expected_failure = run_rules_failure(&s->rules, name)};
	struct tp_strings *strings = NULL;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	verdict_init(&c->v, "run", c->target->path, NULL);
	c->v.figures = run_figures;
	rc = tp_strings_new(NULL, 0, &strings, &err);
	if (!rc)
		rc = prepare(&j, strings, &err);
	if (rc)
		not_run(&j, NULL, &err);
	for (size_t i = 0; !rc && i < c->target->n_sets; i++)
		run_set(&j, c->target->sets[i]);
	check_expected(&j);
	free(j.chances);
	run_model_close(&j.m);
	tp_strings_free(strings);
}

void
run_case_release(struct run_case *c)
{
	struct run_output *next;

	verdict_release(&c->v);
	for (struct run_output *o = c->outputs; o; o = next) {
		next = o->next;
		free(o->name);
		free(o->shape);
		free(o);
	}
	c->outputs = NULL;
}

size_t
run_figures(const struct verdict_item *item,
    struct verdict_figure out[VERDICT_MAX_FIGURES])
{
	const struct run_output *o = item->detail;
	const struct tp_compare *c = o ? &o->c.figures : NULL;
	size_t n = 0;

	if (!c || !o->c.has_figures)
		return 0;
	out[n++] = verdict_text("dtype", tp_dtype_name(o->c.dtype));
	out[n++] = verdict_f64("max_abs", c->max_abs);
	out[n++] = verdict_f64("max_rel", c->max_rel);
	out[n++] = verdict_f64("max_of_range", run_of_range(&o->c));
	out[n++] = verdict_u64("max_ulp", c->max_ulp);
	out[n++] = verdict_u64("over", c->n_over);
	out[n++] = verdict_f64("rtol", o->c.tolerance.rtol);
	out[n++] = verdict_f64("atol", o->c.tolerance.atol);
	return n;
}

double
run_of_range(const struct run_comparison *c)
{
	double range = c->high - c->low;

	if (c->figures.max_abs == 0)
		return 0;
	return range > 0 ? c->figures.max_abs / range : INFINITY;
}
