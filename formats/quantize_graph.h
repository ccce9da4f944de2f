/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_graph.h - the graph of a quantized reader
 *
 *  1. tpi_quantize_graph_open.
 *  2. tpi_quantize_graph_hint and _check for each recipe.
 *  3. tpi_quantize_graph_change, when it is known what is narrowed.
 *  4. Names and shapes of all tensors, and the graph as an attachment.
 */
#ifndef TPI_QUANTIZE_GRAPH_H
#define TPI_QUANTIZE_GRAPH_H

#include "quantize.h"

struct tpi_quantize_graph;

/* True if a reader has a graph. */
bool tpi_has_graph(const struct tp_reader *r);

/*
 * All of it lives in the arena, but for what _close releases. half: it is to
 * compute with f16.
 */
enum tp_status tpi_quantize_graph_open(struct tpi_quantize_graph **out,
    struct tp_reader *inner, bool half, struct tpi_arena *arena,
    struct tp_err *err);
void tpi_quantize_graph_close(struct tpi_quantize_graph *g);

/* Why an entry has to stay as it is, or NULL. */
const char *tpi_quantize_graph_why(
    const struct tpi_quantize_graph *g, size_t entry);
/* The axis that those who use it want. */
unsigned tpi_quantize_graph_axis(
    const struct tpi_quantize_graph *g, size_t entry, enum tp_quant_per per);
/* TP_EUNSUPPORTED when the graph cannot say it. */
enum tp_status tpi_quantize_graph_check(struct tpi_quantize_graph *g,
    const struct tp_recipe *recipe, struct tp_err *err);

/* Narrow all entries of narrows[0…n-1] that have a scheme. */
enum tp_status tpi_quantize_graph_change(struct tpi_quantize_graph *g,
    const struct tpi_narrow *narrows, size_t n, struct tp_err *err);

/* Set name, scope and local name of an entry, or of a part of it. */
void tpi_quantize_graph_name(const struct tpi_quantize_graph *g, size_t entry,
    enum tpi_narrow_part part, struct tp_entry *e);
/* Of scales and zero points; room for TP_MAX_RANK sizes. */
void tpi_quantize_graph_shape(const struct tpi_quantize_graph *g,
    const struct tpi_narrow *n, unsigned *rank, int64_t *shape);
enum tp_status tpi_quantize_graph_attach(const struct tpi_quantize_graph *g,
    struct tpi_arena *arena, struct tp_attachment *out, struct tp_err *err);

#endif
