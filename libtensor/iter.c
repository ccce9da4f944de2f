/* SPDX-License-Identifier: Apache-2.0 */
/* iter.c - merged, sorted axes and the loops over them */
#include "tp/iter.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "tp/broadcast.h"
#include "tp/dtype.h"

#include "share.h"
#include "tensor.h"

#include "banned.h"

static enum tp_status
check_written(struct tp_tensor *t, const struct tp_iter *it, unsigned k,
    struct tp_err *err)
{
	enum tp_status rc = tp_tensor_check_write(t, err);

	if (rc)
		return rc;
	if (t->rank != it->rank ||
	    (t->rank && memcmp(tp_tensor_sizes(t), it->sizes,
			    t->rank * sizeof(*it->sizes))))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "operand %u is written and has shape %s; the operands "
		    "together have %s",
		    k, TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    TP_SHAPE_TEXT(it->sizes, it->rank));
	return TP_OK;
}

static enum tp_status
add_operand(struct tp_iter *it, unsigned k, const struct tp_tensor *t,
    char *data, struct tp_err *err)
{
	const struct tp_shape_ref from = {tp_tensor_sizes(t), t->rank};
	const struct tp_shape_ref to = {it->sizes, it->rank};
	unsigned bits = tp_dtype_bits(t->dtype);

	if (t->sparse)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "a sparse operand; tp_to_dense first");
	if (t->batch)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "an operand inside tp_vmap; tp/ops.h takes it");
	if (bits < 8)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "elements of dtype %s have no address of their own",
		    tp_dtype_name(t->dtype));
	tp_broadcast_strides(from, tp_tensor_strides(t), to, it->steps[k]);
	for (unsigned d = 0; d < it->rank; d++)
		it->steps[k][d] *= bits / 8;
	it->data[k] = data;
	return TP_OK;
}

static int64_t
magnitude(int64_t step)
{
	return step < 0 ? -step : step;
}

/*
 * True if axis a should lie outside of axis b: the first operand that walks
 * them with different steps decides, so outputs come before inputs.
 */
static bool
is_outer(const struct tp_iter *it, unsigned a, unsigned b)
{
	for (unsigned k = 0; k < it->n_operands; k++) {
		int64_t x = magnitude(it->steps[k][a]);
		int64_t y = magnitude(it->steps[k][b]);

		/* A repeated operand has no opinion. */
		if (x != y && x != 0 && y != 0)
			return x > y;
	}
	return false;
}

static void
swap_axes(struct tp_iter *it, unsigned a, unsigned b)
{
	int64_t t = it->sizes[a];

	it->sizes[a] = it->sizes[b];
	it->sizes[b] = t;
	for (unsigned k = 0; k < it->n_operands; k++) {
		t = it->steps[k][a];
		it->steps[k][a] = it->steps[k][b];
		it->steps[k][b] = t;
	}
}

/* Insertion sort: axes are few, and equal ones keep their order. */
static void
sort_axes(struct tp_iter *it)
{
	for (unsigned d = 1; d < it->rank; d++)
		for (unsigned e = d; e > 0 && is_outer(it, e, e - 1); e--)
			swap_axes(it, e, e - 1);
}

static void
copy_axis(struct tp_iter *it, unsigned to, unsigned from)
{
	it->sizes[to] = it->sizes[from];
	for (unsigned k = 0; k < it->n_operands; k++)
		it->steps[k][to] = it->steps[k][from];
}

static bool
can_merge(const struct tp_iter *it, unsigned outer, unsigned inner)
{
	for (unsigned k = 0; k < it->n_operands; k++)
		if (it->steps[k][outer] !=
		    it->steps[k][inner] * it->sizes[inner])
			return false;
	return true;
}

/* Drop axes of size 1, join those that are walked like one. */
static void
merge_axes(struct tp_iter *it)
{
	unsigned n = 0;

	for (unsigned d = 0; d < it->rank; d++) {
		if (it->sizes[d] == 1)
			continue;
		if (n > 0 && can_merge(it, n - 1, d)) {
			int64_t size = it->sizes[n - 1] * it->sizes[d];

			copy_axis(it, n - 1, d);
			it->sizes[n - 1] = size;
			continue;
		}
		copy_axis(it, n++, d);
	}
	if (n == 0) {
		it->sizes[0] = 1;
		for (unsigned k = 0; k < it->n_operands; k++)
			it->steps[k][0] = 0;
		n = 1;
	}
	it->rank = n;
}

enum tp_status
tp_iter_init(struct tp_iter *it, struct tp_tensor *const *written,
    unsigned n_written, const struct tp_tensor *const *read, unsigned n_read,
    unsigned flags, struct tp_err *err)
{
	struct tp_shape_ref shapes[TP_ITER_OPERANDS];
	enum tp_status rc;

	if (n_written > TP_ITER_OPERANDS ||
	    n_read > TP_ITER_OPERANDS - n_written || n_written + n_read == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%u written and %u read operands", n_written, n_read);
	it->n_operands = n_written + n_read;
	for (unsigned k = 0; k < it->n_operands; k++) {
		const struct tp_tensor *t =
		    k < n_written ? written[k] : read[k - n_written];

		shapes[k] = (struct tp_shape_ref){tp_tensor_sizes(t), t->rank};
	}
	rc = tp_broadcast_shape(
	    shapes, it->n_operands, it->sizes, &it->rank, err);
	for (unsigned k = 0; k < n_written && !rc; k++) {
		rc = check_written(written[k], it, k, err);
		if (!rc)
			rc = add_operand(it, k, written[k],
			    tpi_tensor_address(written[k]), err);
	}
	for (unsigned k = 0; k < n_read && !rc; k++)
		rc = add_operand(it, n_written + k, read[k],
		    tpi_tensor_address(read[k]), err);
	if (rc)
		return rc;

	it->n_elems = 1;
	for (unsigned d = 0; d < it->rank; d++)
		it->n_elems *= (uint64_t)it->sizes[d];
	if (!(flags & TP_ITER_IN_ORDER))
		sort_axes(it);
	merge_axes(it);
	return TP_OK;
}

/* A position of the outer axes, as addresses of all operands. */
struct position {
	int64_t index[TP_MAX_RANK];
	char *data[TP_ITER_OPERANDS];
};

static void
begin(struct position *p, const struct tp_iter *it)
{
	memset(p->index, 0, it->rank * sizeof(p->index[0]));
	memcpy(p->data, it->data, it->n_operands * sizeof(p->data[0]));
}

/* One step along the innermost of n_axes outer axes; false behind the last. */
static bool
advance(struct position *p, const struct tp_iter *it, unsigned n_axes)
{
	for (unsigned d = n_axes; d-- > 0;) {
		bool wraps = ++p->index[d] == it->sizes[d];
		int64_t steps = wraps ? 1 - it->sizes[d] : 1;

		for (unsigned k = 0; k < it->n_operands; k++)
			p->data[k] += steps * it->steps[k][d];
		if (!wraps)
			return true;
		p->index[d] = 0;
	}
	return false;
}

static void
axis_steps(const struct tp_iter *it, unsigned d, int64_t *steps)
{
	for (unsigned k = 0; k < it->n_operands; k++)
		steps[k] = it->steps[k][d];
}

void
tp_iter_run(const struct tp_iter *it, tp_loop_fn *fn, void *ctx)
{
	unsigned inner = it->rank - 1;
	int64_t steps[TP_ITER_OPERANDS];
	struct position p;

	if (it->n_elems == 0)
		return;
	axis_steps(it, inner, steps);
	begin(&p, it);
	do
		fn(ctx, p.data, steps, (size_t)it->sizes[inner]);
	while (advance(&p, it, inner));
}

void
tp_iter_run2(const struct tp_iter *it, tp_loop2_fn *fn, void *ctx)
{
	unsigned inner = it->rank - 1;
	int64_t steps[TP_ITER_OPERANDS], rows[TP_ITER_OPERANDS] = {0};
	size_t n_rows = 1;
	struct position p;

	if (it->n_elems == 0)
		return;
	axis_steps(it, inner, steps);
	if (inner > 0) {
		axis_steps(it, inner - 1, rows);
		n_rows = (size_t)it->sizes[inner - 1];
	}
	begin(&p, it);
	do
		fn(ctx, p.data, steps, (size_t)it->sizes[inner], rows, n_rows);
	while (inner > 0 && advance(&p, it, inner - 1));
}

void
tp_iter_part(const struct tp_iter *it, size_t k, size_t n, struct tp_iter *part)
{
	uint64_t size = (uint64_t)it->sizes[0];
	struct tpi_share mine = tpi_share(size, n, k);
	uint64_t count = mine.end - mine.from;

	*part = *it;
	for (unsigned j = 0; j < it->n_operands; j++)
		part->data[j] += (int64_t)mine.from * it->steps[j][0];
	part->sizes[0] = (int64_t)count;
	part->n_elems = size ? it->n_elems / size * count : 0;
}
