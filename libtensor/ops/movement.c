/* SPDX-License-Identifier: Apache-2.0 */
/*
 * movement.c - Transpose, Reshape, Slice: views, of any dtype
 *
 * Only a Reshape that strides cannot express copies.
 */
#include "../op.h"

#include <inttypes.h>

#include "tp/copy.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

static enum tp_status
find_order(const struct tpi_call *c, int *order, struct tp_err *err)
{
	unsigned rank = c->in[0]->rank, axis = 0;
	int64_t perm[TP_MAX_RANK];
	bool given, seen[TP_MAX_RANK] = {false};
	enum tp_status rc;
	size_t n;

	rc = tpi_int_list(c, "perm", TPI_OP_FEW, perm, &n, &given, err);
	if (rc)
		return rc;
	if (given && n != rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: perm has %zu axes, the input %u", c->op->onnx, n,
		    rank);
	for (unsigned d = 0; d < rank && !rc; d++) {
		rc = tpi_op_axis(
		    c, given ? perm[d] : rank - 1 - d, rank, &axis, err);
		if (!rc && seen[axis])
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: axis %u twice in perm", c->op->onnx, axis);
		seen[axis] = true;
		order[d] = (int)axis;
	}
	return rc;
}

static enum tp_status
infer_transpose(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int order[TP_MAX_RANK];
	enum tp_status rc = find_order(c, order, err);

	infos[0].dtype = c->in[0]->dtype;
	infos[0].rank = c->in[0]->rank;
	for (unsigned d = 0; d < c->in[0]->rank && !rc; d++)
		infos[0].sizes[d] = tp_tensor_sizes(c->in[0])[order[d]];
	return rc;
}

static enum tp_status
run_transpose(struct tpi_call *c, struct tp_err *err)
{
	int order[TP_MAX_RANK];
	enum tp_status rc = find_order(c, order, err);

	return rc ? rc
		  : tp_tensor_permute(
			c->in[0], order, c->in[0]->rank, &c->out[0], err);
}

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
run_reshape(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	struct tpi_info info;
	enum tp_status rc = infer_reshape(c, &info, err);

	if (rc)
		return rc;
	rc =
	    tp_tensor_reshape(c->in[0], info.sizes, info.rank, &c->out[0], err);
	if (rc != TP_EUNSUPPORTED)
		return rc;
	rc = tp_tensor_contiguous(c->in[0], &packed, err);
	if (!rc)
		rc = tp_tensor_reshape(
		    packed, info.sizes, info.rank, &c->out[0], err);
	tp_tensor_free(packed);
	return rc;
}

struct cut {
	unsigned axis;
	int64_t start, stop, step;
};

/*
 * Numbers below INT64_MIN + 1 mean the same as that one, and INT64_MIN is
 * TP_OMIT, which would be the other end for a step backwards.
 */
static int64_t
bound(int64_t x)
{
	return x == TP_OMIT ? x + 1 : x;
}

static enum tp_status
find_cuts(
    const struct tpi_call *c, struct cut *cuts, size_t *n, struct tp_err *err)
{
	int64_t starts[TP_MAX_RANK], ends[TP_MAX_RANK], axes[TP_MAX_RANK],
	    steps[TP_MAX_RANK];
	size_t n_ends = 0, n_axes = 0, n_steps = 0;
	bool given, has_axes = false, has_steps = false;
	bool seen[TP_MAX_RANK] = {false};
	enum tp_status rc;

	rc = tpi_int_list(c, "starts", 1, starts, n, &given, err);
	if (!rc)
		rc = tpi_int_list(c, "ends", 2, ends, &n_ends, &given, err);
	if (!rc)
		rc = tpi_int_list(c, "axes", 3, axes, &n_axes, &has_axes, err);
	if (!rc)
		rc = tpi_int_list(
		    c, "steps", 4, steps, &n_steps, &has_steps, err);
	if (rc)
		return rc;
	if (!given || n_ends != *n || (has_axes && n_axes != *n) ||
	    (has_steps && n_steps != *n))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu starts, %zu ends, %zu axes, %zu steps",
		    c->op->onnx, *n, n_ends, n_axes, n_steps);
	for (size_t i = 0; i < *n; i++) {
		struct cut *cut = &cuts[i];

		rc = tpi_op_axis(c, has_axes ? axes[i] : (int64_t)i,
		    c->in[0]->rank, &cut->axis, err);
		if (rc)
			return rc;
		cut->start = bound(starts[i]);
		cut->stop = bound(ends[i]);
		cut->step = has_steps ? steps[i] : 1;
		if (cut->step == 0 || seen[cut->axis])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: %s axis %u", c->op->onnx,
			    cut->step ? "two ranges for" : "step 0 along",
			    cut->axis);
		seen[cut->axis] = true;
	}
	return TP_OK;
}

static enum tp_status
infer_slice(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct cut cuts[TP_MAX_RANK];
	int64_t first;
	size_t n = 0;
	enum tp_status rc = find_cuts(c, cuts, &n, err);

	infos[0] = tpi_info_of(c->in[0]);
	for (size_t i = 0; i < n && !rc; i++)
		tp_slice_clamp(infos[0].sizes[cuts[i].axis], cuts[i].start,
		    cuts[i].stop, cuts[i].step, &first,
		    &infos[0].sizes[cuts[i].axis]);
	return rc;
}

static enum tp_status
run_slice(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *t = NULL, *next = NULL;
	struct cut cuts[TP_MAX_RANK];
	size_t n = 0;
	enum tp_status rc = find_cuts(c, cuts, &n, err);

	if (!rc)
		rc = tp_tensor_alias(c->in[0], &t, err);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = tp_tensor_slice(t, (int)cuts[i].axis, cuts[i].start,
		    cuts[i].stop, cuts[i].step, &next, err);
		tp_tensor_free(t);
		t = next;
	}
	c->out[0] = t;
	return rc;
}

static const struct tpi_attr_spec transpose_attrs[] = {
    {"perm", TP_ATTR_INTS}, {NULL, 0}};
static const struct tpi_attr_spec reshape_attrs[] = {
    {"allowzero", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec slice_1_attrs[] = {{"axes", TP_ATTR_INTS},
    {"ends", TP_ATTR_INTS}, {"starts", TP_ATTR_INTS}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, least, most, spec)                        \
	{                                                                      \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,    \
		.min_in = least, .max_in = most, .min_out = 1, .max_out = 1,   \
		.flags = TPI_OP_MAKES, .strings_in = TPI_BIT(0),               \
		.strings_out = TPI_BIT(0), .attrs = spec, .infer = infer_##op, \
		.run = run_##op                                                \
	}

const struct tp_op tpi_movement_ops[] = {
    ROW(transpose, "Transpose", 1, 0, 1, 1, transpose_attrs),
    ROW(reshape, "Reshape", 14, 0, 2, 2, reshape_attrs),
    ROW(reshape, "Reshape", 5, 13, 2, 2, NULL),
    ROW(slice, "Slice", 10, 0, 3, 5, NULL),
    ROW(slice, "Slice", 1, 9, 1, 1, slice_1_attrs),
    {.name = NULL},
};
