/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_plan.c - names of a graph become places
 *
 * All names that a graph defines are known before its nodes are looked at, so
 * that a name which is used too early can be told from one that is nowhere.
 * Numbers in plan->names run through inputs, constants and locals.
 */
#include "graph_gradient.h"

#include "tp/checked.h"

#include "op.h"

#include "banned.h"

/* Where local numbers begin in plan->names. */
static size_t
first_local_number(const struct tpi_plan *plan)
{
	return plan->graph->n_inputs + plan->graph->n_constants;
}

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
define_inputs(struct tpi_plan *plan, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < plan->graph->n_inputs && !rc; k++) {
		struct tp_str name = plan->graph->inputs[k].name;

		if (!name.len)
			continue;
		rc = tp_map_add(&plan->names, name, k, NULL, err);
		if (rc == TP_EARG)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "two inputs of the graph are called '%s'",
			    TP_BRIEF(name));
	}
	return rc;
}

static enum tp_status
define_constants(struct tpi_plan *plan, struct tp_err *err)
{
	const struct tp_graph *g = plan->graph;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < g->n_constants && !rc; k++) {
		struct tp_str name = g->constants[k].name;
		size_t taken;

		rc = tp_map_add(
		    &plan->names, name, g->n_inputs + k, &taken, err);
		if (rc != TP_EARG)
			continue;
		if (taken >= g->n_inputs ||
		    plan->defaults[taken] != TPI_NO_CONSTANT)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "two constants of the graph are called '%s'",
			    TP_BRIEF(name));
		plan->defaults[taken] = k;
		rc = TP_OK;
	}
	return rc;
}

static enum tp_status
define_output(
    struct tpi_plan *plan, struct tp_str name, size_t local, struct tp_err *err)
{
	size_t base = first_local_number(plan), taken;
	enum tp_status rc;

	if (!name.len)
		return TP_OK;
	rc = tp_map_add(&plan->names, name, base + local, &taken, err);
	if (rc == TP_EARG)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "output '%s' has the name of %s", TP_BRIEF(name),
		    taken >= base ? "an output before it"
				  : "an input or a constant");
	return rc;
}

static enum tp_status
define_locals(struct tpi_plan *plan, struct tp_err *err)
{
	struct tpi_place *places = plan->places;
	enum tp_status rc = TP_OK;
	size_t local = 0;

	for (size_t i = 0; i < plan->graph->n_nodes && !rc; i++) {
		const struct tp_node *node = &plan->graph->nodes[i];
		struct tpi_step *step = &plan->steps[i];

		step->node = node;
		step->inputs = places;
		places += node->n_inputs;
		step->first_local = local;
		for (size_t k = 0; k < node->n_outputs && !rc; k++) {
			plan->last_uses[local] = i;
			rc =
			    define_output(plan, node->outputs[k], local++, err);
		}
		if (rc) {
			tpi_blame_node(err, node, i);
			plan->program->is_blamed = true;
		}
	}
	return rc;
}

/* Is number n of plan->names there before step plan->at? */
static bool
is_defined(const struct tpi_plan *plan, size_t n)
{
	size_t base = first_local_number(plan);

	return n < base || plan->at == plan->graph->n_nodes ||
	       n - base < plan->steps[plan->at].first_local;
}

bool
tpi_plan_find_own(
    struct tpi_plan *plan, struct tp_str name, struct tpi_place *place)
{
	size_t n, base = first_local_number(plan);

	if (!tp_map_find(&plan->names, name, &n) || !is_defined(plan, n))
		return false;
	if (n >= base) {
		*place = (struct tpi_place){TPI_PLACE_LOCAL, n - base};
		plan->last_uses[place->index] = plan->at;
	} else if (n >= plan->graph->n_inputs) {
		*place = (struct tpi_place){
		    TPI_PLACE_CONSTANT, n - plan->graph->n_inputs};
	} else {
		*place = (struct tpi_place){TPI_PLACE_INPUT, n};
	}
	return true;
}

/* Make a place of the graph around this one a captured one. */
static enum tp_status
capture(struct tpi_plan *plan, struct tp_str name, struct tpi_place from,
    struct tpi_place *place, struct tp_err *err)
{
	const struct tp_alloc *alloc = plan->program->alloc;
	enum tp_status rc;

	if (plan->n_captured == plan->captured_room) {
		size_t room = plan->captured_room ? plan->captured_room * 2 : 8;
		struct tpi_place *more = tp_mem_grow(alloc, plan->captured,
		    plan->captured_room, room, sizeof(*more));

		if (!more)
			return no_memory(plan, err);
		plan->captured = more;
		plan->captured_room = room;
	}
	rc = tp_map_add(
	    &plan->captured_names, name, plan->n_captured, NULL, err);
	if (rc)
		return rc;
	plan->captured[plan->n_captured] = from;
	*place = (struct tpi_place){TPI_PLACE_CAPTURED, plan->n_captured++};
	return TP_OK;
}

/* NONE if the name is nowhere. Graphs nest TPI_MAX_DEPTH times at most. */
static enum tp_status
find(struct tpi_plan *plan, struct tp_str name, struct tpi_place *place,
    struct tp_err *err)
{
	struct tpi_place from = {TPI_PLACE_NONE, 0};
	enum tp_status rc;

	*place = from;
	if (tpi_plan_find_own(plan, name, place))
		return TP_OK;
	if (tp_map_find(&plan->captured_names, name, &place->index)) {
		place->kind = TPI_PLACE_CAPTURED;
		return TP_OK;
	}
	if (!plan->outer)
		return TP_OK;
	rc = find(plan->outer, name, &from, err);
	if (rc || from.kind == TPI_PLACE_NONE)
		return rc;
	return capture(plan, name, from, place, err);
}

/* The step that makes a local. */
static size_t
maker_of(const struct tpi_plan *plan, size_t local)
{
	size_t i = 0;

	while (local >=
	       plan->steps[i].first_local + plan->steps[i].node->n_outputs)
		i++;
	return i;
}

static enum tp_status
undefined(const struct tpi_plan *plan, const char *what, size_t k,
    struct tp_str name, struct tp_err *err)
{
	const struct tp_node *maker;
	size_t n, i;

	if (!tp_map_find(&plan->names, name, &n))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s %zu, '%s', is defined nowhere", what, k,
		    TP_BRIEF(name));
	i = maker_of(plan, n - first_local_number(plan));
	maker = &plan->graph->nodes[i];
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s %zu, '%s', comes from node %zu '%s' (%s), which is not before "
	    "it: the graph is out of order or has a cycle",
	    what, k, TP_BRIEF(name), i, TP_BRIEF(maker->name),
	    TP_BRIEF(maker->op));
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
		rc = find(plan, name, &places[k], err);
		if (!rc && places[k].kind == TPI_PLACE_NONE)
			rc = undefined(plan, "input", k, name, err);
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
		enum tp_status rc = find(plan, name, &plan->outputs[k], err);

		if (!rc && plan->outputs[k].kind == TPI_PLACE_NONE)
			rc = undefined(plan, "output", k, name, err);
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
		rc = define_inputs(plan, err);
	if (!rc)
		rc = define_constants(plan, err);
	if (!rc)
		rc = define_locals(plan, err);
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
