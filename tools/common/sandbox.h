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

enum sandbox_use {
	SANDBOX_READ,	  /* a model, or a folder: what lies beneath, too */
	SANDBOX_READ_ONE, /* a file that belongs to nothing beside it */
	SANDBOX_WRITE,	  /* a file, made beside it and renamed */
	SANDBOX_WRITE_IN, /* a folder, made if it is not there */
};

/* What a command line names. */
struct sandbox_plan {
	struct sandbox_path {
		enum sandbox_use use;
		char *path;
		size_t size;
	} * paths;
	size_t n;
	bool no_memory; /* something could not be added */
};

/* A path of NULL and "-", which is standard input or output, need no place. */
void sandbox_plan_add(
    struct sandbox_plan *plan, enum sandbox_use use, const char *path);
void sandbox_plan_release(struct sandbox_plan *plan);

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
