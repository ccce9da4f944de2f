/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed.h - elements narrower than a byte
 *
 * Element i begins at bit i * bits, low bits first; one of 6 bits may lie in
 * two bytes.
 */
#ifndef TPI_PACKED_H
#define TPI_PACKED_H

#include <stddef.h>
#include <stdint.h>

static inline unsigned
tpi_packed_get(const uint8_t *p, size_t i, unsigned bits)
{
	/* i * bits could overflow, the bytes of eight elements cannot. */
	size_t at = i % 8 * bits;
	const uint8_t *byte = p + i / 8 * bits + at / 8;
	unsigned shift = (unsigned)(at % 8);
	unsigned code = (unsigned)byte[0] >> shift;

	if (shift + bits > 8)
		code |= (unsigned)byte[1] << (8 - shift);
	return code & ((1u << bits) - 1);
}

/*
 * Elements are put in ascending order: what follows in the last byte becomes
 * zero.
 */
static inline void
tpi_packed_put(uint8_t *p, size_t i, unsigned bits, unsigned code)
{
	size_t at = i % 8 * bits;
	uint8_t *byte = p + i / 8 * bits + at / 8;
	unsigned shift = (unsigned)(at % 8);
	unsigned shifted = code << shift;

	if (shift)
		shifted |= byte[0] & ((1u << shift) - 1);
	byte[0] = (uint8_t)shifted;
	if (shift + bits > 8)
		byte[1] = (uint8_t)(shifted >> 8);
}

/* Set the bits of an element that are zero so far, in any order. */
static inline void
tpi_packed_set(uint8_t *p, size_t i, unsigned bits, unsigned code)
{
	size_t at = i % 8 * bits;
	uint8_t *byte = p + i / 8 * bits + at / 8;
	unsigned shifted = code << at % 8;

	byte[0] |= (uint8_t)shifted;
	if (shifted >> 8)
		byte[1] |= (uint8_t)(shifted >> 8);
}

#endif
