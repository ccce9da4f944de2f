/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_summary.c - a walk over the structure of an ONNX model
 *
 *	ModelProto  graph > node > attribute > g, graphs > node > …
 *	            functions > node > …
 *	            training_info > initialization, algorithm > node > …
 *
 * The attachment has no payloads and may come from a native file, so nothing
 * about it is taken for granted. Numbers of fields are those of
 * schemas/onnx.proto.
 */
#include "tp/onnx.h"

#include <stdlib.h>
#include <string.h>

#include "tp/map.h"

#include "arena.h"
#include "onnx_dtype.h"
#include "plugin.h"
#include "proto_wire.h"

#include "banned.h"

/* Growing arrays; all elements of one have one size. */
struct vector {
	void *items;
	size_t n, cap, size;
};

struct tp_onnx_summary {
	const struct tp_alloc *alloc;
	struct tpi_arena arena; /* dims, keys of ops */
	struct tp_onnx_model model;
	struct vector opsets, inputs, outputs, ops;
	struct tp_map op_keys; /* domain NUL op_type -> place in ops */
	uint64_t max_depth;
	bool in_main; /* walking the main graph itself */
};

/* One field of a message: bytes for type 2, value for type 0. */
struct field {
	uint32_t number;
	enum tpi_wire_type type;
	uint64_t value;
	struct tp_str bytes;
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "out of memory for the summary of a graph");
}

static void *
push(struct tp_onnx_summary *s, struct vector *v)
{
	if (v->n == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 16;
		void *grown =
		    tp_mem_grow(s->alloc, v->items, v->cap, cap, v->size);

		if (!grown)
			return NULL;
		v->items = grown;
		v->cap = cap;
	}
	return memset((char *)v->items + v->n++ * v->size, 0, v->size);
}

/* The next field; *more is false at the end of the message. */
static enum tp_status
take_field(struct tpi_wire *w, struct field *f, bool *more, struct tp_err *err)
{
	enum tp_status rc;
	uint64_t n;

	*more = w->pos < w->size;
	if (!*more)
		return TP_OK;
	rc = tpi_wire_tag(w, w->size, &f->number, &f->type, err);
	if (rc)
		return rc;
	if (f->type == TPI_WIRE_VARINT)
		return tpi_wire_varint(w, w->size, &f->value, err);
	if (f->type != TPI_WIRE_BYTES) {
		/* No field that matters here is of another type. */
		rc = tpi_wire_skip(w, w->size, f->number, f->type, err);
		f->number = 0;
		return rc;
	}
	rc = tpi_wire_length(w, w->size, &n, err);
	if (rc)
		return rc;
	f->bytes =
	    (struct tp_str){(const char *)w->data + (size_t)w->pos, (size_t)n};
	w->pos += n;
	return TP_OK;
}

static bool
is_bytes(const struct field *f, uint32_t number)
{
	return f->number == number && f->type == TPI_WIRE_BYTES;
}

static bool
is_number(const struct field *f, uint32_t number)
{
	return f->number == number && f->type == TPI_WIRE_VARINT;
}

static enum tp_status
take_opset(struct tp_onnx_summary *s, struct tp_str message, struct tp_err *err)
{
	struct tp_onnx_opset *opset = push(s, &s->opsets);
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	if (!opset)
		return no_memory(err);
	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more) {
		if (is_bytes(&f, 1))
			opset->domain = f.bytes;
		if (is_number(&f, 2))
			opset->version = (int64_t)f.value;
	}
	return rc;
}

static enum tp_status
take_dim(struct tp_str message, struct tp_onnx_dim *dim, struct tp_err *err)
{
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more) {
		if (is_number(&f, 1))
			*dim = (struct tp_onnx_dim){
			    .has_size = true, .size = (int64_t)f.value};
		if (is_bytes(&f, 2))
			*dim = (struct tp_onnx_dim){.param = f.bytes};
	}
	return rc;
}

/* TensorShapeProto: counted first, so that the array has the right size. */
static enum tp_status
take_shape(struct tp_onnx_summary *s, struct tp_str message,
    struct tp_onnx_value *v, struct tp_err *err)
{
	struct tp_onnx_dim *dims;
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	size_t n = 0;
	bool more;

	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more)
		n += is_bytes(&f, 1);
	if (rc)
		return rc;
	if (n > 65536)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "a value of the graph has %zu axes, the limit is 65536", n);
	dims = tpi_arena_array(&s->arena, n, sizeof(*dims));
	if (!dims)
		return no_memory(err);
	v->has_shape = true;
	v->rank = (unsigned)n;
	v->dims = dims;
	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more)
		if (is_bytes(&f, 1) && (rc = take_dim(f.bytes, dims++, err)))
			break;
	return rc;
}

/* TypeProto.Tensor */
static enum tp_status
take_tensor_type(struct tp_onnx_summary *s, struct tp_str message,
    struct tp_onnx_value *v, struct tp_err *err)
{
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more) {
		if (is_number(&f, 1))
			v->dtype = tpi_onnx_dtype((int32_t)f.value);
		if (is_bytes(&f, 2) && (rc = take_shape(s, f.bytes, v, err)))
			break;
	}
	return rc;
}

/* TypeProto: the last of its alternatives counts. */
static enum tp_status
take_type(struct tp_onnx_summary *s, struct tp_str message,
    struct tp_onnx_value *v, struct tp_err *err)
{
	static const enum tp_onnx_kind kinds[] = {[1] = TP_ONNX_TENSOR,
	    [4] = TP_ONNX_SEQUENCE,
	    [5] = TP_ONNX_MAP,
	    [8] = TP_ONNX_SPARSE_TENSOR,
	    [9] = TP_ONNX_OPTIONAL};
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more) {
		if (f.type != TPI_WIRE_BYTES ||
		    f.number >= sizeof(kinds) / sizeof(kinds[0]) ||
		    !kinds[f.number])
			continue;
		v->kind = kinds[f.number];
		if ((v->kind == TP_ONNX_TENSOR ||
			v->kind == TP_ONNX_SPARSE_TENSOR) &&
		    (rc = take_tensor_type(s, f.bytes, v, err)))
			break;
	}
	return rc;
}

static enum tp_status
take_value(struct tp_onnx_summary *s, struct vector *values,
    struct tp_str message, struct tp_err *err)
{
	struct tp_onnx_value *v = push(s, values);
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	if (!v)
		return no_memory(err);
	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more) {
		if (is_bytes(&f, 1))
			v->name = f.bytes;
		if (is_bytes(&f, 2) && (rc = take_type(s, f.bytes, v, err)))
			break;
	}
	return rc;
}

static enum tp_status
count_op(struct tp_onnx_summary *s, struct tp_str domain, struct tp_str op_type,
    struct tp_err *err)
{
	char small[256], *text = small;
	struct tp_str key = {NULL, domain.len + 1 + op_type.len};
	struct tp_onnx_op *op;
	size_t at;

	if (!tp_str_cmp(domain, TP_STR("ai.onnx")))
		return count_op(s, TP_STR(""), op_type, err);
	s->model.n_nodes++;
	if (key.len > sizeof(small))
		text = tpi_arena_array(&s->arena, key.len, 1);
	if (!text)
		return no_memory(err);
	memcpy(text, domain.s, domain.len);
	text[domain.len] = '\0';
	memcpy(text + domain.len + 1, op_type.s, op_type.len);
	key.s = text;
	if (!tp_map_find(&s->op_keys, key, &at)) {
		at = s->ops.n;
		key = tpi_arena_str(&s->arena, key);
		op = key.s ? push(s, &s->ops) : NULL;
		if (!op || tp_map_add(&s->op_keys, key, at, NULL, NULL))
			return no_memory(err);
		op->domain = domain;
		op->op_type = op_type;
	}
	op = s->ops.items;
	op[at].count++;
	return TP_OK;
}

static enum tp_status walk_graph(struct tp_onnx_summary *s,
    struct tp_str message, uint64_t depth, struct tp_err *err);

static enum tp_status
walk_attribute(struct tp_onnx_summary *s, struct tp_str message, uint64_t depth,
    struct tp_err *err)
{
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more) {
		if (!is_bytes(&f, 6) && !is_bytes(&f, 11))
			continue;
		s->model.n_subgraphs++;
		rc = walk_graph(s, f.bytes, depth, err);
		if (rc)
			break;
	}
	return rc;
}

static enum tp_status
walk_node(struct tp_onnx_summary *s, struct tp_str message, uint64_t depth,
    struct tp_err *err)
{
	struct tp_str domain = TP_STR(""), op_type = TP_STR("");
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more) {
		if (is_bytes(&f, 4))
			op_type = f.bytes;
		if (is_bytes(&f, 7))
			domain = f.bytes;
		if (is_bytes(&f, 5) &&
		    (rc = walk_attribute(s, f.bytes, depth, err)))
			break;
	}
	return rc ? rc : count_op(s, domain, op_type, err);
}

/* Inputs, outputs and name count for the main graph only. */
static enum tp_status
walk_graph(struct tp_onnx_summary *s, struct tp_str message, uint64_t depth,
    struct tp_err *err)
{
	bool is_main = s->in_main;
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	if (depth == s->max_depth)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "graphs are nested more than %u deep",
		    (unsigned)s->max_depth);
	s->in_main = false;
	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more) {
		if (is_bytes(&f, 1))
			rc = walk_node(s, f.bytes, depth + 1, err);
		else if (is_main && is_bytes(&f, 2))
			s->model.graph_name = f.bytes;
		else if (is_main && is_bytes(&f, 11))
			rc = take_value(s, &s->inputs, f.bytes, err);
		else if (is_main && is_bytes(&f, 12))
			rc = take_value(s, &s->outputs, f.bytes, err);
		if (rc)
			break;
	}
	return rc;
}

/* The bodies in a FunctionProto (7: node) or TrainingInfoProto (1, 2: graph).
 */
static enum tp_status
walk_bodies(struct tp_onnx_summary *s, struct tp_str message, bool is_function,
    struct tp_err *err)
{
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	tpi_wire_memory(&w, message.s, message.len);
	while (!(rc = take_field(&w, &f, &more, err)) && more) {
		if (is_function && is_bytes(&f, 7))
			rc = walk_node(s, f.bytes, 1, err);
		else if (!is_function && (is_bytes(&f, 1) || is_bytes(&f, 2)))
			rc = walk_graph(s, f.bytes, 0, err);
		if (rc)
			break;
	}
	return rc;
}

static enum tp_status
walk_model_field(
    struct tp_onnx_summary *s, const struct field *f, struct tp_err *err)
{
	struct tp_onnx_model *m = &s->model;

	if (is_number(f, 1))
		m->ir_version = (int64_t)f->value;
	else if (is_bytes(f, 2))
		m->producer_name = f->bytes;
	else if (is_bytes(f, 3))
		m->producer_version = f->bytes;
	else if (is_bytes(f, 4))
		m->domain = f->bytes;
	else if (is_number(f, 5))
		m->model_version = (int64_t)f->value;
	else if (is_bytes(f, 6))
		m->doc_string = f->bytes;
	else if (is_bytes(f, 8))
		return take_opset(s, f->bytes, err);
	if (is_bytes(f, 7)) {
		s->in_main = true;
		return walk_graph(s, f->bytes, 0, err);
	}
	if (is_bytes(f, 20)) {
		m->n_training++;
		return walk_bodies(s, f->bytes, false, err);
	}
	if (is_bytes(f, 25)) {
		m->n_functions++;
		return walk_bodies(s, f->bytes, true, err);
	}
	return TP_OK;
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

static enum tp_status
find_graph(struct tp_reader *r, struct tp_attachment *graph, struct tp_err *err)
{
	for (size_t i = 0; i < tp_reader_n_attachments(r); i++)
		if (!tp_str_cmp(tp_reader_attachment_name(r, i),
			TP_STR(TP_ATTACHMENT_ONNX)))
			return tp_reader_attachment(r, i, graph, err);
	return tp_fail(
	    err, TP_ENOTFOUND, TP_NO_OFFSET, "the model has no ONNX graph");
}

enum tp_status
tp_onnx_summary_new(
    struct tp_reader *r, struct tp_onnx_summary **out, struct tp_err *err)
{
	struct tp_attachment graph = {.data = NULL};
	struct tp_onnx_summary *s = NULL;
	struct tpi_wire w;
	struct field f;
	enum tp_status rc;
	bool more;

	*out = NULL;
	rc = find_graph(r, &graph, err);
	if (rc)
		return rc;
	s = tp_mem_array(r->alloc, 1, sizeof(*s));
	if (!s)
		return no_memory(err);
	s->alloc = r->alloc;
	s->max_depth = r->limits.depth;
	s->opsets.size = sizeof(struct tp_onnx_opset);
	s->inputs.size = s->outputs.size = sizeof(struct tp_onnx_value);
	s->ops.size = sizeof(struct tp_onnx_op);
	tpi_arena_init(&s->arena, r->alloc);
	tp_map_init(&s->op_keys, r->alloc);

	tpi_wire_memory(&w, graph.data, graph.nbytes);
	while (!(rc = take_field(&w, &f, &more, err)) && more)
		if ((rc = walk_model_field(s, &f, err)))
			break;
	if (rc) {
		tp_onnx_summary_free(s);
		return rc;
	}
	if (s->ops.n)
		qsort(s->ops.items, s->ops.n, s->ops.size, compare_ops);
	s->model.n_opsets = s->opsets.n;
	s->model.n_inputs = s->inputs.n;
	s->model.n_outputs = s->outputs.n;
	s->model.n_ops = s->ops.n;
	*out = s;
	return TP_OK;
}

static void
release(struct tp_onnx_summary *s, struct vector *v)
{
	if (v->items)
		tp_mem_free(s->alloc, v->items, v->cap, v->size);
}

void
tp_onnx_summary_free(struct tp_onnx_summary *s)
{
	if (!s)
		return;
	release(s, &s->opsets);
	release(s, &s->inputs);
	release(s, &s->outputs);
	release(s, &s->ops);
	tp_map_release(&s->op_keys);
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
	return (const struct tp_onnx_opset *)s->opsets.items + i;
}

const struct tp_onnx_value *
tp_onnx_summary_input(const struct tp_onnx_summary *s, size_t i)
{
	return (const struct tp_onnx_value *)s->inputs.items + i;
}

const struct tp_onnx_value *
tp_onnx_summary_output(const struct tp_onnx_summary *s, size_t i)
{
	return (const struct tp_onnx_value *)s->outputs.items + i;
}

const struct tp_onnx_op *
tp_onnx_summary_op(const struct tp_onnx_summary *s, size_t i)
{
	return (const struct tp_onnx_op *)s->ops.items + i;
}
