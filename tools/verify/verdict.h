/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.h - what tp-verify found out, for whoever tells it
 *
 *  1. verdict_init with the command and what it looks at.
 *  2. verdict_add once for each tensor, verdict_remark for what is about the
 *     whole model (metadata), verdict_fail for a file that cannot be read.
 *  3. verdict_exit is the exit status; the reports read the fields.
 *  4. verdict_release, before the readers whose names are borrowed are closed.
 *
 * Nothing counts as proved by silence: a verdict without tensors, or with one
 * that was not compared, never ends with 0.
 */
#ifndef VERIFY_VERDICT_H
#define VERIFY_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tp/error.h"
#include "tp/shape.h"

#include "cli.h"

enum verdict_status {
	VERDICT_EQUAL,	      /* holds, by the rule asked for */
	VERDICT_DIFFERENT,    /* does not hold: CLI_DIFFERS */
	VERDICT_MISSING,      /* in the first only: CLI_DIFFERS */
	VERDICT_EXTRA,	      /* in the second only: CLI_DIFFERS */
	VERDICT_NOT_COMPARED, /* nothing was proved: CLI_UNSUPPORTED, or
				 CLI_INPUT where .exit says so */
	VERDICT_EXCLUDED, /* left out by the user's own option: no failure */
	VERDICT_RANDOM,	  /* depends on chance; all else holds: no failure */
	VERDICT_EXPECTED, /* does not hold, as the user said: no failure */
	VERDICT_STATUS_COUNT
};

/* "equal", "different", "missing", … */
const char *verdict_status_name(enum verdict_status status);

/* A number or text that a report shows of a tensor. */
struct verdict_figure {
	const char *key; /* "max_abs": as in JSON, lower case */
	enum verdict_figure_kind {
		VERDICT_U64,
		VERDICT_F64,
		VERDICT_TEXT,  /* a string of the program */
		VERDICT_INDEX, /* an element of the tensor: its coordinates */
	} kind;
	union {
		uint64_t u64; /* also the row-major number for VERDICT_INDEX */
		double f64;
		const char *text;
	} v;
};

struct verdict_figure verdict_u64(const char *key, uint64_t value);
struct verdict_figure verdict_f64(const char *key, double value);
struct verdict_figure verdict_text(const char *key, const char *value);

/* More than any command gives. */
#define VERDICT_MAX_FIGURES 48

struct verdict_item {
	struct tp_str name; /* in the first file; borrowed */
	/* In the second, where it is another one; else .s is NULL. */
	struct tp_str other_name;
	enum verdict_status status;
	/*
	 * What a status is about, for grouping: "value", "shape", "dtype",
	 * "nan", …; NULL when there is nothing to say. A string of the program.
	 */
	const char *kind;
	const char *reason; /* one line, or NULL; copied by verdict_add */
	/* What could be doubted though it does not fail, or NULL; copied. */
	const char *warning;
	/*
	 * At least that of the status, which verdict_add sees to; of
	 * VERDICT_NOT_COMPARED the one that says why.
	 */
	int exit;
	uint64_t n_elems;
	uint64_t nbytes;
	unsigned rank;
	const int64_t *shape; /* borrowed; for VERDICT_INDEX */
	const void *detail;   /* of the command, for figures(); borrowed */
};

/* Something about the model and not one tensor. */
struct verdict_remark {
	const char *kind; /* "metadata" */
	const char *text; /* one line */
	int exit;	  /* CLI_OK: only told */
};

struct verdict_totals {
	size_t tensors;
	uint64_t elements;
};

struct verdict {
	const char *command;  /* "diff" */
	const char *paths[2]; /* the second NULL for commands on one file */
	struct verdict_item *items; /* in the order of the first file */
	size_t n_items, cap_items;
	struct verdict_remark *remarks;
	size_t n_remarks, cap_remarks;
	struct verdict_totals totals[VERDICT_STATUS_COUNT];
	int exit;	/* the worst so far */
	bool excluded;	/* as a whole, by the user's own option: no failure */
	bool no_memory; /* something could not be kept: CLI_INPUT */
	/*
	 * The file that could not be read at all; error.status is TP_OK: none.
	 */
	struct tp_err error;
	const char *error_path;
	/*
	 * Fill in what is known of the item; returns how many figures. NULL:
	 * there are none.
	 */
	size_t (*figures)(const struct verdict_item *item,
	    struct verdict_figure out[VERDICT_MAX_FIGURES]);
};

/*
 * Element n as its coordinates; they are as many as axes, none where there are
 * no elements.
 */
unsigned verdict_coordinates(
    const int64_t *shape, unsigned rank, uint64_t n, uint64_t at[TP_MAX_RANK]);

void verdict_init(struct verdict *v, const char *command, const char *first,
    const char *second);
void verdict_release(struct verdict *v);

/* Keeps a copy of the item, its reason and its warning. */
void verdict_add(struct verdict *v, const struct verdict_item *item);
void verdict_remark(
    struct verdict *v, const char *kind, int exit, const char *text);
/* A file could not be read; the first one is kept. */
void verdict_fail(
    struct verdict *v, const char *path, const struct tp_err *err);

/*
 * The exit status of all that was added. CLI_UNSUPPORTED where nothing was
 * compared, whatever the reason; excluded tensors prove nothing.
 */
int verdict_exit(const struct verdict *v);

/* Tensors that were compared: all but those left out in some way. */
struct verdict_totals verdict_compared(const struct verdict *v);

/*
 * ---- text (verdict_text.c) ----
 */

/*
 * A line for each item that is not equal (with --verbose for each), then those
 * of the remarks.
 */
void verdict_put_items(FILE *out, const struct verdict *v);

/* The last line: what was compared, and what was not and why. */
void verdict_put_totals(FILE *out, const struct verdict *v);

#endif
