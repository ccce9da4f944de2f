/* SPDX-License-Identifier: Apache-2.0 */
/* select.h - which tensors are narrowed, and how */
#ifndef QUANTIZE_SELECT_H
#define QUANTIZE_SELECT_H

#include "tp/quantize_plan.h"
#include "tp/quantized.h"

#include "glob.h"
#include "quantize/gates.h"

struct selection {
	struct cli_filter filter;
	const struct tp_scheme *scheme;
	bool symmetric;
	enum tp_quant_per per;
	bool auto_axis;
	int64_t axis; /* else; negative: from the end */
	uint64_t block;
	enum tp_calibrate calibrate;
	double percentile;
	uint64_t min_elements;
	bool keep_nonfinite;
	struct gates skip;	    /* tensors that run into one are kept */
	const struct tp_plan *plan; /* it says all that is above skip */
};

/* A tp_recipe_fn; ctx is the selection. */
enum tp_status select_recipe(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_recipe *recipe, struct tp_err *err);

/* A tp_accept_fn. */
const char *select_accept(void *ctx, const struct tp_quantized_item *item);

/* The same for --dequantize: only names count. */
enum tp_status select_dequantize(void *ctx, const struct tp_reader *r,
    size_t entry, struct tp_recipe *recipe, struct tp_err *err);

/*
 * Layouts of other tools that are known by their names but not read: what they
 * are called, or NULL. *entry is a tensor that tells.
 */
const char *select_foreign(const struct tp_reader *r, size_t *entry);

#endif
