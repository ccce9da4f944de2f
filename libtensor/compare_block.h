/* SPDX-License-Identifier: Apache-2.0 */
/* compare_block.h - pairs of elements as numbers and as distances of codes */
#ifndef TPI_COMPARE_BLOCK_H
#define TPI_COMPARE_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"

/* A multiple of 8; all arrays of a block stay in the first-level cache. */
#define TPI_PAIRS 512

/* Number i of a block is added to sum i % this. */
#define TPI_SUM_LANES 32

struct tpi_side {
	enum tp_dtype dtype;
	const void *data;
};

struct tpi_pairs {
	size_t n;
	double a[TPI_PAIRS], b[TPI_PAIRS];
	double diff[TPI_PAIRS]; /* a - b, rounded once */
	uint64_t ulps[TPI_PAIRS];
};

/* a, b and diff of elements first … first+n-1; first is a multiple of 8. */
void tpi_pairs_load(struct tpi_pairs *p, const struct tpi_side *a,
    const struct tpi_side *b, size_t first, size_t n);

/*
 * ulps, after a and b have become 0 where either is not finite; what ulps holds
 * there means nothing. bits: equal values of different bits are one apart.
 */
void tpi_pairs_ulps(struct tpi_pairs *p, const struct tpi_side *a,
    const struct tpi_side *b, size_t first, int bits);

#endif
