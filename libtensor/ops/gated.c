/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gated.c - PRelu, SwiGLU, ImageScaler: functions of a number and one of a
 * second tensor
 */
#include "elementwise.h"
#include "functions.h"
#include "old_broadcast.h"

#include "tp/convert.h"

#include "../tensor.h"

#include "../banned.h"

#define EXPR_prelu(T, W, x, slope) ((x) < 0 ? (W)(x) * (W)(slope) : (W)(x))
#define EXPR_first(T, W, x, slope) ((void)(slope), (W)(x))
#define EXPR_swiglu(T, W, x, gate) (tpi_swish(x, p.a) * (gate))

#define EXPR_image_scaler(T, W, x, bias) (p.a * (x) + (bias))

#define GATED(OP, ID, T, W, LOAD, STORE)                \
	TPI_BINARY_KERNEL(OP, ID, T, T, W, LOAD, STORE, \
	    const struct tpi_params p = *(const struct tpi_params *)ctx)

TPI_FOREACH_FLOAT(TPI_BINARY, prelu)
TPI_FOREACH_SIGNED(TPI_BINARY, prelu)
TPI_FOREACH_UNSIGNED(TPI_BINARY, first)
TPI_TABLE(prelu) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, prelu) TPI_FOREACH_SIGNED(
    TPI_KERNEL_ROW, prelu) TPI_FOREACH_UNSIGNED(TPI_KERNEL_ROW, first)};
TPI_TABLE_OF(swiglu, GATED, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(image_scaler, GATED, TPI_FOREACH_DOUBLE);

/* The slopes broadcast to x and not the other way round. */
static enum tp_status
infer_prelu(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *slope = c->in[1];
	enum tp_status rc = tpi_infer_broadcast(c, infos, err);

	if (rc)
		return rc;
	if (infos[0].rank == x->rank &&
	    (!x->rank || !memcmp(infos[0].sizes, tp_tensor_sizes(x),
			     x->rank * sizeof(int64_t))))
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: slopes of shape %s for shape %s", c->op->onnx,
	    TP_SHAPE_TEXT(tp_tensor_sizes(slope), slope->rank),
	    TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
}

/*
 * Before opset 7: a slope for each channel, that is along axis 1, or one for
 * all. The same call with slopes as NumPy wants them; *slope is to be freed.
 */
struct old_call {
	struct tpi_call call;
	const struct tp_tensor *in[2];
	struct tp_tensor *slope;
};

static enum tp_status
begin_old(const struct tpi_call *c, struct old_call *o, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *slope = c->in[1];
	enum tp_status rc;

	o->call = *c;
	o->call.in = o->in;
	o->slope = NULL;
	if (slope->n_elems == 1)
		rc = tpi_tensor_derive(
		    slope, NULL, NULL, 0, slope->first, &o->slope, err);
	else if (slope->rank == 1 && x->rank > 1)
		rc = tpi_align_at(c, 1, 1, &o->slope, err);
	else
		rc = tp_tensor_alias(slope, &o->slope, err);
	o->in[0] = x;
	o->in[1] = o->slope;
	return rc;
}

static enum tp_status
infer_old_prelu(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct old_call o;
	enum tp_status rc = begin_old(c, &o, err);

	if (!rc)
		rc = infer_prelu(&o.call, infos, err);
	tp_tensor_free(o.slope);
	return rc;
}

static enum tp_status
run_old_prelu(struct tpi_call *c, struct tp_err *err)
{
	struct old_call o;
	enum tp_status rc = begin_old(c, &o, err);

	if (!rc)
		rc = tpi_run_elementwise(&o.call, err);
	tp_tensor_free(o.slope);
	return rc;
}

static const struct tpi_attr_spec swiglu_attrs[] = {
    {"alpha", TP_ATTR_FLOAT}, {NULL, 0}};

static enum tp_status
run_swiglu(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_params p = {.a = tpi_attr_float(c, "alpha", 1)};

	return tpi_run_elementwise_with(c, &p, err);
}

static const struct tpi_attr_spec scaler_attrs[] = {
    {"scale", TP_ATTR_FLOAT}, {"bias", TP_ATTR_FLOATS}, {NULL, 0}};

/* The attribute bias as a tensor, a number a channel. */
static enum tp_status
take_bias(const struct tpi_call *c, struct tp_tensor **bias, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const struct tp_attr *a = tpi_attr_find(c, "bias");
	const int64_t size = a ? (int64_t)a->n : 0;
	enum tp_status rc;

	if (!a || x->rank < 2 || size != tp_tensor_sizes(x)[1])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu numbers of bias for shape %s", c->op->onnx,
		    a ? a->n : 0, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	rc = tpi_op_temp(c, x->dtype, &size, 1, bias, err);
	if (!rc)
		rc = tp_convert(x->dtype, tp_tensor_data_mut(*bias),
		    TP_DTYPE_F64, a->floats, a->n, TP_OVERFLOW_INF, 0, NULL,
		    err);
	return rc;
}

static enum tp_status
run_image_scaler(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_params p = {.a = tpi_attr_float(c, "scale", 1)};
	struct tp_tensor *bias = NULL, *view = NULL;
	const struct tp_tensor *in[2] = {c->in[0], NULL};
	struct tpi_call call = *c;
	enum tp_status rc = take_bias(c, &bias, err);

	in[1] = bias;
	call.in = in;
	call.n_in = 2;
	if (!rc)
		rc = tpi_align_at(&call, 1, 1, &view, err);
	in[1] = view;
	if (!rc)
		rc = tpi_run_elementwise_with(&call, &p, err);
	tp_tensor_free(view);
	tp_tensor_free(bias);
	return rc;
}

const struct tp_op tpi_gated_ops[] = {
    TPI_ELEMENTWISE_ROW("prelu", "PRelu", 2, 7, 0, NULL, infer_prelu,
	tpi_run_elementwise, prelu_kernels),
    TPI_ELEMENTWISE_ROW("prelu", "PRelu", 2, 6, 6, NULL, infer_old_prelu,
	run_old_prelu, prelu_kernels),
    TPI_ELEMENTWISE_ROW("prelu", "PRelu", 2, 1, 5, tpi_consumed_attrs,
	infer_old_prelu, run_old_prelu, prelu_kernels),
    TPI_ELEMENTWISE_ROW("swiglu", "SwiGLU", 2, 28, 0, swiglu_attrs,
	tpi_infer_broadcast, run_swiglu, swiglu_kernels),
    /* In opset 1 as an experiment. */
    TPI_ELEMENTWISE_ROW("image_scaler", "ImageScaler", 1, 1, 9, scaler_attrs,
	tpi_infer_same, run_image_scaler, image_scaler_kernels),
    {.name = NULL},
};
