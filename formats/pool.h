/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - an allocator that can give back everything at once
 *
 * Blocks come from another allocator and are freed one by one as usual; what is
 * left goes with tpi_pool_release. For object trees of other libraries that are
 * changed beyond what their own destructors understand.
 */
#ifndef TPI_POOL_H
#define TPI_POOL_H

#include "tp/alloc.h"

struct tpi_pool {
	struct tp_alloc base; /* pass &pool.base */
	const struct tp_alloc *alloc;
	struct tpi_pool_block *blocks;
};

/* The pool must stay where it is: its blocks are found through its address. */
void tpi_pool_init(struct tpi_pool *p, const struct tp_alloc *alloc);
void tpi_pool_release(struct tpi_pool *p);

#endif
