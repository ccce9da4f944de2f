/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_values.c - what was computed and what was expected
 *
 * Kinds, dtypes, shapes and lengths have to be the same, and so have integers,
 * bools and strings. Floats may differ by the tolerance; NaN equals NaN.
 */
#include "run.h"

#include <inttypes.h>
#include <math.h>

#include "tp/convert.h"
#include "tp/copy.h"
#include "tp/shape.h"

const char run_value_differs[] = "value";

static void
differs(struct run_comparison *c, const char *kind)
{
	if (!c->kind || c->kind == run_value_differs)
		c->kind = kind;
}

static bool
is_float(enum tp_dtype dtype)
{
	enum tp_dtype_kind kind = tp_dtype_kind(dtype);

	return kind == TP_KIND_FLOAT || kind == TP_KIND_COMPLEX;
}

/* "f32 [2, 3]" */
static void
put_tensor(struct verdict_line *l, const struct tp_value *v)
{
	enum tp_dtype dtype = v->kind == TP_VALUE_STRINGS
				  ? TP_DTYPE_STRING
				  : tp_tensor_dtype(v->tensor);

	verdict_line_put(l, "%s %s", tp_dtype_name(dtype),
	    TP_SHAPE_TEXT(
		tp_tensor_sizes(v->tensor), tp_tensor_rank(v->tensor)));
}

static bool
same_shape(const struct tp_tensor *a, const struct tp_tensor *b)
{
	if (tp_tensor_rank(a) != tp_tensor_rank(b))
		return false;
	for (unsigned d = 0; d < tp_tensor_rank(a); d++)
		if (tp_tensor_sizes(a)[d] != tp_tensor_sizes(b)[d])
			return false;
	return true;
}

/* Says what differs and returns false. */
static bool
check_types(struct run_comparison *c, const struct tp_value *got,
    const struct tp_value *expected)
{
	const char *kind = NULL;

	if (got->kind != expected->kind)
		kind = "dtype";
	else if (tp_tensor_dtype(got->tensor) !=
		 tp_tensor_dtype(expected->tensor))
		kind = "dtype";
	else if (!same_shape(got->tensor, expected->tensor))
		kind = "shape";
	if (!kind)
		return true;
	differs(c, kind);
	put_tensor(&c->why, got);
	verdict_line_put(&c->why, ", expected ");
	put_tensor(&c->why, expected);
	return false;
}

/* The finite range of what was expected. */
static void
note_range(
    struct run_comparison *c, enum tp_dtype dtype, const void *data, uint64_t n)
{
	if (tp_dtype_kind(dtype) != TP_KIND_FLOAT)
		return;
	for (uint64_t i = 0; i < n; i++) {
		double x = tp_load_f64(dtype, data, (size_t)i);

		if (!isfinite(x))
			continue;
		c->low = x < c->low ? x : c->low;
		c->high = x > c->high ? x : c->high;
	}
}

double
run_range_of(const struct run_comparison *c)
{
	if (!(c->high >= c->low))
		return 0;
	return c->high > c->low ? c->high - c->low : fabs(c->high);
}

static struct tp_compare_rule
rule_for(const struct run_comparison *c, enum tp_dtype dtype)
{
	struct tp_compare_rule rule = {.equal_nan = true};

	rule.has_abs = is_float(dtype);
	if (rule.has_abs && c->tolerance.has_range) {
		rule.atol = c->tolerance.of_range * run_range_of(c);
	} else if (rule.has_abs) {
		rule.rtol = c->tolerance.rtol;
		rule.atol = c->tolerance.atol;
	}
	return rule;
}

static enum tp_status
compare_elements(struct run_comparison *c, const struct tp_tensor *got,
    const struct tp_tensor *expected, struct tp_err *err)
{
	const enum tp_dtype dtype = tp_tensor_dtype(expected);
	const uint64_t n = tp_tensor_numel(expected);
	const void *a = tp_tensor_data(got), *b = tp_tensor_data(expected);
	struct tp_compare_rule rule;
	const struct verdict_elements what = {.n_elems = n,
	    .rank = tp_tensor_rank(expected),
	    .shape = tp_tensor_sizes(expected),
	    .dtype = {dtype, dtype}};
	struct tp_compare figures = {0};
	enum tp_status rc = TP_OK;

	c->dtype = dtype;
	c->has_figures = true;
	note_range(c, dtype, b, n);
	rule = rule_for(c, dtype);
	if (n == 0 || tp_compare_same(dtype, a, b, (size_t)n, true)) {
		tp_compare_add_same(&c->figures, n);
		return TP_OK;
	}
	c->exact = false;
	rc =
	    tp_compare_add(&figures, &rule, dtype, a, dtype, b, (size_t)n, err);
	if (rc)
		return rc;
	if (figures.n_over) {
		differs(c, run_value_differs);
		verdict_line_over(&c->why, &what, &figures, &rule);
	}
	tp_compare_join(&c->figures, &figures);
	return TP_OK;
}

/* Numbers of one pool: equal strings have equal numbers. */
static void
compare_strings(struct run_comparison *c, const struct tp_tensor *got,
    const struct tp_tensor *expected)
{
	const uint64_t *a = tp_tensor_data(got), *b = tp_tensor_data(expected);
	uint64_t n = tp_tensor_numel(expected), over = 0, first = 0;

	c->dtype = TP_DTYPE_STRING;
	for (uint64_t i = 0; i < n; i++)
		if (a[i] != b[i] && over++ == 0)
			first = i;
	if (!over)
		return;
	c->exact = false;
	differs(c, run_value_differs);
	verdict_line_put(&c->why,
	    "%" PRIu64 " of %" PRIu64 " strings differ, the first is number "
	    "%" PRIu64 ": '%s' and '%s'",
	    over, n, first, TP_BRIEF(tp_strings_at(c->strings, a[first])),
	    TP_BRIEF(tp_strings_at(c->strings, b[first])));
}

static enum tp_status
compare_tensors(struct run_comparison *c, const struct tp_value *got,
    const struct tp_value *expected, struct tp_err *err)
{
	struct tp_tensor *a = NULL, *b = NULL;
	enum tp_status rc;

	if (!check_types(c, got, expected))
		return TP_OK;
	rc = tp_tensor_contiguous(got->tensor, &a, err);
	if (!rc)
		rc = tp_tensor_contiguous(expected->tensor, &b, err);
	if (!rc && got->kind == TP_VALUE_STRINGS)
		compare_strings(c, a, b);
	else if (!rc)
		rc = compare_elements(c, a, b, err);
	tp_tensor_free(a);
	tp_tensor_free(b);
	return rc;
}

static enum tp_status compare(struct run_comparison *c,
    const struct tp_value *got, const struct tp_value *expected,
    struct tp_err *err);

/*
 * Item by item; the first that differs is told. Depth is that of declared
 * types.
 */
static enum tp_status
compare_lists(struct run_comparison *c, const struct tp_value *got,
    const struct tp_value *expected, struct tp_err *err)
{
	size_t n = tp_list_count(expected->list), begin = c->why.n;
	enum tp_status rc = TP_OK;

	if (tp_list_count(got->list) != n) {
		differs(c, "length");
		verdict_line_put(&c->why, "%s of %zu, expected %zu",
		    tp_value_kind_name(got->kind), tp_list_count(got->list), n);
		return TP_OK;
	}
	for (size_t i = 0; i < n && !rc; i++) {
		const char *kind = c->kind;
		size_t before = c->why.n;

		verdict_line_put(
		    &c->why, "%selement %zu: ", before > begin ? "; " : "", i);
		rc = compare(c, tp_list_at(got->list, i),
		    tp_list_at(expected->list, i), err);
		if (c->kind == kind)
			verdict_line_cut(&c->why, before);
	}
	return rc;
}

static enum tp_status
compare(struct run_comparison *c, const struct tp_value *got,
    const struct tp_value *expected, struct tp_err *err)
{
	if (tp_value_has_tensor(got) && tp_value_has_tensor(expected))
		return compare_tensors(c, got, expected, err);
	if (got->kind == expected->kind && got->list && expected->list)
		return compare_lists(c, got, expected, err);
	differs(c, "kind");
	verdict_line_put(&c->why, "%s, expected %s",
	    tp_value_kind_name(got->kind), tp_value_kind_name(expected->kind));
	return TP_OK;
}

enum tp_status
run_compare(struct run_comparison *c, const struct tp_value *got,
    const struct tp_value *expected, struct tp_err *err)
{
	c->exact = true;
	c->low = INFINITY;
	c->high = -INFINITY;
	return compare(c, got, expected, err);
}
