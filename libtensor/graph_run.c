/* SPDX-License-Identifier: Apache-2.0 */
/* graph_run.c - running the steps of a graph, values and their ends */
#include "graph_gradient.h"

#include <inttypes.h>
#include <time.h>

#include "op.h"

#include "banned.h"

/* Numbers that differ in all bits for seeds that differ in one: splitmix64. */
static uint64_t
mix(uint64_t seed, uint64_t number)
{
	uint64_t z = seed + (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t
tpi_node_seed(const struct tpi_frame *frame, size_t i)
{
	return mix(frame->seed, i);
}

const struct tp_value *
tpi_frame_at(const struct tpi_frame *frame, struct tpi_place place)
{
	static const struct tp_value none = {TP_VALUE_NONE, NULL, NULL};
	const struct tpi_plan *plan = frame->plan;
	size_t constant;

	switch (place.kind) {
	case TPI_PLACE_NONE:
		return &none;
	case TPI_PLACE_INPUT:
		if (place.index < frame->n_given &&
		    frame->given[place.index].kind != TP_VALUE_NONE)
			return &frame->given[place.index];
		constant = plan->defaults[place.index];
		return constant == TPI_NO_CONSTANT
			   ? &none
			   : &plan->graph->constants[constant].value;
	case TPI_PLACE_CONSTANT:
		return &plan->graph->constants[place.index].value;
	case TPI_PLACE_LOCAL:
		return &frame->locals[place.index];
	case TPI_PLACE_CAPTURED:
		return frame->captured[place.index];
	}
	return &none;
}

/* The frame of the graph around: the nearest one, as functions never recur. */
static const struct tpi_frame *
find_outer(const struct tpi_frame *frame)
{
	const struct tpi_frame *f = frame->below;

	while (f && f->plan != frame->plan->outer)
		f = f->below;
	return f;
}

static enum tp_status
take_captured(struct tpi_frame *frame, struct tp_err *err)
{
	const struct tpi_frame *outer = find_outer(frame);

	if (!frame->plan->outer)
		return TP_OK;
	if (!outer)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a graph runs outside the one that it is in");
	/* What a function calls its attributes holds in its graphs too. */
	frame->attrs = outer->attrs;
	frame->n_attrs = outer->n_attrs;
	for (size_t k = 0; k < frame->plan->n_captured; k++)
		frame->captured[k] =
		    tpi_frame_at(outer, frame->plan->captured[k]);
	return TP_OK;
}

static enum tp_status
begin(struct tpi_frame *frame, struct tp_err *err)
{
	const struct tpi_plan *plan = frame->plan;
	const struct tp_alloc *alloc = frame->run->alloc;
	enum tp_status rc;

	if (frame->depth > TPI_MAX_FRAMES)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "more than %d levels of graphs and functions",
		    TPI_MAX_FRAMES);
	frame->locals =
	    tp_mem_array(alloc, plan->n_locals, sizeof(*frame->locals));
	frame->captured =
	    tp_mem_array(alloc, plan->n_captured, sizeof(*frame->captured));
	frame->args =
	    tp_mem_array(alloc, plan->most_inputs, sizeof(*frame->args));
	if (!frame->locals || !frame->captured || !frame->args)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu values", plan->n_locals);
	rc = take_captured(frame, err);
	if (!rc && frame->run->opts->watch)
		rc = tpi_scope_make(frame, err);
	return rc;
}

static void
end(struct tpi_frame *frame)
{
	const struct tpi_plan *plan = frame->plan;
	const struct tp_alloc *alloc = frame->run->alloc;

	for (size_t l = 0; frame->locals && l < plan->n_locals; l++)
		tp_value_release(&frame->locals[l]);
	tp_mem_free(
	    alloc, frame->locals, plan->n_locals, sizeof(*frame->locals));
	tp_mem_free(alloc, (void *)frame->captured, plan->n_captured,
	    sizeof(*frame->captured));
	tp_mem_free(
	    alloc, frame->args, plan->most_inputs, sizeof(*frame->args));
	tpi_scope_free(frame);
}

static enum tp_status
run_op(struct tpi_frame *frame, const struct tpi_step *step,
    const struct tp_attr *attrs, size_t n_attrs, struct tp_value *outputs,
    struct tp_err *err)
{
	const struct tp_run_opts *opts = frame->run->opts;
	const struct tp_op_opts op_opts = {
	    .alloc = frame->run->alloc,
	    .n_threads = opts->n_threads,
	    .strings = opts->strings,
	    .run_graph = tpi_frame_run_graph,
	    .run_graph_ctx = frame,
	    .max_iterations = opts->max_iterations,
	    .seed = frame->node_seed,
	};

	return tp_op_run(step->op, attrs, n_attrs, frame->args,
	    step->node->n_inputs, outputs, step->n_made, &op_opts, err);
}

static enum tp_status
compute(
    struct tpi_frame *frame, const struct tpi_step *step, struct tp_err *err)
{
	const struct tp_node *node = step->node;
	struct tp_value *outputs = &frame->locals[step->first_local];
	const struct tp_attr *attrs = node->attrs;
	struct tp_attr *bound = NULL;
	size_t n_attrs = node->n_attrs;
	enum tp_status rc = TP_OK;

	if (step->has_refs) {
		rc = tpi_frame_attrs(frame, step, &bound, &n_attrs, err);
		attrs = bound;
	}
	if (!rc && step->gradient)
		rc = tpi_frame_gradient(frame, step, outputs, err);
	else if (!rc && step->op)
		rc = run_op(frame, step, attrs, n_attrs, outputs, err);
	else if (!rc)
		rc = tpi_frame_call(frame, step, attrs, n_attrs, outputs, err);
	tp_mem_free(frame->run->alloc, bound, node->n_attrs, sizeof(*bound));
	return rc;
}

static double
seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum tp_status
show(const struct tpi_frame *frame, const struct tpi_step *step, double began,
    struct tp_err *err)
{
	const struct tp_run_opts *opts = frame->run->opts;
	const struct tp_watched watched = {
	    .scope = frame->scope,
	    .index = frame->at,
	    .node = step->node,
	    .op = step->op,
	    .inputs = frame->args,
	    .outputs = &frame->locals[step->first_local],
	    .seconds = seconds_now() - began,
	};

	return opts->watch(opts->watch_ctx, &watched, err);
}

/* Memory that was refused is a limit that was reached. */
static enum tp_status
explain(const struct tpi_run *run, enum tp_status rc, struct tp_err *err)
{
	struct tpi_limit_figures f;

	if (rc != TP_ENOMEM || !run->limit)
		return rc;
	f = tpi_limit_figures(run->limit);
	if (!f.refused)
		return rc;
	return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
	    "%" PRIu64 " bytes, with %" PRIu64 " taken and a limit of %" PRIu64,
	    f.refused, f.live, run->opts->max_memory);
}

/* The error of a step names it, and around it those of the frames below. */
static enum tp_status
blame(struct tpi_frame *frame, const struct tpi_step *step, enum tp_status rc,
    struct tp_err *err)
{
	struct tpi_run *run = frame->run;

	if (run->is_blamed) {
		tpi_blame_outer(err, step->node, frame->at);
		return rc;
	}
	rc = explain(run, rc, err);
	tpi_blame_node(err, step->node, frame->at);
	run->is_blamed = true;
	return rc;
}

static enum tp_status
run_step(struct tpi_frame *frame, size_t i, struct tp_err *err)
{
	const struct tpi_step *step = &frame->plan->steps[i];
	bool is_watched = frame->run->opts->watch != NULL;
	double began = is_watched ? seconds_now() : 0;
	enum tp_status rc;

	frame->at = i;
	frame->node_seed = tpi_node_seed(frame, i);
	frame->n_inner = 0;
	for (size_t k = 0; k < step->node->n_inputs; k++)
		frame->args[k] = *tpi_frame_at(frame, step->inputs[k]);
	rc = compute(frame, step, err);
	if (rc)
		return blame(frame, step, rc, err);
	if (is_watched)
		rc = show(frame, step, began, err);
	for (size_t k = 0; k < step->n_dead; k++)
		tp_value_release(&frame->locals[step->dead[k]]);
	return rc;
}

static enum tp_status
take_outputs(struct tpi_frame *frame, struct tp_value *outputs, size_t n_out,
    struct tp_err *err)
{
	const struct tpi_plan *plan = frame->plan;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < n_out && !rc; k++) {
		struct tpi_place place = plan->outputs[k];

		if (plan->is_moved[k]) {
			outputs[k] = frame->locals[place.index];
			frame->locals[place.index] = tp_value_of(NULL);
		} else {
			rc = tp_value_copy(
			    tpi_frame_at(frame, place), &outputs[k], err);
		}
	}
	for (size_t k = 0; rc && k < n_out; k++)
		tp_value_release(&outputs[k]);
	return rc;
}

enum tp_status
tpi_frame_run(struct tpi_frame *frame, struct tpi_frame *below,
    struct tp_value *outputs, size_t n_out, struct tp_err *err)
{
	enum tp_status rc;

	frame->below = below;
	if (below) {
		frame->run = below->run;
		frame->depth = below->depth + 1;
		frame->seed = mix(below->node_seed, below->n_inner++);
	}
	for (size_t k = 0; k < n_out; k++)
		outputs[k] = tp_value_of(NULL);
	rc = begin(frame, err);
	for (size_t i = 0; i < frame->plan->graph->n_nodes && !rc; i++)
		rc = run_step(frame, i, err);
	if (!rc)
		rc = take_outputs(frame, outputs, n_out, err);
	end(frame);
	return rc;
}

/* All inputs are there, by whichever way. */
static enum tp_status
check_inputs(const struct tpi_frame *frame, struct tp_err *err)
{
	const struct tp_graph *g = frame->plan->graph;

	if (frame->n_given > g->n_inputs)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%zu inputs, the graph has %zu", frame->n_given,
		    g->n_inputs);
	for (size_t k = 0; k < g->n_inputs; k++) {
		struct tpi_place place = {TPI_PLACE_INPUT, k};

		if (tpi_frame_at(frame, place)->kind == TP_VALUE_NONE)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "input %zu of the graph, '%s', is not given", k,
			    TP_BRIEF(g->inputs[k].name));
	}
	return TP_OK;
}

/* An allocator that counts, if somebody wants to know. */
static enum tp_status
choose_alloc(struct tpi_run *run, struct tp_err *err)
{
	const struct tp_run_opts *opts = run->opts;
	enum tp_status rc;

	run->alloc = opts->alloc;
	if (!opts->max_memory && !opts->peak_memory)
		return TP_OK;
	rc = tpi_limit_new(opts->alloc, opts->max_memory, &run->limit, err);
	if (!rc)
		run->alloc = tpi_limit_alloc(run->limit);
	return rc;
}

/* What cannot fit is not begun. */
static enum tp_status
check_memory(const struct tpi_frame *frame, struct tp_err *err)
{
	uint64_t most = frame->run->opts->max_memory;
	struct tpi_memory found;
	enum tp_status rc;

	if (!most)
		return TP_OK;
	rc = tpi_frame_bound(frame, &found, err);
	if (rc || found.nbytes <= most)
		return rc;
	rc = tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
	    "values of %" PRIu64 " bytes at once, the limit is %" PRIu64,
	    found.nbytes, most);
	tpi_blame_node(err, frame->plan->steps[found.node].node, found.node);
	return rc;
}

static void
drop_alloc(struct tpi_run *run)
{
	if (run->limit && run->opts->peak_memory)
		*run->opts->peak_memory = tpi_limit_figures(run->limit).peak;
	tpi_limit_unref(run->limit);
}

enum tp_status
tp_program_run(const struct tp_program *program, const struct tp_value *inputs,
    size_t n_in, struct tp_value *outputs, size_t n_out,
    const struct tp_run_opts *opts, struct tp_err *err)
{
	static const struct tp_run_opts no_opts;
	struct tpi_run run = {
	    .program = program, .opts = opts ? opts : &no_opts};
	struct tpi_frame frame = {
	    .run = &run,
	    .plan = program->main,
	    .given = inputs,
	    .n_given = n_in,
	    .seed = run.opts->seed,
	};
	enum tp_status rc;

	for (size_t k = 0; k < n_out; k++)
		outputs[k] = tp_value_of(NULL);
	if (n_out > program->main->graph->n_outputs)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%zu outputs, the graph has %zu", n_out,
		    program->main->graph->n_outputs);
	rc = check_inputs(&frame, err);
	if (!rc)
		rc = check_memory(&frame, err);
	if (!rc)
		rc = choose_alloc(&run, err);
	if (!rc)
		rc = tpi_frame_run(&frame, NULL, outputs, n_out, err);
	if (rc && !run.is_blamed)
		rc = explain(&run, rc, err);
	drop_alloc(&run);
	return rc;
}
