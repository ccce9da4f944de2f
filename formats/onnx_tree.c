/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_tree.c - an ONNX file as a tree of messages, its payloads left behind
 */
#include "onnx_tree.h"

#include "tp/endian.h"

#include "proto_alloc.h"

#include "banned.h"

enum tp_status
tpi_onnx_tree_read(struct tpi_onnx_tree *t, const struct tp_alloc *alloc,
    const struct tpi_source *src, const struct tp_limits *limits,
    struct tp_err *err)
{
	const ProtobufCMessageDescriptor *desc =
	    &tp_onnx__model_proto__descriptor;
	ProtobufCMessage *m = NULL;
	struct tpi_wire w;
	enum tp_status rc;

	*t = (struct tpi_onnx_tree){.alloc = alloc, .skim.alloc = alloc};
	rc = tpi_wire_open(&w, alloc, src, err);
	if (rc)
		return rc;
	rc = tpi_skim(&t->skim, alloc, &w, src->size, desc, TPI_SKIM_PAYLOADS,
	    limits, err);
	tpi_wire_close(&w);
	if (rc)
		return rc;
	rc = tpi_proto_unpack(
	    alloc, desc, t->skim.copy.data, t->skim.copy.n, &m, err);
	tpi_copy_release(&t->skim.copy);
	t->model = (TpOnnx__ModelProto *)m;
	if (!rc && !t->model->graph)
		rc = tp_fail(
		    err, TP_EFORMAT, 0, "no graph: this is no ONNX model");
	if (rc)
		tpi_onnx_tree_release(t);
	return rc;
}

void
tpi_onnx_tree_release(struct tpi_onnx_tree *t)
{
	if (t->model)
		tpi_proto_free(t->alloc, &t->model->base);
	t->model = NULL;
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
