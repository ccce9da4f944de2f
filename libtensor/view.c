/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - new sizes, strides and first elements over the same storage
 *
 * A view is built in a struct draft and becomes a tensor by tpi_tensor_derive,
 * which checks once more that every element lies inside the storage.
 */
#include "tp/view.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "tp/layout.h"
#include "tp/shape.h"

#include "quantizer.h"
#include "tensor.h"

#include "banned.h"

/*
 * What walks along: the tensor itself, then the scale and the zero point of its
 * quantizer, which have its shape and strides of 0 where they are repeated. A
 * view does the same to all of them, so the parameters follow their elements.
 */
#define MAX_LANES 3

struct lane {
	uint64_t first;
	int64_t strides[TP_MAX_RANK];
};

struct draft {
	unsigned rank;
	bool is_empty;
	unsigned n_lanes;
	int64_t sizes[TP_MAX_RANK];
	struct lane lanes[MAX_LANES];
};

static void
begin_lane(struct lane *lane, const struct tp_tensor *t)
{
	lane->first = t->first;
	if (t->rank)
		memcpy(lane->strides, tp_tensor_strides(t),
		    t->rank * sizeof(*lane->strides));
}

static void
begin_draft(struct draft *v, const struct tp_tensor *t)
{
	const struct tp_quantizer *q = t->quantizer;

	v->rank = t->rank;
	v->is_empty = t->n_elems == 0;
	if (t->rank)
		memcpy(
		    v->sizes, tp_tensor_sizes(t), t->rank * sizeof(*v->sizes));
	v->n_lanes = 1;
	begin_lane(&v->lanes[0], t);
	if (q && q->per != TP_PER_BLOCK) {
		begin_lane(&v->lanes[v->n_lanes++], q->scale);
		if (q->zero_point)
			begin_lane(&v->lanes[v->n_lanes++], q->zero_point);
	}
}

static enum tp_status
derive_lane(const struct draft *v, unsigned k, const struct tp_tensor *t,
    struct tp_tensor **out, struct tp_err *err)
{
	return tpi_tensor_derive(t, v->sizes, v->lanes[k].strides, v->rank,
	    v->lanes[k].first, out, err);
}

/* The quantizer of the view; the one of the tensor when views leave it be. */
static enum tp_status
finish_quantizer(const struct draft *v, const struct tp_tensor *t,
    struct tp_tensor *view, struct tp_err *err)
{
	const struct tp_quantizer *q = t->quantizer;
	struct tp_tensor *scale = NULL, *zero_point = NULL;
	enum tp_status rc;

	if (q->per == TP_PER_BLOCK)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "a view of a tensor that is quantized in blocks; "
		    "tp_int_repr or tp_dequantize first");
	rc = derive_lane(v, 1, q->scale, &scale, err);
	if (!rc && q->zero_point)
		rc = derive_lane(v, 2, q->zero_point, &zero_point, err);
	if (!rc)
		rc =
		    tpi_quantizer_bind(view, q->scheme, scale, zero_point, err);
	tp_tensor_free(scale);
	tp_tensor_free(zero_point);
	return rc;
}

/*
 * What a device that is not addressed by strides makes of a view, which is
 * taken: the elements, packed.
 */
static enum tp_status
settle(struct tp_tensor **view, struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	enum tp_status rc;

	if (tp_device_is_strided(tp_tensor_device(*view).type) ||
	    tp_tensor_is_row_major(*view))
		return TP_OK;
	rc = tp_tensor_clone(*view, TP_LAYOUT_CONTIGUOUS, &packed, err);
	tp_tensor_free(*view);
	*view = packed;
	return rc;
}

static enum tp_status
finish_draft(const struct draft *v, const struct tp_tensor *t,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *view = NULL;
	enum tp_status rc = derive_lane(v, 0, t, &view, err);

	if (!rc)
		rc = settle(&view, err);
	if (!rc && t->quantizer)
		rc = finish_quantizer(v, t, view, err);
	if (rc) {
		tp_tensor_free(view);
		return rc;
	}
	*out = view;
	return TP_OK;
}

/* A number of one of n_axes axes, negative ones from the end. */
static enum tp_status
find_axis(unsigned n_axes, int axis, unsigned *found, struct tp_err *err)
{
	int n = (int)n_axes;

	if (axis < -n || axis >= n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "axis %d of a tensor of rank %u", axis, n_axes);
	*found = (unsigned)(axis < 0 ? axis + n : axis);
	return TP_OK;
}

/*
 * Begin an axis at an index that it has; take only every step-th of its
 * indices, of which there are two or more. What is reached so lies inside the
 * storage, so nothing overflows; where there is no element strides mean nothing
 * and stay.
 */
static void
move_first(struct draft *v, unsigned axis, int64_t index)
{
	for (unsigned k = 0; k < v->n_lanes && !v->is_empty; k++)
		v->lanes[k].first +=
		    (uint64_t)(index * v->lanes[k].strides[axis]);
}

static void
scale_stride(struct draft *v, unsigned axis, int64_t step)
{
	for (unsigned k = 0; k < v->n_lanes && !v->is_empty; k++)
		v->lanes[k].strides[axis] *= step;
}

static void
remove_axis(struct draft *v, unsigned axis)
{
	v->rank--;
	for (unsigned d = axis; d < v->rank; d++) {
		v->sizes[d] = v->sizes[d + 1];
		for (unsigned k = 0; k < v->n_lanes; k++)
			v->lanes[k].strides[d] = v->lanes[k].strides[d + 1];
	}
}

/* A new axis of size 1, walked in place, so that it is number `axis`. */
static void
insert_axis(struct draft *v, unsigned axis)
{
	for (unsigned d = v->rank; d > axis; d--) {
		v->sizes[d] = v->sizes[d - 1];
		for (unsigned k = 0; k < v->n_lanes; k++)
			v->lanes[k].strides[d] = v->lanes[k].strides[d - 1];
	}
	v->sizes[axis] = 1;
	for (unsigned k = 0; k < v->n_lanes; k++)
		v->lanes[k].strides[axis] = 0;
	v->rank++;
}

/* Axis d becomes what axis order[d] was. */
static void
order_axes(struct draft *v, const unsigned *order)
{
	const struct draft old = *v;

	for (unsigned d = 0; d < v->rank; d++) {
		v->sizes[d] = old.sizes[order[d]];
		for (unsigned k = 0; k < v->n_lanes; k++)
			v->lanes[k].strides[d] = old.lanes[k].strides[order[d]];
	}
}

void
tp_slice_clamp(int64_t size, int64_t start, int64_t stop, int64_t step,
    int64_t *first, int64_t *count)
{
	bool back = step < 0;
	/* One before the first is as far as a backward slice goes. */
	int64_t low = back ? -1 : 0, high = back ? size - 1 : size;
	uint64_t distance, stride;

	if (start == TP_OMIT)
		start = back ? high : low;
	else if (start < 0)
		start = start + size < low ? low : start + size;
	if (stop == TP_OMIT)
		stop = back ? low : high;
	else if (stop < 0)
		stop = stop + size < low ? low : stop + size;
	start = start > high ? high : start;
	stop = stop > high ? high : stop;

	*first = start;
	*count = 0;
	if (back ? stop >= start : start >= stop)
		return;
	distance = (uint64_t)(back ? start - stop : stop - start);
	stride = back ? 0 - (uint64_t)step : (uint64_t)step;
	*count = (int64_t)((distance - 1) / stride + 1);
}

enum tp_status
tp_tensor_slice(const struct tp_tensor *t, int axis, int64_t start,
    int64_t stop, int64_t step, struct tp_tensor **out, struct tp_err *err)
{
	struct draft v;
	int64_t first, count;
	enum tp_status rc;
	unsigned d = 0;

	*out = NULL;
	rc = find_axis(t->rank, axis, &d, err);
	if (rc)
		return rc;
	if (step == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a slice of axis %u with step 0", d);
	begin_draft(&v, t);
	tp_slice_clamp(v.sizes[d], start, stop, step, &first, &count);
	if (count > 0)
		move_first(&v, d, first);
	if (count > 1)
		scale_stride(&v, d, step);
	v.sizes[d] = count;
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_narrow(const struct tp_tensor *t, int axis, int64_t start,
    int64_t length, struct tp_tensor **out, struct tp_err *err)
{
	struct draft v;
	enum tp_status rc;
	unsigned d = 0;

	*out = NULL;
	rc = find_axis(t->rank, axis, &d, err);
	if (rc)
		return rc;
	begin_draft(&v, t);
	if (start < 0 || length < 0 || start > v.sizes[d] ||
	    length > v.sizes[d] - start)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%" PRId64 " elements from %" PRId64
		    " of axis %u with size %" PRId64,
		    length, start, d, v.sizes[d]);
	if (length > 0)
		move_first(&v, d, start);
	v.sizes[d] = length;
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_select(const struct tp_tensor *t, int axis, int64_t index,
    struct tp_tensor **out, struct tp_err *err)
{
	struct draft v;
	enum tp_status rc;
	unsigned d = 0;

	*out = NULL;
	rc = find_axis(t->rank, axis, &d, err);
	if (rc)
		return rc;
	begin_draft(&v, t);
	if (index < -v.sizes[d] || index >= v.sizes[d])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "index %" PRId64 " of axis %u with size %" PRId64, index, d,
		    v.sizes[d]);
	move_first(&v, d, index < 0 ? index + v.sizes[d] : index);
	remove_axis(&v, d);
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_transpose(const struct tp_tensor *t, int axis0, int axis1,
    struct tp_tensor **out, struct tp_err *err)
{
	unsigned order[TP_MAX_RANK], a = 0, b = 0;
	struct draft v;
	enum tp_status rc;

	*out = NULL;
	rc = find_axis(t->rank, axis0, &a, err);
	if (!rc)
		rc = find_axis(t->rank, axis1, &b, err);
	if (rc)
		return rc;
	for (unsigned d = 0; d < t->rank; d++)
		order[d] = d == a ? b : d == b ? a : d;
	begin_draft(&v, t);
	order_axes(&v, order);
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_permute(const struct tp_tensor *t, const int *axes, unsigned n_axes,
    struct tp_tensor **out, struct tp_err *err)
{
	bool seen[TP_MAX_RANK] = {false};
	unsigned order[TP_MAX_RANK];
	struct draft v;

	*out = NULL;
	if (n_axes != t->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%u axes for a tensor of rank %u", n_axes, t->rank);
	for (unsigned d = 0; d < n_axes; d++) {
		enum tp_status rc;

		order[d] = 0;
		rc = find_axis(t->rank, axes[d], &order[d], err);
		if (rc)
			return rc;
		if (seen[order[d]])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "axis %u twice in a permutation", order[d]);
		seen[order[d]] = true;
	}
	begin_draft(&v, t);
	order_axes(&v, order);
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_flip(const struct tp_tensor *t, int axis, struct tp_tensor **out,
    struct tp_err *err)
{
	return tp_tensor_slice(t, axis, TP_OMIT, TP_OMIT, -1, out, err);
}

enum tp_status
tp_tensor_expand(const struct tp_tensor *t, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err)
{
	struct draft v;

	*out = NULL;
	if (rank > TP_MAX_RANK || rank < t->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a tensor of rank %u expanded to rank %u", t->rank, rank);
	begin_draft(&v, t);
	for (unsigned n_new = rank - t->rank; n_new > 0; n_new--)
		insert_axis(&v, 0);
	for (unsigned d = 0; d < rank; d++) {
		bool is_new = d < rank - t->rank;
		int64_t have = v.sizes[d];
		int64_t want = sizes[d] == -1 && !is_new ? have : sizes[d];

		if (want < 0 || (want != have && have != 1))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "axis %u of size %" PRId64
			    " cannot expand to %" PRId64,
			    d, have, sizes[d]);
		v.sizes[d] = want;
		for (unsigned k = 0; k < v.n_lanes && want != have; k++)
			v.lanes[k].strides[d] = 0;
	}
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_squeeze(const struct tp_tensor *t, int axis, struct tp_tensor **out,
    struct tp_err *err)
{
	struct draft v;
	enum tp_status rc;
	unsigned d = 0;

	*out = NULL;
	rc = find_axis(t->rank, axis, &d, err);
	if (rc)
		return rc;
	begin_draft(&v, t);
	if (v.sizes[d] != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "axis %u has size %" PRId64 ", only size 1 can go", d,
		    v.sizes[d]);
	remove_axis(&v, d);
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_unsqueeze(const struct tp_tensor *t, int axis, struct tp_tensor **out,
    struct tp_err *err)
{
	struct draft v;
	enum tp_status rc;
	unsigned d = 0;

	*out = NULL;
	if (t->rank == TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "rank %u, the largest is %u", t->rank + 1, TP_MAX_RANK);
	rc = find_axis(t->rank + 1, axis, &d, err);
	if (rc)
		return rc;
	begin_draft(&v, t);
	insert_axis(&v, d);
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_unfold(const struct tp_tensor *t, int axis, int64_t size,
    int64_t step, struct tp_tensor **out, struct tp_err *err)
{
	struct draft v;
	enum tp_status rc;
	int64_t n_windows;
	unsigned d = 0;

	*out = NULL;
	if (t->rank == TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "rank %u, the largest is %u", t->rank + 1, TP_MAX_RANK);
	rc = find_axis(t->rank, axis, &d, err);
	if (rc)
		return rc;
	begin_draft(&v, t);
	if (size < 0 || size > v.sizes[d] || step <= 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "windows of %" PRId64 " with step %" PRId64
		    " on axis %u with size %" PRId64,
		    size, step, d, v.sizes[d]);
	n_windows = (v.sizes[d] - size) / step + 1;
	v.sizes[v.rank] = size;
	for (unsigned k = 0; k < v.n_lanes; k++)
		v.lanes[k].strides[v.rank] = v.lanes[k].strides[d];
	v.sizes[d] = n_windows;
	if (n_windows > 1)
		scale_stride(&v, d, step);
	v.rank++;
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_as_strided(const struct tp_tensor *t, const int64_t *sizes,
    const int64_t *strides, unsigned rank, uint64_t first,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *view = NULL;
	enum tp_status rc;

	*out = NULL;
	if (t->quantizer)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "as_strided of a quantized tensor; tp_int_repr first");
	rc = tpi_tensor_derive(t, sizes, strides, rank,
	    first == TP_SAME_FIRST ? t->first : first, &view, err);
	if (!rc)
		rc = settle(&view, err);
	if (!rc)
		*out = view;
	return rc;
}
