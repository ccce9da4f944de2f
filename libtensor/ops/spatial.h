/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spatial.h - windows over the spatial axes of a tensor [N, C, D1, D2, …]
 *
 * Along each axis, output o sees the input at
 *
 *	o * stride + k * dilation - pad_begin,	k = 0 … kernel - 1
 *
 * or padding, where that is outside 0 … input - 1. All numbers are checked when
 * they are read: no such position leaves int64_t.
 */
#ifndef TPI_OPS_SPATIAL_H
#define TPI_OPS_SPATIAL_H

#include "../op.h"

#define TPI_SPATIAL_RANK (TP_MAX_RANK - 2)

struct tpi_window_axis {
	int64_t input, output, kernel, stride, dilation;
	int64_t pad_begin, pad_end; /* the end without what ceil_mode adds */
};

struct tpi_windows {
	unsigned rank;
	struct tpi_window_axis axis[TPI_SPATIAL_RANK];
};

/*
 * An attribute of n integers, none below least; all are `otherwise` where it is
 * absent.
 */
enum tp_status tpi_spatial_list(const struct tpi_call *c, const char *name,
    unsigned n, int64_t least, int64_t otherwise, int64_t *list,
    struct tp_err *err);

/*
 * Kernel, stride and dilation of axes from attributes kernel_shape, strides and
 * dilations; where kernel is given (that of weights), kernel_shape may be
 * absent but must not differ. pads[0 … rank-1] are in front, the rest behind.
 */
enum tp_status tpi_windows_attrs(const struct tpi_call *c, unsigned rank,
    const int64_t *kernel, struct tpi_windows *w, int64_t *pads,
    struct tp_err *err);

/*
 * All of it for input sizes [rank]: the outputs too, by auto_pad and ceil_mode.
 * TP_EARG where the kernel is larger than the padded input.
 */
enum tp_status tpi_windows_read(const struct tpi_call *c, unsigned rank,
    const int64_t *sizes, const int64_t *kernel, struct tpi_windows *w,
    struct tp_err *err);

/* The same for an axis whose input, kernel, stride, dilation, pads are set. */
enum tp_status tpi_window_output(const struct tpi_call *c,
    struct tpi_window_axis *a, bool ceil_mode, struct tp_err *err);

/*
 * Elements of a plane of the input, of one of the output, taps of the kernel.
 * TP_ELIMIT beyond all sizes: tensors without elements may have axes of any.
 */
enum tp_status tpi_windows_planes(const struct tpi_call *c,
    const struct tpi_windows *w, int64_t *input, int64_t *output, int64_t *taps,
    struct tp_err *err);

enum tpi_auto_pad {
	TPI_PAD_NOTSET,
	TPI_PAD_SAME_UPPER,
	TPI_PAD_SAME_LOWER,
	TPI_PAD_VALID,
};
enum tp_status tpi_auto_pad(
    const struct tpi_call *c, enum tpi_auto_pad *mode, struct tp_err *err);

/* ceil(a / b) for b > 0. */
static inline int64_t
tpi_ceil_div(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

/* Those of n things that are inside: first … end - 1, none if first >= end. */
struct tpi_range {
	int64_t first, end;
};

/* Taps k that find the input inside, for output o. */
static inline struct tpi_range
tpi_window_taps(const struct tpi_window_axis *a, int64_t o)
{
	int64_t start = o * a->stride - a->pad_begin;
	int64_t first = start < 0 ? tpi_ceil_div(-start, a->dilation) : 0;
	int64_t end = tpi_ceil_div(a->input - start, a->dilation);

	return (struct tpi_range){first, end < a->kernel ? end : a->kernel};
}

/* Outputs o whose tap k is inside. */
static inline struct tpi_range
tpi_window_outputs(const struct tpi_window_axis *a, int64_t k)
{
	int64_t start = k * a->dilation - a->pad_begin;
	int64_t first = start < 0 ? tpi_ceil_div(-start, a->stride) : 0;
	int64_t end = tpi_ceil_div(a->input - start, a->stride);

	return (struct tpi_range){first, end < a->output ? end : a->output};
}

/* The input position of tap k for output o. */
static inline int64_t
tpi_window_at(const struct tpi_window_axis *a, int64_t o, int64_t k)
{
	return o * a->stride + k * a->dilation - a->pad_begin;
}

/*
 * Rows along the last axis. For the outputs of one row (numbered in row-major
 * order) the other axes have the same taps: fn is called for each of those that
 * lie inside, in row-major order, with the number of the row of the input and
 * that of the kernel.
 */
int64_t tpi_windows_rows(const struct tpi_windows *w);
typedef void tpi_tap_row_fn(void *ctx, int64_t input_row, int64_t tap_row);
void tpi_windows_tap_rows(const struct tpi_windows *w, int64_t output_row,
    tpi_tap_row_fn *fn, void *ctx);

#endif
