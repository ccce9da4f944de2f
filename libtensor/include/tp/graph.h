/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/graph.h - a graph of operators, and its evaluation
 *
 *  1. Describe a model: struct tp_graph_model and what it points to. A file
 * format does that; nothing here knows one. All of it is borrowed and has to
 * stay as it is while the program lives.
 *  2. tp_program_new checks it: every name is defined before it is used, every
 *     operator known at its opset, every function found. Nothing is computed.
 *  3. tp_program_run computes outputs from inputs, as often as one likes. A
 *     value is freed after its last use.
 *
 * Graphs of If, Loop and Scan see the names around them. Functions see their
 * inputs and attributes only.
 */
#ifndef TP_GRAPH_H
#define TP_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/op.h"
#include "tp/shape.h"
#include "tp/value.h"

/* A declared input or output. */
struct tp_binding {
	struct tp_str name;
	struct tp_type type; /* kind NONE: not declared */
	/* Of a tensor: rank and sizes, -1 where it is not fixed. */
	bool has_shape;
	unsigned rank;
	const int64_t *sizes;
	const struct tp_str *symbols; /* names of unfixed sizes, or NULL */
};

struct tp_node {
	struct tp_str name; /* may be empty */
	struct tp_str domain, op;
	struct tp_str overload;		       /* of a function; mostly empty */
	const struct tp_str *inputs, *outputs; /* "" is absent */
	size_t n_inputs, n_outputs;
	const struct tp_attr *attrs;
	size_t n_attrs;
};

/* A weight: what an initializer is. */
struct tp_constant {
	struct tp_str name;
	struct tp_value value;
};

struct tp_graph {
	struct tp_str name;
	const struct tp_binding *inputs, *outputs;
	size_t n_inputs, n_outputs;
	/*
	 * A constant with the name of an input is what that input is if nobody
	 * gives another value.
	 */
	const struct tp_constant *constants;
	size_t n_constants;
	const struct tp_node
	    *nodes; /* each behind those whose outputs it takes */
	size_t n_nodes;
};

/* The version of a domain's operators; "" is ONNX's own. */
struct tp_opset {
	struct tp_str domain;
	int64_t version;
};

/*
 * A function of the model: nodes that call (domain, name, overload) are
 * replaced by its graph. Attributes in it may stand for those of the call:
 * struct tp_attr's ref.
 */
struct tp_function {
	struct tp_str domain, name, overload;
	const struct tp_opset *opsets;
	size_t n_opsets;
	const struct tp_str *attr_names; /* without a default */
	size_t n_attr_names;
	const struct tp_attr *defaults;
	size_t n_defaults;
	struct tp_graph graph;
};

struct tp_graph_model {
	const struct tp_opset *opsets;
	size_t n_opsets;
	const struct tp_function *functions;
	size_t n_functions;
	struct tp_graph graph;
};

#endif
