/* SPDX-License-Identifier: Apache-2.0 */
/* grow.h - arrays that double */
#ifndef TPI_GROW_H
#define TPI_GROW_H

#include <stddef.h>

#include "tp/alloc.h"

/*
 * The array of *cap items with room for n (not 0) in all; it may have moved.
 * NULL when there is no memory: then nothing has changed.
 *
 *	p = tpi_grow(alloc, list, n + 1, &cap, sizeof(*list));
 *	if (!p)
 *		return out_of_memory(err);
 *	list = p;
 */
void *tpi_grow(const struct tp_alloc *alloc, void *items, size_t n, size_t *cap,
    size_t size);

#endif
