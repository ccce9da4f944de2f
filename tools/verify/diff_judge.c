/* SPDX-License-Identifier: Apache-2.0 */
/* diff_judge.c - one pair: what is compared, and what is said of it */
#include "diff.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/shape.h"

#include "verdict_line.h"

/* What belongs to one comparison. */
struct judgement {
	struct diff *d;
	struct diff_pair *pair;
	const struct tp_entry *e[2];
	struct diff_side sides[2];
	struct diff_quant *quants[2];
	struct diff_rule rule;
	struct tp_compare scratch;
	const struct tp_compare *figures;
	bool quantizer_on_one_side;
	bool shapes_differ, dtypes_differ;
	struct verdict_line why;
};

static bool
is_real(enum tp_dtype dtype)
{
	return tp_dtype_kind(dtype) == TP_KIND_FLOAT;
}

static bool
is_comparable(enum tp_dtype a, enum tp_dtype b)
{
	return (tp_dtype_kind(a) == TP_KIND_COMPLEX) ==
	       (tp_dtype_kind(b) == TP_KIND_COMPLEX);
}

/* True if B, its axes reversed if asked for, has the shape of A. */
static bool
has_shape_of(const struct tp_entry *a, const struct tp_entry *b, bool reversed)
{
	if (a->rank != b->rank)
		return false;
	for (unsigned d = 0; d < a->rank; d++)
		if (a->shape[d] != b->shape[reversed ? b->rank - 1 - d : d])
			return false;
	return true;
}

/* True in *same if both parameters are the same tensor, or both are none. */
static enum tp_status
same_parameter(struct judgement *j, size_t a, size_t b, bool *same,
    int *at_fault, struct tp_err *err)
{
	struct diff_side sides[2] = {
	    {.r = j->d->r[0], .entry = a}, {.r = j->d->r[1], .entry = b}};
	const struct tp_entry *x, *y;

	*same = a == TP_NONE && b == TP_NONE;
	if (a == TP_NONE || b == TP_NONE)
		return TP_OK;
	x = tp_reader_entry(j->d->r[0], a);
	y = tp_reader_entry(j->d->r[1], b);
	if (x->dtype != y->dtype || !has_shape_of(x, y, false))
		return TP_OK;
	sides[0].dtype = sides[1].dtype = x->dtype;
	return diff_values_same(
	    &j->d->engine, sides, true, same, at_fault, err);
}

static enum tp_status
same_quantizer(
    struct judgement *j, bool *same, int *at_fault, struct tp_err *err)
{
	const struct tp_quant_info *a = j->e[0]->quant, *b = j->e[1]->quant;
	enum tp_status rc;

	*same = false;
	if (a->per != b->per || a->axis != b->axis || a->block != b->block)
		return TP_OK;
	rc = same_parameter(j, a->scale, b->scale, same, at_fault, err);
	if (rc || !*same)
		return rc;
	return same_parameter(
	    j, a->zero_point, b->zero_point, same, at_fault, err);
}

static enum tp_status
open_quant(struct judgement *j, int side, int *at_fault, struct tp_err *err)
{
	*at_fault = side;
	return diff_quant_open(
	    j->d->r[side], j->sides[side].entry, &j->quants[side], err);
}

/*
 * Integers beside real numbers are compared as the numbers they stand for, and
 * so are integers beside others with another quantizer. Quantizers that only a
 * graph tells of count beside real numbers alone: elsewhere they are tensors
 * and nodes of their own.
 */
static enum tp_status
choose_quantizers(struct judgement *j, int *at_fault, struct tp_err *err)
{
	const struct tp_quant_info *q[2] = {j->e[0]->quant, j->e[1]->quant};
	bool record = (q[0] && !q[0]->in_graph) || (q[1] && !q[1]->in_graph);
	enum tp_status rc = TP_OK;
	bool same = false;

	for (int s = 0; s < 2; s++)
		if (q[s] && !q[1 - s] && is_real(j->e[1 - s]->dtype)) {
			rc = open_quant(j, s, at_fault, err);
			j->sides[s].quant = j->quants[s];
			j->sides[s].dtype = j->e[1 - s]->dtype;
			return rc;
		}
	if (!record)
		return TP_OK;
	if (!q[0] || !q[1]) {
		j->quantizer_on_one_side = true;
		return TP_OK;
	}
	rc = same_quantizer(j, &same, at_fault, err);
	if (rc || same)
		return rc;
	for (int s = 0; !rc && s < 2; s++)
		rc = open_quant(j, s, at_fault, err);
	if (rc)
		return rc;
	for (int s = 0; s < 2; s++) {
		j->sides[s].quant = j->quants[s];
		j->sides[s].dtype =
		    diff_quant_real(j->quants[0]) == TP_DTYPE_F64
			? TP_DTYPE_F64
			: diff_quant_real(j->quants[1]);
	}
	return TP_OK;
}

static void
put_over(struct judgement *j)
{
	const struct verdict_elements what = {
	    .n_elems = j->e[0]->n_elems,
	    .rank = j->e[0]->rank,
	    .shape = j->e[0]->shape,
	    .dtype = {j->sides[0].dtype, j->sides[1].dtype},
	};

	verdict_line_over(&j->why, &what, j->figures, &j->rule.element);
}

/* True if the figures meet the rule; else why not is put. */
static bool
meets_rule(struct judgement *j)
{
	const struct tp_compare *c = j->figures;
	const struct diff_rule *rule = &j->rule;
	double cosine = tp_compare_cosine(c), sqnr = tp_compare_sqnr(c);
	bool over = rule->by_element ? c->n_over > 0 : c->n_special_over > 0;
	bool fails = over;

	if (over)
		put_over(j);
	if (rule->has_cosine && !(cosine >= rule->cosine)) {
		verdict_line_put(&j->why, "%scosine %.9g is below %.9g",
		    fails ? "; " : "", cosine, rule->cosine);
		fails = true;
	}
	if (rule->has_sqnr && !(sqnr >= rule->sqnr)) {
		verdict_line_put(&j->why, "%sSQNR %.4g dB is below %.4g dB",
		    fails ? "; " : "", sqnr, rule->sqnr);
		fails = true;
	}
	return !fails;
}

/* Fills the figures; a status that is not TP_OK could not be found out. */
static enum tp_status
compare_values(struct judgement *j, int *at_fault, struct tp_err *err)
{
	struct diff_pair *p = j->pair;
	enum tp_status rc = TP_OK;
	bool same = false;

	p->dtype[0] = j->sides[0].dtype;
	p->dtype[1] = j->sides[1].dtype;
	if (p->dtype[0] == p->dtype[1])
		rc = diff_values_same(&j->d->engine, j->sides,
		    j->rule.element.equal_nan, &same, at_fault, err);
	if (rc)
		return rc;
	p->ulp_dtype = tp_compare_ulp_dtype(p->dtype[0], p->dtype[1]);
	if (!same) {
		p->figures = tp_mem_array(NULL, 1, sizeof(*p->figures));
		if (!p->figures)
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "no memory for figures");
		rc = diff_values_compare(&j->d->engine, j->sides,
		    &j->rule.element, p->figures, at_fault, err);
	}
	j->figures = diff_pair_figures(p, j->e[0]->n_elems, &j->scratch);
	p->has_figures = !rc;
	return rc;
}

/*
 * A matrix that is the other's transpose, or one of another shape over the same
 * values, is worth knowing of.
 */
static void
put_hint(struct judgement *j)
{
	struct diff_side sides[2] = {j->sides[0], j->sides[1]};
	const struct tp_entry *a = j->e[0], *b = j->e[1];
	struct tp_err err = TP_ERR_INIT;
	bool same = false;
	int at_fault;

	if (sides[0].dtype != sides[1].dtype || sides[0].quant ||
	    sides[1].quant || a->sparse || b->sparse || j->pair->transposed ||
	    a->rank != 2 || a->n_elems < 2 || !has_shape_of(a, b, true))
		return;
	sides[1].transposed = true;
	/* Only a hint: what cannot be read was told before. */
	if (!diff_values_same(
		&j->d->engine, sides, true, &same, &at_fault, &err) &&
	    same)
		verdict_line_put(&j->why,
		    "; the second is the first one's transpose "
		    "(--transpose)");
}

static void
put_advice(struct judgement *j)
{
	char advice[DIFF_ADVICE_SIZE];
	const struct diff_pair *p = j->pair;
	bool must_name = !is_real(p->dtype[0]) || !is_real(p->dtype[1]);

	if (tp_dtype_kind(p->dtype[0]) == TP_KIND_COMPLEX)
		must_name = false;
	if (diff_advise(advice, j->figures, &j->rule, must_name))
		verdict_line_put(&j->why, "; would pass with %s", advice);
	else
		verdict_line_put(&j->why, "; no tolerance lets it pass");
}

static enum tp_status
judge_strings(struct judgement *j, struct verdict_item *item, int *at_fault,
    struct tp_err *err)
{
	bool same = false;
	enum tp_status rc;

	rc = diff_strings_same(&j->d->engine, j->sides, &same, at_fault, err);
	if (rc || same)
		return rc;
	verdict_line_put(&j->why, "%sstrings differ", j->why.n ? "; " : "");
	if (!item->kind)
		item->kind = "value";
	return TP_OK;
}

static enum tp_status
judge_numbers(struct judgement *j, struct verdict_item *item, int *at_fault,
    struct tp_err *err)
{
	enum tp_status rc = choose_quantizers(j, at_fault, err);
	bool meets;

	if (rc)
		return rc;
	j->rule = diff_rule_for(j->d->tolerances, j->e[0]->name,
	    j->sides[0].dtype, j->sides[1].dtype);
	if (j->dtypes_differ &&
	    (j->rule.element.bits ||
		(!j->rule.is_tolerant && !j->d->o->ignore_dtype)))
		item->kind = item->kind ? item->kind : "dtype";
	else if (j->dtypes_differ && !j->shapes_differ)
		j->why.n = 0;
	if (j->sides[0].dtype != j->sides[1].dtype)
		j->rule.element.bits = false;
	if (j->quantizer_on_one_side) {
		verdict_line_put(&j->why, "%sonly the %s has a quantizer",
		    j->why.n ? "; " : "", j->e[0]->quant ? "first" : "second");
		item->kind = item->kind ? item->kind : "quantizer";
	}
	rc = compare_values(j, at_fault, err);
	if (rc)
		return rc;

	if (j->why.n)
		verdict_line_put(&j->why, "; ");
	meets = meets_rule(j);
	if (meets && item->kind)
		verdict_line_put(
		    &j->why, j->figures->n_equal == j->figures->n
				 ? "values are equal"
				 : "values are within the tolerance");
	if (meets && item->kind && !strcmp(item->kind, "dtype") &&
	    !j->rule.element.bits)
		verdict_line_put(&j->why, "; would pass with --ignore-dtype");
	if (meets)
		return TP_OK;
	if (!item->kind)
		item->kind = j->figures->n_special_over == j->figures->n_over &&
				     j->figures->n_over
				 ? "nan"
				 : "value";
	put_advice(j);
	return TP_OK;
}

/* Fills what is known before any value is read. */
static void
compare_descriptions(struct judgement *j, struct verdict_item *item)
{
	const struct tp_entry *a = j->e[0], *b = j->e[1];

	j->shapes_differ = !has_shape_of(a, b, j->pair->transposed);
	j->dtypes_differ = a->dtype != b->dtype;
	if (j->shapes_differ) {
		item->kind = "shape";
		verdict_line_put(&j->why, "shape %s, and %s%s",
		    TP_SHAPE_TEXT(a->shape, a->rank),
		    TP_SHAPE_TEXT(b->shape, b->rank),
		    j->pair->transposed ? " to be transposed" : "");
	}
	if (j->dtypes_differ)
		verdict_line_put(&j->why, "%sdtype %s, and %s",
		    j->why.n ? "; " : "", tp_dtype_name(a->dtype),
		    tp_dtype_name(b->dtype));
}

static void
judge_pair(struct judgement *j, struct verdict_item *item)
{
	const struct tp_entry *a = j->e[0], *b = j->e[1];
	bool string_a = a->dtype == TP_DTYPE_STRING;
	bool string_b = b->dtype == TP_DTYPE_STRING;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc = TP_OK;
	int at_fault = 0;

	compare_descriptions(j, item);
	if (string_a != string_b || !is_comparable(a->dtype, b->dtype)) {
		item->kind = item->kind ? item->kind : "dtype";
	} else if (a->n_elems == b->n_elems) {
		rc = string_a ? judge_strings(j, item, &at_fault, &err)
			      : judge_numbers(j, item, &at_fault, &err);
		if (!rc && item->kind && !string_a)
			put_hint(j);
	}
	item->status = item->kind ? VERDICT_DIFFERENT : VERDICT_EQUAL;
	if (rc) {
		item->status = VERDICT_NOT_COMPARED;
		item->exit = cli_report(j->d->paths[at_fault], &err);
		item->kind =
		    item->exit == CLI_INPUT ? "unreadable" : "unsupported";
		j->why.n = 0;
		verdict_line_put(
		    &j->why, "%s: %s", tp_status_text(err.status), err.msg);
	}
	if (item->status != VERDICT_EQUAL)
		item->reason = j->why.text;
}

void
diff_judge(struct diff *d, struct diff_pair *pair)
{
	struct judgement j = {.d = d, .pair = pair};
	struct verdict_item item = {.detail = pair};
	const struct tp_entry *e;

	for (int s = 0; s < 2; s++) {
		if (pair->entry[s] == TP_NONE)
			continue;
		j.e[s] = tp_reader_entry(d->r[s], pair->entry[s]);
		j.sides[s] = (struct diff_side){.r = d->r[s],
		    .entry = pair->entry[s],
		    .transposed = s == 1 && pair->transposed,
		    .dtype = j.e[s]->dtype};
	}
	e = j.e[0] ? j.e[0] : j.e[1];
	item.name = e->name;
	if (j.e[0] && j.e[1] && tp_str_cmp(j.e[0]->name, j.e[1]->name))
		item.other_name = j.e[1]->name;
	item.n_elems = e->n_elems;
	item.nbytes = e->nbytes;
	item.rank = e->rank;
	item.shape = e->shape;
	if (pair->excluded)
		item.status = VERDICT_EXCLUDED;
	else if (!j.e[1])
		item.status = VERDICT_MISSING;
	else if (!j.e[0])
		item.status = VERDICT_EXTRA;
	else
		judge_pair(&j, &item);
	if (item.status == VERDICT_MISSING)
		item.reason = "only in the first file";
	if (item.status == VERDICT_EXTRA)
		item.reason = "only in the second file";
	verdict_add(&d->v, &item);
	diff_quant_close(j.quants[0]);
	diff_quant_close(j.quants[1]);
}
