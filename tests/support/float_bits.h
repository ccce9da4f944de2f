/* SPDX-License-Identifier: Apache-2.0 */
/* float_bits.h - floats as the bits they are, and back */
#ifndef TEST_FLOAT_BITS_H
#define TEST_FLOAT_BITS_H

#include <stdint.h>
#include <string.h>

static inline float
float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline uint64_t
f64_bits(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

#endif
