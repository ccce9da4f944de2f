/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalize.h - rows brought to mean 0 and variance 1, then scaled and shifted
 *
 *	y = (x - mean) / (sqrt(variance + epsilon) + beside) * scale + bias
 *
 * LayerNormalization and its kind differ in what a row is.
 */
#ifndef TPI_OPS_NORMALIZE_H
#define TPI_OPS_NORMALIZE_H

#include "rows.h"

/*
 * All but y and x are f64 and may be absent. y and x are packed rows, scale and
 * bias too or the same for all of a row.
 */
enum {
	TPI_NORM_Y,
	TPI_NORM_MEAN,
	TPI_NORM_INVERSE, /* of what is divided by */
	TPI_NORM_VARIANCE,
	TPI_NORM_X,
	TPI_NORM_SCALE,
	TPI_NORM_BIAS,
	TPI_NORM_OPERANDS,
};

/* Kernels of rows.h for those operands and a struct tpi_normalize. */
extern tp_loop_fn *const tpi_normalize_kernels[TP_DTYPE_COUNT];

struct tpi_normalize {
	double epsilon, beside;
	bool is_centered; /* false: mean is taken for 0 */
	struct tp_tensor *operands[TPI_NORM_OPERANDS]; /* owned */
};

/* With the attribute epsilon, centered, without operands. */
struct tpi_normalize tpi_normalize_begin(const struct tpi_call *c);

/* x and y, which are of one dtype: their rows are the axes from `lead` on. */
enum tp_status tpi_normalize_flatten(struct tpi_normalize *job,
    const struct tp_tensor *x, const struct tp_tensor *y, unsigned lead,
    struct tp_err *err);

/* Rows along axis `lead` of the operands. */
enum tp_status tpi_normalize_rows(const struct tpi_call *c,
    const struct tpi_normalize *job, unsigned lead, struct tp_err *err);

/*
 * Brings y to out if rc is TP_OK, and frees the operands. Returns rc or what
 * went wrong now.
 */
enum tp_status tpi_normalize_end(struct tpi_normalize *job,
    struct tp_tensor *out, enum tp_status rc, struct tp_err *err);

#endif
