/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_random.c - which values depend on chance, and what can be said of them
 *
 * Random operators draw from a generator that no data set records, so what they
 * give is compared by dtype, shape and range alone. A value is random if the
 * node that makes it is such an operator, contains one (in graphs that are its
 * attributes, in the function it calls) or takes a random value. Shapes and
 * sizes of random values are not random. Nor is Dropout with a seed, whose
 * generator the data specifies, or without training.
 */
#include "run.h"

#include <stdlib.h>

#include "tp/convert.h"
#include "tp/map.h"

static const struct {
	const char *op;
	enum run_range range;
} random_ops[] = {
    {"Bernoulli", RUN_UNIT},
    {"Multinomial", RUN_CLASSES},
    {"RandomNormal", RUN_FINITE},
    {"RandomNormalLike", RUN_FINITE},
    {"RandomUniform", RUN_BETWEEN},
    {"RandomUniformLike", RUN_BETWEEN},
};
#define N_RANDOM (sizeof(random_ops) / sizeof(random_ops[0]))

/* What these make is 0 or 1, whatever they take. */
static const char *const comparisons[] = {
    "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", NULL};
/* These keep the values of their first input, and the range of it. */
static const char *const movements[] = {"Identity", "Reshape", "Squeeze",
    "Unsqueeze", "Flatten", "Transpose", "Slice", "Gather", NULL};
/* These do if it is 0 or 1. */
static const char *const casts[] = {"Cast", "CastLike", NULL};
/* These make what is certain from what is random. */
static const char *const measures[] = {"Shape", "Size", NULL};

struct run_random {
	const struct tp_graph_model *model;
	struct tp_map functions; /* by name, the first of overloads */
	/* What is known of each function, which is looked at once. */
	struct function {
		bool seen;
		struct run_chance chance;
	} * known;
	struct tp_map off;    /* names of the main graph that are false */
	struct tp_map random; /* names of random values, to places in chances */
	struct run_chance *chances;
	size_t n, cap;
	bool no_memory;
};

static bool
is_onnx(const struct tp_node *node)
{
	return !node->domain.len ||
	       !tp_str_cmp(node->domain, TP_STR("ai.onnx"));
}

static bool
is_one_of(const struct tp_node *node, const char *const *names)
{
	for (; is_onnx(node) && *names; names++)
		if (!tp_str_cmp(node->op, tp_str(*names)))
			return true;
	return false;
}

static const struct tp_attr *
find_attribute(const struct tp_node *node, const char *name)
{
	for (size_t i = 0; i < node->n_attrs; i++)
		if (!tp_str_cmp(node->attrs[i].name, tp_str(name)))
			return &node->attrs[i];
	return NULL;
}

static double
attribute(const struct tp_node *node, const char *name, double otherwise)
{
	const struct tp_attr *a = find_attribute(node, name);

	return a && a->kind == TP_ATTR_FLOAT && !a->ref.len ? a->f : otherwise;
}

/*
 * Dropout draws while it trains: below opset 7 unless is_test is 1, from 12 on
 * if its third input is true, which it may be unless the graph says no.
 */
static bool
trains(const struct run_random *w, const struct tp_node *node)
{
	const struct tp_attr *is_test = find_attribute(node, "is_test");
	int64_t opset = 0;
	size_t at;

	for (size_t i = 0; i < w->model->n_opsets; i++)
		if (!w->model->opsets[i].domain.len)
			opset = w->model->opsets[i].version;
	if (opset < 7)
		return !is_test || is_test->i == 0;
	return node->n_inputs > 2 && node->inputs[2].len &&
	       !tp_map_find(&w->off, node->inputs[2], &at);
}

/* Of a random operator itself; else RUN_NOT_RANDOM. */
static struct run_chance
own_chance(const struct run_random *w, const struct tp_node *node)
{
	static const char *const dropout[] = {"Dropout", NULL};
	struct run_chance c = {.range = RUN_NOT_RANDOM, .op = node->op};

	for (size_t i = 0; is_onnx(node) && i < N_RANDOM; i++)
		if (!tp_str_cmp(node->op, tp_str(random_ops[i].op)))
			c.range = random_ops[i].range;
	if (is_one_of(node, dropout) && !find_attribute(node, "seed") &&
	    trains(w, node))
		c.range = RUN_ANYTHING;
	if (c.range == RUN_BETWEEN) {
		c.low = attribute(node, "low", 0);
		c.high = attribute(node, "high", 1);
	}
	return c;
}

const struct run_chance *
run_random_find(const struct run_random *w, struct tp_str name)
{
	size_t at;

	return name.len && tp_map_find(&w->random, name, &at) ? &w->chances[at]
							      : NULL;
}

/* The number of the function that a node calls, or n_functions. */
static size_t
called(const struct run_random *w, const struct tp_node *node)
{
	size_t i = w->model->n_functions;

	if (!tp_map_find(&w->functions, node->op, &i))
		return w->model->n_functions;
	for (; i < w->model->n_functions; i++) {
		const struct tp_function *f = &w->model->functions[i];

		if (!tp_str_cmp(f->name, node->op) &&
		    !tp_str_cmp(f->domain, node->domain) &&
		    !tp_str_cmp(f->overload, node->overload))
			break;
	}
	return i;
}

static bool graph_has_chance(struct run_random *w, const struct tp_graph *g,
    bool in_function, struct run_chance *out);

/* A function sees no names around it. */
static bool
function_has_chance(struct run_random *w, size_t i, struct run_chance *out)
{
	struct function *f = &w->known[i];

	if (!f->seen) {
		f->seen = true;
		if (!graph_has_chance(
			w, &w->model->functions[i].graph, true, &f->chance))
			f->chance.range = RUN_NOT_RANDOM;
	}
	*out = f->chance;
	return f->chance.range != RUN_NOT_RANDOM;
}

/*
 * A program was made of the model, so functions do not call themselves, and
 * calls and graphs nest only as deeply as that allows.
 */
static bool
node_has_chance(struct run_random *w, const struct tp_node *node,
    bool in_function, struct run_chance *out)
{
	size_t function = called(w, node);
	const struct run_chance *taken;

	if (function < w->model->n_functions) {
		if (function_has_chance(w, function, out))
			return true;
	} else {
		*out = own_chance(w, node);
		if (out->range)
			return true;
	}
	for (size_t i = 0; i < node->n_inputs && !in_function; i++)
		if ((taken = run_random_find(w, node->inputs[i]))) {
			*out = *taken;
			return true;
		}
	for (size_t i = 0; i < node->n_attrs; i++)
		if (node->attrs[i].kind == TP_ATTR_GRAPH &&
		    !node->attrs[i].ref.len &&
		    graph_has_chance(w, node->attrs[i].graph, in_function, out))
			return true;
	return false;
}

static bool
graph_has_chance(struct run_random *w, const struct tp_graph *g,
    bool in_function, struct run_chance *out)
{
	const struct run_chance *seen;

	for (size_t i = 0; i < g->n_nodes; i++)
		if (node_has_chance(w, &g->nodes[i], in_function, out))
			return true;
	/* What an inner graph gives out may be a name around it. */
	for (size_t i = 0; i < g->n_outputs && !in_function; i++)
		if ((seen = run_random_find(w, g->outputs[i].name))) {
			*out = *seen;
			return true;
		}
	return false;
}

static void
add(struct run_random *w, struct tp_str name, const struct run_chance *chance)
{
	if (!name.len || run_random_find(w, name))
		return;
	if (w->n == w->cap) {
		size_t cap = w->cap ? 2 * w->cap : 16;
		void *p = realloc(w->chances, cap * sizeof(*w->chances));

		if (!p) {
			w->no_memory = true;
			return;
		}
		w->chances = p;
		w->cap = cap;
	}
	if (tp_map_add(&w->random, name, w->n, NULL, NULL)) {
		w->no_memory = true;
		return;
	}
	w->chances[w->n++] = *chance;
}

/* What is known of the outputs of a node that is random somehow. */
static void
add_outputs(struct run_random *w, const struct tp_node *node,
    const struct run_chance *chance)
{
	const struct run_chance *first =
	    node->n_inputs ? run_random_find(w, node->inputs[0]) : NULL;
	struct run_chance out = *chance;

	if (own_chance(w, node).range)
		out.range = chance->range;
	else if (is_one_of(node, comparisons))
		out.range = RUN_UNIT;
	else if (first &&
		 (is_one_of(node, movements) ||
		     (is_one_of(node, casts) && first->range == RUN_UNIT)))
		out = *first;
	else
		out.range = RUN_ANYTHING;
	for (size_t i = 0; i < node->n_outputs; i++)
		add(w, node->outputs[i], &out);
}

/* Remember a name of the main graph whose value is false. */
static void
note_off(struct run_random *w, struct tp_str name, const struct tp_value *v)
{
	enum tp_status rc;

	if (v->kind != TP_VALUE_TENSOR ||
	    tp_tensor_dtype(v->tensor) != TP_DTYPE_BOOL ||
	    tp_tensor_numel(v->tensor) != 1 ||
	    tp_load_f64(TP_DTYPE_BOOL, tp_tensor_data(v->tensor), 0) != 0)
		return;
	rc = tp_map_add(&w->off, name, 0, NULL, NULL);
	w->no_memory |= rc == TP_ENOMEM;
}

static void
note_constant(struct run_random *w, const struct tp_node *node)
{
	static const char *const op[] = {"Constant", NULL};
	const struct tp_attr *a = find_attribute(node, "value");

	if (is_one_of(node, op) && node->n_outputs && a &&
	    a->kind == TP_ATTR_TENSOR && !a->ref.len)
		note_off(w, node->outputs[0], a->tensor);
}

/* Everything that is looked up by name. */
static void
prepare(struct run_random *w)
{
	const struct tp_graph_model *m = w->model;
	enum tp_status rc;

	w->known = calloc(m->n_functions + 1, sizeof(*w->known));
	w->no_memory = !w->known;
	for (size_t i = 0; i < m->n_functions; i++) {
		rc = tp_map_add(
		    &w->functions, m->functions[i].name, i, NULL, NULL);
		w->no_memory |= rc == TP_ENOMEM;
	}
	for (size_t i = 0; i < m->graph.n_constants; i++)
		note_off(w, m->graph.constants[i].name,
		    &m->graph.constants[i].value);
}

struct run_random *
run_random_new(const struct tp_graph_model *model)
{
	const struct tp_graph *g = &model->graph;
	struct run_random *w = calloc(1, sizeof(*w));
	struct run_chance chance;

	if (!w)
		return NULL;
	w->model = model;
	tp_map_init(&w->functions, NULL);
	tp_map_init(&w->off, NULL);
	tp_map_init(&w->random, NULL);
	prepare(w);
	for (size_t i = 0; i < g->n_nodes && !w->no_memory; i++) {
		note_constant(w, &g->nodes[i]);
		if (!is_one_of(&g->nodes[i], measures) &&
		    node_has_chance(w, &g->nodes[i], false, &chance))
			add_outputs(w, &g->nodes[i], &chance);
	}
	if (!w->no_memory)
		return w;
	run_random_free(w);
	return NULL;
}

void
run_random_free(struct run_random *w)
{
	if (!w)
		return;
	tp_map_release(&w->functions);
	tp_map_release(&w->off);
	tp_map_release(&w->random);
	free(w->known);
	free(w->chances);
	free(w);
}
