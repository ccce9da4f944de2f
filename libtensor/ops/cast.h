/* SPDX-License-Identifier: Apache-2.0 */
/* cast.h - numbers from one dtype to another as ONNX's Cast has it */
#ifndef TPI_OPS_CAST_H
#define TPI_OPS_CAST_H

#include <stdbool.h>

#include "../op.h"

/* To f8e8m0, whose values are powers of two. */
enum tpi_scale_round {
	TPI_SCALE_UP, /* away from zero */
	TPI_SCALE_DOWN,
	TPI_SCALE_NEAREST, /* halfway is up */
};

struct tpi_cast {
	enum tp_dtype to; /* not a string */
	bool saturate;	  /* floats of up to 8 bits: largest, not NaN or inf */
	enum tpi_scale_round round;
	/*
	 * Floats become bf16 by dropping bits, as the data of ONNX has it for
	 * opsets below 19, whose text does not say; later they are rounded.
	 */
	bool cuts_bf16;
};

/* n packed numbers of dtype `from`; dst begins on a byte. No complex from. */
void tpi_cast_numbers(const struct tpi_cast *how, enum tp_dtype from,
    const void *src, size_t n, void *dst);

/* The same from doubles, which are used up. */
void tpi_cast_doubles(
    const struct tpi_cast *how, double *x, size_t n, void *dst);

/*
 * Strings of c->opts->strings from numbers and back, all of t into the packed
 * tensor y. What does not read as a number is TP_EARG.
 */
enum tp_status tpi_print_numbers(struct tpi_call *c, const struct tp_tensor *t,
    struct tp_tensor *y, struct tp_err *err);
enum tp_status tpi_parse_numbers(struct tpi_call *c, const struct tp_tensor *t,
    const struct tpi_cast *how, struct tp_tensor *y, struct tp_err *err);

#endif
