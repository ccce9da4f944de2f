/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/broadcast.h - shapes that fit each other, by NumPy's rules
 *
 * Shapes are aligned at their last axes. Along each axis the sizes must be
 * equal or 1; a size of 1 is repeated, and so is an axis that a shorter shape
 * lacks. An axis of 0 stays 0 against 1.
 */
#ifndef TP_BROADCAST_H
#define TP_BROADCAST_H

#include <stdint.h>

#include "tp/error.h"
#include "tp/macros.h"
#include "tp/shape.h"

struct tp_shape_ref {
	const int64_t *sizes;
	unsigned rank;
};

/*
 * The common shape of n >= 1 shapes, into sizes (room for TP_MAX_RANK) and
 * *rank. TP_EARG names the axis of the result and both sizes.
 */
TP_API TP_NODISCARD enum tp_status tp_broadcast_shape(
    const struct tp_shape_ref *shapes, unsigned n, int64_t *sizes,
    unsigned *rank, struct tp_err *err);

/*
 * Strides that walk an operand in the common shape: those of the operand, 0
 * along axes that are repeated. `from` must be one of the shapes that made it.
 */
TP_API void tp_broadcast_strides(struct tp_shape_ref from,
    const int64_t *strides, struct tp_shape_ref to, int64_t *out);

#endif
