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

#include <stddef.h>
#include <string.h>

#include "../compiler.h"

#define TPI_MR 4
#define TPI_NR 16

/*
 * c += a b for TPI_MR rows and TPI_NR columns: a has TPI_MR values for each of
 * n steps, b has TPI_NR; rows of c are c_row apart.
 */
typedef void tpi_product_fn(const double *restrict a, const double *restrict b,
    size_t n, double *restrict c, size_t c_row);

tpi_product_fn tpi_product, tpi_product_exact;

#if defined(__GNUC__)
/* Eight doubles, at any address that doubles have. */
typedef double tpi_vector __attribute__((vector_size(64)));
typedef double tpi_vector_at
    __attribute__((vector_size(64), aligned(8), may_alias));

TPI_INLINE void
tpi_product_block(const double *restrict a, const double *restrict b, size_t n,
    double *restrict c, size_t c_row)
{
	tpi_vector acc[TPI_MR][2];

	for (size_t i = 0; i < TPI_MR; i++) {
		acc[i][0] = *(const tpi_vector_at *)(c + i * c_row);
		acc[i][1] = *(const tpi_vector_at *)(c + i * c_row + 8);
	}
	for (size_t k = 0; k < n; k++) {
		tpi_vector left = *(const tpi_vector_at *)b;
		tpi_vector right = *(const tpi_vector_at *)(b + 8);

		for (size_t i = 0; i < TPI_MR; i++) {
			acc[i][0] += left * a[i];
			acc[i][1] += right * a[i];
		}
		a += TPI_MR;
		b += TPI_NR;
	}
	for (size_t i = 0; i < TPI_MR; i++) {
		*(tpi_vector_at *)(c + i * c_row) = acc[i][0];
		*(tpi_vector_at *)(c + i * c_row + 8) = acc[i][1];
	}
}
#else
TPI_INLINE void
tpi_product_block(const double *restrict a, const double *restrict b, size_t n,
    double *restrict c, size_t c_row)
{
	double acc[TPI_MR][TPI_NR];

	for (size_t i = 0; i < TPI_MR; i++)
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

#endif
