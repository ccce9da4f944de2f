/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c.h - the Castagnoli CRC, as RFC 3720 and the native format use it
 *
 * Polynomial 0x1EDC6F41, reflected, begun with and inverted to all ones: the
 * value of "123456789" is 0xE3069283. Every function is thread-safe and gives
 * the same answer on every machine.
 */
#ifndef TPI_CRC32C_H
#define TPI_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of what crc covered (0 for nothing) followed by the n bytes at p. */
uint32_t tpi_crc32c(uint32_t crc, const void *p, size_t n);

/* The CRC of two pieces, the second of n bytes, from the CRCs of each. */
uint32_t tpi_crc32c_combine(uint32_t first, uint32_t second, uint64_t n);

/*
 * For tests: the ways of computing that this machine can run. NULL past the
 * last; the first is what tpi_crc32c uses.
 */
typedef uint32_t tpi_crc32c_fn(uint32_t crc, const void *p, size_t n);
tpi_crc32c_fn *tpi_crc32c_variant(size_t i, const char **name);

#endif
