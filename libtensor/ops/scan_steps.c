/* SPDX-License-Identifier: Apache-2.0 */
/* scan_steps.c - a graph along axes of tensors */
#include "scan.h"

#include <inttypes.h>

#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

enum tp_status
tpi_scan_list(const struct tpi_call *c, const char *name, size_t n,
    const struct tp_attr **list, struct tp_err *err)
{
	*list = tpi_attr_find(c, name);
	if (*list && (*list)->n != n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has %zu entries, expected %zu", c->op->onnx, name,
		    (*list)->n, n);
	return TP_OK;
}

/* Rows of the graph's outputs to collect, whoever wants them. */
static enum tp_status
make_stacks(struct tpi_scan *s, struct tp_err *err)
{
	s->stacks = tp_mem_array(s->c->alloc, s->n_stacked, sizeof(*s->stacks));
	if (!s->stacks)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu outputs", s->c->op->onnx,
		    s->n_stacked);
	for (size_t k = 0; k < s->n_stacked; k++)
		s->stacks[k] = (struct tpi_stack){.c = s->c,
		    .number = s->n_states + k,
		    .binding = &s->body.graph->outputs[s->n_states + k]};
	return TP_OK;
}

/* n_in inputs are states and tensors. */
enum tp_status
tpi_scan_begin(struct tpi_scan *s, size_t n_in, struct tp_err *err)
{
	const struct tpi_call *c = s->c;
	int64_t n_sliced = tpi_attr_int(c, "num_scan_inputs", 0);
	enum tp_status rc = tpi_body_begin(&s->body, s->c, "body", err);
	const struct tp_graph *g = s->body.graph;

	if (rc)
		return rc;
	if (n_sliced < 1 || (uint64_t)n_sliced > n_in)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: num_scan_inputs is %" PRId64
		    ", there are %zu states and tensors",
		    c->op->onnx, n_sliced, n_in);
	s->n_sliced = (size_t)n_sliced;
	s->n_states = n_in - s->n_sliced;
	if (g->n_inputs != n_in || g->n_outputs < s->n_states ||
	    c->n_out > g->n_outputs)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu states, %zu tensors and %zu outputs, its graph "
		    "has %zu inputs and %zu outputs",
		    c->op->onnx, s->n_states, s->n_sliced, c->n_out,
		    g->n_inputs, g->n_outputs);
	s->n_stacked = g->n_outputs - s->n_states;
	return make_stacks(s, err);
}

void
tpi_scan_end(struct tpi_scan *s)
{
	for (size_t k = 0; s->stacks && k < s->n_stacked; k++)
		tpi_stack_drop(&s->stacks[k]);
	tp_mem_free(s->c->alloc, s->stacks, s->n_stacked, sizeof(*s->stacks));
	tpi_body_end(&s->body);
}

/* Part `index` of a value along an axis. */
enum tp_status
tpi_scan_slice(const struct tp_value *v, unsigned axis, int64_t index,
    struct tp_value *out, struct tp_err *err)
{
	struct tp_tensor *t = NULL;
	enum tp_status rc =
	    tp_tensor_select(v->tensor, (int)axis, index, &t, err);

	if (rc)
		return rc;
	*out = tp_value_of(t);
	out->kind = v->kind;
	return TP_OK;
}

/* The size along its axis of tensor k, which all share. */
enum tp_status
tpi_scan_measure(const struct tpi_scan *s, size_t k, int64_t axis,
    int64_t *size, struct tp_err *err)
{
	const struct tp_value *v = &s->inputs[s->n_states + k];
	const struct tpi_call *c = s->c;
	unsigned d = 0;
	enum tp_status rc;
	int64_t found;

	if (!tp_value_has_tensor(v))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu to slice is a value of kind '%s'",
		    c->op->onnx, k, tp_value_kind_name(v->kind));
	rc = tpi_op_axis(c, axis, v->tensor->rank, &d, err);
	if (rc)
		return rc;
	found = tp_tensor_sizes(v->tensor)[d];
	if (*size >= 0 && found != *size)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu to slice has %" PRId64
		    " parts along its axis %u, those before it %" PRId64,
		    c->op->onnx, k, found, d, *size);
	*size = found;
	return TP_OK;
}

enum tp_status
tpi_scan_check(const struct tpi_scan *s, int64_t trips, struct tp_err *err)
{
	uint64_t most = tpi_most_iterations(s->c);

	if ((uint64_t)trips > most)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %" PRId64 " iterations, the limit is %" PRIu64,
		    s->c->op->onnx, trips, most);
	return TP_OK;
}

static int64_t
turned(const struct tp_attr *backwards, size_t k, int64_t t, int64_t n)
{
	return tpi_scan_entry(backwards, k) ? n - 1 - t : t;
}

/* Slices and, the first time, states. */
static enum tp_status
fill_inputs(struct tpi_scan *s, int64_t t, int64_t trips, struct tp_err *err)
{
	struct tp_value *in = s->body.in;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < s->n_sliced && !rc; k++) {
		const struct tp_value *v = &s->inputs[s->n_states + k];
		unsigned axis = 0;

		rc = tpi_op_axis(s->c, tpi_scan_entry(s->in_axes, k),
		    v->tensor->rank, &axis, err);
		if (!rc)
			rc = tpi_scan_slice(v, axis,
			    turned(s->in_backwards, k, t, trips),
			    &in[s->n_states + k], err);
	}
	return rc;
}

static enum tp_status
go_round(struct tpi_scan *s, int64_t t, int64_t trips, struct tp_err *err)
{
	struct tp_value *in = s->body.in, *out = s->body.out;
	enum tp_status rc = fill_inputs(s, t, trips, err);

	if (!rc)
		rc = tpi_body_run(&s->body, err);
	for (size_t k = 0; k < s->n_stacked && !rc; k++)
		rc = tpi_stack_put(&s->stacks[k],
		    turned(s->out_backwards, k, t, trips),
		    &out[s->n_states + k], err);
	for (size_t k = 0; k < s->body.graph->n_inputs; k++)
		tp_value_release(&in[k]);
	for (size_t k = 0; k < s->n_states && !rc; k++) {
		in[k] = out[k];
		out[k] = tp_value_of(NULL);
	}
	for (size_t k = 0; k < s->body.graph->n_outputs; k++)
		tp_value_release(&out[k]);
	return rc;
}

/* Leaves the last states in body.in and the rows in the stacks. */
enum tp_status
tpi_scan_run(struct tpi_scan *s, int64_t trips, struct tp_err *err)
{
	enum tp_status rc = tpi_scan_check(s, trips, err);

	for (size_t k = 0; k < s->n_states && !rc; k++)
		rc = tp_value_copy(&s->inputs[k], &s->body.in[k], err);
	for (int64_t t = 0; t < trips && !rc; t++)
		rc = go_round(s, t, trips, err);
	return rc;
}

/* Output k of rows, with the axis of rows where it is wanted. */
enum tp_status
tpi_scan_stack(struct tpi_scan *s, size_t k, int64_t n, struct tp_value *out,
    struct tp_err *err)
{
	struct tp_value rows = {TP_VALUE_NONE, NULL, NULL};
	struct tp_tensor *turned_rows = NULL;
	int order[TP_MAX_RANK];
	unsigned axis = 0;
	enum tp_status rc;

	s->stacks[k].most = n;
	rc = tpi_stack_take(&s->stacks[k], n, &rows, err);
	if (!rc)
		rc = tpi_op_axis(s->c, tpi_scan_entry(s->out_axes, k),
		    rows.tensor->rank, &axis, err);
	if (!rc) {
		for (unsigned d = 0; d < rows.tensor->rank; d++)
			order[d] = d < axis    ? (int)d + 1
				   : d == axis ? 0
					       : (int)d;
		rc = tp_tensor_permute(
		    rows.tensor, order, rows.tensor->rank, &turned_rows, err);
	}
	if (!rc) {
		*out = tp_value_of(turned_rows);
		out->kind = rows.kind;
	}
	tp_value_release(&rows);
	return rc;
}
