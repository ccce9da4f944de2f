/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resample.h - an axis seen at other positions than its own
 *
 * Output o of an axis lies at a position x of the input, which the coordinate
 * mode tells. Its value is the element nearest to x, or a sum of some around
 * it: that at position i counts weight(i - x).
 *
 *	linear	1 - |d|			2 taps
 *	cubic	Keys' kernel of a	4 taps
 *
 * Antialiasing stretches the weights of an axis that shrinks, so that more
 * elements count, and makes their sum 1.
 */
#ifndef TPI_OPS_RESAMPLE_H
#define TPI_OPS_RESAMPLE_H

#include "../op.h"

enum tpi_resample_mode { TPI_NEAREST, TPI_LINEAR, TPI_CUBIC };

enum tpi_coordinates {
	TPI_HALF_PIXEL,
	TPI_HALF_PIXEL_SYMMETRIC,
	TPI_PYTORCH_HALF_PIXEL,
	TPI_ALIGN_CORNERS,
	TPI_ASYMMETRIC,
	TPI_CROP,		   /* tf_crop_and_resize */
	TPI_TF_HALF_PIXEL_NEAREST, /* tf_half_pixel_for_nn */
};

enum tpi_nearest {
	TPI_PREFER_FLOOR, /* a half goes down */
	TPI_PREFER_CEIL,
	TPI_FLOOR,
	TPI_CEIL,
};

struct tpi_resample {
	enum tpi_resample_mode mode;
	enum tpi_coordinates coordinates;
	enum tpi_nearest nearest;
	double a; /* of the cubic kernel */
	bool exclude_outside, antialias;
};

struct tpi_resample_axis {
	int64_t in, out;
	double scale;
	double length;	   /* in * scale, before it was rounded to out */
	double start, end; /* of what is cropped, as fractions of the input */
};

/* Keys' kernel at distance d. */
double tpi_cubic(double a, double d);

/* Where output o lies in the input. */
double tpi_resample_position(const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, int64_t o);

/* Is that outside of the input, where nothing is but for a filler? */
bool tpi_resample_is_outside(const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, double x);

/* The element that output o is; -1 for the filler. */
int64_t tpi_resample_nearest(const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, int64_t o);

/*
 * *y, f64, is x, which is too and packed, with another length along axis d: one
 * that has elements, and outputs.
 */
enum tp_status tpi_resample_along(const struct tpi_call *c,
    const struct tpi_resample *r, const struct tpi_resample_axis *axis,
    unsigned d, const struct tp_tensor *x, struct tp_tensor **y,
    struct tp_err *err);

/* Elements of y, packed f64, that are outside along axis d become filler. */
void tpi_resample_fill(const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, unsigned d, double filler,
    struct tp_tensor *y);

#endif
