/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_scan.c - Scan: a graph along axes of its inputs
 *
 * The graph takes (states…, slices…) and gives (states…, rows…). From opset 9
 * on Scan takes (states…, tensors…) and says along which axis each is sliced
 * and stacked, and in which direction. Scan-8 takes (lengths, states…,
 * tensors…) with a batch as first axis of all and slices the second; what is
 * behind an example's length is zero.
 */
#include "body.h"
#include "stack.h"

#include <inttypes.h>

#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

#define MAX_ITERATIONS 1000000

struct scan {
	struct tpi_call *c;
	struct tpi_body body;
	const struct tp_value *inputs; /* states, then tensors */
	size_t n_states, n_sliced, n_stacked;
	/* NULL: 0 for all. */
	const struct tp_attr *in_axes, *in_backwards;
	const struct tp_attr *out_axes, *out_backwards;
	struct tpi_stack *stacks;
};

/* List i of an attribute that has n, if it is given. */
static enum tp_status
take_list(const struct tpi_call *c, const char *name, size_t n,
    const struct tp_attr **list, struct tp_err *err)
{
	*list = tpi_attr_find(c, name);
	if (*list && (*list)->n != n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has %zu entries, expected %zu", c->op->onnx, name,
		    (*list)->n, n);
	return TP_OK;
}

static int64_t
entry(const struct tp_attr *list, size_t k)
{
	return list ? list->ints[k] : 0;
}

/* Rows of the graph's outputs to collect, whoever wants them. */
static enum tp_status
make_stacks(struct scan *s, struct tp_err *err)
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
static enum tp_status
begin(struct scan *s, size_t n_in, struct tp_err *err)
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

static void
end(struct scan *s)
{
	for (size_t k = 0; s->stacks && k < s->n_stacked; k++)
		tpi_stack_drop(&s->stacks[k]);
	tp_mem_free(s->c->alloc, s->stacks, s->n_stacked, sizeof(*s->stacks));
	tpi_body_end(&s->body);
}

/* Part `index` of a value along an axis. */
static enum tp_status
take_slice(const struct tp_value *v, unsigned axis, int64_t index,
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
static enum tp_status
measure(const struct scan *s, size_t k, int64_t axis, int64_t *size,
    struct tp_err *err)
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

static enum tp_status
check_trips(const struct scan *s, int64_t trips, struct tp_err *err)
{
	uint64_t most = s->c->opts->max_iterations;

	if (!most)
		most = MAX_ITERATIONS;
	if ((uint64_t)trips > most)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %" PRId64 " iterations, the limit is %" PRIu64,
		    s->c->op->onnx, trips, most);
	return TP_OK;
}

static int64_t
turned(const struct tp_attr *backwards, size_t k, int64_t t, int64_t n)
{
	return entry(backwards, k) ? n - 1 - t : t;
}

/* Slices and, the first time, states. */
static enum tp_status
fill_inputs(struct scan *s, int64_t t, int64_t trips, struct tp_err *err)
{
	struct tp_value *in = s->body.in;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < s->n_sliced && !rc; k++) {
		const struct tp_value *v = &s->inputs[s->n_states + k];
		unsigned axis = 0;

		rc = tpi_op_axis(
		    s->c, entry(s->in_axes, k), v->tensor->rank, &axis, err);
		if (!rc)
			rc = take_slice(v, axis,
			    turned(s->in_backwards, k, t, trips),
			    &in[s->n_states + k], err);
	}
	return rc;
}

static enum tp_status
go_round(struct scan *s, int64_t t, int64_t trips, struct tp_err *err)
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
static enum tp_status
go_along(struct scan *s, int64_t trips, struct tp_err *err)
{
	enum tp_status rc = check_trips(s, trips, err);

	for (size_t k = 0; k < s->n_states && !rc; k++)
		rc = tp_value_copy(&s->inputs[k], &s->body.in[k], err);
	for (int64_t t = 0; t < trips && !rc; t++)
		rc = go_round(s, t, trips, err);
	return rc;
}

/* Output k of rows, with the axis of rows where it is wanted. */
static enum tp_status
take_stack(struct scan *s, size_t k, int64_t n, struct tp_value *out,
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
		rc = tpi_op_axis(
		    s->c, entry(s->out_axes, k), rows.tensor->rank, &axis, err);
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

static enum tp_status
finish(struct scan *s, int64_t trips, struct tp_err *err)
{
	struct tp_value *results = s->c->results;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < s->c->n_out && !rc; k++) {
		if (k >= s->n_states) {
			rc = take_stack(
			    s, k - s->n_states, trips, &results[k], err);
			continue;
		}
		results[k] = s->body.in[k];
		s->body.in[k] = tp_value_of(NULL);
	}
	return rc;
}

static enum tp_status
take_directions(struct scan *s, struct tp_err *err)
{
	const struct tpi_call *c = s->c;
	enum tp_status rc =
	    take_list(c, "scan_input_axes", s->n_sliced, &s->in_axes, err);

	if (!rc)
		rc = take_list(c, "scan_input_directions", s->n_sliced,
		    &s->in_backwards, err);
	if (!rc)
		rc = take_list(
		    c, "scan_output_axes", s->n_stacked, &s->out_axes, err);
	if (!rc)
		rc = take_list(c, "scan_output_directions", s->n_stacked,
		    &s->out_backwards, err);
	return rc;
}

static enum tp_status
run_scan(struct tpi_call *c, struct tp_err *err)
{
	struct scan s = {.c = c, .inputs = c->values};
	int64_t trips = -1;
	enum tp_status rc = begin(&s, c->n_in, err);

	if (!rc)
		rc = take_directions(&s, err);
	for (size_t k = 0; k < s.n_sliced && !rc; k++)
		rc = measure(&s, k, entry(s.in_axes, k), &trips, err);
	for (size_t k = 0; k < s.n_stacked && !rc; k++)
		s.stacks[k].most = trips;
	if (!rc)
		rc = go_along(&s, trips, err);
	if (!rc)
		rc = finish(&s, trips, err);
	end(&s);
	return rc;
}

/* Scan-8. */
struct batch {
	struct scan s;
	const struct tp_value *inputs; /* of all examples, behind lengths */
	size_t n_in;
	struct tp_value *example;
	int64_t n_examples, most;   /* the longest sequence */
	struct tpi_stack *gathered; /* outputs, one row an example */
};

static enum tp_status
measure_batch(struct batch *b, struct tp_err *err)
{
	struct scan *s = &b->s;
	enum tp_status rc = TP_OK;

	b->n_examples = b->most = -1;
	for (size_t k = 0; k < s->n_sliced && !rc; k++) {
		rc = measure(s, k, 0, &b->n_examples, err);
		if (!rc)
			rc = measure(s, k, 1, &b->most, err);
	}
	for (size_t k = 0; k < s->n_states && !rc; k++) {
		const struct tp_value *v = &b->inputs[k];

		if (!tp_value_has_tensor(v) || v->tensor->rank < 1 ||
		    tp_tensor_sizes(v->tensor)[0] != b->n_examples)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: state %zu is not a tensor with a first axis "
			    "of "
			    "%" PRId64 " examples",
			    s->c->op->onnx, k, b->n_examples);
	}
	return rc ? rc : check_trips(s, b->n_examples, err);
}

/* How many steps an example has. */
static enum tp_status
length_of(
    const struct batch *b, int64_t example, int64_t *n, struct tp_err *err)
{
	const struct tp_tensor *t = b->s.c->in[0];
	const char *name = b->s.c->op->onnx;

	*n = b->most;
	if (!t)
		return TP_OK;
	if (t->dtype != TP_DTYPE_I64 || t->rank != 1 ||
	    tp_tensor_sizes(t)[0] != b->n_examples)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: sequence_lens has dtype %s and shape %s, expected i64 "
		    "and [%" PRId64 "]",
		    name, tp_dtype_name(t->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank), b->n_examples);
	*n = ((const int64_t *)(const void *)tpi_tensor_address(
	    t))[example * tp_tensor_strides(t)[0]];
	if (*n < 0 || *n > b->most)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: sequence %" PRId64 " has length %" PRId64
		    ", the longest is %" PRId64,
		    name, example, *n, b->most);
	return TP_OK;
}

/* The states and rows that an example left behind; none if it is empty. */
static enum tp_status
gather(struct batch *b, int64_t example, int64_t n, struct tp_err *err)
{
	struct scan *s = &b->s;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < s->c->n_out && !rc; k++) {
		struct tp_value rows = {TP_VALUE_NONE, NULL, NULL};

		if (k < s->n_states) {
			rc = tpi_stack_put(
			    &b->gathered[k], example, &s->body.in[k], err);
		} else if (n > 0) {
			rc =
			    take_stack(s, k - s->n_states, b->most, &rows, err);
			if (!rc)
				rc = tpi_stack_put(
				    &b->gathered[k], example, &rows, err);
			tp_value_release(&rows);
		}
	}
	return rc;
}

static enum tp_status
run_example(struct batch *b, int64_t example, struct tp_err *err)
{
	struct scan *s = &b->s;
	enum tp_status rc;
	int64_t n = 0;

	rc = length_of(b, example, &n, err);
	for (size_t k = 0; k < b->n_in && !rc; k++)
		rc = take_slice(&b->inputs[k], 0, example, &b->example[k], err);
	s->inputs = b->example;
	if (!rc)
		rc = go_along(s, n, err);
	if (!rc)
		rc = gather(b, example, n, err);
	tpi_body_clear(&s->body);
	for (size_t k = 0; k < b->n_in; k++)
		tp_value_release(&b->example[k]);
	return rc;
}

static enum tp_status
begin_batch(struct batch *b, struct tp_err *err)
{
	struct tpi_call *c = b->s.c;
	enum tp_status rc = begin(&b->s, b->n_in, err);

	if (!rc)
		rc = take_list(
		    c, "directions", b->s.n_sliced, &b->s.in_backwards, err);
	if (!rc)
		rc = measure_batch(b, err);
	if (rc)
		return rc;
	b->example = tp_mem_array(c->alloc, b->n_in, sizeof(*b->example));
	b->gathered = tp_mem_array(c->alloc, c->n_out, sizeof(*b->gathered));
	if (!b->example || !b->gathered)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu inputs", c->op->onnx, b->n_in);
	for (size_t k = 0; k < c->n_out; k++)
		b->gathered[k] = (struct tpi_stack){.c = c,
		    .number = k,
		    .binding = &b->s.body.graph->outputs[k],
		    .most = b->n_examples};
	return TP_OK;
}

static enum tp_status
run_scan_8(struct tpi_call *c, struct tp_err *err)
{
	struct batch b = {.s = {.c = c}};
	enum tp_status rc;

	if (c->n_in < 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu inputs, expected lengths, states and tensors",
		    c->op->onnx, c->n_in);
	b.inputs = b.s.inputs = c->values + 1;
	b.n_in = c->n_in - 1;
	rc = begin_batch(&b, err);
	for (int64_t i = 0; i < b.n_examples && !rc; i++)
		rc = run_example(&b, i, err);
	for (size_t k = 0; k < c->n_out && !rc; k++)
		rc = tpi_stack_take(
		    &b.gathered[k], b.n_examples, &c->results[k], err);
	for (size_t k = 0; b.gathered && k < c->n_out; k++)
		tpi_stack_drop(&b.gathered[k]);
	tp_mem_free(c->alloc, b.gathered, c->n_out, sizeof(*b.gathered));
	tp_mem_free(c->alloc, b.example, b.n_in, sizeof(*b.example));
	end(&b.s);
	return rc;
}

static const struct tpi_attr_spec scan_8_attrs[] = {
    {"body", TP_ATTR_GRAPH},
    {"num_scan_inputs", TP_ATTR_INT},
    {"directions", TP_ATTR_INTS},
    {NULL, TP_ATTR_INT},
};

static const struct tpi_attr_spec scan_attrs[] = {
    {"body", TP_ATTR_GRAPH},
    {"num_scan_inputs", TP_ATTR_INT},
    {"scan_input_axes", TP_ATTR_INTS},
    {"scan_input_directions", TP_ATTR_INTS},
    {"scan_output_axes", TP_ATTR_INTS},
    {"scan_output_directions", TP_ATTR_INTS},
    {NULL, TP_ATTR_INT},
};

const struct tp_op tpi_control_scan_ops[] = {
    {.name = "scan",
	.onnx = "Scan",
	.since = 8,
	.until = 8,
	.min_in = 0,
	.max_in = TP_OP_ANY,
	.min_out = 1,
	.max_out = TP_OP_ANY,
	.flags = TPI_OP_VALUES,
	.attrs = scan_8_attrs,
	.run = run_scan_8},
    {.name = "scan",
	.onnx = "Scan",
	.since = 9,
	.min_in = 1,
	.max_in = TP_OP_ANY,
	.min_out = 1,
	.max_out = TP_OP_ANY,
	.flags = TPI_OP_VALUES,
	.attrs = scan_attrs,
	.run = run_scan},
    {.name = NULL},
};
