/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roi_align.c - RoiAlign: regions of images, each sampled to one size
 *
 *	X [N, C, H, W]	rois [R, 4]: x1, y1, x2, y2	images [R]
 *	Y [R, C, output_height, output_width]
 *
 * A cell of Y is the average of samples on a grid in its part of the region, or
 * the largest product of a corner around one of them and its weight. Samples
 * farther than an element outside of the image count as 0.
 */
#include "../op.h"

#include <inttypes.h>
#include <math.h>

#include "tp/layout.h"
#include "tp/parallel.h"

#include "../tensor.h"
#include "indices.h"

#include "../banned.h"

#define MOST_SAMPLES 4096 /* of a cell along an axis, if told */

struct roi_align {
	bool is_max, half_pixel;
	int64_t cells[2]; /* rows, columns */
	int64_t samples;  /* 0: as many as elements */
	double scale;
	int64_t n_images, n_channels, sizes[2];
	const double *x, *rois;
	const int64_t *images;
	double *y;
	size_t n_rois, n_parts;
};

/*
 * The samples of a cell along one axis: that of number i is at first + i step.
 */
struct line {
	double first, step;
	double n;	  /* of them, even those outside */
	int64_t from, to; /* those that may be inside */
	int64_t size;	  /* of the axis */
};

/* A sample between two elements: at low and high, the part of high. */
struct tap {
	int64_t low, high;
	double part;
};

static void
find_line(const struct roi_align *r, const double *roi, unsigned axis,
    int64_t cell, struct line *line)
{
	double offset = r->half_pixel ? 0.5 : 0;
	double start = roi[1 - axis] * r->scale - offset;
	double length = roi[3 - axis] * r->scale - offset - start, each;
	double last = (double)r->sizes[axis];

	if (!r->half_pixel && !(length > 1))
		length = 1;
	each = length / (double)r->cells[axis];
	line->size = r->sizes[axis];
	line->n = r->samples ? (double)r->samples : ceil(each);
	if (!(line->n >= 1))
		line->n = 0;
	line->step = line->n > 0 ? each / line->n : 0;
	line->first = start + (double)cell * each + line->step / 2;
	line->from = line->to = 0;
	if (line->n <= MOST_SAMPLES) {
		line->to = (int64_t)line->n;
	} else {
		double from = floor((-1 - line->first) / line->step) - 1;
		double to = ceil((last - line->first) / line->step) + 2;

		from = from > 0 ? from : 0;
		to = to < line->n ? to : line->n;
		if (from < to && to - from <= 2 * last + 16) {
			line->from = (int64_t)from;
			line->to = (int64_t)to;
		}
	}
}

static bool
find_tap(const struct line *line, int64_t i, struct tap *tap)
{
	double x = line->first + (double)i * line->step;

	if (!(x >= -1 && x <= (double)line->size))
		return false;
	if (x < 0)
		x = 0;
	tap->low = (int64_t)x;
	tap->part = x - (double)tap->low;
	tap->high = tap->low + 1;
	if (tap->low >= line->size - 1) {
		tap->low = tap->high = line->size - 1;
		tap->part = 0;
	}
	return true;
}

static double
largest(const double *v)
{
	double most = v[0];

	for (int k = 1; k < 4; k++)
		if (v[k] > most || v[k] != v[k])
			most = v[k];
	return most;
}

static double
sample_cell(const struct roi_align *r, const double *plane,
    const struct line *rows, const struct line *columns)
{
	double sum = 0, most = -INFINITY, n_inside = 0;

	for (int64_t i = rows->from; i < rows->to; i++)
		for (int64_t j = columns->from; j < columns->to; j++) {
			struct tap a, b;

			if (!find_tap(rows, i, &a) || !find_tap(columns, j, &b))
				continue;
			double v[] = {(1 - a.part) * (1 - b.part) *
					  plane[a.low * r->sizes[1] + b.low],
			    (1 - a.part) * b.part *
				plane[a.low * r->sizes[1] + b.high],
			    a.part * (1 - b.part) *
				plane[a.high * r->sizes[1] + b.low],
			    a.part * b.part *
				plane[a.high * r->sizes[1] + b.high]};

			n_inside++;
			sum += v[0] + v[1] + v[2] + v[3];
			v[0] = largest(v);
			if (v[0] > most || v[0] != v[0])
				most = v[0];
		}
	if (!r->is_max)
		return n_inside > 0 ? sum / (rows->n * columns->n) : 0;
	/* One sample outside is 0. */
	return n_inside == rows->n * columns->n && n_inside > 0 ? most
	       : most > 0 || most != most			? most
								: 0;
}

static void
align_region(const struct roi_align *r, size_t k)
{
	size_t plane = (size_t)(r->sizes[0] * r->sizes[1]);
	const double *x = r->x + (size_t)(r->images[k] * r->n_channels) * plane;
	double *y =
	    r->y + k * (size_t)(r->n_channels * r->cells[0] * r->cells[1]);

	for (int64_t c = 0; c < r->n_channels; c++, x += plane)
		for (int64_t i = 0; i < r->cells[0]; i++) {
			struct line rows, columns;

			find_line(r, r->rois + 4 * k, 0, i, &rows);
			for (int64_t j = 0; j < r->cells[1]; j++) {
				find_line(r, r->rois + 4 * k, 1, j, &columns);
				*y++ = sample_cell(r, x, &rows, &columns);
			}
		}
}

static void
align_part(void *ctx, size_t part)
{
	const struct roi_align *r = ctx;
	struct tpi_share mine = tpi_share(r->n_rois, r->n_parts, part);

	for (uint64_t k = mine.from; k < mine.end; k++)
		align_region(r, (size_t)k);
}

/* In opset 10 regions had whole elements. */
static enum tp_status
read_attrs(const struct tpi_call *c, struct roi_align *r, struct tp_err *err)
{
	static const char *const modes[] = {"avg", "max"};
	static const char *const coordinates[] = {
	    "output_half_pixel", "half_pixel"};
	unsigned mode = 0, from = c->op->since >= 16;
	enum tp_status rc = tpi_attr_choice(c, "mode", modes, 2, 0, &mode, err);

	if (!rc)
		rc = tpi_attr_choice(c, "coordinate_transformation_mode",
		    coordinates, 2, from, &from, err);
	if (rc)
		return rc;
	r->is_max = mode == 1;
	r->half_pixel = from == 1;
	r->cells[0] = tpi_attr_int(c, "output_height", 1);
	r->cells[1] = tpi_attr_int(c, "output_width", 1);
	r->samples = tpi_attr_int(c, "sampling_ratio", 0);
	r->scale = tpi_attr_float(c, "spatial_scale", 1);
	if (r->cells[0] < 1 || r->cells[1] < 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: output of %" PRId64 " times %" PRId64, c->op->onnx,
		    r->cells[0], r->cells[1]);
	if (r->samples < 0 || r->samples > MOST_SAMPLES)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: sampling_ratio is %" PRId64 ", expected 0 to %d",
		    c->op->onnx, r->samples, MOST_SAMPLES);
	return TP_OK;
}

static enum tp_status
infer_align(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *rois = c->in[1];
	const struct tp_tensor *images = c->in[2];
	struct roi_align r;
	enum tp_status rc = read_attrs(c, &r, err);

	if (rc)
		return rc;
	if (x->rank != 4 || rois->rank != 2 || tp_tensor_sizes(rois)[1] != 4 ||
	    images->rank != 1 ||
	    tp_tensor_sizes(images)[0] != tp_tensor_sizes(rois)[0] ||
	    !tpi_float_dtypes[rois->dtype])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: inputs of shapes %s, %s and %s, expected "
		    "[N, C, H, W], [regions, 4] of floats and [regions]",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(rois), rois->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(images), images->rank));
	infos[0] = tpi_info_of(x);
	infos[0].sizes[0] = tp_tensor_sizes(rois)[0];
	infos[0].sizes[2] = r.cells[0];
	infos[0].sizes[3] = r.cells[1];
	return TP_OK;
}

static enum tp_status
check_images(
    const struct tpi_call *c, const struct roi_align *r, struct tp_err *err)
{
	for (size_t k = 0; k < r->n_rois; k++)
		if (r->images[k] < 0 || r->images[k] >= r->n_images)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: region %zu is in image %" PRId64
			    " of %" PRId64,
			    c->op->onnx, k, r->images[k], r->n_images);
	if (r->sizes[0] == 0 || r->sizes[1] == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: images without elements", c->op->onnx);
	return TP_OK;
}

static void
align_all(const struct tpi_call *c, struct roi_align *r,
    const struct tp_tensor *x, const struct tp_tensor *rois,
    struct tp_tensor *y)
{
	r->x = tp_tensor_data(x);
	r->rois = tp_tensor_data(rois);
	r->y = tp_tensor_data_mut(y);
	r->n_parts = tpi_op_parts(c, y->n_elems * 16, r->n_rois);
	tp_parallel(c->n_threads, r->n_parts, align_part, r);
}

static enum tp_status
run_align(struct tpi_call *c, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(c->in[0]);
	struct tp_tensor *wide[2] = {NULL, NULL}, *y = NULL;
	struct tpi_indices images = {0};
	struct roi_align r = {.n_images = sizes[0],
	    .n_channels = sizes[1],
	    .sizes = {sizes[2], sizes[3]}};
	enum tp_status rc = read_attrs(c, &r, err);

	if (!rc)
		rc = tpi_indices_take(c, NULL, 2, &images, NULL, err);
	r.images = images.at;
	r.n_rois = images.n;
	if (!rc && c->out[0]->n_elems)
		rc = check_images(c, &r, err);
	for (unsigned k = 0; k < 2 && !rc; k++)
		rc = tpi_op_doubles(c, c->in[k], tp_tensor_sizes(c->in[k]),
		    c->in[k]->rank, &wide[k], err);
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, tp_tensor_sizes(c->out[0]), 4, &y, err);
	if (!rc && y->n_elems) {
		align_all(c, &r, wide[0], wide[1], y);
		rc = tp_tensor_assign(c->out[0], y, TP_OVERFLOW_INF, err);
	}
	tpi_indices_release(&images);
	tp_tensor_free(wide[0]);
	tp_tensor_free(wide[1]);
	tp_tensor_free(y);
	return rc;
}

/* clang-format off */
#define ATTRS_10 \
	{"mode", TP_ATTR_STRING}, {"output_height", TP_ATTR_INT}, \
	{"output_width", TP_ATTR_INT}, {"sampling_ratio", TP_ATTR_INT}, \
	{"spatial_scale", TP_ATTR_FLOAT}
static const struct tpi_attr_spec align_10_attrs[] = {ATTRS_10, {NULL, 0}};
static const struct tpi_attr_spec align_16_attrs[] = {ATTRS_10,
    {"coordinate_transformation_mode", TP_ATTR_STRING}, {NULL, 0}};
/* clang-format on */

#define ROW(from, to, spec)                                             \
	{                                                               \
		.name = "roi_align", .onnx = "RoiAlign", .since = from, \
		.until = to, .min_in = 3, .max_in = 3, .min_out = 1,    \
		.max_out = 1, .attrs = spec, .infer = infer_align,      \
		.run = run_align, .kernels = tpi_float_dtypes           \
	}

const struct tp_op tpi_roi_align_ops[] = {
    ROW(16, 0, align_16_attrs),
    ROW(10, 15, align_10_attrs),
    {.name = NULL},
};
