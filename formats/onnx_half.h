/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_half.h - a graph that computes with f16
 *
 *	x -> Cast -> x_half -> Conv(W) -> … -> y_half -> Cast -> y
 *
 * All values of f32 become f16, in inner graphs too, but for inputs and outputs
 * of the model. Operators that keep computing with f32 (onnx_half.def) get
 * Casts around them, and keep the weights that only they use.
 *
 *	onnx_half_types.c	which values are f32
 *	onnx_half.c		whether it can be, which weights become f16
 *	onnx_half_nodes.c	what becomes of the graph
 */
#ifndef TPI_ONNX_HALF_H
#define TPI_ONNX_HALF_H

#include "onnx_edit.h"

/* A value of a scope. */
struct tpi_half_value {
	bool is_f32; /* and becomes f16 */
	bool stays;  /* f32, for those who keep computing so */
	bool is_weight;
	bool is_input; /* of the model */
	size_t output; /* of the model: its number + 1; else 0 */
};

/* A row of onnx_half.def. */
struct tpi_half_op {
	const char *op_type;
	bool kept;
	int outputs;
};

struct tpi_onnx_half {
	struct tpi_onnx_edit *e;
	struct tp_map graphs; /* addresses, to scopes */
	struct tp_map names;  /* to numbers */
	struct tp_map places; /* scope and number of a name, to values */
	struct tpi_half_value *values;
	size_t n_values, cap_values;
	const struct tp_entry **entries; /* of slots */
	bool *half;			 /* slots whose weights become f16 */
	TpOnnx__TensorProto **tensors; /* of these, once the graph is changed */
};

/*
 * Find out which values are f32, and which weights become f16.
 * TP_EUNSUPPORTED names what cannot be done right. Release *h in any case.
 */
enum tp_status tpi_onnx_half_open(struct tpi_onnx_half *h,
    struct tpi_onnx_edit *e, struct tp_reader *r, struct tp_err *err);
void tpi_onnx_half_release(struct tpi_onnx_half *h);

/* Change the graph, and finish the edit. */
enum tp_status tpi_onnx_half_apply(struct tpi_onnx_half *h, struct tp_err *err);

/*
 * ---- onnx_half_types.c ----
 */

enum tp_status tpi_onnx_half_types(struct tpi_onnx_half *h, struct tp_err *err);
/* The row of a node; NULL if there is none. */
const struct tpi_half_op *tpi_onnx_half_op(const TpOnnx__NodeProto *node);
/* What a name means in a scope or around it; NULL for no value, or "". */
struct tpi_half_value *tpi_onnx_half_find(
    struct tpi_onnx_half *h, size_t scope, ProtobufCBinaryData name);

/* One more value that becomes f16. */
enum tp_status tpi_onnx_half_define(struct tpi_onnx_half *h, size_t scope,
    struct tp_str name, struct tp_err *err);

#endif
