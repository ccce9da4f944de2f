/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrapped.h - a reader over a reader: what it takes over
 *
 * It has the files and storages of the inner one, under the same numbers, so
 * that what does not change is copied as it lies; storages that are computed
 * follow. Only quantized readers are made so: what the inner one says of its
 * own quantization is left behind, and so is a graph that does not hold any
 * more. The inner reader is borrowed.
 */
#ifndef TPI_WRAPPED_H
#define TPI_WRAPPED_H

#include "plugin.h"

/* An empty reader with the flags, limits and warnings of inner, or NULL. */
struct tp_reader *tpi_wrapped_new(const struct tp_reader *inner,
    const struct tp_format *format, const struct tp_alloc *alloc);

/* Files, storages and metadata but TP_QUANTIZED_KEY. */
enum tp_status tpi_wrapped_copy_files(
    struct tp_reader *r, const struct tp_reader *inner, struct tp_err *err);

/* The names of attachments: with_graph, that of the ONNX graph too. */
enum tp_status tpi_wrapped_add_attachments(struct tp_reader *r,
    const struct tp_reader *inner, bool with_graph, struct tp_err *err);

bool tpi_wrapped_is_graph(const struct tp_reader *r, size_t attachment);

/* Attachment i as the inner reader has it. */
enum tp_status tpi_wrapped_attach(
    struct tp_reader *r, struct tp_reader *inner, size_t i, struct tp_err *err);

/*
 * True if both are the same elements of the same storage: what is made of them
 * is one thing, so that tied weights stay tied.
 */
bool tpi_same_view(const struct tp_entry *a, const struct tp_entry *b);

#endif
