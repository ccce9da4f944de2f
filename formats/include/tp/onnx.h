/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/onnx.h - what the graph of an ONNX model is about
 *
 *  1. tp_onnx_summary_new from a reader whose model has a graph: an ONNX file,
 *     or a native one that was made from such.
 *  2. Read the fields; text is borrowed from the reader until tp_close and may
 *     be any bytes.
 *  3. tp_onnx_summary_free.
 *
 * A summary does not change; several threads may read it. tp_onnx_check says
 * whether the graph is well-formed.
 */
#ifndef TP_ONNX_H
#define TP_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/format.h"
#include "tp/macros.h"

struct tp_onnx_summary;

struct tp_onnx_model {
	int64_t ir_version, model_version;
	struct tp_str producer_name, producer_version, domain, doc_string;
	struct tp_str graph_name;
	size_t n_opsets, n_inputs, n_outputs, n_ops;
	uint64_t n_nodes;     /* in all graphs and functions */
	uint64_t n_subgraphs; /* bodies of If, Loop, Scan, …, at any depth */
	uint64_t n_functions;
	uint64_t n_training; /* training information */
};

struct tp_onnx_opset {
	struct tp_str domain; /* "" is that of the standard operators */
	int64_t version;
};

enum tp_onnx_kind {
	TP_ONNX_UNKNOWN,
	TP_ONNX_TENSOR,
	TP_ONNX_SPARSE_TENSOR,
	TP_ONNX_SEQUENCE,
	TP_ONNX_MAP,
	TP_ONNX_OPTIONAL,
};

/* A size, a name for one, or neither: unknown. */
struct tp_onnx_dim {
	bool has_size;
	int64_t size;
	struct tp_str param;
};

/* An input or output; dtype and dims are those of tensors. */
struct tp_onnx_value {
	struct tp_str name;
	enum tp_onnx_kind kind;
	enum tp_dtype dtype; /* TP_DTYPE_NONE when it is not said */
	bool has_shape;
	unsigned rank;
	const struct tp_onnx_dim *dims;
};

/* Operators by how often they occur, the most frequent first, then by name. */
struct tp_onnx_op {
	struct tp_str domain, op_type;
	uint64_t count;
};

/*
 * TP_ENOTFOUND when the model has no graph; TP_EFORMAT when it is no protobuf;
 * TP_ELIMIT when it is nested too deeply or larger than limits.directory_bytes.
 * Like tp_reader_attachment it must not run in two threads at once.
 */
TP_API TP_NODISCARD enum tp_status tp_onnx_summary_new(
    struct tp_reader *r, struct tp_onnx_summary **out, struct tp_err *err);
TP_API void tp_onnx_summary_free(struct tp_onnx_summary *s);

TP_API const struct tp_onnx_model *tp_onnx_summary_model(
    const struct tp_onnx_summary *s);
/* Borrowed until tp_onnx_summary_free; the numbers are in the model. */
TP_API const struct tp_onnx_opset *tp_onnx_summary_opset(
    const struct tp_onnx_summary *s, size_t i);
TP_API const struct tp_onnx_value *tp_onnx_summary_input(
    const struct tp_onnx_summary *s, size_t i);
TP_API const struct tp_onnx_value *tp_onnx_summary_output(
    const struct tp_onnx_summary *s, size_t i);
TP_API const struct tp_onnx_op *tp_onnx_summary_op(
    const struct tp_onnx_summary *s, size_t i);

/*
 * Is the graph well-formed? fn is called for each problem: an error where a
 * runtime would refuse the model, else a warning. scope is where, written as
 * tp_entry.scope but for very long names, "" for the main graph; it and the
 * message (one line, which may hold raw names) are gone after the call.
 *
 * Errors are: names that are used but defined nowhere, or twice; nodes that no
 * order could serve; initializers whose type or shape is not the declared one;
 * domains that are not imported; attributes without name or type, twice, or
 * with a value of another type; functions whose bodies have such. Nodes out of
 * order, and names that hide others, are warnings.
 *
 * TP_OK when all was looked at, whatever was found. TP_ENOTFOUND when the model
 * has no graph. What tensors of the graph keep in other files is read: TP_EIO
 * and others when it is not there.
 */
typedef void tp_onnx_problem_fn(
    void *ctx, bool is_error, struct tp_str scope, const char *message);
TP_API TP_NODISCARD enum tp_status tp_onnx_check(
    struct tp_reader *r, tp_onnx_problem_fn *fn, void *ctx, struct tp_err *err);

#endif
