/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.h - what tp-quantize was asked for, and doing it */
#ifndef QUANTIZE_H
#define QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "job.h"
#include "quantize/gates.h"
#include "quantize/plan.h"
#include "quantize/select.h"

/* What options have that were not given, where 0 is something else. */
#define QUANTIZE_UNSET (-1)
#define QUANTIZE_NO_AXIS INT64_MAX /* -1 is the last */

/* Unless told. */
#define QUANTIZE_MIN_ELEMENTS 1024
#define QUANTIZE_BLOCK 32

enum quantize_nonfinite { QUANTIZE_ERROR, QUANTIZE_KEEP_FLOAT };
enum quantize_graph_dtype { QUANTIZE_GRAPH_KEEP, QUANTIZE_GRAPH_F16 };

struct quantize_options {
	const char *from;
	bool dequantize;

	/* As they were given; the selection is what they come to. */
	const char *scheme;
	int per; /* enum tp_quant_per */
	bool symmetric, asymmetric, calibrate;
	int64_t axis, block, min_elements;
	int nonfinite;	 /* enum quantize_nonfinite */
	int graph_dtype; /* enum quantize_graph_dtype */
	struct selection selection;

	struct plan_request plan;
	struct gates fail_if;
	const char *report; /* a file for the JSON report, or NULL */
	struct cli_output output;
};
extern struct quantize_options quantize_options;

/*
 * A cli_app's check: do the options go together? NULL, and the selection is
 * complete, or what is wrong.
 */
const char *quantize_check_options(void);
void quantize_options_release(void);

/* Make the output of the input, and report; the exit status. */
int quantize(const char *input, const char *output);

#endif
