/* SPDX-License-Identifier: Apache-2.0 */
/* diff_table.c - the figures of a pair, as a list, as a row, as advice */
#include "diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tp/alloc.h"

#include "text.h"

const struct tp_compare *
diff_pair_figures(
    const struct diff_pair *p, uint64_t n_elems, struct tp_compare *scratch)
{
	bool parts = tp_dtype_kind(p->dtype[0]) == TP_KIND_COMPLEX;

	if (p->figures)
		return p->figures;
	*scratch = (struct tp_compare){0};
	tp_compare_add_same(scratch, parts ? 2 * n_elems : n_elems);
	return scratch;
}

size_t
diff_figures(const struct verdict_item *item,
    struct verdict_figure out[VERDICT_MAX_FIGURES])
{
	const struct diff_pair *p = item->detail;
	struct tp_compare scratch;
	const struct tp_compare *c =
	    diff_pair_figures(p, item->n_elems, &scratch);
	uint64_t per_place =
	    tp_dtype_kind(p->dtype[0]) == TP_KIND_COMPLEX ? 2 : 1;
	size_t n = 0;

	if (!p->has_figures)
		return 0;
#define U64(name, value)                   \
	out[n++] = (struct verdict_figure) \
	{                                  \
		name, VERDICT_U64,         \
		{                          \
			.u64 = value       \
		}                          \
	}
#define F64(name, value)                   \
	out[n++] = (struct verdict_figure) \
	{                                  \
		name, VERDICT_F64,         \
		{                          \
			.f64 = value       \
		}                          \
	}
#define TEXT(name, value)                  \
	out[n++] = (struct verdict_figure) \
	{                                  \
		name, VERDICT_TEXT,        \
		{                          \
			.text = value      \
		}                          \
	}
#define PLACE(name, value)                         \
	out[n++] = (struct verdict_figure)         \
	{                                          \
		name, VERDICT_INDEX,               \
		{                                  \
			.u64 = (value) / per_place \
		}                                  \
	}
	TEXT("compared_as", tp_dtype_name(p->dtype[0]));
	TEXT("compared_as_b", tp_dtype_name(p->dtype[1]));
	U64("equal", c->n_equal);
	U64("over", c->n_over);
	F64("max_abs", c->max_abs);
	F64("max_rel", c->max_rel);
	U64("max_ulp", c->max_ulp);
	if (p->ulp_dtype)
		TEXT("ulp_dtype", tp_dtype_name(p->ulp_dtype));
	F64("mean_abs", tp_compare_mean_abs(c));
	F64("rms", tp_compare_rms(c));
	F64("cosine", tp_compare_cosine(c));
	F64("sqnr_db", tp_compare_sqnr(c));
	U64("finite", c->n_finite);
	U64("nan_a", c->n_nan[0]);
	U64("nan_b", c->n_nan[1]);
	U64("nan_both", c->n_both_nan);
	U64("inf_a", c->n_inf[0]);
	U64("inf_b", c->n_inf[1]);
	U64("inf_both", c->n_same_inf);
	if (c->n_over) {
		PLACE("first", c->first_over);
		F64("first_a", c->first_a);
		F64("first_b", c->first_b);
	}
	if (c->max_abs > 0) {
		PLACE("worst", c->worst);
		F64("worst_a", c->worst_a);
		F64("worst_b", c->worst_b);
	}
	return n;
}

/* Two digits that are not below x, so that a rule of them is met. */
static void
put_above(char *buf, size_t size, double x)
{
	double more = x;

	for (int i = 0; i < 8; i++) {
		snprintf(buf, size, "%.2g", more);
		if (strtod(buf, NULL) >= x)
			return;
		more *= 1.03;
	}
	snprintf(buf, size, "%.17g", x);
}

/* … not above x. */
static void
put_below(char *buf, size_t size, double x, double step)
{
	double less = x;

	for (int i = 0; i < 8; i++) {
		snprintf(buf, size, "%.6g", less);
		if (strtod(buf, NULL) <= x)
			return;
		less -= step;
	}
	snprintf(buf, size, "%.17g", x);
}

bool
diff_advise(char buf[DIFF_ADVICE_SIZE], const struct tp_compare *c,
    const struct diff_rule *rule, bool must_name)
{
	const char *glob = must_name ? "'*=" : "", *end = must_name ? "'" : "";
	char number[40];
	size_t n = 0;

	buf[0] = '\0';
	if (c->n_special_over) {
		uint64_t unlike = c->n_special_over - c->n_both_nan;

		if (rule->element.equal_nan ||
		    c->n_special_over < c->n_both_nan || unlike ||
		    c->n_over > c->n_special_over)
			return false;
		snprintf(buf, DIFF_ADVICE_SIZE, "--equal-nan");
		return true;
	}
	if (rule->element.bits)
		return false;
#define ADD(...) \
	n += (size_t)snprintf(buf + n, DIFF_ADVICE_SIZE - n, __VA_ARGS__)
	if (rule->by_element && isfinite(c->max_abs)) {
		put_above(number, sizeof(number), c->max_abs);
		ADD("--atol %s%s%s", glob, number, end);
		if (isfinite(c->max_rel)) {
			/* The quotient was rounded, as will be the product. */
			put_above(
			    number, sizeof(number), c->max_rel * (1 + 1e-15));
			ADD(", --rtol %s%s%s", glob, number, end);
		}
		ADD(" or --ulp %s%" PRIu64 "%s", glob, c->max_ulp, end);
	}
	if (rule->has_cosine && !(tp_compare_cosine(c) >= rule->cosine)) {
		put_below(number, sizeof(number), tp_compare_cosine(c), 1e-6);
		ADD("%s--cosine %s%s%s", n ? ", with " : "", glob, number, end);
	}
	if (rule->has_sqnr && isfinite(tp_compare_sqnr(c)) &&
	    !(tp_compare_sqnr(c) >= rule->sqnr)) {
		put_below(number, sizeof(number), tp_compare_sqnr(c), 1e-3);
		ADD("%s--sqnr %s%s%s", n ? ", with " : "", glob, number, end);
	}
#undef ADD
	return n > 0;
}

/* The worst first: what failed, then the noisier, then as in the file. */
static int
by_badness(const void *a, const void *b)
{
	const struct verdict_item *x = *(const struct verdict_item *const *)a;
	const struct verdict_item *y = *(const struct verdict_item *const *)b;
	struct tp_compare scratch[2];
	const struct tp_compare *p =
	    diff_pair_figures(x->detail, x->n_elems, &scratch[0]);
	const struct tp_compare *q =
	    diff_pair_figures(y->detail, y->n_elems, &scratch[1]);
	double sx = tp_compare_sqnr(p), sy = tp_compare_sqnr(q);
	bool special_x = p->n_special_over > 0;
	bool special_y = q->n_special_over > 0;

	if (x->exit != y->exit)
		return x->exit > y->exit ? -1 : 1;
	if (special_x != special_y)
		return special_x ? -1 : 1;
	/* NaN, of sums beyond the largest double, is the worst. */
	if (isnan(sx) || isnan(sy))
		sx = isnan(sx) ? -INFINITY : sx,
		sy = isnan(sy) ? -INFINITY : sy;
	if (sx < sy || sx > sy)
		return sx < sy ? -1 : 1;
	return (x > y) - (x < y);
}

static void
put_row(FILE *out, const struct verdict_item *item)
{
	const struct diff_pair *p = item->detail;
	struct tp_compare scratch;
	const struct tp_compare *c =
	    diff_pair_figures(p, item->n_elems, &scratch);

	fprintf(out,
	    "%-12s %10.3g %10.3g %11" PRIu64
	    " %10.3g %10.3g %12.9f %8.2f %11" PRIu64 "  ",
	    verdict_status_name(item->status), c->max_abs, c->max_rel,
	    c->max_ulp, tp_compare_mean_abs(c), tp_compare_rms(c),
	    tp_compare_cosine(c), tp_compare_sqnr(c), c->n_over);
	cli_put_name(out, item->name, CLI_NAME_COLUMNS);
	putc('\n', out);
}

void
diff_put_table(FILE *out, const struct verdict *v, uint64_t most)
{
	const struct verdict_item **rows =
	    tp_mem_array(NULL, v->n_items, sizeof(*rows));
	size_t n = 0;

	if (!rows) {
		cli_message("out of memory for the table");
		return;
	}
	for (size_t i = 0; i < v->n_items; i++)
		if (((const struct diff_pair *)v->items[i].detail)->has_figures)
			rows[n++] = &v->items[i];
	qsort(rows, n, sizeof(*rows), by_badness);
	fprintf(out, "%-12s %10s %10s %11s %10s %10s %12s %8s %11s  %s\n",
	    "status", "max abs", "max rel", "max ulp", "mean abs", "rms",
	    "cosine", "SQNR dB", "over", "name");
	for (size_t i = 0; i < n && (!most || i < most); i++)
		put_row(out, rows[i]);
	if (most && n > most)
		fprintf(out, "... and %zu more\n", n - (size_t)most);
	putc('\n', out);
	tp_mem_free(NULL, rows, v->n_items, sizeof(*rows));
}
