/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.h - one value of any real dtype, exactly
 *
 * Every integer and every float of the dtypes is mag * 2^exp with 64 bits of
 * mag, so converting through a tpi_number rounds once, where it is encoded.
 */
#ifndef TPI_NUMBER_H
#define TPI_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/convert.h"
#include "tp/dtype.h"

#include "decimal.h"

enum tpi_class {
	TPI_FINITE, /* value is (neg ? -1 : 1) * mag * 2^exp; zero has mag 0 */
	TPI_INF,
	TPI_NAN, /* mag is the payload, its leading bit the highest */
};

struct tpi_number {
	uint64_t mag;
	int32_t exp;
	uint8_t class;
	bool neg;
};

/* What encoding did to a number. */
enum tpi_outcome {
	TPI_INEXACT = 1,
	TPI_TO_ZERO = 2,
	TPI_TO_SUBNORMAL = 4,
	TPI_OVERFLOW = 8,
	TPI_NO_CODE = 16, /* neither the value nor what policy says exists */
};

/*
 * n numbers out of packed elements from element `first` on; n codes into packed
 * elements from byte 0 of dst on, the last byte filled up with zero bits.
 */
typedef void tpi_decode_fn(
    const void *src, size_t first, size_t n, struct tpi_number *out);
typedef void tpi_encode_fn(void *dst, size_t n, const struct tpi_number *in,
    enum tp_overflow overflow, uint8_t *outcomes);

/* NULL for complex numbers and strings. */
extern tpi_decode_fn *const tpi_decoders[TP_DTYPE_COUNT];
extern tpi_encode_fn *const tpi_encoders[TP_DTYPE_COUNT];

/* The nearest double, infinite beyond the largest. */
double tpi_number_to_f64(struct tpi_number x);

/* A finite value of a float dtype with what its neighbours tell. */
struct tpi_float tpi_number_float(enum tp_dtype dtype, struct tpi_number x);

/* The dtype of the parts of a complex dtype; any other dtype itself. */
enum tp_dtype tpi_part_dtype(enum tp_dtype dtype);

#endif
