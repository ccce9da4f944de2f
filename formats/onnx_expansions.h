/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_expansions.h - nodes that make floats of narrowed weights
 *
 *	DequantizeLinear(W, scale)		    y = W * scale
 *	DequantizeLinear(W, scale, zero)	    y = (W - zero) * scale
 *	Mul(Cast(W), scale)
 *	Mul(Sub(Cast(W), Cast(zero)), scale)
 *	Cast(W)					    y = W, narrower floats
 *
 * W, scale and zero are weights: initializers or Constants. Whether anything
 * else uses them, or what lies between, is not looked at.
 */
#ifndef TPI_ONNX_EXPANSIONS_H
#define TPI_ONNX_EXPANSIONS_H

#include "onnx_slots.h"

#define TPI_MAX_EXPANSION 3

struct tpi_onnx_expansion {
	size_t scope;
	size_t codes, scale, zero; /* slots, or TP_NONE: there is none */
	/* From the one that takes W to the one that gives y. */
	TpOnnx__NodeProto *nodes[TPI_MAX_EXPANSION];
	size_t n_nodes;
	TpOnnx__NodeProto *zero_cast; /* or NULL */
};

struct tpi_onnx_expansions {
	const struct tp_alloc *alloc;
	struct tpi_onnx_expansion *items;
	size_t n, cap;
};

/* All of a model, scope by scope. On failure nothing is left to release. */
enum tp_status tpi_onnx_expansions_find(struct tpi_onnx_expansions *x,
    const struct tpi_onnx_slots *slots, struct tp_err *err);
void tpi_onnx_expansions_release(struct tpi_onnx_expansions *x);

static inline TpOnnx__NodeProto *
tpi_onnx_expansion_last(const struct tpi_onnx_expansion *x)
{
	return x->nodes[x->n_nodes - 1];
}

/*
 * How W, scale and zero belong together, if they fit; what does not is the
 * business of whoever runs the graph. Entries are those of the slots; info->
 * scale and zero_point are not set. zero may be NULL.
 */
bool tpi_onnx_expansion_fits(const struct tpi_onnx_expansion *x,
    const struct tp_entry *w, const struct tp_entry *scale,
    const struct tp_entry *zero, struct tp_quant_info *info);

#endif
