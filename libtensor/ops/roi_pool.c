/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roi_pool.c - MaxRoiPool: the largest of each cell of a grid over a region
 *
 * A region is [image, x1, y1, x2, y2], ends included, scaled and rounded to
 * whole positions. A cell without elements is 0.
 */
#include "gemm.h"
#include "spatial.h"

#include <inttypes.h>
#include <math.h>

#include "tp/layout.h"

#include "../tensor.h"

#include "../banned.h"

struct roi_pool {
	const double *x, *rois;
	double *y;
	int64_t n_images, n_channels, height, width;
	int64_t cells[2]; /* rows, columns */
	double scale;
};

static enum tp_status
infer_max_roi_pool(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *rois = c->in[1];

	if (!tpi_attr_find(c, "pooled_shape"))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: pooled_shape is missing", c->op->onnx);
	if (x->rank != 4 || rois->rank != 2 || tp_tensor_sizes(rois)[1] != 5 ||
	    rois->dtype != x->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: inputs of shapes %s and %s, expected [N, C, H, W] and "
		    "[regions, 5] of one dtype",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(rois), rois->rank));
	infos[0] = tpi_info_of(x);
	infos[0].sizes[0] = tp_tensor_sizes(rois)[0];
	return tpi_spatial_list(
	    c, "pooled_shape", 2, 1, 1, &infos[0].sizes[2], err);
}

/* A position as a whole number; what is far outside stays there. */
static double
position(const struct roi_pool *p, double x)
{
	x = round(x * p->scale);
	return x > 0x1p40 ? 0x1p40 : x < -0x1p40 ? -0x1p40 : x;
}

/* Cell i of n over first … last: what is inside 0 … size. */
static struct tpi_range
cell(double first, double last, int64_t i, int64_t n, int64_t size)
{
	double extent = fmax(last - first + 1, 1) / (double)n;
	double from = floor((double)i * extent) + first;
	double to = ceil((double)(i + 1) * extent) + first;

	return (struct tpi_range){(int64_t)fmin(fmax(from, 0), (double)size),
	    (int64_t)fmin(fmax(to, 0), (double)size)};
}

static double
largest(const struct roi_pool *p, const double *plane, struct tpi_range rows,
    struct tpi_range columns)
{
	double most = -(double)INFINITY;

	if (rows.first >= rows.end || columns.first >= columns.end)
		return 0;
	for (int64_t i = rows.first; i < rows.end; i++)
		for (int64_t j = columns.first; j < columns.end; j++) {
			double x = plane[i * p->width + j];

			if (x > most || x != x)
				most = x;
		}
	return most;
}

/* One region, all channels. */
static void
pool_region(const struct roi_pool *p, const double *roi, double *y)
{
	double left = position(p, roi[1]), top = position(p, roi[2]);
	double right = position(p, roi[3]), bottom = position(p, roi[4]);
	const double *image =
	    p->x + (int64_t)roi[0] * p->n_channels * p->height * p->width;

	for (int64_t c = 0; c < p->n_channels; c++)
		for (int64_t i = 0; i < p->cells[0]; i++)
			for (int64_t j = 0; j < p->cells[1]; j++)
				*y++ =
				    largest(p, image + c * p->height * p->width,
					cell(top, bottom, i, p->cells[0],
					    p->height),
					cell(left, right, j, p->cells[1],
					    p->width));
}

static enum tp_status
pool_regions(const struct tpi_call *c, const struct roi_pool *p, int64_t n,
    struct tp_err *err)
{
	int64_t n_cells = p->n_channels * p->cells[0] * p->cells[1];

	for (int64_t r = 0; r < n; r++) {
		const double *roi = p->rois + 5 * r;

		if (!(roi[0] >= 0 && roi[0] < (double)p->n_images))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: region %" PRId64 " is of image %g of %" PRId64,
			    c->op->onnx, r, roi[0], p->n_images);
		for (unsigned k = 1; k < 5; k++)
			if (roi[k] != roi[k])
				return tp_fail(err, TP_EARG, TP_NO_OFFSET,
				    "%s: region %" PRId64 " ends at NaN",
				    c->op->onnx, r);
		pool_region(p, roi, p->y + r * n_cells);
	}
	return TP_OK;
}

static enum tp_status
run_max_roi_pool(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *in[] = {c->in[0], c->in[1]};
	const int64_t *sizes = tp_tensor_sizes(in[0]);
	struct tp_tensor *wide[2] = {NULL, NULL}, *y = NULL;
	struct roi_pool p = {.n_images = sizes[0],
	    .n_channels = sizes[1],
	    .height = sizes[2],
	    .width = sizes[3],
	    .scale = tpi_attr_float(c, "spatial_scale", 1)};
	enum tp_status rc = TP_OK;

	for (unsigned k = 0; k < 2 && !rc; k++)
		rc = tpi_op_doubles(c, in[k], tp_tensor_sizes(in[k]),
		    in[k]->rank, &wide[k], err);
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, tp_tensor_sizes(c->out[0]), 4, &y, err);
	if (!rc) {
		p.x = tp_tensor_data(wide[0]);
		p.rois = tp_tensor_data(wide[1]);
		p.y = tp_tensor_data_mut(y);
		p.cells[0] = tp_tensor_sizes(y)[2];
		p.cells[1] = tp_tensor_sizes(y)[3];
		rc = pool_regions(c, &p, tp_tensor_sizes(y)[0], err);
	}
	if (!rc)
		rc = tp_tensor_assign(c->out[0], y, TP_OVERFLOW_INF, err);
	tp_tensor_free(wide[0]);
	tp_tensor_free(wide[1]);
	tp_tensor_free(y);
	return rc;
}

static const struct tpi_attr_spec roi_attrs[] = {{"pooled_shape", TP_ATTR_INTS},
    {"spatial_scale", TP_ATTR_FLOAT}, {NULL, 0}};

const struct tp_op tpi_roi_pool_ops[] = {
    {
	.name = "max_roi_pool",
	.onnx = "MaxRoiPool",
	.since = 1,
	.min_in = 2,
	.max_in = 2,
	.min_out = 1,
	.max_out = 1,
	.attrs = roi_attrs,
	.infer = infer_max_roi_pool,
	.run = run_max_roi_pool,
	.kernels = tpi_unpack,
    },
    {.name = NULL},
};
