/* SPDX-License-Identifier: Apache-2.0 */
/* share.h - which of n things is the work of which part */
#ifndef TPI_SHARE_H
#define TPI_SHARE_H

#include <stddef.h>
#include <stdint.h>

struct tpi_share {
	uint64_t from, end; /* from … end - 1 */
};

/* Part k of n_parts; the first n % n_parts of them have one thing more. */
static inline struct tpi_share
tpi_share(uint64_t n, size_t n_parts, size_t k)
{
	uint64_t each = n / n_parts, extra = n % n_parts;
	uint64_t from = each * k + (k < extra ? k : extra);

	return (struct tpi_share){from, from + each + (k < extra)};
}

#endif
