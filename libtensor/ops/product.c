/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - the block of product.h for f64: each product is rounded */
#include "product.h"

#include "../banned.h"

/* Of its own, because a function that the loader picks would be exported. */
TPI_CLONES static void
multiply(const double *restrict a, const double *restrict b, size_t n,
    double *restrict c, size_t c_row)
{
	tpi_product_block(a, b, n, c, c_row);
}

void
tpi_product(const double *restrict a, const double *restrict b, size_t n,
    double *restrict c, size_t c_row)
{
	multiply(a, b, n, c, c_row);
}
