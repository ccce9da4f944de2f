/* SPDX-License-Identifier: Apache-2.0 */
/* clip.c - Clip: numbers held between two bounds */
#include "elementwise.h"

#include <float.h>

#include "tp/convert.h"

#include "../tensor.h"

#include "../banned.h"

/* Each of the dtype of x. */
struct bounds {
	uint64_t low, high;
};

/* Where the bounds cross it is the upper one that holds. NaN stays NaN. */
#define CLIP(OP, ID, T, W, LOAD, STORE)                                     \
	TPI_INLINE T clip_one_##ID(T x, T low, T high)                      \
	{                                                                   \
		T y = LOAD(x) < LOAD(low) ? low : x;                        \
                                                                            \
		return LOAD(y) > LOAD(high) ? high : y;                     \
	}                                                                   \
	static void OP##_##ID(                                              \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)   \
	{                                                                   \
		const struct bounds *bounds = ctx;                          \
		const int64_t size = sizeof(T);                             \
		T *y = (T *)(void *)data[0];                                \
		const T *x = (const T *)(const void *)data[1];              \
		T low, high;                                                \
                                                                            \
		memcpy(&low, &bounds->low, sizeof(low));                    \
		memcpy(&high, &bounds->high, sizeof(high));                 \
		if (steps[0] == size && steps[1] == size)                   \
			for (size_t i = 0; i < n; i++)                      \
				y[i] = clip_one_##ID(x[i], low, high);      \
		else                                                        \
			for (size_t i = 0; i < n; i++)                      \
				*TPI_AT(T, data[0], steps[0], i) =          \
				    clip_one_##ID(*TPI_CONST_AT(T, data[1], \
						      steps[1], i),         \
					low, high);                         \
	}

TPI_TABLE_OF(clip, CLIP, TPI_FOREACH_ARITH);

static const struct tpi_attr_spec clip_attrs[] = {
    {"consumed_inputs", TP_ATTR_INTS},
    {"max", TP_ATTR_FLOAT},
    {"min", TP_ATTR_FLOAT},
    {NULL, 0},
};

/* A bound that no input gives; infinite is none, for integers too. */
static enum tp_status
set_bound(
    const struct tpi_call *c, double x, uint64_t *bound, struct tp_err *err)
{
	return tp_convert(c->in[0]->dtype, bound, TP_DTYPE_F64, &x, 1,
	    TP_OVERFLOW_SATURATE, 0, NULL, err);
}

/* Bounds are inputs from opset 11 on. */
static enum tp_status
take_bound(const struct tpi_call *c, size_t k, double otherwise,
    uint64_t *bound, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];

	if (!t)
		return set_bound(c, otherwise, bound, err);
	if (t->dtype != c->in[0]->dtype || t->n_elems != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s and shape %s, expected a "
		    "scalar of %s",
		    c->op->onnx, k, tp_dtype_name(t->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    tp_dtype_name(c->in[0]->dtype));
	memcpy(bound, tpi_tensor_address(t), tp_dtype_bits(t->dtype) / 8);
	return TP_OK;
}

static enum tp_status
run_clip(struct tpi_call *c, struct tp_err *err)
{
	struct bounds bounds = {0, 0};
	struct tpi_call alone = *c;
	enum tp_status rc = take_bound(c, 1, -INFINITY, &bounds.low, err);

	if (!rc)
		rc = take_bound(c, 2, INFINITY, &bounds.high, err);
	alone.n_in = 1;
	return rc ? rc : tpi_run_elementwise_with(&alone, &bounds, err);
}

static enum tp_status
run_old_clip(struct tpi_call *c, struct tp_err *err)
{
	double low = tpi_attr_float(c, "min", -(double)FLT_MAX);
	double high = tpi_attr_float(c, "max", (double)FLT_MAX);
	struct bounds bounds = {0, 0};
	enum tp_status rc = TP_OK;

	/* A NaN, which integers have not, is no bound either. */
	rc = set_bound(c, low == low ? low : -INFINITY, &bounds.low, err);
	if (!rc)
		rc = set_bound(
		    c, high == high ? high : INFINITY, &bounds.high, err);
	return rc ? rc : tpi_run_elementwise_with(c, &bounds, err);
}

const struct tp_op tpi_clip_ops[] = {
    {
	.name = "clip",
	.onnx = "Clip",
	.since = 11,
	.min_in = 1,
	.max_in = 3,
	.min_out = 1,
	.max_out = 1,
	.infer = tpi_infer_same,
	.run = run_clip,
	.kernels = clip_kernels,
    },
    TPI_ELEMENTWISE_ROW("clip", "Clip", 1, 6, 10, clip_attrs + 1,
	tpi_infer_same, run_old_clip, clip_kernels),
    TPI_ELEMENTWISE_ROW("clip", "Clip", 1, 1, 5, clip_attrs, tpi_infer_same,
	run_old_clip, clip_kernels),
    {.name = NULL},
};
