/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/quant.h - integers that stand for real numbers
 *
 *	real = (stored - zero_point) * scale
 *
 *  1. Describe the parameters in a struct tp_quant_params; tp_quantize makes an
 *     integer tensor of a real one with them, tp_tensor_set_quantizer gives
 *     them to integers that exist already.
 *  2. Views carry the quantizer along: a slice of channels has their scales, a
 *     transpose keeps each channel with its own. What cannot be carried (blocks
 *     under a slice) is refused.
 *  3. tp_dequantize gives real numbers, tp_int_repr the integers alone.
 *
 * Scales and zero points are tensors, each with a dtype of its own; they are
 * shared, not copied. A quantizer is never changed once it is made.
 */
#ifndef TP_QUANT_H
#define TP_QUANT_H

#include <stdint.h>

#include "tp/convert.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

enum tp_quant_scheme {
	TP_QUANT_SYMMETRIC,  /* zero is stored as 0; there is no zero point */
	TP_QUANT_ASYMMETRIC, /* zero is stored as the zero point */
};

/* One scale for the tensor, for each index of an axis, for each run of it. */
enum tp_quant_per { TP_PER_TENSOR, TP_PER_CHANNEL, TP_PER_BLOCK };

/* "tensor", "channel", "block" */
TP_API const char *tp_quant_per_name(enum tp_quant_per per);

/*
 * scale has one element (TENSOR), shape [C] where C is the size of axis
 * (CHANNEL), or the tensor's shape with ceil(size / block) along axis (BLOCK).
 * zero_point has the same shape, or is NULL.
 */
struct tp_quant_params {
	enum tp_quant_scheme scheme;
	enum tp_quant_per per;
	unsigned axis;
	uint64_t block;
	const struct tp_tensor *scale;	    /* f16, bf16, f32 or f64 */
	const struct tp_tensor *zero_point; /* integer */
};

/*
 * Give integers their meaning. TP_EARG when shapes or dtypes do not fit; t is
 * unchanged then. NULL takes the meaning away.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_set_quantizer(struct tp_tensor *t,
    const struct tp_quant_params *params, struct tp_err *err);

TP_API bool tp_tensor_is_quantized(const struct tp_tensor *t);

/*
 * The parameters as they belong to t: scale and zero_point are borrowed until t
 * is freed and, but for blocks, broadcast to the shape of t. per and axis are
 * what they are for this view: one channel of many has TP_PER_TENSOR. TP_EARG
 * when t is not quantized.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_quant_params(
    const struct tp_tensor *t, struct tp_quant_params *out, struct tp_err *err);

/* The integers as a plain tensor over the same storage. */
TP_API TP_NODISCARD enum tp_status tp_int_repr(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err);

/*
 * A new row-major tensor of real numbers: (stored - zero_point) * scale, worked
 * out in double and rounded once to dtype (f16, bf16, f32, f64).
 */
TP_API TP_NODISCARD enum tp_status tp_dequantize(const struct tp_tensor *t,
    enum tp_dtype dtype, struct tp_tensor **out, struct tp_err *err);

/*
 * A new row-major tensor of integers: real / scale rounded to nearest even,
 * plus the zero point, saturated to dtype (u2 … i32). The quotient is worked
 * out in f32 when real and scale are, as ONNX does, else in double. stats (may
 * be NULL) counts what was saturated as overflow. NaN is TP_ERANGE.
 */
TP_API TP_NODISCARD enum tp_status tp_quantize(const struct tp_tensor *real,
    const struct tp_quant_params *params, enum tp_dtype dtype,
    struct tp_tensor **out, struct tp_cast_stats *stats, struct tp_err *err);

/* To other parameters, by way of f64. */
TP_API TP_NODISCARD enum tp_status tp_requantize(const struct tp_tensor *t,
    const struct tp_quant_params *params, enum tp_dtype dtype,
    struct tp_tensor **out, struct tp_err *err);

#endif
