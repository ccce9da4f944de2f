/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/layout.h - the order of elements in memory, and copies in another one
 *
 * Axes keep their meaning: an image batch is [N, C, H, W] in every layout, and
 * channels-last says only that C moves fastest in memory.
 */
#ifndef TP_LAYOUT_H
#define TP_LAYOUT_H

#include "tp/convert.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

enum tp_layout {
	TP_LAYOUT_CONTIGUOUS,	    /* row-major */
	TP_LAYOUT_CHANNELS_LAST,    /* rank 4: as [N, H, W, C] */
	TP_LAYOUT_CHANNELS_LAST_3D, /* rank 5: as [N, D, H, W, C] */
	TP_LAYOUT_PRESERVE,	    /* to ask for: that of the original */
	TP_LAYOUT_OTHER,	    /* in answers: none of the above */
};

/* "contiguous", "channels-last", … */
TP_API const char *tp_layout_name(enum tp_layout layout);

/* What the strides say. A tensor that fits several has the first of them. */
TP_API enum tp_layout tp_tensor_layout(const struct tp_tensor *t);

/* Strides that put axes of these sizes into a layout. TP_EARG: wrong rank. */
TP_API TP_NODISCARD enum tp_status tp_layout_strides(enum tp_layout layout,
    const int64_t *sizes, unsigned rank, int64_t *strides, struct tp_err *err);

/*
 * A copy with a storage of its own and version 0. PRESERVE keeps the strides of
 * a tensor that is dense, that is without gaps and overlaps, so that the clone
 * of a transpose is a transpose; any other becomes row-major. A quantizer is
 * shared with the original.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_clone(const struct tp_tensor *t,
    enum tp_layout layout, struct tp_tensor **out, struct tp_err *err);

/*
 * Write the elements of `from`, broadcast and converted, into those of t, and
 * count it as one write. Both may lie in the same storage only if they do not
 * overlap. TP_EARG as tp_tensor_check_write; statuses of tp_convert, which
 * leave t half written.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_assign(struct tp_tensor *t,
    const struct tp_tensor *from, enum tp_overflow overflow,
    struct tp_err *err);

#endif
