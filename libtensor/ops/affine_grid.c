/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affine_grid.c - AffineGrid: the positions of GridSample, moved by a matrix
 *
 *	theta [N, r, r + 1]	size N, C, D1 … Dr	grid [N, D1 … Dr, r]
 *
 * A position is (x, y[, z]), the last axis first, from -1 to 1; the grid has
 * theta times (x, y[, z], 1).
 */
#include "chunk.h"

#include <inttypes.h>

#include "tp/checked.h"

#include "../tensor.h"

#include "../banned.h"

struct affine {
	unsigned rank;
	int64_t sizes[2 + 3];
	bool align_corners;
	const double *theta;
	struct tp_tensor *y;
};

static enum tp_status
read_affine(const struct tpi_call *c, struct affine *a, struct tp_err *err)
{
	const struct tp_tensor *theta = c->in[0];
	const int64_t *t = tp_tensor_sizes(theta);
	int64_t sizes[TP_MAX_RANK];
	size_t n = 0;
	bool given = false;
	enum tp_status rc = tpi_int_list(c, "size", 1, sizes, &n, &given, err);

	if (rc)
		return rc;
	if (n != 4 && n != 5)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: size has %zu elements, expected 4 or 5", c->op->onnx,
		    n);
	a->rank = (unsigned)n - 2;
	a->align_corners = tpi_attr_int(c, "align_corners", 0) != 0;
	for (size_t d = 0; d < n; d++) {
		a->sizes[d] = sizes[d];
		if (sizes[d] < 0)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: size %" PRId64 " of axis %zu", c->op->onnx,
			    sizes[d], d);
	}
	if (theta->rank != 3 || t[0] != sizes[0] || t[1] != a->rank ||
	    t[2] != a->rank + 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: theta has shape %s, expected [%" PRId64 ", %u, %u]",
		    c->op->onnx, TP_SHAPE_TEXT(t, theta->rank), sizes[0],
		    a->rank, a->rank + 1);
	return TP_OK;
}

static enum tp_status
infer_affine(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct affine a;
	enum tp_status rc = read_affine(c, &a, err);

	if (rc)
		return rc;
	infos[0].dtype = c->in[0]->dtype;
	infos[0].rank = 2 + a.rank;
	infos[0].sizes[0] = a.sizes[0];
	for (unsigned d = 0; d < a.rank; d++)
		infos[0].sizes[1 + d] = a.sizes[2 + d];
	infos[0].sizes[1 + a.rank] = a.rank;
	return TP_OK;
}

/* Element i of n, seen from -1 to 1; the only one is in the middle. */
static double
normalize(const struct affine *a, int64_t i, int64_t n)
{
	if (!a->align_corners)
		return (double)(2 * i + 1) / (double)n - 1;
	return n == 1 ? 0 : (double)(2 * i) / (double)(n - 1) - 1;
}

/* Coordinate `at` of the grid, in row-major order. */
static double
coordinate(const struct affine *a, uint64_t at)
{
	unsigned rank = a->rank, k = (unsigned)(at % rank);
	double position[3];
	const double *row;
	double sum = 0;

	at /= rank;
	for (unsigned d = rank; d-- > 0; at /= (uint64_t)a->sizes[2 + d])
		position[rank - 1 - d] = normalize(a,
		    (int64_t)(at % (uint64_t)a->sizes[2 + d]), a->sizes[2 + d]);
	row = a->theta + (at * rank + k) * (rank + 1);
	for (unsigned j = 0; j < rank; j++)
		/* cppcheck-suppress uninitvar ; set by the loop above */
		sum += row[j] * position[j];
	return sum + row[rank];
}

static void
fill_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct affine *a = ctx;
	double x[TPI_CHUNK];

	for (size_t i = 0; i < n; i++)
		x[i] = coordinate(a, from + i);
	tpi_store_doubles(a->y->dtype, x, n, tpi_chunk_place(a->y, from));
}

static enum tp_status
run_affine(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[0];
	struct affine a = {.y = c->out[0]};
	struct tp_tensor *theta = NULL;
	enum tp_status rc = read_affine(c, &a, err);

	if (!rc)
		rc = tpi_op_doubles(
		    c, t, tp_tensor_sizes(t), t->rank, &theta, err);
	if (!rc) {
		a.theta = tp_tensor_data(theta);
		tpi_for_chunks(c, a.y->n_elems, fill_chunk, &a);
	}
	tp_tensor_free(theta);
	return rc;
}

static const struct tpi_attr_spec affine_attrs[] = {
    {"align_corners", TP_ATTR_INT}, {NULL, 0}};

const struct tp_op tpi_affine_grid_ops[] = {
    {.name = "affine_grid",
	.onnx = "AffineGrid",
	.since = 20,
	.min_in = 2,
	.max_in = 2,
	.min_out = 1,
	.max_out = 1,
	.attrs = affine_attrs,
	.infer = infer_affine,
	.run = run_affine,
	.kernels = tpi_float_dtypes},
    {.name = NULL},
};
