/* SPDX-License-Identifier: Apache-2.0 */
/* resample.c - an axis seen at other positions than its own */
#include "resample.h"

#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/parallel.h"

#include "../tensor.h"

#include "../banned.h"

/*
 * The taps of all outputs: output o is the sum of weights[o * n + t] times
 * element at[o * n + t], t = 0 … n - 1. Positions outside are those of the
 * nearest element already; a weight of 0 counts nothing, not even infinity.
 */
struct taps {
	size_t n, n_all;
	int64_t *at;
	double *weights;
};

double
tpi_cubic(double a, double d)
{
	d = fabs(d);
	if (d <= 1)
		return ((a + 2) * d - (a + 3)) * d * d + 1;
	if (d < 2)
		return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
	return 0;
}

static double
weight(const struct tpi_resample *r, double d)
{
	if (r->mode == TPI_CUBIC)
		return tpi_cubic(r->a, d);
	return fabs(d) < 1 ? 1 - fabs(d) : 0;
}

double
tpi_resample_position(const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, int64_t o)
{
	double last = (double)axis->in - 1, x = (double)o;

	switch (r->coordinates) {
	case TPI_HALF_PIXEL:
		return (x + 0.5) / axis->scale - 0.5;
	case TPI_HALF_PIXEL_SYMMETRIC:
		/* What rounding took from the length goes at both ends. */
		return (double)axis->in / 2 *
			   (1 - (double)axis->out / axis->length) +
		       (x + 0.5) / axis->scale - 0.5;
	case TPI_PYTORCH_HALF_PIXEL:
		return axis->length > 1 ? (x + 0.5) / axis->scale - 0.5 : 0;
	case TPI_ALIGN_CORNERS:
		return axis->length > 1 ? x * last / (axis->length - 1) : 0;
	case TPI_ASYMMETRIC:
		return x / axis->scale;
	case TPI_CROP:
		if (axis->length > 1)
			return axis->start * last +
			       x * (axis->end - axis->start) * last /
				   (axis->length - 1);
		return (axis->start + axis->end) / 2 * last;
	case TPI_TF_HALF_PIXEL_NEAREST:
		return (x + 0.5) / axis->scale;
	}
	return x;
}

bool
tpi_resample_is_outside(const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, double x)
{
	return r->coordinates == TPI_CROP &&
	       !(x >= 0 && x <= (double)axis->in - 1);
}

/* The nearest whole position of the input to x, which may be no number. */
static int64_t
hold(double x, int64_t n)
{
	if (!(x > 0))
		return 0;
	return x < (double)(n - 1) ? (int64_t)x : n - 1;
}

int64_t
tpi_resample_nearest(const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, int64_t o)
{
	double x = tpi_resample_position(r, axis, o), low = floor(x);

	if (tpi_resample_is_outside(r, axis, x))
		return -1;
	switch (r->nearest) {
	case TPI_PREFER_FLOOR:
		x = x - low > 0.5 ? low + 1 : low;
		break;
	case TPI_PREFER_CEIL:
		x = x - low >= 0.5 ? low + 1 : low;
		break;
	case TPI_FLOOR:
		x = low;
		break;
	case TPI_CEIL:
		x = ceil(x);
		break;
	}
	return hold(x, axis->in);
}

/* How much wider than its own the kernel is. */
static double
stretch(const struct tpi_resample *r, const struct tpi_resample_axis *axis)
{
	return r->antialias && axis->scale < 1 ? 1 / axis->scale : 1;
}

/*
 * Weights of output o. Taps lie around the gap between base and base + 1 that x
 * is in, or at the end of.
 */
static void
find_taps(const struct tpi_resample *r, const struct tpi_resample_axis *axis,
    int64_t o, int64_t n, int64_t *at, double *weights)
{
	double x = tpi_resample_position(r, axis, o);
	int64_t half = n / 2;
	double first = ceil(x) - (double)half, sum = 0;
	double narrow = 1 / stretch(r, axis);

	for (int64_t t = 0; t < n; t++) {
		double i = first + (double)t;
		bool outside = !(i >= 0 && i < (double)axis->in);

		at[t] = hold(i, axis->in);
		weights[t] = outside && r->exclude_outside
				 ? 0
				 : weight(r, (i - x) * narrow);
		sum += weights[t];
	}
	if (sum != 0 && (r->antialias || r->exclude_outside))
		for (int64_t t = 0; t < n; t++)
			weights[t] /= sum;
}

static void
release_taps(const struct tpi_call *c, struct taps *taps)
{
	if (taps->at)
		tp_mem_free(c->alloc, taps->at, taps->n_all, sizeof(*taps->at));
	if (taps->weights)
		tp_mem_free(c->alloc, taps->weights, taps->n_all,
		    sizeof(*taps->weights));
}

/* Releases taps unless it succeeds. */
static enum tp_status
make_taps(const struct tpi_call *c, const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, struct taps *taps, struct tp_err *err)
{
	double reach = ceil((r->mode == TPI_CUBIC ? 2 : 1) * stretch(r, axis));

	*taps = (struct taps){0};
	if (!(reach < 0x1p40) ||
	    tp_mul_size((size_t)axis->out, 2 * (size_t)reach, &taps->n_all))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: scale %g is too small", c->op->onnx, axis->scale);
	taps->n = 2 * (size_t)reach;
	taps->at = tpi_op_scratch(c, taps->n_all, sizeof(*taps->at));
	taps->weights = tpi_op_scratch(c, taps->n_all, sizeof(*taps->weights));
	if (!taps->at || !taps->weights) {
		release_taps(c, taps);
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu taps", c->op->onnx, taps->n_all);
	}
	for (int64_t o = 0; o < axis->out; o++)
		find_taps(r, axis, o, (int64_t)taps->n,
		    taps->at + (size_t)o * taps->n,
		    taps->weights + (size_t)o * taps->n);
	return TP_OK;
}

/* x [outer, in, inner] becomes y [outer, out, inner]. */
struct pass {
	const struct taps *taps;
	const double *x;
	double *y;
	size_t in, out, inner;
	size_t n_rows, n_parts; /* rows are outer * out of them */
};

static void
blend_row(const struct pass *p, size_t row)
{
	size_t outer = row / p->out, first = row % p->out * p->taps->n;
	const double *x = p->x + outer * p->in * p->inner;
	double *y = p->y + row * p->inner;

	memset(y, 0, p->inner * sizeof(*y));
	for (size_t t = first; t < first + p->taps->n; t++) {
		const double *from = x + (size_t)p->taps->at[t] * p->inner;
		double w = p->taps->weights[t];

		if (w == 0)
			continue;
		for (size_t i = 0; i < p->inner; i++)
			y[i] += w * from[i];
	}
}

static void
blend_part(void *ctx, size_t part)
{
	const struct pass *p = ctx;
	struct tpi_share mine = tpi_share(p->n_rows, p->n_parts, part);

	for (uint64_t row = mine.from; row < mine.end; row++)
		blend_row(p, (size_t)row);
}

/* Elements of t before axis d, and behind it. */
static void
split_at(const struct tp_tensor *t, unsigned d, size_t *outer, size_t *inner)
{
	*outer = *inner = 1;
	for (unsigned k = 0; k < t->rank; k++)
		if (k != d)
			*(k < d ? outer : inner) *=
			    (size_t)tp_tensor_sizes(t)[k];
}

enum tp_status
tpi_resample_along(const struct tpi_call *c, const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, unsigned d, const struct tp_tensor *x,
    struct tp_tensor **y, struct tp_err *err)
{
	struct tpi_info info = tpi_info_of(x);
	struct taps taps;
	struct pass p = {.taps = &taps, .x = tp_tensor_data(x)};
	size_t outer;
	enum tp_status rc = make_taps(c, r, axis, &taps, err);

	*y = NULL;
	if (rc)
		return rc;
	info.sizes[d] = axis->out;
	rc = tpi_op_temp(c, TP_DTYPE_F64, info.sizes, info.rank, y, err);
	if (!rc && (*y)->n_elems) {
		split_at(x, d, &outer, &p.inner);
		p.y = tp_tensor_data_mut(*y);
		p.in = (size_t)axis->in;
		p.out = (size_t)axis->out;
		p.n_rows = outer * p.out;
		p.n_parts = tpi_op_parts(c, (*y)->n_elems * taps.n, p.n_rows);
		tp_parallel(c->n_threads, p.n_parts, blend_part, &p);
	}
	release_taps(c, &taps);
	return rc;
}

void
tpi_resample_fill(const struct tpi_resample *r,
    const struct tpi_resample_axis *axis, unsigned d, double filler,
    struct tp_tensor *y)
{
	double *all = tp_tensor_data_mut(y);
	size_t outer, inner, out = (size_t)axis->out;

	split_at(y, d, &outer, &inner);
	for (size_t o = 0; o < out; o++) {
		double x = tpi_resample_position(r, axis, (int64_t)o);

		if (!tpi_resample_is_outside(r, axis, x))
			continue;
		for (size_t k = 0; k < outer; k++)
			for (size_t i = 0; i < inner; i++)
				all[(k * out + o) * inner + i] = filler;
	}
}
