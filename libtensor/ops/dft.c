/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dft.c - DFT along an axis, STFT of frames of a signal
 *
 * The last axis of a signal has one number, real, or two, a complex number. The
 * spectrum of a real signal is its own mirror: onesided keeps the first
 * floor(n / 2) + 1 of n, or, inverse, takes those and makes a real signal.
 */
#include "../op.h"

#include <inttypes.h>
#include <string.h>

#include "tp/layout.h"

#include "../tensor.h"
#include "fourier.h"
#include "indices.h"

#include "../banned.h"

struct dft {
	bool inverse, onesided;
	unsigned axis;
	int64_t n;     /* numbers that are transformed */
	int64_t n_in;  /* there are along the axis */
	int64_t n_out; /* that are kept */
	size_t outer, inner;
	size_t parts, out_parts; /* 1: real, 2: complex */
};

static int64_t
half_of(int64_t n)
{
	return n / 2 + 1;
}

static enum tp_status
check_parts(const struct tpi_call *c, bool only_real, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t parts = x->rank ? tp_tensor_sizes(x)[x->rank - 1] : 0;

	if (x->rank < 2 || (parts != 1 && parts != 2))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the signal has shape %s, its last axis is to have 1 "
		    "or 2 numbers",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	if (only_real && parts == 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: onesided, but the signal is complex", c->op->onnx);
	return TP_OK;
}

/* An attribute before opset 20. */
static enum tp_status
find_axis(const struct tpi_call *c, unsigned *axis, struct tp_err *err)
{
	int64_t number = tpi_attr_int(c, "axis", 1);
	unsigned rank = c->in[0]->rank;
	enum tp_status rc = TP_OK;

	if (c->op->since >= 20)
		rc = tpi_int_input(c, 2, -2, &number, err);
	if (!rc)
		rc = tpi_op_axis(c, number, rank, axis, err);
	if (!rc && *axis == rank - 1)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: axis %" PRId64 " has the parts of a number",
		    c->op->onnx, number);
	return rc;
}

static enum tp_status
read_dft(const struct tpi_call *c, struct dft *d, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const int64_t *sizes = tp_tensor_sizes(x);
	enum tp_status rc;

	*d = (struct dft){.inverse = tpi_attr_int(c, "inverse", 0) != 0,
	    .onesided = tpi_attr_int(c, "onesided", 0) != 0};
	rc = check_parts(c, d->onesided && !d->inverse, err);
	if (!rc)
		rc = find_axis(c, &d->axis, err);
	if (rc)
		return rc;
	d->n_in = sizes[d->axis];
	d->n = d->inverse && d->onesided ? 2 * (d->n_in - 1) : d->n_in;
	rc = tpi_int_input(c, 1, d->n, &d->n, err);
	if (!rc && (d->n < 1 || d->n > INT64_C(1) << 40))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: a transform of %" PRId64 " numbers", c->op->onnx,
		    d->n);
	d->n_out = d->onesided && !d->inverse ? half_of(d->n) : d->n;
	d->parts = (size_t)sizes[x->rank - 1];
	d->out_parts = d->onesided && d->inverse ? 1 : 2;
	d->outer = d->inner = 1;
	for (unsigned k = 0; k + 1 < x->rank; k++)
		if (k != d->axis)
			*(k < d->axis ? &d->outer : &d->inner) *=
			    (size_t)sizes[k];
	return rc;
}

static enum tp_status
infer_dft(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct dft d;
	enum tp_status rc = read_dft(c, &d, err);

	infos[0] = tpi_info_of(c->in[0]);
	if (!rc) {
		infos[0].sizes[d.axis] = d.n_out;
		infos[0].sizes[infos[0].rank - 1] = (int64_t)d.out_parts;
	}
	return rc;
}

/* The signal at x, its numbers stride apart, cut or filled up with zeros. */
static void
load_row(const struct dft *d, const double *x, size_t stride, double *row)
{
	int64_t n = d->inverse && d->onesided ? half_of(d->n) : d->n;

	memset(row, 0, 2 * (size_t)d->n * sizeof(*row));
	for (size_t i = 0; (int64_t)i < n && (int64_t)i < d->n_in; i++) {
		row[2 * i] = x[i * stride];
		row[2 * i + 1] = d->parts == 2 ? x[i * stride + 1] : 0;
	}
	/* The other half is the mirror, conjugate. */
	for (int64_t i = n; i < d->n; i++) {
		row[2 * i] = row[2 * (d->n - i)];
		row[2 * i + 1] = -row[2 * (d->n - i) + 1];
	}
}

static void
store_row(const struct dft *d, const double *row, double *y, size_t stride)
{
	double scale = d->inverse ? (double)d->n : 1;

	for (size_t i = 0; i < (size_t)d->n_out; i++)
		for (size_t p = 0; p < d->out_parts; p++)
			y[i * stride + p] = row[2 * i + p] / scale;
}

static void
transform_all(const struct dft *d, struct tpi_fourier *f, const double *x,
    double *row, double *y)
{
	size_t x_stride = d->inner * d->parts,
	       y_stride = d->inner * d->out_parts;

	for (size_t o = 0; o < d->outer; o++)
		for (size_t i = 0; i < d->inner; i++) {
			load_row(d,
			    x + o * (size_t)d->n_in * x_stride + i * d->parts,
			    x_stride, row);
			tpi_fourier_run(f, row);
			store_row(d, row,
			    y + o * (size_t)d->n_out * y_stride +
				i * d->out_parts,
			    y_stride);
		}
}

static enum tp_status
run_dft(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *in = c->in[0];
	struct tp_tensor *x = NULL, *y = NULL, *row = NULL;
	struct tpi_fourier f = {0};
	struct dft d;
	enum tp_status rc = read_dft(c, &d, err);

	if (rc || c->out[0]->n_elems == 0)
		return rc;
	rc = tpi_op_doubles(c, in, tp_tensor_sizes(in), in->rank, &x, err);
	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, tp_tensor_sizes(c->out[0]),
		    in->rank, &y, err);
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, (const int64_t[]){2 * d.n}, 1, &row, err);
	if (!rc)
		rc = tpi_fourier_init(&f, c, (uint64_t)d.n, d.inverse, err);
	if (!rc) {
		transform_all(&d, &f, tp_tensor_data(x),
		    tp_tensor_data_mut(row), tp_tensor_data_mut(y));
		rc = tp_tensor_assign(c->out[0], y, TP_OVERFLOW_INF, err);
	}
	tpi_fourier_release(&f);
	tp_tensor_free(x);
	tp_tensor_free(y);
	tp_tensor_free(row);
	return rc;
}

struct stft {
	bool onesided;
	int64_t step, n; /* of frames */
	int64_t n_frames, n_out;
};

static enum tp_status
read_stft(const struct tpi_call *c, struct stft *s, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const struct tp_tensor *window = c->in[2];
	int64_t length, window_size = 0;
	enum tp_status rc;

	s->onesided = tpi_attr_int(c, "onesided", 1) != 0;
	rc = check_parts(c, s->onesided, err);
	if (!rc && x->rank != 3)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the signal has rank %u, expected 3", c->op->onnx,
		    x->rank);
	if (!rc && window &&
	    (window->rank != 1 || !tpi_float_dtypes[window->dtype]))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the window has dtype %s and rank %u, expected floats "
		    "and 1",
		    c->op->onnx, tp_dtype_name(window->dtype), window->rank);
	if (rc)
		return rc;
	length = tp_tensor_sizes(x)[1];
	if (window)
		window_size = tp_tensor_sizes(window)[0];
	rc = tpi_int_input(c, 1, 0, &s->step, err);
	if (!rc)
		rc = tpi_int_input(c, 3, window_size, &s->n, err);
	if (!rc && (s->step < 1 || s->n < 1 || s->n > length ||
		       (window && s->n != window_size)))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: frames of %" PRId64 " numbers, %" PRId64
		    " apart, of a signal of %" PRId64
		    ", with a window of %" PRId64,
		    c->op->onnx, s->n, s->step, length, window_size);
	if (rc)
		return rc;
	s->n_frames = 1 + (length - s->n) / s->step;
	s->n_out = s->onesided ? half_of(s->n) : s->n;
	return TP_OK;
}

static enum tp_status
infer_stft(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct stft s;
	enum tp_status rc = read_stft(c, &s, err);

	if (!rc)
		infos[0] = (struct tpi_info){.dtype = c->in[0]->dtype,
		    .rank = 4,
		    .sizes = {
			tp_tensor_sizes(c->in[0])[0], s.n_frames, s.n_out, 2}};
	return rc;
}

/* x: the signals of all of a batch; window is NULL where all weigh 1. */
static void
transform_frames(const struct stft *s, const struct tp_tensor *signal,
    struct tpi_fourier *f, const double *x, const double *window, double *row,
    double *y)
{
	const int64_t *sizes = tp_tensor_sizes(signal);
	size_t length = (size_t)sizes[1], parts = (size_t)sizes[2];

	for (size_t b = 0; b < (size_t)sizes[0]; b++)
		for (size_t k = 0; k < (size_t)s->n_frames; k++) {
			const double *from =
			    x + (b * length + k * (size_t)s->step) * parts;

			for (size_t i = 0; i < (size_t)s->n; i++) {
				double w = window ? window[i] : 1;

				row[2 * i] = w * from[i * parts];
				row[2 * i + 1] =
				    parts == 2 ? w * from[i * parts + 1] : 0;
			}
			tpi_fourier_run(f, row);
			memcpy(y, row, 2 * (size_t)s->n_out * sizeof(*y));
			y += 2 * s->n_out;
		}
}

static enum tp_status
run_stft(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *in = c->in[0], *weights = c->in[2];
	struct tp_tensor *x = NULL, *y = NULL, *row = NULL, *window = NULL;
	struct tpi_fourier f = {0};
	struct stft s;
	enum tp_status rc = read_stft(c, &s, err);

	if (!rc)
		rc = tpi_op_doubles(
		    c, in, tp_tensor_sizes(in), in->rank, &x, err);
	if (!rc && weights)
		rc = tpi_op_doubles(
		    c, weights, tp_tensor_sizes(weights), 1, &window, err);
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, tp_tensor_sizes(c->out[0]), 4, &y, err);
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, (const int64_t[]){2 * s.n}, 1, &row, err);
	if (!rc)
		rc = tpi_fourier_init(&f, c, (uint64_t)s.n, false, err);
	if (!rc && y->n_elems) {
		transform_frames(&s, in, &f, tp_tensor_data(x),
		    window ? tp_tensor_data(window) : NULL,
		    tp_tensor_data_mut(row), tp_tensor_data_mut(y));
		rc = tp_tensor_assign(c->out[0], y, TP_OVERFLOW_INF, err);
	}
	tpi_fourier_release(&f);
	tp_tensor_free(x);
	tp_tensor_free(y);
	tp_tensor_free(row);
	tp_tensor_free(window);
	return rc;
}

static const struct tpi_attr_spec dft_17_attrs[] = {{"axis", TP_ATTR_INT},
    {"inverse", TP_ATTR_INT}, {"onesided", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec dft_20_attrs[] = {
    {"inverse", TP_ATTR_INT}, {"onesided", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec stft_attrs[] = {
    {"onesided", TP_ATTR_INT}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, least, most, spec)                      \
	{                                                                    \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,  \
		.min_in = least, .max_in = most, .min_out = 1, .max_out = 1, \
		.attrs = spec, .infer = infer_##op, .run = run_##op,         \
		.kernels = tpi_float_dtypes                                  \
	}

const struct tp_op tpi_dft_ops[] = {
    ROW(dft, "DFT", 20, 0, 1, 3, dft_20_attrs),
    ROW(dft, "DFT", 17, 19, 1, 2, dft_17_attrs),
    ROW(stft, "STFT", 17, 0, 2, 4, stft_attrs),
    {.name = NULL},
};
