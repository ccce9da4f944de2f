/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpool.c - MaxUnpool: elements go back to where MaxPool found them
 *
 * Indices count the elements of the tensor that was pooled, whose shape follows
 * from the windows. An output_shape is laid over it, corner to corner.
 */
#include "gemm.h"
#include "spatial.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"

#include "../tensor.h"

#include "../banned.h"

/* The shape that was pooled to that of input 0. */
static enum tp_status
find_pooled(const struct tpi_call *c, int64_t *sizes, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t pads[2 * TPI_SPATIAL_RANK];
	struct tpi_windows w;
	enum tp_status rc =
	    tpi_windows_attrs(c, x->rank - 2, NULL, &w, pads, err);

	memcpy(sizes, tp_tensor_sizes(x), x->rank * sizeof(*sizes));
	for (unsigned d = 0; d + 2 < x->rank && !rc; d++) {
		const struct tpi_window_axis *a = &w.axis[d];
		int64_t *size = &sizes[2 + d], pad;

		if (tp_mul_i64(*size - 1, a->stride, size) ||
		    tp_add_i64(*size, a->kernel, size) ||
		    tp_add_i64(a->pad_begin, a->pad_end, &pad) ||
		    tp_add_i64(*size, -pad, size) || *size < 0)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: no input of axis %u was pooled to %" PRId64,
			    c->op->onnx, 2 + d, tp_tensor_sizes(x)[2 + d]);
	}
	return rc;
}

static enum tp_status
infer_max_unpool(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *at = c->in[1];
	enum tp_status rc;
	bool given;
	size_t n;

	if (x->rank < 3)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 has shape %s, expected [N, C, D1, …]",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	if (at->dtype != TP_DTYPE_I64 || at->rank != x->rank ||
	    memcmp(tp_tensor_sizes(at), tp_tensor_sizes(x),
		x->rank * sizeof(int64_t)))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: indices have dtype %s and shape %s, expected i64 and "
		    "the shape of input 0, %s",
		    c->op->onnx, tp_dtype_name(at->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(at), at->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	infos[0].dtype = x->dtype;
	infos[0].rank = x->rank;
	rc =
	    tpi_int_list(c, "output_shape", 2, infos[0].sizes, &n, &given, err);
	if (rc)
		return rc;
	if (!given)
		return find_pooled(c, infos[0].sizes, err);
	if (n != x->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: output_shape has %zu sizes, input 0 has rank %u",
		    c->op->onnx, n, x->rank);
	return TP_OK;
}

/* Element `at` of the shape that was pooled, in y; false if y is smaller. */
static bool
translate(
    const int64_t *pooled, const struct tp_tensor *y, int64_t at, int64_t *to)
{
	int64_t weight = 1;

	*to = 0;
	for (unsigned d = y->rank; d-- > 0;) {
		int64_t i = at % pooled[d];

		if (i >= tp_tensor_sizes(y)[d])
			return false;
		*to += i * weight;
		weight *= tp_tensor_sizes(y)[d];
		at /= pooled[d];
	}
	return true;
}

static enum tp_status
put_elements(const struct tpi_call *c, const int64_t *pooled, uint64_t n_pooled,
    const char *x, const int64_t *indices, struct tp_err *err)
{
	const struct tp_tensor *y = c->out[0];
	size_t size = tp_dtype_bits(y->dtype) / 8;
	char *to = tpi_tensor_address(y);
	int64_t at;

	for (uint64_t i = 0; i < c->in[0]->n_elems && y->n_elems; i++) {
		if (indices[i] < 0 || (uint64_t)indices[i] >= n_pooled)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: index %" PRId64 " of %" PRIu64 " elements",
			    c->op->onnx, indices[i], n_pooled);
		if (translate(pooled, y, indices[i], &at))
			memcpy(to + (size_t)at * size, x + i * size, size);
	}
	return TP_OK;
}

static enum tp_status
run_max_unpool(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *x = NULL, *indices = NULL;
	int64_t pooled[TP_MAX_RANK];
	uint64_t n_pooled = 0;
	enum tp_status rc = find_pooled(c, pooled, err);

	if (!rc)
		rc = tp_shape_numel(pooled, c->in[0]->rank, &n_pooled, err);
	if (!rc)
		rc = tp_tensor_contiguous(c->in[0], &x, err);
	if (!rc)
		rc = tp_tensor_contiguous(c->in[1], &indices, err);
	if (!rc)
		rc = put_elements(c, pooled, n_pooled, tpi_tensor_address(x),
		    tp_tensor_data(indices), err);
	tp_tensor_free(x);
	tp_tensor_free(indices);
	return rc;
}

static const struct tpi_attr_spec unpool_attrs[] = {
    {"kernel_shape", TP_ATTR_INTS}, {"pads", TP_ATTR_INTS},
    {"strides", TP_ATTR_INTS}, {NULL, 0}};

const struct tp_op tpi_unpool_ops[] = {
    {
	.name = "max_unpool",
	.onnx = "MaxUnpool",
	.since = 9,
	.min_in = 2,
	.max_in = 3,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_ON_ZEROS,
	.attrs = unpool_attrs,
	.infer = infer_max_unpool,
	.run = run_max_unpool,
	.kernels = tpi_gemm_kernels,
    },
    {.name = NULL},
};
