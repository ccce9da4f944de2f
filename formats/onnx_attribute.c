/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_attribute.c - attributes of nodes, and the defaults of functions
 *
 * The type says which field counts. The first releases of the format had no
 * type: there the only field with a value tells. A single number or text that
 * is absent is 0 or "", which is how writers that drop defaults store it.
 */
#include "onnx_program.h"

#include <inttypes.h>
#include <stdio.h>

#include "banned.h"

/* AttributeProto.type */
enum {
	TYPE_UNKNOWN = 0,
	TYPE_FLOAT = 1,
	TYPE_INT = 2,
	TYPE_STRING = 3,
	TYPE_TENSOR = 4,
	TYPE_GRAPH = 5,
	TYPE_FLOATS = 6,
	TYPE_INTS = 7,
	TYPE_STRINGS = 8,
	TYPE_TENSORS = 9,
	TYPE_GRAPHS = 10,
	TYPE_SPARSE_TENSOR = 11,
	TYPE_SPARSE_TENSORS = 12,
	TYPE_TYPE_PROTO = 13,
	TYPE_TYPE_PROTOS = 14,
};

/* For messages, and to tell which attributes may stand for another. */
static const struct {
	enum tp_attr_kind kind;
	const char *unsupported;
} types[] = {
    [TYPE_UNKNOWN] = {TP_ATTR_INT, NULL},
    [TYPE_FLOAT] = {TP_ATTR_FLOAT, NULL},
    [TYPE_INT] = {TP_ATTR_INT, NULL},
    [TYPE_STRING] = {TP_ATTR_STRING, NULL},
    [TYPE_TENSOR] = {TP_ATTR_TENSOR, NULL},
    [TYPE_GRAPH] = {TP_ATTR_GRAPH, NULL},
    [TYPE_FLOATS] = {TP_ATTR_FLOATS, NULL},
    [TYPE_INTS] = {TP_ATTR_INTS, NULL},
    [TYPE_STRINGS] = {TP_ATTR_STRINGS, NULL},
    [TYPE_TENSORS] = {TP_ATTR_INT, "a list of tensors"},
    [TYPE_GRAPHS] = {TP_ATTR_INT, "a list of graphs"},
    [TYPE_SPARSE_TENSOR] = {TP_ATTR_TENSOR, NULL},
    [TYPE_SPARSE_TENSORS] = {TP_ATTR_INT, "a list of sparse tensors"},
    [TYPE_TYPE_PROTO] = {TP_ATTR_TYPE, NULL},
    [TYPE_TYPE_PROTOS] = {TP_ATTR_INT, "a list of types"},
};
#define N_TYPES ((int32_t)(sizeof(types) / sizeof(types[0])))

/* The type that the fields tell, TYPE_UNKNOWN if there is no value. */
static int32_t
guess_type(const TpOnnx__AttributeProto *a)
{
	const struct {
		bool is_there;
		int32_t type;
	} fields[] = {
	    {a->has_f, TYPE_FLOAT},
	    {a->has_i, TYPE_INT},
	    {a->has_s, TYPE_STRING},
	    {a->t, TYPE_TENSOR},
	    {a->g, TYPE_GRAPH},
	    {a->n_floats, TYPE_FLOATS},
	    {a->n_ints, TYPE_INTS},
	    {a->n_strings, TYPE_STRINGS},
	    {a->n_tensors, TYPE_TENSORS},
	    {a->n_graphs, TYPE_GRAPHS},
	    {a->sparse_tensor, TYPE_SPARSE_TENSOR},
	    {a->n_sparse_tensors, TYPE_SPARSE_TENSORS},
	    {a->tp, TYPE_TYPE_PROTO},
	    {a->n_type_protos, TYPE_TYPE_PROTOS},
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].is_there)
			return fields[i].type;
	return TYPE_UNKNOWN;
}

static enum tp_status
wrong(const struct tpi_onnx_build *b, const TpOnnx__AttributeProto *a,
    enum tp_status status, const char *what, struct tp_err *err)
{
	return tp_fail(err, status, TP_NO_OFFSET, "%s: attribute '%s' %s",
	    b->where, TP_BRIEF(tpi_onnx_str(a->name)), what);
}

/* Numbers are doubles for those who compute. */
static enum tp_status
build_floats(struct tpi_onnx_build *b, const TpOnnx__AttributeProto *a,
    struct tp_attr *to, struct tp_err *err)
{
	double *floats;

	floats = tpi_onnx_build_array(b, a->n_floats, sizeof(*floats), err);
	if (!floats)
		return TP_ENOMEM;
	for (size_t i = 0; i < a->n_floats; i++)
		floats[i] = (double)a->floats[i];
	to->floats = floats;
	to->n = a->n_floats;
	return TP_OK;
}

static enum tp_status
build_tensor(struct tpi_onnx_build *b, const TpOnnx__AttributeProto *a,
    struct tp_attr *to, struct tp_err *err)
{
	TpOnnx__TensorProto *tensor = a->t;
	TpOnnx__SparseTensorProto *sparse = a->sparse_tensor;

	if (to->kind == TP_ATTR_TENSOR && a->type == TYPE_SPARSE_TENSOR)
		tensor = NULL;
	else if (a->type == TYPE_TENSOR)
		sparse = NULL;
	if (!tensor && !sparse)
		return wrong(b, a, TP_EFORMAT, "is a tensor without one", err);
	return tpi_onnx_build_value(
	    b, tensor, tensor ? NULL : sparse, to->name, &to->tensor, err);
}

static enum tp_status
build_graph(struct tpi_onnx_build *b, const TpOnnx__AttributeProto *a,
    struct tp_attr *to, struct tp_err *err)
{
	struct tp_graph *graph;

	if (!a->g)
		return wrong(b, a, TP_EFORMAT, "is a graph without one", err);
	graph = tpi_onnx_build_array(b, 1, sizeof(*graph), err);
	if (!graph)
		return TP_ENOMEM;
	to->graph = graph;
	return tpi_onnx_build_graph(b, a->g, graph, err);
}

static enum tp_status
build_value(struct tpi_onnx_build *b, const TpOnnx__AttributeProto *a,
    struct tp_attr *to, struct tp_err *err)
{
	switch (to->kind) {
	case TP_ATTR_INT:
		to->i = a->has_i ? a->i : 0;
		return TP_OK;
	case TP_ATTR_FLOAT:
		to->f = a->has_f ? (double)a->f : 0;
		return TP_OK;
	case TP_ATTR_STRING:
		to->s = tpi_onnx_str(a->s);
		return TP_OK;
	case TP_ATTR_INTS:
		to->ints = a->ints;
		to->n = a->n_ints;
		return TP_OK;
	case TP_ATTR_FLOATS:
		return build_floats(b, a, to, err);
	case TP_ATTR_STRINGS:
		to->n = a->n_strings;
		return tpi_onnx_build_names(
		    b, a->strings, a->n_strings, &to->strings, err);
	case TP_ATTR_TENSOR:
		return build_tensor(b, a, to, err);
	case TP_ATTR_GRAPH:
		return build_graph(b, a, to, err);
	case TP_ATTR_TYPE:
		return tpi_onnx_type_of(a->tp, to->name, &to->type, err);
	}
	return TP_OK;
}

static enum tp_status
build_attribute(struct tpi_onnx_build *b, const TpOnnx__AttributeProto *a,
    struct tp_attr *to, struct tp_err *err)
{
	int32_t type = a->has_type ? a->type : TYPE_UNKNOWN;
	char text[64];

	to->name = tpi_onnx_str(a->name);
	to->ref = tpi_onnx_str(a->ref_attr_name);
	if (type == TYPE_UNKNOWN)
		type = guess_type(a);
	if (type < 0 || type >= N_TYPES) {
		snprintf(
		    text, sizeof(text), "has the unknown type %" PRId32, type);
		return wrong(b, a, TP_EFORMAT, text, err);
	}
	to->kind = types[type].kind;
	if (to->ref.len)
		return TP_OK;
	if (types[type].unsupported) {
		snprintf(text, sizeof(text), "is %s, which is not supported",
		    types[type].unsupported);
		return wrong(b, a, TP_EUNSUPPORTED, text, err);
	}
	if (type == TYPE_UNKNOWN)
		return wrong(
		    b, a, TP_EFORMAT, "has neither type nor value", err);
	return build_value(b, a, to, err);
}

enum tp_status
tpi_onnx_build_attributes(struct tpi_onnx_build *b,
    TpOnnx__AttributeProto *const *from, size_t n, const struct tp_attr **to,
    struct tp_err *err)
{
	struct tp_attr *attrs;
	enum tp_status rc = TP_OK;

	attrs = tpi_onnx_build_array(b, n, sizeof(*attrs), err);
	if (!attrs)
		return TP_ENOMEM;
	for (size_t i = 0; i < n && !rc; i++)
		rc = build_attribute(b, from[i], &attrs[i], err);
	if (!rc)
		*to = attrs;
	return rc;
}
