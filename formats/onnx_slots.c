/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_slots.c - the walk over a model that finds its weights
 *
 * Three steps: collect slots and scopes with a stack of our own (graphs nest as
 * deeply as the reader's limit allows), name the slots, and in doing so refuse
 * names that occur twice in one scope.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/map.h"

#include "grow.h"
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
	uint64_t bytes_left; /* for paths and names */
	struct level *levels;
	size_t n_levels, cap_levels;
};

struct tp_str
tpi_onnx_str(ProtobufCBinaryData b)
{
	struct tp_str s = {"", 0};

	if (b.len) {
		s.s = (const char *)b.data;
		s.len = b.len;
	}
	return s;
}

static bool
same(struct tp_str a, struct tp_str b)
{
	return a.len == b.len && !memcmp(a.s, b.s, a.len);
}

bool
tpi_onnx_is_op(const TpOnnx__NodeProto *node, struct tp_str op_type)
{
	struct tp_str domain = tpi_onnx_str(node->domain);

	return same(tpi_onnx_str(node->op_type), op_type) &&
	       (!domain.len || same(domain, TP_STR("ai.onnx")));
}

TpOnnx__AttributeProto *
tpi_onnx_attribute(const TpOnnx__NodeProto *node, struct tp_str name)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (same(tpi_onnx_str(node->attribute[i]->name), name))
			return node->attribute[i];
	return NULL;
}

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "out of memory for the parts of a graph");
}

/* a, b, c one after the other, in the arena. */
static enum tp_status
join(struct walk *w, struct tp_str a, struct tp_str b, struct tp_str c,
    struct tp_str *out, struct tp_err *err)
{
	size_t len;
	char *p;

	if (tp_add_size(a.len, b.len, &len) || tp_add_size(len, c.len, &len) ||
	    len >= w->bytes_left)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "names of inner graphs take too much room, the last is "
		    "'%s' in '%s'",
		    TP_BRIEF(c), TP_BRIEF(a));
	w->bytes_left -= len + 1;
	p = tpi_arena_array(&w->s->arena, len + 1, 1);
	if (!p)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for a name of %zu bytes", len);
	memcpy(p, a.s, a.len);
	memcpy(p + a.len, b.s, b.len);
	memcpy(p + a.len + b.len, c.s, c.len);
	*out = (struct tp_str){p, len};
	return TP_OK;
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
	s->scopes[s->n_scopes++] = (struct tpi_onnx_scope){path, parent, graph};
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

static enum tp_status
add_dequantizer(
    struct walk *w, TpOnnx__NodeProto *node, size_t scope, struct tp_err *err)
{
	struct tpi_onnx_slots *s = w->s;
	void *p;

	p = tpi_grow(s->alloc, s->dequantizers, s->n_dequantizers + 1,
	    &s->cap_dequantizers, sizeof(*s->dequantizers));
	if (!p)
		return no_memory(err);
	s->dequantizers = p;
	s->dequantizers[s->n_dequantizers++] =
	    (struct tpi_onnx_dequantizer){node, scope};
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
			if (!same(tpi_onnx_str(a->name),
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
	rc = join(w, outer, tp_str(before), tpi_onnx_str(a->name), &path, err);
	if (!rc && graph)
		rc = join(w, path, tp_str(after), TP_STR(""), &path, err);
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
		if (tpi_onnx_is_op(node, TP_STR("DequantizeLinear"))) {
			rc = add_dequantizer(w, node, at->scope, err);
			if (rc)
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

	rc = join(w, TP_STR("function:"), tpi_onnx_str(f->domain), TP_STR("."),
	    &path, err);
	if (!rc)
		rc = join(
		    w, path, tpi_onnx_str(f->name), TP_STR(""), &path, err);
	if (!rc)
		rc = enter(w, path, TP_NONE, NULL, f->node, f->n_node, err);
	return rc ? rc : run(w, err);
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
		rc =
		    join(w, tp_str(before), TP_STR(""), TP_STR(""), &path, err);
		if (!rc)
			rc = walk_graph(w, path, graphs[k], err);
	}
	return rc;
}

/* Names that were given. */
struct names {
	struct tp_map taken;  /* in the model */
	struct tp_map scoped; /* inner ones, by scope and local name */
	struct tp_map bases;  /* SCOPE:NAME to a place in next */
	size_t *next;	      /* the suffix to try */
	size_t n_next, cap_next;
};

static enum tp_status
name_twice(struct walk *w, const struct tpi_onnx_slot *slot, struct tp_err *err)
{
	struct tp_str path = w->s->scopes[slot->scope].path;

	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "tensor '%s' appears twice in %s", TP_BRIEF(slot->local),
	    path.len ? TP_BRIEF(path) : "the main graph");
}

/* Try "#2", "#3", … from where an earlier slot of the same base stopped. */
static enum tp_status
add_suffix(struct walk *w, struct names *n, struct tp_str base, size_t number,
    struct tp_err *err)
{
	struct tpi_onnx_slot *slot = &w->s->items[number];
	size_t which;
	char suffix[24];
	enum tp_status rc;
	void *p;

	if (!tp_map_find(&n->bases, base, &which)) {
		p = tpi_grow(w->s->alloc, n->next, n->n_next + 1, &n->cap_next,
		    sizeof(*n->next));
		if (!p)
			return no_memory(err);
		n->next = p;
		rc = tp_map_add(&n->bases, base, n->n_next, NULL, err);
		if (rc)
			return rc;
		which = n->n_next++;
		n->next[which] = 2;
	}
	do {
		snprintf(suffix, sizeof(suffix), "#%zu", n->next[which]++);
		rc =
		    join(w, base, tp_str(suffix), TP_STR(""), &slot->name, err);
		if (!rc)
			rc = tp_map_add(
			    &n->taken, slot->name, number, NULL, err);
	} while (rc == TP_EARG);
	return rc;
}

static enum tp_status
name_inner(struct walk *w, struct names *n, size_t number, struct tp_err *err)
{
	struct tpi_onnx_slot *slot = &w->s->items[number];
	struct tp_str key, base;
	char scope[24];
	enum tp_status rc;

	/* Paths may repeat (overloaded functions), scopes do not. */
	snprintf(scope, sizeof(scope), "%zu:", slot->scope);
	rc = join(w, tp_str(scope), slot->local, TP_STR(""), &key, err);
	if (rc)
		return rc;
	rc = tp_map_add(&n->scoped, key, number, NULL, err);
	if (rc)
		return rc == TP_EARG ? name_twice(w, slot, err) : rc;

	rc = join(w, w->s->scopes[slot->scope].path, TP_STR(":"), slot->local,
	    &base, err);
	if (rc)
		return rc;
	slot->name = base;
	rc = tp_map_add(&n->taken, base, number, NULL, err);
	return rc == TP_EARG ? add_suffix(w, n, base, number, err) : rc;
}

/* The main graph first: its names stay what they are. */
static enum tp_status
name_slots(struct walk *w, struct tp_err *err)
{
	struct tpi_onnx_slots *s = w->s;
	struct names n = {.next = NULL};
	enum tp_status rc = TP_OK;

	tp_map_init(&n.taken, s->alloc);
	tp_map_init(&n.scoped, s->alloc);
	tp_map_init(&n.bases, s->alloc);
	for (size_t i = 0; i < s->n_items && !rc; i++) {
		if (s->items[i].scope)
			continue;
		s->items[i].name = s->items[i].local;
		rc = tp_map_add(&n.taken, s->items[i].name, i, NULL, err);
		if (rc == TP_EARG)
			rc = name_twice(w, &s->items[i], err);
	}
	for (size_t i = 0; i < s->n_items && !rc; i++)
		if (s->items[i].scope)
			rc = name_inner(w, &n, i, err);
	tp_mem_free(s->alloc, n.next, n.cap_next, sizeof(*n.next));
	tp_map_release(&n.taken);
	tp_map_release(&n.scoped);
	tp_map_release(&n.bases);
	return rc;
}

enum tp_status
tpi_onnx_slots_find(struct tpi_onnx_slots *s, const struct tp_alloc *alloc,
    const TpOnnx__ModelProto *model, bool constants,
    const struct tp_limits *limits, struct tp_err *err)
{
	struct walk w = {.s = s,
	    .constants = constants,
	    .bytes_left = limits->directory_bytes < MAX_NAMES
			      ? limits->directory_bytes
			      : MAX_NAMES};
	enum tp_status rc;

	*s = (struct tpi_onnx_slots){.alloc = alloc};
	tpi_arena_init(&s->arena, alloc);
	rc = walk_graph(&w, TP_STR(""), model->graph, err);
	for (size_t i = 0; i < model->n_functions && !rc; i++)
		rc = walk_function(&w, model->functions[i], err);
	for (size_t i = 0; i < model->n_training_info && !rc; i++)
		rc = walk_training(&w, model, i, err);
	if (!rc)
		rc = name_slots(&w, err);
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
	tp_mem_free(s->alloc, s->dequantizers, s->cap_dequantizers,
	    sizeof(*s->dequantizers));
	tpi_arena_release(&s->arena);
	*s = (struct tpi_onnx_slots){.alloc = s->alloc};
}
