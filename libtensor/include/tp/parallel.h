/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/parallel.h - the same function over parts, on several threads
 *
 * Threads split independent outputs, never a sum, so a result does not depend
 * on how many there are.
 */
#ifndef TP_PARALLEL_H
#define TP_PARALLEL_H

#include <stddef.h>

#include "tp/macros.h"

/*
 * Call fn(ctx, part) once for each part 0 … n_parts-1, on up to n_threads
 * threads of which the caller is one, and return when all are done. Parts are
 * handed out in ascending order. If a thread cannot be made the others do its
 * work. n_threads 0 means the number of processors.
 */
typedef void tp_part_fn(void *ctx, size_t part);
TP_API void tp_parallel(
    unsigned n_threads, size_t n_parts, tp_part_fn *fn, void *ctx);

/* Processors this process may use, at least 1. */
TP_API unsigned tp_cpu_count(void);

#endif
