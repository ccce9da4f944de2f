/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - the functions of tp/ops.h: arguments in, tpi_apply does the rest */
#include "tp/ops.h"
#include "tp/shape.h"

#include "tp/convert.h"

#include "fn.h"
#include "tensor.h"

#include "banned.h"

enum tp_status
tp_scalar(const struct tp_alloc *alloc, enum tp_dtype dtype, double value,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *t = NULL;
	enum tp_status rc = tp_tensor_empty(alloc, dtype, NULL, 0, &t, err);

	*out = NULL;
	if (!rc)
		rc = tp_convert(dtype, tp_tensor_data_mut(t), TP_DTYPE_F64,
		    &value, 1, TP_OVERFLOW_ERROR, 0, NULL, err);
	if (rc)
		tp_tensor_free(t);
	else
		*out = t;
	return rc;
}

static const struct tpi_args no_args;

#define DEFINE(name)                                                         \
	enum tp_status tp_##name(const struct tp_tensor *x,                  \
	    struct tp_tensor **out, struct tp_err *err)                      \
	{                                                                    \
		return tpi_apply(                                            \
		    &tpi_fn_##name, &no_args, &x, 1, NULL, out, err);        \
	}                                                                    \
	enum tp_status tp_##name##_(struct tp_tensor *x, struct tp_err *err) \
	{                                                                    \
		const struct tp_tensor *in[] = {x};                          \
                                                                             \
		return tpi_apply(                                            \
		    &tpi_fn_##name, &no_args, in, 1, x, NULL, err);          \
	}
DEFINE(exp)
DEFINE(log)
DEFINE(tanh)
DEFINE(relu)
DEFINE(sigmoid)
DEFINE(sqrt)
DEFINE(neg)
DEFINE(abs)
#undef DEFINE

#define DEFINE(name)                                                  \
	enum tp_status tp_##name(const struct tp_tensor *a,           \
	    const struct tp_tensor *b, struct tp_tensor **out,        \
	    struct tp_err *err)                                       \
	{                                                             \
		const struct tp_tensor *in[] = {a, b};                \
                                                                      \
		return tpi_apply(                                     \
		    &tpi_fn_##name, &no_args, in, 2, NULL, out, err); \
	}                                                             \
	enum tp_status tp_##name##_(struct tp_tensor *a,              \
	    const struct tp_tensor *b, struct tp_err *err)            \
	{                                                             \
		const struct tp_tensor *in[] = {a, b};                \
                                                                      \
		return tpi_apply(                                     \
		    &tpi_fn_##name, &no_args, in, 2, a, NULL, err);   \
	}
DEFINE(add)
DEFINE(sub)
DEFINE(mul)
DEFINE(div)
DEFINE(pow)
#undef DEFINE

enum tp_status
tp_matmul(const struct tp_tensor *a, const struct tp_tensor *b,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_tensor *in[] = {a, b};

	return tpi_apply(&tpi_fn_matmul, &no_args, in, 2, NULL, out, err);
}

/* Axes as numbers from the front, which no function has to do again. */
static enum tp_status
take_axes(unsigned rank, const int *axes, unsigned n, int64_t *list,
    struct tp_err *err)
{
	bool seen[TP_MAX_RANK] = {false};

	if (n > rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%u axes of a tensor of rank %u", n, rank);
	for (unsigned i = 0; i < n; i++) {
		int axis = axes[i] < 0 ? axes[i] + (int)rank : axes[i];

		if (axis < 0 || axis >= (int)rank)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "axis %d of a tensor of rank %u", axes[i], rank);
		if (seen[axis])
			return tp_fail(
			    err, TP_EARG, TP_NO_OFFSET, "axis %d twice", axis);
		seen[axis] = true;
		list[i] = axis;
	}
	return TP_OK;
}

static enum tp_status
reduce(const struct tpi_fn *fn, const struct tp_tensor *x, const int *axes,
    unsigned n_axes, bool keepdims, struct tp_tensor **out, struct tp_err *err)
{
	int64_t list[TP_MAX_RANK];
	struct tpi_args args = {.keepdims = keepdims, .list = list};
	enum tp_status rc = TP_OK;

	*out = NULL;
	args.n = axes ? n_axes : x->rank;
	for (unsigned d = 0; d < x->rank && !axes; d++)
		list[d] = d;
	if (axes)
		rc = take_axes(x->rank, axes, n_axes, list, err);
	return rc ? rc : tpi_apply(fn, &args, &x, 1, NULL, out, err);
}

#define DEFINE(name)                                                         \
	enum tp_status tp_##name(const struct tp_tensor *x, const int *axes, \
	    unsigned n_axes, bool keepdims, struct tp_tensor **out,          \
	    struct tp_err *err)                                              \
	{                                                                    \
		return reduce(                                               \
		    &tpi_fn_##name, x, axes, n_axes, keepdims, out, err);    \
	}
DEFINE(sum)
DEFINE(mean)
DEFINE(max)
#undef DEFINE

/* Call a function that has one axis. */
static enum tp_status
apply_axis(const struct tpi_fn *fn, struct tpi_args *args, int axis,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor **out,
    struct tp_err *err)
{
	int64_t found = 0;
	enum tp_status rc = take_axes(in[0]->rank, &axis, 1, &found, err);

	*out = NULL;
	args->axis = (int)found;
	return rc ? rc : tpi_apply(fn, args, in, n_in, NULL, out, err);
}

enum tp_status
tp_softmax(const struct tp_tensor *x, int axis, struct tp_tensor **out,
    struct tp_err *err)
{
	struct tpi_args args = {.axis = 0};

	return apply_axis(&tpi_fn_softmax, &args, axis, &x, 1, out, err);
}

enum tp_status
tp_layer_norm(const struct tp_tensor *x, int axis,
    const struct tp_tensor *scale, const struct tp_tensor *bias, double epsilon,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_tensor *in[] = {x, scale, bias};
	struct tpi_args args = {.epsilon = epsilon};

	return apply_axis(&tpi_fn_layer_norm, &args, axis, in, 3, out, err);
}

enum tp_status
tp_permute(const struct tp_tensor *x, const int *axes, unsigned n_axes,
    struct tp_tensor **out, struct tp_err *err)
{
	int64_t list[TP_MAX_RANK];
	struct tpi_args args = {.n = n_axes, .list = list};
	enum tp_status rc = TP_OK;

	*out = NULL;
	if (n_axes != x->rank)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%u axes for a tensor of rank %u", n_axes, x->rank);
	if (!rc)
		rc = take_axes(x->rank, axes, n_axes, list, err);
	return rc ? rc
		  : tpi_apply(&tpi_fn_permute, &args, &x, 1, NULL, out, err);
}

enum tp_status
tp_transpose(const struct tp_tensor *x, int axis0, int axis1,
    struct tp_tensor **out, struct tp_err *err)
{
	int64_t a = 0, b = 0;
	int axes[TP_MAX_RANK];
	enum tp_status rc = take_axes(x->rank, &axis0, 1, &a, err);

	*out = NULL;
	if (!rc)
		rc = take_axes(x->rank, &axis1, 1, &b, err);
	for (unsigned d = 0; d < x->rank; d++)
		axes[d] = (int)(d == a ? b : d == b ? a : d);
	return rc ? rc : tp_permute(x, axes, x->rank, out, err);
}

enum tp_status
tp_slice(const struct tp_tensor *x, int axis, int64_t start, int64_t stop,
    int64_t step, struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_args args = {.start = start, .stop = stop, .step = step};

	return apply_axis(&tpi_fn_slice, &args, axis, &x, 1, out, err);
}

enum tp_status
tp_select(const struct tp_tensor *x, int axis, int64_t index,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_args args = {.start = index};

	return apply_axis(&tpi_fn_select, &args, axis, &x, 1, out, err);
}

enum tp_status
tp_expand(const struct tp_tensor *x, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tpi_args args = {.n = rank, .list = sizes};

	return tpi_apply(&tpi_fn_expand, &args, &x, 1, NULL, out, err);
}

enum tp_status
tp_reshape(const struct tp_tensor *x, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tpi_args args = {.n = rank, .list = sizes};

	return tpi_apply(&tpi_fn_reshape, &args, &x, 1, NULL, out, err);
}
