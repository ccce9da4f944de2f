/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - Gather, GatherElements, GatherND, Compress: elements by index */
#include "moves.h"

#include <inttypes.h>
#include <string.h>

#include "tp/copy.h"
#include "tp/parallel.h"
#include "tp/view.h"

#include "../tensor.h"
#include "elements.h"

#include "../banned.h"

static enum tp_status
infer_gather(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *t = c->in[1];
	unsigned axis = 0;
	enum tp_status rc;

	rc = tpi_op_axis(c, tpi_attr_int(c, "axis", 0), x->rank, &axis, err);
	infos[0] = (struct tpi_info){.dtype = x->dtype};
	for (unsigned d = 0; d < axis && !rc; d++)
		rc = tpi_push_size(c, &infos[0], tp_tensor_sizes(x)[d], err);
	for (unsigned d = 0; d < t->rank && !rc; d++)
		rc = tpi_push_size(c, &infos[0], tp_tensor_sizes(t)[d], err);
	for (unsigned d = axis + 1; d < x->rank && !rc; d++)
		rc = tpi_push_size(c, &infos[0], tp_tensor_sizes(x)[d], err);
	return rc;
}

/* y = the indices of one axis of x; the others are taken whole. */
static enum tp_status
pick_along(const struct tpi_call *c, const struct tp_tensor *x, unsigned axis,
    const struct tpi_indices *list, struct tp_err *err)
{
	struct tpi_pick_axis axes[TP_MAX_RANK] = {{0}};

	for (unsigned d = 0; d < x->rank; d++)
		axes[d].size = tp_tensor_sizes(x)[d];
	axes[axis] = (struct tpi_pick_axis){(int64_t)list->n, list->at};
	return tpi_pick(c, x, axes, NULL, c->out[0], err);
}

static enum tp_status
run_gather(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tpi_indices list = {0};
	unsigned axis = 0;
	enum tp_status rc;

	rc = tpi_op_axis(c, tpi_attr_int(c, "axis", 0), x->rank, &axis, err);
	if (!rc)
		rc = tpi_indices_take(c, NULL, 1, &list, NULL, err);
	if (!rc)
		rc = tpi_indices_wrap(c, &list, tp_tensor_sizes(x)[axis], err);
	if (!rc)
		rc = pick_along(c, x, axis, &list, err);
	tpi_indices_release(&list);
	return rc;
}

/* Where the condition is true; it may be shorter than the axis. */
static enum tp_status
find_true(const struct tpi_call *c, int64_t size, struct tpi_indices *list,
    struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	const struct tp_tensor *t = c->in[1];
	const uint8_t *marks;
	enum tp_status rc;

	if (t->dtype != TP_DTYPE_BOOL || t->rank != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: condition has dtype %s and rank %u, expected bool and "
		    "1",
		    c->op->onnx, tp_dtype_name(t->dtype), t->rank);
	rc = tp_tensor_contiguous(t, &packed, err);
	if (rc)
		return rc;
	marks = tp_tensor_data(packed);
	rc = tpi_indices_make(c, list, (size_t)t->n_elems, err);
	list->n = 0;
	for (size_t i = 0; i < t->n_elems && !rc; i++) {
		if (marks[i] && (int64_t)i >= size)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: condition is true at %zu, the axis has size "
			    "%" PRId64,
			    c->op->onnx, i, size);
		else if (marks[i])
			list->at[list->n++] = (int64_t)i;
	}
	tp_tensor_free(packed);
	return rc;
}

/* Without an axis all elements are one. */
static enum tp_status
find_compressed(const struct tpi_call *c, bool *flat, unsigned *axis,
    struct tpi_indices *list, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const struct tp_attr *a = tpi_attr_find(c, "axis");
	enum tp_status rc = TP_OK;

	*flat = !a;
	if (a)
		rc = tpi_op_axis(c, a->i, x->rank, axis, err);
	if (rc)
		return rc;
	return find_true(
	    c, a ? tp_tensor_sizes(x)[*axis] : (int64_t)x->n_elems, list, err);
}

static enum tp_status
infer_compress(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct tpi_indices list = {0};
	unsigned axis = 0;
	bool flat = false;
	enum tp_status rc = find_compressed(c, &flat, &axis, &list, err);

	infos[0] = tpi_info_of(c->in[0]);
	if (flat)
		infos[0].rank = 1;
	infos[0].sizes[axis] = (int64_t)list.n;
	tpi_indices_release(&list);
	return rc;
}

static enum tp_status
run_compress(struct tpi_call *c, struct tp_err *err)
{
	const int64_t all = (int64_t)c->in[0]->n_elems;
	struct tp_tensor *line = NULL;
	struct tpi_indices list = {0};
	unsigned axis = 0;
	bool flat = false;
	enum tp_status rc = find_compressed(c, &flat, &axis, &list, err);

	if (!rc && flat)
		rc = tpi_pack_as(c, c->in[0], &all, 1, &line, err);
	if (!rc)
		rc = pick_along(c, flat ? line : c->in[0], axis, &list, err);
	tp_tensor_free(line);
	tpi_indices_release(&list);
	return rc;
}

static enum tp_status
infer_gather_elements(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	(void)err;
	infos[0] = tpi_info_of(c->in[1]);
	infos[0].dtype = c->in[0]->dtype;
	return TP_OK;
}

struct gathering {
	const struct tpi_elements *e;
	const char *src;
	char *dst;
	size_t size;
	int64_t *offsets; /* a row for each part */
	size_t n_parts;
};

static void
gather_rows(void *ctx, size_t k)
{
	const struct gathering *g = ctx;
	int64_t *offsets = g->offsets + k * g->e->row;
	struct tpi_share mine = tpi_share(g->e->n_rows, g->n_parts, k);

	for (uint64_t r = mine.from; r < mine.end; r++) {
		tpi_elements_row(g->e, r, offsets);
		tpi_take(g->dst + r * g->e->row * g->size, g->src, offsets,
		    g->size, (size_t)g->e->row, NULL);
	}
}

static enum tp_status
run_gather_elements(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tpi_indices rows = {0};
	struct tpi_elements e;
	enum tp_status rc = tpi_elements_take(c, x, &e, err);
	struct gathering g = {
	    .e = &e,
	    .src = tpi_tensor_address(x),
	    .dst = tpi_tensor_address(c->out[0]),
	    .size = tpi_element_size(x),
	    .n_parts = tpi_op_parts(c, c->out[0]->n_elems, e.n_rows),
	};

	if (!rc)
		rc = tpi_indices_make(c, &rows, (size_t)e.row * g.n_parts, err);
	g.offsets = rows.at;
	if (!rc)
		tp_parallel(c->n_threads, g.n_parts, gather_rows, &g);
	tpi_indices_release(&rows);
	tpi_indices_release(&e.list);
	return rc;
}

static enum tp_status
find_batch(const struct tpi_call *c, unsigned *n_batch, struct tp_err *err)
{
	int64_t n = tpi_attr_int(c, "batch_dims", 0);

	if (n < 0 || n > TP_MAX_RANK)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: batch_dims is %" PRId64, c->op->onnx, n);
	*n_batch = (unsigned)n;
	return TP_OK;
}

static enum tp_status
infer_gather_nd(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *t = c->in[1];
	unsigned n_batch = 0, depth = 0;
	enum tp_status rc = find_batch(c, &n_batch, err);

	if (!rc)
		rc = tpi_tuples_check(c, n_batch, &depth, err);
	infos[0] = (struct tpi_info){.dtype = x->dtype};
	for (unsigned d = 0; d + 1 < t->rank && !rc; d++)
		rc = tpi_push_size(c, &infos[0], tp_tensor_sizes(t)[d], err);
	for (unsigned d = n_batch + depth; d < x->rank && !rc; d++)
		rc = tpi_push_size(c, &infos[0], tp_tensor_sizes(x)[d], err);
	return rc;
}

static enum tp_status
run_gather_nd(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	struct tpi_tuples t = {0};
	unsigned n_batch = 0;
	enum tp_status rc = find_batch(c, &n_batch, err);

	if (!rc)
		rc = tp_tensor_contiguous(c->in[0], &packed, err);
	if (!rc)
		rc = tpi_tuples_take(c, packed, n_batch, &t, err);
	if (!rc)
		tpi_take(tpi_tensor_address(c->out[0]),
		    tpi_tensor_address(packed), t.offsets,
		    tpi_element_size(packed) * t.n_inner, t.n, NULL);
	tpi_tuples_release(&t);
	tp_tensor_free(packed);
	return rc;
}

static const struct tpi_attr_spec axis_attrs[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec batch_attrs[] = {
    {"batch_dims", TP_ATTR_INT}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, spec)                                     \
	{                                                                      \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,    \
		.min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1,          \
		.flags = TPI_OP_MOVES, .strings_in = TPI_BIT(0),               \
		.strings_out = TPI_BIT(0), .attrs = spec, .infer = infer_##op, \
		.run = run_##op                                                \
	}

const struct tp_op tpi_gather_ops[] = {
    ROW(gather, "Gather", 1, 0, axis_attrs),
    ROW(gather_elements, "GatherElements", 11, 0, axis_attrs),
    ROW(gather_nd, "GatherND", 12, 0, batch_attrs),
    ROW(gather_nd, "GatherND", 11, 11, NULL),
    ROW(compress, "Compress", 9, 0, axis_attrs),
    {.name = NULL},
};
