/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_take.h - the tensors of any message, as values in memory
 *
 *  1. tpi_onnx_take_open reads a file that is one message.
 *  2. Whoever walks the message takes those of its tensors that are wanted:
 *     tpi_onnx_take_tensor, tpi_onnx_take_sparse.
 *  3. tpi_onnx_take_close. Values outlive it; the message only if its arena was
 *     moved elsewhere before.
 *
 * Tensors are entries of a reader that nobody else sees, so all that is checked
 * of weights is checked of them, and where they may lie is the same.
 */
#ifndef TPI_ONNX_TAKE_H
#define TPI_ONNX_TAKE_H

#include "tp/strings.h"
#include "tp/value.h"

#include "onnx_tree.h"
#include "plugin.h"

struct tpi_onnx_take {
	struct tp_reader *r;
	struct tpi_arena tree;
	ProtobufCMessage *message;
	struct tp_strings *strings; /* NULL: strings are unsupported */
};

/* options may be NULL. On failure *t is closed. */
enum tp_status tpi_onnx_take_open(struct tpi_onnx_take *t, const char *path,
    const struct tp_open_options *options,
    const ProtobufCMessageDescriptor *desc, struct tp_strings *strings,
    struct tp_err *err);
void tpi_onnx_take_close(struct tpi_onnx_take *t);

/* name is for messages. Sparse tensors become dense. */
enum tp_status tpi_onnx_take_tensor(struct tpi_onnx_take *t,
    TpOnnx__TensorProto *tensor, struct tp_str name, struct tp_value *out,
    struct tp_err *err);
enum tp_status tpi_onnx_take_sparse(struct tpi_onnx_take *t,
    TpOnnx__SparseTensorProto *sparse, struct tp_str name, struct tp_value *out,
    struct tp_err *err);

#endif
