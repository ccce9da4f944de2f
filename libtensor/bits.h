/* SPDX-License-Identifier: Apache-2.0 */
/* bits.h - floats as the bits they are, and back; f16 as the bits of f32 */
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

/* A subnormal f16 becomes 2^-14 plus itself, then 2^-14 is taken away. */
TPI_INLINE uint32_t
tpi_widen_f16(uint16_t code)
{
	const uint32_t lowest = UINT32_C(113) << 23;
	uint32_t abs = code & 0x7fff;
	uint32_t moved = abs << 13, normal, small;

	normal = moved + (UINT32_C(112) << 23);
	normal += abs >= 0x7c00 ? UINT32_C(112) << 23 : 0;
	small = tpi_f32_bits(tpi_f32_of(moved + lowest) - tpi_f32_of(lowest));
	return (abs < 0x400 ? small : normal) | (uint32_t)(code & 0x8000) << 16;
}

#endif
