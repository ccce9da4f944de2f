/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.c - both walls, or what there is of them */
#include "sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"

#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif

/*
 * Sanitizers read /proc, stop threads from outside and start programs that name
 * functions; coverage writes its files at the end.
 */
#if defined(TP_NO_SANDBOX) || defined(__SANITIZE_ADDRESS__) ||        \
    defined(__SANITIZE_THREAD__) || HAS_FEATURE(address_sanitizer) || \
    HAS_FEATURE(thread_sanitizer) || HAS_FEATURE(memory_sanitizer)
#define IS_WATCHED true
#else
#define IS_WATCHED false
#endif

static struct sandbox_state state;

static const char *
why_not(void)
{
	const char *wish = getenv("TP_SANDBOX");

	if (wish && !strcmp(wish, "off"))
		return "TP_SANDBOX is off";
	return IS_WATCHED ? "built with sanitizers or for coverage" : NULL;
}

void
sandbox_plan_add(
    struct sandbox_plan *plan, enum sandbox_use use, const char *path)
{
	size_t size;
	struct sandbox_path *grown;
	char *copy;

	if (!path || !strcmp(path, "-"))
		return;
	size = strlen(path) + 1;
	copy = tp_mem_array(NULL, size, 1);
	grown = copy ? tp_mem_grow(NULL, plan->paths, plan->n, plan->n + 1,
			   sizeof(*grown))
		     : NULL;
	if (!grown) {
		tp_mem_free(NULL, copy, size, 1);
		plan->no_memory = true;
		return;
	}
	memcpy(copy, path, size);
	plan->paths = grown;
	plan->paths[plan->n++] = (struct sandbox_path){use, copy, size};
}

void
sandbox_plan_release(struct sandbox_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		tp_mem_free(NULL, plan->paths[i].path, plan->paths[i].size, 1);
	if (plan->paths)
		tp_mem_free(NULL, plan->paths, plan->n, sizeof(*plan->paths));
	*plan = (struct sandbox_plan){.paths = NULL};
}

static bool
will_write(const struct sandbox_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->paths[i].use == SANDBOX_WRITE ||
		    plan->paths[i].use == SANDBOX_WRITE_IN)
			return true;
	return false;
}

const struct sandbox_state *
sandbox_enter(const struct sandbox_plan *plan)
{
	const char *why = why_not();

	state = (struct sandbox_state){.tried = true};
	if (why) {
		snprintf(state.why, sizeof(state.why), "%s", why);
		return &state;
	}
	/* In this order: the second forbids the calls that make the first. */
	why = sandbox_files_enter(plan);
	state.files = !why;
	if (why)
		snprintf(state.why, sizeof(state.why), "files: %s", why);
	why = sandbox_calls_enter(will_write(plan));
	state.calls = !why;
	if (why) {
		size_t n = strlen(state.why);

		snprintf(state.why + n, sizeof(state.why) - n, "%scalls: %s",
		    n ? "; " : "", why);
	}
	return &state;
}

const struct sandbox_state *
sandbox_state(void)
{
	return &state;
}
