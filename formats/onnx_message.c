/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_message.c - questions to one message of a model */
#include "onnx_message.h"

#include "banned.h"

struct tp_str
tpi_onnx_str(ProtobufCBinaryData b)
{
	struct tp_str s = {"", 0};

	if (b.len) {
		s.s = (const char *)b.data;
		s.len = b.len;
	}
	return s;
}

bool
tpi_onnx_is_default(ProtobufCBinaryData domain)
{
	return !domain.len ||
	       !tp_str_cmp(tpi_onnx_str(domain), TP_STR("ai.onnx"));
}

bool
tpi_onnx_is_op(const TpOnnx__NodeProto *node, struct tp_str op_type)
{
	return tpi_onnx_is_default(node->domain) &&
	       !tp_str_cmp(tpi_onnx_str(node->op_type), op_type);
}

TpOnnx__AttributeProto *
tpi_onnx_attribute(const TpOnnx__NodeProto *node, struct tp_str name)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (!tp_str_cmp(tpi_onnx_str(node->attribute[i]->name), name))
			return node->attribute[i];
	return NULL;
}

void *
tpi_onnx_message_in(
    struct tpi_arena *arena, const ProtobufCMessageDescriptor *desc)
{
	ProtobufCMessage *m = tpi_arena_array(arena, 1, desc->sizeof_message);

	if (m)
		protobuf_c_message_init(desc, m);
	return m;
}

ProtobufCBinaryData
tpi_onnx_bytes(struct tp_str s)
{
	/* protobuf-c reads it only; its types know no const. */
	union {
		const char *s;
		uint8_t *data;
	} u = {.s = s.s};

	return (ProtobufCBinaryData){s.len, u.data};
}
