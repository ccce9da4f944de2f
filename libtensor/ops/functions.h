/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.h - functions of one number, in double
 *
 * Each is written so that nothing cancels or overflows on the way: rounded to
 * f32 they are within 1 ulp. Their last bits in double depend on the C library.
 */
#ifndef TPI_OPS_FUNCTIONS_H
#define TPI_OPS_FUNCTIONS_H

#include <math.h>

#include "../compiler.h"

/* 1 / (1 + e^-x), the same at both ends. */
TPI_INLINE double
tpi_sigmoid(double x)
{
	double e = exp(-fabs(x));

	return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

/* log(1 + e^x) */
TPI_INLINE double
tpi_softplus(double x)
{
	return (x > 0 ? x : 0) + log1p(exp(x > 0 ? -x : x));
}

/* x P(Z <= x) of a normal Z; 1 + erf would cancel below 0. */
TPI_INLINE double
tpi_gelu(double x)
{
	double tail = erfc(-x * 0.70710678118654752440);

	return tail == 0 ? -0.0 : 0.5 * x * tail;
}

/* x (1 + tanh u) / 2, which is x / (1 + e^-2u). */
TPI_INLINE double
tpi_gelu_tanh(double x)
{
	double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x);

	return x < 0 && isinf(u) ? -0.0 : x * tpi_sigmoid(2 * u);
}

/* x sigmoid(a x); where that is 0, the product is. */
TPI_INLINE double
tpi_swish(double x, double a)
{
	double s = tpi_sigmoid(a * x);

	return s == 0 ? x < 0 ? -0.0 : 0.0 : x * s;
}

#endif
