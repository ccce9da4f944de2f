/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_watch.h - looking on while a model is computed: --trace, --stop-at,
 * --dump
 */
#ifndef VERIFY_RUN_WATCH_H
#define VERIFY_RUN_WATCH_H

#include <stdbool.h>
#include <stdio.h>

#include "tp/graph.h"

#include "run_spool.h"

struct run_watch {
	const struct tp_strings *strings;
	FILE *trace;	     /* a line for each node; or NULL */
	const char *stop_at; /* a node, or what it makes; or NULL */
	bool stopped;
	struct run_spool *spool; /* everything goes there; or NULL */
	tp_watch_fn *more;	 /* or NULL */
	void *more_ctx;
};

/* A tp_watch_fn; ctx is a struct run_watch. */
enum tp_status run_watch_node(
    void *ctx, const struct tp_watched *seen, struct tp_err *err);

/* What becomes of output i; name is "name" or "scope:name", for this call. */
typedef enum tp_status run_output_fn(void *ctx, const struct tp_watched *seen,
    size_t i, struct tp_str name, struct tp_err *err);

/* For all outputs that have a name, until one fails. */
enum tp_status run_watch_outputs(const struct tp_watched *seen,
    run_output_fn *fn, void *ctx, struct tp_err *err);

/* "f32 [2, 3]", "sequence of 4"; with_range adds the range of numbers. */
void run_put_value(FILE *out, const struct tp_value *v, bool with_range);

/* The elements as NumPy prints them. */
void run_print_value(
    FILE *out, const struct tp_value *v, const struct tp_strings *strings);

#endif
