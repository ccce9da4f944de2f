/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk.h - operands in row-major order, a chunk of elements at a time
 *
 * For operators whose speed does not ask for a kernel by dtype: a chunk is
 * packed, whatever the strides, and its numbers can be had as doubles.
 */
#ifndef TPI_OPS_CHUNK_H
#define TPI_OPS_CHUNK_H

#include "tp/copy.h"

#include "../op.h"

/*
 * Elements: a multiple of 8, so that a chunk of any dtype begins on a byte, and
 * enough for tp_convert to make a table of narrow ones.
 */
#define TPI_CHUNK 1024

/* Room for a chunk of any dtype. */
union tpi_chunk {
	double f64[TPI_CHUNK];
	uint64_t u64[TPI_CHUNK];
	uint8_t bytes[TPI_CHUNK * 16];
};

/* fn(ctx, from, n): elements from … from + n - 1 of the output. */
typedef void tpi_chunk_fn(void *ctx, uint64_t from, size_t n);
void tpi_for_chunks(
    const struct tpi_call *c, uint64_t n_elems, tpi_chunk_fn *fn, void *ctx);

/* t as it broadcasts to the shape of y; strides has room for TP_MAX_RANK. */
struct tp_strided tpi_broadcast_to(
    const struct tp_tensor *t, const struct tp_tensor *y, int64_t *strides);

/* n elements of s from number `from` on, packed: where they lie, or in room. */
const void *tpi_chunk_read(
    const struct tp_strided *s, uint64_t from, size_t n, union tpi_chunk *room);

/* Where element `from` of a packed tensor begins. */
void *tpi_chunk_place(struct tp_tensor *t, uint64_t from);

/* Packed numbers as doubles and back, rounded once; not complex ones. */
void tpi_load_doubles(
    enum tp_dtype dtype, const void *src, size_t n, double *x);
void tpi_store_doubles(
    enum tp_dtype dtype, const double *x, size_t n, void *dst);

/*
 * The numbers of input k, as many as there is room for at most, in row-major
 * order; none if it is not given.
 */
enum tp_status tpi_numbers_input(const struct tpi_call *c, size_t k,
    double *list, size_t room, size_t *n, struct tp_err *err);
/* The one number of input k, or `otherwise` if that is not given. */
enum tp_status tpi_number_input(const struct tpi_call *c, size_t k,
    double otherwise, double *x, struct tp_err *err);

#endif
