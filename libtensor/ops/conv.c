/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.c - Conv and ConvTranspose, over any number of spatial axes
 *
 * For each image and group a product: weights [channels out, channels in and
 * taps] times what windows see [channels in and taps, outputs].
 */
#include "conv.h"

#include <inttypes.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

static void
go_to_group(const void *ctx, uint64_t i, struct tpi_gemm *g)
{
	const struct tpi_conv *v = ctx;
	int64_t at = (int64_t)i, group = at % v->n_groups;

	g->a.data = v->w + group * v->n_out * v->n_in * v->n_taps * v->size;
	g->b.data = v->x + at * v->n_in * v->x_plane * v->size;
	g->y = v->y + at * v->n_out * v->y_plane * v->size;
}

static void
put_biased(const struct tpi_gemm *g, size_t i, size_t j, double *sums, size_t n)
{
	const struct tpi_conv *v = g->ctx;
	int64_t row = (int64_t)(g->product % (uint64_t)v->n_groups) * v->n_out;
	double bias = 0;
	char *from[2] = {(char *)&bias, v->bias + (row + (int64_t)i) * v->size};
	char *to[2] = {
	    g->y + (int64_t)i * g->y_row + (int64_t)j * v->size, (char *)sums};
	const int64_t steps[2] = {0, 0};

	tpi_unpack[g->dtype](NULL, from, steps, 1);
	for (size_t k = 0; k < n; k++)
		sums[k] += bias;
	tpi_pack[g->dtype](NULL, to, NULL, n);
}

static enum tp_status
check_bias(const struct tpi_call *c, int64_t n_channels, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *b = c->in[2];

	for (size_t k = 1; k < c->n_in; k++)
		if (c->in[k] && c->in[k]->dtype != x->dtype)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s, input 0 has %s",
			    c->op->onnx, k, tp_dtype_name(c->in[k]->dtype),
			    tp_dtype_name(x->dtype));
	if (b && (b->rank != 1 || tp_tensor_sizes(b)[0] != n_channels))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 2 has shape %s, expected [%" PRId64 "]",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(b), b->rank),
		    n_channels);
	return TP_OK;
}

/* Groups and channels, from x [N, C, …] and the weights. */
static enum tp_status
find_channels(const struct tpi_call *c, struct tpi_conv *v, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *w = c->in[1];
	const int64_t *own = tp_tensor_sizes(w);
	int64_t n_channels = x->rank > 1 ? tp_tensor_sizes(x)[1] : 0;
	int64_t groups = tpi_attr_int(c, "group", 1), outer;
	bool transposed = v->image.is_transposed;

	if (x->rank < 3 || w->rank != x->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: inputs of shapes %s and %s, expected [N, C, D1, …] "
		    "and weights of the same rank",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank),
		    TP_SHAPE_TEXT(own, w->rank));
	/*
	 * Of weights: [out, in / groups, …], transposed [in, out / groups, …]
	 */
	if (groups < 1 || n_channels % groups ||
	    (transposed ? own[0] != n_channels
			: own[1] != n_channels / groups || own[0] % groups))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: weights of shape %s do not fit %" PRId64
		    " channels in %" PRId64 " groups",
		    c->op->onnx, TP_SHAPE_TEXT(own, w->rank), n_channels,
		    groups);
	v->n_groups = groups;
	v->n_in = n_channels / groups;
	v->n_out = transposed ? own[1] : own[0] / groups;
	if (tp_mul_i64(v->n_out, groups, &outer))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %" PRId64 " groups of %" PRId64 " channels",
		    c->op->onnx, groups, v->n_out);
	return check_bias(c, outer, err);
}

/*
 * Transposed: outputs from the last tap of the last input, less pads; or as
 * output_shape says, and pads follow from that, the larger one in front unless
 * SAME_UPPER wants it behind.
 */
static enum tp_status
transposed_output(const struct tpi_call *c, struct tpi_window_axis *a,
    int64_t extra, int64_t wanted, enum tpi_auto_pad mode, struct tp_err *err)
{
	int64_t span, last, total;

	if (tp_mul_i64(a->kernel - 1, a->dilation, &span) ||
	    tp_mul_i64(a->input ? a->input - 1 : 0, a->stride, &last) ||
	    tp_add_i64(last, span, &last) || tp_add_i64(last, 1, &last) ||
	    tp_add_i64(last, extra, &last) ||
	    tp_add_i64(a->pad_begin, a->pad_end, &total))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: an output beyond all sizes", c->op->onnx);
	if (mode == TPI_PAD_SAME_UPPER || mode == TPI_PAD_SAME_LOWER) {
		if (wanted < 0 && tp_mul_i64(a->input, a->stride, &wanted))
			return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "%s: an output beyond all sizes", c->op->onnx);
	} else if (mode == TPI_PAD_VALID) {
		total = a->pad_begin = a->pad_end = 0;
	}
	if (wanted >= 0) {
		/* What is wanted beyond all is zero, at the end. */
		total = last - wanted;
		a->pad_begin = total < 0		    ? 0
			       : mode == TPI_PAD_SAME_UPPER ? total / 2
							    : total - total / 2;
	}
	a->output = last - total;
	if (total > last || a->output < 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: pads %" PRId64 " are more than the output, %" PRId64,
		    c->op->onnx, total, last);
	return TP_OK;
}

/* output_shape may begin with N and C. */
static enum tp_status
wanted_shape(const struct tpi_call *c, unsigned rank, int64_t *wanted,
    struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "output_shape");

	for (unsigned d = 0; d < rank; d++)
		wanted[d] = -1;
	if (!a)
		return TP_OK;
	if (a->n != rank && a->n != rank + 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: output_shape has %zu numbers, expected %u",
		    c->op->onnx, a->n, rank);
	for (unsigned d = 0; d < rank; d++) {
		wanted[d] = a->ints[a->n - rank + d];
		if (wanted[d] < 0)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: output_shape has %" PRId64, c->op->onnx,
			    wanted[d]);
	}
	return TP_OK;
}

static enum tp_status
transposed_windows(const struct tpi_call *c, unsigned rank,
    const int64_t *sizes, const int64_t *kernel, struct tpi_windows *w,
    struct tp_err *err)
{
	int64_t pads[2 * TPI_SPATIAL_RANK], extra[TPI_SPATIAL_RANK];
	int64_t wanted[TPI_SPATIAL_RANK];
	enum tpi_auto_pad mode;
	enum tp_status rc = tpi_auto_pad(c, &mode, err);

	if (!rc)
		rc = tpi_windows_attrs(c, rank, kernel, w, pads, err);
	if (!rc)
		rc = tpi_spatial_list(
		    c, "output_padding", rank, 0, 0, extra, err);
	if (!rc)
		rc = wanted_shape(c, rank, wanted, err);
	for (unsigned d = 0; d < rank && !rc; d++) {
		w->axis[d].input = sizes[d];
		rc = transposed_output(
		    c, &w->axis[d], extra[d], wanted[d], mode, err);
	}
	return rc;
}

static enum tp_status
describe(const struct tpi_call *c, struct tpi_conv *v, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *w = c->in[1];
	unsigned rank = x->rank - 2;
	enum tp_status rc = find_channels(c, v, err);

	if (rc)
		return rc;
	rc = (v->image.is_transposed ? transposed_windows : tpi_windows_read)(c,
	    rank, tp_tensor_sizes(x) + 2, tp_tensor_sizes(w) + 2, &v->image.w,
	    err);
	if (!rc)
		rc = tpi_windows_planes(
		    c, &v->image.w, &v->x_plane, &v->y_plane, &v->n_taps, err);
	v->size = tp_dtype_bits(x->dtype) / 8;
	return rc;
}

static enum tp_status
infer(const struct tpi_call *c, struct tpi_conv *v, struct tpi_info *info,
    struct tp_err *err)
{
	enum tp_status rc = describe(c, v, err);

	*info = tpi_info_of(c->in[0]);
	if (rc)
		return rc;
	info->sizes[1] = v->n_groups * v->n_out;
	for (unsigned d = 0; d < v->image.w.rank; d++)
		info->sizes[2 + d] = v->image.w.axis[d].output;
	return TP_OK;
}

static enum tp_status
infer_conv(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct tpi_conv v = {.n_groups = 1};

	return infer(c, &v, &infos[0], err);
}

static enum tp_status
infer_conv_transpose(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct tpi_conv v = {.image.is_transposed = true};

	return infer(c, &v, &infos[0], err);
}

/* Weights [in, out / groups, …] as [out, in / groups, …]. */
static enum tp_status
turn_weights(const struct tpi_conv *v, const struct tp_tensor *w,
    struct tp_tensor **out, struct tp_err *err)
{
	const int64_t split[] = {v->n_groups, v->n_in, v->n_out, v->n_taps};
	const int order[] = {0, 2, 1, 3};
	struct tp_tensor *packed = NULL, *shaped = NULL, *turned = NULL;
	enum tp_status rc = tp_tensor_contiguous(w, &packed, err);

	if (!rc)
		rc = tp_tensor_reshape(packed, split, 4, &shaped, err);
	if (!rc)
		rc = tp_tensor_permute(shaped, order, 4, &turned, err);
	if (!rc)
		rc = tp_tensor_contiguous(turned, out, err);
	tp_tensor_free(packed);
	tp_tensor_free(shaped);
	tp_tensor_free(turned);
	return rc;
}

/* Inputs are packed now. */
static enum tp_status
multiply(struct tpi_call *c, const struct tpi_conv *v, struct tp_err *err)
{
	int64_t n = v->n_in * v->n_taps;
	struct tpi_gemm g = {.m = (size_t)v->n_out,
	    .n = (size_t)v->y_plane,
	    .k = (size_t)n,
	    .dtype = c->in[0]->dtype,
	    .a = {NULL, n * v->size, v->size},
	    .pack_b = tpi_image_pack,
	    .put = v->bias ? put_biased : NULL,
	    .y_row = v->y_plane * v->size,
	    .ctx = v,
	    .b_ctx = &v->image};
	uint64_t n_products =
	    (uint64_t)(tp_tensor_sizes(c->in[0])[0] * v->n_groups);

	return tpi_gemm_run(c, &g, n_products, go_to_group, err);
}

static enum tp_status
run(struct tpi_call *c, struct tpi_conv *v, struct tp_err *err)
{
	struct tp_tensor *packed[3] = {NULL, NULL, NULL};
	enum tp_status rc = describe(c, v, err);

	if (rc || c->out[0]->n_elems == 0)
		return rc;
	rc = tp_tensor_contiguous(c->in[0], &packed[0], err);
	if (!rc)
		rc = v->image.is_transposed
			 ? turn_weights(v, c->in[1], &packed[1], err)
			 : tp_tensor_contiguous(c->in[1], &packed[1], err);
	if (!rc && c->in[2])
		rc = tp_tensor_contiguous(c->in[2], &packed[2], err);
	if (!rc) {
		v->x = tpi_tensor_address(packed[0]);
		v->w = tpi_tensor_address(packed[1]);
		v->bias = packed[2] ? tpi_tensor_address(packed[2]) : NULL;
		v->y = tpi_tensor_address(c->out[0]);
		rc = tpi_is_depthwise(v) ? tpi_conv_depthwise(c, v, err)
					 : multiply(c, v, err);
	}
	for (unsigned k = 0; k < 3; k++)
		tp_tensor_free(packed[k]);
	return rc;
}

static enum tp_status
run_conv(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_conv v = {.n_groups = 1};

	return run(c, &v, err);
}

static enum tp_status
run_conv_transpose(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_conv v = {.image.is_transposed = true};

	return run(c, &v, err);
}

/* clang-format off */
#define CONV_ATTRS \
	{"auto_pad", TP_ATTR_STRING}, {"dilations", TP_ATTR_INTS}, \
	{"group", TP_ATTR_INT}, {"kernel_shape", TP_ATTR_INTS}, \
	{"pads", TP_ATTR_INTS}, {"strides", TP_ATTR_INTS}
static const struct tpi_attr_spec conv_attrs[] = {CONV_ATTRS, {NULL, 0}};
static const struct tpi_attr_spec conv_transpose_attrs[] = {CONV_ATTRS,
    {"output_padding", TP_ATTR_INTS}, {"output_shape", TP_ATTR_INTS},
    {NULL, 0}};
/* clang-format on */

#define ROW(op, onnx_name)                                                    \
	{                                                                     \
		.name = #op, .onnx = onnx_name, .since = 1, .min_in = 2,      \
		.max_in = 3, .min_out = 1, .max_out = 1, .attrs = op##_attrs, \
		.infer = infer_##op, .run = run_##op, .kernels = tpi_unpack   \
	}

const struct tp_op tpi_conv_ops[] = {
    ROW(conv, "Conv"),
    ROW(conv_transpose, "ConvTranspose"),
    {.name = NULL},
};
