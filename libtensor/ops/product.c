/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - the block of product.h for f64: each product is rounded */
#include "product.h"

#include "../banned.h"

TPI_CLONES void
tpi_product(const double *restrict a, const double *restrict b, size_t n,
    double *restrict c, size_t c_row)
{
	tpi_product_block(a, b, n, c, c_row);
}
