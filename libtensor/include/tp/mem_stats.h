/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/mem_stats.h - what tp_allocate was asked for, and what never came back
 *
 *  1. tp_mem_stats_enable(true) (tools: TP_MEM_STATS=1 in the environment).
 *  2. Work. Each block is noted with its size and the place that asked.
 *  3. tp_mem_stats_get for the figures, tp_mem_report for a text with the
 *     blocks that are live, oldest first.
 *
 * While it is off it costs one load an allocation. Blocks made while it was off
 * are unknown to it. Thread-safe; figures are exact at a moment when no other
 * thread allocates.
 */
#ifndef TP_MEM_STATS_H
#define TP_MEM_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/macros.h"

/* Sizes up to 16, 32, 64, … 2^(TP_MEM_SIZES+3) bytes; the last: all above. */
#define TP_MEM_SIZES 32

struct tp_mem_stats {
	uint64_t n_allocated, n_freed; /* calls */
	uint64_t n_live, live_bytes;
	uint64_t peak_bytes;		/* the most that were live at a time */
	uint64_t by_size[TP_MEM_SIZES]; /* allocations by size asked for */
};

TP_API void tp_mem_stats_enable(bool on);
TP_API bool tp_mem_stats_enabled(void);
TP_API void tp_mem_stats_get(struct tp_mem_stats *out);

/* Figures start anew; live blocks stay known and are the new peak. */
TP_API void tp_mem_stats_reset(void);

/*
 * Figures and live blocks as text, a line at a time without its newline. A
 * block's line is `SIZE bytes from FILE:LINE`, followed, where the library was
 * built with TP_BACKTRACE, by its callers' lines.
 */
typedef void tp_line_fn(void *ctx, const char *line);
TP_API void tp_mem_report(tp_line_fn *fn, void *ctx);

#endif
