/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/endian.h - little-endian numbers at any address
 *
 * Written byte by byte, which compilers turn into one load or store (and a
 * swap on a big-endian machine).
 */
#ifndef TP_ENDIAN_H
#define TP_ENDIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint16_t
tp_le16(const void *p)
{
	const uint8_t *b = p;

	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t
tp_le32(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
	       (uint32_t)b[3] << 24;
}

static inline uint64_t
tp_le64(const void *p)
{
	const uint8_t *b = p;

	return (uint64_t)tp_le32(b) | (uint64_t)tp_le32(b + 4) << 32;
}

static inline void
tp_put_le16(void *p, uint16_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
}

static inline void
tp_put_le32(void *p, uint32_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
	b[2] = (uint8_t)(v >> 16);
	b[3] = (uint8_t)(v >> 24);
}

static inline void
tp_put_le64(void *p, uint64_t v)
{
	uint8_t *b = p;

	tp_put_le32(b, (uint32_t)v);
	tp_put_le32(b + 4, (uint32_t)(v >> 32));
}

/* True on a machine that keeps the low byte first. */
static inline bool
tp_host_is_little(void)
{
	const uint16_t one = 1;

	return *(const uint8_t *)&one == 1;
}

/*
 * Swap the bytes of each of n elements of `size` bytes (1, 2, 4, 8) in place;
 * a no-op for 1. Complex numbers are two elements each.
 */
static inline void
tp_swap_bytes(void *p, size_t n, size_t size)
{
	uint8_t *b = p;

	for (size_t i = 0; i < n; i++, b += size)
		for (size_t lo = 0, hi = size - 1; lo < hi; lo++, hi--) {
			uint8_t t = b[lo];

			b[lo] = b[hi];
			b[hi] = t;
		}
}

#endif
