/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - orders of elements, clones and assignment */
#include "tp/layout.h"

#include <stdbool.h>
#include <string.h>

#include "tp/copy.h"
#include "tp/iter.h"
#include "tp/shape.h"

#include "quantizer.h"
#include "tensor.h"

#include "banned.h"

/* Axes from the slowest in memory to the fastest. */
static const unsigned channels_last[] = {0, 2, 3, 1};
static const unsigned channels_last_3d[] = {0, 2, 3, 4, 1};

static const struct {
	const char *name;
	unsigned rank; /* 0: any */
	const unsigned *order;
} layouts[] = {
    [TP_LAYOUT_CONTIGUOUS] = {"contiguous", 0, NULL},
    [TP_LAYOUT_CHANNELS_LAST] = {"channels-last", 4, channels_last},
    [TP_LAYOUT_CHANNELS_LAST_3D] = {"channels-last-3d", 5, channels_last_3d},
    [TP_LAYOUT_PRESERVE] = {"preserve", 0, NULL},
    [TP_LAYOUT_OTHER] = {"other", 0, NULL},
};

const char *
tp_layout_name(enum tp_layout layout)
{
	return (unsigned)layout <= TP_LAYOUT_OTHER ? layouts[layout].name : "?";
}

enum tp_status
tp_layout_strides(enum tp_layout layout, const int64_t *sizes, unsigned rank,
    int64_t *strides, struct tp_err *err)
{
	int64_t ordered[TP_MAX_RANK] = {0}, packed[TP_MAX_RANK] = {0};

	if (layout == TP_LAYOUT_CONTIGUOUS) {
		tp_shape_strides(sizes, rank, strides);
		return TP_OK;
	}
	if (layout > TP_LAYOUT_CHANNELS_LAST_3D || rank != layouts[layout].rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a tensor of rank %u cannot be laid out %s", rank,
		    tp_layout_name(layout));
	for (unsigned d = 0; d < rank; d++)
		ordered[d] = sizes[layouts[layout].order[d]];
	tp_shape_strides(ordered, rank, packed);
	for (unsigned d = 0; d < rank; d++)
		strides[layouts[layout].order[d]] = packed[d];
	return TP_OK;
}

/* The same walk; strides of axes with one element do not matter. */
static bool
same_strides(const struct tp_tensor *t, const int64_t *strides)
{
	for (unsigned d = 0; d < t->rank; d++)
		if (tp_tensor_sizes(t)[d] > 1 &&
		    tp_tensor_strides(t)[d] != strides[d])
			return false;
	return true;
}

enum tp_layout
tp_tensor_layout(const struct tp_tensor *t)
{
	int64_t strides[TP_MAX_RANK];

	if (tp_tensor_is_row_major(t))
		return TP_LAYOUT_CONTIGUOUS;
	for (int l = TP_LAYOUT_CHANNELS_LAST; l <= TP_LAYOUT_CHANNELS_LAST_3D;
	     l++)
		if (!tp_layout_strides((enum tp_layout)l, tp_tensor_sizes(t),
			t->rank, strides, NULL) &&
		    same_strides(t, strides))
			return (enum tp_layout)l;
	return TP_LAYOUT_OTHER;
}

/*
 * Axes by stride, the largest first, equal ones in their order. Returns true if
 * the elements lie without gap or overlap in that order.
 */
static bool
order_axes(const int64_t *sizes, const int64_t *strides, unsigned rank,
    unsigned *order)
{
	int64_t expected = 1;
	unsigned n = 0;

	for (unsigned d = 0; d < rank; d++) {
		unsigned at = n++;

		while (at > 0 && strides[order[at - 1]] < strides[d]) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = d;
	}
	for (unsigned k = rank; k-- > 0;) {
		unsigned d = order[k];

		if (sizes[d] == 1)
			continue;
		if (strides[d] != expected)
			return false;
		expected *= sizes[d];
	}
	return true;
}

/* Pack t into dst, whose elements have dense strides of that order. */
static void
pack_in_order(const struct tp_tensor *t, const unsigned *order, void *dst)
{
	int64_t sizes[TP_MAX_RANK], strides[TP_MAX_RANK];
	struct tp_strided from = tp_tensor_strided(t);

	for (unsigned k = 0; k < t->rank; k++) {
		sizes[k] = from.sizes[order[k]];
		strides[k] = from.strides[order[k]];
	}
	from.sizes = sizes;
	from.strides = strides;
	if (t->n_elems > 0)
		tp_gather(&from, 0, (size_t)t->n_elems, dst);
}

enum tp_status
tp_tensor_clone(const struct tp_tensor *t, enum tp_layout layout,
    struct tp_tensor **out, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(t);
	int64_t strides[TP_MAX_RANK];
	unsigned order[TP_MAX_RANK];
	struct tp_tensor *copy = NULL;
	enum tp_status rc;

	*out = NULL;
	if (t->sparse)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "clone of a sparse tensor; tp_to_dense first");
	if (t->batch)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "clone of a tensor inside tp_vmap");
	if (layout == TP_LAYOUT_PRESERVE &&
	    !order_axes(sizes, tp_tensor_strides(t), t->rank, order))
		layout = TP_LAYOUT_CONTIGUOUS;
	if (layout == TP_LAYOUT_PRESERVE)
		memcpy(
		    strides, tp_tensor_strides(t), t->rank * sizeof(*strides));
	else {
		rc = tp_layout_strides(layout, sizes, t->rank, strides, err);
		if (rc)
			return rc;
		(void)order_axes(sizes, strides, t->rank, order);
	}

	rc = tpi_tensor_new_like(t, strides, &copy, err);
	if (rc)
		return rc;
	pack_in_order(t, order, tp_tensor_data_mut(copy));
	copy->is_inference = t->is_inference;
	copy->quantizer = tpi_quantizer_ref(t->quantizer);
	*out = copy;
	return TP_OK;
}

/* Elements that pass through a buffer at a time. */
#define STAGE 1024

struct assignment {
	enum tp_dtype to, from;
	size_t to_size, from_size;
	enum tp_overflow overflow;
	uint64_t n_done;
	enum tp_status rc;
	struct tp_err *err;
};

static void
copy_elements(char *to, int64_t to_step, const char *from, int64_t from_step,
    size_t size, size_t n)
{
	if (to_step == (int64_t)size && from_step == (int64_t)size) {
		memcpy(to, from, n * size);
		return;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(to + (int64_t)i * to_step, from + (int64_t)i * from_step,
		    size);
}

static void
assign_loop(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	struct assignment *a = ctx;

	if (a->to == a->from) {
		copy_elements(
		    data[0], steps[0], data[1], steps[1], a->to_size, n);
		return;
	}
	for (size_t i = 0; i < n && !a->rc; i += STAGE) {
		_Alignas(16) char in[STAGE * 16], out[STAGE * 16];
		size_t k = n - i < STAGE ? n - i : STAGE;

		copy_elements(in, (int64_t)a->from_size,
		    data[1] + (int64_t)i * steps[1], steps[1], a->from_size, k);
		a->rc = tp_convert(a->to, out, a->from, in, k, a->overflow,
		    a->n_done, NULL, a->err);
		if (!a->rc)
			copy_elements(data[0] + (int64_t)i * steps[0], steps[0],
			    out, (int64_t)a->to_size, a->to_size, k);
		a->n_done += k;
	}
}

enum tp_status
tp_tensor_assign(struct tp_tensor *t, const struct tp_tensor *from,
    enum tp_overflow overflow, struct tp_err *err)
{
	struct assignment a = {
	    .to = t->dtype,
	    .from = from->dtype,
	    .to_size = tp_dtype_bits(t->dtype) / 8,
	    .from_size = tp_dtype_bits(from->dtype) / 8,
	    .overflow = overflow,
	    .err = err,
	};
	struct tp_iter it;
	enum tp_status rc = tp_iter_init(
	    &it, &t, 1, &from, 1, a.to == a.from ? 0 : TP_ITER_IN_ORDER, err);

	if (rc)
		return rc;
	tp_iter_run(&it, assign_loop, &a);
	tp_tensor_bump_version(t);
	return a.rc;
}
