/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pad.c - Pad, CenterCropPad: what lies around a tensor
 *
 *	 before    x     after		mode
 *	. . . | a b c | . . .		constant
 *	a a a | a b c | c c c		edge
 *	b c b | a b c | b a b		reflect
 *	a b c | a b c | a b c		wrap
 *
 * A negative pad crops; an axis is cropped first, then padded.
 */
#include "moves.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/convert.h"

#include "../tensor.h"
#include "indices.h"

#include "../banned.h"

enum pad_mode { CONSTANT, EDGE, REFLECT, WRAP, N_MODES };

static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};

struct border {
	int64_t before, after;
};

static enum tp_status
find_mode(const struct tpi_call *c, enum pad_mode *mode, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "mode");
	/* Opset 19 brought the last. */
	int n = c->op->since >= 19 ? N_MODES : WRAP;

	*mode = CONSTANT;
	for (int m = 0; a && m < n; m++)
		if (tp_str_cmp(a->s, tp_str(modes[m])) == 0) {
			*mode = (enum pad_mode)m;
			return TP_OK;
		}
	if (a)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s (opset %d on) has no mode '%s'", c->op->onnx,
		    c->op->since, TP_BRIEF(a->s));
	return TP_OK;
}

/* The axes that the pads are for: those of input 3, or all. */
static enum tp_status
find_axes(
    const struct tpi_call *c, unsigned *axes, size_t *n, struct tp_err *err)
{
	unsigned rank = c->in[0]->rank;
	bool given, seen[TP_MAX_RANK] = {false};
	int64_t list[TP_MAX_RANK];
	enum tp_status rc;

	rc = tpi_int_list(c, "axes", 3, list, n, &given, err);
	if (!rc && !given)
		for (*n = 0; *n < rank; (*n)++)
			list[*n] = (int64_t)*n;
	for (size_t i = 0; i < *n && !rc; i++) {
		rc = tpi_op_axis(c, list[i], rank, &axes[i], err);
		if (!rc && seen[axes[i]])
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: axis %u twice in axes", c->op->onnx, axes[i]);
		if (!rc)
			seen[axes[i]] = true;
	}
	return rc;
}

static enum tp_status
find_borders(
    const struct tpi_call *c, struct border *borders, struct tp_err *err)
{
	unsigned axes[TP_MAX_RANK] = {0};
	const char *name = c->op->since == 1 ? "paddings" : "pads";
	struct tpi_indices pads;
	size_t n = 0;
	enum tp_status rc = tpi_indices_take(c, name, 1, &pads, NULL, err);

	if (!rc)
		rc = find_axes(c, axes, &n, err);
	if (!rc && pads.n != 2 * n)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu pads for %zu axes, expected %zu", c->op->onnx,
		    pads.n, n, 2 * n);
	memset(borders, 0, TP_MAX_RANK * sizeof(*borders));
	for (size_t i = 0; i < n && !rc; i++)
		borders[axes[i]] = (struct border){pads.at[i], pads.at[n + i]};
	tpi_indices_release(&pads);
	return rc;
}

/* What is left of an axis when it is cropped, and its size in the end. */
static enum tp_status
pad_axis(const struct tpi_call *c, unsigned axis, struct border b,
    enum pad_mode mode, int64_t *left, int64_t *size, struct tp_err *err)
{
	int64_t n = tp_tensor_sizes(c->in[0])[axis];

	*left = n;
	if ((b.before < 0 && tp_add_i64(*left, b.before, left)) ||
	    (b.after < 0 && tp_add_i64(*left, b.after, left)) || *left < 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: pads %" PRId64 " and %" PRId64
		    " crop more than axis %u of size %" PRId64 " has",
		    c->op->onnx, b.before, b.after, axis, n);
	*size = *left;
	if ((b.before > 0 && tp_add_i64(*size, b.before, size)) ||
	    (b.after > 0 && tp_add_i64(*size, b.after, size)))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: pads %" PRId64 " and %" PRId64 " of axis %u",
		    c->op->onnx, b.before, b.after, axis);
	if (*left == 0 && *size > 0 && mode != CONSTANT)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: mode %s has nothing to pad axis %u with", c->op->onnx,
		    modes[mode], axis);
	return TP_OK;
}

static enum tp_status
infer_pad(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct border borders[TP_MAX_RANK];
	enum pad_mode mode = CONSTANT;
	enum tp_status rc = find_mode(c, &mode, err);

	if (!rc)
		rc = find_borders(c, borders, err);
	infos[0] = tpi_info_of(c->in[0]);
	for (unsigned d = 0; d < infos[0].rank && !rc; d++) {
		int64_t left;

		rc = pad_axis(
		    c, d, borders[d], mode, &left, &infos[0].sizes[d], err);
	}
	return rc;
}

/* The index of what is left, for an index that may lie outside of it. */
static int64_t
inside(int64_t i, int64_t left, enum pad_mode mode)
{
	int64_t period = mode == REFLECT ? 2 * (left - 1) : left;

	if (i >= 0 && i < left)
		return i;
	if (mode == CONSTANT)
		return -1;
	if (mode == EDGE)
		return i < 0 ? 0 : left - 1;
	if (period == 0)
		return 0;
	i = (i % period + period) % period;
	return i < left ? i : period - i;
}

/* Index i of the axis that results is list[i] of x. */
static enum tp_status
list_axis(const struct tpi_call *c, unsigned axis, struct border b,
    enum pad_mode mode, struct tpi_pick_axis *a, struct tpi_indices *list,
    struct tp_err *err)
{
	int64_t left, first = b.before < 0 ? -b.before : 0;
	int64_t shift = b.before > 0 ? b.before : 0;
	enum tp_status rc = pad_axis(c, axis, b, mode, &left, &a->size, err);

	if (rc || (b.before == 0 && b.after == 0))
		return rc;
	rc = tpi_indices_make(c, list, (size_t)a->size, err);
	for (int64_t i = 0; i < a->size && !rc; i++) {
		int64_t at = inside(i - shift, left, mode);

		list->at[i] = at < 0 ? -1 : first + at;
	}
	a->from = list->at;
	return rc;
}

static enum tp_status
pad_with(const struct tpi_call *c, const struct border *borders,
    enum pad_mode mode, const void *filler, struct tp_err *err)
{
	struct tpi_pick_axis axes[TP_MAX_RANK] = {{0}};
	struct tpi_indices lists[TP_MAX_RANK] = {{0}};
	unsigned rank = c->in[0]->rank;
	enum tp_status rc = TP_OK;

	/* Beside an axis of 0 the others may be of any size. */
	for (unsigned d = 0; d < rank && c->out[0]->n_elems && !rc; d++)
		rc =
		    list_axis(c, d, borders[d], mode, &axes[d], &lists[d], err);
	if (!rc)
		rc = tpi_pick(c, c->in[0], axes, filler, c->out[0], err);
	for (unsigned d = 0; d < rank; d++)
		tpi_indices_release(&lists[d]);
	return rc;
}

/* One element: input 2, or the attribute of the first opsets. */
static enum tp_status
find_filler(const struct tpi_call *c, char *filler, struct tp_err *err)
{
	const struct tp_tensor *t = c->n_in > 2 ? c->in[2] : NULL;
	double value = tpi_attr_float(c, "value", 0);

	if (t && t->n_elems != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: constant_value has shape %s, expected one element",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank));
	if (t)
		memcpy(filler, tpi_tensor_address(t), tpi_element_size(t));
	else if (value != 0)
		return tp_convert(c->in[0]->dtype, filler, TP_DTYPE_F64, &value,
		    1, TP_OVERFLOW_INF, 0, NULL, err);
	return TP_OK;
}

static enum tp_status
run_pad(struct tpi_call *c, struct tp_err *err)
{
	struct border borders[TP_MAX_RANK];
	enum pad_mode mode = CONSTANT;
	char filler[16] = {0};
	enum tp_status rc = find_mode(c, &mode, err);

	if (!rc)
		rc = find_borders(c, borders, err);
	if (!rc)
		rc = find_filler(c, filler, err);
	return rc ? rc : pad_with(c, borders, mode, filler, err);
}

/*
 * To the sizes of input 1 along some axes: half of what is too much goes at
 * each end, half of what lacks comes there; an odd one is at the end of both.
 */
static enum tp_status
find_centers(
    const struct tpi_call *c, struct border *borders, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t sizes[TP_MAX_RANK], axes[TP_MAX_RANK];
	size_t n = 0, n_axes = 0;
	bool given;
	enum tp_status rc;
	unsigned axis = 0;

	memset(borders, 0, TP_MAX_RANK * sizeof(*borders));
	rc = tpi_int_list(c, "shape", 1, sizes, &n, &given, err);
	if (!rc)
		rc = tpi_int_list(
		    c, "axes", TPI_OP_FEW, axes, &n_axes, &given, err);
	if (!rc && n != (given ? n_axes : x->rank))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu sizes for %zu axes", c->op->onnx, n,
		    given ? n_axes : (size_t)x->rank);
	for (size_t i = 0; i < n && !rc; i++) {
		int64_t more, half;

		rc = tpi_op_axis(
		    c, given ? axes[i] : (int64_t)i, x->rank, &axis, err);
		if (!rc && sizes[i] < 0)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: size %" PRId64 " of axis %u", c->op->onnx,
			    sizes[i], axis);
		if (rc)
			break;
		more = sizes[i] - tp_tensor_sizes(x)[axis];
		half = more / 2;
		borders[axis] = (struct border){half, more - half};
	}
	return rc;
}

static enum tp_status
infer_center_crop_pad(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct border borders[TP_MAX_RANK];
	enum tp_status rc = find_centers(c, borders, err);

	infos[0] = tpi_info_of(c->in[0]);
	for (unsigned d = 0; d < infos[0].rank && !rc; d++)
		infos[0].sizes[d] += borders[d].before + borders[d].after;
	return rc;
}

static enum tp_status
run_center_crop_pad(struct tpi_call *c, struct tp_err *err)
{
	struct border borders[TP_MAX_RANK];
	enum tp_status rc = find_centers(c, borders, err);

	return rc ? rc : pad_with(c, borders, CONSTANT, NULL, err);
}

static const struct tpi_attr_spec pad_1_attrs[] = {{"mode", TP_ATTR_STRING},
    {"paddings", TP_ATTR_INTS}, {"value", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec pad_2_attrs[] = {{"mode", TP_ATTR_STRING},
    {"pads", TP_ATTR_INTS}, {"value", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec pad_attrs[] = {
    {"mode", TP_ATTR_STRING}, {NULL, 0}};
static const struct tpi_attr_spec center_attrs[] = {
    {"axes", TP_ATTR_INTS}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, least, most, spec)                        \
	{                                                                      \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,    \
		.min_in = least, .max_in = most, .min_out = 1, .max_out = 1,   \
		.flags = TPI_OP_MOVES, .strings_in = TPI_BIT(0) | TPI_BIT(2),  \
		.strings_out = TPI_BIT(0), .attrs = spec, .infer = infer_##op, \
		.run = run_##op                                                \
	}

const struct tp_op tpi_pad_ops[] = {
    ROW(pad, "Pad", 19, 0, 2, 4, pad_attrs),
    ROW(pad, "Pad", 18, 18, 2, 4, pad_attrs),
    ROW(pad, "Pad", 11, 17, 2, 3, pad_attrs),
    ROW(pad, "Pad", 2, 10, 1, 1, pad_2_attrs),
    ROW(pad, "Pad", 1, 1, 1, 1, pad_1_attrs),
    ROW(center_crop_pad, "CenterCropPad", 18, 0, 2, 2, center_attrs),
    {.name = NULL},
};
