/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_watch.c - TP_PROFILE=1 and TP_MEM_STATS=1: where time and memory went
 *
 * Printed to standard error when a tool ends, for whoever works on it.
 */
#include "cli_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/mem_stats.h"
#include "tp/profile.h"

static bool
is_on(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0") != 0;
}

static void
print_line(void *ctx, const char *line)
{
	(void)ctx;
	fprintf(stderr, "%s\n", line);
}

void
cli_watch_begin(void)
{
	if (is_on("TP_PROFILE"))
		tp_profile_enable(true);
	if (is_on("TP_MEM_STATS"))
		tp_mem_stats_enable(true);
}

void
cli_watch_end(void)
{
	if (tp_profile_enabled())
		tp_profile_report(print_line, NULL);
	if (tp_mem_stats_enabled())
		tp_mem_report(print_line, NULL);
}
