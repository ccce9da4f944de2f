/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_plan.h - what a plan is made of; quantize_plan_json.c writes it */
#ifndef TPI_QUANTIZE_PLAN_H
#define TPI_QUANTIZE_PLAN_H

#include "tp/quantize_plan.h"

struct tpi_choice {
	struct tp_recipe recipe;
	uint64_t nbytes;
	double sqnr;
};

/* A tensor. Its choices ascend by size and by SQNR; the last is exact. */
struct tpi_plan_row {
	struct tpi_choice choices[TP_PLAN_CHOICES];
	unsigned n_choices, chosen;
	/* An earlier tensor of the same bytes, which chooses for both. */
	size_t leader;
	bool is_read; /* a file has told */
};

struct tp_plan {
	const struct tp_alloc *alloc;
	const struct tp_reader *r;
	struct tpi_plan_row *rows;
	size_t n;
};

/* tp_plan_read of text in memory. */
enum tp_status tpi_plan_parse(
    struct tp_plan *plan, const char *text, size_t n, struct tp_err *err);

#endif
