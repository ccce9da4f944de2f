/* SPDX-License-Identifier: Apache-2.0 */
/*
 * col2im.c - Col2Im: blocks [N, C and taps, blocks] are added up to images
 *
 * What windows over the image would see is given, and goes back; where they
 * overlap, sums are made in double and rounded once.
 */
#include "gemm.h"
#include "spatial.h"

#include <inttypes.h>

#include "tp/checked.h"
#include "tp/layout.h"

#include "../tensor.h"

#include "../banned.h"

struct col2im {
	struct tpi_windows w;
	int64_t n_blocks, n_taps;
	const double *x; /* of a channel */
	double *y;
	int64_t row; /* of blocks, that is added */
};

static enum tp_status
read_shape(const struct tpi_call *c, const char *name, size_t k, unsigned rank,
    int64_t *list, struct tp_err *err)
{
	bool given;
	size_t n;
	enum tp_status rc = tpi_int_list(c, name, k, list, &n, &given, err);

	for (size_t d = 0; d < n && !rc; d++)
		if (list[d] < 1)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: %s has %" PRId64 ", the least is 1",
			    c->op->onnx, name, list[d]);
	if (!rc && n != rank)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has %zu numbers, expected %u", c->op->onnx, name, n,
		    rank);
	return rc;
}

/* Blocks and taps must be as many as the input has. */
static enum tp_status
check_blocks(const struct tpi_call *c, struct col2im *v, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(c->in[0]);

	v->n_blocks = v->n_taps = 1;
	for (unsigned d = 0; d < v->w.rank; d++)
		if (tp_mul_i64(
			v->n_blocks, v->w.axis[d].output, &v->n_blocks) ||
		    tp_mul_i64(v->n_taps, v->w.axis[d].kernel, &v->n_taps))
			return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "%s: an image beyond all sizes", c->op->onnx);
	if (sizes[2] != v->n_blocks || sizes[1] % v->n_taps)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 has shape %s, expected [N, C * %" PRId64
		    ", %" PRId64 "]",
		    c->op->onnx, TP_SHAPE_TEXT(sizes, 3), v->n_taps,
		    v->n_blocks);
	return TP_OK;
}

static enum tp_status
describe(const struct tpi_call *c, struct col2im *v, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *image = c->in[1];
	int64_t sizes[TP_MAX_RANK], kernel[TP_MAX_RANK];
	unsigned rank = (unsigned)image->n_elems;
	enum tp_status rc;

	if (x->rank != 3 || image->n_elems > TPI_SPATIAL_RANK)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 has shape %s, expected [N, C and taps, "
		    "blocks]",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	rc = read_shape(c, "image_shape", 1, rank, sizes, err);
	if (!rc)
		rc = read_shape(c, "block_shape", 2, rank, kernel, err);
	if (!rc)
		rc = tpi_windows_read(c, rank, sizes, kernel, &v->w, err);
	return rc ? rc : check_blocks(c, v, err);
}

static enum tp_status
infer_col2im(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct col2im v;
	enum tp_status rc = describe(c, &v, err);

	if (rc)
		return rc;
	infos[0].dtype = c->in[0]->dtype;
	infos[0].rank = 2 + v.w.rank;
	infos[0].sizes[0] = tp_tensor_sizes(c->in[0])[0];
	infos[0].sizes[1] = tp_tensor_sizes(c->in[0])[1] / v.n_taps;
	for (unsigned d = 0; d < v.w.rank; d++)
		infos[0].sizes[2 + d] = v.w.axis[d].input;
	return TP_OK;
}

static void
add_tap_row(void *ctx, int64_t input_row, int64_t tap_row)
{
	struct col2im *v = ctx;
	const struct tpi_window_axis *a = &v->w.axis[v->w.rank - 1];

	for (int64_t k = 0; k < a->kernel; k++) {
		const double *x = v->x +
				  (tap_row * a->kernel + k) * v->n_blocks +
				  v->row * a->output;
		double *y = v->y + input_row * a->input;
		struct tpi_range r = tpi_window_outputs(a, k);

		for (int64_t o = r.first; o < r.end; o++)
			y[tpi_window_at(a, o, k)] += x[o];
	}
}

static enum tp_status
run_col2im(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *y = c->out[0];
	struct tp_tensor *from = NULL, *to = NULL;
	struct col2im v;
	uint64_t n_planes, plane;
	enum tp_status rc = describe(c, &v, err);

	if (!rc)
		rc = tpi_op_doubles(
		    c, x, tp_tensor_sizes(x), x->rank, &from, err);
	/* Of zeros. */
	if (!rc)
		rc = tp_tensor_empty(c->alloc, TP_DTYPE_F64, tp_tensor_sizes(y),
		    y->rank, &to, err);
	if (!rc && y->n_elems > 0) {
		n_planes =
		    (uint64_t)(tp_tensor_sizes(y)[0] * tp_tensor_sizes(y)[1]);
		plane = y->n_elems / n_planes;
		v.x = tp_tensor_data(from);
		v.y = tp_tensor_data_mut(to);
		for (uint64_t i = 0; i < n_planes; i++) {
			for (v.row = 0; v.row < tpi_windows_rows(&v.w); v.row++)
				tpi_windows_tap_rows(
				    &v.w, v.row, add_tap_row, &v);
			v.x += v.n_taps * v.n_blocks;
			v.y += plane;
		}
	}
	if (!rc)
		rc = tp_tensor_assign(c->out[0], to, TP_OVERFLOW_INF, err);
	tp_tensor_free(from);
	tp_tensor_free(to);
	return rc;
}

static const struct tpi_attr_spec col2im_attrs[] = {{"dilations", TP_ATTR_INTS},
    {"pads", TP_ATTR_INTS}, {"strides", TP_ATTR_INTS}, {NULL, 0}};

const struct tp_op tpi_col2im_ops[] = {
    {
	.name = "col2im",
	.onnx = "Col2Im",
	.since = 18,
	.min_in = 3,
	.max_in = 3,
	.min_out = 1,
	.max_out = 1,
	.attrs = col2im_attrs,
	.infer = infer_col2im,
	.run = run_col2im,
	.kernels = tpi_unpack,
    },
    {.name = NULL},
};
