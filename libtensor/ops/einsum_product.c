/* SPDX-License-Identifier: Apache-2.0 */
/* einsum_product.c - equations of two operands that are products of matrices */
#include "einsum.h"

#include <string.h>

#include "gemm.h"

#include "tp/copy.h"

#include "../tensor.h"

#include "../banned.h"

/* What an axis is to a product of two: rows of a, columns of b, and so on. */
enum role { BATCH, ROWS, COLUMNS, DEPTH, NOTHING, ALONE };

static enum role
role_of(const struct tpi_einsum *e, unsigned axis, unsigned a)
{
	bool in_a = e->operands[a].has[axis], in_b = e->operands[!a].has[axis];

	if (!in_a && !in_b)
		return NOTHING;
	if (axis < e->n_out)
		return in_a && in_b ? BATCH : in_a ? ROWS : COLUMNS;
	return in_a && in_b ? DEPTH : ALONE;
}

bool
tpi_einsum_is_product(const struct tpi_einsum *e, unsigned a)
{
	enum role last = BATCH;

	for (unsigned axis = 0; axis < e->n_axes; axis++) {
		enum role role = role_of(e, axis, a);

		if (role == ALONE)
			return false;
		if (axis >= e->n_out || role == NOTHING)
			continue;
		if (role < last)
			return false;
		last = role;
	}
	return true;
}

/* An operand with its axes in the order batch, lanes, depth. */
struct side {
	const struct tp_tensor *t;
	unsigned n; /* axes it has */
	int64_t sizes[TPI_EINSUM_AXES], strides[TPI_EINSUM_AXES];
	enum role roles[TPI_EINSUM_AXES];
	unsigned axes[TPI_EINSUM_AXES];
	struct tp_tensor *packed;
};

/* The axes of a role as one: its size, its stride in *stride. */
static bool
join(const struct side *s, enum role role, size_t *size, int64_t *stride)
{
	*size = 1;
	*stride = 0;
	for (unsigned i = s->n; i-- > 0;) {
		if (s->roles[i] != role)
			continue;
		if (*size == 1)
			*stride = s->strides[i];
		else if (s->strides[i] != *stride * (int64_t)*size)
			return false;
		*size *= (size_t)s->sizes[i];
	}
	return true;
}

static enum tp_status
take_side(const struct tpi_call *c, const struct tpi_einsum *e, unsigned a,
    unsigned k, enum role lanes, struct side *s, struct tp_err *err)
{
	const enum role order[] = {BATCH, lanes, DEPTH};
	struct tp_tensor *view = NULL;
	int64_t stride;
	enum tp_status rc;
	size_t size;

	s->t = c->in[k];
	s->n = 0;
	for (unsigned r = 0; r < 3; r++)
		for (unsigned axis = 0; axis < e->n_axes; axis++) {
			if (!e->operands[k].has[axis] ||
			    role_of(e, axis, a) != order[r])
				continue;
			s->sizes[s->n] = e->sizes[axis];
			s->strides[s->n] = e->operands[k].steps[axis];
			s->axes[s->n] = axis;
			s->roles[s->n++] = order[r];
		}
	if (join(s, lanes, &size, &stride) && join(s, DEPTH, &size, &stride))
		return TP_OK;
	rc = tpi_tensor_derive(
	    s->t, s->sizes, s->strides, s->n, s->t->first, &view, err);
	if (!rc)
		rc = tp_tensor_contiguous(view, &s->packed, err);
	tp_tensor_free(view);
	if (rc)
		return rc;
	s->t = s->packed;
	memcpy(s->strides, tp_tensor_strides(s->packed),
	    s->n * sizeof(s->strides[0]));
	return TP_OK;
}

/* Steps of a side along the axes of the batch. */
static void
step_batch(const struct tpi_einsum *e, unsigned a, const struct side *s,
    int64_t size, int64_t *steps)
{
	unsigned n = 0;

	for (unsigned axis = 0; axis < e->n_out; axis++) {
		if (role_of(e, axis, a) != BATCH)
			continue;
		for (unsigned i = 0; i < s->n; i++)
			if (s->axes[i] == axis)
				steps[n] = s->strides[i] * size;
		n++;
	}
}

static enum tp_status
multiply(const struct tpi_call *c, const struct tpi_einsum *e, unsigned a,
    const struct side *left, const struct side *right, struct tp_err *err)
{
	int64_t size = tp_dtype_bits(left->t->dtype) / 8;
	struct tpi_batch batch = {.a = tpi_tensor_address(left->t),
	    .b = tpi_tensor_address(right->t),
	    .y = tpi_tensor_address(c->out[0])};
	struct tpi_gemm g = {.dtype = left->t->dtype, .ctx = &batch};
	uint64_t n_products = 1;

	(void)join(left, ROWS, &g.m, &g.a.lane_step);
	(void)join(left, DEPTH, &g.k, &g.a.depth_step);
	(void)join(right, COLUMNS, &g.n, &g.b.lane_step);
	(void)join(right, DEPTH, &g.k, &g.b.depth_step);
	g.a.lane_step *= size;
	g.a.depth_step *= size;
	g.b.lane_step *= size;
	g.b.depth_step *= size;
	g.y_row = (int64_t)g.n * size;
	for (unsigned axis = 0; axis < e->n_out; axis++)
		if (role_of(e, axis, a) == BATCH) {
			batch.sizes[batch.rank++] = e->sizes[axis];
			n_products *= (uint64_t)e->sizes[axis];
		}
	step_batch(e, a, left, size, batch.a_steps);
	step_batch(e, a, right, size, batch.b_steps);
	batch.y_step = (int64_t)g.m * g.y_row;
	return tpi_gemm_run(c, &g, n_products, tpi_batch_go, err);
}

enum tp_status
tpi_einsum_product(const struct tpi_call *c, const struct tpi_einsum *e,
    unsigned a, struct tp_err *err)
{
	struct side left = {.packed = NULL}, right = {.packed = NULL};
	enum tp_status rc = take_side(c, e, a, a, ROWS, &left, err);

	if (!rc)
		rc = take_side(c, e, a, !a, COLUMNS, &right, err);
	if (!rc)
		rc = multiply(c, e, a, &left, &right, err);
	tp_tensor_free(left.packed);
	tp_tensor_free(right.packed);
	return rc;
}
