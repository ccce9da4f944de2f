/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untrusted.h - files from anyone: tighter limits, and a sandbox while reading
 *
 *	static struct cli_untrusted untrusted;
 *
 *	options[] = {…, CLI_UNTRUSTED_OPTIONS(untrusted, "no"), …};
 *	rc = cli_untrusted_enter(&untrusted, &plan);
 *	open.limits = cli_untrusted_limits(&untrusted);
 */
#ifndef CLI_UNTRUSTED_H
#define CLI_UNTRUSTED_H

#include <stddef.h>

#include "tp/format.h"
#include "tp/json.h"

#include "cli.h"
#include "sandbox.h"

enum cli_trust { CLI_TRUSTED, CLI_UNTRUSTED, CLI_SANDBOX_REQUIRED };

struct cli_untrusted {
	int trust;		 /* enum cli_trust */
	struct tp_limits limits; /* of --limit; 0: not given */
};

extern const char *const cli_untrusted_choices[];
const char *cli_untrusted_set_limit(
    const struct cli_option *option, const char *text);

/* Rows for a table of options; usual is what holds without the option. */
#define CLI_UNTRUSTED_OPTIONS(u, usual)                                      \
	{CLI_CHOICE, 0, "untrusted", "WHEN", &(u).trust,                     \
	    .help = "tighter limits and a sandbox: yes, no, or require the " \
		    "sandbox (default " usual ")",                           \
	    .without = "yes", .choices = cli_untrusted_choices},             \
	{                                                                    \
		CLI_CALL, 0, "limit", "NAME=N", &(u).limits,                 \
		    .help = "raise or lower a limit, for example "           \
			    "tensors=2000000 (repeatable)",                  \
		    .call = cli_untrusted_set_limit                          \
	}

/*
 * Go into the sandbox, if that was asked for. CLI_OK, or CLI_UNSUPPORTED where
 * there is none that is required.
 */
int cli_untrusted_enter(
    const struct cli_untrusted *u, const struct sandbox_plan *plan);

/* What a file may have. */
struct tp_limits cli_untrusted_limits(const struct cli_untrusted *u);

/* cli_report, and behind a limit how it can be raised. */
int cli_untrusted_report(const char *path, const struct tp_err *err);

/* "sandbox": {…} into an object, where one was asked for. */
void cli_untrusted_put_json(struct tp_json *j);

#endif
