/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_subgraph.c - a graph: its nodes, and the weights it has
 */
#include "onnx_program.h"

#include <stdio.h>

#include "banned.h"

enum tp_status
tpi_onnx_build_names(struct tpi_onnx_build *b, const ProtobufCBinaryData *from,
    size_t n, const struct tp_str **to, struct tp_err *err)
{
	struct tp_str *names;

	names = tpi_onnx_build_array(b, n, sizeof(*names), err);
	if (!names)
		return TP_ENOMEM;
	for (size_t i = 0; i < n; i++)
		names[i] = tpi_onnx_str(from[i]);
	*to = names;
	return TP_OK;
}

static void
say_where(struct tpi_onnx_build *b, size_t i, const struct tp_node *node)
{
	if (node->name.len)
		snprintf(b->where, sizeof(b->where), "node %zu '%s' (%s)", i,
		    TP_BRIEF(node->name), TP_BRIEF(node->op));
	else
		snprintf(b->where, sizeof(b->where), "node %zu (%s)", i,
		    TP_BRIEF(node->op));
}

static enum tp_status
build_node(struct tpi_onnx_build *b, const TpOnnx__NodeProto *from, size_t i,
    struct tp_node *to, struct tp_err *err)
{
	enum tp_status rc;

	*to = (struct tp_node){.name = tpi_onnx_str(from->name),
	    .domain = tpi_onnx_str(from->domain),
	    .op = tpi_onnx_str(from->op_type),
	    .overload = tpi_onnx_str(from->overload),
	    .n_inputs = from->n_input,
	    .n_outputs = from->n_output,
	    .n_attrs = from->n_attribute};
	say_where(b, i, to);
	rc = tpi_onnx_build_names(
	    b, from->input, from->n_input, &to->inputs, err);
	if (!rc)
		rc = tpi_onnx_build_names(
		    b, from->output, from->n_output, &to->outputs, err);
	if (!rc)
		rc = tpi_onnx_build_attributes(
		    b, from->attribute, from->n_attribute, &to->attrs, err);
	return rc;
}

enum tp_status
tpi_onnx_build_nodes(struct tpi_onnx_build *b, TpOnnx__NodeProto *const *from,
    size_t n, const struct tp_node **to, struct tp_err *err)
{
	struct tp_node *nodes;
	enum tp_status rc = TP_OK;

	nodes = tpi_onnx_build_array(b, n, sizeof(*nodes), err);
	if (!nodes)
		return TP_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++)
		rc = build_node(b, from[i], i, &nodes[i], err);
	if (!rc)
		*to = nodes;
	return rc;
}

/* Dense ones first, then sparse ones, whose name is that of the values. */
static enum tp_status
build_constants(struct tpi_onnx_build *b, const TpOnnx__GraphProto *from,
    struct tp_graph *to, struct tp_err *err)
{
	const size_t n_dense = from->n_initializer;
	const struct tp_value *value = NULL;
	TpOnnx__SparseTensorProto *sparse;
	struct tp_constant *constants;
	enum tp_status rc;

	to->n_constants = n_dense + from->n_sparse_initializer;
	constants =
	    tpi_onnx_build_array(b, to->n_constants, sizeof(*constants), err);
	if (!constants)
		return TP_ENOMEM;
	to->constants = constants;
	for (size_t i = 0; i < to->n_constants; i++) {
		TpOnnx__TensorProto *dense =
		    i < n_dense ? from->initializer[i] : NULL;

		sparse = dense ? NULL : from->sparse_initializer[i - n_dense];
		if (dense)
			constants[i].name = tpi_onnx_str(dense->name);
		else if (sparse->values)
			constants[i].name = tpi_onnx_str(sparse->values->name);
		if (!constants[i].name.len)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "initializer %zu of graph '%s' has no name", i,
			    TP_BRIEF(to->name));
		rc = tpi_onnx_build_value(
		    b, dense, sparse, constants[i].name, &value, err);
		if (rc)
			return rc;
		constants[i].value = *value;
	}
	return TP_OK;
}

enum tp_status
tpi_onnx_build_graph(struct tpi_onnx_build *b, const TpOnnx__GraphProto *from,
    struct tp_graph *to, struct tp_err *err)
{
	enum tp_status rc;

	*to = (struct tp_graph){.name = tpi_onnx_str(from->name),
	    .n_inputs = from->n_input,
	    .n_outputs = from->n_output,
	    .n_nodes = from->n_node};
	rc = tpi_onnx_build_bindings(
	    b, from->input, from->n_input, &to->inputs, err);
	if (!rc)
		rc = tpi_onnx_build_bindings(
		    b, from->output, from->n_output, &to->outputs, err);
	if (!rc)
		rc = build_constants(b, from, to, err);
	if (!rc)
		rc = tpi_onnx_build_nodes(
		    b, from->node, from->n_node, &to->nodes, err);
	return rc;
}
