/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_dequantize.h - weights of a graph as floats again
 *
 * The nodes that make floats of a weight go (onnx_expansions.h), and all that
 * used what they gave uses the weight, which keeps its name. Scales and zero
 * points go when nothing else uses them.
 *
 *	onnx_dequantize.c	which weights can be widened
 *	onnx_dequantize_nodes.c	what becomes of the graph
 */
#ifndef TPI_ONNX_DEQUANTIZE_H
#define TPI_ONNX_DEQUANTIZE_H

#include "onnx_edit.h"
#include "onnx_expansions.h"

/* What the graph says about a slot. */
struct tpi_onnx_wide {
	bool found;	 /* nodes make floats of it, and nothing else uses it */
	const char *why; /* else: what is in the way, or NULL */
	bool is_cast;
	struct tp_quant_info info; /* scale and zero_point are entries */
	bool chosen;		   /* by the caller: it is to be widened */
	/* Of scales and zero points. */
	bool used; /* by anything but expansions */
	bool gone; /* by tpi_onnx_widen */
};

struct tpi_onnx_widening {
	struct tpi_onnx_edit *e;
	struct tpi_onnx_expansions all;
	struct tpi_onnx_wide *slots; /* one each */
};

/* Texts are in the arena. On failure *w may still be released. */
enum tp_status tpi_onnx_widening_open(struct tpi_onnx_widening *w,
    struct tpi_onnx_edit *e, const struct tp_reader *r, struct tpi_arena *arena,
    struct tp_err *err);
void tpi_onnx_widening_release(struct tpi_onnx_widening *w);

/* Widen all slots that are chosen, which must be found. */
enum tp_status tpi_onnx_widen(struct tpi_onnx_widening *w, struct tp_err *err);

#endif
