/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - the block of product.h for f64: each product is rounded */
#define TPI_PRODUCTS tpi_products
#include "product_block.h"
