/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what tp-quantize tells, as text and as JSON */
#ifndef QUANTIZE_REPORT_H
#define QUANTIZE_REPORT_H

#include <stdio.h>

#include "tp/quantized.h"
#include "tp/transfer.h"

#include "quantize/gates.h"
#include "quantize/plan.h"

/* All that a report may speak of; what does not exist is NULL or 0. */
struct quantize_report {
	/* "written", "planned", "gate" (nothing was written), "failed" */
	const char *status;
	const char *input, *output;
	const struct tp_reader *reader; /* the input */
	const struct tp_reader *quantized;
	const struct tp_transfer *transfer;
	const struct gates *gates; /* of --fail-if */
	const struct plan_request *plan;
	bool verified;
	const struct tp_err *err; /* of "failed" */
	const char *err_path;
};

/* It is not in the output: the scale or zero point of what was widened. */
bool report_is_dropped(const struct tp_quantized_item *item);

/* The least SQNR of what was narrowed; infinite if nothing was. */
double report_worst_sqnr(const struct tp_reader *quantized);

/* A line for each tensor that was narrowed; verbose: for each. */
void report_text(FILE *out, const struct quantize_report *r, bool verbose);

/* One document that fits schemas/quantize.schema.json. */
void report_json(FILE *out, const struct quantize_report *r);

#endif
