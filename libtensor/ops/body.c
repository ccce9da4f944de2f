/* SPDX-License-Identifier: Apache-2.0 */
/* body.c - running the graph of an attribute again and again */
#include "body.h"

#include "../tensor.h"

#include "../banned.h"

enum tp_status
tpi_body_begin(struct tpi_body *b, struct tpi_call *c, const char *attr,
    struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, attr);

	*b = (struct tpi_body){.c = c};
	if (!a)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: attribute '%s' is missing", c->op->onnx, attr);
	b->graph = a->graph;
	b->in = tp_mem_array(c->alloc, b->graph->n_inputs, sizeof(*b->in));
	b->out = tp_mem_array(c->alloc, b->graph->n_outputs, sizeof(*b->out));
	if (!b->in || !b->out)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu inputs and %zu outputs of its graph",
		    c->op->onnx, b->graph->n_inputs, b->graph->n_outputs);
	return TP_OK;
}

enum tp_status
tpi_body_run(struct tpi_body *b, struct tp_err *err)
{
	return tpi_run_graph(b->c, b->graph, b->in, b->graph->n_inputs, b->out,
	    b->graph->n_outputs, err);
}

static void
release_all(struct tp_value *values, size_t n)
{
	for (size_t i = 0; values && i < n; i++)
		tp_value_release(&values[i]);
}

void
tpi_body_clear(struct tpi_body *b)
{
	release_all(b->in, b->graph->n_inputs);
	release_all(b->out, b->graph->n_outputs);
}

void
tpi_body_end(struct tpi_body *b)
{
	if (!b->graph)
		return;
	tpi_body_clear(b);
	tp_mem_free(b->c->alloc, b->in, b->graph->n_inputs, sizeof(*b->in));
	tp_mem_free(b->c->alloc, b->out, b->graph->n_outputs, sizeof(*b->out));
}

enum tp_status
tpi_run_graph(const struct tpi_call *c, const struct tp_graph *graph,
    const struct tp_value *in, size_t n_in, struct tp_value *out, size_t n_out,
    struct tp_err *err)
{
	if (!c->opts->run_graph)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: operators with graphs run as nodes of a program only",
		    c->op->onnx);
	return c->opts->run_graph(
	    c->opts->run_graph_ctx, graph, in, n_in, out, n_out, err);
}

uint64_t
tpi_most_iterations(const struct tpi_call *c)
{
	return c->opts->max_iterations ? c->opts->max_iterations : 1000000;
}

enum tp_status
tpi_truth(const struct tpi_call *c, const struct tp_value *v, const char *what,
    bool *truth, struct tp_err *err)
{
	const struct tp_tensor *t = v->tensor;

	if (v->kind != TP_VALUE_TENSOR)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s is a value of kind '%s', expected a bool",
		    c->op->onnx, what, tp_value_kind_name(v->kind));
	if (t->dtype != TP_DTYPE_BOOL || t->n_elems != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has dtype %s and shape %s, expected one bool",
		    c->op->onnx, what, tp_dtype_name(t->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank));
	*truth = *tpi_tensor_address(t) != 0;
	return TP_OK;
}
