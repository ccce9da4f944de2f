/* SPDX-License-Identifier: Apache-2.0 */
/* join.c - Concat, Tile: tensors behind each other along axes */
#include "moves.h"

#include <inttypes.h>

#include "tp/checked.h"
#include "tp/convert.h"
#include "tp/view.h"

#include "../tensor.h"
#include "indices.h"

#include "../banned.h"

/* Input k has the rank and, but for the axis, the sizes of input 0. */
static enum tp_status
check_joint(
    const struct tpi_call *c, size_t k, unsigned axis, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b = c->in[k];

	if (!b)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu is missing", c->op->onnx, k);
	for (unsigned d = 0; d < a->rank && a->rank == b->rank; d++)
		if (d != axis && tp_tensor_sizes(a)[d] != tp_tensor_sizes(b)[d])
			break;
		else if (d + 1 == a->rank)
			return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: input %zu has shape %s, input 0 has %s; they meet at axis %u",
	    c->op->onnx, k, TP_SHAPE_TEXT(tp_tensor_sizes(b), b->rank),
	    TP_SHAPE_TEXT(tp_tensor_sizes(a), a->rank), axis);
}

static enum tp_status
find_joint(const struct tpi_call *c, unsigned *axis, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "axis");

	/* Opset 1 has a default. */
	if (!a && !c->op->until)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: axis is missing", c->op->onnx);
	return tpi_op_axis(c, a ? a->i : 1, c->in[0]->rank, axis, err);
}

static enum tp_status
infer_concat(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	unsigned axis = 0;
	enum tp_status rc = find_joint(c, &axis, err);

	infos[0] = tpi_info_of(c->in[0]);
	for (size_t k = 1; k < c->n_in && !rc; k++) {
		int64_t *sum = &infos[0].sizes[axis];

		rc = check_joint(c, k, axis, err);
		if (!rc &&
		    tp_add_i64(*sum, tp_tensor_sizes(c->in[k])[axis], sum))
			rc = tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "%s: axis %u is too long", c->op->onnx, axis);
	}
	return rc;
}

static enum tp_status
run_concat(struct tpi_call *c, struct tp_err *err)
{
	unsigned axis = 0;
	int64_t start = 0;
	enum tp_status rc = find_joint(c, &axis, err);

	for (size_t k = 0; k < c->n_in && !rc; k++) {
		int64_t size = tp_tensor_sizes(c->in[k])[axis];
		struct tp_tensor *part = NULL;

		rc = tp_tensor_narrow(
		    c->out[0], (int)axis, start, size, &part, err);
		if (!rc)
			rc = tpi_move(c, part, c->in[k], err);
		tp_tensor_free(part);
		start += size;
	}
	return rc;
}

/* Opset 1 repeats along one axis and has both numbers in the dtype of x. */
static enum tp_status
repeats_of_opset_1(
    const struct tpi_call *c, int64_t *repeats, struct tp_err *err)
{
	struct tpi_indices tiles, axes = {0};
	unsigned rank = c->in[0]->rank, axis = 0;
	enum tp_status rc = tpi_indices_from_any(c, 1, &tiles, err);

	if (!rc)
		rc = tpi_indices_from_any(c, 2, &axes, err);
	if (!rc && (tiles.n != 1 || axes.n != 1))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu tiles and %zu axes, expected one each",
		    c->op->onnx, tiles.n, axes.n);
	if (!rc)
		rc = tpi_op_axis(c, axes.at[0], rank, &axis, err);
	for (unsigned d = 0; d < rank && !rc; d++)
		repeats[d] = d == axis ? tiles.at[0] : 1;
	tpi_indices_release(&tiles);
	tpi_indices_release(&axes);
	return rc;
}

static enum tp_status
find_repeats(const struct tpi_call *c, int64_t *repeats, struct tp_err *err)
{
	size_t n = c->in[0]->rank;
	enum tp_status rc;
	bool given;

	rc = c->op->until == 5
		 ? repeats_of_opset_1(c, repeats, err)
		 : tpi_int_list(c, "repeats", 1, repeats, &n, &given, err);
	if (!rc && n != c->in[0]->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu repeats of a tensor of rank %u", c->op->onnx, n,
		    c->in[0]->rank);
	for (size_t d = 0; d < n && !rc; d++)
		if (repeats[d] < 0)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: %" PRId64 " repeats of axis %zu", c->op->onnx,
			    repeats[d], d);
	return rc;
}

static enum tp_status
infer_tile(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int64_t repeats[TP_MAX_RANK];
	enum tp_status rc = find_repeats(c, repeats, err);

	infos[0] = tpi_info_of(c->in[0]);
	for (unsigned d = 0; d < infos[0].rank && !rc; d++)
		if (tp_mul_i64(
			infos[0].sizes[d], repeats[d], &infos[0].sizes[d]))
			rc = tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "%s: %" PRId64 " repeats of axis %u", c->op->onnx,
			    repeats[d], d);
	return rc;
}

static enum tp_status
run_tile(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tpi_pick_axis axes[TP_MAX_RANK] = {{0}};
	struct tpi_indices lists[TP_MAX_RANK] = {{0}};
	enum tp_status rc = TP_OK;

	for (unsigned d = 0; d < x->rank && c->out[0]->n_elems && !rc; d++) {
		int64_t size = tp_tensor_sizes(x)[d];
		int64_t n = tp_tensor_sizes(c->out[0])[d];

		axes[d].size = n;
		if (n == size)
			continue;
		rc = tpi_indices_make(c, &lists[d], (size_t)n, err);
		axes[d].from = lists[d].at;
		for (int64_t i = 0; i < n && !rc; i++)
			lists[d].at[i] = i % size;
	}
	if (!rc)
		rc = tpi_pick(c, x, axes, NULL, c->out[0], err);
	for (unsigned d = 0; d < x->rank; d++)
		tpi_indices_release(&lists[d]);
	return rc;
}

static const struct tpi_attr_spec concat_attrs[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, least, most, moved, spec)                 \
	{                                                                      \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,    \
		.min_in = least, .max_in = most, .min_out = 1, .max_out = 1,   \
		.flags = TPI_OP_MOVES, .strings_in = moved,                    \
		.strings_out = TPI_BIT(0), .attrs = spec, .infer = infer_##op, \
		.run = run_##op                                                \
	}

const struct tp_op tpi_join_ops[] = {
    ROW(concat, "Concat", 4, 0, 1, TP_OP_ANY, TPI_ALL, concat_attrs),
    ROW(concat, "Concat", 1, 3, 1, TP_OP_ANY, TPI_ALL, concat_attrs),
    ROW(tile, "Tile", 6, 0, 2, 2, TPI_BIT(0), NULL),
    ROW(tile, "Tile", 1, 5, 3, 3, TPI_BIT(0), NULL),
    {.name = NULL},
};
