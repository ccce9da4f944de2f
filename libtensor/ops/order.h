/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - numbers that sort as elements of any dtype do
 *
 * Equal elements have equal keys: -0 and 0 are one, and all NaN, which are the
 * largest, are one. Strings are ordered by their bytes. A complex number has
 * two keys, that of its real part first.
 */
#ifndef TPI_OPS_ORDER_H
#define TPI_OPS_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "../op.h"

/* The keys of all elements of input k in row-major order. */
struct tpi_keys {
	uint64_t *at;
	size_t n;
	const struct tp_alloc *alloc;
};

enum tp_status tpi_keys_take(const struct tpi_call *c, size_t k,
    struct tpi_keys *keys, struct tp_err *err);
void tpi_keys_release(struct tpi_keys *keys);

/*
 * Sort n numbers so that what they stand for ascends; those that compare as 0
 * keep their order. room is for n more.
 */
typedef int tpi_order_fn(const void *ctx, uint64_t a, uint64_t b);
void tpi_sort(uint64_t *list, uint64_t *room, size_t n, tpi_order_fn *order,
    const void *ctx);

/* The same for indices of keys, in time that grows with n alone. */
void tpi_sort_by_key(
    uint64_t *list, uint64_t *room, size_t n, const uint64_t *keys);

#endif
