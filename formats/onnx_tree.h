/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_tree.h - an ONNX file as a tree of messages, its payloads left behind
 */
#ifndef TPI_ONNX_TREE_H
#define TPI_ONNX_TREE_H

#include "onnx.pb-c.h"
#include "plugin.h"
#include "proto_skim.h"

struct tpi_onnx_tree {
	struct tpi_arena arena; /* the model, and what is put into it */
	/* raw_data of each tensor is a number in skim (its copy is gone). */
	TpOnnx__ModelProto *model;
	struct tpi_skim skim;
};

/*
 * Read the message that a file is. It lies in the arena, and raw_data of each
 * tensor in it is the number of a payload in *skim. On failure *skim is
 * released, not the arena.
 */
enum tp_status tpi_onnx_message_read(struct tpi_arena *arena,
    struct tpi_skim *skim, const struct tpi_source *src,
    const ProtobufCMessageDescriptor *desc, const struct tp_limits *limits,
    ProtobufCMessage **out, struct tp_err *err);

/* Of the descriptor: how sure that a file begins like a model. */
int tpi_onnx_probe(const uint8_t *head, size_t n, uint64_t file_size);

/* Read a model that has a graph. On failure *t is released. */
enum tp_status tpi_onnx_tree_read(struct tpi_onnx_tree *t,
    const struct tp_alloc *alloc, const struct tpi_source *src,
    const struct tp_limits *limits, struct tp_err *err);
void tpi_onnx_tree_release(struct tpi_onnx_tree *t);

/* The number of a tensor's payload in skim.payloads. */
size_t tpi_onnx_payload_of(const TpOnnx__TensorProto *t);

/*
 * Call fn for every tensor below a message, with the place that points to it,
 * so that fn may put another there. Stops at the first failure.
 */
typedef enum tp_status tpi_onnx_tensor_fn(
    void *ctx, TpOnnx__TensorProto **at, struct tp_err *err);
enum tp_status tpi_onnx_each_tensor(
    ProtobufCMessage *m, tpi_onnx_tensor_fn *fn, void *ctx, struct tp_err *err);

#endif
