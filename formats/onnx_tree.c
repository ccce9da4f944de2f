/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_tree.c - an ONNX file as a tree of messages, its payloads left behind
 */
#include "onnx_tree.h"

#include "tp/endian.h"

#include "proto_alloc.h"

#include "banned.h"

/*
 * Confidence that n bytes begin a ModelProto: fields of the outermost message
 * one after the other, each with a number and a type that it has. There is no
 * magic, so this never outbids a format that has one.
 */
int
tpi_onnx_probe(const uint8_t *head, size_t n, uint64_t file_size)
{
	const ProtobufCMessageDescriptor *desc =
	    &tp_onnx__model_proto__descriptor;
	const ProtobufCFieldDescriptor *f;
	enum tpi_wire_type type;
	struct tpi_wire w;
	uint32_t number;
	uint64_t v, at;
	int n_known = 0;

	tpi_wire_memory(&w, head, n);
	while (w.pos < n && n_known < 4) {
		/* What the head cuts off is no one's fault. */
		at = w.pos;
		if (tpi_wire_tag(&w, n, &number, &type, NULL)) {
			if (n - at >= 10 || n == file_size)
				return 0;
			break;
		}
		f = protobuf_c_message_descriptor_get_field(desc, number);
		if (!f || type == TPI_WIRE_FIXED32 ||
		    type == TPI_WIRE_FIXED64 || type > TPI_WIRE_BYTES ||
		    (type == TPI_WIRE_VARINT) !=
			(f->type == PROTOBUF_C_TYPE_INT64))
			return 0;
		if (tpi_wire_varint(&w, n, &v, NULL))
			break;
		if (number == 1 && (v == 0 || v > 1000))
			return 0;
		if (type == TPI_WIRE_BYTES) {
			if (v > file_size - w.pos)
				break;
			if (v > n - w.pos)
				w.pos = n;
			else
				w.pos += v;
		}
		n_known++;
	}
	return n_known >= 3 ? 50 : n_known * 10;
}

/* A file that does not even begin like a model gets told so. */
static enum tp_status
explain(const struct tpi_source *src, struct tp_err *err)
{
	struct tp_err why = err ? *err : (struct tp_err)TP_ERR_INIT;
	uint8_t head[64];
	size_t n = src->size < sizeof(head) ? (size_t)src->size : sizeof(head);

	if (tpi_source_read(src, 0, head, n, NULL) ||
	    tpi_onnx_probe(head, n, src->size))
		return TP_EFORMAT;
	return tp_fail(
	    err, TP_EFORMAT, why.offset, "not an ONNX model: %s", why.msg);
}

enum tp_status
tpi_onnx_message_read(struct tpi_arena *arena, struct tpi_skim *skim,
    const struct tpi_source *src, const ProtobufCMessageDescriptor *desc,
    const struct tp_limits *limits, ProtobufCMessage **out, struct tp_err *err)
{
	struct tpi_wire w;
	enum tp_status rc;

	*out = NULL;
	*skim = (struct tpi_skim){.alloc = arena->alloc};
	rc = tpi_wire_open(&w, arena->alloc, src, src->size, err);
	if (rc)
		return rc;
	rc = tpi_skim(skim, arena->alloc, &w, src->size, desc,
	    TPI_SKIM_PAYLOADS, limits, err);
	tpi_wire_close(&w);
	if (rc)
		return rc;
	rc = tpi_proto_unpack_in(
	    arena, desc, skim->copy.data, skim->copy.n, out, err);
	tpi_copy_release(&skim->copy);
	if (rc)
		tpi_skim_release(skim);
	return rc;
}

enum tp_status
tpi_onnx_tree_read(struct tpi_onnx_tree *t, const struct tp_alloc *alloc,
    const struct tpi_source *src, const struct tp_limits *limits,
    struct tp_err *err)
{
	ProtobufCMessage *m = NULL;
	enum tp_status rc;

	*t = (struct tpi_onnx_tree){.skim.alloc = alloc};
	tpi_arena_init(&t->arena, alloc);
	rc = tpi_onnx_message_read(&t->arena, &t->skim, src,
	    &tp_onnx__model_proto__descriptor, limits, &m, err);
	t->model = (TpOnnx__ModelProto *)m;
	if (rc == TP_EFORMAT)
		rc = explain(src, err);
	else if (!rc && !t->model->graph)
		rc = tp_fail(err, TP_EFORMAT, 0, "not an ONNX model: no graph");
	if (rc)
		tpi_onnx_tree_release(t);
	return rc;
}

void
tpi_onnx_tree_release(struct tpi_onnx_tree *t)
{
	t->model = NULL;
	tpi_arena_release(&t->arena);
	tpi_skim_release(&t->skim);
}

size_t
tpi_onnx_payload_of(const TpOnnx__TensorProto *t)
{
	return tp_le32(t->raw_data.data);
}

/*
 * One field of a message. Recursion is as deep as messages nest, which the
 * limits bound.
 */
static enum tp_status
each_in_field(ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
    tpi_onnx_tensor_fn *fn, void *ctx, struct tp_err *err)
{
	char *base = (char *)m;
	ProtobufCMessage **items;
	size_t n = 1;
	enum tp_status rc = TP_OK;

	items = (ProtobufCMessage **)(void *)(base + f->offset);
	if (f->label == PROTOBUF_C_LABEL_REPEATED) {
		n = *(size_t *)(void *)(base + f->quantifier_offset);
		items = *(ProtobufCMessage ***)(void *)(base + f->offset);
	}
	for (size_t i = 0; i < n && !rc; i++) {
		if (!items[i])
			continue;
		if (f->descriptor == &tp_onnx__tensor_proto__descriptor)
			rc = fn(ctx, (TpOnnx__TensorProto **)(void *)&items[i],
			    err);
		else
			rc = tpi_onnx_each_tensor(items[i], fn, ctx, err);
	}
	return rc;
}

enum tp_status
tpi_onnx_each_tensor(
    ProtobufCMessage *m, tpi_onnx_tensor_fn *fn, void *ctx, struct tp_err *err)
{
	const ProtobufCMessageDescriptor *desc = m->descriptor;
	enum tp_status rc = TP_OK;

	for (unsigned i = 0; i < desc->n_fields && !rc; i++)
		if (desc->fields[i].type == PROTOBUF_C_TYPE_MESSAGE)
			rc = each_in_field(m, &desc->fields[i], fn, ctx, err);
	return rc;
}
