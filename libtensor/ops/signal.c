/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal.c - HannWindow, HammingWindow, BlackmanWindow, MelWeightMatrix
 *
 * A window of n numbers is a sum of cosines of 2 pi i / n and its double, or
 * of 2 pi i / (n - 1) when it is not periodic.
 */
#include "chunk.h"

#include <inttypes.h>
#include <math.h>

#include "../tensor.h"
#include "fourier.h"
#include "indices.h"

#include "../banned.h"

/* a[0] - a[1] cos(2 pi i / n) + a[2] cos(4 pi i / n) */
static const double hann[] = {0.5, 0.5, 0};
static const double hamming[] = {25.0 / 46, 21.0 / 46, 0};
static const double blackman[] = {0.42, 0.5, 0.08};

struct window {
	const double *a;
	uint64_t period;
	struct tp_tensor *y;
};

static enum tp_status
find_dtype(const struct tpi_call *c, enum tp_dtype *dtype, struct tp_err *err)
{
	enum tp_status rc =
	    tpi_attr_dtype(c, "output_datatype", TP_DTYPE_F32, dtype, err);
	enum tp_dtype_kind kind;

	if (rc)
		return rc;
	kind = tp_dtype_kind(*dtype);
	if (kind != TP_KIND_FLOAT && kind != TP_KIND_INT &&
	    kind != TP_KIND_UINT)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: output_datatype %s", c->op->onnx,
		    tp_dtype_name(*dtype));
	return TP_OK;
}

/* Rounded once; what integers have no room for behind the point goes. */
static void
store(struct tp_tensor *y, double *x, uint64_t from, size_t n)
{
	if (tp_dtype_kind(y->dtype) != TP_KIND_FLOAT)
		for (size_t i = 0; i < n; i++)
			x[i] = trunc(x[i]);
	tpi_store_doubles(y->dtype, x, n, tpi_chunk_place(y, from));
}

static enum tp_status
infer_window(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int64_t size = 0;
	enum tp_status rc = find_dtype(c, &infos[0].dtype, err);

	if (!rc)
		rc = tpi_int_input(c, 0, 0, &size, err);
	if (!rc && size < 0)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: a window of %" PRId64 " numbers", c->op->onnx, size);
	infos[0].rank = 1;
	infos[0].sizes[0] = size;
	return rc;
}

static void
window_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct window *w = ctx;
	double x[TPI_CHUNK], once, twice, im;

	for (size_t i = 0; i < n; i++) {
		/* The only one of a window is in its middle. */
		if (w->period == 0) {
			x[i] = 1;
			continue;
		}
		tpi_root((from + i) % w->period, w->period, &once, &im);
		tpi_root(2 * (from + i) % w->period, w->period, &twice, &im);
		x[i] = w->a[0] - w->a[1] * once + w->a[2] * twice;
	}
	store(w->y, x, from, n);
}

static enum tp_status
run_window(struct tpi_call *c, const double *a)
{
	struct window w = {.a = a, .y = c->out[0]};

	w.period = w.y->n_elems;
	if (w.period && !tpi_attr_int(c, "periodic", 1))
		w.period--;
	tpi_for_chunks(c, w.y->n_elems, window_chunk, &w);
	return TP_OK;
}

#define RUN_WINDOW(name)                            \
	static enum tp_status run_##name(           \
	    struct tpi_call *c, struct tp_err *err) \
	{                                           \
		(void)err;                          \
		return run_window(c, name);         \
	}
RUN_WINDOW(hann)
RUN_WINDOW(hamming)
RUN_WINDOW(blackman)

/*
 * Bands of equal width in mel, 2595 log10(1 + f / 700), as triangles over the
 * bins of a spectrum: column i rises from edge i to i + 1 and falls to i + 2.
 */
struct mel {
	int64_t n_bands, dft_length, sample_rate;
	double low, step; /* of the edges, in mel */
	int64_t n_bins;
};

static double
mel_of(double hertz)
{
	return 2595 * log10(1 + hertz / 700);
}

static enum tp_status
read_mel(const struct tpi_call *c, struct mel *m, struct tp_err *err)
{
	double low = 0, high = 0;
	enum tp_status rc = tpi_int_input(c, 0, 0, &m->n_bands, err);

	if (!rc)
		rc = tpi_int_input(c, 1, 0, &m->dft_length, err);
	if (!rc)
		rc = tpi_int_input(c, 2, 0, &m->sample_rate, err);
	if (!rc)
		rc = tpi_number_input(c, 3, 0, &low, err);
	if (!rc)
		rc = tpi_number_input(c, 4, 0, &high, err);
	if (rc)
		return rc;
	if (m->n_bands < 0 || m->n_bands > INT64_C(1) << 40 ||
	    m->dft_length < 0 || m->dft_length > INT64_C(1) << 40 ||
	    m->sample_rate < 1 || !(low >= 0) || !(high >= low) ||
	    !(high < INFINITY))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %" PRId64
		    " bands of %g to %g Hz, transforms of %" PRId64
		    " numbers, %" PRId64 " a second",
		    c->op->onnx, m->n_bands, low, high, m->dft_length,
		    m->sample_rate);
	m->n_bins = m->dft_length / 2 + 1;
	m->low = mel_of(low);
	m->step = (mel_of(high) - m->low) / (double)(m->n_bands + 2);
	return TP_OK;
}

static enum tp_status
infer_mel(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct mel m;
	enum tp_status rc = find_dtype(c, &infos[0].dtype, err);

	if (!rc)
		rc = read_mel(c, &m, err);
	if (rc)
		return rc;
	infos[0].rank = 2;
	infos[0].sizes[0] = m.n_bins;
	infos[0].sizes[1] = m.n_bands;
	return TP_OK;
}

/* The bin of edge i. */
static double
edge(const struct mel *m, int64_t i)
{
	double hertz =
	    700 * (pow(10, (m->low + (double)i * m->step) / 2595) - 1);

	return floor(
	    (double)(m->dft_length + 1) * hertz / (double)m->sample_rate);
}

static double
mel_weight(double bin, double low, double center, double high)
{
	if (bin < center)
		return bin < low ? 0 : (bin - low) / (center - low);
	if (bin == center)
		return 1;
	return bin < high ? (high - bin) / (high - center) : 0;
}

static enum tp_status
run_mel(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *y = c->out[0], *edges = NULL;
	double x[TPI_CHUNK], *e;
	struct mel m;
	size_t n = 0;
	enum tp_status rc = read_mel(c, &m, err);

	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64,
		    (const int64_t[]){m.n_bands + 2}, 1, &edges, err);
	if (rc)
		return rc;
	e = tp_tensor_data_mut(edges);
	for (int64_t i = 0; i < m.n_bands + 2; i++)
		e[i] = edge(&m, i);
	for (uint64_t at = 0; at < y->n_elems; at++) {
		int64_t bin = (int64_t)at / m.n_bands;
		const double *band = e + (int64_t)at % m.n_bands;

		x[n++] = mel_weight((double)bin, band[0], band[1], band[2]);
		if (n < TPI_CHUNK && at + 1 < y->n_elems)
			continue;
		store(y, x, at + 1 - n, n);
		n = 0;
	}
	tp_tensor_free(edges);
	return TP_OK;
}

static const struct tpi_attr_spec window_attrs[] = {
    {"output_datatype", TP_ATTR_INT}, {"periodic", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec mel_attrs[] = {
    {"output_datatype", TP_ATTR_INT}, {NULL, 0}};

#define ROW(c_name, onnx_name, n_in, spec, infer_fn, run_fn)                \
	{                                                                   \
		.name = c_name, .onnx = onnx_name, .since = 17,             \
		.min_in = n_in, .max_in = n_in, .min_out = 1, .max_out = 1, \
		.attrs = spec, .infer = infer_fn, .run = run_fn             \
	}
#define WINDOW(op, onnx_name) \
	ROW(#op "_window", onnx_name, 1, window_attrs, infer_window, run_##op)

const struct tp_op tpi_signal_ops[] = {
    WINDOW(hann, "HannWindow"),
    WINDOW(hamming, "HammingWindow"),
    WINDOW(blackman, "BlackmanWindow"),
    ROW("mel_weight_matrix", "MelWeightMatrix", 5, mel_attrs, infer_mel,
	run_mel),
    {.name = NULL},
};
