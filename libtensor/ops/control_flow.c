/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_flow.c - If, Loop, SequenceMap
 *
 * The versions differ in which types they allow and in which inputs may be
 * left out; what is allowed by any is by all.
 *
 * A value that a graph gives to its next run moves there; it is not copied.
 */
#include "body.h"
#include "stack.h"

#include <inttypes.h>

#include "../tensor.h"

#include "../banned.h"

static enum tp_status
run_if(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_attr *branch;
	const char *name;
	bool truth = false;
	enum tp_status rc =
	    tpi_truth(c, &c->values[0], "the condition", &truth, err);

	if (rc)
		return rc;
	name = truth ? "then_branch" : "else_branch";
	branch = tpi_attr_find(c, name);
	if (!branch)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: attribute '%s' is missing", c->op->onnx, name);
	return tpi_run_graph(
	    c, branch->graph, NULL, 0, c->results, c->n_out, err);
}

/*
 * The graph of a Loop takes (number, condition, states…) and gives (condition,
 * states…, rows…). The outputs are the last states, and the rows stacked.
 */
struct loop {
	struct tpi_call *c;
	struct tpi_body body;
	size_t n_states;
	bool is_bounded;
	int64_t trips, i;
	bool goes_on;
	struct tpi_stack *stacks;
	size_t n_stacks; /* of those that somebody wants */
};

static enum tp_status
count_trips(struct loop *l, struct tp_err *err)
{
	int64_t list[TP_MAX_RANK];
	enum tp_status rc;
	size_t n;

	rc = tpi_int_list(l->c, "M", 0, list, &n, &l->is_bounded, err);
	if (rc || !l->is_bounded)
		return rc;
	if (n != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: M has %zu elements, expected one", l->c->op->onnx, n);
	l->trips = list[0] < 0 ? 0 : list[0];
	return TP_OK;
}

static enum tp_status
check_loop(struct loop *l, struct tp_err *err)
{
	const struct tp_graph *g = l->body.graph;
	const struct tpi_call *c = l->c;

	if (g->n_inputs < 2 || g->n_outputs + 1 < g->n_inputs)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: its graph has %zu inputs and %zu outputs, expected a "
		    "number, a condition and states, and the last two again",
		    c->op->onnx, g->n_inputs, g->n_outputs);
	l->n_states = g->n_inputs - 2;
	if (c->n_in > g->n_inputs || c->n_out > g->n_outputs - 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu inputs and %zu outputs, its graph is for %zu and "
		    "%zu",
		    c->op->onnx, c->n_in, c->n_out, g->n_inputs,
		    g->n_outputs - 1);
	return TP_OK;
}

static enum tp_status
make_stacks(struct loop *l, struct tp_err *err)
{
	const struct tp_graph *g = l->body.graph;
	struct tpi_call *c = l->c;

	l->n_stacks = c->n_out > l->n_states ? c->n_out - l->n_states : 0;
	l->stacks = tp_mem_array(c->alloc, l->n_stacks, sizeof(*l->stacks));
	if (!l->stacks)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu outputs", c->op->onnx, l->n_stacks);
	for (size_t k = 0; k < l->n_stacks; k++)
		l->stacks[k] = (struct tpi_stack){.c = c,
		    .number = l->n_states + k,
		    .binding = &g->outputs[1 + l->n_states + k],
		    .most = l->trips};
	return TP_OK;
}

/* A tensor of one bool or i64 with these bytes. */
static enum tp_status
make_scalar(const struct tpi_call *c, enum tp_dtype dtype, int64_t number,
    struct tp_value *out, struct tp_err *err)
{
	struct tp_tensor *t = NULL;
	enum tp_status rc = tpi_op_temp(c, dtype, NULL, 0, &t, err);

	if (rc)
		return rc;
	if (dtype == TP_DTYPE_BOOL)
		*tpi_tensor_address(t) = number != 0;
	else
		*(int64_t *)(void *)tpi_tensor_address(t) = number;
	*out = tp_value_of(t);
	return TP_OK;
}

static enum tp_status
begin_loop(struct loop *l, struct tp_err *err)
{
	struct tpi_call *c = l->c;
	struct tp_value *in;
	enum tp_status rc = tpi_body_begin(&l->body, c, "body", err);

	if (!rc)
		rc = check_loop(l, err);
	if (!rc)
		rc = count_trips(l, err);
	if (!rc)
		rc = make_stacks(l, err);
	if (rc)
		return rc;
	in = l->body.in;
	l->goes_on = true;
	if (c->n_in > 1 && c->values[1].kind != TP_VALUE_NONE)
		rc = tpi_truth(
		    c, &c->values[1], "the condition", &l->goes_on, err);
	if (!rc)
		rc = make_scalar(c, TP_DTYPE_BOOL, l->goes_on, &in[1], err);
	for (size_t k = 2; k < c->n_in && !rc; k++)
		rc = tp_value_copy(&c->values[k], &in[k], err);
	return rc;
}

/* What came out goes in again. */
static void
hand_on(struct loop *l)
{
	for (size_t k = 0; k <= l->n_states; k++) {
		struct tp_value *from = &l->body.out[k];
		struct tp_value *to = &l->body.in[k + 1];

		tp_value_release(to);
		*to = *from;
		*from = tp_value_of(NULL);
	}
}

/* A state that the graph takes as an optional may come out of it bare. */
static enum tp_status
wrap_states(struct loop *l, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 2; k < l->n_states + 2 && !rc; k++) {
		struct tp_type type = l->body.graph->inputs[k].type;
		struct tp_value *in = &l->body.in[k], wrapped;

		if (type.kind != TP_VALUE_OPTIONAL ||
		    in->kind == TP_VALUE_OPTIONAL || in->kind == TP_VALUE_NONE)
			continue;
		rc = tp_list_new(l->c->alloc, type, in, 1, &wrapped, err);
		if (!rc)
			*in = wrapped;
	}
	return rc;
}

static enum tp_status
go_round(struct loop *l, struct tp_err *err)
{
	uint64_t most = tpi_most_iterations(l->c);
	struct tp_value *in = l->body.in, *out = l->body.out;
	enum tp_status rc;

	if ((uint64_t)l->i >= most)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: still going on after %" PRIu64 " iterations, which is "
		    "the limit",
		    l->c->op->onnx, most);
	tp_value_release(&in[0]);
	rc = make_scalar(l->c, TP_DTYPE_I64, l->i, &in[0], err);
	if (!rc)
		rc = wrap_states(l, err);
	if (!rc)
		rc = tpi_body_run(&l->body, err);
	if (!rc)
		rc = tpi_truth(l->c, &out[0], "the condition of its graph",
		    &l->goes_on, err);
	for (size_t k = 0; k < l->n_stacks && !rc; k++)
		rc = tpi_stack_put(
		    &l->stacks[k], l->i, &out[1 + l->n_states + k], err);
	for (size_t k = 1 + l->n_states; k < l->body.graph->n_outputs; k++)
		tp_value_release(&out[k]);
	if (!rc)
		hand_on(l);
	l->i++;
	return rc;
}

static enum tp_status
finish_loop(struct loop *l, struct tp_err *err)
{
	struct tp_value *results = l->c->results;
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < l->n_states && k < l->c->n_out; k++) {
		results[k] = l->body.in[k + 2];
		l->body.in[k + 2] = tp_value_of(NULL);
	}
	for (size_t k = 0; k < l->n_stacks && !rc; k++)
		rc = tpi_stack_take(
		    &l->stacks[k], l->i, &results[l->n_states + k], err);
	return rc;
}

static enum tp_status
run_loop(struct tpi_call *c, struct tp_err *err)
{
	struct loop l = {.c = c};
	enum tp_status rc = begin_loop(&l, err);

	while (!rc && l.goes_on && (!l.is_bounded || l.i < l.trips))
		rc = go_round(&l, err);
	if (!rc)
		rc = finish_loop(&l, err);
	for (size_t k = 0; l.stacks && k < l.n_stacks; k++)
		tpi_stack_drop(&l.stacks[k]);
	tp_mem_free(c->alloc, l.stacks, l.n_stacks, sizeof(*l.stacks));
	tpi_body_end(&l.body);
	return rc;
}

/* Input k in round i: an element of a sequence, or the same every time. */
static enum tp_status
take_element(const struct tpi_call *c, size_t k, size_t i, struct tp_value *out,
    struct tp_err *err)
{
	const struct tp_value *v = &c->values[k];

	if (v->kind != TP_VALUE_SEQUENCE)
		return tp_value_copy(v, out, err);
	return tp_value_copy(tp_list_at(v->list, i), out, err);
}

static enum tp_status
check_map(const struct tpi_body *b, struct tp_err *err)
{
	const struct tpi_call *c = b->c;
	size_t n;

	if (c->n_in != b->graph->n_inputs || c->n_out > b->graph->n_outputs)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu inputs and %zu outputs, its graph is for %zu and "
		    "%zu",
		    c->op->onnx, c->n_in, c->n_out, b->graph->n_inputs,
		    b->graph->n_outputs);
	if (c->values[0].kind != TP_VALUE_SEQUENCE)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 is a value of kind '%s', expected a sequence",
		    c->op->onnx, tp_value_kind_name(c->values[0].kind));
	n = tp_list_count(c->values[0].list);
	for (size_t k = 1; k < c->n_in; k++)
		if (c->values[k].kind == TP_VALUE_SEQUENCE &&
		    tp_list_count(c->values[k].list) != n)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: sequence %zu has %zu elements, the first %zu",
			    c->op->onnx, k, tp_list_count(c->values[k].list),
			    n);
	return TP_OK;
}

static enum tp_status
map_element(
    struct tpi_body *b, size_t i, struct tp_value *made, struct tp_err *err)
{
	const struct tpi_call *c = b->c;
	size_t n = tp_list_count(c->values[0].list);
	enum tp_status rc = TP_OK;

	for (size_t k = 0; k < c->n_in && !rc; k++)
		rc = take_element(c, k, i, &b->in[k], err);
	if (!rc)
		rc = tpi_body_run(b, err);
	for (size_t k = 0; k < c->n_out && !rc; k++) {
		made[k * n + i] = b->out[k];
		b->out[k] = tp_value_of(NULL);
	}
	tpi_body_clear(b);
	return rc;
}

/* A sequence of n values; what an empty one is of, the graph declares. */
static enum tp_status
make_sequence(const struct tpi_body *b, size_t k, struct tp_value *made,
    size_t n, struct tp_value *out, struct tp_err *err)
{
	struct tp_type type =
	    n ? tp_value_type(&made[0]) : b->graph->outputs[k].type;

	type.element = type.kind;
	type.kind = TP_VALUE_SEQUENCE;
	return tp_list_new(b->c->alloc, type, made, n, out, err);
}

static enum tp_status
map_all(struct tpi_body *b, struct tp_value *made, size_t n, struct tp_err *err)
{
	struct tpi_call *c = b->c;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < n && !rc; i++)
		rc = map_element(b, i, made, err);
	for (size_t k = 0; k < c->n_out && !rc; k++)
		rc = make_sequence(b, k, &made[k * n], n, &c->results[k], err);
	return rc;
}

static enum tp_status
run_sequence_map(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_body b;
	struct tp_value *made = NULL;
	size_t n = 0, n_made = 0;
	enum tp_status rc = tpi_body_begin(&b, c, "body", err);

	if (!rc)
		rc = check_map(&b, err);
	if (!rc) {
		n = tp_list_count(c->values[0].list);
		n_made = n * c->n_out;
		made = tp_mem_array(c->alloc, n_made, sizeof(*made));
		if (!made)
			rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "%s: no memory for %zu sequences of %zu values",
			    c->op->onnx, c->n_out, n);
	}
	if (!rc)
		rc = map_all(&b, made, n, err);
	for (size_t i = 0; made && i < n_made; i++)
		tp_value_release(&made[i]);
	tp_mem_free(c->alloc, made, n_made, sizeof(*made));
	tpi_body_end(&b);
	return rc;
}

static const struct tpi_attr_spec if_attrs[] = {
    {"then_branch", TP_ATTR_GRAPH},
    {"else_branch", TP_ATTR_GRAPH},
    {NULL, TP_ATTR_INT},
};

static const struct tpi_attr_spec body_attrs[] = {
    {"body", TP_ATTR_GRAPH},
    {NULL, TP_ATTR_INT},
};

const struct tp_op tpi_control_flow_ops[] = {
    {.name = "if",
	.onnx = "If",
	.since = 1,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = TP_OP_ANY,
	.flags = TPI_OP_VALUES,
	.attrs = if_attrs,
	.run = run_if},
    {.name = "loop",
	.onnx = "Loop",
	.since = 1,
	.min_in = 0,
	.max_in = TP_OP_ANY,
	.min_out = 1,
	.max_out = TP_OP_ANY,
	.flags = TPI_OP_VALUES,
	.attrs = body_attrs,
	.run = run_loop},
    {.name = "sequence_map",
	.onnx = "SequenceMap",
	.since = 17,
	.min_in = 1,
	.max_in = TP_OP_ANY,
	.min_out = 1,
	.max_out = TP_OP_ANY,
	.flags = TPI_OP_VALUES,
	.attrs = body_attrs,
	.run = run_sequence_map},
    {.name = NULL},
};
