/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moves.h - what operators that move elements are made of
 *
 * Elements here are 1, 2, 4, 8 or 16 bytes: narrower ones arrive widened
 * (TPI_OP_MOVES), strings as their numbers. Threads split the output.
 */
#ifndef TPI_OPS_MOVES_H
#define TPI_OPS_MOVES_H

#include <stddef.h>
#include <stdint.h>

#include "../op.h"

/* Bytes of an element of t. */
size_t tpi_element_size(const struct tp_tensor *t);

/* n elements of that size, all like the one at element. */
void tpi_fill(void *dst, const void *element, size_t size, size_t n);

/* The elements of src, broadcast to the shape of dst, to those of dst. */
enum tp_status tpi_move(const struct tpi_call *c, struct tp_tensor *dst,
    const struct tp_tensor *src, struct tp_err *err);

/* A row-major tensor of t's elements in its dtype and another shape. */
enum tp_status tpi_pack_as(const struct tpi_call *c, const struct tp_tensor *t,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err);

/*
 * dst[i] = the element at src + offsets[i] bytes, or *filler where that is
 * TPI_NOWHERE; filler is NULL where none is.
 */
#define TPI_NOWHERE INT64_MIN
void tpi_take(char *dst, const char *src, const int64_t *offsets, size_t size,
    size_t n, const void *filler);

/*
 * Axis d of a result, each index of which is one of axis d of x: from[i], or
 * -1 for elements that are filled. from NULL: all of x's, in order.
 */
struct tpi_pick_axis {
	int64_t size;
	const int64_t *from;
};

/*
 * y[i, j, …] = x[axes[0].from[i], axes[1].from[j], …] with an axis of x each.
 * y is packed and has as many elements, under whatever shape.
 */
enum tp_status tpi_pick(const struct tpi_call *c, const struct tp_tensor *x,
    const struct tpi_pick_axis *axes, const void *filler, struct tp_tensor *y,
    struct tp_err *err);

/* One more axis for the shape of an output. */
enum tp_status tpi_push_size(const struct tpi_call *c, struct tpi_info *info,
    int64_t size, struct tp_err *err);

#endif
