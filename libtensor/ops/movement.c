/* SPDX-License-Identifier: Apache-2.0 */
/*
 * movement.c - Transpose, Slice, Split, Expand: views, of any dtype
 */
#include "../op.h"

#include <inttypes.h>

#include "tp/broadcast.h"
#include "tp/checked.h"
#include "tp/view.h"

#include "../tensor.h"
#include "indices.h"

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

/* Sizes of n_out parts of an axis: those of a list, which must be used up. */
static enum tp_status
parts_of_list(const struct tpi_call *c, const struct tpi_indices *list,
    int64_t size, int64_t *parts, struct tp_err *err)
{
	int64_t sum = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->at[i] < 0 || tp_add_i64(sum, list->at[i], &sum))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: part %zu has size %" PRId64, c->op->onnx, i,
			    list->at[i]);
	if (sum != size || list->n < c->n_out)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu parts of together %" PRId64
		    " for %zu outputs of an axis of size %" PRId64,
		    c->op->onnx, list->n, sum, c->n_out, size);
	for (size_t i = 0; i < c->n_out; i++)
		parts[i] = list->at[i];
	return TP_OK;
}

/*
 * Equal parts. From opset 18 on num_outputs says how many, and the last may be
 * smaller.
 */
static enum tp_status
equal_parts(
    const struct tpi_call *c, int64_t size, int64_t *parts, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "num_outputs");
	int64_t n = a ? a->i : (int64_t)c->n_out, part;

	if (n < (int64_t)c->n_out || (!a && size % n))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %" PRId64 " equal parts, %zu outputs, an axis of size "
		    "%" PRId64,
		    c->op->onnx, n, c->n_out, size);
	part = size / n + (size % n != 0);
	for (size_t i = 0; i < c->n_out; i++) {
		parts[i] = part < size ? part : size;
		size -= parts[i];
	}
	return TP_OK;
}

static enum tp_status
find_parts(const struct tpi_call *c, unsigned *axis, int64_t *parts,
    struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tpi_indices list = {0};
	bool given = false;
	int64_t size;
	enum tp_status rc;

	rc = tpi_op_axis(c, tpi_attr_int(c, "axis", 0), x->rank, axis, err);
	if (rc)
		return rc;
	size = tp_tensor_sizes(x)[*axis];
	/* Opset 1 could have the sizes as an input of the dtype of x. */
	given = c->n_in == 2 && c->in[1];
	if (c->op->until == 1 && given)
		rc = tpi_indices_from_any(c, 1, &list, err);
	else
		rc = tpi_indices_take(c, "split", 1, &list, &given, err);
	if (!rc)
		rc = given ? parts_of_list(c, &list, size, parts, err)
			   : equal_parts(c, size, parts, err);
	tpi_indices_release(&list);
	return rc;
}

/* Outputs may be many: their sizes are not for the stack. */
static int64_t *
room_for_parts(const struct tpi_call *c, struct tp_err *err)
{
	int64_t *parts = tp_mem_array(c->alloc, c->n_out, sizeof(*parts));

	if (!parts)
		(void)tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu sizes", c->op->onnx, c->n_out);
	return parts;
}

static enum tp_status
infer_split(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int64_t *parts = room_for_parts(c, err);
	enum tp_status rc;
	unsigned axis = 0;

	if (!parts)
		return TP_ENOMEM;
	rc = find_parts(c, &axis, parts, err);
	for (size_t k = 0; k < c->n_out && !rc; k++) {
		infos[k] = tpi_info_of(c->in[0]);
		infos[k].sizes[axis] = parts[k];
	}
	tp_mem_free(c->alloc, parts, c->n_out, sizeof(*parts));
	return rc;
}

static enum tp_status
run_split(struct tpi_call *c, struct tp_err *err)
{
	int64_t *parts = room_for_parts(c, err), start = 0;
	enum tp_status rc;
	unsigned axis = 0;

	if (!parts)
		return TP_ENOMEM;
	rc = find_parts(c, &axis, parts, err);
	for (size_t k = 0; k < c->n_out && !rc; k++) {
		rc = tp_tensor_narrow(
		    c->in[0], (int)axis, start, parts[k], &c->out[k], err);
		start += parts[k];
	}
	tp_mem_free(c->alloc, parts, c->n_out, sizeof(*parts));
	return rc;
}

static enum tp_status
infer_expand(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t sizes[TP_MAX_RANK];
	size_t n = 0;
	bool given;
	enum tp_status rc = tpi_int_list(c, "shape", 1, sizes, &n, &given, err);
	const struct tp_shape_ref shapes[] = {
	    {tp_tensor_sizes(x), x->rank}, {sizes, (unsigned)n}};

	for (size_t d = 0; d < n && !rc; d++)
		if (sizes[d] < 0)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: size %" PRId64 " of axis %zu", c->op->onnx,
			    sizes[d], d);
	infos[0].dtype = x->dtype;
	return rc ? rc
		  : tp_broadcast_shape(
			shapes, 2, infos[0].sizes, &infos[0].rank, err);
}

static enum tp_status
run_expand(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_info info;
	enum tp_status rc = infer_expand(c, &info, err);

	return rc ? rc
		  : tp_tensor_expand(
			c->in[0], info.sizes, info.rank, &c->out[0], err);
}

static const struct tpi_attr_spec transpose_attrs[] = {
    {"perm", TP_ATTR_INTS}, {NULL, 0}};
static const struct tpi_attr_spec slice_1_attrs[] = {{"axes", TP_ATTR_INTS},
    {"ends", TP_ATTR_INTS}, {"starts", TP_ATTR_INTS}, {NULL, 0}};

static const struct tpi_attr_spec split_attrs[] = {
    {"axis", TP_ATTR_INT}, {"split", TP_ATTR_INTS}, {NULL, 0}};
static const struct tpi_attr_spec split_13_attrs[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec split_18_attrs[] = {
    {"axis", TP_ATTR_INT}, {"num_outputs", TP_ATTR_INT}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, least, most, outputs, spec)            \
	{                                                                   \
		.name = #op, .onnx = onnx_name, .since = from, .until = to, \
		.min_in = least, .max_in = most, .min_out = 1,              \
		.max_out = outputs, .flags = TPI_OP_MAKES,                  \
		.strings_in = TPI_BIT(0), .strings_out = TPI_ALL,           \
		.attrs = spec, .infer = infer_##op, .run = run_##op         \
	}

const struct tp_op tpi_movement_ops[] = {
    ROW(transpose, "Transpose", 1, 0, 1, 1, 1, transpose_attrs),
    ROW(slice, "Slice", 10, 0, 3, 5, 1, NULL),
    ROW(slice, "Slice", 1, 9, 1, 1, 1, slice_1_attrs),
    ROW(split, "Split", 18, 0, 1, 2, TP_OP_ANY, split_18_attrs),
    ROW(split, "Split", 13, 17, 1, 2, TP_OP_ANY, split_13_attrs),
    ROW(split, "Split", 2, 12, 1, 1, TP_OP_ANY, split_attrs),
    ROW(split, "Split", 1, 1, 1, 2, TP_OP_ANY, split_attrs),
    ROW(expand, "Expand", 8, 0, 2, 2, 1, NULL),
    {.name = NULL},
};
