/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/resize.c, resample.c, grid_sample.c, affine_grid.c, roi_align.c: values
 * worked out by hand from the formulas of each mode, and what is refused
 */
#include "support/fail_alloc.h"
#include "support/op_calls.h"

#define MODE(name) ATTR_STRING("mode", name)
#define FROM(name) ATTR_STRING("coordinate_transformation_mode", name)

struct setting {
	const char *key;
	enum tp_attr_kind kind;
	const char *text;
	double number;
};

/* One row x resized by scale (unless 0) or to size, with up to 5 attributes. */
struct row_case {
	const char *what;
	int opset;
	struct setting settings[5];
	double x[6];
	int64_t n;
	double scale;
	int64_t size;
	double roi[2];
	double y[8];
	int64_t n_y;
};

static const struct row_case rows[] = {
    {"half pixels", 13, {{"mode", TP_ATTR_STRING, "linear", 0}}, {1, 2}, 2, 2,
	0, {0}, {1, 1.25, 1.75, 2}, 4},
    {"corners", 13,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING, "align_corners",
		0}},
	{0, 3}, 2, 0, 4, {0}, {0, 1, 2, 3}, 4},
    {"asymmetric", 13,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING, "asymmetric",
		0}},
	{0, 2}, 2, 2, 0, {0}, {0, 1, 2, 2}, 4},
    {"one of three", 13, {{"mode", TP_ATTR_STRING, "linear", 0}}, {5, 7, 9}, 3,
	0, 1, {0}, {7}, 1},
    {"one as PyTorch", 13,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING,
		"pytorch_half_pixel", 0}},
	{5, 7, 9}, 3, 0, 1, {0}, {5}, 1},
    {"one at the corner", 13,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING, "align_corners",
		0}},
	{5, 7, 9}, 3, 0, 1, {0}, {5}, 1},
    /* 2.5 elements become 2: half an element goes at each end. */
    {"symmetric", 19,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING,
		"half_pixel_symmetric", 0}},
	{0, 1, 2, 3, 4}, 5, 0.5, 0, {0}, {1, 3}, 2},
    {"cropped", 13,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING,
		"tf_crop_and_resize", 0},
	    {"extrapolation_value", TP_ATTR_FLOAT, NULL, 10}},
	{0, 1, 2, 3, 4}, 5, 0, 3, {0.5, 1.5}, {2, 4, 10}, 3},
    {"cropped, nearest", 13,
	{{"coordinate_transformation_mode", TP_ATTR_STRING,
	     "tf_crop_and_resize", 0},
	    {"extrapolation_value", TP_ATTR_FLOAT, NULL, 10}},
	{0, 1, 2, 3, 4}, 5, 0, 3, {-0.25, 0.75}, {10, 1, 3}, 3},
    {"cropped to one", 11,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING,
		"tf_crop_and_resize", 0}},
	{0, 1, 2, 3, 4}, 5, 0, 1, {0.25, 0.75}, {2}, 1},
    {"half down", 13,
	{{"coordinate_transformation_mode", TP_ATTR_STRING, "asymmetric", 0}},
	{0, 1}, 2, 2, 0, {0}, {0, 0, 1, 1}, 4},
    {"half up", 13,
	{{"coordinate_transformation_mode", TP_ATTR_STRING, "asymmetric", 0},
	    {"nearest_mode", TP_ATTR_STRING, "round_prefer_ceil", 0}},
	{0, 1}, 2, 2, 0, {0}, {0, 1, 1, 1}, 4},
    {"floor", 13,
	{{"coordinate_transformation_mode", TP_ATTR_STRING, "asymmetric", 0},
	    {"nearest_mode", TP_ATTR_STRING, "floor", 0}},
	{0, 1}, 2, 4, 0, {0}, {0, 0, 0, 0, 1, 1, 1, 1}, 8},
    {"ceil", 13,
	{{"coordinate_transformation_mode", TP_ATTR_STRING, "asymmetric", 0},
	    {"nearest_mode", TP_ATTR_STRING, "ceil", 0}},
	{0, 1}, 2, 4, 0, {0}, {0, 1, 1, 1, 1, 1, 1, 1}, 8},
    {"half pixels of TensorFlow", 11,
	{{"coordinate_transformation_mode", TP_ATTR_STRING,
	    "tf_half_pixel_for_nn", 0}},
	{0, 1, 2, 3}, 4, 0.5, 0, {0}, {1, 3}, 2},
    /* Weights at a half, a = -3/4: -3/32, 19/32, 19/32, -3/32. */
    {"cubic", 13,
	{{"mode", TP_ATTR_STRING, "cubic", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING, "asymmetric",
		0}},
	{1, 2, 4, 8}, 4, 2, 0, {0},
	{1, 1.3125, 2, 2.71875, 4, 6.1875, 8, 8.375}, 8},
    {"cubic inside", 13,
	{{"mode", TP_ATTR_STRING, "cubic", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING, "asymmetric", 0},
	    {"exclude_outside", TP_ATTR_INT, NULL, 1}},
	{1, 2, 4, 8}, 4, 2, 0, {0},
	{1, 45. / 35, 2, 2.71875, 4, (-3. * 2 + 19 * 4 + 19 * 8) / 35, 8,
	    (-3. * 4 + 19 * 8) / 16},
	8},
    /* Weights at a half, a = -1/2: -1/16, 9/16, 9/16, -1/16. */
    {"cubic of -1/2", 13,
	{{"mode", TP_ATTR_STRING, "cubic", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING, "asymmetric", 0},
	    {"cubic_coeff_a", TP_ATTR_FLOAT, NULL, -0.5}},
	{0, 0, 16, 0}, 4, 2, 0, {0}, {0, -1, 0, 9, 16, 9, 0, -1}, 8},
    /* Weights 1, 3, 3, 1 of 8 around the middle of two. */
    {"antialiased", 18,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"antialias", TP_ATTR_INT, NULL, 1}},
	{0, 4, 8, 12}, 4, 0.5, 0, {0}, {2.5, 9.5}, 2},
    {"antialiased, growing", 18,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"antialias", TP_ATTR_INT, NULL, 1}},
	{1, 2}, 2, 2, 0, {0}, {1, 1.25, 1.75, 2}, 4},
    {"infinity next door", 13,
	{{"mode", TP_ATTR_STRING, "linear", 0},
	    {"coordinate_transformation_mode", TP_ATTR_STRING, "asymmetric",
		0}},
	{INFINITY, 1}, 2, 2, 0, {0}, {INFINITY, INFINITY, 1, 1}, 4},
    {"opset 10", 10, {{"mode", TP_ATTR_STRING, "linear", 0}}, {0, 2}, 2, 2, 0,
	{0}, {0, 1, 2, 2}, 4},
    {"opset 10, nearest", 10, {{"mode", TP_ATTR_STRING, "nearest", 0}},
	{0, 1, 2, 3, 4}, 5, 0.6, 0, {0}, {0, 1, 3}, 3},
};

static size_t
make_attrs(const struct setting *settings, struct tp_attr *attrs)
{
	size_t n = 0;

	for (; n < 5 && settings[n].key; n++) {
		const struct setting *s = &settings[n];
		struct tp_attr *a = &attrs[n];

		*a = (struct tp_attr){.name = tp_str(s->key), .kind = s->kind};
		if (s->kind == TP_ATTR_STRING)
			a->s = tp_str(s->text);
		else if (s->kind == TP_ATTR_INT)
			a->i = (int64_t)s->number;
		else
			a->f = s->number;
	}
	return n;
}

static void
check_row(const struct row_case *r, enum tp_dtype dtype)
{
	struct tp_tensor *x = op_tensor(dtype, &r->n, 1, r->x, (size_t)r->n);
	struct tp_tensor *scales =
	    r->scale != 0 ? F32(DIMS(1), r->scale) : NULL;
	struct tp_tensor *sizes =
	    r->scale != 0 ? NULL : I64(DIMS(1), (double)r->size);
	struct tp_tensor *roi = F32(DIMS(2), r->roi[0], r->roi[1]);
	struct tp_tensor *in[] = {x, roi, scales, sizes};
	struct tp_tensor *old[] = {x, scales}, *y;
	struct tp_attr attrs[5];
	size_t n_attrs = make_attrs(r->settings, attrs);

	/* An empty list is as good as none. */
	if (!scales)
		in[2] = EMPTY(TP_DTYPE_F32, DIMS(0));
	if (r->opset == 10) {
		tp_tensor_free(roi);
		y = op_result("Resize", 10, attrs, n_attrs, old, 2);
	} else {
		y = op_result("Resize", r->opset, attrs, n_attrs, in, 4);
	}
	check_tensor(y, dtype, &r->n_y, 1, r->y, (size_t)r->n_y,
	    dtype == TP_DTYPE_F64 ? 1e-14 : 1e-7);
}

static void
rows_are_what_formulas_say(void **state)
{
	(void)state;
	for (size_t k = 0; k < COUNT_OF(rows); k++) {
		check_row(&rows[k], TP_DTYPE_F32);
		check_row(&rows[k], TP_DTYPE_F64);
	}
}

/* Axes are resized one by one; an outer product stays one. */
static void
axes_do_not_mix(void **state)
{
	struct tp_tensor *y = op_result("Resize", 18,
	    ATTRS(MODE("linear"), ATTR_INTS("axes", 2, -3)),
	    INPUTS(
		F32(DIMS(2, 1, 2), 10, 20, 30, 60), NULL, F32(DIMS(2), 2, 2)));

	(void)state;
	check_tensor(y, TP_DTYPE_F32, DIMS(4, 1, 4),
	    NUMBERS(10, 12.5, 17.5, 20, 15, 18.75, 26.25, 30, 25, 31.25, 43.75,
		50, 30, 37.5, 52.5, 60),
	    0);
}

static void
ratios_may_be_kept(void **state)
{
	const struct {
		const char *policy;
		int64_t h, w;
	} cases[] = {
	    {"stretch", 7, 8}, {"not_larger", 4, 8}, {"not_smaller", 7, 14}};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(cases); k++) {
		const struct tp_attr policy = {
		    .name = TP_STR("keep_aspect_ratio_policy"),
		    .kind = TP_ATTR_STRING,
		    .s = tp_str(cases[k].policy)};
		struct tp_tensor *y = op_result("Resize", 18, &policy, 1,
		    INPUTS(I32(DIMS(2, 4), 1, 2, 3, 4, 5, 6, 7, 8), NULL, NULL,
			I64(DIMS(2), 7, 8)));
		assert_int_equal(tp_tensor_sizes(y)[0], cases[k].h);
		assert_int_equal(tp_tensor_sizes(y)[1], cases[k].w);
		tp_tensor_free(y);
	}
}

/* Nearest ones are moved as they are; blended integers round and are held. */
static void
any_dtype_has_nearest_elements(void **state)
{
	(void)state;
	for (int d = 0; d < TP_DTYPE_COUNT; d++) {
		enum tp_dtype dtype = (enum tp_dtype)d;
		struct tp_tensor *y;

		if (tp_dtype_bits(dtype) < 8 || dtype == TP_DTYPE_STRING ||
		    tp_dtype_kind(dtype) == TP_KIND_COMPLEX)
			continue;
		y = op_result("Resize", 13, NO_ATTRS,
		    INPUTS(
			TENSOR(dtype, DIMS(2), 1, 1), NULL, F32(DIMS(1), 2)));
		check_tensor(y, dtype, DIMS(4), NUMBERS(1, 1, 1, 1), 0);
	}
	/* 8645 / 32 and -765 / 32 are none of u8. */
	check_tensor(
	    op_result("Resize", 13, ATTRS(MODE("cubic"), FROM("asymmetric")),
		INPUTS(TENSOR(TP_DTYPE_U8, DIMS(4), 0, 200, 255, 0), NULL,
		    F32(DIMS(1), 2))),
	    TP_DTYPE_U8, DIMS(8), NUMBERS(0, 95, 200, 255, 255, 133, 0, 0), 0);
}

static void
upsample_has_scales_of_its_own(void **state)
{
	(void)state;
	check_tensor(op_result("Upsample", 1,
			 ATTRS(ATTR_FLOAT("height_scale", 1),
			     ATTR_FLOAT("width_scale", 2), MODE("bilinear")),
			 INPUTS(F32(DIMS(1, 1, 1, 2), 0, 2))),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 4), NUMBERS(0, 1, 2, 2), 0);
	check_tensor(op_result("Upsample", 7, ATTRS(ATTR_FLOATS("scales", 1.5)),
			 INPUTS(F32(DIMS(3), 0, 1, 2))),
	    TP_DTYPE_F32, DIMS(4), NUMBERS(0, 0, 1, 2), 0);
	check_tensor(op_result("Upsample", 9, ATTRS(MODE("linear")),
			 INPUTS(F32(DIMS(2), 0, 2), F32(DIMS(1), 2))),
	    TP_DTYPE_F32, DIMS(4), NUMBERS(0, 1, 2, 2), 0);
}

#define REFUSED(why, opset, attrs, inputs) \
	op_refuses(TP_EARG, "Resize: " why, "Resize", opset, attrs, inputs)
#define X F32(DIMS(2), 1, 2)

static void
wrong_resizing_is_refused(void **state)
{
	(void)state;
	REFUSED("scale 0 of an axis of size 2", 13, NO_ATTRS,
	    INPUTS(X, NULL, F32(DIMS(1), 0)));
	REFUSED("scale nan of an axis of size 2", 13, NO_ATTRS,
	    INPUTS(X, NULL, F32(DIMS(1), NAN)));
	REFUSED("scale 1e+30 of an axis of size 2", 13, NO_ATTRS,
	    INPUTS(X, NULL, F64(DIMS(1), 1e30)));
	REFUSED("size -1 for an axis of size 2", 13, NO_ATTRS,
	    INPUTS(X, NULL, NULL, I64(DIMS(1), -1)));
	REFUSED("size 3 for an axis of size 0", 13, NO_ATTRS,
	    INPUTS(EMPTY(TP_DTYPE_F32, DIMS(0)), NULL, NULL, I64(DIMS(1), 3)));
	REFUSED("both scales and sizes are given", 13, NO_ATTRS,
	    INPUTS(X, NULL, F32(DIMS(1), 1), I64(DIMS(1), 2)));
	REFUSED("scales has 0 elements, expected 1", 13, NO_ATTRS, INPUTS(X));
	REFUSED("axis 0 comes twice", 18, ATTRS(ATTR_INTS("axes", 0, -1)),
	    INPUTS(X, NULL, F32(DIMS(2), 1, 1)));
	REFUSED("axis 1 of a tensor of rank 1", 18, ATTRS(ATTR_INTS("axes", 1)),
	    INPUTS(X, NULL, F32(DIMS(1), 1)));
	REFUSED("roi has 0 elements, expected 2", 13,
	    ATTRS(FROM("tf_crop_and_resize")),
	    INPUTS(X, NULL, F32(DIMS(1), 1)));
	REFUSED("mode is 'quintic'", 13, ATTRS(MODE("quintic")),
	    INPUTS(X, NULL, F32(DIMS(1), 1)));
	REFUSED("coordinate_transformation_mode is 'tf_half_pixel_for_nn'", 13,
	    ATTRS(FROM("tf_half_pixel_for_nn")),
	    INPUTS(X, NULL, F32(DIMS(1), 1)));
	op_refuses(TP_EARG, "Upsample: scale 0.5 of an axis of size 2",
	    "Upsample", 9, NO_ATTRS, INPUTS(X, F32(DIMS(1), 0.5)));
	op_refuses(TP_EUNSUPPORTED,
	    "Resize of dtype bool; that is implemented for the nearest "
	    "elements alone",
	    "Resize", 13, ATTRS(MODE("linear")),
	    INPUTS(BOOL(DIMS(2), 0, 1), NULL, F32(DIMS(1), 1)));
}

/* One row of points (x, 0) in an image of one row. */
static void
check_sample(const char *mode, const char *padding, int align_corners, double x,
    double want)
{
	const struct tp_attr attrs[] = {
	    {.name = TP_STR("mode"), .kind = TP_ATTR_STRING, .s = tp_str(mode)},
	    {.name = TP_STR("padding_mode"),
		.kind = TP_ATTR_STRING,
		.s = tp_str(padding)},
	    ATTR_INT("align_corners", align_corners)};

	check_tensor(op_result("GridSample", 20, attrs, 3,
			 INPUTS(F32(DIMS(1, 1, 1, 3), 1, 2, 4),
			     F64(DIMS(1, 1, 1, 2), x, 0))),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 1), &want, 1, 1e-6);
}

static void
grids_sample(void **state)
{
	(void)state;
	/* Aligned, position p is p - 1; else (2 p + 1) / 3 - 1. */
	check_sample("linear", "zeros", 1, 0, 2);
	check_sample("linear", "zeros", 1, 0.5, 3);
	check_sample("linear", "zeros", 1, 1.25, 3);
	check_sample("linear", "border", 1, 1.25, 4);
	check_sample("linear", "zeros", 0, -1, 0.5);
	check_sample("linear", "border", 0, -1, 1);
	check_sample("linear", "reflection", 0, -1, 1);
	check_sample("nearest", "zeros", 1, -0.5, 1);
	check_sample("nearest", "zeros", 1, 0.5, 4);
	check_sample("nearest", "zeros", 1, 1.75, 0);
	check_sample("nearest", "border", 1, 1.75, 4);
	/* Position 3 is 1 again, -5 and 11 are too. */
	check_sample("linear", "reflection", 1, 2, 2);
	check_sample("linear", "reflection", 1, -6, 2);
	check_sample("linear", "reflection", 1, 10, 2);
	/* Without aligning, position 3 is 2 and 5 is 0. */
	check_sample("nearest", "reflection", 0, 4. / 3, 4);
	check_sample("nearest", "reflection", 0, 8. / 3, 1);
	check_sample("cubic", "border", 1, -0.5,
	    (-3. * 1 + 19 * 1 + 19 * 2 - 3 * 4) / 32);
	check_sample(
	    "cubic", "zeros", 1, -0.5, (19. * 1 + 19 * 2 - 3 * 4) / 32);
	check_sample("cubic", "reflection", 1, -0.5,
	    (-3. * 2 + 19 * 1 + 19 * 2 - 3 * 4) / 32);
	check_sample("linear", "zeros", 0, NAN, 0);
	check_sample("linear", "border", 0, NAN, 1);
	check_sample("linear", "reflection", 0, INFINITY, 4);
	check_sample("cubic", "zeros", 0, -1e300, 0);
}

/* The middle of all eight corners, by an identity of one point. */
static void
volumes_are_sampled(void **state)
{
	struct tp_tensor *grid = op_result("AffineGrid", 20, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 3, 4), 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0),
		I64(DIMS(5), 1, 1, 1, 1, 1)));

	(void)state;
	check_tensor(
	    op_result("GridSample", 22, NO_ATTRS,
		INPUTS(
		    F32(DIMS(1, 1, 2, 2, 2), 1, 2, 3, 4, 5, 6, 7, 16), grid)),
	    TP_DTYPE_F32, DIMS(1, 1, 1, 1, 1), NUMBERS(5.5), 0);
}

static void
grids_are_moved_by_matrices(void **state)
{
	(void)state;
	check_tensor(
	    op_result("AffineGrid", 20, ATTRS(ATTR_INT("align_corners", 1)),
		INPUTS(F32(DIMS(1, 2, 3), 2, 0, 5, 1, 10, 0),
		    I64(DIMS(4), 1, 7, 1, 2))),
	    TP_DTYPE_F32, DIMS(1, 1, 2, 2), NUMBERS(3, -1, 7, 1), 0);
	check_tensor(op_result("AffineGrid", 20, NO_ATTRS,
			 INPUTS(F32(DIMS(1, 2, 3), 1, 0, 0, 0, 1, 0),
			     I64(DIMS(4), 1, 7, 2, 2))),
	    TP_DTYPE_F32, DIMS(1, 2, 2, 2),
	    NUMBERS(-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5), 0);
	op_refuses(TP_EARG,
	    "AffineGrid: theta has shape [1, 2, 3], expected [2, 2, 3]",
	    "AffineGrid", 20, NO_ATTRS,
	    INPUTS(F32(DIMS(1, 2, 3), 1, 0, 0, 0, 1, 0),
		I64(DIMS(4), 2, 7, 2, 2)));
}

#define IMAGE F32(DIMS(1, 1, 2, 3), 1, 2, 3, 4, 5, 6)
#define ALIGN(opset, attrs, ...)            \
	op_result("RoiAlign", opset, attrs, \
	    INPUTS(IMAGE, F32(DIMS(1, 4), __VA_ARGS__), I64(DIMS(1), 0)))

static void
regions_are_aligned(void **state)
{
	const int64_t one[] = {1, 1, 1, 1};

	(void)state;
	/*
	 * From 0, 0 by 2 times 2: samples at 0.5 and 1.5 without half pixels.
	 */
	check_tensor(ALIGN(10, NO_ATTRS, 0, 0, 2, 2), TP_DTYPE_F32, one, 4,
	    NUMBERS((3 + 4 + 4.5 + 5.5) / 4), 1e-7);
	/* With them at the elements themselves. */
	check_tensor(ALIGN(16, NO_ATTRS, 0, 0, 2, 2), TP_DTYPE_F32, one, 4,
	    NUMBERS(3), 0);
	check_tensor(ALIGN(22, ATTRS(MODE("max")), 0, 0, 2, 2), TP_DTYPE_F32,
	    one, 4, NUMBERS(5), 0);
	/* A quarter of each corner: the largest product, not the mean. */
	check_tensor(ALIGN(16, ATTRS(MODE("max")), 0.5, 0.5, 1.5, 1.5),
	    TP_DTYPE_F32, one, 4, NUMBERS(1.25), 0);
	/* At least one element wide before opset 16. */
	check_tensor(ALIGN(10, NO_ATTRS, 0, 0, 0, 0), TP_DTYPE_F32, one, 4,
	    NUMBERS(3), 0);
	/* Nearly all of what is sampled lies outside, and takes no time. */
	check_tensor(ALIGN(16, NO_ATTRS, -1e30, -1e30, 1e30, 1e30),
	    TP_DTYPE_F32, one, 4, NUMBERS(0), 0);
	check_tensor(ALIGN(16, NO_ATTRS, NAN, 0, INFINITY, 1), TP_DTYPE_F32,
	    one, 4, NUMBERS(0), 0);
	op_refuses(TP_EARG, "RoiAlign: region 0 is in image 1 of 1", "RoiAlign",
	    16, NO_ATTRS,
	    INPUTS(IMAGE, F32(DIMS(1, 4), 0, 0, 1, 1), I64(DIMS(1), 1)));
	op_refuses(TP_EARG, "RoiAlign: output of -1 times 1", "RoiAlign", 16,
	    ATTRS(ATTR_INT("output_height", -1)),
	    INPUTS(IMAGE, F32(DIMS(1, 4), 0, 0, 1, 1), I64(DIMS(1), 0)));
}

static enum tp_status
call_with(const struct tp_alloc *alloc, const char *onnx, const char *mode,
    struct tp_tensor *const *in, size_t n_in)
{
	const struct tp_attr attr = {
	    .name = TP_STR("mode"), .kind = TP_ATTR_STRING, .s = tp_str(mode)};
	struct tp_value y;
	enum tp_status rc =
	    op_try(onnx, 20, &attr, *mode != 0, in, n_in, &y, 1, alloc, NULL);

	tp_value_release(&y);
	return rc;
}

static void
fail_each(const char *onnx, const char *mode, struct tp_tensor *const *in,
    size_t n_in)
{
	struct fail_alloc a = {.fail_at = 0};
	enum tp_status rc = TP_OK;

	while (fail_alloc_next(&a, rc))
		rc = call_with(&a.alloc, onnx, mode, in, n_in);
	assert_true(a.n_rounds > 2);
	for (size_t k = 0; k < n_in; k++)
		tp_tensor_free(in[k]);
}

static void
no_memory_is_a_clean_error(void **state)
{
	(void)state;
	fail_each("Resize", "cubic",
	    INPUTS(F32(DIMS(2, 2), 1, 2, 3, 4), NULL, F32(DIMS(2), 2, 0.5)));
	fail_each("Resize", "nearest",
	    INPUTS(F32(DIMS(2, 2), 1, 2, 3, 4), NULL, F32(DIMS(2), 2, 0.5)));
	fail_each("GridSample", "linear",
	    INPUTS(F32(DIMS(1, 1, 1, 1), 1), F32(DIMS(1, 1, 1, 2), 0, 0)));
	fail_each("AffineGrid", "",
	    INPUTS(F32(DIMS(1, 2, 3), 1, 0, 0, 0, 1, 0),
		I64(DIMS(4), 1, 1, 2, 2)));
	fail_each("RoiAlign", "avg",
	    INPUTS(IMAGE, F32(DIMS(1, 4), 0, 0, 1, 1), I64(DIMS(1), 0)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_are_what_formulas_say),
	    cmocka_unit_test(axes_do_not_mix),
	    cmocka_unit_test(ratios_may_be_kept),
	    cmocka_unit_test(any_dtype_has_nearest_elements),
	    cmocka_unit_test(upsample_has_scales_of_its_own),
	    cmocka_unit_test(wrong_resizing_is_refused),
	    cmocka_unit_test(grids_sample),
	    cmocka_unit_test(volumes_are_sampled),
	    cmocka_unit_test(grids_are_moved_by_matrices),
	    cmocka_unit_test(regions_are_aligned),
	    cmocka_unit_test(no_memory_is_a_clean_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
