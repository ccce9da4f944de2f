/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/alloc.h - where the memory of the libraries comes from
 *
 *  1. Fill a struct tp_alloc, or take tp_alloc_default() (malloc and free).
 *  2. Pass it in the options of whatever makes an object, NULL for the default.
 *  3. The object keeps the pointer: it must live as long as the object.
 *
 * free is told the size that was asked for. Functions of one allocator may be
 * called from several threads at once if the program shares its objects so.
 */
#ifndef TP_ALLOC_H
#define TP_ALLOC_H

#include <stddef.h>

#include "tp/macros.h"

struct tp_alloc {
	/* n > 0 bytes aligned for any type and to 64 at best, or NULL. */
	void *(*alloc)(void *ctx, size_t n);
	/* Gives back what alloc returned for the same n; p is not NULL. */
	void (*free)(void *ctx, void *p, size_t n);
	void *ctx;
};

TP_API const struct tp_alloc *tp_alloc_default(void);

/*
 * Helpers over an allocator; a NULL allocator means the default. tp_mem_array
 * returns zeroed memory for n items of size bytes, NULL when there is none or
 * the product overflows; n == 0 gives a block that may be freed. tp_mem_grow
 * moves to a larger array (the old one stays valid when it returns NULL).
 */
TP_API void *tp_mem_array(const struct tp_alloc *a, size_t n, size_t size);
TP_API void *tp_mem_grow(const struct tp_alloc *a, void *old, size_t old_n,
    size_t new_n, size_t size);
TP_API void tp_mem_free(
    const struct tp_alloc *a, void *p, size_t n, size_t size);

#endif
