/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax.c - Softmax along an axis or, before opset 13, over all that follow
 *
 * A kernel makes one row: data[0] is y, data[1] is x.
 */
#include "kernel.h"

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/parallel.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

/* ctx is room for n doubles. */
#define SOFTMAX(OP, ID, T, W, LOAD, STORE)                                    \
	static void OP##_##ID(                                                \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)     \
	{                                                                     \
		double *e = ctx, largest = -(double)INFINITY, sum = 0;        \
                                                                              \
		for (size_t i = 0; i < n; i++) {                              \
			e[i] = LOAD(*TPI_CONST_AT(T, data[1], steps[1], i));  \
			if (e[i] > largest || e[i] != e[i])                   \
				largest = e[i];                               \
		}                                                             \
		for (size_t i = 0; i < n; i++) {                              \
			e[i] = exp(e[i] - largest);                           \
			sum += e[i];                                          \
		}                                                             \
		for (size_t i = 0; i < n; i++)                                \
			*TPI_AT(T, data[0], steps[0], i) = STORE(e[i] / sum); \
	}

TPI_FOREACH_DOUBLE(SOFTMAX, softmax)

static tp_loop_fn *const softmax_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, softmax)};

/* Rows along one axis of y and x, wherever they lie. */
struct rows {
	const struct tpi_call *c;
	struct tp_iter it; /* the first elements of all rows */
	int64_t steps[2];
	size_t n;
	double *scratch; /* n for each part */
	size_t n_parts;
};

struct rows_part {
	const struct rows *rows;
	double *scratch;
};

static void
softmax_rows(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	const struct rows_part *p = ctx;

	for (size_t i = 0; i < n; i++) {
		char *row[2] = {data[0] + (int64_t)i * steps[0],
		    data[1] + (int64_t)i * steps[1]};

		p->rows->c->kernel(p->scratch, row, p->rows->steps, p->rows->n);
	}
}

static void
softmax_part(void *ctx, size_t k)
{
	const struct rows *r = ctx;
	struct rows_part p = {r, r->scratch + k * r->n};
	struct tp_iter part;

	tp_iter_part(&r->it, k, r->n_parts, &part);
	tp_iter_run(&part, softmax_rows, &p);
}

static enum tp_status
softmax_axis(struct tpi_call *c, struct tp_tensor *y, const struct tp_tensor *x,
    unsigned axis, struct tp_err *err)
{
	struct tp_tensor *y0 = NULL, *x0 = NULL;
	int64_t size = tp_dtype_bits(x->dtype) / 8;
	struct rows r = {.c = c};
	size_t n_scratch = 0;
	enum tp_status rc;

	if (x->n_elems == 0)
		return TP_OK;
	r.n = (size_t)tp_tensor_sizes(x)[axis];
	r.steps[0] = tp_tensor_strides(y)[axis] * size;
	r.steps[1] = tp_tensor_strides(x)[axis] * size;
	rc = tp_tensor_narrow(y, (int)axis, 0, 1, &y0, err);
	if (!rc)
		rc = tp_tensor_narrow(x, (int)axis, 0, 1, &x0, err);
	if (!rc)
		rc = tp_iter_init(&r.it, &y0, 1,
		    (const struct tp_tensor *const *)&x0, 1, 0, err);
	if (!rc) {
		r.n_parts =
		    tpi_op_parts(c, x->n_elems, (uint64_t)r.it.sizes[0]);
		if (!tp_mul_size(r.n, r.n_parts, &n_scratch))
			r.scratch = tp_mem_array(
			    c->alloc, n_scratch, sizeof(*r.scratch));
		if (!r.scratch)
			rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "%s: no memory for rows of %zu", c->op->onnx, r.n);
	}
	if (!rc)
		tp_parallel(c->n_threads, r.n_parts, softmax_part, &r);
	tp_mem_free(c->alloc, r.scratch, n_scratch, sizeof(*r.scratch));
	tp_tensor_free(y0);
	tp_tensor_free(x0);
	return rc;
}

static enum tp_status
infer_softmax(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	unsigned axis = 0, rank = c->in[0]->rank;
	bool is_flat = c->op->until != 0;
	int64_t at = tpi_attr_int(c, "axis", is_flat ? 1 : -1);

	infos[0] = tpi_info_of(c->in[0]);
	/* Flattened, the axis may be the one behind the last. */
	if (is_flat && at == (int64_t)rank)
		return TP_OK;
	return tpi_op_axis(c, at, rank, &axis, err);
}

static enum tp_status
run_softmax(struct tpi_call *c, struct tp_err *err)
{
	unsigned axis = 0;
	enum tp_status rc = tpi_op_axis(
	    c, tpi_attr_int(c, "axis", -1), c->in[0]->rank, &axis, err);

	return rc ? rc : softmax_axis(c, c->out[0], c->in[0], axis, err);
}

/* Before opset 13: one row is all axes from `axis` on. */
static enum tp_status
run_softmax_flat(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tp_tensor *packed = NULL, *flat_x = NULL, *flat_y = NULL;
	int64_t axis = tpi_attr_int(c, "axis", 1), sizes[2] = {1, 1};
	enum tp_status rc;

	axis = axis < 0 ? axis + x->rank : axis;
	for (unsigned d = 0; d < x->rank; d++)
		sizes[d >= (uint64_t)axis] *= tp_tensor_sizes(x)[d];
	rc = tp_tensor_contiguous(x, &packed, err);
	if (!rc)
		rc = tp_tensor_reshape(packed, sizes, 2, &flat_x, err);
	if (!rc)
		rc = tp_tensor_reshape(c->out[0], sizes, 2, &flat_y, err);
	if (!rc)
		rc = softmax_axis(c, flat_y, flat_x, 1, err);
	tp_tensor_free(packed);
	tp_tensor_free(flat_x);
	tp_tensor_free(flat_y);
	return rc;
}

static const struct tpi_attr_spec axis_attr[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};
const struct tp_op tpi_softmax_ops[] = {
    {
	.name = "softmax",
	.onnx = "Softmax",
	.since = 13,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.attrs = axis_attr,
	.infer = infer_softmax,
	.run = run_softmax,
	.kernels = softmax_kernels,
    },
    {
	.name = "softmax",
	.onnx = "Softmax",
	.since = 1,
	.until = 12,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.attrs = axis_attr,
	.infer = infer_softmax,
	.run = run_softmax_flat,
	.kernels = softmax_kernels,
    },
    {.name = NULL},
};
