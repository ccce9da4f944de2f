/* SPDX-License-Identifier: Apache-2.0 */
/* gates.h - [GLOB=]METRIC<VALUE: figures that must not be so */
#ifndef QUANTIZE_GATES_H
#define QUANTIZE_GATES_H

#include "tp/quantized.h"

#include "cli.h"

enum metric { METRIC_SQNR, METRIC_COSINE, METRIC_MAXABS, METRIC_SATURATED };

/* "sqnr", "cosine", "maxabs", "saturated" */
const char *metric_name(enum metric metric);
double metric_of(enum metric metric, const struct tp_quantized_item *item);

struct gates {
	struct cli_list list;
	struct gate {
		struct tp_str pattern; /* .s NULL: every tensor */
		enum metric metric;
		bool above; /* > rather than < */
		double value;
		const char *text;
	} * rows;
};

/* NULL, or what is wrong (good until the next call). */
const char *gates_parse(struct gates *g);
void gates_release(struct gates *g);

/* The first gate that the tensor runs into, or NULL. */
const struct gate *gates_hit(
    const struct gates *g, const struct tp_quantized_item *item);

#endif
