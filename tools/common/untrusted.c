/* SPDX-License-Identifier: Apache-2.0 */
/* untrusted.c - limits by name, and the way into the sandbox */
#include "untrusted.h"

#include <string.h>

#include "cli_json.h"

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
	size_t n = strcspn(text, "=");
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
	return "not one of header_bytes, directory_bytes, tensors, "
	       "name_bytes, metadata, metadata_bytes, depth, expansion";
}

struct tp_limits
cli_untrusted_limits(const struct cli_untrusted *u)
{
	struct tp_limits l = u->limits;

	for (size_t i = 0; u->trust != CLI_TRUSTED && i < N_LIMITS; i++)
		if (*limit_in(&l, &limits[i]) == 0)
			*limit_in(&l, &limits[i]) = limits[i].untrusted;
	return l;
}

int
cli_untrusted_enter(
    const struct cli_untrusted *u, const struct sandbox_plan *plan)
{
	const struct sandbox_state *state;

	if (u->trust == CLI_TRUSTED)
		return CLI_OK;
	state = sandbox_enter(plan);
	if (u->trust == CLI_SANDBOX_REQUIRED && state->why[0]) {
		cli_message("no sandbox: %s", state->why);
		return CLI_UNSUPPORTED;
	}
	if (cli_common.verbose && state->why[0])
		cli_note("sandbox: %s: %s",
		    state->files || state->calls ? "in part" : "none",
		    state->why);
	else if (cli_common.verbose)
		cli_note("sandbox: on");
	return CLI_OK;
}

int
cli_untrusted_report(const char *path, const struct tp_err *err)
{
	int rc = cli_report(path, err);

	if (err->status == TP_ELIMIT)
		cli_note("--limit NAME=N raises a limit");
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
