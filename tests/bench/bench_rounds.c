/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rounds.c - ours and theirs in turn, and the line that says how fast */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_ROUNDS 101
#define MIN_SECONDS 1.0 /* at least five rounds all the same */

/* Only lines that contain this are measured. */
static const char *only = "";

void
bench_begin(const char *word)
{
	only = word;
	printf("%-28s %-22s %6s   %s\n", "what", "against", "ratio", "wanted");
}

double
bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double
time_of(bench_fn *fn, void *ctx)
{
	double start = bench_now();

	fn(ctx);
	return bench_now() - start;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

_Bool
bench_run(const struct bench *b)
{
	double ratios[MAX_ROUNDS], end, median;
	unsigned n = 0;

	if (!strstr(b->what, only))
		return 1;
	b->ours(b->ours_ctx);
	b->theirs(b->theirs_ctx);
	end = bench_now() + MIN_SECONDS;
	while (n < MAX_ROUNDS && (n < 5 || bench_now() < end)) {
		double ours, theirs;

		/* Who comes second finds the caches warmer: take turns. */
		if (n % 2) {
			theirs = time_of(b->theirs, b->theirs_ctx);
			ours = time_of(b->ours, b->ours_ctx);
		} else {
			ours = time_of(b->ours, b->ours_ctx);
			theirs = time_of(b->theirs, b->theirs_ctx);
		}
		ratios[n++] = theirs / ours * b->scale;
	}
	qsort(ratios, n, sizeof(*ratios), compare);
	median = ratios[n / 2];
	printf("%-28s %-22s %6.2f   >= %.2f%s\n", b->what, b->against, median,
	    b->wanted, median < b->wanted ? "   BELOW" : "");
	fflush(stdout);
	return median >= b->wanted;
}
