/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - what an ONNX graph is about: --graph */
#include "inspect.h"

#include <inttypes.h>

#include "tp/onnx.h"

#include "cli_json.h"
#include "text.h"

static const char *const kinds[] = {
    [TP_ONNX_UNKNOWN] = "unknown",
    [TP_ONNX_TENSOR] = "tensor",
    [TP_ONNX_SPARSE_TENSOR] = "sparse_tensor",
    [TP_ONNX_SEQUENCE] = "sequence",
    [TP_ONNX_MAP] = "map",
    [TP_ONNX_OPTIONAL] = "optional",
};

static bool
open_summary(struct inspect_file *f, struct tp_onnx_summary **out)
{
	struct tp_err err = TP_ERR_INIT;

	if (!tp_onnx_summary_new(f->r, out, &err))
		return true;
	f->status = cli_worst(f->status, cli_report(f->path, &err));
	return false;
}

static void
put_pair(const char *name, struct tp_str value)
{
	if (!value.len)
		return;
	printf("%-17s  ", name);
	cli_put_name(stdout, value, CLI_NAME_COLUMNS);
	putc('\n', stdout);
}

static void
put_count(const char *name, uint64_t n)
{
	if (n)
		printf("%-17s  %" PRIu64 "\n", name, n);
}

static void
put_model(const struct tp_onnx_summary *s)
{
	const struct tp_onnx_model *m = tp_onnx_summary_model(s);

	printf("%-17s  %" PRId64 "\n", "IR version", m->ir_version);
	for (size_t i = 0; i < m->n_opsets; i++) {
		const struct tp_onnx_opset *o = tp_onnx_summary_opset(s, i);

		printf("%-17s  ", i ? "" : "opsets");
		cli_put_name(stdout,
		    o->domain.len ? o->domain : TP_STR("ai.onnx"),
		    CLI_NAME_COLUMNS);
		printf(" %" PRId64 "\n", o->version);
	}
	put_pair("producer", m->producer_name);
	put_pair("producer version", m->producer_version);
	put_pair("domain", m->domain);
	if (m->model_version)
		printf(
		    "%-17s  %" PRId64 "\n", "model version", m->model_version);
	put_pair("graph", m->graph_name);
	put_pair("description", m->doc_string);
	put_count("nodes", m->n_nodes);
	put_count("subgraphs", m->n_subgraphs);
	put_count("functions", m->n_functions);
	put_count("training graphs", m->n_training);
}

static void
put_dims(const struct tp_onnx_value *v)
{
	fputs(" [", stdout);
	for (unsigned i = 0; i < v->rank; i++) {
		const struct tp_onnx_dim *d = &v->dims[i];

		if (i)
			fputs(", ", stdout);
		if (d->has_size)
			printf("%" PRId64, d->size);
		else if (d->param.len)
			cli_put_name(stdout, d->param, CLI_NAME_COLUMNS);
		else
			putc('?', stdout);
	}
	putc(']', stdout);
}

static void
put_value(const struct tp_onnx_value *v)
{
	fputs("  ", stdout);
	cli_put_name(stdout, v->name, CLI_NAME_COLUMNS);
	fputs("  ", stdout);
	if (v->kind != TP_ONNX_TENSOR)
		fputs(kinds[v->kind], stdout);
	if (v->kind == TP_ONNX_SPARSE_TENSOR)
		putc(' ', stdout);
	if (v->kind == TP_ONNX_TENSOR || v->kind == TP_ONNX_SPARSE_TENSOR) {
		fputs(v->dtype ? tp_dtype_name(v->dtype) : "any", stdout);
		if (v->has_shape)
			put_dims(v);
	}
	putc('\n', stdout);
}

void
inspect_graph(struct inspect_file *f)
{
	struct tp_onnx_summary *s = NULL;
	const struct tp_onnx_model *m;

	if (!open_summary(f, &s))
		return;
	m = tp_onnx_summary_model(s);
	put_model(s);
	fputs("inputs\n", stdout);
	for (size_t i = 0; i < m->n_inputs; i++)
		put_value(tp_onnx_summary_input(s, i));
	fputs("outputs\n", stdout);
	for (size_t i = 0; i < m->n_outputs; i++)
		put_value(tp_onnx_summary_output(s, i));
	fputs("operators\n", stdout);
	for (size_t i = 0; i < m->n_ops; i++) {
		const struct tp_onnx_op *op = tp_onnx_summary_op(s, i);

		printf("  %8" PRIu64 "  ", op->count);
		if (op->domain.len) {
			cli_put_name(stdout, op->domain, CLI_NAME_COLUMNS);
			putc('.', stdout);
		}
		cli_put_name(stdout, op->op_type, CLI_NAME_COLUMNS);
		putc('\n', stdout);
	}
	tp_onnx_summary_free(s);
}

static void
put_json_value(struct tp_json *j, const struct tp_onnx_value *v)
{
	tp_json_object_begin(j);
	cli_json_str(j, "name", v->name);
	cli_json_str(j, "kind", tp_str(kinds[v->kind]));
	if (v->dtype)
		cli_json_str(j, "dtype", tp_str(tp_dtype_name(v->dtype)));
	if (v->has_shape) {
		tp_json_key(j, "shape");
		tp_json_row_begin(j);
		for (unsigned i = 0; i < v->rank; i++)
			if (v->dims[i].has_size)
				tp_json_i64(j, v->dims[i].size);
			else if (v->dims[i].param.len)
				tp_json_str(j, v->dims[i].param);
			else
				tp_json_null(j);
		tp_json_array_end(j);
	}
	tp_json_object_end(j);
}

static void
put_json_model(struct tp_json *j, const struct tp_onnx_summary *s)
{
	const struct tp_onnx_model *m = tp_onnx_summary_model(s);

	cli_json_i64(j, "ir_version", m->ir_version);
	cli_json_str(j, "producer_name", m->producer_name);
	cli_json_str(j, "producer_version", m->producer_version);
	cli_json_str(j, "domain", m->domain);
	cli_json_i64(j, "model_version", m->model_version);
	cli_json_str(j, "doc_string", m->doc_string);
	cli_json_str(j, "name", m->graph_name);
	cli_json_u64(j, "nodes", m->n_nodes);
	cli_json_u64(j, "subgraphs", m->n_subgraphs);
	cli_json_u64(j, "functions", m->n_functions);
	cli_json_u64(j, "training", m->n_training);
	tp_json_key(j, "opsets");
	tp_json_array_begin(j);
	for (size_t i = 0; i < m->n_opsets; i++) {
		const struct tp_onnx_opset *o = tp_onnx_summary_opset(s, i);

		tp_json_object_begin(j);
		cli_json_str(j, "domain", o->domain);
		cli_json_i64(j, "version", o->version);
		tp_json_object_end(j);
	}
	tp_json_array_end(j);
}

void
inspect_json_graph(struct tp_json *j, struct inspect_file *f)
{
	struct tp_onnx_summary *s = NULL;
	const struct tp_onnx_model *m;

	tp_json_key(j, "graph");
	if (!open_summary(f, &s)) {
		tp_json_null(j);
		return;
	}
	m = tp_onnx_summary_model(s);
	tp_json_object_begin(j);
	put_json_model(j, s);
	tp_json_key(j, "inputs");
	tp_json_array_begin(j);
	for (size_t i = 0; i < m->n_inputs; i++)
		put_json_value(j, tp_onnx_summary_input(s, i));
	tp_json_array_end(j);
	tp_json_key(j, "outputs");
	tp_json_array_begin(j);
	for (size_t i = 0; i < m->n_outputs; i++)
		put_json_value(j, tp_onnx_summary_output(s, i));
	tp_json_array_end(j);
	tp_json_key(j, "operators");
	tp_json_array_begin(j);
	for (size_t i = 0; i < m->n_ops; i++) {
		const struct tp_onnx_op *op = tp_onnx_summary_op(s, i);

		tp_json_object_begin(j);
		cli_json_str(j, "op_type", op->op_type);
		cli_json_str(j, "domain", op->domain);
		cli_json_u64(j, "count", op->count);
		tp_json_object_end(j);
	}
	tp_json_array_end(j);
	tp_json_object_end(j);
	tp_onnx_summary_free(s);
}
