/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_limit.h - an allocator that counts what it holds and may refuse more
 *
 * It stands before another one; NULL there is the allocator that is registered
 * for the CPU. Blocks may be freed after the last tpi_limit_unref: what is left
 * of it goes with the last of them.
 */
#ifndef TPI_ALLOC_LIMIT_H
#define TPI_ALLOC_LIMIT_H

#include <stdint.h>

#include "tp/alloc.h"
#include "tp/error.h"

struct tpi_limit;

/* max_bytes 0: no limit. */
enum tp_status tpi_limit_new(const struct tp_alloc *base, uint64_t max_bytes,
    struct tpi_limit **out, struct tp_err *err);
void tpi_limit_unref(struct tpi_limit *limit); /* NULL is allowed */

const struct tp_alloc *tpi_limit_alloc(const struct tpi_limit *limit);

struct tpi_limit_figures {
	uint64_t live, peak; /* bytes */
	uint64_t refused;    /* bytes of the block that was too much; 0: none */
};
struct tpi_limit_figures tpi_limit_figures(const struct tpi_limit *limit);

#endif
