/* SPDX-License-Identifier: Apache-2.0 */
/* run_judge.c - one output becomes an item of the verdict */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "set/name", or the name alone. */
static struct run_output *
add_output(struct run_judge *j, const char *set, struct tp_str name)
{
	size_t n = set ? strlen(set) + 1 : 0;
	struct run_output *out = calloc(1, sizeof(*out));

	if (!out)
		return NULL;
	out->name = malloc(n + name.len + 1);
	if (!out->name) {
		free(out);
		return NULL;
	}
	if (set) {
		memcpy(out->name, set, n - 1);
		out->name[n - 1] = '/';
	}
	memcpy(out->name + n, name.s, name.len);
	out->name[n + name.len] = '\0';
	out->name_len = n + name.len;
	out->next = *j->outputs;
	*j->outputs = out;
	return out;
}

/*
 * Shape and size of what was expected, where it is one tensor. False without
 * memory.
 */
static bool
describe(
    struct run_output *out, struct verdict_item *item, const struct tp_value *v)
{
	unsigned rank;

	if (!tp_value_has_tensor(v))
		return true;
	rank = tp_tensor_rank(v->tensor);
	item->n_elems = tp_tensor_numel(v->tensor);
	out->shape = calloc(rank + 1, sizeof(*out->shape));
	if (!out->shape)
		return false;
	for (unsigned d = 0; d < rank; d++)
		out->shape[d] = tp_tensor_sizes(v->tensor)[d];
	item->rank = rank;
	item->shape = out->shape;
	if (v->kind == TP_VALUE_TENSOR &&
	    tp_dtype_nbytes(
		tp_tensor_dtype(v->tensor), item->n_elems, &item->nbytes, NULL))
		item->nbytes = 0;
	return true;
}

static void
conclude(struct run_judge *j, struct verdict_item *item,
    struct run_comparison *c, bool is_random)
{
	char reason[sizeof(c->why.text) + 200];

	item->kind = c->kind;
	item->reason = c->why.n ? c->why.text : NULL;
	item->status = VERDICT_EQUAL;
	if (c->kind && j->expected_failure) {
		item->status = VERDICT_EXPECTED;
		snprintf(reason, sizeof(reason), "%.180s (%s)",
		    j->expected_failure, c->why.text);
		item->reason = reason;
	} else if (c->kind) {
		item->status = VERDICT_DIFFERENT;
	} else if (is_random) {
		item->status = VERDICT_RANDOM;
	}
	verdict_add(j->v, item);
}

bool
run_judge(struct run_judge *j, const char *set, struct tp_str name,
    const struct run_chance *chance, const struct tp_value *got,
    const struct tp_value *expected)
{
	bool is_random = chance != NULL;
	struct run_output *out = add_output(j, set, name);
	struct verdict_item item = {.detail = out};
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	if (!out) {
		j->v->no_memory = true;
		return false;
	}
	out->c.strings = j->strings;
	out->c.tolerance = j->tolerance;
	item.name = (struct tp_str){out->name, out->name_len};
	if (expected->kind == TP_VALUE_NONE) {
		item.status = VERDICT_NOT_COMPARED;
		item.kind = "unsupported";
		item.reason = "nothing is expected of it";
		verdict_add(j->v, &item);
		return true;
	}
	if (!describe(out, &item, expected)) {
		j->v->no_memory = true;
		return false;
	}
	rc = is_random
		 ? run_compare_chance(&out->c, chance, got, expected, &err)
		 : run_compare(&out->c, got, expected, &err);
	if (rc) {
		item.status = VERDICT_NOT_COMPARED;
		item.exit = run_exit_of(&err);
		item.kind = "unsupported";
		item.reason = err.msg;
		verdict_add(j->v, &item);
		return true;
	}
	conclude(j, &item, &out->c, is_random);
	return !out->c.kind;
}

/* The name is kept. */
void
run_judge_alone(struct run_judge *j, const struct verdict_item *item)
{
	struct run_output *out = add_output(j, NULL, item->name);
	struct verdict_item kept = *item;

	if (!out) {
		j->v->no_memory = true;
		return;
	}
	kept.name = (struct tp_str){out->name, out->name_len};
	kept.detail = out;
	verdict_add(j->v, &kept);
}

/* A program refuses a model that makes no sense: the file's fault. */
int
run_exit_of(const struct tp_err *err)
{
	return err->status == TP_EARG ? CLI_INPUT : cli_exit_of(err->status);
}

void
run_not_run(struct verdict *v, const char *set, const struct tp_err *err)
{
	char text[TP_ERR_MSG_SIZE + 300];
	const char *kind =
	    run_exit_of(err) == CLI_UNSUPPORTED ? "unsupported" : "unreadable";

	snprintf(text, sizeof(text), "%.280s%s%s", set ? set : "",
	    set ? ": " : "", err->msg);
	verdict_remark(v, kind, run_exit_of(err), text);
}

void
run_outputs_free(struct run_output *outputs)
{
	struct run_output *next;

	for (struct run_output *o = outputs; o; o = next) {
		next = o->next;
		free(o->name);
		free(o->shape);
		free(o);
	}
}

double
run_of_range(const struct run_comparison *c)
{
	double range = run_range_of(c);

	if (c->figures.max_abs == 0)
		return 0;
	return range > 0 ? c->figures.max_abs / range : INFINITY;
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
	out[n++] = verdict_f64("sqnr_db", tp_compare_sqnr(c));
	out[n++] = verdict_u64("over", c->n_over);
	if (o->c.tolerance.has_range) {
		out[n++] = verdict_f64("of_range", o->c.tolerance.of_range);
	} else {
		out[n++] = verdict_f64("rtol", o->c.tolerance.rtol);
		out[n++] = verdict_f64("atol", o->c.tolerance.atol);
	}
	return n;
}
