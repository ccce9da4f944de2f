/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_message.h - questions to one message of a model */
#ifndef TPI_ONNX_MESSAGE_H
#define TPI_ONNX_MESSAGE_H

#include <stdbool.h>

#include "tp/error.h"

#include "arena.h"
#include "onnx.pb-c.h"

/* A bytes field as a string: "" when it is absent. */
struct tp_str tpi_onnx_str(ProtobufCBinaryData b);

/* "" and "ai.onnx" both name the operators of ONNX itself. */
bool tpi_onnx_is_default(ProtobufCBinaryData domain);

/* True if that is the name of an operator of the default domain. */
bool tpi_onnx_is_op(const TpOnnx__NodeProto *node, struct tp_str op_type);

/* The attribute of that name, or NULL. */
TpOnnx__AttributeProto *tpi_onnx_attribute(
    const TpOnnx__NodeProto *node, struct tp_str name);

/* A new message; NULL without memory. */
void *tpi_onnx_message_in(
    struct tpi_arena *arena, const ProtobufCMessageDescriptor *desc);

/* A bytes field over s, which must outlive the message. */
ProtobufCBinaryData tpi_onnx_bytes(struct tp_str s);

#endif
