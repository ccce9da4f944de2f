/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - a process that gives up what reading files does not need
 *
 * Two walls, each of which holds without the other where the system has only
 * one of them:
 *
 *	files	(sandbox_files.c, Landlock) opens only what lies beneath the
 *		folders of its inputs, and writes only where its plan says so
 *	calls	(sandbox_calls.c, seccomp) no network, no other program, no new
 *		process, no signal to others, no code that was data before,
 *		nothing typed into a terminal
 *
 * There is no way back, and threads started later are inside too.
 */
#ifndef CLI_SANDBOX_H
#define CLI_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#define SANDBOX_MAX_OUTPUTS 2

struct sandbox_plan {
	/* Files and folders to read; "-" is standard input. */
	char *const *inputs;
	size_t n_inputs;
	/* Files that will be written, or NULL. */
	const char *outputs[SANDBOX_MAX_OUTPUTS];
};

struct sandbox_state {
	bool tried;
	bool files, calls; /* which walls stand */
	char why[160];	   /* why one does not; empty if both do */
};

/*
 * Before any thread is started. What the system cannot do is left out and told
 * in the state. TP_SANDBOX=off in the environment leaves out all: debuggers
 * and profilers inside the process may need what is given up.
 */
const struct sandbox_state *sandbox_enter(const struct sandbox_plan *plan);

/* What sandbox_enter returned, or a state that says it was not tried. */
const struct sandbox_state *sandbox_state(void);

/*
 * The walls. NULL, or why there is none: a few words, kept until the next call.
 * may_write: files will be made, where sandbox_files_enter allows it.
 */
const char *sandbox_files_enter(const struct sandbox_plan *plan);
const char *sandbox_calls_enter(bool may_write);

#endif
