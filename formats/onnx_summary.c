/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_summary.c - a walk over the structure of an ONNX model
 *
 *	ModelProto  graph > node > attribute > g, graphs > node > …
 *	            functions > node > …
 *	            training_info > initialization, algorithm > node > …
 *
 * The attachment has no payloads and may come from a native file, so nothing
 * about it is taken for granted: it is checked and unpacked like a file, and
 * the tree is gone when the summary is made.
 */
#include "tp/onnx.h"

#include <stdlib.h>
#include <string.h>

#include "tp/map.h"
#include "tp/onnx_dtype.h"

#include "grow.h"
#include "onnx.pb-c.h"
#include "onnx_check.h"
#include "onnx_message.h"
#include "plugin.h"
#include "proto_alloc.h"
#include "proto_skim.h"

#include "banned.h"

#define MAX_AXES 65536

struct tp_onnx_summary {
	const struct tp_alloc *alloc;
	struct tpi_arena arena; /* all but the text and ops */
	struct tp_onnx_model model;
	struct tp_onnx_opset *opsets;
	struct tp_onnx_value *inputs, *outputs;
	struct tp_onnx_op *ops;
	size_t cap_ops;
};

/* After the first failure the rest of a walk does nothing that matters. */
struct walk {
	struct tp_onnx_summary *s;
	struct tpi_arena *texts; /* the reader's: they outlive the summary */
	struct tpi_arena tree;
	struct tp_map op_keys; /* domain NUL op_type -> place in ops */
	enum tp_status rc;
	struct tp_err *err;
};

static void
lack_memory(struct walk *k)
{
	k->rc = tp_fail(k->err, TP_ENOMEM, TP_NO_OFFSET,
	    "out of memory for the summary of a graph");
}

static void *
make_array(struct walk *k, size_t n, size_t size)
{
	void *array = tpi_arena_array(&k->s->arena, n, size);

	if (!array)
		lack_memory(k);
	return array;
}

static struct tp_str
keep(struct walk *k, struct tp_str text)
{
	text = tpi_arena_str(k->texts, text);
	if (!text.s)
		lack_memory(k);
	return text;
}

static void
take_opsets(struct walk *k, const TpOnnx__ModelProto *m)
{
	struct tp_onnx_opset *opsets =
	    make_array(k, m->n_opset_import, sizeof(*opsets));

	for (size_t i = 0; i < m->n_opset_import && !k->rc; i++) {
		opsets[i].domain =
		    keep(k, tpi_onnx_str(m->opset_import[i]->domain));
		opsets[i].version = m->opset_import[i]->version;
	}
	k->s->opsets = opsets;
	k->s->model.n_opsets = m->n_opset_import;
}

static void
take_shape(struct walk *k, const TpOnnx__TensorShapeProto *shape,
    struct tp_onnx_value *v)
{
	struct tp_onnx_dim *dims;

	if (shape->n_dim > MAX_AXES) {
		k->rc = tp_fail(k->err, TP_ELIMIT, TP_NO_OFFSET,
		    "a value of the graph has %zu axes, the limit is %d",
		    shape->n_dim, MAX_AXES);
		return;
	}
	dims = make_array(k, shape->n_dim, sizeof(*dims));
	for (size_t i = 0; i < shape->n_dim && !k->rc; i++) {
		const TpOnnx__TensorShapeProto__Dimension *d = shape->dim[i];

		dims[i].has_size = d->has_dim_value;
		dims[i].size = d->dim_value;
		if (!d->has_dim_value)
			dims[i].param = keep(k, tpi_onnx_str(d->dim_param));
	}
	v->has_shape = true;
	v->rank = (unsigned)shape->n_dim;
	v->dims = dims;
}

static void
take_type(
    struct walk *k, const TpOnnx__TypeProto *type, struct tp_onnx_value *v)
{
	const TpOnnx__TypeProto__Tensor *tensor = type->tensor_type;

	if (tensor)
		v->kind = TP_ONNX_TENSOR;
	else if ((tensor = type->sparse_tensor_type))
		v->kind = TP_ONNX_SPARSE_TENSOR;
	else if (type->sequence_type)
		v->kind = TP_ONNX_SEQUENCE;
	else if (type->map_type)
		v->kind = TP_ONNX_MAP;
	else if (type->optional_type)
		v->kind = TP_ONNX_OPTIONAL;
	if (!tensor)
		return;
	v->dtype = tp_onnx_dtype(tensor->elem_type);
	if (tensor->shape)
		take_shape(k, tensor->shape, v);
}

static struct tp_onnx_value *
take_values(struct walk *k, TpOnnx__ValueInfoProto **infos, size_t n)
{
	struct tp_onnx_value *values = make_array(k, n, sizeof(*values));

	for (size_t i = 0; i < n && !k->rc; i++) {
		values[i].name = keep(k, tpi_onnx_str(infos[i]->name));
		if (infos[i]->type)
			take_type(k, infos[i]->type, &values[i]);
	}
	return values;
}

/* The place in ops of an operator, which may be a new one. */
static size_t
find_op(struct walk *k, struct tp_str domain, struct tp_str op_type)
{
	struct tp_onnx_summary *s = k->s;
	char small[256], *text = small;
	struct tp_str key = {NULL, domain.len + 1 + op_type.len};
	void *ops;
	size_t at;

	if (key.len > sizeof(small))
		text = tpi_arena_array(&k->tree, key.len, 1);
	if (!text) {
		lack_memory(k);
		return 0;
	}
	memcpy(text, domain.s, domain.len);
	text[domain.len] = '\0';
	memcpy(text + domain.len + 1, op_type.s, op_type.len);
	key.s = text;
	if (tp_map_find(&k->op_keys, key, &at))
		return at;
	at = s->model.n_ops;
	ops = tpi_grow(s->alloc, s->ops, at + 1, &s->cap_ops, sizeof(*s->ops));
	if (ops)
		s->ops = ops;
	key = tpi_arena_str(&k->tree, key);
	if (!ops || !key.s || tp_map_add(&k->op_keys, key, at, NULL, NULL))
		lack_memory(k);
	if (!k->rc)
		s->ops[s->model.n_ops++] = (struct tp_onnx_op){
		    .domain = keep(k, domain), .op_type = keep(k, op_type)};
	return at;
}

static void
count_op(struct walk *k, const TpOnnx__NodeProto *node)
{
	struct tp_str domain = tpi_onnx_str(node->domain);
	size_t at;

	if (!tp_str_cmp(domain, TP_STR("ai.onnx")))
		domain = TP_STR("");
	at = find_op(k, domain, tpi_onnx_str(node->op_type));
	if (k->rc)
		return;
	k->s->ops[at].count++;
	k->s->model.n_nodes++;
}

static void walk_nodes(struct walk *k, TpOnnx__NodeProto **nodes, size_t n);

static void
walk_graph(struct walk *k, const TpOnnx__GraphProto *g)
{
	if (g)
		walk_nodes(k, g->node, g->n_node);
}

/* Recursion is as deep as messages nest, which the limits bound. */
static void
walk_nodes(struct walk *k, TpOnnx__NodeProto **nodes, size_t n)
{
	for (size_t i = 0; i < n && !k->rc; i++) {
		for (size_t j = 0; j < nodes[i]->n_attribute; j++) {
			const TpOnnx__AttributeProto *a =
			    nodes[i]->attribute[j];

			k->s->model.n_subgraphs += (a->g != NULL) + a->n_graphs;
			walk_graph(k, a->g);
			for (size_t g = 0; g < a->n_graphs; g++)
				walk_graph(k, a->graphs[g]);
		}
		count_op(k, nodes[i]);
	}
}

static void
walk_model(struct walk *k, const TpOnnx__ModelProto *m)
{
	struct tp_onnx_summary *s = k->s;

	s->model.ir_version = m->ir_version;
	s->model.model_version = m->model_version;
	s->model.producer_name = keep(k, tpi_onnx_str(m->producer_name));
	s->model.producer_version = keep(k, tpi_onnx_str(m->producer_version));
	s->model.domain = keep(k, tpi_onnx_str(m->domain));
	s->model.doc_string = keep(k, tpi_onnx_str(m->doc_string));
	take_opsets(k, m);
	if (m->graph) {
		s->model.graph_name = keep(k, tpi_onnx_str(m->graph->name));
		s->model.n_inputs = m->graph->n_input;
		s->inputs = take_values(k, m->graph->input, m->graph->n_input);
		s->model.n_outputs = m->graph->n_output;
		s->outputs =
		    take_values(k, m->graph->output, m->graph->n_output);
		walk_graph(k, m->graph);
	}
	s->model.n_training = m->n_training_info;
	for (size_t i = 0; i < m->n_training_info; i++) {
		walk_graph(k, m->training_info[i]->initialization);
		walk_graph(k, m->training_info[i]->algorithm);
	}
	s->model.n_functions = m->n_functions;
	for (size_t i = 0; i < m->n_functions; i++)
		walk_nodes(k, m->functions[i]->node, m->functions[i]->n_node);
}

static int
compare_ops(const void *a, const void *b)
{
	const struct tp_onnx_op *x = a, *y = b;
	int order;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	order = tp_str_cmp(x->op_type, y->op_type);
	return order ? order : tp_str_cmp(x->domain, y->domain);
}

enum tp_status
tpi_onnx_find_graph(
    struct tp_reader *r, struct tp_attachment *graph, struct tp_err *err)
{
	for (size_t i = 0; i < tp_reader_n_attachments(r); i++)
		if (!tp_str_cmp(tp_reader_attachment_name(r, i),
			TP_STR(TP_ATTACHMENT_ONNX)))
			return tp_reader_attachment(r, i, graph, err);
	return tp_fail(
	    err, TP_ENOTFOUND, TP_NO_OFFSET, "the model has no ONNX graph");
}

/* The model without payloads, in the walk's own memory. */
static enum tp_status
unpack(struct walk *k, const struct tp_attachment *graph,
    const struct tp_limits *limits, ProtobufCMessage **out)
{
	const ProtobufCMessageDescriptor *desc =
	    &tp_onnx__model_proto__descriptor;
	struct tpi_skim skim;
	struct tpi_wire w;
	enum tp_status rc;

	tpi_wire_memory(&w, graph->data, graph->nbytes);
	rc = tpi_skim(&skim, k->s->alloc, &w, graph->nbytes, desc,
	    TPI_SKIM_PAYLOADS, limits, k->err);
	if (rc)
		return rc;
	rc = tpi_proto_unpack_in(
	    &k->tree, desc, skim.copy.data, skim.copy.n, out, k->err);
	tpi_skim_release(&skim);
	return rc;
}

enum tp_status
tp_onnx_summary_new(
    struct tp_reader *r, struct tp_onnx_summary **out, struct tp_err *err)
{
	struct walk k = {.texts = &r->arena, .err = err};
	struct tp_attachment graph = {.data = NULL};
	ProtobufCMessage *model = NULL;
	struct tp_onnx_summary *s;
	enum tp_status rc;

	*out = NULL;
	rc = tpi_onnx_find_graph(r, &graph, err);
	if (rc)
		return rc;
	s = k.s = tp_mem_array(r->alloc, 1, sizeof(*s));
	if (!s) {
		lack_memory(&k);
		return k.rc;
	}
	s->alloc = r->alloc;
	tpi_arena_init(&s->arena, s->alloc);
	tpi_arena_init(&k.tree, s->alloc);
	tp_map_init(&k.op_keys, s->alloc);

	k.rc = unpack(&k, &graph, &r->limits, &model);
	if (!k.rc)
		walk_model(&k, (const TpOnnx__ModelProto *)model);
	tp_map_release(&k.op_keys);
	tpi_arena_release(&k.tree);
	if (k.rc) {
		tp_onnx_summary_free(s);
		return k.rc;
	}
	if (s->model.n_ops)
		qsort(s->ops, s->model.n_ops, sizeof(*s->ops), compare_ops);
	*out = s;
	return TP_OK;
}

void
tp_onnx_summary_free(struct tp_onnx_summary *s)
{
	if (!s)
		return;
	tp_mem_free(s->alloc, s->ops, s->cap_ops, sizeof(*s->ops));
	tpi_arena_release(&s->arena);
	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

const struct tp_onnx_model *
tp_onnx_summary_model(const struct tp_onnx_summary *s)
{
	return &s->model;
}

const struct tp_onnx_opset *
tp_onnx_summary_opset(const struct tp_onnx_summary *s, size_t i)
{
	return &s->opsets[i];
}

const struct tp_onnx_value *
tp_onnx_summary_input(const struct tp_onnx_summary *s, size_t i)
{
	return &s->inputs[i];
}

const struct tp_onnx_value *
tp_onnx_summary_output(const struct tp_onnx_summary *s, size_t i)
{
	return &s->outputs[i];
}

const struct tp_onnx_op *
tp_onnx_summary_op(const struct tp_onnx_summary *s, size_t i)
{
	return &s->ops[i];
}
