/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - verdicts for machines: JSON, JUnit XML, GitHub annotations
 *
 * All of them tell of the same items, and none can say "passed" where
 * verdict_exit does not: what has no tensor to be pinned on (a file that cannot
 * be read, an empty selection) is told as one of its own.
 */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tp/json.h"

#include "sandbox.h"
#include "verdict.h"

struct report_options {
	const char *json, *junit; /* files, or NULL */
};

/* Rows for a table of options; o is a struct report_options object. */
#define REPORT_OPTIONS(o)                                                \
	{CLI_STRING, 0, "report-json", "FILE", &(o).json,                \
	    .help = "also write what --json prints to FILE"},            \
	{                                                                \
		CLI_STRING, 0, "report-junit", "FILE", &(o).junit,       \
		    .help = "also write JUnit XML to FILE, a test case " \
			    "a tensor"                                   \
	}

/* Reports are written in a sandbox too. */
void report_plan(const struct report_options *o, struct sandbox_plan *plan);

/*
 * Everything that is asked for about n verdicts of one command: the document on
 * stdout with --json, the files, annotations on stderr where GITHUB_ACTIONS is
 * set. Returns status, or worse when something could not be written.
 */
int report_all(const struct report_options *o, const struct verdict *v,
    size_t n, int status);

/*
 * A file that belongs to the command, and to no model, could not be read: a
 * message, and all of the above about one verdict that says so. Returns the
 * exit status.
 */
int report_unreadable(const struct report_options *o, const char *command,
    const char *path, const struct tp_err *err);

/*
 * The parts. A write that fails is on the stream; what fails else is an errno.
 */
int report_json(FILE *out, const struct verdict *v, size_t n, int status);
int report_junit(FILE *out, const struct verdict *v, size_t n, int status);
void report_github(FILE *out, const struct verdict *v, size_t n);

/* What an item's status is called by that command: "different", "failed". */
const char *report_status_name(
    const struct verdict *v, enum verdict_status status);

/* "a.onnx and b.onnx", to be freed with free; NULL without memory. */
char *report_title(const struct verdict *v);

/*
 * Why verdict_exit is not 0 when no item and no remark says so, or NULL. buf is
 * for the text.
 */
#define REPORT_WHY_SIZE 640
const char *report_why(const struct verdict *v, char buf[REPORT_WHY_SIZE]);

#endif
