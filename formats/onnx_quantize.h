/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_quantize.h - narrowed weights in a graph
 *
 *	onnx_quantize_uses.c	which weights can be, along which axis
 *	onnx_quantize_opset.c	in which form, and for that with which opset
 *	onnx_quantize_nodes.c	the nodes that make floats of them again
 *
 * The weight keeps its name and gets the dtype of its codes. In front of the
 * first node that uses it come nodes that compute floats, and all that used it
 * use those.
 *
 *	W, W_scale, W_zero_point -> DequantizeLinear -> W_dequantized
 *
 * Where the opset has no such operator, W_dequantized is
 *
 *	Mul(Sub(Cast(W), Cast(W_zero_point)), W_scale)
 *
 * and Cast(W) for narrower floats.
 */
#ifndef TPI_ONNX_QUANTIZE_H
#define TPI_ONNX_QUANTIZE_H

#include "onnx_edit.h"
#include "quantize.h"

/*
 * ---- onnx_quantize_uses.c ----
 */

/* What the graph says about an entry. */
struct tpi_onnx_weight {
	const char *why; /* it must stay as it is; NULL: it may be narrowed */
	unsigned channel_axis, block_axis;
	size_t before; /* the first node of its scope that needs it */
	bool used;
};

/*
 * Fill in w[i] for each entry i. Texts are in the arena. When consumers want
 * different axes, the first one in the order of the graph has its way: every
 * axis is right, some are better.
 */
enum tp_status tpi_onnx_find_weights(struct tpi_onnx_edit *e,
    const struct tp_reader *r, struct tpi_arena *arena,
    struct tpi_onnx_weight *w, struct tp_err *err);

/*
 * ---- onnx_quantize_opset.c ----
 */

enum tpi_onnx_expand {
	TPI_EXPAND_DEQUANTIZE, /* DequantizeLinear */
	TPI_EXPAND_ARITHMETIC, /* Cast, Sub, Mul */
	TPI_EXPAND_CAST,
};

/* How a recipe is written with an opset. */
enum tpi_onnx_expand tpi_onnx_expand_of(
    const struct tp_recipe *recipe, int64_t opset);

/*
 * The opset that a recipe needs; that of the graph, if it is enough.
 * TP_EUNSUPPORTED when a higher one is needed and an operator of the graph
 * means something else there.
 */
enum tp_status tpi_onnx_needed_opset(struct tpi_onnx_edit *e,
    const struct tp_recipe *recipe, int64_t *opset, struct tp_err *err);

/* Make it so, with the IR version that dtypes and opset need. */
void tpi_onnx_set_versions(
    struct tpi_onnx_edit *e, int64_t opset, enum tp_dtype codes);

/*
 * ---- onnx_quantize_nodes.c ----
 */

/* An entry that is narrowed, and what is made for it. */
struct tpi_onnx_narrowed {
	size_t slot;
	const struct tpi_narrow *n;
	const struct tpi_onnx_weight *w;
	TpOnnx__TensorProto *parts[TPI_N_PARTS];
};

/*
 * The shape of scales and zero points. shape is room for TP_MAX_RANK sizes, of
 * which *rank are used.
 */
void tpi_onnx_part_shape(
    const struct tpi_narrow *n, int64_t opset, unsigned *rank, int64_t *shape);

/* In the order of slots; parts are filled in. */
enum tp_status tpi_onnx_narrow_weights(struct tpi_onnx_edit *e,
    struct tpi_onnx_narrowed *items, size_t n, struct tp_err *err);

#endif
