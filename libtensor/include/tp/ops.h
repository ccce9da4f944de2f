/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/ops.h - computing with tensors
 *
 *	rc = tp_matmul(x, w, &h, &err);
 *	if (!rc)
 *		rc = tp_tanh(h, &y, &err);
 *
 * Every function makes a new tensor in *out and leaves its inputs as they are;
 * names that end in _ write into their first argument instead, which counts as
 * one write (tp_tensor_version). Shapes broadcast by NumPy's rules; operands
 * have one dtype. Numbers are those of the reference operators (tp/op.h).
 *
 * What these functions make of a tensor that requires gradients knows how to
 * hand them back (tp/autograd.h), and inside tp_vmap they see one example of
 * many (tp/vmap.h). The views of tp/view.h know neither: tp_transpose and those
 * that follow it here are the same views with a history.
 *
 * Statuses: TP_EARG for shapes, axes and dtypes that do not fit and for writes
 * that are not allowed, TP_EUNSUPPORTED for a dtype without a kernel. Axes may
 * be negative: -1 is the last.
 */
#ifndef TP_OPS_H
#define TP_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

/* A tensor of rank 0. TP_ERANGE: the dtype does not hold the value. */
TP_API TP_NODISCARD enum tp_status tp_scalar(const struct tp_alloc *alloc,
    enum tp_dtype dtype, double value, struct tp_tensor **out,
    struct tp_err *err);

/* Of each element; NaN stays NaN. */
TP_API TP_NODISCARD enum tp_status tp_exp(
    const struct tp_tensor *x, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_log(
    const struct tp_tensor *x, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_tanh(
    const struct tp_tensor *x, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_relu(
    const struct tp_tensor *x, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_sigmoid(
    const struct tp_tensor *x, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_sqrt(
    const struct tp_tensor *x, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_neg(
    const struct tp_tensor *x, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_abs(
    const struct tp_tensor *x, struct tp_tensor **out, struct tp_err *err);

/* The same in place. */
TP_API TP_NODISCARD enum tp_status tp_exp_(
    struct tp_tensor *x, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_log_(
    struct tp_tensor *x, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_tanh_(
    struct tp_tensor *x, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_relu_(
    struct tp_tensor *x, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_sigmoid_(
    struct tp_tensor *x, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_sqrt_(
    struct tp_tensor *x, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_neg_(
    struct tp_tensor *x, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_abs_(
    struct tp_tensor *x, struct tp_err *err);

/*
 * Of each pair of elements. Integers wrap; division of integers is cut towards
 * zero, and by zero gives 0. pow wants exponents of the dtype of a.
 */
TP_API TP_NODISCARD enum tp_status tp_add(const struct tp_tensor *a,
    const struct tp_tensor *b, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_sub(const struct tp_tensor *a,
    const struct tp_tensor *b, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_mul(const struct tp_tensor *a,
    const struct tp_tensor *b, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_div(const struct tp_tensor *a,
    const struct tp_tensor *b, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_pow(const struct tp_tensor *a,
    const struct tp_tensor *b, struct tp_tensor **out, struct tp_err *err);

/* The same in place of a, to whose shape b broadcasts. */
TP_API TP_NODISCARD enum tp_status tp_add_(
    struct tp_tensor *a, const struct tp_tensor *b, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_sub_(
    struct tp_tensor *a, const struct tp_tensor *b, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_mul_(
    struct tp_tensor *a, const struct tp_tensor *b, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_div_(
    struct tp_tensor *a, const struct tp_tensor *b, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_pow_(
    struct tp_tensor *a, const struct tp_tensor *b, struct tp_err *err);

/*
 * Over n_axes axes; over all of them if axes is NULL. keepdims leaves them in
 * the shape with size 1. The largest of nothing is -infinity, or the least
 * integer; the mean of nothing is NaN, or 0.
 */
TP_API TP_NODISCARD enum tp_status tp_sum(const struct tp_tensor *x,
    const int *axes, unsigned n_axes, bool keepdims, struct tp_tensor **out,
    struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_mean(const struct tp_tensor *x,
    const int *axes, unsigned n_axes, bool keepdims, struct tp_tensor **out,
    struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_max(const struct tp_tensor *x,
    const int *axes, unsigned n_axes, bool keepdims, struct tp_tensor **out,
    struct tp_err *err);

/*
 * Matrices are the last two axes, the others broadcast. A vector on the left is
 * a row, one on the right a column, and that axis is dropped from the result.
 */
TP_API TP_NODISCARD enum tp_status tp_matmul(const struct tp_tensor *a,
    const struct tp_tensor *b, struct tp_tensor **out, struct tp_err *err);

TP_API TP_NODISCARD enum tp_status tp_softmax(const struct tp_tensor *x,
    int axis, struct tp_tensor **out, struct tp_err *err);

/*
 * (x - mean) / sqrt(variance + epsilon) * scale + bias, over the axes from
 * `axis` on. scale and bias may be NULL, and broadcast to x.
 */
TP_API TP_NODISCARD enum tp_status tp_layer_norm(const struct tp_tensor *x,
    int axis, const struct tp_tensor *scale, const struct tp_tensor *bias,
    double epsilon, struct tp_tensor **out, struct tp_err *err);

/* Views, as the functions of tp/view.h with tensor_ in their names. */
TP_API TP_NODISCARD enum tp_status tp_transpose(const struct tp_tensor *x,
    int axis0, int axis1, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_permute(const struct tp_tensor *x,
    const int *axes, unsigned n_axes, struct tp_tensor **out,
    struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_slice(const struct tp_tensor *x, int axis,
    int64_t start, int64_t stop, int64_t step, struct tp_tensor **out,
    struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_select(const struct tp_tensor *x,
    int axis, int64_t index, struct tp_tensor **out, struct tp_err *err);
TP_API TP_NODISCARD enum tp_status tp_expand(const struct tp_tensor *x,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err);
/* A view where strides can express it, else a copy. One size may be -1. */
TP_API TP_NODISCARD enum tp_status tp_reshape(const struct tp_tensor *x,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err);

#endif
