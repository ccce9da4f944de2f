/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/graph.h - a graph of operators, and its evaluation
 *
 *  1. Describe a model: struct tp_graph_model and what it points to. A file
 *     format does that; nothing here knows one. All of it is borrowed and has
 *     to stay as it is while the program lives.
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
	/* Each behind those whose outputs it takes. */
	const struct tp_node *nodes;
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

struct tp_program;

/*
 * Check a model and prepare it. TP_EARG names the node and what is wrong with
 * it: an input that nothing defines before it, a name defined twice, a domain
 * without an opset. TP_ENOTFOUND names an operator, with its node, that there
 * is none of at the model's opset. TP_ELIMIT: graphs and functions nested too
 * deep. Nothing is computed.
 *
 * Names in a graph of If, Loop or Scan may hide those around it. A function of
 * one of ONNX's own domains is not called where there is an operator that does
 * the same.
 */
TP_API TP_NODISCARD enum tp_status tp_program_new(const struct tp_alloc *alloc,
    const struct tp_graph_model *model, struct tp_program **out,
    struct tp_err *err);
TP_API void tp_program_free(struct tp_program *program); /* NULL is allowed */

/* What a node has just computed, for those who watch a run. */
struct tp_watched {
	/* "" or the nodes it is inside of and their attributes: "loop/body" */
	struct tp_str scope;
	size_t index; /* of the node in its graph */
	const struct tp_node *node;
	const struct tp_op *op; /* NULL: a function's call */
	/* node->n_inputs and node->n_outputs; absent ones are NONE. */
	const struct tp_value *inputs, *outputs;
	double seconds;
};

/* A status other than TP_OK ends the run, which then returns it. */
typedef enum tp_status tp_watch_fn(
    void *ctx, const struct tp_watched *watched, struct tp_err *err);

/* All zero is good. */
struct tp_run_opts {
	const struct tp_alloc *alloc; /* of values; NULL: the default */
	unsigned n_threads;	      /* 0: one a processor */
	struct tp_strings *strings;   /* NULL: no tensors of strings */
	uint64_t max_iterations;      /* of one Loop; 0: a million */
	uint64_t seed;		      /* of random operators without one */
	tp_watch_fn *watch;	      /* or NULL */
	void *watch_ctx;
	/*
	 * Bytes of values and scratch at once, without inputs and constants; 0:
	 * no limit. TP_ELIMIT names the node that needs more, before anything
	 * is computed if the shapes tell it.
	 */
	uint64_t max_memory;
	uint64_t *peak_memory; /* if not NULL: the most there were */
};

/*
 * Compute. inputs[k] is for input k of the graph, which may have more than
 * n_in; it may be NONE if a constant of that name exists. The first n_out
 * outputs of the graph are made; they are NONE after a failure. Errors name the
 * node, its operator, and the nodes it is inside of.
 *
 * A program may be run by several threads at once if each has its own strings.
 */
TP_API TP_NODISCARD enum tp_status tp_program_run(
    const struct tp_program *program, const struct tp_value *inputs,
    size_t n_in, struct tp_value *outputs, size_t n_out,
    const struct tp_run_opts *opts, struct tp_err *err);

#endif
