/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reshape.c - Reshape, Flatten, Squeeze, Unsqueeze: the same elements in
 * row-major order under another shape, and Identity
 *
 * They are views; only where strides cannot express the shape they copy.
 */
#include "../op.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/view.h"

#include "../tensor.h"
#include "moves.h"

#include "../banned.h"

/* The size of the one -1, which is at free_axis. */
static enum tp_status
fill_free_axis(const struct tpi_call *c, struct tpi_info *info,
    unsigned free_axis, struct tp_err *err)
{
	uint64_t have = c->in[0]->n_elems, n = 0;
	enum tp_status rc;

	info->sizes[free_axis] = 1;
	rc = tp_shape_numel(info->sizes, info->rank, &n, err);
	info->sizes[free_axis] = -1;
	if (rc)
		return rc;
	if (n == 0 || have % n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %" PRIu64 " elements do not fit shape %s", c->op->onnx,
		    have, TP_SHAPE_TEXT(info->sizes, info->rank));
	info->sizes[free_axis] = (int64_t)(have / n);
	return TP_OK;
}

static enum tp_status
infer_reshape(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tpi_info *info = &infos[0];
	bool given, zero = tpi_attr_int(c, "allowzero", 0) != 0;
	unsigned free_axis = TP_MAX_RANK;
	enum tp_status rc;
	uint64_t n_elems = 0;
	size_t n;

	rc = tpi_int_list(c, "shape", 1, info->sizes, &n, &given, err);
	if (rc)
		return rc;
	if (!given)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: no shape is given", c->op->onnx);
	info->dtype = x->dtype;
	info->rank = (unsigned)n;
	for (unsigned d = 0; d < n; d++) {
		if (info->sizes[d] == -1 && free_axis == TP_MAX_RANK)
			free_axis = d;
		else if (info->sizes[d] < 0 ||
			 (info->sizes[d] == 0 && !zero && d >= x->rank))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: size %" PRId64 " of axis %u", c->op->onnx,
			    info->sizes[d], d);
		else if (info->sizes[d] == 0 && !zero)
			info->sizes[d] = tp_tensor_sizes(x)[d];
	}
	if (free_axis < TP_MAX_RANK)
		return fill_free_axis(c, info, free_axis, err);
	rc = tp_shape_numel(info->sizes, info->rank, &n_elems, err);
	if (!rc && n_elems != x->n_elems)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %" PRIu64 " elements do not fit shape %s", c->op->onnx,
		    x->n_elems, TP_SHAPE_TEXT(info->sizes, info->rank));
	return rc;
}

static enum tp_status
infer_flatten(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t axis = tpi_attr_int(c, "axis", 1), rank = x->rank;
	int64_t lowest = c->op->until ? 0 : -rank;

	if (axis < lowest || axis > rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: axis %" PRId64 " of a tensor of rank %u", c->op->onnx,
		    axis, x->rank);
	if (axis < 0)
		axis += rank;
	infos[0] = (struct tpi_info){x->dtype, 2, {1, 1}};
	for (unsigned d = 0; d < x->rank; d++) {
		int64_t *size = &infos[0].sizes[d >= axis];

		/* Beside an axis of 0 the others may be of any size. */
		if (tp_mul_i64(*size, tp_tensor_sizes(x)[d], size))
			return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "%s: shape %s", c->op->onnx,
			    TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	}
	return TP_OK;
}

/* The axes that are named, as marks; none at all leaves them all false. */
static enum tp_status
mark_axes(const struct tpi_call *c, unsigned rank, bool *marks, size_t *n,
    struct tp_err *err)
{
	int64_t axes[TP_MAX_RANK];
	bool given;
	enum tp_status rc;
	unsigned axis = 0;

	rc = tpi_int_list(c, "axes", 1, axes, n, &given, err);
	memset(marks, 0, TP_MAX_RANK * sizeof(*marks));
	for (size_t i = 0; i < *n && !rc; i++) {
		rc = tpi_op_axis(c, axes[i], rank, &axis, err);
		if (!rc && marks[axis])
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: axis %u twice in axes", c->op->onnx, axis);
		if (!rc)
			marks[axis] = true;
	}
	return rc;
}

static enum tp_status
infer_squeeze(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const int64_t *sizes = tp_tensor_sizes(x);
	bool goes[TP_MAX_RANK];
	size_t n = 0;
	enum tp_status rc = mark_axes(c, x->rank, goes, &n, err);

	infos[0] = (struct tpi_info){.dtype = x->dtype};
	for (unsigned d = 0; d < x->rank && !rc; d++) {
		if (goes[d] && sizes[d] != 1)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: axis %u has size %" PRId64 ", expected 1",
			    c->op->onnx, d, sizes[d]);
		else if (!goes[d] && (n > 0 || sizes[d] != 1))
			infos[0].sizes[infos[0].rank++] = sizes[d];
	}
	return rc;
}

static enum tp_status
infer_unsqueeze(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	bool comes[TP_MAX_RANK], given;
	int64_t axes[TP_MAX_RANK];
	unsigned from = 0, rank;
	size_t n = 0;
	enum tp_status rc;

	/* Axes are those of the result: how many there are comes first. */
	rc = tpi_int_list(c, "axes", 1, axes, &n, &given, err);
	rank = x->rank + (unsigned)n;
	if (!rc && rank > TP_MAX_RANK)
		rc = tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: a result of rank %u, the largest is %u", c->op->onnx,
		    rank, TP_MAX_RANK);
	if (!rc)
		rc = mark_axes(c, rank, comes, &n, err);
	infos[0] = (struct tpi_info){.dtype = x->dtype, .rank = rank};
	for (unsigned d = 0; d < rank && !rc; d++)
		infos[0].sizes[d] = comes[d] ? 1 : tp_tensor_sizes(x)[from++];
	return rc;
}

/* A view of that shape or, where strides cannot express it, a copy. */
static enum tp_status
run_reshaping(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_info info;
	enum tp_status rc = c->op->infer(c, &info, err);

	if (rc)
		return rc;
	rc =
	    tp_tensor_reshape(c->in[0], info.sizes, info.rank, &c->out[0], err);
	if (rc == TP_EUNSUPPORTED)
		rc = tpi_pack_as(
		    c, c->in[0], info.sizes, info.rank, &c->out[0], err);
	return rc;
}

static enum tp_status
run_identity(struct tpi_call *c, struct tp_err *err)
{
	return tp_value_copy(&c->values[0], &c->results[0], err);
}

static const struct tpi_attr_spec reshape_attrs[] = {
    {"allowzero", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec reshape_1_attrs[] = {
    {"consumed_inputs", TP_ATTR_INTS}, {"shape", TP_ATTR_INTS}, {NULL, 0}};
static const struct tpi_attr_spec flatten_attrs[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec axes_attrs[] = {
    {"axes", TP_ATTR_INTS}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, least, most, spec)                        \
	{                                                                      \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,    \
		.min_in = least, .max_in = most, .min_out = 1, .max_out = 1,   \
		.flags = TPI_OP_MAKES, .strings_in = TPI_BIT(0),               \
		.strings_out = TPI_BIT(0), .attrs = spec, .infer = infer_##op, \
		.run = run_reshaping                                           \
	}

const struct tp_op tpi_reshape_ops[] = {
    ROW(reshape, "Reshape", 14, 0, 2, 2, reshape_attrs),
    ROW(reshape, "Reshape", 5, 13, 2, 2, NULL),
    ROW(reshape, "Reshape", 1, 4, 1, 1, reshape_1_attrs),
    ROW(flatten, "Flatten", 11, 0, 1, 1, flatten_attrs),
    ROW(flatten, "Flatten", 1, 10, 1, 1, flatten_attrs),
    ROW(squeeze, "Squeeze", 13, 0, 1, 2, NULL),
    ROW(squeeze, "Squeeze", 1, 12, 1, 1, axes_attrs),
    ROW(unsqueeze, "Unsqueeze", 13, 0, 2, 2, NULL),
    ROW(unsqueeze, "Unsqueeze", 1, 12, 1, 1, axes_attrs),
    {.name = "identity",
	.onnx = "Identity",
	.since = 1,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_VALUES,
	.run = run_identity},
    {.name = NULL},
};
