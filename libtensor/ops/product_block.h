/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product_block.h - the function TPI_PRODUCTS of product.h, defined
 *
 * Included twice, by files that are compiled with other rules of rounding.
 */
#include "product.h"

#include "../banned.h"

/* Of its own, because a function that the loader picks would be exported. */
TPI_CLONES static void
multiply(const double *restrict a, size_t n_panels, const double *restrict b,
    size_t n, double *restrict c, size_t c_row, bool adds)
{
	tpi_product_panels(a, n_panels, b, n, c, c_row, adds);
}

#ifdef TPI_WIDE
TPI_WIDE static void
multiply_wide(const double *restrict a, size_t n_panels,
    const double *restrict b, size_t n, double *restrict c, size_t c_row,
    bool adds)
{
	tpi_product_pairs(a, n_panels, b, n, c, c_row, adds);
}
#endif

void
TPI_PRODUCTS(const double *restrict a, size_t n_panels,
    const double *restrict b, size_t n, double *restrict c, size_t c_row,
    bool adds)
{
#ifdef TPI_WIDE
	if (TPI_HAS_WIDE) {
		multiply_wide(a, n_panels, b, n, c, c_row, adds);
		return;
	}
#endif
	multiply(a, n_panels, b, n, c, c_row, adds);
}
