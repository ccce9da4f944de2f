/* SPDX-License-Identifier: Apache-2.0 */
/* bits.h - floats as the bits they are, and back */
#ifndef TPI_BITS_H
#define TPI_BITS_H

#include <stdint.h>
#include <string.h>

#include "compiler.h"

TPI_INLINE uint32_t
tpi_f32_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

TPI_INLINE float
tpi_f32_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

TPI_INLINE uint64_t
tpi_f64_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

TPI_INLINE double
tpi_f64_of(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

#endif
