/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_program.h - parts of the way from an ONNX file to a struct
 * tp_graph_model
 *
 *	onnx_program.c	  the model: imports, functions
 *	onnx_subgraph.c	  a graph: nodes, weights
 *	onnx_attribute.c  attributes of nodes
 *	onnx_type.c	  declared inputs and outputs
 *
 * Messages stay where they are: names are borrowed from them, everything else
 * is made in the same arena. Recursion is as deep as messages nest, which the
 * limits bound.
 */
#ifndef TPI_ONNX_PROGRAM_H
#define TPI_ONNX_PROGRAM_H

#include "tp/graph.h"

#include "onnx_message.h"
#include "onnx_take.h"

/* Values are released with the program. */
struct tpi_onnx_held {
	struct tp_value value;
	struct tpi_onnx_held *next;
};

struct tpi_onnx_build {
	struct tpi_onnx_take take;
	struct tpi_onnx_held *held;
	/* Where we are, for messages: "node 3 'conv1' (Conv)", or "". */
	char where[3 * TP_BRIEF_SIZE];
};

/* n zeroed items that live as long as the program; NULL is TP_ENOMEM. */
void *tpi_onnx_build_array(
    struct tpi_onnx_build *b, size_t n, size_t size, struct tp_err *err);

/* The value of a tensor, dense or sparse (the other one NULL), to be held. */
enum tp_status tpi_onnx_build_value(struct tpi_onnx_build *b,
    TpOnnx__TensorProto *tensor, TpOnnx__SparseTensorProto *sparse,
    struct tp_str name, const struct tp_value **out, struct tp_err *err);

enum tp_status tpi_onnx_build_graph(struct tpi_onnx_build *b,
    const TpOnnx__GraphProto *from, struct tp_graph *to, struct tp_err *err);
enum tp_status tpi_onnx_build_nodes(struct tpi_onnx_build *b,
    TpOnnx__NodeProto *const *from, size_t n, const struct tp_node **to,
    struct tp_err *err);
enum tp_status tpi_onnx_build_attributes(struct tpi_onnx_build *b,
    TpOnnx__AttributeProto *const *from, size_t n, const struct tp_attr **to,
    struct tp_err *err);
enum tp_status tpi_onnx_build_names(struct tpi_onnx_build *b,
    const ProtobufCBinaryData *from, size_t n, const struct tp_str **to,
    struct tp_err *err);

enum tp_status tpi_onnx_build_bindings(struct tpi_onnx_build *b,
    TpOnnx__ValueInfoProto *const *from, size_t n, const struct tp_binding **to,
    struct tp_err *err);

/*
 * What a type says; kind NONE where it says nothing. TP_EUNSUPPORTED for maps
 * and for what nests more than twice. what is for messages.
 */
enum tp_status tpi_onnx_type_of(const TpOnnx__TypeProto *from,
    struct tp_str what, struct tp_type *to, struct tp_err *err);

#endif
