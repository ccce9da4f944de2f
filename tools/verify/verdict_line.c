/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_line.c - the reason of a verdict: one line that grows */
#include "verdict_line.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "verdict.h"

void
verdict_line_put(struct verdict_line *l, const char *fmt, ...)
{
	size_t room = sizeof(l->text) - l->n;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(l->text + l->n, room, fmt, args);
	va_end(args);
	if (n > 0)
		l->n += (size_t)n < room ? (size_t)n : room - 1;
}

void
verdict_line_cut(struct verdict_line *l, size_t n)
{
	l->n = n;
	l->text[n] = '\0';
}

/* Element numbers are those of parts when numbers are complex. */
static void
put_place(struct verdict_line *l, const struct verdict_elements *what,
    uint64_t element)
{
	uint64_t at[TP_MAX_RANK];
	unsigned rank;

	if (tp_dtype_kind(what->dtype[0]) == TP_KIND_COMPLEX)
		element /= 2;
	rank = verdict_coordinates(what->shape, what->rank, element, at);
	verdict_line_put(l, "[");
	for (unsigned d = 0; d < rank; d++)
		verdict_line_put(l, d ? ", %" PRIu64 : "%" PRIu64, at[d]);
	verdict_line_put(l, "]");
}

/* As many digits as tell all numbers of a dtype apart. */
static int
digits_of(enum tp_dtype dtype)
{
	if (tp_dtype_kind(dtype) == TP_KIND_FLOAT)
		return tp_dtype_bits(dtype) <= 16   ? 5
		       : tp_dtype_bits(dtype) == 32 ? 9
						    : 17;
	if (dtype == TP_DTYPE_C64)
		return 9;
	return 17;
}

static void
put_values(struct verdict_line *l, const struct verdict_elements *what,
    double a, double b)
{
	for (int s = 0; s < 2; s++) {
		double x = s ? b : a;

		if (s)
			verdict_line_put(l, " and ");
		verdict_line_put(
		    l, isnan(x) ? "nan" : "%.*g", digits_of(what->dtype[s]), x);
	}
}

void
verdict_line_over(struct verdict_line *l, const struct verdict_elements *what,
    const struct tp_compare *c, const struct tp_compare_rule *rule)
{
	verdict_line_put(l, "%" PRIu64 " of %" PRIu64 " element%s %s",
	    c->n_over, c->n, c->n == 1 ? "" : "s",
	    rule->has_abs || rule->has_ulp ? "beyond the tolerance" : "differ");
	if (c->n_special_over)
		verdict_line_put(
		    l, " (%" PRIu64 " for NaN or infinity)", c->n_special_over);
	verdict_line_put(l, ", first at ");
	put_place(l, what, c->first_over);
	verdict_line_put(l, ": ");
	put_values(l, what, c->first_a, c->first_b);
	if (c->max_abs > 0 && c->worst != c->first_over) {
		verdict_line_put(l, ", worst at ");
		put_place(l, what, c->worst);
		verdict_line_put(l, ": ");
		put_values(l, what, c->worst_a, c->worst_b);
	}
	if (c->max_abs > 0)
		verdict_line_put(l, ", max abs %.3g rel %.3g ulp %" PRIu64,
		    c->max_abs, c->max_rel, c->max_ulp);
}
