/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_graph.h - may tensors of a graph change their element type?
 *
 * Almost every operator demands that its inputs have one type, so new bytes of
 * another dtype make most graphs invalid. A change is allowed only where no
 * consumer minds; who consumes a tensor is found in every scope that sees it.
 */
#ifndef TPI_ONNX_GRAPH_H
#define TPI_ONNX_GRAPH_H

#include <stddef.h>

#include "tp/format.h"

#include "onnx.pb-c.h"
#include "onnx_scopes.h"

/* One tensor that gets another dtype. */
struct tpi_onnx_retype {
	struct tpi_onnx_local at;
	struct tp_str entry; /* in the model, for messages */
	enum tp_dtype from, to;
	int32_t code; /* data_type of to */
};

/*
 * Check all changes, then write the new types into the inputs and value_info
 * that name the tensors. TP_EUNSUPPORTED names the tensor, both dtypes and the
 * first consumer that forbids it; the message is then unchanged. The nesting of
 * the model must be bounded.
 */
enum tp_status tpi_onnx_retype(TpOnnx__ModelProto *model,
    const struct tpi_onnx_retype *changes, size_t n,
    const struct tp_alloc *alloc, struct tp_err *err);

/* The second half alone: write types[i] where the model tells of tensor i. */
enum tp_status tpi_onnx_retype_values(TpOnnx__ModelProto *model,
    const struct tpi_onnx_local *tensors, const int32_t *types, size_t n,
    const struct tp_alloc *alloc, struct tp_err *err);

#endif
