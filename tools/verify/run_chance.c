/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_chance.c - random values: dtype, shape and range are all that can be told
 */
#include "run.h"

#include <inttypes.h>
#include <math.h>

#include "tp/convert.h"
#include "tp/copy.h"

static bool
is_in_range(const struct run_chance *chance, double x)
{
	switch (chance->range) {
	case RUN_UNIT:
		return x == 0 || x == 1;
	case RUN_CLASSES:
		return x >= 0 && x == floor(x) && isfinite(x);
	case RUN_BETWEEN:
		return x >= chance->low && x <= chance->high;
	case RUN_FINITE:
		return isfinite(x);
	case RUN_NOT_RANDOM:
	case RUN_ANYTHING:
		break;
	}
	return true;
}

static void
put_range(struct verdict_line *l, const struct run_chance *chance)
{
	switch (chance->range) {
	case RUN_UNIT:
		verdict_line_put(l, "0 or 1");
		return;
	case RUN_CLASSES:
		verdict_line_put(l, "whole and not negative");
		return;
	case RUN_BETWEEN:
		verdict_line_put(l, "%g to %g", chance->low, chance->high);
		return;
	case RUN_FINITE:
		verdict_line_put(l, "finite");
		return;
	case RUN_NOT_RANDOM:
	case RUN_ANYTHING:
		break;
	}
	verdict_line_put(l, "what it may be");
}

static enum tp_status
check_range(struct run_comparison *c, const struct run_chance *chance,
    const struct tp_tensor *t, struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	uint64_t n = tp_tensor_numel(t);
	enum tp_status rc = tp_tensor_contiguous(t, &packed, err);
	double x;

	for (uint64_t i = 0; !rc && i < n; i++) {
		x = tp_load_f64(
		    tp_tensor_dtype(t), tp_tensor_data(packed), (size_t)i);
		if (is_in_range(chance, x))
			continue;
		c->kind = "range";
		verdict_line_put(
		    &c->why, "element %" PRIu64 " is %g, not ", i, x);
		put_range(&c->why, chance);
		break;
	}
	tp_tensor_free(packed);
	return rc;
}

enum tp_status
run_compare_chance(struct run_comparison *c, const struct run_chance *chance,
    const struct tp_value *got, const struct tp_value *expected,
    struct tp_err *err)
{
	enum tp_status rc;

	rc = run_compare(c, got, expected, err);
	/* Other values are no difference, anything else is. */
	c->has_figures = false;
	if (rc || (c->kind && c->kind != run_value_differs))
		return rc;
	c->kind = NULL;
	verdict_line_cut(&c->why, 0);
	if (got->kind == TP_VALUE_TENSOR)
		rc = check_range(c, chance, got->tensor, err);
	if (!rc && !c->kind) {
		verdict_line_put(&c->why,
		    "depends on %s: dtype and shape are right, each is ",
		    TP_BRIEF(chance->op));
		put_range(&c->why, chance);
	}
	return rc;
}
