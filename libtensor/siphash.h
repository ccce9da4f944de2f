/* SPDX-License-Identifier: Apache-2.0 */
/*
 * siphash.h - a keyed hash of bytes
 *
 * SipHash with one round a word and three at the end, after Aumasson and
 * Bernstein, "SipHash: a fast short-input PRF". Who does not know the key finds
 * no two inputs that collide more often than by chance: with a multiply and a
 * shift a word, as faster hashes have it, some do whatever the key is.
 */
#ifndef TPI_SIPHASH_H
#define TPI_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t tpi_siphash(const uint64_t key[2], const void *data, size_t n);

#endif
