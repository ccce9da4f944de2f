/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize.c - Resize, Upsample: axes resampled one after the other
 *
 *	operator	opset	inputs			scales from
 *	Upsample	1	X			height_scale, width_scale
 *	Upsample	7	X			attribute scales
 *	Upsample	9	X, scales		input 1
 *	Resize		10	X, scales		input 1
 *	Resize		11 on	X, roi, scales, sizes	input 2, or from sizes
 *
 * The nearest elements are moved, whatever they are; numbers are blended in f64
 * and rounded once.
 */
#include "resample.h"

#include <inttypes.h>
#include <math.h>

#include "tp/convert.h"
#include "tp/layout.h"

#include "../tensor.h"
#include "chunk.h"
#include "moves.h"

#include "../banned.h"

struct resize {
	struct tpi_resample r;
	double filler; /* of what lies outside of the input */
	unsigned n;    /* axes that are spoken of */
	unsigned which[TP_MAX_RANK];
	struct tpi_resample_axis axes[TP_MAX_RANK]; /* all of X */
};

enum policy { STRETCH, NOT_LARGER, NOT_SMALLER };

static bool
is_upsample(const struct tpi_call *c)
{
	return c->op->onnx[0] == 'U';
}

/* Before opset 11 coordinates are x / scale, rounded down. */
static enum tp_status
read_mode(const struct tpi_call *c, struct tpi_resample *r, struct tp_err *err)
{
	static const char *const modes[] = {"nearest", "linear", "cubic"};
	static const char *const old_modes[] = {
	    "nearest", "linear", "bilinear", "trilinear"};
	static const char *const roundings[] = {
	    "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
	const char *coordinates[] = {"half_pixel", NULL, "pytorch_half_pixel",
	    "align_corners", "asymmetric", "tf_crop_and_resize", NULL};
	unsigned mode = 0, from = TPI_HALF_PIXEL, nearest = 0;
	enum tp_status rc;

	*r = (struct tpi_resample){
	    .coordinates = TPI_ASYMMETRIC, .nearest = TPI_FLOOR};
	if (c->op->since < 11) {
		rc = tpi_attr_choice(c, "mode", old_modes, 4, 0, &mode, err);
		r->mode = mode ? TPI_LINEAR : TPI_NEAREST;
		return rc;
	}
	if (c->op->since < 13)
		coordinates[TPI_TF_HALF_PIXEL_NEAREST] = "tf_half_pixel_for_nn";
	if (c->op->since >= 19)
		coordinates[TPI_HALF_PIXEL_SYMMETRIC] = "half_pixel_symmetric";
	rc = tpi_attr_choice(c, "mode", modes, 3, 0, &mode, err);
	if (!rc)
		rc = tpi_attr_choice(c, "coordinate_transformation_mode",
		    coordinates, 7, TPI_HALF_PIXEL, &from, err);
	if (!rc)
		rc = tpi_attr_choice(
		    c, "nearest_mode", roundings, 4, 0, &nearest, err);
	r->mode = (enum tpi_resample_mode)mode;
	r->coordinates = (enum tpi_coordinates)from;
	r->nearest = (enum tpi_nearest)nearest;
	r->a = tpi_attr_float(c, "cubic_coeff_a", -0.75);
	r->exclude_outside =
	    r->mode == TPI_CUBIC && tpi_attr_int(c, "exclude_outside", 0) != 0;
	r->antialias = tpi_attr_int(c, "antialias", 0) != 0;
	return rc;
}

/* The axes that scales, sizes and roi are about: all, or those named. */
static enum tp_status
read_axes(const struct tpi_call *c, struct resize *z, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "axes");
	unsigned rank = c->in[0]->rank;
	bool taken[TP_MAX_RANK] = {false};
	enum tp_status rc = TP_OK;

	z->n = a ? 0 : rank;
	for (unsigned d = 0; d < rank; d++)
		z->which[d] = d;
	for (size_t i = 0; a && i < a->n && !rc; i++) {
		unsigned d = 0;

		rc = tpi_op_axis(c, a->ints[i], rank, &d, err);
		if (!rc && taken[d])
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: axis %u comes twice", c->op->onnx, d);
		if (rc)
			return rc;
		taken[d] = true;
		z->which[z->n++] = d;
	}
	return TP_OK;
}

/* By attributes of Upsample, or from an input; n is 0 if that is absent. */
static enum tp_status
read_scales(
    const struct tpi_call *c, double *scales, size_t *n, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "scales");

	if (c->op->max_in > 1)
		return tpi_numbers_input(
		    c, c->op->max_in > 2 ? 2 : 1, scales, TP_MAX_RANK, n, err);
	if (c->op->since == 1) {
		scales[0] = scales[1] = 1;
		scales[2] = tpi_attr_float(c, "height_scale", NAN);
		scales[3] = tpi_attr_float(c, "width_scale", NAN);
		*n = 4;
		return TP_OK;
	}
	*n = a ? a->n : 0;
	if (*n > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: scales has %zu elements, the largest rank is %u",
		    c->op->onnx, *n, TP_MAX_RANK);
	for (size_t i = 0; i < *n; i++)
		scales[i] = a->floats[i];
	return TP_OK;
}

static enum tp_status
check_count(const struct tpi_call *c, const struct resize *z, const char *what,
    size_t n, size_t each, struct tp_err *err)
{
	if (n != z->n * each)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has %zu elements, expected %zu", c->op->onnx, what,
		    n, z->n * each);
	return TP_OK;
}

static enum tp_status
set_scale(const struct tpi_call *c, struct tpi_resample_axis *axis,
    double scale, struct tp_err *err)
{
	axis->scale = scale;
	axis->length = scale * (double)axis->in;
	if (!(scale > 0) || !(axis->length < 0x1p62) ||
	    (is_upsample(c) && scale < 1))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: scale %g of an axis of size %" PRId64, c->op->onnx,
		    scale, axis->in);
	return TP_OK;
}

static enum tp_status
apply_scales(const struct tpi_call *c, struct resize *z, const double *scales,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (unsigned i = 0; i < z->n && !rc; i++) {
		struct tpi_resample_axis *axis = &z->axes[z->which[i]];

		rc = set_scale(c, axis, scales[i], err);
		if (!rc)
			axis->out = (int64_t)floor(axis->length);
	}
	return rc;
}

static enum tp_status
set_size(const struct tpi_call *c, struct tpi_resample_axis *axis, int64_t size,
    struct tp_err *err)
{
	if (size < 0 || (size && axis->in == 0))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: size %" PRId64 " for an axis of size %" PRId64,
		    c->op->onnx, size, axis->in);
	axis->out = size;
	axis->length = (double)size;
	axis->scale = axis->in ? (double)size / (double)axis->in : 1;
	return TP_OK;
}

/* All scales are like the smallest or the largest. */
static enum tp_status
keep_aspect(const struct tpi_call *c, struct resize *z, enum policy policy,
    struct tp_err *err)
{
	double scale = policy == NOT_LARGER ? INFINITY : 0;
	enum tp_status rc = TP_OK;

	for (unsigned i = 0; i < z->n; i++) {
		double s = z->axes[z->which[i]].scale;

		if (policy == NOT_LARGER ? s < scale : s > scale)
			scale = s;
	}
	for (unsigned i = 0; i < z->n && !rc; i++) {
		struct tpi_resample_axis *axis = &z->axes[z->which[i]];

		rc = set_scale(c, axis, scale, err);
		if (!rc)
			axis->out = (int64_t)floor(axis->length + 0.5);
	}
	return rc;
}

static enum tp_status
apply_sizes(const struct tpi_call *c, struct resize *z, const int64_t *sizes,
    struct tp_err *err)
{
	static const char *const policies[] = {
	    "stretch", "not_larger", "not_smaller"};
	unsigned policy = STRETCH;
	enum tp_status rc = tpi_attr_choice(
	    c, "keep_aspect_ratio_policy", policies, 3, STRETCH, &policy, err);

	for (unsigned i = 0; i < z->n && !rc; i++)
		rc = set_size(c, &z->axes[z->which[i]], sizes[i], err);
	if (!rc && policy != STRETCH)
		rc = keep_aspect(c, z, (enum policy)policy, err);
	return rc;
}

/* Starts of all axes, then ends. */
static enum tp_status
read_crop(const struct tpi_call *c, struct resize *z, struct tp_err *err)
{
	double roi[2 * TP_MAX_RANK];
	size_t n = 0;
	enum tp_status rc =
	    tpi_numbers_input(c, 1, roi, 2 * TP_MAX_RANK, &n, err);

	if (!rc)
		rc = check_count(c, z, "roi", n, 2, err);
	for (unsigned i = 0; i < z->n && !rc; i++) {
		z->axes[z->which[i]].start = roi[i];
		z->axes[z->which[i]].end = roi[z->n + i];
	}
	return rc;
}

static enum tp_status
read_lengths(const struct tpi_call *c, struct resize *z, struct tp_err *err)
{
	double scales[TP_MAX_RANK];
	int64_t sizes[TP_MAX_RANK];
	size_t n_scales = 0, n_sizes = 0;
	bool given = false;
	enum tp_status rc = read_scales(c, scales, &n_scales, err);

	if (!rc && c->op->max_in > 3)
		rc = tpi_int_list(c, "sizes", 3, sizes, &n_sizes, &given, err);
	if (!rc && n_scales && n_sizes)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: both scales and sizes are given", c->op->onnx);
	if (rc)
		return rc;
	rc = check_count(c, z, n_sizes ? "sizes" : "scales",
	    n_sizes ? n_sizes : n_scales, 1, err);
	if (!rc)
		rc = n_sizes ? apply_sizes(c, z, sizes, err)
			     : apply_scales(c, z, scales, err);
	return rc;
}

static enum tp_status
read_resize(const struct tpi_call *c, struct resize *z, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	enum tp_status rc = read_mode(c, &z->r, err);

	z->filler = tpi_attr_float(c, "extrapolation_value", 0);
	for (unsigned d = 0; d < x->rank; d++) {
		int64_t n = tp_tensor_sizes(x)[d];

		z->axes[d] = (struct tpi_resample_axis){.in = n,
		    .out = n,
		    .scale = 1,
		    .length = (double)n,
		    .start = 0,
		    .end = 1};
	}
	if (!rc)
		rc = read_axes(c, z, err);
	if (!rc)
		rc = read_lengths(c, z, err);
	if (!rc && z->r.coordinates == TPI_CROP)
		rc = read_crop(c, z, err);
	return rc;
}

static enum tp_status
infer_resize(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct resize z;
	enum tp_dtype_kind kind = tp_dtype_kind(c->in[0]->dtype);
	enum tp_status rc = read_resize(c, &z, err);

	if (!rc && z.r.mode != TPI_NEAREST &&
	    (tpi_is_strings(c, 0) || tpi_op_widens(c) ||
		kind == TP_KIND_COMPLEX || kind == TP_KIND_BOOL))
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s of dtype %s; that is implemented for the nearest "
		    "elements alone",
		    c->op->onnx, tp_dtype_name(c->moves));
	if (rc)
		return rc;
	infos[0] = tpi_info_of(c->in[0]);
	for (unsigned d = 0; d < infos[0].rank; d++)
		infos[0].sizes[d] = z.axes[d].out;
	return TP_OK;
}

/* The positions in the input of all outputs, axis by axis. */
static enum tp_status
run_nearest(struct tpi_call *c, const struct resize *z, struct tp_err *err)
{
	struct tpi_pick_axis picks[TP_MAX_RANK];
	unsigned char filler[16] = {0};
	unsigned rank = c->in[0]->rank;
	size_t n_all = 0, at = 0;
	enum tp_status rc = TP_OK;
	int64_t *from;

	/* y was allocated with at least as many elements. */
	for (unsigned d = 0; d < rank; d++)
		n_all += (size_t)z->axes[d].out;
	from = tpi_op_scratch(c, n_all, sizeof(*from));
	if (!from)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu positions", c->op->onnx, n_all);
	for (unsigned d = 0; d < rank; d++) {
		picks[d] = (struct tpi_pick_axis){z->axes[d].out, from + at};
		for (int64_t o = 0; o < z->axes[d].out; o++)
			from[at++] =
			    tpi_resample_nearest(&z->r, &z->axes[d], o);
	}
	if (!tpi_is_strings(c, 0) && z->filler != 0)
		rc = tp_convert(c->out[0]->dtype, filler, TP_DTYPE_F64,
		    &z->filler, 1, TP_OVERFLOW_INF, 0, NULL, err);
	if (!rc)
		rc = tpi_pick(c, c->in[0], picks, filler, c->out[0], err);
	tp_mem_free(c->alloc, from, n_all, sizeof(*from));
	return rc;
}

/* Has the axis to be looked at? */
static bool
changes(const struct resize *z, unsigned d)
{
	const struct tpi_resample_axis *a = &z->axes[d];

	return a->in != a->out || a->scale != 1 || a->start != 0 || a->end != 1;
}

/* Axes that shrink come first: there is never more than the larger of x, y. */
static enum tp_status
resample_axes(const struct tpi_call *c, const struct resize *z, bool shrinking,
    struct tp_tensor **x, struct tp_err *err)
{
	unsigned rank = (*x)->rank;
	enum tp_status rc = TP_OK;

	for (unsigned d = 0; d < rank && !rc; d++) {
		const struct tpi_resample_axis *axis = &z->axes[d];
		struct tp_tensor *y = NULL;

		if (!changes(z, d) || (axis->out < axis->in) != shrinking)
			continue;
		rc = tpi_resample_along(c, &z->r, axis, d, *x, &y, err);
		tp_tensor_free(*x);
		*x = y;
	}
	return rc;
}

static enum tp_status
run_blend(struct tpi_call *c, const struct resize *z, struct tp_err *err)
{
	const struct tp_tensor *in = c->in[0];
	struct tp_tensor *x = NULL;
	enum tp_status rc =
	    tpi_op_doubles(c, in, tp_tensor_sizes(in), in->rank, &x, err);

	if (!rc)
		rc = resample_axes(c, z, true, &x, err);
	if (!rc)
		rc = resample_axes(c, z, false, &x, err);
	for (unsigned d = 0; d < in->rank && !rc; d++)
		tpi_resample_fill(&z->r, &z->axes[d], d, z->filler, x);
	if (!rc)
		rc = tp_tensor_assign(c->out[0], x, TP_OVERFLOW_INF, err);
	tp_tensor_free(x);
	return rc;
}

static enum tp_status
run_resize(struct tpi_call *c, struct tp_err *err)
{
	struct resize z;
	enum tp_status rc = read_resize(c, &z, err);

	if (rc || c->out[0]->n_elems == 0)
		return rc;
	return z.r.mode == TPI_NEAREST ? run_nearest(c, &z, err)
				       : run_blend(c, &z, err);
}

/* clang-format off */
#define ATTRS(name) static const struct tpi_attr_spec name[]
#define MODE {"mode", TP_ATTR_STRING}
#define RESIZE_11_ATTRS MODE, \
	{"coordinate_transformation_mode", TP_ATTR_STRING}, \
	{"cubic_coeff_a", TP_ATTR_FLOAT}, {"exclude_outside", TP_ATTR_INT}, \
	{"extrapolation_value", TP_ATTR_FLOAT}, {"nearest_mode", TP_ATTR_STRING}
ATTRS(upsample_1_attrs) = {MODE, {"height_scale", TP_ATTR_FLOAT},
    {"width_scale", TP_ATTR_FLOAT}, {NULL, 0}};
ATTRS(upsample_7_attrs) = {MODE, {"scales", TP_ATTR_FLOATS}, {NULL, 0}};
ATTRS(mode_attrs) = {MODE, {NULL, 0}};
ATTRS(resize_11_attrs) = {RESIZE_11_ATTRS, {NULL, 0}};
ATTRS(resize_18_attrs) = {RESIZE_11_ATTRS, {"antialias", TP_ATTR_INT},
    {"axes", TP_ATTR_INTS}, {"keep_aspect_ratio_policy", TP_ATTR_STRING},
    {NULL, 0}};
/* clang-format on */

#define ROW(op, onnx_name, from, to, least, most, spec)                      \
	{                                                                    \
		.name = op, .onnx = onnx_name, .since = from, .until = to,   \
		.min_in = least, .max_in = most, .min_out = 1, .max_out = 1, \
		.flags = TPI_OP_MOVES, .strings_in = TPI_BIT(0),             \
		.strings_out = TPI_BIT(0), .attrs = spec,                    \
		.infer = infer_resize, .run = run_resize                     \
	}

/* Exporters leave roi out before opset 13 too. */
const struct tp_op tpi_resize_ops[] = {
    ROW("resize", "Resize", 19, 0, 1, 4, resize_18_attrs),
    ROW("resize", "Resize", 18, 18, 1, 4, resize_18_attrs),
    ROW("resize", "Resize", 13, 17, 1, 4, resize_11_attrs),
    ROW("resize", "Resize", 11, 12, 1, 4, resize_11_attrs),
    ROW("resize", "Resize", 10, 10, 2, 2, mode_attrs),
    ROW("upsample", "Upsample", 9, 9, 2, 2, mode_attrs),
    ROW("upsample", "Upsample", 7, 8, 1, 1, upsample_7_attrs),
    ROW("upsample", "Upsample", 1, 6, 1, 1, upsample_1_attrs),
    {.name = NULL},
};
