/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/shape.h - sizes and strides
 *
 * A shape is `rank` sizes, outermost axis first; rank 0 is a scalar with one
 * element. Sizes are int64_t and never negative. Strides count elements, may
 * be zero or negative, and belong to a shape of the same rank.
 */
#ifndef TP_SHAPE_H
#define TP_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/error.h"
#include "tp/macros.h"

#define TP_MAX_RANK 64

/*
 * The number of elements. The product is taken from the left and each step must
 * fit 63 bits, so [2^62, 4, 0] is TP_ELIMIT although it has no element; a
 * negative size is TP_EARG. The message names the axis.
 */
TP_API TP_NODISCARD enum tp_status tp_shape_numel(
    const int64_t *sizes, unsigned rank, uint64_t *n, struct tp_err *err);

/* Row-major strides. sizes must have passed tp_shape_numel. */
TP_API void tp_shape_strides(
    const int64_t *sizes, unsigned rank, int64_t *strides);

/*
 * True if the strides walk the elements in row-major order without gaps.
 * Strides of axes with one element do not matter; without elements all do.
 */
TP_API bool tp_shape_is_row_major(
    const int64_t *sizes, const int64_t *strides, unsigned rank);

/*
 * The range of elements touched, relative to the first: *low <= 0 <= *high, and
 * -*low fits too. Both 0 when the shape has no element. TP_ELIMIT when a
 * position does not fit.
 */
TP_API TP_NODISCARD enum tp_status tp_shape_extent(const int64_t *sizes,
    const int64_t *strides, unsigned rank, int64_t *low, int64_t *high,
    struct tp_err *err);

/*
 * "[2, 3]" into buf, which is returned; a shape that does not fit ends in
 * "...]".
 */
#define TP_SHAPE_TEXT_SIZE 128
TP_API const char *tp_shape_text(
    const int64_t *sizes, unsigned rank, char buf[TP_SHAPE_TEXT_SIZE]);
#define TP_SHAPE_TEXT(sizes, rank) \
	tp_shape_text((sizes), (rank), (char[TP_SHAPE_TEXT_SIZE]){0})

#endif
