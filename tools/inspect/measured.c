/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measured.c - the text of --stats, --histogram and --hash
 *
 *	name  dtype  shape  min  max  mean  std  zeros  nan  inf
 *
 * Hashes alone are lines as sha256sum prints them: 64 digits, two spaces, name.
 */
#include "inspect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define NAME_COLUMN 44
#define BAR 50

/* The shortest of %.6g … %.17g would be noise here: six digits, always. */
static void
put_number(double v)
{
	printf("  %12.6g", v);
}

static void
put_range(const struct tp_entry *e, const struct tp_stats *s)
{
	switch (tp_dtype_kind(e->dtype)) {
	case TP_KIND_BOOL:
	case TP_KIND_INT:
		printf("  %12" PRId64 "  %12" PRId64, s->int_min, s->int_max);
		return;
	case TP_KIND_UINT:
		printf("  %12" PRIu64 "  %12" PRIu64, s->uint_min, s->uint_max);
		return;
	case TP_KIND_NONE:
	case TP_KIND_FLOAT:
	case TP_KIND_COMPLEX:
	case TP_KIND_STRING:
		put_number(s->min);
		put_number(s->max);
		return;
	}
}

static void
put_stats(const struct tp_entry *e, const struct inspect_result *x)
{
	const struct tp_stats *s = &x->stats;

	if (!x->has_stats || !s->n_finite)
		printf("  %12s  %12s  %12s  %12s", "-", "-", "-", "-");
	if (!x->has_stats) {
		printf("  %10s  %8s  %8s", "-", "-", "-");
		return;
	}
	if (s->n_finite) {
		put_range(e, s);
		put_number(s->mean);
		put_number(tp_stats_std(s));
	}
	printf("  %10" PRIu64 "  %8" PRIu64 "  %8" PRIu64, s->n_zero, s->n_nan,
	    s->n_pos_inf + s->n_neg_inf);
}

void
inspect_put_histogram(FILE *out, const struct tp_histogram *h)
{
	uint64_t most = 1;

	for (unsigned i = 0; i < h->n_bins; i++)
		if (h->counts[i] > most)
			most = h->counts[i];
	for (unsigned i = 0; i < h->n_bins; i++) {
		double edge = h->low + (h->high - h->low) * i / h->n_bins;
		char bar[BAR + 1];
		/* Anything at all is at least one mark. */
		size_t n = (size_t)((double)h->counts[i] / (double)most * BAR);

		if (n == 0 && h->counts[i])
			n = 1;
		memset(bar, '#', n);
		bar[n] = '\0';
		fprintf(out, "  %12.5g  %12" PRIu64 "%s%s\n", edge,
		    h->counts[i], n ? "  " : "", bar);
	}
	fprintf(out, "  %12.5g\n", h->high);
}

static size_t
name_column(const struct inspect_file *f)
{
	size_t widest = 4;

	for (size_t i = 0; i < f->n; i++) {
		size_t w =
		    cli_name_width(inspect_entry(f, i)->name, NAME_COLUMN);

		if (w > widest)
			widest = w;
	}
	return widest;
}

static void
put_titles(size_t column)
{
	printf(
	    "%s%-*s  %-8s  %12s  %12s  %12s  %12s  %10s  %8s  %8s  shape%s\n",
	    cli_colour(CLI_BOLD), (int)column, "name", "dtype", "min", "max",
	    "mean", "std", "zeros", "nan", "inf", cli_colour(CLI_PLAIN));
}

static void
put_tensor(
    const struct tp_entry *e, const struct inspect_result *x, size_t column)
{
	char text[SHA256_TEXT_SIZE];
	size_t width;

	if (inspect_options.hash) {
		fputs(sha256_text(x->hash, text), stdout);
		fputs("  ", stdout);
	}
	width = cli_put_name(stdout, e->name, CLI_NAME_COLUMNS);
	if (inspect_options.stats) {
		cli_put_spaces(
		    stdout, (width < column ? column - width : 0) + 2);
		printf("%-8s", tp_dtype_name(e->dtype));
		put_stats(e, x);
		fputs("  ", stdout);
		inspect_put_sizes(stdout, e->shape, e->rank);
	} else if (inspect_options.histogram) {
		printf("  %s ", tp_dtype_name(e->dtype));
		inspect_put_sizes(stdout, e->shape, e->rank);
	}
	putc('\n', stdout);
	if (x->has_histogram)
		inspect_put_histogram(stdout, &x->histogram);
	else if (inspect_options.histogram)
		fputs("  nothing to count\n", stdout);
}

void
inspect_measured(struct inspect_file *f)
{
	struct inspect_results results;
	size_t column = name_column(f);

	if (!inspect_results_init(&results, f))
		return;
	if (inspect_options.stats && !inspect_options.hash)
		put_titles(column);
	for (size_t i = 0; i < f->n && !cli_output_failed(); i++) {
		const struct inspect_result *x =
		    inspect_results_get(&results, i);

		if (!x->err.status)
			put_tensor(inspect_entry(f, i), x, column);
	}
	inspect_results_release(&results);
}
