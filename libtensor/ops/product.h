/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product.h - the innermost block of a matrix product, in registers
 *
 * Two functions with one body. Products of two numbers of f32 or narrower are
 * exact in double, so that fusing them with the addition changes no bit, and
 * product_exact.c is compiled with leave to do so; product.c, for f64, is not.
 */
#ifndef TPI_OPS_PRODUCT_H
#define TPI_OPS_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "../compiler.h"

#define TPI_MR 4
#define TPI_NR 16

/*
 * c += a b, or c = a b, for TPI_NR columns and n_panels times TPI_MR rows:
 * panels of a, one after the other, have TPI_MR values for each of n steps, b
 * has TPI_NR; rows of c are c_row apart.
 */
typedef void tpi_products_fn(const double *restrict a, size_t n_panels,
    const double *restrict b, size_t n, double *restrict c, size_t c_row,
    bool adds);

tpi_products_fn tpi_products, tpi_products_exact;

#if defined(__GNUC__)
/* Eight doubles, at any address that doubles have. */
typedef double tpi_vector __attribute__((vector_size(64)));
typedef double tpi_vector_at
    __attribute__((vector_size(64), aligned(8), may_alias));

/* n_panels is 1 or, where there are registers enough, 2. */
TPI_INLINE void
tpi_product_block(const double *restrict a, size_t n_panels,
    const double *restrict b, size_t n, double *restrict c, size_t c_row,
    bool adds)
{
	tpi_vector acc[2 * TPI_MR][2] = {{{0}}};
	size_t rows = n_panels * TPI_MR;

	for (size_t i = 0; i < rows && adds; i++) {
		acc[i][0] = *(const tpi_vector_at *)(c + i * c_row);
		acc[i][1] = *(const tpi_vector_at *)(c + i * c_row + 8);
	}
	for (size_t k = 0; k < n; k++) {
		tpi_vector left = *(const tpi_vector_at *)b;
		tpi_vector right = *(const tpi_vector_at *)(b + 8);

		for (size_t i = 0; i < rows; i++) {
			double x = a[i / TPI_MR * TPI_MR * n + i % TPI_MR];

			acc[i][0] += left * x;
			acc[i][1] += right * x;
		}
		a += TPI_MR;
		b += TPI_NR;
	}
	for (size_t i = 0; i < rows; i++) {
		*(tpi_vector_at *)(c + i * c_row) = acc[i][0];
		*(tpi_vector_at *)(c + i * c_row + 8) = acc[i][1];
	}
}
#else
TPI_INLINE void
tpi_product_block(const double *restrict a, size_t n_panels,
    const double *restrict b, size_t n, double *restrict c, size_t c_row,
    bool adds)
{
	double acc[TPI_MR][TPI_NR] = {{0}};

	(void)n_panels;
	for (size_t i = 0; i < TPI_MR && adds; i++)
		memcpy(acc[i], c + i * c_row, sizeof(acc[i]));
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < TPI_MR; i++)
			for (size_t j = 0; j < TPI_NR; j++)
				acc[i][j] +=
				    a[k * TPI_MR + i] * b[k * TPI_NR + j];
	for (size_t i = 0; i < TPI_MR; i++)
		memcpy(c + i * c_row, acc[i], sizeof(acc[i]));
}
#endif

TPI_INLINE void
tpi_product_panels(const double *restrict a, size_t n_panels,
    const double *restrict b, size_t n, double *restrict c, size_t c_row,
    bool adds)
{
	for (size_t p = 0; p < n_panels; p++)
		tpi_product_block(a + p * TPI_MR * n, 1, b, n,
		    c + p * TPI_MR * c_row, c_row, adds);
}

#ifdef TPI_WIDE
/* With 32 vector registers two panels at once. */
TPI_INLINE void
tpi_product_pairs(const double *restrict a, size_t n_panels,
    const double *restrict b, size_t n, double *restrict c, size_t c_row,
    bool adds)
{
	size_t p = 0;

	for (; p + 2 <= n_panels; p += 2)
		tpi_product_block(a + p * TPI_MR * n, 2, b, n,
		    c + p * TPI_MR * c_row, c_row, adds);
	tpi_product_panels(a + p * TPI_MR * n, n_panels - p, b, n,
	    c + p * TPI_MR * c_row, c_row, adds);
}
#endif

#endif
