/* SPDX-License-Identifier: Apache-2.0 */
/* spatial.c - kernel_shape, strides, dilations, pads, auto_pad and ceil_mode */
#include "spatial.h"

#include <inttypes.h>

#include "tp/checked.h"

#include "../banned.h"

enum tp_status
tpi_spatial_list(const struct tpi_call *c, const char *name, unsigned n,
    int64_t least, int64_t otherwise, int64_t *list, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	if (a && a->n != n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has %zu numbers, expected %u", c->op->onnx, name,
		    a->n, n);
	for (unsigned i = 0; i < n; i++) {
		list[i] = a ? a->ints[i] : otherwise;
		if (list[i] < least)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: %s has %" PRId64 ", the least is %" PRId64,
			    c->op->onnx, name, list[i], least);
	}
	return TP_OK;
}

enum tp_status
tpi_auto_pad(
    const struct tpi_call *c, enum tpi_auto_pad *mode, struct tp_err *err)
{
	static const char *const names[] = {
	    "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
	const struct tp_attr *a = tpi_attr_find(c, "auto_pad");

	*mode = TPI_PAD_NOTSET;
	if (!a || a->s.len == 0)
		return TP_OK;
	for (unsigned i = 0; i < 4; i++)
		if (tp_str_cmp(a->s, tp_str(names[i])) == 0) {
			*mode = (enum tpi_auto_pad)i;
			return TP_OK;
		}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: auto_pad '%s', expected NOTSET, SAME_UPPER, SAME_LOWER or "
	    "VALID",
	    c->op->onnx, TP_BRIEF(a->s));
}

static enum tp_status
take_kernel(const struct tpi_call *c, unsigned rank, const int64_t *kernel,
    int64_t *list, struct tp_err *err)
{
	bool given = tpi_attr_find(c, "kernel_shape") != NULL;
	enum tp_status rc = TP_OK;

	if (!given && !kernel)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: kernel_shape is missing", c->op->onnx);
	if (given)
		rc = tpi_spatial_list(c, "kernel_shape", rank, 1, 1, list, err);
	for (unsigned d = 0; d < rank && kernel && !rc; d++) {
		if (given && list[d] != kernel[d])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: kernel_shape has %" PRId64
			    " for axis %u, the weights have %" PRId64,
			    c->op->onnx, list[d], d, kernel[d]);
		if (kernel[d] < 1)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: a kernel of size %" PRId64, c->op->onnx,
			    kernel[d]);
		list[d] = kernel[d];
	}
	return rc;
}

enum tp_status
tpi_windows_attrs(const struct tpi_call *c, unsigned rank,
    const int64_t *kernel, struct tpi_windows *w, int64_t *pads,
    struct tp_err *err)
{
	int64_t kernels[TPI_SPATIAL_RANK], strides[TPI_SPATIAL_RANK];
	int64_t dilations[TPI_SPATIAL_RANK];
	enum tp_status rc;

	if (rank < 1 || rank > TPI_SPATIAL_RANK)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %u spatial axes, expected 1 to %u", c->op->onnx, rank,
		    TPI_SPATIAL_RANK);
	w->rank = rank;
	rc = take_kernel(c, rank, kernel, kernels, err);
	if (!rc)
		rc = tpi_spatial_list(c, "strides", rank, 1, 1, strides, err);
	if (!rc)
		rc = tpi_spatial_list(
		    c, "dilations", rank, 1, 1, dilations, err);
	if (!rc)
		rc = tpi_spatial_list(c, "pads", 2 * rank, 0, 0, pads, err);
	for (unsigned d = 0; d < rank && !rc; d++)
		w->axis[d] = (struct tpi_window_axis){.kernel = kernels[d],
		    .stride = strides[d],
		    .dilation = dilations[d],
		    .pad_begin = pads[d],
		    .pad_end = pads[rank + d]};
	return rc;
}

/* What the kernel spans, and what there is to put it on; false if too large. */
static bool
measure(const struct tpi_window_axis *a, int64_t *span, int64_t *padded)
{
	int64_t most;

	return !tp_mul_i64(a->kernel - 1, a->dilation, span) &&
	       !tp_add_i64(*span, 1, span) &&
	       !tp_add_i64(a->input, a->pad_begin, padded) &&
	       !tp_add_i64(*padded, a->pad_end, padded) &&
	       /* The last position that ceil_mode may look at. */
	       !tp_add_i64(*padded, *span, &most) &&
	       !tp_add_i64(most, a->stride, &most);
}

static enum tp_status
too_large(const struct tpi_call *c, const struct tpi_window_axis *a,
    struct tp_err *err)
{
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: a kernel of %" PRId64 " with stride %" PRId64
	    ", dilation %" PRId64 " does not fit an input of %" PRId64
	    " with pads %" PRId64 " and %" PRId64,
	    c->op->onnx, a->kernel, a->stride, a->dilation, a->input,
	    a->pad_begin, a->pad_end);
}

enum tp_status
tpi_window_output(const struct tpi_call *c, struct tpi_window_axis *a,
    bool ceil_mode, struct tp_err *err)
{
	int64_t span, padded, room;

	if (!measure(a, &span, &padded) || padded < span)
		return too_large(c, a, err);
	room = padded - span;
	a->output = room / a->stride + 1;
	if (!ceil_mode)
		return TP_OK;
	/* One more for the rest, but none that begins behind the input. */
	if (room % a->stride)
		a->output++;
	if ((a->output - 1) * a->stride >= a->input + a->pad_begin)
		a->output--;
	return TP_OK;
}

/* As many outputs as strides fit into the input, and pads to make it so. */
static enum tp_status
pad_same(const struct tpi_call *c, struct tpi_window_axis *a, bool upper,
    struct tp_err *err)
{
	int64_t span, padded, pad;

	a->pad_begin = a->pad_end = 0;
	if (!measure(a, &span, &padded))
		return too_large(c, a, err);
	a->output = tpi_ceil_div(a->input, a->stride);
	pad = a->output ? (a->output - 1) * a->stride + span - a->input : 0;
	if (pad < 0)
		pad = 0;
	a->pad_begin = upper ? pad / 2 : pad - pad / 2;
	a->pad_end = pad - a->pad_begin;
	return TP_OK;
}

/* A stride that nobody takes is any; one in bytes, of some axes, has to fit. */
static enum tp_status
bound_stride(
    const struct tpi_call *c, struct tpi_window_axis *a, struct tp_err *err)
{
	if (a->output <= 1)
		a->stride = 1;
	return a->stride > INT64_MAX >> 16 ? too_large(c, a, err) : TP_OK;
}

enum tp_status
tpi_windows_read(const struct tpi_call *c, unsigned rank, const int64_t *sizes,
    const int64_t *kernel, struct tpi_windows *w, struct tp_err *err)
{
	bool ceil_mode = tpi_attr_int(c, "ceil_mode", 0) != 0;
	int64_t pads[2 * TPI_SPATIAL_RANK];
	enum tpi_auto_pad mode;
	enum tp_status rc = tpi_auto_pad(c, &mode, err);

	if (!rc)
		rc = tpi_windows_attrs(c, rank, kernel, w, pads, err);
	for (unsigned d = 0; d < rank && !rc; d++) {
		struct tpi_window_axis *a = &w->axis[d];

		a->input = sizes[d];
		if (mode == TPI_PAD_VALID)
			a->pad_begin = a->pad_end = 0;
		if (mode == TPI_PAD_SAME_UPPER || mode == TPI_PAD_SAME_LOWER)
			rc = pad_same(c, a, mode == TPI_PAD_SAME_UPPER, err);
		else
			rc = tpi_window_output(
			    c, a, ceil_mode && mode == TPI_PAD_NOTSET, err);
		if (!rc)
			rc = bound_stride(c, a, err);
	}
	return rc;
}

enum tp_status
tpi_windows_planes(const struct tpi_call *c, const struct tpi_windows *w,
    int64_t *input, int64_t *output, int64_t *taps, struct tp_err *err)
{
	*input = *output = *taps = 1;
	for (unsigned d = 0; d < w->rank; d++) {
		const struct tpi_window_axis *a = &w->axis[d];

		if (tp_mul_i64(*input, a->input, input) ||
		    tp_mul_i64(*output, a->output, output) ||
		    tp_mul_i64(*taps, a->kernel, taps))
			return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "%s: an image or a kernel beyond all sizes",
			    c->op->onnx);
	}
	return TP_OK;
}

int64_t
tpi_windows_rows(const struct tpi_windows *w)
{
	int64_t n = 1;

	for (unsigned d = 0; d + 1 < w->rank; d++)
		n *= w->axis[d].output;
	return n;
}

void
tpi_windows_tap_rows(const struct tpi_windows *w, int64_t output_row,
    tpi_tap_row_fn *fn, void *ctx)
{
	int64_t o[TPI_SPATIAL_RANK], k[TPI_SPATIAL_RANK];
	struct tpi_range taps[TPI_SPATIAL_RANK];
	unsigned outer = w->rank - 1, d;

	for (d = outer; d-- > 0;) {
		o[d] = output_row % w->axis[d].output;
		output_row /= w->axis[d].output;
		taps[d] = tpi_window_taps(&w->axis[d], o[d]);
		if (taps[d].first >= taps[d].end)
			return;
		k[d] = taps[d].first;
	}
	do {
		int64_t input_row = 0, tap_row = 0;

		for (d = 0; d < outer; d++) {
			const struct tpi_window_axis *a = &w->axis[d];

			input_row =
			    input_row * a->input + tpi_window_at(a, o[d], k[d]);
			tap_row = tap_row * a->kernel + k[d];
		}
		fn(ctx, input_row, tap_row);
		for (d = outer; d > 0; d--) {
			/* cppcheck-suppress uninitvar ; all outer are set */
			if (++k[d - 1] < taps[d - 1].end)
				break;
			k[d - 1] = taps[d - 1].first;
		}
	} while (d > 0);
}
