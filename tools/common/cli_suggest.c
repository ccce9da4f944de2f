/* SPDX-License-Identifier: Apache-2.0 */
/* cli_suggest.c - which option was meant */
#include "cli.h"

#include <string.h>

#define MAX_NAME 40

/*
 * How many single letters must be added, dropped, replaced or swapped with
 * their neighbour to turn a into b. Names beyond MAX_NAME are too far.
 */
static size_t
edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][MAX_NAME + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2], *spare;

	if (na > MAX_NAME || nb > MAX_NAME)
		return MAX_NAME;
	for (size_t j = 0; j <= nb; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= na; i++) {
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[nb];
}

const char *
cli_suggest(const struct cli_option *const *options, size_t n, const char *name,
    size_t len)
{
	const char *found = NULL;
	/* A third of the letters may be wrong. */
	size_t best = len / 3 + 1;

	for (size_t i = 0; i < n; i++) {
		size_t d;

		if (!options[i]->name)
			continue;
		d = edit_distance(
		    name, len, options[i]->name, strlen(options[i]->name));
		if (d < best || (d == best && !found)) {
			best = d;
			found = options[i]->name;
		}
	}
	return found;
}
