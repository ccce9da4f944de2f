/* SPDX-License-Identifier: Apache-2.0 */
/* product_exact.c - the block of product.h for f32 and narrower: may fuse,
 * exactly */
#define TPI_PRODUCTS tpi_products_exact
#include "product_block.h"
