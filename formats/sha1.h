/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha1.h - SHA-1 (FIPS 180-4), the checksum that ONNX has for external data
 *
 * It guards against accidents only: SHA-1 can be forged.
 */
#ifndef TPI_SHA1_H
#define TPI_SHA1_H

#include <stddef.h>
#include <stdint.h>

struct tpi_sha1 {
	uint32_t state[5];
	uint64_t n; /* bytes so far */
	uint8_t block[64];
};

void tpi_sha1_init(struct tpi_sha1 *h);
void tpi_sha1_add(struct tpi_sha1 *h, const void *data, size_t n);

/* 40 lower-case hexadecimal digits and a NUL. */
void tpi_sha1_hex(struct tpi_sha1 *h, char hex[41]);

#endif
