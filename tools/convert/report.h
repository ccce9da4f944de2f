/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what a conversion tells, as text and as JSON */
#ifndef CONVERT_REPORT_H
#define CONVERT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "tp/transfer.h"

/* All that a report may speak of; what does not exist is NULL or 0. */
struct report {
	const char *status; /* "written", "planned", "refused", "failed" */
	struct tp_reader *const *readers;
	size_t n_readers;
	struct tp_reader *graph;
	const char *path; /* of the output */
	const struct tp_transfer *transfer;
	bool verified;
	const struct tp_err *err; /* of "failed" */
	const char *err_path;
};

/* For people: casts and totals; every tensor if verbose or a plan. */
void report_text(FILE *out, const struct report *r, bool verbose);

/* One line a loss, as stderr shows them. */
void report_losses(FILE *out, const struct tp_transfer *t);

/* One document that fits schemas/report.schema.json. */
void report_json(FILE *out, const struct report *r);

#endif
