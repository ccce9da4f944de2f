/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h - a vector by a matrix in doubles, for operators that go by steps */
#ifndef TPI_OPS_VECTOR_H
#define TPI_OPS_VECTOR_H

#include <stddef.h>

#include "../compiler.h"

/*
 * y += v m: n_rows rows of n numbers, `row` apart. Each y gets its products one
 * after the other; four rows at a time only spare loads and stores of it.
 */
TPI_INLINE void
tpi_add_product(double *restrict y, const double *restrict v, size_t n_rows,
    const double *restrict m, size_t row, size_t n)
{
	size_t k = 0;

	for (; k + 4 <= n_rows; k += 4) {
		const double *a = m + k * row, *b = a + row;
		const double *c = b + row, *d = c + row;

		for (size_t j = 0; j < n; j++)
			y[j] = y[j] + v[k] * a[j] + v[k + 1] * b[j] +
			       v[k + 2] * c[j] + v[k + 3] * d[j];
	}
	for (; k < n_rows; k++)
		for (size_t j = 0; j < n; j++)
			y[j] += v[k] * m[k * row + j];
}

#endif
