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

#include "tp/checked.h"
#include "tp/shape.h"

#include "tensor.h"

#include "banned.h"

struct draft {
	unsigned rank;
	bool is_empty;
	uint64_t first;
	int64_t sizes[TP_MAX_RANK], strides[TP_MAX_RANK];
};

static void
begin_draft(struct draft *v, const struct tp_tensor *t)
{
	v->rank = t->rank;
	v->first = t->first;
	v->is_empty = t->n_elems == 0;
	if (t->rank == 0)
		return;
	memcpy(v->sizes, tp_tensor_sizes(t), t->rank * sizeof(*v->sizes));
	memcpy(v->strides, tp_tensor_strides(t), t->rank * sizeof(*v->strides));
}

static enum tp_status
finish_draft(const struct draft *v, const struct tp_tensor *t,
    struct tp_tensor **out, struct tp_err *err)
{
	return tpi_tensor_derive(
	    t, v->sizes, v->strides, v->rank, v->first, out, err);
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
	if (!v->is_empty)
		v->first += (uint64_t)(index * v->strides[axis]);
}

static void
scale_stride(struct draft *v, unsigned axis, int64_t step)
{
	if (!v->is_empty)
		v->strides[axis] *= step;
}

static void
remove_axis(struct draft *v, unsigned axis)
{
	v->rank--;
	for (unsigned d = axis; d < v->rank; d++) {
		v->sizes[d] = v->sizes[d + 1];
		v->strides[d] = v->strides[d + 1];
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
	const int64_t *sizes = tp_tensor_sizes(t);
	const int64_t *strides = tp_tensor_strides(t);
	struct draft v;
	enum tp_status rc;
	unsigned a = 0, b = 0;

	*out = NULL;
	rc = find_axis(t->rank, axis0, &a, err);
	if (!rc)
		rc = find_axis(t->rank, axis1, &b, err);
	if (rc)
		return rc;
	begin_draft(&v, t);
	v.sizes[a] = sizes[b];
	v.sizes[b] = sizes[a];
	v.strides[a] = strides[b];
	v.strides[b] = strides[a];
	return finish_draft(&v, t, out, err);
}

enum tp_status
tp_tensor_permute(const struct tp_tensor *t, const int *axes, unsigned n_axes,
    struct tp_tensor **out, struct tp_err *err)
{
	bool seen[TP_MAX_RANK] = {false};
	struct draft v;

	*out = NULL;
	if (n_axes != t->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%u axes for a tensor of rank %u", n_axes, t->rank);
	begin_draft(&v, t);
	for (unsigned d = 0; d < n_axes; d++) {
		enum tp_status rc;
		unsigned from = 0;

		rc = find_axis(t->rank, axes[d], &from, err);
		if (rc)
			return rc;
		if (seen[from])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "axis %u twice in a permutation", from);
		seen[from] = true;
		v.sizes[d] = tp_tensor_sizes(t)[from];
		v.strides[d] = tp_tensor_strides(t)[from];
	}
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
	const int64_t *old_sizes = tp_tensor_sizes(t);
	const int64_t *old_strides = tp_tensor_strides(t);
	struct draft v = {.rank = rank, .first = t->first};
	unsigned n_new;

	*out = NULL;
	if (rank > TP_MAX_RANK || rank < t->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a tensor of rank %u expanded to rank %u", t->rank, rank);
	n_new = rank - t->rank;
	for (unsigned d = 0; d < rank; d++) {
		int64_t have = d < n_new ? 1 : old_sizes[d - n_new];

		v.sizes[d] = sizes[d] == -1 && d >= n_new ? have : sizes[d];
		if (v.sizes[d] < 0 || (v.sizes[d] != have && have != 1))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "axis %u of size %" PRId64
			    " cannot expand to %" PRId64,
			    d, have, sizes[d]);
		if (d >= n_new && v.sizes[d] == have)
			v.strides[d] = old_strides[d - n_new];
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
	for (unsigned i = v.rank; i > d; i--) {
		v.sizes[i] = v.sizes[i - 1];
		v.strides[i] = v.strides[i - 1];
	}
	v.sizes[d] = 1;
	v.strides[d] = 0;
	v.rank++;
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
	v.strides[v.rank] = v.strides[d];
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
	return tpi_tensor_derive(t, sizes, strides, rank,
	    first == TP_SAME_FIRST ? t->first : first, out, err);
}
