/* SPDX-License-Identifier: Apache-2.0 */
/* reshape.c - another shape for the same row-major order, without a copy */
#include "tp/view.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/shape.h"

#include "quantizer.h"
#include "tensor.h"

#include "banned.h"

/* Work out a size of -1, and check that the counts agree. */
static enum tp_status
resolve_sizes(const struct tp_tensor *t, const int64_t *wanted, unsigned rank,
    int64_t *sizes, struct tp_err *err)
{
	unsigned free_axis = rank;
	enum tp_status rc;
	uint64_t n;

	for (unsigned d = 0; d < rank; d++) {
		sizes[d] = wanted[d];
		if (wanted[d] != -1)
			continue;
		if (free_axis < rank)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "axes %u and %u both have the size -1", free_axis,
			    d);
		free_axis = d;
		sizes[d] = 1;
	}
	rc = tp_shape_numel(sizes, rank, &n, err);
	if (rc)
		return rc;
	if (free_axis < rank && n > 0 && t->n_elems % n == 0) {
		sizes[free_axis] = (int64_t)(t->n_elems / n);
		n = t->n_elems;
	} else if (free_axis < rank) {
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%" PRIu64 " elements do not fit shape %s", t->n_elems,
		    TP_SHAPE_TEXT(wanted, rank));
	}
	if (n != t->n_elems)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "shape %s has %" PRIu64 " elements, %s has %" PRIu64,
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank), t->n_elems,
		    TP_SHAPE_TEXT(sizes, rank), n);
	return TP_OK;
}

/*
 * From the last axis on, old axes that walk memory like one form a run, and new
 * axes are cut from it; both must end together. Nothing here has size 0.
 */
static bool
cut_strides(const struct tp_tensor *t, const int64_t *sizes, unsigned rank,
    int64_t *strides)
{
	const int64_t *old_sizes = tp_tensor_sizes(t);
	const int64_t *old_strides = tp_tensor_strides(t);
	unsigned d = rank, o = t->rank;

	while (o > 0) {
		int64_t run, stride, cut = 1;

		o--;
		run = old_sizes[o];
		if (run == 1)
			continue;
		stride = old_strides[o];
		while (o > 0 && (old_sizes[o - 1] == 1 ||
				    old_strides[o - 1] == run * stride)) {
			o--;
			run *= old_sizes[o];
		}
		while (d > 0 && (cut < run || sizes[d - 1] == 1)) {
			d--;
			strides[d] = cut * stride;
			cut *= sizes[d];
		}
		if (cut != run)
			return false;
	}
	while (d > 0)
		strides[--d] = 1;
	return true;
}

static enum tp_status
reshape_plain(const struct tp_tensor *t, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err)
{
	int64_t strides[TP_MAX_RANK];

	if (t->n_elems == 0)
		return tpi_tensor_derive(
		    t, sizes, NULL, rank, t->first, out, err);
	if (!cut_strides(t, sizes, rank, strides))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "the strides of shape %s do not allow shape %s "
		    "without a copy",
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    TP_SHAPE_TEXT(sizes, rank));
	return tpi_tensor_derive(t, sizes, strides, rank, t->first, out, err);
}

/* Scales and zero points in the new shape, if their strides allow it too. */
static enum tp_status
reshape_quantizer(const struct tp_quantizer *q, const int64_t *sizes,
    unsigned rank, struct tp_tensor *view, struct tp_err *err)
{
	struct tp_tensor *scale = NULL, *zero_point = NULL;
	enum tp_status rc = TP_EUNSUPPORTED;

	if (q->per != TP_PER_BLOCK)
		rc = reshape_plain(q->scale, sizes, rank, &scale, NULL);
	if (!rc && q->zero_point)
		rc = reshape_plain(
		    q->zero_point, sizes, rank, &zero_point, NULL);
	if (rc == TP_EUNSUPPORTED)
		tp_fail(err, rc, TP_NO_OFFSET,
		    "scales do not follow a tensor quantized by %s to shape "
		    "%s; tp_int_repr or tp_dequantize first",
		    tp_quant_per_name(
			q->per == TP_PER_BLOCK ? TP_PER_BLOCK : TP_PER_CHANNEL),
		    TP_SHAPE_TEXT(sizes, rank));
	else if (rc)
		tp_fail(err, rc, TP_NO_OFFSET, "no memory for a view");
	else
		rc =
		    tpi_quantizer_bind(view, q->scheme, scale, zero_point, err);
	tp_tensor_free(scale);
	tp_tensor_free(zero_point);
	return rc;
}

enum tp_status
tp_tensor_reshape(const struct tp_tensor *t, const int64_t *sizes,
    unsigned rank, struct tp_tensor **out, struct tp_err *err)
{
	int64_t resolved[TP_MAX_RANK] = {0};
	struct tp_tensor *view = NULL;
	enum tp_status rc;

	*out = NULL;
	if (rank > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "rank %u, the largest is %u", rank, TP_MAX_RANK);
	rc = resolve_sizes(t, sizes, rank, resolved, err);
	if (!rc)
		rc = reshape_plain(t, resolved, rank, &view, err);
	if (!rc && t->quantizer)
		rc = reshape_quantizer(t->quantizer, resolved, rank, view, err);
	if (rc) {
		tp_tensor_free(view);
		return rc;
	}
	*out = view;
	return TP_OK;
}
