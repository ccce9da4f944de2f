/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.h - shell patterns on tensor names, for --include and --exclude
 *
 *	*	any characters, also none and also '/' and '.'
 *	?	one character
 *	[a-z]	one of them; [!a-z] and [^a-z] one that is not; [[:digit:]]
 *	\c	the character c itself
 *
 * A pattern matches a whole name. A character is one of UTF-8, or a byte that
 * is none. The time is at most the product of both lengths.
 */
#ifndef CLI_GLOB_H
#define CLI_GLOB_H

#include <stdbool.h>

#include "tp/error.h"

#include "cli.h"

bool cli_glob(struct tp_str pattern, struct tp_str name);

/* What --include and --exclude have gathered. */
struct cli_filter {
	struct cli_list include, exclude;
};

/* Rows for a table of options; filter is a struct cli_filter object. */
#define CLI_FILTER_OPTIONS(filter)                                           \
	{CLI_LIST, 0, "include", "GLOB", &(filter).include,                  \
	    .help = "only tensors whose name matches GLOB (repeatable)"},    \
	{                                                                    \
		CLI_LIST, 0, "exclude", "GLOB", &(filter).exclude,           \
		    .help = "not those whose name matches GLOB (repeatable)" \
	}

/*
 * True if no pattern excludes the name and one, if there are any, includes it.
 */
bool cli_filter_takes(const struct cli_filter *filter, struct tp_str name);

#endif
