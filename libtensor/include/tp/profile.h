/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/profile.h - where the time goes, by name
 *
 *	struct tp_scope scope = tp_scope_begin("read header");
 *	…
 *	tp_scope_end(&scope);
 *
 * Off unless tp_profile_enable(true) was called (tools: TP_PROFILE=1 in the
 * environment); a scope then costs one load and a branch. Each thread counts by
 * itself; tp_profile_report adds them up. Scopes may nest: the time of an inner
 * one is part of the outer one's too. Names are string literals or live as long
 * as the program: they are told apart by their text.
 */
#ifndef TP_PROFILE_H
#define TP_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/macros.h"

struct tp_scope {
	const char *name; /* NULL: not counted */
	uint64_t start;	  /* ns */
};

TP_API void tp_profile_enable(bool on);
TP_API bool tp_profile_enabled(void);

TP_API struct tp_scope tp_scope_begin(const char *name);
TP_API void tp_scope_end(struct tp_scope *scope);

/* Totals of one name over all threads. */
struct tp_profile_row {
	const char *name;
	uint64_t n_calls;
	uint64_t total_ns;
	double share; /* of the total of all rows */
};

/*
 * Up to max rows, sorted by total time, the largest first, equal ones by name.
 * Returns how many there are. Call it when the threads that are counted do not
 * run; they may have ended.
 */
TP_API size_t tp_profile_rows(struct tp_profile_row *rows, size_t max);

/* The rows as a table, a line at a time: name, calls, total, mean, share. */
typedef void tp_profile_line_fn(void *ctx, const char *line);
TP_API void tp_profile_report(tp_profile_line_fn *fn, void *ctx);

/* Forget what was counted. */
TP_API void tp_profile_reset(void);

#endif
