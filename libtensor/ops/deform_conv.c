/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deform_conv.c - DeformConv: windows whose taps are moved by offsets
 *
 *	offset [N, offset groups * taps * axes, outputs…]
 *	mask   [N, offset groups * taps, outputs…]
 *
 * What a tap sees between positions is interpolated linearly along each axis,
 * and zero outside. All in double, for a product must not depend on whether a
 * machine fuses.
 */
#include "gemm.h"
#include "spatial.h"

#include <inttypes.h>
#include <math.h>

#include "tp/checked.h"
#include "tp/layout.h"

#include "../tensor.h"

#include "../banned.h"

/* 2^n corners are looked at. */
#define MOST_AXES 8

struct deform {
	struct tpi_windows w;
	int64_t n_groups, n_in, n_out; /* channels of a group */
	int64_t offset_groups, n_taps, x_plane, y_plane;
	const double *x, *weights, *offset, *bias, *mask; /* NULL: none */
	double *y;
};

/* Where output o of an axis looks through tap k, moved. */
static double
moved(const struct tpi_window_axis *a, int64_t o, int64_t k, double by)
{
	return (double)tpi_window_at(a, o, k) + by;
}

/* The plane at a position between elements. */
static double
interpolate(const struct deform *v, const double *plane, const double *at)
{
	double sum = 0;

	for (unsigned corner = 0; corner < 1u << v->w.rank; corner++) {
		double weight = 1;
		int64_t index = 0;

		for (unsigned d = 0; d < v->w.rank && weight != 0; d++) {
			double low = floor(at[d]), part = at[d] - low;
			bool upper = corner >> d & 1;
			double i = low + (upper ? 1 : 0);

			weight *= upper ? part : 1 - part;
			if (!(i >= 0 && i < (double)v->w.axis[d].input))
				weight = 0;
			else
				index = index * v->w.axis[d].input + (int64_t)i;
		}
		if (weight != 0)
			sum += weight * plane[index];
	}
	return sum;
}

/* What output `o` of an image sees of a channel through tap t. */
static double
sample(const struct deform *v, uint64_t image, int64_t channel, int64_t t,
    int64_t o)
{
	int64_t group = channel / (v->n_groups * v->n_in / v->offset_groups);
	int64_t n_channels = v->n_groups * v->n_in;
	int64_t at =
	    ((int64_t)image * v->offset_groups + group) * v->n_taps + t;
	const double *plane =
	    v->x + ((int64_t)image * n_channels + channel) * v->x_plane;
	double position[MOST_AXES], x;
	int64_t rest = o;

	for (unsigned d = v->w.rank; d-- > 0;) {
		const struct tpi_window_axis *a = &v->w.axis[d];
		double by = v->offset[(at * v->w.rank + d) * v->y_plane + o];

		position[d] = moved(a, rest % a->output, t % a->kernel, by);
		rest /= a->output;
		t /= a->kernel;
	}
	x = interpolate(v, plane, position);
	return v->mask ? x * v->mask[at * v->y_plane + o] : x;
}

static void
pack_samples(const struct tpi_gemm *g, double *panels, size_t width,
    size_t first, size_t n, size_t k, size_t depth)
{
	const struct deform *v = g->ctx;
	uint64_t image = g->product / (uint64_t)v->n_groups;
	int64_t group = (int64_t)(g->product % (uint64_t)v->n_groups);

	for (size_t i = 0; i < n || i % width; i++)
		for (size_t s = 0; s < depth; s++) {
			int64_t at = (int64_t)(k + s);
			double *to = &panels[(i / width * depth + s) * width +
					     i % width];

			*to = i < n ? sample(v, image,
					  group * v->n_in + at / v->n_taps,
					  at % v->n_taps, (int64_t)(first + i))
				    : 0;
		}
}

static void
go_to_group(const void *ctx, uint64_t i, struct tpi_gemm *g)
{
	const struct deform *v = ctx;
	int64_t at = (int64_t)i, group = at % v->n_groups;

	g->a.data =
	    (const char *)(v->weights + group * v->n_out * v->n_in * v->n_taps);
	g->y = (char *)(v->y + at * v->n_out * v->y_plane);
}

static void
put_biased(const struct tpi_gemm *g, size_t i, size_t j, double *sums, size_t n)
{
	const struct deform *v = g->ctx;
	int64_t row = (int64_t)(g->product % (uint64_t)v->n_groups) * v->n_out +
		      (int64_t)i;
	double *y = (double *)(void *)(g->y + (int64_t)i * g->y_row);

	for (size_t k = 0; k < n; k++)
		y[j + k] = sums[k] + (v->bias ? v->bias[row] : 0);
}

/* Input k has shape [N, channels, outputs…]. */
static enum tp_status
check_field(const struct tpi_call *c, size_t k, const struct deform *v,
    int64_t channels, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k], *x = c->in[0];
	bool fits = t->rank == x->rank &&
		    tp_tensor_sizes(t)[0] == tp_tensor_sizes(x)[0] &&
		    tp_tensor_sizes(t)[1] == channels;

	for (unsigned d = 0; d < v->w.rank && fits; d++)
		fits = tp_tensor_sizes(t)[2 + d] == v->w.axis[d].output;
	if (fits && t->dtype == x->dtype)
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: input %zu has dtype %s and shape %s, expected %s and [N, "
	    "%" PRId64 ", outputs…]",
	    c->op->onnx, k, tp_dtype_name(t->dtype),
	    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank), tp_dtype_name(x->dtype),
	    channels);
}

static enum tp_status
find_channels(const struct tpi_call *c, struct deform *v, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *w = c->in[1];
	const int64_t *own = tp_tensor_sizes(w), *sizes = tp_tensor_sizes(x);

	if (x->rank < 3 || w->rank != x->rank || w->dtype != x->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: inputs of shapes %s and %s, expected [N, C, D1, …] "
		    "and weights of the same rank and dtype",
		    c->op->onnx, TP_SHAPE_TEXT(sizes, x->rank),
		    TP_SHAPE_TEXT(own, w->rank));
	if (x->rank - 2 > MOST_AXES)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: %u spatial axes, at most %u are interpolated",
		    c->op->onnx, x->rank - 2, MOST_AXES);
	v->n_groups = tpi_attr_int(c, "group", 1);
	v->offset_groups = tpi_attr_int(c, "offset_group", 1);
	if (v->n_groups < 1 || v->offset_groups < 1 || sizes[1] % v->n_groups ||
	    sizes[1] % v->offset_groups || own[1] != sizes[1] / v->n_groups ||
	    own[0] % v->n_groups || sizes[1] == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: weights of shape %s do not fit %" PRId64
		    " channels in %" PRId64 " groups, %" PRId64 " of offsets",
		    c->op->onnx, TP_SHAPE_TEXT(own, w->rank), sizes[1],
		    v->n_groups, v->offset_groups);
	v->n_in = own[1];
	v->n_out = own[0] / v->n_groups;
	return TP_OK;
}

static enum tp_status
check_fields(
    const struct tpi_call *c, const struct deform *v, struct tp_err *err)
{
	const struct tp_tensor *bias = c->in[3];
	int64_t n_masks, n_offsets;
	enum tp_status rc;

	if (tp_mul_i64(v->offset_groups, v->n_taps, &n_masks) ||
	    tp_mul_i64(n_masks, v->w.rank, &n_offsets))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: offsets beyond all sizes", c->op->onnx);
	rc = check_field(c, 2, v, n_offsets, err);
	if (!rc && c->in[4])
		rc = check_field(c, 4, v, n_masks, err);
	if (!rc && bias &&
	    (bias->rank != 1 || bias->dtype != c->in[0]->dtype ||
		tp_tensor_sizes(bias)[0] != v->n_groups * v->n_out))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 3 has shape %s, expected [%" PRId64 "]",
		    c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(bias), bias->rank),
		    v->n_groups * v->n_out);
	return rc;
}

static enum tp_status
describe(const struct tpi_call *c, struct deform *v, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	enum tp_status rc = find_channels(c, v, err);

	if (!rc)
		rc = tpi_windows_read(c, x->rank - 2, tp_tensor_sizes(x) + 2,
		    tp_tensor_sizes(c->in[1]) + 2, &v->w, err);
	if (!rc)
		rc = tpi_windows_planes(
		    c, &v->w, &v->x_plane, &v->y_plane, &v->n_taps, err);
	return rc ? rc : check_fields(c, v, err);
}

static enum tp_status
infer_deform_conv(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct deform v = {.n_groups = 1};
	enum tp_status rc = describe(c, &v, err);

	infos[0] = tpi_info_of(c->in[0]);
	if (rc)
		return rc;
	infos[0].sizes[1] = v.n_groups * v.n_out;
	for (unsigned d = 0; d < v.w.rank; d++)
		infos[0].sizes[2 + d] = v.w.axis[d].output;
	return TP_OK;
}

static enum tp_status
multiply(struct tpi_call *c, const struct deform *v, struct tp_err *err)
{
	int64_t n = v->n_in * v->n_taps, size = sizeof(double);
	struct tpi_gemm g = {.m = (size_t)v->n_out,
	    .n = (size_t)v->y_plane,
	    .k = (size_t)n,
	    .dtype = TP_DTYPE_F64,
	    .a = {NULL, n * size, size},
	    .pack_b = pack_samples,
	    .put = put_biased,
	    .y_row = v->y_plane * size,
	    .ctx = v};

	return tpi_gemm_run(c, &g,
	    (uint64_t)(tp_tensor_sizes(c->in[0])[0] * v->n_groups), go_to_group,
	    err);
}

static enum tp_status
run_deform_conv(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *out = c->out[0];
	struct tp_tensor *wide[5] = {NULL}, *y = NULL;
	struct deform v = {.n_groups = 1};
	const double **places[] = {
	    &v.x, &v.weights, &v.offset, &v.bias, &v.mask};
	enum tp_status rc = describe(c, &v, err);

	for (size_t k = 0; k < 5 && !rc; k++) {
		const struct tp_tensor *t = c->in[k];

		if (!t)
			continue;
		rc = tpi_op_doubles(
		    c, t, tp_tensor_sizes(t), t->rank, &wide[k], err);
		if (!rc)
			*places[k] = tp_tensor_data(wide[k]);
	}
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, tp_tensor_sizes(out), out->rank, &y, err);
	if (!rc) {
		v.y = tp_tensor_data_mut(y);
		rc = multiply(c, &v, err);
	}
	if (!rc)
		rc = tp_tensor_assign(c->out[0], y, TP_OVERFLOW_INF, err);
	for (size_t k = 0; k < 5; k++)
		tp_tensor_free(wide[k]);
	tp_tensor_free(y);
	return rc;
}

static const struct tpi_attr_spec deform_attrs[] = {{"dilations", TP_ATTR_INTS},
    {"group", TP_ATTR_INT}, {"kernel_shape", TP_ATTR_INTS},
    {"offset_group", TP_ATTR_INT}, {"pads", TP_ATTR_INTS},
    {"strides", TP_ATTR_INTS}, {NULL, 0}};

const struct tp_op tpi_deform_conv_ops[] = {
    {
	.name = "deform_conv",
	.onnx = "DeformConv",
	.since = 19,
	.min_in = 3,
	.max_in = 5,
	.min_out = 1,
	.max_out = 1,
	.attrs = deform_attrs,
	.infer = infer_deform_conv,
	.run = run_deform_conv,
	.kernels = tpi_unpack,
    },
    {.name = NULL},
};
