/* SPDX-License-Identifier: Apache-2.0 */
/* diff_rules.c - [GLOB=]NUMBER, and what --tolerance auto means */
#include "diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct diff_tolerance {
	struct tp_str pattern; /* .s NULL: all but integers and bools */
	const char *text;
	double value;
	uint64_t ulp;
	size_t n_used;
};

static const char *const names[DIFF_METRIC_COUNT] = {
    "rtol", "atol", "ulp", "cosine", "sqnr"};

static const char *
complain(enum diff_metric m, const char *text, const char *what)
{
	static char message[400];

	snprintf(message, sizeof(message), "--%s %.120s: %.200s", names[m],
	    text, what);
	return message;
}

/* The last '=' divides, as a number has none. */
static const char *
parse(enum diff_metric m, const char *text, struct diff_tolerance *t)
{
	const char *equals = strrchr(text, '=');
	const char *number = equals ? equals + 1 : text;
	char *end = NULL;
	int64_t whole;

	t->text = text;
	if (equals)
		t->pattern = (struct tp_str){text, (size_t)(equals - text)};
	if (m == DIFF_ULP) {
		if (!cli_int_parse(number, &whole) || whole < 0)
			return complain(
			    m, text, "not a whole number from 0 on");
		t->ulp = (uint64_t)whole;
		return NULL;
	}
	errno = 0;
	t->value = strtod(number, &end);
	if (end == number || *end || !isfinite(t->value))
		return complain(m, text, "not a finite number");
	if ((m == DIFF_RTOL || m == DIFF_ATOL) && t->value < 0)
		return complain(m, text, "must not be negative");
	if (m == DIFF_COSINE && !(t->value >= -1 && t->value <= 1))
		return complain(m, text, "must be from -1 to 1");
	return NULL;
}

const char *
diff_tolerances_parse(struct diff_tolerances *t)
{
	for (int m = 0; m < DIFF_METRIC_COUNT; m++) {
		size_t n = t->lists[m].n;

		t->parsed[m] = calloc(n + 1, sizeof(*t->parsed[m]));
		if (!t->parsed[m])
			return cli_no_memory;
		for (size_t i = 0; i < n; i++) {
			const char *wrong = parse((enum diff_metric)m,
			    t->lists[m].items[i].text, &t->parsed[m][i]);

			if (wrong)
				return wrong;
		}
	}
	return NULL;
}

void
diff_tolerances_release(struct diff_tolerances *t)
{
	for (int m = 0; m < DIFF_METRIC_COUNT; m++) {
		free(t->parsed[m]);
		cli_list_release(&t->lists[m]);
	}
}

static bool
is_real(enum tp_dtype dtype)
{
	enum tp_dtype_kind kind = tp_dtype_kind(dtype);

	return kind == TP_KIND_FLOAT || kind == TP_KIND_COMPLEX;
}

/* The first that names the tensor; else the first without a pattern. */
static struct diff_tolerance *
find(struct diff_tolerances *t, enum diff_metric m, struct tp_str name,
    bool only_named)
{
	struct diff_tolerance *general = NULL;

	for (size_t i = 0; i < t->lists[m].n; i++) {
		struct diff_tolerance *p = &t->parsed[m][i];

		if (p->pattern.s && cli_glob(p->pattern, name)) {
			p->n_used++;
			return p;
		}
		if (!p->pattern.s && !general && !only_named)
			general = p;
	}
	if (general)
		general->n_used++;
	return general;
}

/*
 * --tolerance auto. A value that was rounded once in each file is within a code
 * of the other; a second code is for one more operation, for example a scale
 * that was multiplied back. Beyond that values were changed. So: two codes,
 * relative where numbers are normal (2 * 2^-m with m stored bits of mantissa)
 * and absolute among subnormals (two of the smallest). Types of 8 bits and less
 * have codes 6 to 50 percent apart, a second one is another value: there both
 * sides must be the same once rounded to the narrower type.
 */
static const struct automatic {
	enum tp_dtype dtype;
	int mantissa,
	    smallest; /* bits stored; exponent of the least subnormal */
} automatics[] = {
    {TP_DTYPE_F64, 52, -1074},
    {TP_DTYPE_F32, 23, -149},
    {TP_DTYPE_F16, 10, -24},
    {TP_DTYPE_BF16, 7, -133},
};

static void
set_automatic(struct diff_rule *rule, enum tp_dtype narrower)
{
	if (narrower == TP_DTYPE_C64)
		narrower = TP_DTYPE_F32;
	if (narrower == TP_DTYPE_C128)
		narrower = TP_DTYPE_F64;
	rule->is_tolerant = true;
	for (size_t i = 0; i < sizeof(automatics) / sizeof(automatics[0]); i++)
		if (automatics[i].dtype == narrower) {
			rule->element.has_abs = true;
			rule->element.rtol =
			    ldexp(1, 1 - automatics[i].mantissa);
			rule->element.atol =
			    ldexp(1, 1 + automatics[i].smallest);
			return;
		}
	rule->element.has_ulp = true;
}

struct diff_rule
diff_rule_for(struct diff_tolerances *t, struct tp_str name, enum tp_dtype a,
    enum tp_dtype b)
{
	struct diff_rule rule = {
	    .element = {.equal_nan = t->equal_nan, .bits = t->bits}};
	struct tp_compare_rule *e = &rule.element;
	struct diff_tolerance *found[DIFF_METRIC_COUNT];
	bool real = is_real(a) && is_real(b);

	for (int m = 0; m < DIFF_METRIC_COUNT; m++) {
		found[m] = find(t, (enum diff_metric)m, name, !real);
		rule.is_tolerant |= found[m] != NULL;
	}
	if (found[DIFF_RTOL] || found[DIFF_ATOL])
		e->has_abs = true;
	if (found[DIFF_RTOL])
		e->rtol = found[DIFF_RTOL]->value;
	if (found[DIFF_ATOL])
		e->atol = found[DIFF_ATOL]->value;
	if (found[DIFF_ULP]) {
		e->has_ulp = true;
		e->ulp = found[DIFF_ULP]->ulp;
	}
	if (found[DIFF_COSINE]) {
		rule.has_cosine = true;
		rule.cosine = found[DIFF_COSINE]->value;
	}
	if (found[DIFF_SQNR]) {
		rule.has_sqnr = true;
		rule.sqnr = found[DIFF_SQNR]->value;
	}
	if (!rule.is_tolerant && t->automatic && real)
		set_automatic(&rule, tp_compare_ulp_dtype(a, b));
	rule.by_element =
	    e->has_abs || e->has_ulp || e->bits || !rule.is_tolerant;
	return rule;
}

void
diff_tolerances_finish(const struct diff_tolerances *t)
{
	for (int m = 0; m < DIFF_METRIC_COUNT; m++)
		for (size_t i = 0; i < t->lists[m].n; i++)
			if (!t->parsed[m][i].n_used)
				cli_note("no tensor was compared by --%s %s",
				    names[m], t->parsed[m][i].text);
}
