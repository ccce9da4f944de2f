/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - the same function for every row along an axis of some tensors */
#include "rows.h"

#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/layout.h"
#include "tp/parallel.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

/* Operands that are there, packed: slot[i] is the number of the i-th. */
struct walk {
	const struct tpi_rows *rows;
	struct tp_iter it; /* the first elements of all rows */
	unsigned slot[TP_ITER_OPERANDS], n_slots;
	int64_t steps[TP_ITER_OPERANDS]; /* by number of the operand */
	double *scratch;		 /* n_scratch for each part */
	size_t n_parts;
};

struct walk_part {
	const struct walk *walk;
	struct tpi_row row;
};

static void
run_rows(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	struct walk_part *p = ctx;
	const struct walk *w = p->walk;
	char *row[TP_ITER_OPERANDS] = {NULL};

	for (size_t i = 0; i < n; i++) {
		for (unsigned s = 0; s < w->n_slots; s++)
			row[w->slot[s]] = data[s] + (int64_t)i * steps[s];
		w->rows->kernel(&p->row, row, w->steps, (size_t)w->rows->n);
	}
}

static void
run_part(void *ctx, size_t k)
{
	const struct walk *w = ctx;
	struct walk_part p = {.walk = w, .row = {.how = w->rows->how}};
	struct tp_iter part;

	if (w->scratch)
		p.row.scratch = w->scratch + k * w->rows->n_scratch;
	tp_iter_part(&w->it, k, w->n_parts, &part);
	tp_iter_run(&part, run_rows, &p);
}

static enum tp_status
run_walk(
    const struct tpi_call *c, struct walk *w, uint64_t work, struct tp_err *err)
{
	size_t n_scratch = 0;

	w->n_parts = tpi_op_parts(c, work, (uint64_t)w->it.sizes[0]);
	if (tp_mul_size(w->rows->n_scratch, w->n_parts, &n_scratch))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: rows of %lld elements", c->op->onnx,
		    (long long)w->rows->n);
	if (n_scratch) {
		w->scratch =
		    tp_mem_array(c->alloc, n_scratch, sizeof(*w->scratch));
		if (!w->scratch)
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "%s: no memory for rows of %lld elements",
			    c->op->onnx, (long long)w->rows->n);
	}
	tp_parallel(c->n_threads, w->n_parts, run_part, w);
	tp_mem_free(c->alloc, w->scratch, n_scratch, sizeof(*w->scratch));
	return TP_OK;
}

enum tp_status
tpi_rows_run(
    const struct tpi_call *c, const struct tpi_rows *rows, struct tp_err *err)
{
	struct walk w = {.rows = rows};
	struct tp_tensor *heads[TP_ITER_OPERANDS] = {NULL};
	unsigned n_written = 0;
	enum tp_status rc = TP_OK;
	uint64_t work = 0;

	for (unsigned k = 0; k < rows->n_operands && !rc; k++) {
		const struct tp_tensor *t = rows->operands[k];

		if (!t || t->n_elems == 0)
			continue;
		if (tp_tensor_sizes(t)[rows->axis] > 1)
			w.steps[k] = tp_tensor_strides(t)[rows->axis] *
				     (int64_t)(tp_dtype_bits(t->dtype) / 8);
		if (work < t->n_elems)
			work = t->n_elems;
		n_written += k < rows->n_written;
		w.slot[w.n_slots] = k;
		rc = tp_tensor_narrow(
		    t, (int)rows->axis, 0, 1, &heads[w.n_slots++], err);
	}
	if (!rc && n_written)
		rc = tp_iter_init(&w.it, heads, n_written,
		    (const struct tp_tensor *const *)heads + n_written,
		    w.n_slots - n_written, 0, err);
	if (!rc && n_written)
		rc = run_walk(c, &w, work, err);
	for (unsigned s = 0; s < w.n_slots; s++)
		tp_tensor_free(heads[s]);
	return rc;
}

enum tp_status
tpi_rows_flatten(const struct tp_tensor *t, unsigned lead,
    struct tp_tensor **out, struct tp_err *err)
{
	int64_t sizes[TP_MAX_RANK + 1];
	struct tp_tensor *packed = NULL;
	enum tp_status rc = tp_tensor_contiguous(t, &packed, err);

	*out = NULL;
	memcpy(sizes, tp_tensor_sizes(t), lead * sizeof(sizes[0]));
	sizes[lead] = 1;
	for (unsigned d = lead; d < t->rank && !rc; d++)
		if (tp_mul_i64(
			sizes[lead], tp_tensor_sizes(t)[d], &sizes[lead]))
			rc = tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "axes from %u on of shape %s are too many elements",
			    lead, TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank));
	if (!rc)
		rc = tp_tensor_reshape(packed, sizes, lead + 1, out, err);
	tp_tensor_free(packed);
	return rc;
}

enum tp_status
tpi_rows_unflatten(
    struct tp_tensor *flat, struct tp_tensor *t, struct tp_err *err)
{
	struct tp_tensor *shaped = NULL;
	enum tp_status rc = TP_OK;

	if (flat->storage != t->storage) {
		rc = tp_tensor_reshape(
		    flat, tp_tensor_sizes(t), t->rank, &shaped, err);
		if (!rc)
			rc = tp_tensor_assign(t, shaped, TP_OVERFLOW_INF, err);
	}
	tp_tensor_free(shaped);
	tp_tensor_free(flat);
	return rc;
}
