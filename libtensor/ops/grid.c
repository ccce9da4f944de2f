/* SPDX-License-Identifier: Apache-2.0 */
/* grid.c - the scale and zero point that each element of a tensor has */
#include "grid.h"
#include "chunk.h"

#include <inttypes.h>
#include <string.h>

#include "../tensor.h"

#include "../banned.h"

static bool
is_one_for_all(const struct tpi_call *c)
{
	return c->in[1]->n_elems == 1 && c->in[1]->rank <= 1 &&
	       !tpi_attr_int(c, "block_size", 0);
}

/* Of rank 1 there is one axis, whatever the attribute says. */
static enum tp_status
find_axis(const struct tpi_call *c, unsigned *axis, struct tp_err *err)
{
	*axis = 0;
	if (c->in[0]->rank == 1)
		return TP_OK;
	return tpi_op_axis(
	    c, tpi_attr_int(c, "axis", 1), c->in[0]->rank, axis, err);
}

static enum tp_status
refuse_scale(const struct tpi_call *c, unsigned axis, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *scale = c->in[1];

	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: scales of shape %s for shape %s, axis %u, blocks of %" PRId64,
	    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(scale), scale->rank),
	    TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank), axis,
	    tpi_attr_int(c, "block_size", 0));
}

static int64_t
count_blocks(int64_t size, int64_t block)
{
	return size / block + (size % block != 0);
}

static enum tp_status
check_blocks(
    const struct tpi_call *c, unsigned axis, int64_t block, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *scale = c->in[1];

	if (block < 0 || scale->rank != x->rank)
		return refuse_scale(c, axis, err);
	for (unsigned d = 0; d < x->rank; d++) {
		int64_t size = tp_tensor_sizes(x)[d];

		if (d == axis)
			size = count_blocks(size, block);
		if (tp_tensor_sizes(scale)[d] != size)
			return refuse_scale(c, axis, err);
	}
	return TP_OK;
}

/* A scalar and a list of one are the same here. */
static bool
is_like(const struct tp_tensor *a, const struct tp_tensor *b)
{
	if (a->n_elems == 1 && b->n_elems == 1 && a->rank <= 1 && b->rank <= 1)
		return true;
	return tpi_same_shape(a, b);
}

enum tp_status
tpi_grid_check(const struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *scale = c->in[1];
	int64_t block = tpi_attr_int(c, "block_size", 0);
	enum tp_status rc;
	unsigned axis;

	if (tp_dtype_kind(scale->dtype) != TP_KIND_FLOAT)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: scales of dtype %s", c->op->onnx,
		    tp_dtype_name(scale->dtype));
	if (c->in[2] && !is_like(c->in[2], scale))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: zero points of shape %s, scales of %s", c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(c->in[2]), c->in[2]->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(scale), scale->rank));
	if (is_one_for_all(c))
		return TP_OK;
	rc = find_axis(c, &axis, err);
	if (rc || block)
		return rc ? rc : check_blocks(c, axis, block, err);
	if (scale->rank != 1 || !x->rank ||
	    tp_tensor_sizes(scale)[0] != tp_tensor_sizes(x)[axis])
		return refuse_scale(c, axis, err);
	return TP_OK;
}

static enum tp_status
as_doubles(const struct tpi_call *c, const struct tp_tensor *t,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_strided from = tp_tensor_strided(t);
	union tpi_chunk room;
	enum tp_status rc =
	    tpi_op_temp(c, TP_DTYPE_F64, tp_tensor_sizes(t), t->rank, out, err);

	for (uint64_t at = 0; at < t->n_elems && !rc; at += TPI_CHUNK) {
		uint64_t left = t->n_elems - at;
		size_t n = left < TPI_CHUNK ? (size_t)left : TPI_CHUNK;

		tpi_load_doubles(t->dtype, tpi_chunk_read(&from, at, n, &room),
		    n, tpi_chunk_place(*out, at));
	}
	return rc;
}

enum tp_status
tpi_grid_init(struct tpi_grid *g, const struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t block = tpi_attr_int(c, "block_size", 0);
	unsigned axis = 0;
	enum tp_status rc = TP_OK;

	*g = (struct tpi_grid){
	    .axis = 1, .inner = x->n_elems, .block = 1, .n_blocks = 1};
	g->by_slice = true;
	if (!is_one_for_all(c)) {
		rc = find_axis(c, &axis, err);
		if (rc)
			return rc;
		g->by_slice = block == 0;
		g->axis = (uint64_t)tp_tensor_sizes(x)[axis];
		g->inner = 1;
		for (unsigned d = axis + 1; d < x->rank; d++)
			g->inner *= (uint64_t)tp_tensor_sizes(x)[d];
		g->block = block ? (uint64_t)block : 1;
		g->n_blocks =
		    (uint64_t)tp_tensor_sizes(c->in[1])[g->by_slice ? 0 : axis];
	}
	rc = as_doubles(c, c->in[1], &g->scale, err);
	if (!rc && c->in[2])
		rc = as_doubles(c, c->in[2], &g->zero, err);
	if (rc)
		tpi_grid_release(g);
	return rc;
}

void
tpi_grid_release(struct tpi_grid *g)
{
	tp_tensor_free(g->scale);
	tp_tensor_free(g->zero);
	g->scale = g->zero = NULL;
}

/* Runs of elements that are side by side behind the axis. */
static void
spread(const struct tpi_grid *g, const double *of_block, uint64_t from,
    size_t n, double *out)
{
	size_t run;

	for (size_t i = 0; i < n; i += run) {
		uint64_t at = (from + i) % g->inner;
		uint64_t row = (from + i) / g->inner;
		uint64_t block = row % g->axis / g->block;

		run = n - i < g->inner - at ? n - i : (size_t)(g->inner - at);
		if (g->by_slice) {
			for (size_t k = 0; k < run; k++)
				out[i + k] = of_block[block];
			continue;
		}
		block += row / g->axis * g->n_blocks;
		memcpy(out + i, of_block + block * g->inner + at,
		    run * sizeof(*out));
	}
}

void
tpi_grid_scales(
    const struct tpi_grid *g, uint64_t from, size_t n, double *scales)
{
	spread(g, tp_tensor_data(g->scale), from, n, scales);
}

void
tpi_grid_zeros(const struct tpi_grid *g, uint64_t from, size_t n, double *zeros)
{
	if (g->zero)
		spread(g, tp_tensor_data(g->zero), from, n, zeros);
	else
		memset(zeros, 0, n * sizeof(*zeros));
}
