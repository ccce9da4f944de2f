/* SPDX-License-Identifier: Apache-2.0 */
/* untrusted.c - limits by name, and the way into the sandbox */
#include "untrusted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_json.h"

struct cli_untrusted cli_untrusted = {.trust = CLI_TRUST_UNSAID};

const char *const cli_untrusted_choices[] = {"no", "yes", "require", NULL};

/* What models have that people use, and some more. */
#define LIMITS(X)                     \
	X(header_bytes, 32 << 20)     \
	X(directory_bytes, 256 << 20) \
	X(tensors, 1000000)           \
	X(name_bytes, 16 << 10)       \
	X(metadata, 10000)            \
	X(metadata_bytes, 16 << 20)   \
	X(depth, 64)                  \
	X(expansion, 1032)

static const struct limit {
	const char *name;
	size_t at; /* in struct tp_limits */
	uint64_t untrusted;
} limits[] = {
#define ROW(field, value) {#field, offsetof(struct tp_limits, field), (value)},
    LIMITS(ROW)
#undef ROW
};
#define N_LIMITS (sizeof(limits) / sizeof(limits[0]))

static uint64_t *
limit_in(struct tp_limits *l, const struct limit *limit)
{
	return (uint64_t *)(void *)((char *)l + limit->at);
}

const char *
cli_untrusted_set_limit(const struct cli_option *option, const char *text)
{
	static char unknown[64 + N_LIMITS * 24] = "not one of";
	size_t n = strcspn(text, "="), at;
	uint64_t value;

	for (size_t i = 0; i < N_LIMITS; i++) {
		if (strlen(limits[i].name) != n ||
		    memcmp(limits[i].name, text, n) != 0)
			continue;
		if (text[n] != '=' || !cli_size_parse(text + n + 1, &value) ||
		    value == 0)
			return "not NAME=N with a number above 0";
		*limit_in(option->value, &limits[i]) = value;
		return NULL;
	}
	at = strlen("not one of");
	for (size_t i = 0; i < N_LIMITS; i++)
		at += (size_t)snprintf(unknown + at, sizeof(unknown) - at,
		    "%s %s", i ? "," : "", limits[i].name);
	return unknown;
}

struct tp_limits
cli_untrusted_limits(void)
{
	struct tp_limits l = cli_untrusted.limits;

	for (size_t i = 0; cli_untrusted.trust > CLI_TRUSTED && i < N_LIMITS;
	     i++)
		if (*limit_in(&l, &limits[i]) == 0)
			*limit_in(&l, &limits[i]) = limits[i].untrusted;
	return l;
}

const char *
cli_untrusted_limit(size_t i, uint64_t *untrusted, uint64_t *otherwise)
{
	struct tp_limits usual = tp_limits_default();

	if (i >= N_LIMITS)
		return NULL;
	*untrusted = limits[i].untrusted;
	*otherwise = *limit_in(&usual, &limits[i]);
	return limits[i].name;
}

/* What holds where the command line says nothing. */
static int
settle_trust(enum cli_trust usual)
{
	const char *wish = getenv("TP_SANDBOX");
	bool required = wish && !strcmp(wish, "require");

	if (wish && *wish && !required && strcmp(wish, "off") != 0) {
		cli_message("TP_SANDBOX is neither off nor require");
		return CLI_USAGE;
	}
	if (cli_untrusted.trust == CLI_TRUST_UNSAID)
		cli_untrusted.trust = usual;
	else if (cli_untrusted.trust == CLI_TRUSTED)
		return CLI_OK;
	if (required)
		cli_untrusted.trust = CLI_SANDBOX_REQUIRED;
	return CLI_OK;
}

/* Of a sandbox that does not stand whole. */
static void
tell(const struct sandbox_state *state)
{
	if (!state->why[0])
		cli_note("sandbox: on");
	else
		cli_note("sandbox: %s: %s",
		    state->files || state->calls ? "in part" : "none",
		    state->why);
}

int
cli_untrusted_enter(enum cli_trust usual, struct sandbox_plan *plan)
{
	const struct sandbox_state *state;
	int rc = settle_trust(usual);

	if (rc == CLI_OK && plan->no_memory) {
		cli_message("out of memory");
		rc = CLI_INPUT;
	}
	if (rc == CLI_OK && cli_untrusted.trust != CLI_TRUSTED) {
		state = sandbox_enter(plan);
		if (cli_untrusted.trust == CLI_SANDBOX_REQUIRED &&
		    state->why[0]) {
			cli_message("no sandbox: %s", state->why);
			rc = CLI_UNSUPPORTED;
		} else if (cli_common.verbose) {
			tell(state);
		}
	}
	sandbox_plan_release(plan);
	return rc;
}

void
cli_untrusted_hint(const struct tp_err *err)
{
	if (err->status == TP_ELIMIT)
		cli_note("--limit NAME=N raises a limit");
}

int
cli_untrusted_report(const char *path, const struct tp_err *err)
{
	int rc = cli_report(path, err);

	cli_untrusted_hint(err);
	return rc;
}

void
cli_untrusted_put_json(struct tp_json *j)
{
	const struct sandbox_state *state = sandbox_state();

	if (!state->tried)
		return;
	tp_json_key(j, "sandbox");
	tp_json_object_begin(j);
	cli_json_bool(j, "files", state->files);
	cli_json_bool(j, "calls", state->calls);
	if (state->why[0])
		cli_json_text(j, "why", state->why);
	tp_json_object_end(j);
}
