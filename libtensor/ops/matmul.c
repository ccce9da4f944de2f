/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.c - MatMul as NumPy does it: matrices at the end, the rest broadcasts
 */
#include "gemm.h"

#include "tp/broadcast.h"

#include "../tensor.h"

#include "../banned.h"

static enum tp_status
infer_matmul(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b = c->in[1];
	unsigned a_batch = a->rank > 1 ? a->rank - 2 : 0;
	unsigned b_batch = b->rank > 1 ? b->rank - 2 : 0;
	const struct tp_shape_ref shapes[] = {
	    {tp_tensor_sizes(a), a_batch}, {tp_tensor_sizes(b), b_batch}};
	struct tpi_info *y = &infos[0];
	enum tp_status rc;

	if (a->dtype != b->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 1 has dtype %s, input 0 has %s", c->op->onnx,
		    tp_dtype_name(b->dtype), tp_dtype_name(a->dtype));
	if (a->rank == 0 || b->rank == 0 ||
	    tp_tensor_sizes(a)[a->rank - 1] !=
		tp_tensor_sizes(b)[b->rank > 1 ? b->rank - 2 : 0])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: shapes %s and %s do not fit", c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(a), a->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(b), b->rank));
	rc = tp_broadcast_shape(shapes, 2, y->sizes, &y->rank, err);
	y->dtype = a->dtype;
	if (!rc && a->rank > 1)
		y->sizes[y->rank++] = tp_tensor_sizes(a)[a->rank - 2];
	if (!rc && b->rank > 1)
		y->sizes[y->rank++] = tp_tensor_sizes(b)[b->rank - 1];
	return rc;
}

/* The step of t along axis d of a batch of that rank; 0 where it repeats. */
static int64_t
batch_step(const struct tp_tensor *t, unsigned rank, unsigned d)
{
	unsigned own = t->rank > 1 ? t->rank - 2 : 0;

	if (d < rank - own || tp_tensor_sizes(t)[d - (rank - own)] == 1)
		return 0;
	return tp_tensor_strides(t)[d - (rank - own)] *
	       (tp_dtype_bits(t->dtype) / 8);
}

/*
 * One more axis of the batch, outside of those so far. Where b repeats and a
 * goes on where its rows end, it makes the matrices of a longer instead.
 */
static void
add_axis(struct tpi_batch *batch, struct tpi_gemm *g, int64_t size,
    int64_t a_step, int64_t b_step)
{
	if (size == 1)
		return;
	if (batch->rank == 0 && b_step == 0 &&
	    (g->m == 1 || a_step == g->a.lane_step * (int64_t)g->m)) {
		if (g->m == 1)
			g->a.lane_step = a_step;
		g->m *= (size_t)size;
		return;
	}
	batch->sizes[batch->rank] = size;
	batch->a_steps[batch->rank] = a_step;
	batch->b_steps[batch->rank++] = b_step;
}

static void
reverse(int64_t *list, unsigned n)
{
	for (unsigned i = 0; i < n / 2; i++) {
		int64_t x = list[i];

		list[i] = list[n - 1 - i];
		list[n - 1 - i] = x;
	}
}

static enum tp_status
run_matmul(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
	const int64_t *a_strides = tp_tensor_strides(a);
	const int64_t *b_strides = tp_tensor_strides(b);
	int64_t size = tp_dtype_bits(a->dtype) / 8;
	struct tpi_batch batch = {.a = tpi_tensor_address(a),
	    .b = tpi_tensor_address(b),
	    .y = tpi_tensor_address(y)};
	struct tpi_gemm g = {.dtype = a->dtype, .ctx = &batch};
	unsigned rank;

	if (y->n_elems == 0)
		return TP_OK;
	g.m = a->rank > 1 ? (size_t)tp_tensor_sizes(a)[a->rank - 2] : 1;
	g.n = b->rank > 1 ? (size_t)tp_tensor_sizes(b)[b->rank - 1] : 1;
	g.k = (size_t)tp_tensor_sizes(a)[a->rank - 1];
	g.a.lane_step = a->rank > 1 ? a_strides[a->rank - 2] * size : 0;
	g.a.depth_step = a_strides[a->rank - 1] * size;
	g.b.lane_step = b->rank > 1 ? b_strides[b->rank - 1] * size : 0;
	g.b.depth_step = b_strides[b->rank > 1 ? b->rank - 2 : 0] * size;
	g.y_row = (int64_t)g.n * size;
	rank = y->rank - (a->rank > 1 ? 1u : 0u) - (b->rank > 1 ? 1u : 0u);
	for (unsigned d = rank; d-- > 0;)
		add_axis(&batch, &g, tp_tensor_sizes(y)[d],
		    batch_step(a, rank, d), batch_step(b, rank, d));
	reverse(batch.sizes, batch.rank);
	reverse(batch.a_steps, batch.rank);
	reverse(batch.b_steps, batch.rank);
	batch.y_step = (int64_t)g.m * g.y_row;
	return tpi_gemm_run(c, &g, y->n_elems / (g.m * g.n), tpi_batch_go, err);
}

#define ROW(from, to)                                                   \
	{                                                               \
		.name = "matmul", .onnx = "MatMul", .since = from,      \
		.until = to, .min_in = 2, .max_in = 2, .min_out = 1,    \
		.max_out = 1, .infer = infer_matmul, .run = run_matmul, \
		.kernels = tpi_gemm_kernels                             \
	}

const struct tp_op tpi_matmul_ops[] = {
    ROW(1, 0),
    {.name = NULL},
};
