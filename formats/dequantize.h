/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dequantize.h - what the parts of a dequantized reader share
 *
 *	dequantize_record.c  which codes have which scales, from metadata
 *	dequantize_stream.c  the numbers
 *	dequantize_graph.c   the graph, if there is one
 *	dequantize_decide.c  what becomes of each entry
 *	dequantize_reader.c  the reader they belong to
 */
#ifndef TPI_DEQUANTIZE_H
#define TPI_DEQUANTIZE_H

#include "tp/quantized.h"

#include "plugin.h"

/* An entry that is widened to f32. */
struct tpi_widen {
	bool chosen;
	bool is_cast; /* a float: no scale */
	const struct tp_alloc *alloc;
	struct tp_reader *r;
	size_t entry;
	const struct tp_entry *codes, *scale, *zero; /* zero may be NULL */
	struct tp_quant_info info;
	struct tp_quant_groups groups;
	uint64_t max_memory;
};

enum tp_status tpi_widen_stream(
    const struct tpi_widen *w, struct tp_stream **out, struct tp_err *err);

/*
 * Called for each tensor of a record; info is NULL for a cast. A failure ends
 * the reading.
 */
typedef enum tp_status tpi_record_fn(void *ctx, size_t entry,
    const struct tp_quant_info *info, struct tp_err *err);

/* Read the metadata TP_QUANTIZED_KEY of r, if there is any. */
enum tp_status tpi_dequantize_record(const struct tp_reader *r,
    tpi_record_fn *fn, void *ctx, struct tp_err *err);

/* NULL also when r is no dequantized reader. */
const struct tp_quantized_item *tpi_dequantized_item(
    const struct tp_reader *r, size_t i);

#endif
