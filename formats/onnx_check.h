/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_check.h - what the parts of tp_onnx_check share */
#ifndef TPI_ONNX_CHECK_H
#define TPI_ONNX_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "tp/map.h"
#include "tp/onnx.h"

#include "onnx.pb-c.h"

struct tpi_check {
	const struct tp_alloc *alloc;
	const TpOnnx__ModelProto *model;
	const TpOnnx__FunctionProto *function; /* whose body it is, or NULL */
	struct tp_map domains; /* that the function or else the model imports */
	struct tp_map parameters; /* attributes of the function */
	tp_onnx_problem_fn *fn;
	void *ctx;
	bool no_memory;
};

struct tpi_check_edge {
	size_t maker, user; /* nodes */
};

/* A graph or the body of a function, while it is walked. */
struct tpi_check_scope {
	struct tpi_check_scope *outer; /* whose names are visible */
	/* For its path; path_of is NULL for the main graph. */
	const char *path_of;
	bool attribute;		    /* of node outer->at */
	struct tp_str domain, name; /* domain: of a function */
	size_t graph; /* 0: the attribute's g; else graphs[graph - 1] */

	TpOnnx__NodeProto *const *nodes;
	size_t n_nodes, at;
	size_t n_training;	    /* main graph: of the model */
	struct tp_map names;	    /* to 0, or a node + 1 */
	struct tp_map initializers; /* to tpi_check_initializer_name's number */
	struct tpi_check_edge *edges;
	size_t n_edges, cap_edges;
	struct tp_str late; /* .s not NULL: is used before it is defined */
	size_t late_user, late_maker;
};

void tpi_check_say(struct tpi_check *c, const struct tpi_check_scope *s,
    bool is_error, const char *fmt, ...) TP_PRINTF(4, 5);

/* The graph of a scope whose place is filled in, and all inside it. */
void tpi_check_graph(struct tpi_check *c, const TpOnnx__GraphProto *g,
    struct tpi_check_scope *s);
void tpi_check_training(
    struct tpi_check *c, struct tpi_check_scope *main, size_t i);

/* ---- onnx_check_scope.c ---- */

void tpi_check_scope_init(struct tpi_check *c, struct tpi_check_scope *s);
void tpi_check_scope_release(struct tpi_check *c, struct tpi_check_scope *s);

/* An input or initializer (def 0) or node def - 1 has that name. */
void tpi_check_define(struct tpi_check *c, struct tpi_check_scope *s,
    struct tp_str name, size_t def);

/*
 * The node at which the walk stands uses the name: true if it means something in
 * s or around it.
 */
bool tpi_check_use(
    struct tpi_check *c, struct tpi_check_scope *s, struct tp_str name);

/* After the walk: tell if nodes use what comes later, or need themselves. */
void tpi_check_order(struct tpi_check *c, struct tpi_check_scope *s);

/* ---- onnx_summary.c ---- */

/* The attachment that is a graph; TP_ENOTFOUND if the model has none. */
enum tp_status tpi_onnx_find_graph(
    struct tp_reader *r, struct tp_attachment *graph, struct tp_err *err);

/* ---- onnx_check_values.c ---- */

/* Of dense initializers, then of sparse ones. */
struct tp_str tpi_check_initializer_name(const TpOnnx__GraphProto *g, size_t i);

/* Inputs, outputs and value_info against the initializers of these names. */
void tpi_check_values(struct tpi_check *c, struct tpi_check_scope *s,
    const TpOnnx__GraphProto *g);

/* Names and types of a node's attributes, and what they refer to. */
void tpi_check_attributes(struct tpi_check *c, struct tpi_check_scope *s,
    const TpOnnx__NodeProto *node);

#endif
