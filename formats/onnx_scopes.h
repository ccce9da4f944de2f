/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_scopes.h - which of some tensors does a name mean at this place?
 *
 *	main graph          w -> tensor 0
 *	  then_branch       w -> tensor 1   (its own w)
 *	  else_branch       w -> tensor 0   (captured)
 *
 * Entering a graph shows its own tensors and hides those whose names it defines
 * anew; leaving it puts back what was there. A lookup is one search in a table,
 * however many tensors and scopes there are.
 */
#ifndef TPI_ONNX_SCOPES_H
#define TPI_ONNX_SCOPES_H

#include "tp/format.h"
#include "tp/map.h"

#include "onnx.pb-c.h"

/* A tensor by the graph or function that defines it, and its name there. */
struct tpi_onnx_local {
	const void *scope; /* the TpOnnx__GraphProto or …FunctionProto */
	struct tp_str name;
};

struct tpi_onnx_scopes {
	const struct tp_alloc *alloc;
	size_t n;		/* tensors */
	size_t *first_in_scope; /* number of a scope -> tensor */
	size_t *next_in_scope;	/* chains the tensors of a scope */
	size_t *name_of;	/* tensor -> number of its name */
	size_t *active;		/* number of a name -> tensor */
	struct tp_map scopes;	/* address of a scope -> its number */
	struct tp_map names;	/* name -> its number */
	struct tpi_onnx_undo *undo;
	size_t n_undo, cap_undo;
};

/* For these tensors, whose names must stay. */
enum tp_status tpi_onnx_scopes_init(struct tpi_onnx_scopes *s,
    const struct tpi_onnx_local *tensors, size_t n,
    const struct tp_alloc *alloc, struct tp_err *err);
void tpi_onnx_scopes_release(struct tpi_onnx_scopes *s);

/* Enter a graph. s->n_undo before it is the mark for tpi_onnx_scopes_leave. */
enum tp_status tpi_onnx_scopes_enter(
    struct tpi_onnx_scopes *s, const TpOnnx__GraphProto *g, struct tp_err *err);
/* Show the tensors of a graph or function, hide nothing. */
enum tp_status tpi_onnx_scopes_show(
    struct tpi_onnx_scopes *s, const void *scope, struct tp_err *err);
void tpi_onnx_scopes_leave(struct tpi_onnx_scopes *s, size_t mark);

/* The tensor that a name means here, or TP_NONE. "" means none. */
size_t tpi_onnx_scopes_find(
    const struct tpi_onnx_scopes *s, const ProtobufCBinaryData *name);

/* The tensor that step i < n_undo has shown. */
size_t tpi_onnx_scopes_shown(const struct tpi_onnx_scopes *s, size_t i);

#endif
