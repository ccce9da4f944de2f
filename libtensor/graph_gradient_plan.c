/* SPDX-License-Identifier: Apache-2.0 */
/* graph_gradient_plan.c - which steps lead from xs to y */
#include "graph_gradient.h"

#include "op.h"

#include "banned.h"

size_t
tpi_place_number(const struct tpi_plan *plan, struct tpi_place place)
{
	size_t n = place.index;

	if (place.kind == TPI_PLACE_LOCAL)
		n += plan->graph->n_constants;
	if (place.kind != TPI_PLACE_INPUT)
		n += plan->graph->n_inputs;
	return n;
}

size_t
tpi_place_count(const struct tpi_plan *plan)
{
	return plan->graph->n_inputs + plan->graph->n_constants +
	       plan->n_locals;
}

static const struct tp_attr *
find_attr(const struct tp_node *node, struct tp_str name)
{
	for (size_t i = 0; i < node->n_attrs; i++)
		if (!tp_str_cmp(node->attrs[i].name, name))
			return &node->attrs[i];
	return NULL;
}

/* Names of an attribute, which is strings and may be absent. */
static enum tp_status
take_names(const struct tp_node *node, struct tp_str name,
    const struct tp_str **names, size_t *n, struct tp_err *err)
{
	const struct tp_attr *a = find_attr(node, name);

	*n = 0;
	if (!a)
		return TP_OK;
	if (a->ref.len || a->kind != TP_ATTR_STRINGS)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "attribute '%s' is no list of strings", TP_BRIEF(name));
	*names = a->strings;
	*n = a->n;
	return TP_OK;
}

static enum tp_status
find_place(struct tpi_plan *plan, struct tp_str name, struct tpi_place *place,
    struct tp_err *err)
{
	if (tpi_plan_find_own(plan, name, place))
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "'%s' is no value that this graph has before the node",
	    TP_BRIEF(name));
}

static enum tp_status
take_leaves(struct tpi_plan *plan, const struct tp_node *node,
    struct tpi_gradient *g, struct tp_err *err)
{
	const struct tp_str *xs = NULL, *zs = NULL;
	size_t n_zs = 0;
	enum tp_status rc;

	rc = take_names(node, TP_STR("xs"), &xs, &g->n_xs, err);
	if (!rc)
		rc = take_names(node, TP_STR("zs"), &zs, &n_zs, err);
	if (rc)
		return rc;
	if (g->n_xs == 0 || g->n_xs + n_zs != node->n_inputs ||
	    node->n_outputs > g->n_xs)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%zu inputs and %zu outputs for %zu xs and %zu zs",
		    node->n_inputs, node->n_outputs, g->n_xs, n_zs);
	g->n_leaves = g->n_xs + n_zs;
	g->leaves =
	    tp_mem_array(plan->program->alloc, g->n_leaves, sizeof(*g->leaves));
	if (!g->leaves)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu names", g->n_leaves);
	for (size_t k = 0; k < g->n_leaves && !rc; k++)
		rc = find_place(plan, k < g->n_xs ? xs[k] : zs[k - g->n_xs],
		    &g->leaves[k], err);
	return rc;
}

static enum tp_status
take_y(struct tpi_plan *plan, const struct tp_node *node,
    struct tpi_gradient *g, struct tp_err *err)
{
	const struct tp_attr *y = find_attr(node, TP_STR("y"));

	if (!y || y->ref.len || y->kind != TP_ATTR_STRING)
		return tp_fail(
		    err, TP_EARG, TP_NO_OFFSET, "attribute 'y' is no string");
	return find_place(plan, y->s, &g->y, err);
}

/* What is known of a place while the path is looked for. */
struct mark {
	bool is_leaf, is_wanted; /* y depends on it */
	bool depends;		 /* on a leaf */
};

static struct mark *
mark_of(const struct tpi_plan *plan, struct mark *marks, struct tpi_place place)
{
	return &marks[tpi_place_number(plan, place)];
}

static struct mark *
mark_of_output(const struct tpi_plan *plan, struct mark *marks,
    const struct tpi_step *step, size_t k)
{
	return mark_of(plan, marks,
	    (struct tpi_place){TPI_PLACE_LOCAL, step->first_local + k});
}

/* NULL for inputs that are absent or from another graph. */
static struct mark *
mark_of_input(const struct tpi_plan *plan, struct mark *marks,
    const struct tpi_step *step, size_t k)
{
	struct tpi_place place = step->inputs[k];

	if (place.kind == TPI_PLACE_NONE || place.kind == TPI_PLACE_CAPTURED)
		return NULL;
	return mark_of(plan, marks, place);
}

/* Does y need what the step makes of other values than leaves? */
static bool
is_wanted(const struct tpi_plan *plan, struct mark *marks,
    const struct tpi_step *step)
{
	for (size_t k = 0; k < step->node->n_outputs; k++) {
		const struct mark *m = mark_of_output(plan, marks, step, k);

		if (m->is_wanted && !m->is_leaf)
			return true;
	}
	return false;
}

static bool
depends_on_leaf(const struct tpi_plan *plan, struct mark *marks,
    const struct tpi_step *step)
{
	for (size_t k = 0; k < step->node->n_inputs; k++) {
		const struct mark *m = mark_of_input(plan, marks, step, k);

		if (m && m->depends)
			return true;
	}
	return false;
}

/* Backwards for what y needs, stopping at leaves. */
static void
mark_wanted(const struct tpi_plan *plan, struct mark *marks)
{
	for (size_t i = plan->at; i-- > 0;) {
		const struct tpi_step *step = &plan->steps[i];

		if (!is_wanted(plan, marks, step))
			continue;
		for (size_t k = 0; k < step->node->n_inputs; k++) {
			struct mark *m = mark_of_input(plan, marks, step, k);

			if (m)
				m->is_wanted = true;
		}
	}
}

/* A step of the path needs its other inputs when it is run again. */
static void
take_step(
    struct tpi_plan *plan, struct tpi_gradient *g, struct mark *marks, size_t i)
{
	const struct tpi_step *step = &plan->steps[i];

	g->path[g->n_path++] = i;
	for (size_t k = 0; k < step->node->n_inputs; k++)
		if (step->inputs[k].kind == TPI_PLACE_LOCAL)
			plan->last_uses[step->inputs[k].index] = plan->at;
	for (size_t k = 0; k < step->node->n_outputs; k++)
		mark_of_output(plan, marks, step, k)->depends = true;
}

/* Forwards for what of that depends on leaves. */
static enum tp_status
find_path(struct tpi_plan *plan, struct tpi_gradient *g, struct mark *marks,
    struct tp_err *err)
{
	for (size_t k = 0; k < g->n_leaves; k++) {
		struct mark *m = mark_of(plan, marks, g->leaves[k]);

		if (m->is_leaf)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "name %zu of xs and zs is there twice", k);
		m->is_leaf = m->depends = true;
	}
	mark_of(plan, marks, g->y)->is_wanted = true;
	mark_wanted(plan, marks);
	for (size_t i = 0; i < plan->at; i++)
		if (is_wanted(plan, marks, &plan->steps[i]) &&
		    depends_on_leaf(plan, marks, &plan->steps[i]))
			take_step(plan, g, marks, i);
	return TP_OK;
}

static enum tp_status
make_path(struct tpi_plan *plan, struct tpi_gradient *g, struct tp_err *err)
{
	const struct tp_alloc *alloc = plan->program->alloc;
	size_t n = tpi_place_count(plan), *path = NULL;
	struct mark *marks = tp_mem_array(alloc, n, sizeof(*marks));
	enum tp_status rc = TP_OK;

	g->path_room = plan->at;
	g->path = tp_mem_array(alloc, g->path_room, sizeof(*g->path));
	if (marks && g->path)
		rc = find_path(plan, g, marks, err);
	/* Most paths are short. */
	if (marks && g->path && !rc)
		path = tp_mem_grow(
		    alloc, g->path, g->path_room, g->n_path, sizeof(*path));
	if (path) {
		g->path = path;
		g->path_room = g->n_path;
	} else if (!rc) {
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a path of %zu nodes", plan->at);
	}
	tp_mem_free(alloc, marks, n, sizeof(*marks));
	return rc;
}

enum tp_status
tpi_gradient_plan(
    struct tpi_plan *plan, struct tpi_step *step, struct tp_err *err)
{
	struct tpi_gradient *g =
	    tp_mem_array(plan->program->alloc, 1, sizeof(*g));
	enum tp_status rc;

	step->gradient = g;
	if (!g)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a gradient");
	rc = take_leaves(plan, step->node, g, err);
	if (!rc)
		rc = take_y(plan, step->node, g, err);
	return rc ? rc : make_path(plan, g, err);
}

void
tpi_gradient_free(const struct tp_alloc *alloc, struct tpi_gradient *g)
{
	if (!g)
		return;
	tp_mem_free(alloc, g->leaves, g->n_leaves, sizeof(*g->leaves));
	tp_mem_free(alloc, g->path, g->path_room, sizeof(*g->path));
	tp_mem_free(alloc, g, 1, sizeof(*g));
}
