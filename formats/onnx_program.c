/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_program.c - an ONNX file as a graph that can be evaluated
 */
#include "tp/onnx_program.h"

#include <inttypes.h>
#include <stdio.h>

#include "onnx_program.h"

#include "banned.h"

struct tp_onnx_program {
	const struct tp_alloc *alloc;
	struct tpi_arena arena; /* the messages, and what is made of them */
	struct tpi_onnx_held *held;
	struct tp_graph_model model;
	struct tp_reader *r; /* of the files that the weights are mapped from */
};

void *
tpi_onnx_build_array(
    struct tpi_onnx_build *b, size_t n, size_t size, struct tp_err *err)
{
	void *array = tpi_arena_array(&b->take.tree, n, size);

	if (!array)
		tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a graph");
	return array;
}

enum tp_status
tpi_onnx_build_value(struct tpi_onnx_build *b, TpOnnx__TensorProto *tensor,
    TpOnnx__SparseTensorProto *sparse, struct tp_str name,
    const struct tp_value **out, struct tp_err *err)
{
	struct tpi_onnx_held *held;
	enum tp_status rc;

	held = tpi_onnx_build_array(b, 1, sizeof(*held), err);
	if (!held)
		return TP_ENOMEM;
	rc = tensor ? tpi_onnx_take_tensor(
			  &b->take, tensor, name, &held->value, err)
		    : tpi_onnx_take_sparse(
			  &b->take, sparse, name, &held->value, err);
	if (rc)
		return rc;
	held->next = b->held;
	b->held = held;
	*out = &held->value;
	return TP_OK;
}

static enum tp_status
build_opsets(struct tpi_onnx_build *b, TpOnnx__OperatorSetIdProto *const *from,
    size_t n, const struct tp_opset **to, struct tp_err *err)
{
	struct tp_opset *opsets;
	enum tp_status rc = TP_OK;

	opsets = tpi_onnx_build_array(b, n, sizeof(*opsets), err);
	if (!opsets)
		return TP_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++) {
		opsets[i].domain = tpi_onnx_str(from[i]->domain);
		opsets[i].version = from[i]->has_version ? from[i]->version : 0;
		if (opsets[i].version < 1 || opsets[i].version > INT32_MAX)
			rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "opset %" PRId64 " of domain '%s' is imported",
			    opsets[i].version, TP_BRIEF(opsets[i].domain));
	}
	if (!rc)
		*to = opsets;
	return rc;
}

/* Only names are declared in a function. */
static enum tp_status
build_named_bindings(struct tpi_onnx_build *b, const ProtobufCBinaryData *names,
    size_t n, const struct tp_binding **to, struct tp_err *err)
{
	struct tp_binding *bindings;

	bindings = tpi_onnx_build_array(b, n, sizeof(*bindings), err);
	if (!bindings)
		return TP_ENOMEM;
	for (size_t i = 0; i < n; i++)
		bindings[i].name = tpi_onnx_str(names[i]);
	*to = bindings;
	return TP_OK;
}

static enum tp_status
build_function(struct tpi_onnx_build *b, const TpOnnx__FunctionProto *from,
    struct tp_function *to, struct tp_err *err)
{
	struct tp_graph *graph = &to->graph;
	enum tp_status rc;

	*to = (struct tp_function){.domain = tpi_onnx_str(from->domain),
	    .name = tpi_onnx_str(from->name),
	    .overload = tpi_onnx_str(from->overload),
	    .n_opsets = from->n_opset_import,
	    .n_attr_names = from->n_attribute,
	    .n_defaults = from->n_attribute_proto,
	    .graph = {.name = tpi_onnx_str(from->name),
		.n_inputs = from->n_input,
		.n_outputs = from->n_output,
		.n_nodes = from->n_node}};
	snprintf(
	    b->where, sizeof(b->where), "function '%s'", TP_BRIEF(to->name));
	rc = build_opsets(
	    b, from->opset_import, from->n_opset_import, &to->opsets, err);
	if (!rc)
		rc = tpi_onnx_build_names(b, from->attribute, from->n_attribute,
		    &to->attr_names, err);
	if (!rc)
		rc = tpi_onnx_build_attributes(b, from->attribute_proto,
		    from->n_attribute_proto, &to->defaults, err);
	if (!rc)
		rc = build_named_bindings(
		    b, from->input, from->n_input, &graph->inputs, err);
	if (!rc)
		rc = build_named_bindings(
		    b, from->output, from->n_output, &graph->outputs, err);
	if (!rc)
		rc = tpi_onnx_build_nodes(
		    b, from->node, from->n_node, &graph->nodes, err);
	return rc;
}

/* Before the third version of the format opset 1 was not to be imported. */
static enum tp_status
build_imports(struct tpi_onnx_build *b, const TpOnnx__ModelProto *from,
    struct tp_graph_model *to, struct tp_err *err)
{
	static const struct tp_opset first[] = {{{"", 0}, 1}};

	if (from->ir_version < 3 && !from->n_opset_import) {
		to->opsets = first;
		to->n_opsets = 1;
		return TP_OK;
	}
	to->n_opsets = from->n_opset_import;
	return build_opsets(
	    b, from->opset_import, from->n_opset_import, &to->opsets, err);
}

static enum tp_status
build_model(
    struct tpi_onnx_build *b, struct tp_graph_model *to, struct tp_err *err)
{
	const TpOnnx__ModelProto *from =
	    (const TpOnnx__ModelProto *)b->take.message;
	struct tp_function *functions;
	enum tp_status rc;

	if (!from->graph)
		return tp_fail(
		    err, TP_EFORMAT, 0, "not an ONNX model: no graph");
	rc = build_imports(b, from, to, err);
	if (!rc)
		rc = tpi_onnx_build_graph(b, from->graph, &to->graph, err);
	if (rc)
		return rc;
	functions =
	    tpi_onnx_build_array(b, from->n_functions, sizeof(*functions), err);
	if (!functions)
		return TP_ENOMEM;
	to->functions = functions;
	to->n_functions = from->n_functions;
	for (size_t i = 0; i < from->n_functions && !rc; i++)
		rc = build_function(b, from->functions[i], &functions[i], err);
	return rc;
}

enum tp_status
tp_onnx_program_open(const char *path, const struct tp_open_options *options,
    struct tp_strings *strings, struct tp_onnx_program **out,
    struct tp_err *err)
{
	const struct tp_alloc *alloc = options ? options->alloc : NULL;
	struct tpi_onnx_build b = {.held = NULL};
	struct tp_onnx_program *p;
	enum tp_status rc;

	*out = NULL;
	p = tp_mem_array(alloc, 1, sizeof(*p));
	if (!p)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for a program");
	p->alloc = alloc;
	tpi_arena_init(&p->arena, alloc);
	rc = tpi_onnx_take_open(&b.take, path, options,
	    &tp_onnx__model_proto__descriptor, strings, err);
	if (!rc) {
		rc = build_model(&b, &p->model, err);
		p->held = b.held;
		p->arena = b.take.tree;
		p->r = b.take.r;
		b.take.r = NULL;
		tpi_arena_init(&b.take.tree, alloc);
		tpi_onnx_take_close(&b.take);
	}
	if (rc)
		tp_onnx_program_close(p);
	else
		*out = p;
	return rc;
}

const struct tp_graph_model *
tp_onnx_program_model(const struct tp_onnx_program *program)
{
	return &program->model;
}

enum tp_status
tp_onnx_program_check_files(
    const struct tp_onnx_program *program, struct tp_err *err)
{
	return tp_reader_check_files(program->r, err);
}

void
tp_onnx_program_close(struct tp_onnx_program *program)
{
	if (!program)
		return;
	for (struct tpi_onnx_held *h = program->held; h; h = h->next)
		tp_value_release(&h->value);
	tp_close(program->r);
	tpi_arena_release(&program->arena);
	tp_mem_free(program->alloc, program, 1, sizeof(*program));
}
