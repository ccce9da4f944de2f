/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/vmap.h - a function of one example, run once for many
 *
 *	static enum tp_status
 *	score(void *ctx, const struct tp_tensor *const *in, size_t n_in,
 *	    struct tp_tensor **out, size_t n_out, struct tp_err *err)
 *	{
 *		return tp_matmul(in[0], in[1], &out[0], err);
 *	}
 *
 *	static const int in_axes[] = {0, TP_VMAP_NONE}, out_axes[] = {0};
 *
 *	rc = tp_vmap(score, NULL, in_axes, inputs, 2, out_axes, &y, 1, &err);
 *
 * Inside the function a tensor has the shape of one example and stands for all
 * of them; the functions of tp/ops.h know how to go on. Its elements cannot be
 * read there, nor viewed through tp/view.h, which sees the first example alone
 * and is refused. Histories pass through: gradients of what comes out reach
 * what went in, and the tensors that the function captured. Calls nest.
 */
#ifndef TP_VMAP_H
#define TP_VMAP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

/* An input that is the same for all examples. */
#define TP_VMAP_NONE INT_MIN

/* Makes n_outputs new tensors, or fails and makes none. */
typedef enum tp_status tp_vmap_fn(void *ctx,
    const struct tp_tensor *const *inputs, size_t n_inputs,
    struct tp_tensor **outputs, size_t n_outputs, struct tp_err *err);

/*
 * Call fn once. in_axes[k] is the axis of input k along which the examples lie,
 * or TP_VMAP_NONE; at least one has some, and all as many (TP_EARG). The
 * examples of output k are put along out_axes[k]; an output that does not
 * depend on them is repeated. The outputs are new tensors, NULL on failure.
 */
TP_API TP_NODISCARD enum tp_status tp_vmap(tp_vmap_fn *fn, void *ctx,
    const int *in_axes, const struct tp_tensor *const *inputs, size_t n_inputs,
    const int *out_axes, struct tp_tensor **outputs, size_t n_outputs,
    struct tp_err *err);

/* True inside tp_vmap for a tensor that stands for many. */
TP_API bool tp_tensor_is_batch(const struct tp_tensor *t);

#endif
