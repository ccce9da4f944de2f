/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - what a program is, for the files graph*.c
 *
 * Every graph of a model has a plan, in which names have become places:
 *
 *	inputs      given by who runs the graph
 *	constants   of the graph
 *	locals      outputs of nodes, numbered through the graph
 *	captured    places of the graph around it
 *
 * A run of a graph is a frame (graph_run.c): the values of its locals, and
 * pointers to what it captured. A local is released after the step that its
 * plan names, which is the last one to use it or to capture it.
 */
#ifndef TPI_GRAPH_H
#define TPI_GRAPH_H

#include "tp/graph.h"
#include "tp/map.h"

enum tpi_place_kind {
	TPI_PLACE_NONE, /* an absent input */
	TPI_PLACE_INPUT,
	TPI_PLACE_CONSTANT,
	TPI_PLACE_LOCAL,
	TPI_PLACE_CAPTURED,
};

struct tpi_place {
	enum tpi_place_kind kind;
	size_t index;
};

struct tpi_plan;

/* A node whose names are resolved. */
struct tpi_step {
	const struct tp_node *node;
	const struct tp_op *op;	     /* NULL: a call */
	const struct tpi_plan *call; /* of the function's graph */
	const struct tpi_place *inputs;
	size_t first_local; /* output k is local first_local + k */
	size_t n_made;	    /* outputs up to the last one with a name */
	const size_t *dead; /* locals that nothing uses after this step */
	size_t n_dead;
	bool has_refs; /* attributes stand for those of the function's call */
	struct tpi_gradient *gradient; /* of Gradient: graph_gradient.h */
};

#define TPI_NO_CONSTANT SIZE_MAX

struct tpi_plan {
	struct tp_program *program;
	struct tpi_plan *outer; /* of the graph that this one is in */
	const struct tp_graph *graph;
	const struct tp_function *function; /* whose graph it is in, or NULL */

	struct tpi_step *steps;
	struct tpi_place *places; /* inputs of all steps, one after another */
	size_t n_places;
	size_t *dead; /* locals, in the order in which they are released */
	size_t n_locals;
	size_t most_inputs; /* of one step */
	size_t *defaults;   /* of inputs: numbers of constants */
	struct tpi_place *outputs;
	bool *is_moved; /* output k takes its local, which nothing else needs */

	struct tpi_place *captured; /* places in outer */
	size_t n_captured, captured_room;
	struct tp_map captured_names;

	unsigned depth;	     /* levels above it, where it was met first */
	unsigned height;     /* levels of graphs and functions under it */
	uint64_t n_expanded; /* nodes, with those of functions it calls */

	/* While it is made. */
	struct tp_map names; /* input, constant or local, numbered through */
	size_t at;	     /* the step */
	size_t *last_uses;   /* of locals: steps, or n_nodes for an output */
};

/* A function and its plan, which is made when the first call is met. */
struct tpi_callee {
	const struct tp_function *function;
	struct tpi_callee *same_name; /* another one: a list */
	struct tpi_plan *plan;
	bool is_open; /* being planned: a call in it would be recursive */
};

struct tp_program {
	const struct tp_alloc *alloc;
	const struct tp_graph_model *model;
	struct tpi_plan *main;
	struct tpi_plan **plans;
	size_t n_plans, plan_room;
	struct tp_map by_graph; /* the address of a graph to its plan */
	struct tpi_callee *callees;
	struct tp_map callee_names;
	bool is_blamed; /* the error names its node already */
};

/* Levels of graphs and functions inside one another. */
#define TPI_MAX_DEPTH 64
/* Nodes of a model whose functions are written out. */
#define TPI_MAX_EXPANDED (UINT64_C(1) << 24)

/*
 * Make the plan of a graph, and those of graphs and functions in it. outer is
 * that of the graph around it, or NULL; depth counts the levels above.
 */
enum tp_status tpi_plan_new(struct tp_program *program,
    const struct tp_graph *graph, struct tpi_plan *outer,
    const struct tp_function *function, unsigned depth, struct tpi_plan **out,
    struct tp_err *err);
void tpi_plan_free(struct tpi_plan *plan);

/*
 * Give names to inputs, constants and outputs of nodes: the step of each is set
 * up. What a name stands for at step plan->at, NONE if it is nowhere; and to
 * say that of input or output k.
 */
enum tp_status tpi_names_define(struct tpi_plan *plan, struct tp_err *err);
enum tp_status tpi_names_find(struct tpi_plan *plan, struct tp_str name,
    struct tpi_place *place, struct tp_err *err);
enum tp_status tpi_names_undefined(const struct tpi_plan *plan,
    const char *what, size_t k, struct tp_str name, struct tp_err *err);

/* The place of a name of the graph itself, which is needed until plan->at. */
bool tpi_plan_find_own(
    struct tpi_plan *plan, struct tp_str name, struct tpi_place *place);

/* A finished plan belongs to the program, also on failure. */
enum tp_status tpi_program_add(
    struct tp_program *program, struct tpi_plan *plan, struct tp_err *err);
/* The plan of a graph, NULL if there is none. */
struct tpi_plan *tpi_program_find(
    const struct tp_program *program, const struct tp_graph *graph);

/*
 * The operator or the function that the node of a step stands for, where
 * function is the one whose graph it is in.
 */
enum tp_status tpi_step_bind(struct tp_program *program, struct tpi_step *step,
    const struct tp_function *function, unsigned depth, struct tp_err *err);

/* Table of functions of the model. */
enum tp_status tpi_callees_init(struct tp_program *program, struct tp_err *err);
void tpi_callees_release(struct tp_program *program);

/*
 * Put the node into the message of err: in front, or behind if it is one around
 * the node that is named there already. err may be NULL.
 */
void tpi_blame_node(
    struct tp_err *err, const struct tp_node *node, size_t index);
void tpi_blame_outer(
    struct tp_err *err, const struct tp_node *node, size_t index);

#endif
