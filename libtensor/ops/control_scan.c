/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_scan.c - Scan
 *
 * From opset 9 on it takes (states…, tensors…) and says along which axis each
 * is sliced and stacked, and in which direction. Scan-8 takes (lengths,
 * states…, tensors…) with a batch as first axis of all and slices the second;
 * what is behind an example's length is zero.
 */
#include "scan.h"

#include <inttypes.h>

#include "../tensor.h"

#include "../banned.h"

static enum tp_status
finish(struct tpi_scan *s, int64_t trips, struct tp_err *err)
{
	struct tp_value *results = s->c->results;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < s->c->n_out && !rc; k++) {
		if (k >= s->n_states) {
			rc = tpi_scan_stack(
			    s, k - s->n_states, trips, &results[k], err);
			continue;
		}
		results[k] = s->body.in[k];
		s->body.in[k] = tp_value_of(NULL);
	}
	return rc;
}

static enum tp_status
take_directions(struct tpi_scan *s, struct tp_err *err)
{
	const struct tpi_call *c = s->c;
	enum tp_status rc =
	    tpi_scan_list(c, "scan_input_axes", s->n_sliced, &s->in_axes, err);

	if (!rc)
		rc = tpi_scan_list(c, "scan_input_directions", s->n_sliced,
		    &s->in_backwards, err);
	if (!rc)
		rc = tpi_scan_list(
		    c, "scan_output_axes", s->n_stacked, &s->out_axes, err);
	if (!rc)
		rc = tpi_scan_list(c, "scan_output_directions", s->n_stacked,
		    &s->out_backwards, err);
	return rc;
}

static enum tp_status
run_scan(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_scan s = {.c = c, .inputs = c->values};
	int64_t trips = -1;
	enum tp_status rc = tpi_scan_begin(&s, c->n_in, err);

	if (!rc)
		rc = take_directions(&s, err);
	for (size_t k = 0; k < s.n_sliced && !rc; k++)
		rc = tpi_scan_measure(
		    &s, k, tpi_scan_entry(s.in_axes, k), &trips, err);
	for (size_t k = 0; k < s.n_stacked && !rc; k++)
		s.stacks[k].most = trips;
	if (!rc)
		rc = tpi_scan_run(&s, trips, err);
	if (!rc)
		rc = finish(&s, trips, err);
	tpi_scan_end(&s);
	return rc;
}

/* Scan-8. */
struct batch {
	struct tpi_scan s;
	const struct tp_value *inputs; /* of all examples, behind lengths */
	size_t n_in;
	struct tp_value *example;
	int64_t n_examples, most;   /* the longest sequence */
	struct tpi_stack *gathered; /* outputs, one row an example */
};

static enum tp_status
measure_batch(struct batch *b, struct tp_err *err)
{
	struct tpi_scan *s = &b->s;
	enum tp_status rc = TP_OK;

	b->n_examples = b->most = -1;
	for (size_t k = 0; k < s->n_sliced && !rc; k++) {
		rc = tpi_scan_measure(s, k, 0, &b->n_examples, err);
		if (!rc)
			rc = tpi_scan_measure(s, k, 1, &b->most, err);
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
	return rc ? rc : tpi_scan_check(s, b->n_examples, err);
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
	struct tpi_scan *s = &b->s;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < s->c->n_out && !rc; k++) {
		struct tp_value rows = {TP_VALUE_NONE, NULL, NULL};

		if (k < s->n_states) {
			rc = tpi_stack_put(
			    &b->gathered[k], example, &s->body.in[k], err);
		} else if (n > 0) {
			rc = tpi_scan_stack(
			    s, k - s->n_states, b->most, &rows, err);
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
	struct tpi_scan *s = &b->s;
	enum tp_status rc;
	int64_t n = 0;

	rc = length_of(b, example, &n, err);
	for (size_t k = 0; k < b->n_in && !rc; k++)
		rc = tpi_scan_slice(
		    &b->inputs[k], 0, example, &b->example[k], err);
	s->inputs = b->example;
	if (!rc)
		rc = tpi_scan_run(s, n, err);
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
	enum tp_status rc = tpi_scan_begin(&b->s, b->n_in, err);

	if (!rc)
		rc = tpi_scan_list(
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
	tpi_scan_end(&b.s);
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
