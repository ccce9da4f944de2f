/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_slots.c - the walk over a model that finds its weights
 *
 * Slots and scopes are collected with a stack of our own (graphs nest as deeply
 * as the reader's limit allows); then onnx_names.c names the slots.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/map.h"

#include "grow.h"
#include "onnx_names.h"
#include "onnx_slots.h"

#include "banned.h"

/* What the type of an attribute of a Constant must say. */
static const struct {
	const char *name;
	enum tpi_slot_kind kind;
	int32_t type;
} constant_forms[] = {
    {"value", TPI_SLOT_VALUE, 4},
    {"sparse_value", TPI_SLOT_SPARSE_VALUE, 11},
    {"value_float", TPI_SLOT_VALUE_FLOAT, 1},
    {"value_floats", TPI_SLOT_VALUE_FLOATS, 6},
    {"value_int", TPI_SLOT_VALUE_INT, 2},
    {"value_ints", TPI_SLOT_VALUE_INTS, 7},
    {"value_string", TPI_SLOT_VALUE_STRING, 3},
    {"value_strings", TPI_SLOT_VALUE_STRINGS, 8},
};
#define N_FORMS (sizeof(constant_forms) / sizeof(constant_forms[0]))

/*
 * For the paths and names of inner graphs. Each repeats what is around it, so a
 * small file could ask for much more than it holds.
 */
#define MAX_NAMES ((uint64_t)64 << 20)

/* A graph or a function body under way. */
struct level {
	TpOnnx__NodeProto **nodes;
	size_t n_nodes;
	size_t node, attribute, graph; /* where to go on */
	size_t scope;
};

struct walk {
	struct tpi_onnx_slots *s;
	bool constants;
	struct level *levels;
	size_t n_levels, cap_levels;
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "out of memory for the parts of a graph");
}

/* Begin a graph (nodes of a function if graph is NULL). */
static enum tp_status
enter(struct walk *w, struct tp_str path, size_t parent,
    TpOnnx__GraphProto *graph, TpOnnx__NodeProto **nodes, size_t n_nodes,
    struct tp_err *err)
{
	struct tpi_onnx_slots *s = w->s;
	void *p;

	p = tpi_grow(s->alloc, s->scopes, s->n_scopes + 1, &s->cap_scopes,
	    sizeof(*s->scopes));
	if (!p)
		return no_memory(err);
	s->scopes = p;
	p = tpi_grow(s->alloc, w->levels, w->n_levels + 1, &w->cap_levels,
	    sizeof(*w->levels));
	if (!p)
		return no_memory(err);
	w->levels = p;
	w->levels[w->n_levels++] = (struct level){
	    .nodes = nodes, .n_nodes = n_nodes, .scope = s->n_scopes};
	s->scopes[s->n_scopes++] = (struct tpi_onnx_scope){
	    .path = path, .parent = parent, .graph = graph};
	return TP_OK;
}

static enum tp_status
add_slot(struct walk *w, const struct tpi_onnx_slot *slot, struct tp_err *err)
{
	struct tpi_onnx_slots *s = w->s;
	void *p;

	p = tpi_grow(s->alloc, s->items, s->n_items + 1, &s->cap_items,
	    sizeof(*s->items));
	if (!p)
		return no_memory(err);
	s->items = p;
	s->items[s->n_items++] = *slot;
	return TP_OK;
}

/*
 * The initializers of a graph that was just entered. An empty name means "not
 * there" in ONNX, so nothing could ever refer to such a weight.
 */
static enum tp_status
add_initializers(struct walk *w, TpOnnx__GraphProto *g, struct tp_err *err)
{
	size_t scope = w->s->n_scopes - 1;
	struct tp_str path = w->s->scopes[scope].path;
	const char *where = path.len ? TP_BRIEF(path) : "the main graph";
	struct tpi_onnx_slot slot;
	enum tp_status rc;

	for (size_t i = 0; i < g->n_initializer; i++) {
		slot = (struct tpi_onnx_slot){.kind = TPI_SLOT_INITIALIZER,
		    .scope = scope,
		    .tensor = g->initializer[i],
		    .local = tpi_onnx_str(g->initializer[i]->name)};
		if (!slot.local.len)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "initializer %zu of %s has no name", i, where);
		rc = add_slot(w, &slot, err);
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < g->n_sparse_initializer; i++) {
		slot =
		    (struct tpi_onnx_slot){.kind = TPI_SLOT_SPARSE_INITIALIZER,
			.scope = scope,
			.sparse = g->sparse_initializer[i]};
		if (slot.sparse->values)
			slot.local = tpi_onnx_str(slot.sparse->values->name);
		if (!slot.local.len)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "sparse initializer %zu of %s has no name", i,
			    where);
		rc = add_slot(w, &slot, err);
		if (rc)
			return rc;
	}
	return TP_OK;
}

/*
 * The value of a Constant: exactly one of its eight attributes. One that takes
 * its value from the caller of a function (ref_attr_name) is none of ours.
 */
static enum tp_status
add_constant(struct walk *w, const struct level *at, TpOnnx__NodeProto *node,
    struct tp_err *err)
{
	struct tpi_onnx_slot slot = {.scope = at->scope, .node = node};
	TpOnnx__AttributeProto *a;
	size_t n_values = 0;
	int32_t type = 0;

	if (node->n_output)
		slot.local = tpi_onnx_str(node->output[0]);
	if (!slot.local.len)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "node %zu of '%s': Constant without an output", at->node,
		    TP_BRIEF(w->s->scopes[at->scope].path));
	for (size_t i = 0; i < node->n_attribute; i++)
		for (size_t f = 0; f < N_FORMS; f++) {
			a = node->attribute[i];
			if (tp_str_cmp(tpi_onnx_str(a->name),
				tp_str(constant_forms[f].name)))
				continue;
			n_values++;
			slot.attribute = a;
			slot.kind = constant_forms[f].kind;
			type = constant_forms[f].type;
		}
	if (n_values != 1)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': Constant with %zu values, expected one",
		    TP_BRIEF(slot.local), n_values);

	/* The first releases of the format had no type: the name tells. */
	if (slot.attribute->has_type && slot.attribute->type &&
	    slot.attribute->type != type)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': attribute %s of the Constant has type "
		    "%" PRId32 ", expected %" PRId32,
		    TP_BRIEF(slot.local),
		    TP_BRIEF(tpi_onnx_str(slot.attribute->name)),
		    slot.attribute->type, type);
	if (slot.attribute->ref_attr_name.len)
		return TP_OK;
	if (slot.kind == TPI_SLOT_VALUE)
		slot.tensor = slot.attribute->t;
	if (slot.kind == TPI_SLOT_SPARSE_VALUE)
		slot.sparse = slot.attribute->sparse_tensor;
	return add_slot(w, &slot, err);
}

/* Enter graph `graph` of attribute a (0 is g, then graphs) of the node. */
static enum tp_status
enter_attribute(struct walk *w, const struct level *at,
    const TpOnnx__AttributeProto *a, size_t graph, struct tp_err *err)
{
	TpOnnx__GraphProto *g = graph ? a->graphs[graph - 1] : a->g;
	struct tp_str outer = w->s->scopes[at->scope].path, path;
	size_t parent = at->scope;
	char before[24], after[24] = "";
	enum tp_status rc;

	/* at points into an array that enter may move. */
	snprintf(
	    before, sizeof(before), "%s%zu.", outer.len ? "/" : "", at->node);
	if (graph)
		snprintf(after, sizeof(after), "[%zu]", graph - 1);
	rc = tpi_onnx_join(
	    w->s, outer, tp_str(before), tpi_onnx_str(a->name), &path, err);
	if (!rc && graph)
		rc = tpi_onnx_join(
		    w->s, path, tp_str(after), TP_STR(""), &path, err);
	if (!rc)
		rc = enter(w, path, parent, g, g->node, g->n_node, err);
	if (!rc)
		rc = add_initializers(w, g, err);
	return rc;
}

/*
 * One step from the innermost level: into the next inner graph of its node, or
 * on to the next node.
 */
static enum tp_status
step(struct walk *w, struct tp_err *err)
{
	struct level *at = &w->levels[w->n_levels - 1];
	TpOnnx__NodeProto *node = at->nodes[at->node];
	const TpOnnx__AttributeProto *a;
	enum tp_status rc = TP_OK;
	size_t graph;

	if (!at->attribute && !at->graph) {
		if (tpi_onnx_is_op(node, TP_STR("Constant"))) {
			if (w->constants)
				rc = add_constant(w, at, node, err);
			at->node++;
			return rc;
		}
	}
	for (; at->attribute < node->n_attribute; at->attribute++) {
		a = node->attribute[at->attribute];
		for (; at->graph <= a->n_graphs; at->graph++) {
			if (!at->graph && !a->g)
				continue;
			graph = at->graph++;
			return enter_attribute(w, at, a, graph, err);
		}
		at->graph = 0;
	}
	at->attribute = 0;
	at->node++;
	return TP_OK;
}

/* From a graph or function body that was entered until nothing is left. */
static enum tp_status
run(struct walk *w, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	while (!rc && w->n_levels) {
		struct level *at = &w->levels[w->n_levels - 1];

		if (at->node == at->n_nodes)
			w->n_levels--;
		else
			rc = step(w, err);
	}
	return rc;
}

static enum tp_status
walk_graph(struct walk *w, struct tp_str path, TpOnnx__GraphProto *g,
    struct tp_err *err)
{
	enum tp_status rc;

	rc = enter(w, path, TP_NONE, g, g->node, g->n_node, err);
	if (!rc)
		rc = add_initializers(w, g, err);
	return rc ? rc : run(w, err);
}

static enum tp_status
walk_function(struct walk *w, TpOnnx__FunctionProto *f, struct tp_err *err)
{
	struct tp_str path;
	enum tp_status rc;

	rc = tpi_onnx_join(w->s, TP_STR("function:"), tpi_onnx_str(f->domain),
	    TP_STR("."), &path, err);
	if (!rc)
		rc = tpi_onnx_join(
		    w->s, path, tpi_onnx_str(f->name), TP_STR(""), &path, err);
	if (!rc)
		rc = enter(w, path, TP_NONE, NULL, f->node, f->n_node, err);
	if (rc)
		return rc;
	w->s->scopes[w->s->n_scopes - 1].function = f;
	return run(w, err);
}

static enum tp_status
walk_training(
    struct walk *w, const TpOnnx__ModelProto *m, size_t i, struct tp_err *err)
{
	TpOnnx__GraphProto *const graphs[] = {
	    m->training_info[i]->initialization,
	    m->training_info[i]->algorithm};
	static const char *const names[] = {"initialization", "algorithm"};
	struct tp_str path;
	enum tp_status rc = TP_OK;
	char before[48];

	for (size_t k = 0; k < 2 && !rc; k++) {
		if (!graphs[k])
			continue;
		snprintf(
		    before, sizeof(before), "training[%zu].%s", i, names[k]);
		rc = tpi_onnx_join(
		    w->s, tp_str(before), TP_STR(""), TP_STR(""), &path, err);
		if (!rc)
			rc = walk_graph(w, path, graphs[k], err);
	}
	return rc;
}

enum tp_status
tpi_onnx_slots_find(struct tpi_onnx_slots *s, const struct tp_alloc *alloc,
    const TpOnnx__ModelProto *model, bool constants,
    const struct tp_limits *limits, struct tp_err *err)
{
	struct walk w = {.s = s, .constants = constants};
	enum tp_status rc;

	*s = (struct tpi_onnx_slots){.alloc = alloc,
	    .bytes_left = limits->directory_bytes < MAX_NAMES
			      ? limits->directory_bytes
			      : MAX_NAMES};
	tpi_arena_init(&s->arena, alloc);
	rc = walk_graph(&w, TP_STR(""), model->graph, err);
	for (size_t i = 0; i < model->n_functions && !rc; i++)
		rc = walk_function(&w, model->functions[i], err);
	for (size_t i = 0; i < model->n_training_info && !rc; i++)
		rc = walk_training(&w, model, i, err);
	if (!rc)
		rc = tpi_onnx_name_slots(s, err);
	tp_mem_free(alloc, w.levels, w.cap_levels, sizeof(*w.levels));
	if (rc)
		tpi_onnx_slots_release(s);
	return rc;
}

void
tpi_onnx_slots_release(struct tpi_onnx_slots *s)
{
	tp_mem_free(s->alloc, s->items, s->cap_items, sizeof(*s->items));
	tp_mem_free(s->alloc, s->scopes, s->cap_scopes, sizeof(*s->scopes));
	tpi_arena_release(&s->arena);
	*s = (struct tpi_onnx_slots){.alloc = s->alloc};
}
