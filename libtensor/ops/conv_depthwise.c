/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_depthwise.c - convolutions of each channel for itself
 *
 * A row of the input is unpacked once for all taps that look at it, with zeros
 * for padding, and so that what one tap sees for all outputs lies together:
 * with stride s it is dealt out to s phases,
 *
 *	padded position i * s + phase: row[phase * phase_n + i]
 *
 * The sums of a row of outputs take the rows of the kernel in order.
 */
#include "conv.h"

#include "kernel.h"

#include "tp/checked.h"
#include "tp/parallel.h"

#include "../tensor.h"

#include "../banned.h"

/* Rows kept, at their number modulo N_KEPT; doubles in all; taps in a row. */
#define N_KEPT 8
#define MOST_KEPT (INT64_C(1) << 18)
#define MOST_ACROSS 64

struct depthwise {
	const struct tpi_conv *v;
	enum tp_dtype dtype;
	int64_t n_planes, phase_n, row_n;
	int64_t offsets[MOST_ACROSS]; /* of what a tap sees, in a row */
	size_t n_parts;
	double *scratch; /* n_scratch for each part */
	size_t n_scratch;
};

/* One channel of the output of one image. */
struct plane {
	const struct depthwise *d;
	const char *x;
	double *sums, *taps, *kept;
	int64_t kept_row[N_KEPT]; /* or -1 */
};

static const struct tpi_window_axis *
across(const struct tpi_conv *v)
{
	return &v->image.w.axis[v->image.w.rank - 1];
}

static int64_t
phase_size(const struct tpi_window_axis *a)
{
	return a->output + (a->kernel - 1) * a->dilation / a->stride;
}

bool
tpi_is_depthwise(const struct tpi_conv *v)
{
	const struct tpi_window_axis *a = across(v);
	int64_t n;

	return v->n_in == 1 && !v->image.is_transposed &&
	       a->kernel <= MOST_ACROSS && v->n_taps <= MOST_KEPT &&
	       !tp_mul_i64(phase_size(a), a->stride, &n) &&
	       n <= MOST_KEPT / N_KEPT;
}

#if defined(__GNUC__)
#define STEP 32

/* Four vectors of sums stay in registers while the taps go by. */
TPI_INLINE void
add_block(double *sums, const double *row, const int64_t *offsets,
    const double *w, size_t n)
{
	tpi_vector s[STEP / 8];

	for (size_t i = 0; i < STEP / 8; i++)
		s[i] = *(const tpi_vector_at *)(sums + 8 * i);
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < STEP / 8; i++)
			s[i] +=
			    *(const tpi_vector_at *)(row + offsets[k] + 8 * i) *
			    w[k];
	for (size_t i = 0; i < STEP / 8; i++)
		*(tpi_vector_at *)(sums + 8 * i) = s[i];
}
#else
#define STEP 1

TPI_INLINE void
add_block(double *sums, const double *row, const int64_t *offsets,
    const double *w, size_t n)
{
	for (size_t k = 0; k < n; k++)
		*sums += row[offsets[k]] * w[k];
}
#endif

/* A row of n_taps weights for n outputs, which have room up to STEP. */
TPI_CLONES static void
add_row(double *sums, const double *row, const int64_t *offsets,
    const double *w, size_t n_taps, size_t n)
{
	for (size_t i = 0; i < n; i += STEP)
		add_block(sums + i, row + i, offsets, w, n_taps);
}

/* What is at position `first` of the row, every `stride`-th from there on. */
static void
unpack_phase(
    const struct plane *p, int64_t input_row, int64_t first, double *to)
{
	const struct depthwise *d = p->d;
	const struct tpi_window_axis *a = across(d->v);
	const int64_t steps[2] = {sizeof(double), a->stride * d->v->size};
	int64_t begin = first < 0 ? tpi_ceil_div(-first, a->stride) : 0;
	int64_t end = tpi_ceil_div(a->input - first, a->stride);
	char *data[2];

	end = end > d->phase_n ? d->phase_n : end;
	if (begin >= end)
		begin = end = d->phase_n;
	memset(to, 0, (size_t)begin * sizeof(*to));
	memset(to + end, 0, (size_t)(d->phase_n - end) * sizeof(*to));
	if (begin == end)
		return;
	data[0] = (char *)(to + begin);
	data[1] = (char *)(uintptr_t)(p->x + (input_row * a->input + first +
						 begin * a->stride) *
						 d->v->size);
	tpi_unpack[d->dtype](NULL, data, steps, (size_t)(end - begin));
}

static const double *
keep_row(struct plane *p, int64_t input_row)
{
	const struct depthwise *d = p->d;
	const struct tpi_window_axis *a = across(d->v);
	int64_t at = input_row % N_KEPT;
	double *row = p->kept + at * d->row_n;

	if (p->kept_row[at] == input_row)
		return row;
	for (int64_t phase = 0; phase < a->stride; phase++)
		unpack_phase(p, input_row, phase - a->pad_begin,
		    row + phase * d->phase_n);
	p->kept_row[at] = input_row;
	return row;
}

static void
add_tap_row(void *ctx, int64_t input_row, int64_t tap_row)
{
	struct plane *p = ctx;
	const struct tpi_window_axis *a = across(p->d->v);

	add_row(p->sums, keep_row(p, input_row), p->d->offsets,
	    p->taps + tap_row * a->kernel, (size_t)a->kernel,
	    (size_t)a->output);
}

static double
load(enum tp_dtype dtype, char *from)
{
	const int64_t steps[2] = {0, 0};
	double x;
	char *data[2] = {(char *)&x, from};

	tpi_unpack[dtype](NULL, data, steps, 1);
	return x;
}

static void
convolve_plane(struct plane *p, int64_t index)
{
	const struct depthwise *d = p->d;
	const struct tpi_conv *v = d->v;
	int64_t channel = index % (v->n_groups * v->n_out);
	int64_t width = across(v)->output;
	const int64_t steps[2] = {sizeof(double), v->size};
	char *weights[2] = {
	    (char *)p->taps, v->w + channel * v->n_taps * v->size};
	char *y[2] = {v->y + index * v->y_plane * v->size, (char *)p->sums};
	double bias = v->bias ? load(d->dtype, v->bias + channel * v->size) : 0;

	p->x = v->x + index / v->n_out * v->x_plane * v->size;
	tpi_unpack[d->dtype](NULL, weights, steps, (size_t)v->n_taps);
	for (unsigned i = 0; i < N_KEPT; i++)
		p->kept_row[i] = -1;
	for (int64_t row = 0; row < tpi_windows_rows(&v->image.w); row++) {
		memset(p->sums, 0, (size_t)width * sizeof(*p->sums));
		tpi_windows_tap_rows(&v->image.w, row, add_tap_row, p);
		for (int64_t i = 0; i < width && v->bias; i++)
			p->sums[i] += bias;
		tpi_pack[d->dtype](NULL, y, NULL, (size_t)width);
		y[0] += width * v->size;
	}
}

static void
convolve_part(void *ctx, size_t part)
{
	const struct depthwise *d = ctx;
	struct plane p = {.d = d, .sums = d->scratch + part * d->n_scratch};
	struct tpi_share mine =
	    tpi_share((uint64_t)d->n_planes, d->n_parts, part);

	p.taps = p.sums + across(d->v)->output + STEP;
	p.kept = p.taps + d->v->n_taps;
	for (int64_t i = (int64_t)mine.from; i < (int64_t)mine.end; i++)
		convolve_plane(&p, i);
}

enum tp_status
tpi_conv_depthwise(
    const struct tpi_call *c, const struct tpi_conv *v, struct tp_err *err)
{
	const struct tpi_window_axis *a = across(v);
	struct depthwise d = {.v = v, .dtype = c->in[0]->dtype};
	uint64_t work;

	d.n_planes = tp_tensor_sizes(c->in[0])[0] * v->n_groups * v->n_out;
	d.phase_n = phase_size(a);
	d.row_n = d.phase_n * a->stride;
	for (int64_t k = 0; k < a->kernel; k++)
		d.offsets[k] = k * a->dilation % a->stride * d.phase_n +
			       k * a->dilation / a->stride;
	if (tp_mul_u64(c->out[0]->n_elems, (uint64_t)v->n_taps, &work))
		work = UINT64_MAX;
	d.n_parts = tpi_op_parts(c, work, (uint64_t)d.n_planes);
	/* The last block may look at STEP more than there is. */
	d.n_scratch =
	    (size_t)(a->output + v->n_taps + N_KEPT * d.row_n) + 2 * STEP;
	d.scratch =
	    tpi_op_scratch(c, d.n_parts, d.n_scratch * sizeof(*d.scratch));
	if (!d.scratch)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for rows", c->op->onnx);
	tp_parallel(c->n_threads, d.n_parts, convolve_part, &d);
	tp_mem_free(
	    c->alloc, d.scratch, d.n_parts, d.n_scratch * sizeof(*d.scratch));
	return TP_OK;
}
