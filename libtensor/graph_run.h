/* SPDX-License-Identifier: Apache-2.0 */
/* graph_run.h - a program that is running, for graph_run.c and graph_call.c */
#ifndef TPI_GRAPH_RUN_H
#define TPI_GRAPH_RUN_H

#include "alloc_limit.h"
#include "graph.h"

struct tpi_run {
	const struct tp_program *program;
	const struct tp_run_opts *opts;
	const struct tp_alloc *alloc;
	struct tpi_limit *limit; /* NULL: nobody counts */
	bool is_blamed;		 /* the error names its node already */
};

/*
 * One run of one graph. Frames lie on the stack; those below are of the nodes
 * that this graph is run for, and one of them is that of the graph around it.
 */
struct tpi_frame {
	struct tpi_run *run;
	const struct tpi_plan *plan;
	struct tpi_frame *below; /* NULL: the model's graph */
	unsigned depth;
	const struct tp_value *given; /* for inputs */
	size_t n_given;
	const struct tp_attr *attrs; /* of the function's call */
	size_t n_attrs;
	struct tp_value *locals;
	const struct tp_value **captured;
	struct tp_value *args; /* inputs of the step */
	size_t at;	       /* the step */
	uint64_t seed, node_seed;
	uint64_t n_inner;    /* graphs run by the step so far */
	struct tp_str scope; /* if somebody watches */
};

/* Levels of frames; functions that run graphs of their callers double them. */
#define TPI_MAX_FRAMES (2 * TPI_MAX_DEPTH)

/*
 * Run the graph of a frame whose plan, given and attrs are set, above another
 * one or NULL, and take n_out outputs.
 */
enum tp_status tpi_frame_run(struct tpi_frame *frame, struct tpi_frame *below,
    struct tp_value *outputs, size_t n_out, struct tp_err *err);

/* The value at a place; NONE where nothing is. */
const struct tp_value *tpi_frame_at(
    const struct tpi_frame *frame, struct tpi_place place);

/* Of step i: no two are alike, and no run differs from the next. */
uint64_t tpi_node_seed(const struct tpi_frame *frame, size_t i);

/* Bytes of values that are alive at once when a node has run. */
struct tpi_memory {
	uint64_t nbytes;
	size_t node;
};

/* At least so many, from what the frame is given; graph_bound.c. */
enum tp_status tpi_frame_bound(const struct tpi_frame *frame,
    struct tpi_memory *found, struct tp_err *err);

/* Run the step's function on frame->args. */
enum tp_status tpi_frame_call(struct tpi_frame *frame,
    const struct tpi_step *step, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_value *outputs, struct tp_err *err);

/* struct tp_op_opts' run_graph, where ctx is the frame of the node. */
tp_run_graph_fn tpi_frame_run_graph;

/*
 * Attributes of the step, those that stand for others replaced: a new array of
 * *n, which has room for as many as the node has. Absent ones are left out.
 */
enum tp_status tpi_frame_attrs(const struct tpi_frame *frame,
    const struct tpi_step *step, struct tp_attr **out, size_t *n,
    struct tp_err *err);

/*
 * The scope of frame, below's with the node there and, for a graph of it, the
 * attribute.
 */
enum tp_status tpi_scope_make(struct tpi_frame *frame, struct tp_err *err);
void tpi_scope_free(struct tpi_frame *frame);

#endif
