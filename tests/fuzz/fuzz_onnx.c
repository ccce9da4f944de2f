/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_onnx.c - the reader of onnx files over any bytes, mapped and not; what
 * is told of graphs, and whether they are valid
 */
#include "fuzz.h"

#include "tp/onnx.h"

static void
count_problem(
    void *ctx, bool is_error, struct tp_str scope, const char *message)
{
	MUST(scope.s && message[0]);
	(void)is_error;
	++*(size_t *)ctx;
}

static void
walk_value(const struct tp_onnx_value *v)
{
	MUST(v->name.s);
	MUST(v->rank == 0 || v->has_shape);
	for (unsigned d = 0; d < v->rank; d++)
		MUST(!v->dims[d].has_size || !v->dims[d].param.len);
}

static void
walk_summary(const struct tp_onnx_summary *s)
{
	const struct tp_onnx_model *m = tp_onnx_summary_model(s);
	uint64_t n_nodes = 0;

	for (size_t i = 0; i < m->n_opsets; i++)
		MUST(tp_onnx_summary_opset(s, i)->domain.s);
	for (size_t i = 0; i < m->n_inputs; i++)
		walk_value(tp_onnx_summary_input(s, i));
	for (size_t i = 0; i < m->n_outputs; i++)
		walk_value(tp_onnx_summary_output(s, i));
	for (size_t i = 0; i < m->n_ops; i++) {
		const struct tp_onnx_op *op = tp_onnx_summary_op(s, i);

		MUST(
		    i == 0 || op->count <= tp_onnx_summary_op(s, i - 1)->count);
		n_nodes += op->count;
	}
	MUST(n_nodes == m->n_nodes);
}

static void
walk_graph(struct tp_reader *r)
{
	struct fuzz_cost summing = {0, 0}, checking = {0, 0};
	struct tp_onnx_summary *s = NULL;
	struct tp_err err = TP_ERR_INIT;
	size_t n_problems = 0;
	enum tp_status rc;

	fuzz_begin();
	rc = tp_onnx_summary_new(r, &s, &err);
	fuzz_end(&summing, "summing up a graph");
	MUST((rc == TP_OK) == (s != NULL));
	if (rc)
		MUST(err.msg[0]);
	else
		walk_summary(s);
	tp_onnx_summary_free(s);
	fuzz_begin();
	rc = tp_onnx_check(r, count_problem, &n_problems, &err);
	fuzz_end(&checking, "checking a graph");
	MUST(!rc || err.msg[0]);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	struct tp_err err = TP_ERR_INIT;
	unsigned choice = fuzz_choice(data, &n);
	struct tp_reader *r =
	    fuzz_open(fuzz_file("in", data, n), "onnx", choice & 7, &err);

	if (r) {
		fuzz_walk(r);
		walk_graph(r);
		fuzz_other_ways(r, data, n, choice & 7, choice);
	}
	tp_close(r);
}
