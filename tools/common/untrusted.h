/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untrusted.h - files from anyone: tighter limits, and a sandbox while reading
 *
 *	options[] = {…, CLI_UNTRUSTED_OPTIONS("no"), …};
 *
 *	sandbox_plan_add(&plan, SANDBOX_READ, path);
 *	rc = cli_untrusted_enter(CLI_TRUSTED, &plan);
 *	open.limits = cli_untrusted_limits();
 *
 * TP_SANDBOX=require in the environment stands for --untrusted=require where
 * the command line says nothing; with =off there is no sandbox.
 */
#ifndef CLI_UNTRUSTED_H
#define CLI_UNTRUSTED_H

#include <stddef.h>

#include "tp/format.h"
#include "tp/json.h"

#include "cli.h"
#include "sandbox.h"

enum cli_trust {
	CLI_TRUST_UNSAID = -1,
	CLI_TRUSTED,
	CLI_UNTRUSTED,
	CLI_SANDBOX_REQUIRED,
};

/* What the options say; cli_untrusted_enter settles what they do not. */
struct cli_untrusted {
	int trust;		 /* enum cli_trust */
	struct tp_limits limits; /* of --limit; 0: not given */
};
extern struct cli_untrusted cli_untrusted;

extern const char *const cli_untrusted_choices[];
const char *cli_untrusted_set_limit(
    const struct cli_option *option, const char *text);

/* Rows for a table of options; usual is what holds without the option. */
#define CLI_UNTRUSTED_OPTIONS(usual)                                         \
	{CLI_CHOICE, 0, "untrusted", "WHEN", &cli_untrusted.trust,           \
	    .help = "tighter limits and a sandbox: yes, no, or require the " \
		    "sandbox (default " usual ")",                           \
	    .without = "yes", .choices = cli_untrusted_choices},             \
	{                                                                    \
		CLI_CALL, 0, "limit", "NAME=N", &cli_untrusted.limits,       \
		    .help = "raise or lower a limit, for example "           \
			    "tensors=2000000 (repeatable)",                  \
		    .call = cli_untrusted_set_limit                          \
	}

/*
 * Go into the sandbox, if that was asked for or is usual; releases the plan.
 * CLI_OK, or CLI_UNSUPPORTED where there is none that is required.
 */
int cli_untrusted_enter(enum cli_trust usual, struct sandbox_plan *plan);

/* What a file may have. */
struct tp_limits cli_untrusted_limits(void);

/* The limits one by one, for tests: NULL past the last. */
const char *cli_untrusted_limit(
    size_t i, uint64_t *untrusted, uint64_t *otherwise);

/* Behind a limit, how it can be raised. */
void cli_untrusted_hint(const struct tp_err *err);
/* cli_report, and that. */
int cli_untrusted_report(const char *path, const struct tp_err *err);

/* "sandbox": {…} into an object, where one was asked for. */
void cli_untrusted_put_json(struct tp_json *j);

#endif
