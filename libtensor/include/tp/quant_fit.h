/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/quant_fit.h - choose scales for a tensor that is seen in pieces, and store
 *
 *  1. Pick a scheme; tp_quant_groups_init says which elements share a scale.
 *  2. First pass: tp_quant_range_add for each piece, in any order.
 *  3. tp_quant_fit for each group: a scale and a zero point.
 *  4. Second pass: tp_quant_store makes codes, tp_quant_load gives the numbers
 *     that they stand for; tp/compare.h tells how far off those are.
 *
 * Elements are f32 (the narrower floats are that exactly). code * scale is
 * rounded once to f32, x / scale too, as ONNX does; codes are rounded to
 * nearest even. Zero always has a code of its own. What is computed depends
 * neither on the pieces nor on the machine.
 *
 * Functions look at groups first_group … only, whose values lie at the
 * beginning of the arrays they are given. Nothing allocates.
 */
#ifndef TP_QUANT_FIT_H
#define TP_QUANT_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/quant.h"

/*
 * ---- schemes ----
 */

struct tp_scheme {
	const char *name;
	enum tp_dtype dtype; /* of the codes */
	int lowest, highest; /* codes of asymmetric use */
	bool symmetric;	     /* by default */
	enum tp_quant_per per;
	uint64_t block; /* not 0: all this is fixed */
	/* Of the scale; TP_DTYPE_NONE: a cast to dtype, there is no scale. */
	enum tp_dtype scale;
	bool signed_scale; /* takes the sign of the largest value */
};

/* In the order of quant/schemes.def; NULL past the last. */
TP_API const struct tp_scheme *tp_scheme_at(size_t i);
TP_API const struct tp_scheme *tp_scheme_find(const char *name);

/* A scheme in use: which codes there are, and which of them is zero. */
struct tp_quant_grid {
	int lowest, highest;
	/* The zero point if symmetric: 0, or the middle code if unsigned. */
	int zero;
	bool symmetric;
	bool is_signed;
	bool signed_scale;
	enum tp_dtype scale; /* f32 or f16 */
};

TP_API struct tp_quant_grid tp_quant_grid_of(
    const struct tp_scheme *scheme, bool symmetric);

/*
 * ---- groups ----
 */

/*
 * Elements in row-major order are [outer][size][inner]; the axis is the middle
 * one, and `block` indices of it share a scale (size of them: one scale for
 * all; 1: each its own).
 */
struct tp_quant_groups {
	uint64_t outer, size, inner, block;
	uint64_t n_blocks; /* along the axis */
	uint64_t n_elems, n_groups;
};

/* TP_EARG when there is no such axis or block. */
TP_API TP_NODISCARD enum tp_status tp_quant_groups_init(
    struct tp_quant_groups *g, const int64_t *shape, unsigned rank,
    enum tp_quant_per per, unsigned axis, uint64_t block, struct tp_err *err);

/* The group of an element. */
TP_API uint64_t tp_quant_group_of(
    const struct tp_quant_groups *g, uint64_t elem);

/*
 * ---- first pass ----
 */

/*
 * Widen low[i] … high[i] (0 … 0 to begin with: zero always has a code) of each
 * group by the n elements from number `first` on. Returns n, or the place in x
 * of the first value that is NaN or infinite; the ranges are of no use then.
 */
TP_API size_t tp_quant_range_add(const struct tp_quant_groups *g,
    uint64_t first_group, uint64_t first, const float *x, size_t n, float *low,
    float *high);

/*
 * The scale, which is never 0, and the zero point for values low … high:
 * (high - low) / (highest - lowest) rounded to the scale's dtype, or what is
 * next to it where codes would not come back as themselves when their numbers
 * are quantized again. 1 for low = high = 0, and where a scale of f16 cannot be
 * as small as the values would need it to have another code than zero.
 */
TP_API void tp_quant_fit(const struct tp_quant_grid *grid, float low,
    float high, float *scale, int16_t *zero);

/* Ranges that a search over the scale tries: i / TP_QUANT_TRIES of the whole,
 * i from TP_QUANT_TRIES down. */
#define TP_QUANT_TRIES 40
TP_API float tp_quant_try(unsigned i);

/*
 * Add the squared error of the elements to error[i], for each group, had it the
 * scale and zero point given.
 */
TP_API void tp_quant_misfit_add(const struct tp_quant_groups *g,
    const struct tp_quant_grid *grid, uint64_t first_group, uint64_t first,
    const float *x, size_t n, const float *scale, const int16_t *zero,
    double *error);

/*
 * ---- second pass ----
 */

/*
 * codes[i] for x[i], which are finite; unsigned codes as the same 8 bits.
 * Returns how many were beyond the lowest or highest code.
 */
TP_API uint64_t tp_quant_store(const struct tp_quant_groups *g,
    const struct tp_quant_grid *grid, uint64_t first_group, uint64_t first,
    const float *x, size_t n, const float *scale, const int16_t *zero,
    int8_t *codes);

/* What codes stand for. */
TP_API void tp_quant_load(const struct tp_quant_groups *g, bool is_signed,
    uint64_t first_group, uint64_t first, const int8_t *codes, size_t n,
    const float *scale, const int16_t *zero, float *x);

/* Codes of 4 bits, two to a byte, the first in the low bits. */
TP_API void tp_quant_pack(const int8_t *codes, size_t n, uint8_t *out);

#endif
