/* SPDX-License-Identifier: Apache-2.0 */
/* elements.c - places of a tensor that tensors of indices name */
#include "elements.h"

#include <inttypes.h>
#include <string.h>

#include "../tensor.h"
#include "moves.h"

#include "../banned.h"

enum tp_status
tpi_elements_take(const struct tpi_call *c, const struct tp_tensor *data,
    struct tpi_elements *e, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[1];
	enum tp_status rc;

	*e = (struct tpi_elements){
	    .rank = data->rank, .sizes = tp_tensor_sizes(t)};
	rc = tpi_op_axis(
	    c, tpi_attr_int(c, "axis", 0), data->rank, &e->axis, err);
	if (!rc && t->rank != data->rank)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: indices of rank %u for data of rank %u", c->op->onnx,
		    t->rank, data->rank);
	for (unsigned d = 0; d < data->rank && !rc; d++) {
		if (d != e->axis && e->sizes[d] > tp_tensor_sizes(data)[d])
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: indices of shape %s for data of shape %s",
			    c->op->onnx, TP_SHAPE_TEXT(e->sizes, t->rank),
			    TP_SHAPE_TEXT(tp_tensor_sizes(data), data->rank));
		e->steps[d] = tp_tensor_strides(data)[d] *
			      (int64_t)tpi_element_size(data);
	}
	if (rc)
		return rc;
	e->row = (uint64_t)e->sizes[t->rank - 1];
	e->n_rows = e->row ? t->n_elems / e->row : 0;
	rc = tpi_indices_take(c, NULL, 1, &e->list, NULL, err);
	if (!rc)
		rc = tpi_indices_wrap(
		    c, &e->list, tp_tensor_sizes(data)[e->axis], err);
	return rc;
}

void
tpi_elements_row(const struct tpi_elements *e, uint64_t row, int64_t *offsets)
{
	const int64_t *at = e->list.at + row * e->row;
	unsigned last = e->rank - 1;
	int64_t step = last == e->axis ? 0 : e->steps[last], base = 0;

	for (unsigned d = last; d-- > 0;) {
		uint64_t size = (uint64_t)e->sizes[d];

		if (d != e->axis)
			base += (int64_t)(row % size) * e->steps[d];
		row /= size;
	}
	for (uint64_t j = 0; j < e->row; j++)
		offsets[j] =
		    base + (int64_t)j * step + at[j] * e->steps[e->axis];
}

enum tp_status
tpi_tuples_check(const struct tpi_call *c, unsigned n_batch, unsigned *depth,
    struct tp_err *err)
{
	const struct tp_tensor *data = c->in[0], *t = c->in[1];
	const int64_t *sizes = tp_tensor_sizes(t);
	bool fits = t->rank > n_batch && data->rank > n_batch &&
		    sizes[t->rank - 1] <= data->rank - n_batch;

	for (unsigned d = 0; d < n_batch && fits; d++)
		fits = sizes[d] == tp_tensor_sizes(data)[d];
	if (!fits)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: indices of shape %s for data of shape %s, of which %u "
		    "axes are a batch",
		    c->op->onnx, TP_SHAPE_TEXT(sizes, t->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(data), data->rank), n_batch);
	*depth = (unsigned)sizes[t->rank - 1];
	return TP_OK;
}

/* Tuples to offsets; those of one batch follow each other. */
static enum tp_status
resolve(const struct tpi_call *c, const struct tp_tensor *data,
    const struct tpi_indices *list, unsigned n_batch, unsigned depth,
    struct tpi_tuples *t, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(data) + n_batch;
	const int64_t *strides = tp_tensor_strides(data) + n_batch;
	int64_t element = (int64_t)tpi_element_size(data);
	uint64_t n_batches = 1, batch;

	for (unsigned d = 0; d < n_batch; d++)
		n_batches *= (uint64_t)tp_tensor_sizes(data)[d];
	batch = n_batches ? data->n_elems / n_batches : 0;
	for (size_t i = 0; i < t->n; i++) {
		const int64_t *tuple = list->at + i * depth;
		int64_t at = (int64_t)(i / (t->n / n_batches) * batch);

		for (unsigned d = 0; d < depth; d++) {
			if (tuple[d] < -sizes[d] || tuple[d] >= sizes[d])
				return tp_fail(err, TP_EARG, TP_NO_OFFSET,
				    "%s: index %" PRId64
				    " of axis %u of size %" PRId64,
				    c->op->onnx, tuple[d], n_batch + d,
				    sizes[d]);
			at += (tuple[d] < 0 ? tuple[d] + sizes[d] : tuple[d]) *
			      strides[d];
		}
		t->offsets[i] = at * element;
	}
	return TP_OK;
}

enum tp_status
tpi_tuples_take(const struct tpi_call *c, const struct tp_tensor *data,
    unsigned n_batch, struct tpi_tuples *t, struct tp_err *err)
{
	struct tpi_indices list = {0};
	unsigned depth = 0;
	enum tp_status rc = tpi_tuples_check(c, n_batch, &depth, err);

	*t = (struct tpi_tuples){.n = 1, .n_inner = 1, .alloc = c->alloc};
	if (rc)
		return rc;
	for (unsigned d = 0; d + 1 < c->in[1]->rank; d++)
		t->n *= (size_t)tp_tensor_sizes(c->in[1])[d];
	for (unsigned d = n_batch + depth; d < data->rank; d++)
		t->n_inner *= (size_t)tp_tensor_sizes(data)[d];
	if (t->n_inner == 0)
		t->n = 0;
	rc = tpi_indices_take(c, NULL, 1, &list, NULL, err);
	if (!rc) {
		t->offsets = tp_mem_array(c->alloc, t->n, sizeof(*t->offsets));
		rc = t->offsets
			 ? resolve(c, data, &list, n_batch, depth, t, err)
			 : tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			       "%s: no memory for %zu offsets", c->op->onnx,
			       t->n);
	}
	tpi_indices_release(&list);
	return rc;
}

void
tpi_tuples_release(struct tpi_tuples *t)
{
	tp_mem_free(t->alloc, t->offsets, t->n, sizeof(*t->offsets));
	t->offsets = NULL;
}
