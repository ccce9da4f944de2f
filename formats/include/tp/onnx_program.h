/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/onnx_program.h - an ONNX file as a graph that can be evaluated
 *
 *  1. tp_onnx_program_open reads a model: nodes, attributes, weights.
 *  2. tp_onnx_program_model is what tp_program_new (tp/graph.h) takes; it is
 *     borrowed until
 *  3. tp_onnx_program_close.
 *
 * tp_onnx_value_read reads an input or output of a test: a file that holds one
 * TensorProto, SequenceProto or OptionalProto.
 *
 * Large weights are mapped, read-only. Tensors of strings hold numbers of the
 * pool that is given. Nothing in the file is believed: limits and statuses are
 * those of tp_open.
 */
#ifndef TP_ONNX_PROGRAM_H
#define TP_ONNX_PROGRAM_H

#include "tp/format.h"
#include "tp/graph.h"
#include "tp/macros.h"
#include "tp/strings.h"
#include "tp/value.h"

struct tp_onnx_program;

/*
 * options may be NULL; of them format is not used. strings (NULL: a model with
 * strings is TP_EUNSUPPORTED) must outlive the program. TP_EUNSUPPORTED also
 * for attributes that are lists of tensors, graphs or types, and for inputs
 * that are maps. Whether the graph makes sense is for tp_program_new to say.
 */
TP_API TP_NODISCARD enum tp_status tp_onnx_program_open(const char *path,
    const struct tp_open_options *options, struct tp_strings *strings,
    struct tp_onnx_program **out, struct tp_err *err);
TP_API const struct tp_graph_model *tp_onnx_program_model(
    const struct tp_onnx_program *program);
/* As tp_reader_check_files; ask it when all that was wanted was computed. */
TP_API TP_NODISCARD enum tp_status tp_onnx_program_check_files(
    const struct tp_onnx_program *program, struct tp_err *err);
TP_API void tp_onnx_program_close(
    struct tp_onnx_program *program); /* NULL is allowed */

/*
 * The file does not say which message it is: type does (kind NONE: a tensor).
 * A tensor need not have the dtype of type, but one of u16 where type says
 * bf16 is taken as that: releases of ONNX without bf16 in NumPy wrote it so.
 * *out is NONE on failure.
 */
TP_API TP_NODISCARD enum tp_status tp_onnx_value_read(const char *path,
    const struct tp_open_options *options, const struct tp_type *type,
    struct tp_strings *strings, struct tp_value *out, struct tp_err *err);

#endif
