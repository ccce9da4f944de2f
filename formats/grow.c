/* SPDX-License-Identifier: Apache-2.0 */
/* grow.c - arrays that double */
#include "grow.h"

#include "tp/checked.h"

#include "banned.h"

#define ITEMS_MIN 16

void *
tpi_grow(const struct tp_alloc *alloc, void *items, size_t n, size_t *cap,
    size_t size)
{
	size_t more;
	void *p;

	if (n <= *cap)
		return items;
	if (tp_mul_size(*cap, 2, &more) || more < n)
		more = n;
	if (more < ITEMS_MIN)
		more = ITEMS_MIN;
	p = tp_mem_grow(alloc, items, *cap, more, size);
	if (p)
		*cap = more;
	return p;
}
