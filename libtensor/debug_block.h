/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_block.h - what debug builds check about a block of an allocator
 *
 * Each block carries a word that says live or free, and a few known bytes
 * behind what was asked for. Giving back what is not ours, or twice, or what
 * was written past its end is then found at the free. In release builds
 * (without TP_DEBUG_CHECKS) all of it is nothing.
 */
#ifndef TPI_DEBUG_BLOCK_H
#define TPI_DEBUG_BLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TP_DEBUG_CHECKS

#define TPI_GUARD_BYTES 16
#define TPI_GUARD_BYTE 0xA5
#define TPI_BLOCK_LIVE UINT64_C(0x4C4956454C495645)
#define TPI_BLOCK_FREE UINT64_C(0x4652454546524545)

struct tpi_debug_block {
	uint64_t state;
	size_t asked; /* bytes; the guard lies behind them */
};

static inline void
tpi_debug_die(const char *what, const void *data)
{
	fprintf(stderr, "libtensor: %s: block at %p\n", what, data);
	abort();
}

static inline void
tpi_debug_made(struct tpi_debug_block *b, void *data, size_t asked)
{
	b->state = TPI_BLOCK_LIVE;
	b->asked = asked;
	memset((char *)data + asked, TPI_GUARD_BYTE, TPI_GUARD_BYTES);
}

static inline void
tpi_debug_freed(struct tpi_debug_block *b, const void *data)
{
	const unsigned char *guard = (const unsigned char *)data + b->asked;

	if (b->state == TPI_BLOCK_FREE)
		tpi_debug_die("given back twice", data);
	if (b->state != TPI_BLOCK_LIVE)
		tpi_debug_die("given back, but not one of ours", data);
	for (size_t i = 0; i < TPI_GUARD_BYTES; i++)
		if (guard[i] != TPI_GUARD_BYTE)
			tpi_debug_die("written past its end", data);
	b->state = TPI_BLOCK_FREE;
}

#else

#define TPI_GUARD_BYTES 0

#endif
#endif
