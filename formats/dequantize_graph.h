/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequantize_graph.h - the graph of a dequantized reader
 *
 *  1. tpi_dequantize_graph_open.
 *  2. What the graph says about each entry.
 *  3. tpi_dequantize_graph_change, when it is known what is widened.
 *  4. Names of all tensors, and the graph as an attachment.
 */
#ifndef TPI_DEQUANTIZE_GRAPH_H
#define TPI_DEQUANTIZE_GRAPH_H

#include "dequantize.h"

struct tpi_dequantize_graph;
struct tpi_onnx_wide; /* onnx_dequantize.h */

/* All of it lives in the arena, but for what _close releases. */
enum tp_status tpi_dequantize_graph_open(struct tpi_dequantize_graph **out,
    struct tp_reader *inner, struct tpi_arena *arena, struct tp_err *err);
void tpi_dequantize_graph_close(struct tpi_dequantize_graph *g);

/* NULL for an entry that is no weight of the graph. */
const struct tpi_onnx_wide *tpi_dequantize_graph_about(
    const struct tpi_dequantize_graph *g, size_t entry);

/* Widen all entries that are chosen in widens. */
enum tp_status tpi_dequantize_graph_change(struct tpi_dequantize_graph *g,
    const struct tpi_widen *widens, struct tp_err *err);

void tpi_dequantize_graph_name(
    const struct tpi_dequantize_graph *g, size_t entry, struct tp_entry *e);
enum tp_status tpi_dequantize_graph_attach(const struct tpi_dequantize_graph *g,
    struct tpi_arena *arena, struct tp_attachment *out, struct tp_err *err);

#endif
