/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_uses.h - where a model uses some tensors
 *
 * One walk over the whole model, whatever the number of tensors. A name means
 * the tensor that is visible at its place; see onnx_scopes.h.
 */
#ifndef TPI_ONNX_USES_H
#define TPI_ONNX_USES_H

#include "onnx_scopes.h"

enum tpi_use_kind {
	TPI_USE_INPUT,	  /* of a node */
	TPI_USE_OUTPUT,	  /* of a graph or a function */
	TPI_USE_BINDING,  /* training reads or assigns it */
	TPI_USE_FUNCTION, /* no use: it is defined in this function */
};

/* A graph or function that is walked, and its node that is being looked at. */
struct tpi_onnx_frame {
	const void *scope;
	const struct tpi_onnx_frame *outer;
	size_t node;
};

struct tpi_onnx_use {
	enum tpi_use_kind kind;
	size_t tensor;
	/* The place that names it, which may be changed. NULL for FUNCTION. */
	ProtobufCBinaryData *name;
	TpOnnx__NodeProto *node; /* of INPUT */
	size_t input;
	const TpOnnx__FunctionProto *function; /* whose body it is, or NULL */
	const struct tpi_onnx_frame *frame;
	/* What other names mean at this place. */
	const struct tpi_onnx_scopes *scopes;
};

/* A failure ends the walk. */
typedef enum tp_status tpi_onnx_use_fn(
    void *ctx, const struct tpi_onnx_use *use, struct tp_err *err);

/*
 * Call fn for each use, in the order of the model: the graph, training, then
 * the functions. The nesting of the model must be bounded.
 */
enum tp_status tpi_onnx_each_use(TpOnnx__ModelProto *model,
    const struct tpi_onnx_local *tensors, size_t n,
    const struct tp_alloc *alloc, tpi_onnx_use_fn *fn, void *ctx,
    struct tp_err *err);

#endif
