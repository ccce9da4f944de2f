/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - two ways to do the same, compared in one run
 *
 * Both are run in turn, many times; what is printed is the median of the ratios
 * of neighbours. Time is that of the processor, all threads together, because
 * other programs may be at work. It leaves out what a rival waits for a lock:
 * against one that has locks the figure is the least that is gained.
 */
#ifndef BENCH_H
#define BENCH_H

typedef void bench_fn(void *ctx);

struct bench {
	const char *what, *against;
	bench_fn *ours, *theirs;
	void *ours_ctx, *theirs_ctx;
	double scale;  /* of the ratio: work that ours does for one of theirs */
	double wanted; /* at least this (times as fast) */
};

/* Seconds of the processor that this program has had. */
double bench_now(void);

/* Print the head; only lines whose `what` contains word will be measured. */
void bench_begin(const char *word);

/* Measure and print a line; false when the ratio is not as wanted. */
_Bool bench_run(const struct bench *b);

/* A line of its own for each allocator, thread count and rival. */
_Bool bench_allocators(void);

#endif
