/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_slots.h - where the weights of an ONNX model lie
 *
 * A slot is a place of the model that holds a weight: an initializer, a sparse
 * initializer or the value of a Constant node, in the main graph, in a graph
 * that is an attribute of a node (at any depth), in a function or in the
 * training information. One walk finds them all, always in the same order:
 *
 *	graph:    initializers, sparse initializers, then node by node the
 *		  Constant's value or, attribute by attribute, inner graphs
 *	model:    graph, functions, training_info (initialization, algorithm)
 *
 * Slots are named from the tree alone, payloads do not matter. So a model and
 * its skeleton (the same model with its weights taken out) have the same slots
 * with the same names, and nothing else needs to be kept to bring the weights
 * back.
 *
 * Names: in the main graph that of the tensor (a Constant's: of its output),
 * elsewhere SCOPE:NAME, for example
 *
 *	2.body/0.else_branch:w		node 2, attribute body; in it node 0
 *	0.bodies[1]:w			the second of a list of graphs
 *	function:local.Shift:k
 *	training[0].initialization:w
 *
 * Where such a name is taken already, "#2", "#3", … is appended until it is
 * free; names of the main graph come first and are never changed.
 */
#ifndef TPI_ONNX_SLOTS_H
#define TPI_ONNX_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "tp/alloc.h"
#include "tp/error.h"
#include "tp/format.h"

#include "arena.h"
#include "onnx.pb-c.h"
#include "onnx_message.h"

enum tpi_slot_kind {
	TPI_SLOT_INITIALIZER,
	TPI_SLOT_SPARSE_INITIALIZER,
	/* The attributes a Constant may have; each exactly one of them. */
	TPI_SLOT_VALUE,
	TPI_SLOT_SPARSE_VALUE,
	TPI_SLOT_VALUE_FLOAT,
	TPI_SLOT_VALUE_FLOATS,
	TPI_SLOT_VALUE_INT,
	TPI_SLOT_VALUE_INTS,
	TPI_SLOT_VALUE_STRING,
	TPI_SLOT_VALUE_STRINGS,
};

/* Pointers go into the model, which may be changed through them. */
struct tpi_onnx_slot {
	enum tpi_slot_kind kind;
	size_t scope;	     /* number in tpi_onnx_slots.scopes */
	struct tp_str local; /* the name inside that scope */
	struct tp_str name;  /* unique in the model */
	/* Dense weights; NULL for other kinds, or if VALUE has no tensor. */
	TpOnnx__TensorProto *tensor;
	/* Sparse weights; NULL for other kinds, or if the value has none. */
	TpOnnx__SparseTensorProto *sparse;
	/* Of a Constant; NULL for initializers. */
	TpOnnx__NodeProto *node;
	TpOnnx__AttributeProto *attribute;
};

struct tpi_onnx_scope {
	struct tp_str path; /* "" is the main graph */
	size_t parent;	    /* whose names are visible; TP_NONE if no one's */
	TpOnnx__GraphProto *graph; /* NULL: the body of a function */
	TpOnnx__FunctionProto *function;
};

/* The address of its graph or function, by which others know a scope. */
static inline const void *
tpi_onnx_scope_id(const struct tpi_onnx_scope *s)
{
	return s->graph ? (const void *)s->graph : (const void *)s->function;
}

struct tpi_onnx_slots {
	const struct tp_alloc *alloc;
	struct tpi_arena arena; /* paths and names */
	uint64_t bytes_left;	/* for more of them */
	struct tpi_onnx_slot *items;
	size_t n_items, cap_items;
	struct tpi_onnx_scope *scopes;
	size_t n_scopes, cap_scopes;
};

/*
 * Find the slots of a model that has a graph. constants false leaves out the
 * Constant nodes. TP_EFORMAT for a weight without a name, a name twice in one
 * scope, and a Constant that has not exactly one value, or one whose type says
 * something else. limits: directory_bytes for all paths and names together.
 * The model must live as long as the slots; on failure *s is released.
 */
enum tp_status tpi_onnx_slots_find(struct tpi_onnx_slots *s,
    const struct tp_alloc *alloc, const TpOnnx__ModelProto *model,
    bool constants, const struct tp_limits *limits, struct tp_err *err);
void tpi_onnx_slots_release(struct tpi_onnx_slots *s);

#endif
