/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid_sample.c - GridSample: elements at the positions that a grid names
 *
 *	X [N, C, D1 … Dr]	grid [N, O1 … Or, r]	Y [N, C, O1 … Or]
 *
 * Positions go from -1 to 1 along an axis, the last axis first. With
 * align_corners those are the centers of the outermost elements, else their
 * outer edges.
 */
#include "resample.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/copy.h"
#include "tp/layout.h"
#include "tp/parallel.h"

#include "../tensor.h"
#include "moves.h"

#include "../banned.h"

#define MOST_AXES 3
#define MOST_TAPS 64 /* 4 along each axis */

enum padding { ZEROS, BORDER, REFLECTION };

struct sample {
	enum tpi_resample_mode mode;
	enum padding padding;
	bool align_corners;
	unsigned rank; /* spatial axes */
	int64_t sizes[MOST_AXES];
	size_t n_planes, x_plane, y_plane; /* planes are channels */
	const double *grid;
	const char *x;
	char *y;
	size_t size; /* of an element; blended ones are doubles */
	size_t n_images, n_parts;
};

/* What a point is made of, as offsets into a plane. */
struct point {
	size_t n;
	size_t at[MOST_TAPS];
	double weights[MOST_TAPS];
};

/* The same for one axis; -1 is outside. */
struct line {
	unsigned n;
	int64_t at[4];
	double weights[4];
};

static double
denormalize(const struct sample *s, double g, int64_t n)
{
	return s->align_corners ? (g + 1) / 2 * (double)(n - 1)
				: ((g + 1) * (double)n - 1) / 2;
}

/* As a mirror at both ends would show it. */
static double
reflect(double x, double least, double most)
{
	double range = most - least, beyond;

	if (x >= least && x <= most)
		return x;
	if (range <= 0)
		return least;
	beyond = fmod(x < least ? least - x : x - most, 2 * range);
	if (beyond > range)
		return x < least ? most - (beyond - range)
				 : least + (beyond - range);
	return x < least ? least + beyond : most - beyond;
}

/* The ends of an axis of n elements. */
static double
lower_end(const struct sample *s)
{
	return s->align_corners ? 0 : -0.5;
}

static double
upper_end(const struct sample *s, int64_t n)
{
	return (double)n - (s->align_corners ? 1 : 0.5);
}

static double
hold(double x, double least, double most)
{
	return !(x > least) ? least : x > most ? most : x;
}

/* Positions outside of the axis, by the padding; one that is no number is. */
static double
bring_inside(const struct sample *s, double x, int64_t n)
{
	double least = lower_end(s), most = upper_end(s, n);

	if (s->padding == ZEROS)
		return x == x ? x : -0x1p40;
	if (x >= least && x <= most)
		return x;
	if (s->padding == BORDER || !(fabs(x) < INFINITY))
		return hold(x, 0, (double)(n - 1));
	return reflect(x, least, most);
}

/* The element at a whole position. */
static int64_t
tap_at(const struct sample *s, double i, int64_t n)
{
	if (i >= 0 && i < (double)n)
		return (int64_t)i;
	if (s->padding == ZEROS)
		return -1;
	if (s->padding == REFLECTION)
		i = reflect(i, lower_end(s), upper_end(s, n));
	return (int64_t)hold(i, 0, (double)(n - 1));
}

static void
find_line(const struct sample *s, double g, int64_t n, struct line *line)
{
	double x = denormalize(s, g, n), low;

	if (s->mode == TPI_NEAREST)
		x = rint(x);
	x = bring_inside(s, x, n);
	low = floor(x);
	line->n = s->mode == TPI_NEAREST ? 1 : s->mode == TPI_LINEAR ? 2 : 4;
	if (s->mode == TPI_CUBIC)
		low--;
	for (unsigned t = 0; t < line->n; t++) {
		double d = low + t - x;

		line->at[t] = tap_at(s, low + t, n);
		line->weights[t] = s->mode == TPI_NEAREST ? 1
				   : s->mode == TPI_LINEAR
				       ? 1 - fabs(d)
				       : tpi_cubic(-0.75, d);
	}
}

/* Products of the taps of all axes, those that are inside. */
static void
find_point(const struct sample *s, const double *g, struct point *p)
{
	struct line lines[MOST_AXES];
	size_t n_all = 1;

	for (unsigned d = 0; d < s->rank; d++) {
		find_line(s, g[s->rank - 1 - d], s->sizes[d], &lines[d]);
		n_all *= lines[d].n;
	}
	p->n = 0;
	for (size_t k = 0; k < n_all; k++) {
		size_t rest = k, at = 0, stride = 1;
		double w = 1;
		bool inside = true;

		for (unsigned d = s->rank; d-- > 0;) {
			const struct line *line = &lines[d];
			unsigned t = (unsigned)(rest % line->n);

			rest /= line->n;
			inside = inside && line->at[t] >= 0;
			at += inside ? (size_t)line->at[t] * stride : 0;
			stride *= (size_t)s->sizes[d];
			w *= line->weights[t];
		}
		if (!inside || w == 0)
			continue;
		p->at[p->n] = at;
		p->weights[p->n++] = w;
	}
}

static void
blend_point(
    const struct sample *s, const struct point *p, const char *x, char *y)
{
	for (size_t c = 0; c < s->n_planes; c++) {
		const double *plane =
		    (const double *)(const void *)x + c * s->x_plane;
		double sum = 0;

		for (size_t t = 0; t < p->n; t++)
			sum += p->weights[t] * plane[p->at[t]];
		((double *)(void *)y)[c * s->y_plane] = sum;
	}
}

/* Outside is a zero of whatever dtype, the empty string among strings. */
static void
move_point(
    const struct sample *s, const struct point *p, const char *x, char *y)
{
	static const char zero[16];

	for (size_t c = 0; c < s->n_planes; c++) {
		const char *plane = x + c * s->x_plane * s->size;

		memcpy(y + c * s->y_plane * s->size,
		    p->n ? plane + p->at[0] * s->size : zero, s->size);
	}
}

static void
sample_part(void *ctx, size_t part)
{
	const struct sample *s = ctx;
	struct tpi_share mine =
	    tpi_share(s->n_images * s->y_plane, s->n_parts, part);
	struct point p;

	for (size_t k = (size_t)mine.from; k < mine.end; k++) {
		size_t image = k / s->y_plane, o = k % s->y_plane;
		size_t x = image * s->n_planes * s->x_plane;
		size_t y = image * s->n_planes * s->y_plane + o;

		find_point(s, s->grid + k * s->rank, &p);
		(s->mode == TPI_NEAREST ? move_point : blend_point)(
		    s, &p, s->x + x * s->size, s->y + y * s->size);
	}
}

static enum tp_status
read_attrs(const struct tpi_call *c, struct sample *s, struct tp_err *err)
{
	/* Those of opset 20 on, and before. */
	static const char *const modes[] = {
	    "nearest", "linear", "cubic", "bilinear", "bicubic"};
	static const char *const paddings[] = {"zeros", "border", "reflection"};
	unsigned mode = 0, padding = 0;
	enum tp_status rc =
	    tpi_attr_choice(c, "mode", modes, 5, TPI_LINEAR, &mode, err);

	if (!rc)
		rc = tpi_attr_choice(
		    c, "padding_mode", paddings, 3, ZEROS, &padding, err);
	s->mode = (enum tpi_resample_mode)(mode > 2 ? mode - 2 : mode);
	s->padding = (enum padding)padding;
	s->align_corners = tpi_attr_int(c, "align_corners", 0) != 0;
	return rc;
}

static enum tp_status
check_shapes(
    const struct tpi_call *c, const struct sample *s, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *grid = c->in[1];
	const int64_t *sizes = tp_tensor_sizes(x), *g = tp_tensor_sizes(grid);
	unsigned most = c->op->since < 20 ? 4 : 2 + MOST_AXES;

	if (!tpi_float_dtypes[grid->dtype])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the grid has dtype %s, expected a float", c->op->onnx,
		    tp_dtype_name(grid->dtype));
	if (x->rank < 3 || x->rank > most || grid->rank != x->rank ||
	    g[0] != sizes[0] || g[grid->rank - 1] != x->rank - 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: an input of shape %s and a grid of shape %s",
		    c->op->onnx, TP_SHAPE_TEXT(sizes, x->rank),
		    TP_SHAPE_TEXT(g, grid->rank));
	for (unsigned d = 2; d < x->rank; d++)
		if (sizes[d] == 0)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: axis %u has no elements", c->op->onnx, d);
	if (s->mode != TPI_NEAREST &&
	    (tpi_is_strings(c, 0) || tpi_op_widens(c) ||
		tp_dtype_kind(x->dtype) == TP_KIND_COMPLEX ||
		tp_dtype_kind(x->dtype) == TP_KIND_BOOL))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s of dtype %s; that is implemented for the nearest "
		    "elements alone",
		    c->op->onnx, tp_dtype_name(c->moves));
	return TP_OK;
}

static enum tp_status
infer_sample(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct sample s;
	enum tp_status rc = read_attrs(c, &s, err);

	if (!rc)
		rc = check_shapes(c, &s, err);
	infos[0] = tpi_info_of(c->in[0]);
	for (unsigned d = 2; d < infos[0].rank && !rc; d++)
		infos[0].sizes[d] = tp_tensor_sizes(c->in[1])[d - 1];
	return rc;
}

static void
set_shapes(const struct tpi_call *c, struct sample *s)
{
	const struct tp_tensor *x = c->in[0];
	const int64_t *sizes = tp_tensor_sizes(x);

	s->rank = x->rank - 2;
	s->n_images = (size_t)sizes[0];
	s->n_planes = (size_t)sizes[1];
	s->x_plane = s->y_plane = 1;
	for (unsigned d = 0; d < s->rank; d++) {
		s->sizes[d] = sizes[2 + d];
		s->x_plane *= (size_t)sizes[2 + d];
		s->y_plane *= (size_t)tp_tensor_sizes(c->out[0])[2 + d];
	}
}

/* x, y: what is sampled, and where it goes. */
static enum tp_status
sample_all(struct tpi_call *c, struct sample *s, const struct tp_tensor *x,
    struct tp_tensor *y, struct tp_err *err)
{
	const struct tp_tensor *g = c->in[1];
	struct tp_tensor *grid = NULL;
	enum tp_status rc =
	    tpi_op_doubles(c, g, tp_tensor_sizes(g), g->rank, &grid, err);

	if (rc)
		return rc;
	set_shapes(c, s);
	s->grid = tp_tensor_data(grid);
	s->x = tp_tensor_data(x);
	s->y = tp_tensor_data_mut(y);
	s->size = tpi_element_size(x);
	s->n_parts = tpi_op_parts(c, y->n_elems * 4, s->n_images * s->y_plane);
	tp_parallel(c->n_threads, s->n_parts, sample_part, s);
	tp_tensor_free(grid);
	return TP_OK;
}

static enum tp_status
run_nearest(struct tpi_call *c, struct sample *s, struct tp_err *err)
{
	struct tp_tensor *x = NULL;
	enum tp_status rc = tp_tensor_contiguous(c->in[0], &x, err);

	if (!rc)
		rc = sample_all(c, s, x, c->out[0], err);
	tp_tensor_free(x);
	return rc;
}

static enum tp_status
run_blend(struct tpi_call *c, struct sample *s, struct tp_err *err)
{
	const struct tp_tensor *in = c->in[0];
	struct tp_tensor *x = NULL, *y = NULL;
	enum tp_status rc =
	    tpi_op_doubles(c, in, tp_tensor_sizes(in), in->rank, &x, err);

	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, tp_tensor_sizes(c->out[0]),
		    in->rank, &y, err);
	if (!rc)
		rc = sample_all(c, s, x, y, err);
	if (!rc)
		rc = tp_tensor_assign(c->out[0], y, TP_OVERFLOW_INF, err);
	tp_tensor_free(x);
	tp_tensor_free(y);
	return rc;
}

static enum tp_status
run_sample(struct tpi_call *c, struct tp_err *err)
{
	struct sample s;
	enum tp_status rc = read_attrs(c, &s, err);

	if (rc || c->out[0]->n_elems == 0)
		return rc;
	return s.mode == TPI_NEAREST ? run_nearest(c, &s, err)
				     : run_blend(c, &s, err);
}

static const struct tpi_attr_spec sample_attrs[] = {
    {"align_corners", TP_ATTR_INT}, {"mode", TP_ATTR_STRING},
    {"padding_mode", TP_ATTR_STRING}, {NULL, 0}};

#define ROW(from, to)                                                          \
	{                                                                      \
		.name = "grid_sample", .onnx = "GridSample", .since = from,    \
		.until = to, .min_in = 2, .max_in = 2, .min_out = 1,           \
		.max_out = 1, .flags = TPI_OP_MOVES, .strings_in = TPI_BIT(0), \
		.strings_out = TPI_BIT(0), .attrs = sample_attrs,              \
		.infer = infer_sample, .run = run_sample                       \
	}

const struct tp_op tpi_grid_sample_ops[] = {
    ROW(20, 0),
    ROW(16, 19),
    {.name = NULL},
};
