/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h - SHA-256 (FIPS 180-4), by instruction where the CPU has it */
#ifndef SHA256_H
#define SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32
#define SHA256_BLOCK 64

struct sha256 {
	uint32_t state[8];
	uint64_t nbytes;
	uint8_t block[SHA256_BLOCK]; /* what does not fill one yet */
};

void sha256_init(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *data, size_t n);
void sha256_end(struct sha256 *h, uint8_t out[SHA256_SIZE]);

/* 64 digits and a NUL. */
#define SHA256_TEXT_SIZE 65
const char *sha256_text(
    const uint8_t hash[SHA256_SIZE], char buf[SHA256_TEXT_SIZE]);

/*
 * The two ways to take n blocks, for tests; sha256_add chooses. The second
 * pointer is NULL where the CPU has no such instruction.
 */
typedef void sha256_blocks_fn(uint32_t state[8], const uint8_t *p, size_t n);
sha256_blocks_fn sha256_blocks_plain;
sha256_blocks_fn *sha256_blocks_by_instruction(void);

#endif
