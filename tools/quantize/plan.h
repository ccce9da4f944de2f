/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - --plan: a scheme for each tensor, chosen here or by a file */
#ifndef QUANTIZE_PLAN_H
#define QUANTIZE_PLAN_H

#include "tp/quantize_plan.h"

#include "quantize/select.h"

struct plan_request {
	const char *from;    /* "auto" or a file; NULL: there is no plan */
	const char *save;    /* NULL: it is not saved */
	bool has_sqnr;	     /* for auto: one of the targets */
	double sqnr;	     /* dB */
	uint64_t max_nbytes; /* 0: no target */
};

bool plan_is_auto(const struct plan_request *request);

/* Is that how the command line may combine them? NULL, or what is wrong. */
const char *plan_check(const struct plan_request *request);

/*
 * Measure every scheme that a file at `output` can hold, as the selection says
 * but for the scheme, and choose.
 */
enum tp_status plan_choose(const struct plan_request *request,
    struct tp_reader *r, const struct tp_quantize_options *options,
    const char *output, const char *format, struct tp_plan *plan,
    struct tp_err *err);

/* As text of the schema quantize-plan. TP_EOUTPUT. */
enum tp_status plan_save(
    struct tp_plan *plan, const char *path, struct tp_err *err);

#endif
