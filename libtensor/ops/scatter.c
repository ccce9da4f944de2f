/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter.c - Scatter, ScatterElements, ScatterND: a copy with updates in it
 *
 * Updates are made in the order of their indices. Floats narrower than f64 are
 * reduced in f64 and rounded once, when all updates are in.
 */
#include "moves.h"

#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"

#include "../tensor.h"
#include "elements.h"
#include "scatter_kernels.h"

#include "../banned.h"

static const char *const reductions[TPI_SCATTER_COUNT] = {
    [TPI_SCATTER_NONE] = "none",
    [TPI_SCATTER_ADD] = "add",
    [TPI_SCATTER_MUL] = "mul",
    [TPI_SCATTER_MAX] = "max",
    [TPI_SCATTER_MIN] = "min",
};

static enum tp_status
find_reduction(
    const struct tpi_call *c, enum tpi_scatter *how, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "reduction");
	/* Opset 18 brought the last two. */
	int n = c->op->since >= 18 ? TPI_SCATTER_COUNT : TPI_SCATTER_MAX;

	*how = TPI_SCATTER_NONE;
	for (int k = 0; a && k < n; k++)
		if (tp_str_cmp(a->s, tp_str(reductions[k])) == 0) {
			*how = (enum tpi_scatter)k;
			return TP_OK;
		}
	if (a)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s (opset %d on) has no reduction '%s'", c->op->onnx,
		    c->op->since, TP_BRIEF(a->s));
	return TP_OK;
}

/* What is written to: the output, or a wider copy of the data. */
struct target {
	enum tpi_scatter how;
	tpi_scatter_fn *kernel; /* NULL: replace */
	struct tp_tensor *data, *updates;
	size_t size;
};

static void
release_target(struct target *t)
{
	tp_tensor_free(t->data);
	tp_tensor_free(t->updates);
}

/* The dtype to reduce in: floats and their complex numbers have all bits. */
static enum tp_dtype
wide_dtype(enum tp_dtype dtype)
{
	return tp_dtype_kind(dtype) == TP_KIND_FLOAT	 ? TP_DTYPE_F64
	       : tp_dtype_kind(dtype) == TP_KIND_COMPLEX ? TP_DTYPE_C128
							 : dtype;
}

static enum tp_status
widen(const struct tpi_call *c, const struct tp_tensor *t,
    struct tp_tensor **out, struct tp_err *err)
{
	enum tp_dtype dtype = wide_dtype(t->dtype);
	struct tp_tensor *packed = NULL;
	enum tp_status rc = tp_tensor_contiguous(t, &packed, err);

	if (!rc)
		rc = tpi_op_temp(
		    c, dtype, tp_tensor_sizes(t), t->rank, out, err);
	if (!rc)
		rc = tp_convert(dtype, tp_tensor_data_mut(*out), t->dtype,
		    tp_tensor_data(packed), (size_t)t->n_elems, TP_OVERFLOW_INF,
		    0, NULL, err);
	tp_tensor_free(packed);
	return rc;
}

static enum tp_status
find_kernel(const struct tpi_call *c, struct target *t, struct tp_err *err)
{
	enum tp_dtype dtype = t->data ? t->data->dtype : c->in[0]->dtype;
	bool is_code =
	    tp_dtype_kind(c->moves) == TP_KIND_FLOAT && tpi_op_widens(c);

	t->kernel = c->moves_strings || is_code
			? NULL
			: tpi_scatter_kernel(t->how, dtype);
	if (!t->kernel)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s with reduction %s of dtype %s", c->op->onnx,
		    reductions[t->how], tp_dtype_name(c->moves));
	return TP_OK;
}

/* The data where updates can meet it. Release *t whatever the outcome. */
static enum tp_status
prepare(const struct tpi_call *c, struct target *t, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *updates = c->in[2];
	bool is_narrow = wide_dtype(x->dtype) != x->dtype;
	enum tp_status rc;

	memset(t, 0, sizeof(*t));
	rc = find_reduction(c, &t->how, err);
	if (!rc && t->how != TPI_SCATTER_NONE && is_narrow) {
		rc = widen(c, x, &t->data, err);
		if (!rc)
			rc = widen(c, updates, &t->updates, err);
	} else if (!rc) {
		rc = tpi_move(c, c->out[0], x, err);
		if (!rc)
			rc = tp_tensor_alias(c->out[0], &t->data, err);
		if (!rc)
			rc = tp_tensor_contiguous(updates, &t->updates, err);
	}
	if (!rc && t->how != TPI_SCATTER_NONE)
		rc = find_kernel(c, t, err);
	if (!rc)
		t->size = tpi_element_size(t->data);
	return rc;
}

/* Round what was reduced with more bits. */
static enum tp_status
settle(const struct tpi_call *c, const struct target *t, struct tp_err *err)
{
	struct tp_tensor *y = c->out[0];

	if (t->data->dtype == y->dtype)
		return TP_OK;
	return tp_convert(y->dtype, tpi_tensor_address(y), t->data->dtype,
	    tp_tensor_data(t->data), (size_t)y->n_elems, TP_OVERFLOW_INF, 0,
	    NULL, err);
}

static enum tp_status
infer_scatter_elements(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[1], *u = c->in[2];

	if (t->rank != u->rank ||
	    (t->rank && memcmp(tp_tensor_sizes(t), tp_tensor_sizes(u),
			    t->rank * sizeof(int64_t))))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: indices of shape %s for updates of shape %s",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(u), u->rank));
	return tpi_infer_same(c, infos, err);
}

static void
update_row(
    const struct target *t, const int64_t *offsets, uint64_t from, size_t n)
{
	char *data = tpi_tensor_address(t->data);
	const char *updates = tpi_tensor_address(t->updates) + from * t->size;

	if (t->kernel) {
		t->kernel(data, offsets, updates, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(data + offsets[i], updates + i * t->size, t->size);
}

static enum tp_status
run_scatter_elements(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_elements e = {.n_rows = 0};
	struct tpi_indices row = {0};
	struct target t;
	enum tp_status rc = prepare(c, &t, err);

	if (!rc)
		rc = tpi_elements_take(c, t.data, &e, err);
	if (!rc)
		rc = tpi_indices_make(c, &row, (size_t)e.row, err);
	for (uint64_t r = 0; r < e.n_rows && !rc; r++) {
		tpi_elements_row(&e, r, row.at);
		update_row(&t, row.at, r * e.row, row.n);
	}
	if (!rc)
		rc = settle(c, &t, err);
	tpi_indices_release(&row);
	tpi_indices_release(&e.list);
	release_target(&t);
	return rc;
}

/* Updates have the axes of the indices but the last, then those of a slice. */
static enum tp_status
infer_scatter_nd(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *t = c->in[1], *u = c->in[2];
	struct tpi_info want = {.dtype = x->dtype};
	unsigned depth = 0;
	enum tp_status rc = tpi_tuples_check(c, 0, &depth, err);

	for (unsigned d = 0; d + 1 < t->rank && !rc; d++)
		rc = tpi_push_size(c, &want, tp_tensor_sizes(t)[d], err);
	for (unsigned d = depth; d < x->rank && !rc; d++)
		rc = tpi_push_size(c, &want, tp_tensor_sizes(x)[d], err);
	if (!rc && (u->rank != want.rank ||
		       (u->rank && memcmp(want.sizes, tp_tensor_sizes(u),
				       u->rank * sizeof(int64_t)))))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: updates of shape %s, expected %s", c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(u), u->rank),
		    TP_SHAPE_TEXT(want.sizes, want.rank));
	return rc ? rc : tpi_infer_same(c, infos, err);
}

static enum tp_status
run_scatter_nd(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_tuples tuples = {0};
	struct target t;
	enum tp_status rc = prepare(c, &t, err);

	if (!rc)
		rc = tpi_tuples_take(c, t.data, 0, &tuples, err);
	for (size_t i = 0; i < tuples.n && !rc; i++) {
		size_t n = tuples.n_inner;
		char *to = tpi_tensor_address(t.data) + tuples.offsets[i];
		const char *from =
		    tpi_tensor_address(t.updates) + i * n * t.size;

		if (t.kernel)
			t.kernel(to, NULL, from, n);
		else
			memcpy(to, from, n * t.size);
	}
	if (!rc)
		rc = settle(c, &t, err);
	tpi_tuples_release(&tuples);
	release_target(&t);
	return rc;
}

static const struct tpi_attr_spec axis_attrs[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec elements_attrs[] = {
    {"axis", TP_ATTR_INT}, {"reduction", TP_ATTR_STRING}, {NULL, 0}};
static const struct tpi_attr_spec nd_attrs[] = {
    {"reduction", TP_ATTR_STRING}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, spec)                                     \
	{                                                                      \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,    \
		.min_in = 3, .max_in = 3, .min_out = 1, .max_out = 1,          \
		.flags = TPI_OP_MOVES, .strings_in = TPI_BIT(0) | TPI_BIT(2),  \
		.strings_out = TPI_BIT(0), .attrs = spec, .infer = infer_##op, \
		.run = run_##op                                                \
	}

const struct tp_op tpi_scatter_ops[] = {
    ROW(scatter_elements, "ScatterElements", 18, 0, elements_attrs),
    ROW(scatter_elements, "ScatterElements", 16, 17, elements_attrs),
    ROW(scatter_elements, "ScatterElements", 11, 15, axis_attrs),
    ROW(scatter_elements, "Scatter", 9, 10, axis_attrs),
    ROW(scatter_nd, "ScatterND", 18, 0, nd_attrs),
    ROW(scatter_nd, "ScatterND", 16, 17, nd_attrs),
    ROW(scatter_nd, "ScatterND", 11, 15, NULL),
    {.name = NULL},
};
