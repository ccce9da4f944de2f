/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/view.h - other windows of the same storage
 *
 * Each function makes a new tensor over the storage of `t` and moves no byte;
 * t stays as it was, both are freed separately and either may go first. Axes
 * count from 0, or from the end when negative: -1 is the last. Wrong axes,
 * sizes and indices are TP_EARG with a message that names them.
 *
 * A view of quantized numbers keeps the scale of each element; where that is
 * not possible (blocks, channels that a reshape mixes) it is TP_EUNSUPPORTED.
 */
#ifndef TP_VIEW_H
#define TP_VIEW_H

#include <stdint.h>

#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

/* An omitted start or stop of a slice. */
#define TP_OMIT INT64_MIN

/*
 * t[..., start:stop:step, ...] as in Python: negative start and stop count from
 * the end, both are clamped, step may be negative but not 0, and an omitted
 * bound is the end that step comes from or goes to.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_slice(const struct tp_tensor *t,
    int axis, int64_t start, int64_t stop, int64_t step, struct tp_tensor **out,
    struct tp_err *err);

/* The bounds of such a slice of an axis: its first index and its size. */
TP_API void tp_slice_clamp(int64_t size, int64_t start, int64_t stop,
    int64_t step, int64_t *first, int64_t *count);

/* length elements of an axis from start on; nothing is clamped. */
TP_API TP_NODISCARD enum tp_status tp_tensor_narrow(const struct tp_tensor *t,
    int axis, int64_t start, int64_t length, struct tp_tensor **out,
    struct tp_err *err);

/* t[..., index, ...]: the axis goes. index may be negative. */
TP_API TP_NODISCARD enum tp_status tp_tensor_select(const struct tp_tensor *t,
    int axis, int64_t index, struct tp_tensor **out, struct tp_err *err);

TP_API TP_NODISCARD enum tp_status tp_tensor_transpose(
    const struct tp_tensor *t, int axis0, int axis1, struct tp_tensor **out,
    struct tp_err *err);

/* Axis d of the result is axes[d] of t. n_axes is the rank of t. */
TP_API TP_NODISCARD enum tp_status tp_tensor_permute(const struct tp_tensor *t,
    const int *axes, unsigned n_axes, struct tp_tensor **out,
    struct tp_err *err);

/* An axis backwards. */
TP_API TP_NODISCARD enum tp_status tp_tensor_flip(const struct tp_tensor *t,
    int axis, struct tp_tensor **out, struct tp_err *err);

/*
 * The same elements in row-major order under another shape. One size may be -1
 * and is worked out. TP_EUNSUPPORTED when strides cannot express it:
 * tp_tensor_contiguous first, then it is possible.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_reshape(const struct tp_tensor *t,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err);

/*
 * Axes of size 1 repeated to `sizes`, and new ones in front. -1 keeps the size
 * of an axis that t has.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_expand(const struct tp_tensor *t,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err);

/* Drop an axis of size 1; put one in, so that it is number `axis` then. */
TP_API TP_NODISCARD enum tp_status tp_tensor_squeeze(const struct tp_tensor *t,
    int axis, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_tensor_unsqueeze(
    const struct tp_tensor *t, int axis, struct tp_tensor **out,
    struct tp_err *err);

/*
 * Windows of `size` elements, `step` apart, along an axis: it becomes the
 * number of windows, and a last axis of `size` is added.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_unfold(const struct tp_tensor *t,
    int axis, int64_t size, int64_t step, struct tp_tensor **out,
    struct tp_err *err);

/*
 * Any sizes and strides over the storage of t. first TP_SAME_FIRST is that of
 * t. TP_EARG when an element would lie outside the storage. On a device that is
 * not addressed by strides the result is a packed copy.
 */
#define TP_SAME_FIRST UINT64_MAX
TP_API TP_NODISCARD enum tp_status tp_tensor_as_strided(
    const struct tp_tensor *t, const int64_t *sizes, const int64_t *strides,
    unsigned rank, uint64_t first, struct tp_tensor **out, struct tp_err *err);

#endif
