/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - blocks of what windows see, packed into panels */
#include "image.h"

#include <string.h>

#include "../banned.h"

/* Columns next to each other, outputs from … from+n-1 of a row of outputs. */
struct segment {
	int64_t outer, from, n;
	int64_t input_row; /* what they see of it, or -1 */
};

static size_t
cut_columns(
    const struct tpi_image *im, size_t first, size_t n, struct segment *list)
{
	int64_t width = im->w.axis[im->w.rank - 1].output;
	int64_t at = (int64_t)first, end = (int64_t)(first + n);
	size_t n_segments = 0;

	while (at < end) {
		struct segment *s = &list[n_segments++];

		s->outer = at / width;
		s->from = at % width;
		s->n = width - s->from < end - at ? width - s->from : end - at;
		at += s->n;
	}
	return n_segments;
}

/* The input that output o sees through tap k, or -1. */
static int64_t
input_of(const struct tpi_image *im, const struct tpi_window_axis *a, int64_t o,
    int64_t k)
{
	int64_t at;

	if (!im->is_transposed) {
		at = tpi_window_at(a, o, k);
		return at < a->input ? at : -1;
	}
	at = o + a->pad_begin - k * a->dilation;
	if (at < 0 || at % a->stride || at / a->stride >= a->input)
		return -1;
	return at / a->stride;
}

/* The row of the input that a row of outputs sees through a row of taps. */
static int64_t
row_of(const struct tpi_image *im, int64_t outer, int64_t tap_row)
{
	int64_t row = 0, weight = 1;

	for (unsigned d = im->w.rank - 1; d-- > 0;) {
		const struct tpi_window_axis *a = &im->w.axis[d];
		/* The outermost is what is left: no division. */
		int64_t o = d ? outer % a->output : outer;
		int64_t k = d ? tap_row % a->kernel : tap_row;
		int64_t at = input_of(im, a, o, k);

		if (at < 0)
			return -1;
		row += at * weight;
		weight *= a->input;
		if (d) {
			outer /= a->output;
			tap_row /= a->kernel;
		}
	}
	return row;
}

/* How many rows of an axis of rows there are; the same for taps. */
static void
count_rows(const struct tpi_image *im, int64_t *rows, int64_t *tap_rows)
{
	*rows = *tap_rows = 1;
	for (unsigned d = 0; d + 1 < im->w.rank; d++) {
		*rows *= im->w.axis[d].input;
		*tap_rows *= im->w.axis[d].kernel;
	}
}

/* What a segment sees through tap k of the last axis; zeros outside. */
static void
fill_segment(
    const struct tpi_gemm *g, const struct segment *s, int64_t k, double *to)
{
	const struct tpi_image *im = g->b_ctx;
	const struct tpi_window_axis *a = &im->w.axis[im->w.rank - 1];
	int64_t size = tp_dtype_bits(g->dtype) / 8, wide = sizeof(double);
	int64_t tap = k * a->dilation - a->pad_begin, input, output;
	struct tpi_range r = {0, 0};
	int64_t steps[2];
	char *data[2];

	if (s->input_row >= 0 && im->is_transposed) {
		/* Inputs whose outputs are in the segment. */
		r.first = tpi_ceil_div(s->from - tap, a->stride);
		r.end = tpi_ceil_div(s->from + s->n - tap, a->stride);
		r.first = r.first < 0 ? 0 : r.first;
		r.end = r.end > a->input ? a->input : r.end;
	} else if (s->input_row >= 0) {
		r = tpi_window_outputs(a, k);
		r.first = r.first < s->from ? s->from : r.first;
		r.end = r.end > s->from + s->n ? s->from + s->n : r.end;
	}
	if (im->is_transposed || r.end - r.first < s->n)
		memset(to, 0, (size_t)s->n * sizeof(*to));
	if (r.first >= r.end)
		return;
	input = im->is_transposed ? r.first : r.first * a->stride + tap;
	output = im->is_transposed ? r.first * a->stride + tap : r.first;
	steps[0] = im->is_transposed ? a->stride * wide : wide;
	steps[1] = im->is_transposed ? size : a->stride * size;
	data[0] = (char *)(to + (output - s->from));
	data[1] = (char *)(uintptr_t)(g->b.data +
				      (s->input_row * a->input + input) * size);
	tpi_unpack[g->dtype](NULL, data, steps, (size_t)(r.end - r.first));
}

void
tpi_image_pack(const struct tpi_gemm *g, double *panels, size_t width,
    size_t first, size_t n, size_t k, size_t depth)
{
	const struct tpi_image *im = g->b_ctx;
	struct segment segments[TPI_GEMM_COLUMNS];
	double row[TPI_GEMM_COLUMNS];
	size_t n_segments = cut_columns(im, first, n, segments);
	int64_t across = im->w.axis[im->w.rank - 1].kernel;
	int64_t tap = (int64_t)k % across, taps = (int64_t)k / across;
	int64_t rows, tap_rows;

	count_rows(im, &rows, &tap_rows);
	(void)width; /* TPI_NR: the image is on the right */
	for (size_t at = n; at % TPI_NR; at++)
		row[at] = 0;
	for (size_t s = 0; s < depth; s++) {
		double *to = row;

		for (size_t i = 0; i < n_segments; i++) {
			struct segment *seg = &segments[i];

			if (s == 0 || tap == 0) {
				seg->input_row =
				    row_of(im, seg->outer, taps % tap_rows);
				if (seg->input_row >= 0)
					seg->input_row +=
					    taps / tap_rows * rows;
			}
			fill_segment(g, seg, tap, to);
			to += seg->n;
		}
		for (size_t at = 0; at < n; at += TPI_NR)
			memcpy(panels + at * depth + s * TPI_NR, row + at,
			    TPI_NR * sizeof(*row));
		if (++tap == across) {
			tap = 0;
			taps++;
		}
	}
}
