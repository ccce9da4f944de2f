/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/autograd.h - gradients, in reverse mode
 *
 *  1. tp_tensor_set_requires_grad(x, true, …) on what is to be learned.
 *  2. Compute with tp/ops.h; results remember how they came about.
 *  3. tp_backward(loss, NULL, …) adds to tp_tensor_grad of every such x.
 *  4. Update x inside tp_no_grad_begin … end; tp_tensor_clear_grad(x).
 *
 * A history belongs to the handle: other handles on the same elements
 * (tp_tensor_alias, tp/view.h) have none. It keeps what it needs alive, x may
 * be freed before; it goes when the last tensor that leads to it does. Backward
 * can be run again on the same history.
 *
 * Elements that a gradient depends on must not be written in between. If they
 * were, backward fails and says which operation needed them; a tensor whose
 * elements were changed behind its history is refused as an input.
 *
 * A history may be built by several threads, each with tensors of its own, but
 * one thread at a time runs backward through the same nodes.
 */
#ifndef TP_AUTOGRAD_H
#define TP_AUTOGRAD_H

#include <stdbool.h>
#include <stddef.h>

#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

/*
 * Make a tensor one for which gradients are collected, or no longer. TP_EARG:
 * it is not a float, or the result of a computation, which cannot be turned
 * off (tp_tensor_detach can).
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_set_requires_grad(
    struct tp_tensor *t, bool on, struct tp_err *err);
/* True for those tensors and for all that was computed from them. */
TP_API bool tp_tensor_requires_grad(const struct tp_tensor *t);

/*
 * What backward added up so far: borrowed, NULL when nothing. Backward writes
 * into it, so a clone keeps the numbers.
 */
TP_API struct tp_tensor *tp_tensor_grad(const struct tp_tensor *t);
TP_API void tp_tensor_clear_grad(struct tp_tensor *t);

/* Another handle on the same elements, without history. */
TP_API TP_NODISCARD enum tp_status tp_tensor_detach(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err);

/*
 * Between these, on this thread, nothing is recorded. They nest; begin returns
 * what end wants.
 */
TP_API bool tp_no_grad_begin(void);
TP_API void tp_no_grad_end(bool before);

/*
 * Add the gradients of y to every tensor that it was computed from and that
 * requires them. grad is that of y itself, of its shape and dtype; NULL means 1
 * and wants a y of one element.
 */
TP_API TP_NODISCARD enum tp_status tp_backward(const struct tp_tensor *y,
    const struct tp_tensor *grad, struct tp_err *err);

/*
 * The gradients of the sum of n_out outputs with respect to n_in inputs, which
 * may be results themselves. out_grads or any of it may be NULL as above.
 * grads[i] is a new tensor, NULL if no output depends on input i. Nothing is
 * added to tp_tensor_grad. After a failure all of grads is NULL.
 */
TP_API TP_NODISCARD enum tp_status tp_grad(
    const struct tp_tensor *const *outputs,
    const struct tp_tensor *const *out_grads, size_t n_out,
    const struct tp_tensor *const *inputs, size_t n_in,
    struct tp_tensor **grads, struct tp_err *err);

/* A function of tensors, for tp_gradcheck: *out is a new tensor. */
typedef enum tp_status tp_tensor_fn(void *ctx,
    const struct tp_tensor *const *inputs, size_t n_inputs,
    struct tp_tensor **out, struct tp_err *err);

/*
 * Compare the gradients of fn at f64 inputs with central differences. TP_OK:
 * they agree to 1e-5 of their size (or 1e-7). TP_EMISMATCH names the input, the
 * element and both numbers. fn is called often, and must give the same for the
 * same inputs.
 */
TP_API TP_NODISCARD enum tp_status tp_gradcheck(tp_tensor_fn *fn, void *ctx,
    const struct tp_tensor *const *inputs, size_t n_inputs, struct tp_err *err);

#endif
