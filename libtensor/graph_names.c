/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_names.c - names of a graph become places
 *
 * All names that a graph defines are known before its nodes are looked at, so
 * that a name which is used too early can be told from one that is nowhere.
 * Numbers in plan->names run through inputs, constants and locals.
 */
#include "graph.h"

#include "banned.h"

/* Where local numbers begin in plan->names. */
static size_t
first_local_number(const struct tpi_plan *plan)
{
	return plan->graph->n_inputs + plan->graph->n_constants;
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
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "no memory for %zu captured names", room);
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

/* Graphs nest TPI_MAX_DEPTH times at most. */
enum tp_status
tpi_names_find(struct tpi_plan *plan, struct tp_str name,
    struct tpi_place *place, struct tp_err *err)
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
	rc = tpi_names_find(plan->outer, name, &from, err);
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

enum tp_status
tpi_names_undefined(const struct tpi_plan *plan, const char *what, size_t k,
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

enum tp_status
tpi_names_define(struct tpi_plan *plan, struct tp_err *err)
{
	enum tp_status rc = define_inputs(plan, err);

	if (!rc)
		rc = define_constants(plan, err);
	return rc ? rc : define_locals(plan, err);
}
