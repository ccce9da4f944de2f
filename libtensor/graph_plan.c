/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_plan.c - the steps of a graph: what they take, and what ends with them
 */
#include "graph_gradient.h"

#include "tp/checked.h"

#include "op.h"

#include "banned.h"

static enum tp_status
no_memory(const struct tpi_plan *plan, struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "no memory for a graph of %zu nodes", plan->graph->n_nodes);
}

static void
count(struct tpi_plan *plan)
{
	for (size_t i = 0; i < plan->graph->n_nodes; i++) {
		const struct tp_node *node = &plan->graph->nodes[i];

		plan->n_places += node->n_inputs;
		plan->n_locals += node->n_outputs;
		if (node->n_inputs > plan->most_inputs)
			plan->most_inputs = node->n_inputs;
	}
}

static enum tp_status
make_arrays(struct tpi_plan *plan, struct tp_err *err)
{
	const struct tp_alloc *alloc = plan->program->alloc;
	const struct tp_graph *g = plan->graph;

	plan->steps = tp_mem_array(alloc, g->n_nodes, sizeof(*plan->steps));
	plan->places =
	    tp_mem_array(alloc, plan->n_places, sizeof(*plan->places));
	plan->dead = tp_mem_array(alloc, plan->n_locals, sizeof(*plan->dead));
	plan->defaults =
	    tp_mem_array(alloc, g->n_inputs, sizeof(*plan->defaults));
	plan->outputs =
	    tp_mem_array(alloc, g->n_outputs, sizeof(*plan->outputs));
	plan->is_moved =
	    tp_mem_array(alloc, g->n_outputs, sizeof(*plan->is_moved));
	plan->last_uses =
	    tp_mem_array(alloc, plan->n_locals, sizeof(*plan->last_uses));
	if (!plan->steps || !plan->places || !plan->dead || !plan->defaults ||
	    !plan->outputs || !plan->is_moved || !plan->last_uses)
		return no_memory(plan, err);
	for (size_t k = 0; k < g->n_inputs; k++)
		plan->defaults[k] = TPI_NO_CONSTANT;
	return TP_OK;
}

/* What only planning needs. */
static void
drop_scratch(struct tpi_plan *plan)
{
	tp_map_release(&plan->names);
	tp_map_release(&plan->captured_names);
	tp_mem_free(plan->program->alloc, plan->last_uses, plan->n_locals,
	    sizeof(*plan->last_uses));
	plan->last_uses = NULL;
}

void
tpi_plan_free(struct tpi_plan *plan)
{
	const struct tp_alloc *alloc = plan->program->alloc;
	const struct tp_graph *g = plan->graph;

	drop_scratch(plan);
	for (size_t i = 0; plan->steps && i < g->n_nodes; i++)
		tpi_gradient_free(alloc, plan->steps[i].gradient);
	tp_mem_free(alloc, plan->steps, g->n_nodes, sizeof(*plan->steps));
	tp_mem_free(alloc, plan->places, plan->n_places, sizeof(*plan->places));
	tp_mem_free(alloc, plan->dead, plan->n_locals, sizeof(*plan->dead));
	tp_mem_free(
	    alloc, plan->defaults, g->n_inputs, sizeof(*plan->defaults));
	tp_mem_free(alloc, plan->outputs, g->n_outputs, sizeof(*plan->outputs));
	tp_mem_free(
	    alloc, plan->is_moved, g->n_outputs, sizeof(*plan->is_moved));
	tp_mem_free(alloc, plan->captured, plan->captured_room,
	    sizeof(*plan->captured));
	tp_mem_free(alloc, plan, 1, sizeof(*plan));
}

static enum tp_status
resolve_inputs(
    struct tpi_plan *plan, const struct tpi_step *step, struct tp_err *err)
{
	struct tpi_place *places = plan->places + (step->inputs - plan->places);
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < step->node->n_inputs && !rc; k++) {
		struct tp_str name = step->node->inputs[k];

		if (!name.len)
			continue;
		rc = tpi_names_find(plan, name, &places[k], err);
		if (!rc && places[k].kind == TPI_PLACE_NONE)
			rc = tpi_names_undefined(plan, "input", k, name, err);
	}
	return rc;
}

/* A graph or function that a step runs: what it adds to this one. */
static enum tp_status
note_inner(
    struct tpi_plan *plan, const struct tpi_plan *inner, struct tp_err *err)
{
	if (inner->height >= plan->height)
		plan->height = inner->height + 1;
	if (plan->depth + plan->height > TPI_MAX_DEPTH)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "more than %d levels of graphs and functions",
		    TPI_MAX_DEPTH);
	if (tp_add_u64(
		plan->n_expanded, inner->n_expanded, &plan->n_expanded) ||
	    plan->n_expanded > TPI_MAX_EXPANDED)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "more than %llu nodes when functions are written out",
		    (unsigned long long)TPI_MAX_EXPANDED);
	return TP_OK;
}

/* Another node has the same graph: what it captured lives until here. */
static enum tp_status
use_again(
    struct tpi_plan *plan, const struct tpi_plan *inner, struct tp_err *err)
{
	if (inner->outer != plan)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a graph is inside two different ones");
	for (size_t k = 0; k < inner->n_captured; k++)
		if (inner->captured[k].kind == TPI_PLACE_LOCAL)
			plan->last_uses[inner->captured[k].index] = plan->at;
	return TP_OK;
}

static enum tp_status
plan_graph(struct tpi_plan *plan, const struct tp_graph *graph,
    const struct tpi_plan **inner, struct tp_err *err)
{
	struct tpi_plan *made = tpi_program_find(plan->program, graph);
	enum tp_status rc;

	rc = made ? use_again(plan, made, err)
		  : tpi_plan_new(plan->program, graph, plan, plan->function,
			plan->depth + 1, &made, err);
	*inner = made;
	return rc;
}

static enum tp_status
plan_attrs(struct tpi_plan *plan, struct tpi_step *step, struct tp_err *err)
{
	const struct tp_node *node = step->node;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < node->n_attrs && !rc; k++) {
		const struct tpi_plan *inner;

		if (node->attrs[k].ref.len) {
			step->has_refs = true;
			continue;
		}
		if (node->attrs[k].kind != TP_ATTR_GRAPH)
			continue;
		rc = plan_graph(plan, node->attrs[k].graph, &inner, err);
		if (!rc)
			rc = note_inner(plan, inner, err);
	}
	return rc;
}

static enum tp_status
plan_step(struct tpi_plan *plan, struct tpi_step *step, struct tp_err *err)
{
	const struct tp_node *node = step->node;
	enum tp_status rc = resolve_inputs(plan, step, err);
	size_t least;

	if (!rc)
		rc = tpi_step_bind(
		    plan->program, step, plan->function, plan->depth, err);
	if (!rc)
		rc = plan_attrs(plan, step, err);
	if (!rc && step->call)
		rc = note_inner(plan, step->call, err);
	if (!rc && step->op && step->op->flags & TPI_OP_DIFFERENTIATES)
		rc = tpi_gradient_plan(plan, step, err);
	if (rc)
		return rc;
	/* Outputs without a name at the end are left out where they may be. */
	least = step->op ? step->op->min_out : 0;
	step->n_made = node->n_outputs;
	while (step->n_made > least && !node->outputs[step->n_made - 1].len)
		step->n_made--;
	return TP_OK;
}

static enum tp_status
plan_steps(struct tpi_plan *plan, struct tp_err *err)
{
	struct tp_program *program = plan->program;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < plan->graph->n_nodes && !rc; i++) {
		plan->at = i;
		rc = plan_step(plan, &plan->steps[i], err);
		if (!rc)
			continue;
		if (program->is_blamed)
			tpi_blame_outer(err, plan->steps[i].node, i);
		else
			tpi_blame_node(err, plan->steps[i].node, i);
		program->is_blamed = true;
	}
	return rc;
}

/* Outputs need their locals to the end; the last one takes it along. */
static enum tp_status
plan_outputs(struct tpi_plan *plan, struct tp_err *err)
{
	const struct tp_graph *g = plan->graph;

	plan->at = g->n_nodes;
	for (size_t k = 0; k < g->n_outputs; k++) {
		struct tp_str name = g->outputs[k].name;
		enum tp_status rc =
		    tpi_names_find(plan, name, &plan->outputs[k], err);

		if (!rc && plan->outputs[k].kind == TPI_PLACE_NONE)
			rc = tpi_names_undefined(plan, "output", k, name, err);
		if (rc)
			return rc;
		if (plan->outputs[k].kind == TPI_PLACE_LOCAL)
			plan->last_uses[plan->outputs[k].index] =
			    g->n_nodes + k;
	}
	for (size_t k = 0; k < g->n_outputs; k++)
		plan->is_moved[k] =
		    plan->outputs[k].kind == TPI_PLACE_LOCAL &&
		    plan->last_uses[plan->outputs[k].index] == g->n_nodes + k;
	return TP_OK;
}

/* Sort locals by their last use, by counting. */
static void
plan_deaths(struct tpi_plan *plan)
{
	size_t n_nodes = plan->graph->n_nodes, at = 0;

	for (size_t l = 0; l < plan->n_locals; l++)
		if (plan->last_uses[l] < n_nodes)
			plan->steps[plan->last_uses[l]].n_dead++;
	for (size_t i = 0; i < n_nodes; i++) {
		plan->steps[i].dead = &plan->dead[at];
		at += plan->steps[i].n_dead;
		plan->steps[i].n_dead = 0;
	}
	for (size_t l = 0; l < plan->n_locals; l++) {
		struct tpi_step *step;

		if (plan->last_uses[l] >= n_nodes)
			continue;
		step = &plan->steps[plan->last_uses[l]];
		plan->dead[(size_t)(step->dead - plan->dead) + step->n_dead++] =
		    l;
	}
}

static enum tp_status
make_plan(struct tpi_plan *plan, struct tp_err *err)
{
	enum tp_status rc;

	count(plan);
	rc = make_arrays(plan, err);
	if (!rc)
		rc = tpi_names_define(plan, err);
	if (!rc)
		rc = plan_steps(plan, err);
	if (!rc)
		rc = plan_outputs(plan, err);
	if (rc)
		return rc;
	plan_deaths(plan);
	drop_scratch(plan);
	return TP_OK;
}

enum tp_status
tpi_plan_new(struct tp_program *program, const struct tp_graph *graph,
    struct tpi_plan *outer, const struct tp_function *function, unsigned depth,
    struct tpi_plan **out, struct tp_err *err)
{
	struct tpi_plan *plan;
	enum tp_status rc;

	*out = NULL;
	if (depth > TPI_MAX_DEPTH)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "more than %d levels of graphs and functions",
		    TPI_MAX_DEPTH);
	plan = tp_mem_array(program->alloc, 1, sizeof(*plan));
	if (!plan)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a graph");
	plan->program = program;
	plan->outer = outer;
	plan->graph = graph;
	plan->function = function;
	plan->depth = depth;
	plan->n_expanded = graph->n_nodes;
	tp_map_init(&plan->names, program->alloc);
	tp_map_init(&plan->captured_names, program->alloc);
	rc = make_plan(plan, err);
	if (rc) {
		tpi_plan_free(plan);
		return rc;
	}
	rc = tpi_program_add(program, plan, err);
	if (!rc)
		*out = plan;
	return rc;
}
