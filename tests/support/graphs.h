/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graphs.h - graphs written as text, for cmocka tests
 *
 *	struct tp_graph *g = graph_of(&a, "x w -> y",
 *	    "mul: h = MatMul x w", "y = my.Scale h", NULL);
 *
 * A line is a node: its name, if it has one, outputs, operator with its domain
 * in front, inputs; "_" is an absent one. Attributes are added with set_attr.
 * All of it lives until graphs_free.
 */
#ifndef TEST_GRAPHS_H
#define TEST_GRAPHS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/graph.h"

#include "support/cmocka_all.h"

struct graphs {
	void *blocks[4096];
	size_t n;
};

static inline void *
graphs_take(struct graphs *a, size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	assert_non_null(p);
	assert_true(a->n < sizeof(a->blocks) / sizeof(a->blocks[0]));
	a->blocks[a->n++] = p;
	return p;
}

static inline void
graphs_free(struct graphs *a)
{
	while (a->n)
		free(a->blocks[--a->n]);
}

/* The words of a text; "_" is the empty one. */
static inline size_t
words_of(struct graphs *a, const char *text, size_t len, struct tp_str **out)
{
	struct tp_str *words = graphs_take(a, len + 1, sizeof(*words));
	size_t n = 0, i = 0;

	while (i < len) {
		size_t first = i;

		while (i < len && text[i] != ' ')
			i++;
		if (i > first)
			words[n++] = (struct tp_str){text + first, i - first};
		while (i < len && text[i] == ' ')
			i++;
	}
	for (size_t k = 0; k < n; k++)
		if (words[k].len == 1 && words[k].s[0] == '_')
			words[k] = TP_STR("");
	*out = words;
	return n;
}

/* "my.Scale": everything before the last dot is the domain. */
static inline void
split_operator(struct tp_node *node, struct tp_str word)
{
	size_t dot = word.len;

	while (dot > 0 && word.s[dot - 1] != '.')
		dot--;
	node->domain = dot ? (struct tp_str){word.s, dot - 1} : TP_STR("");
	node->op = (struct tp_str){word.s + dot, word.len - dot};
}

static inline void
node_of(struct graphs *a, const char *line, struct tp_node *node)
{
	const char *colon = strstr(line, ": "), *equals = strstr(line, "= ");
	struct tp_str *words;
	size_t n;

	*node = (struct tp_node){.name = TP_STR("")};
	if (colon) {
		node->name = (struct tp_str){line, (size_t)(colon - line)};
		line = colon + 2;
	}
	assert_non_null(equals);
	node->n_outputs = words_of(a, line, (size_t)(equals - line), &words);
	node->outputs = words;
	n = words_of(a, equals + 2, strlen(equals + 2), &words);
	split_operator(node, words[0]);
	node->inputs = words + 1;
	node->n_inputs = n - 1;
}

static inline struct tp_binding *
bindings_of(struct graphs *a, const char *text, size_t len, size_t *n)
{
	struct tp_binding *bindings;
	struct tp_str *names;

	*n = words_of(a, text, len, &names);
	bindings = graphs_take(a, *n, sizeof(*bindings));
	for (size_t i = 0; i < *n; i++)
		bindings[i].name = names[i];
	return bindings;
}

#define GRAPH_MAX_NODES 64

/* Lines up to a NULL. */
static inline struct tp_graph *
graph_of(struct graphs *a, const char *signature, ...)
{
	struct tp_graph *g = graphs_take(a, 1, sizeof(*g));
	struct tp_node *nodes = graphs_take(a, GRAPH_MAX_NODES, sizeof(*nodes));
	const char *arrow = strstr(signature, "-> "), *line;
	va_list ap;

	assert_non_null(arrow);
	g->inputs = bindings_of(
	    a, signature, (size_t)(arrow - signature), &g->n_inputs);
	g->outputs =
	    bindings_of(a, arrow + 3, strlen(arrow + 3), &g->n_outputs);
	va_start(ap, signature);
	while ((line = va_arg(ap, const char *))) {
		assert_true(g->n_nodes < GRAPH_MAX_NODES);
		node_of(a, line, &nodes[g->n_nodes++]);
	}
	va_end(ap);
	g->nodes = nodes;
	return g;
}

/* Add an attribute to a node; give it its value through the result. */
static inline struct tp_attr *
set_attr(struct graphs *a, struct tp_graph *g, size_t node, const char *name,
    enum tp_attr_kind kind)
{
	struct tp_node *nodes = (struct tp_node *)(uintptr_t)g->nodes;
	struct tp_node *at = &nodes[node];
	struct tp_attr *attrs = graphs_take(a, at->n_attrs + 1, sizeof(*attrs));

	if (at->n_attrs)
		memcpy(attrs, at->attrs, at->n_attrs * sizeof(*attrs));
	attrs[at->n_attrs] =
	    (struct tp_attr){.name = tp_str(name), .kind = kind};
	at->attrs = attrs;
	return &attrs[at->n_attrs++];
}

static inline void
set_graph(struct graphs *a, struct tp_graph *g, size_t node, const char *name,
    const struct tp_graph *inner)
{
	set_attr(a, g, node, name, TP_ATTR_GRAPH)->graph = inner;
}

/* The attribute stands for the one called ref of the function's call. */
static inline void
set_ref(struct graphs *a, struct tp_graph *g, size_t node, const char *name,
    enum tp_attr_kind kind, const char *ref)
{
	set_attr(a, g, node, name, kind)->ref = tp_str(ref);
}

static inline void
add_constant(
    struct graphs *a, struct tp_graph *g, const char *name, struct tp_tensor *t)
{
	struct tp_constant *constants =
	    graphs_take(a, g->n_constants + 1, sizeof(*constants));

	if (g->n_constants)
		memcpy(constants, g->constants,
		    g->n_constants * sizeof(*constants));
	constants[g->n_constants] =
	    (struct tp_constant){tp_str(name), tp_value_of(t)};
	g->constants = constants;
	g->n_constants++;
}

#endif
