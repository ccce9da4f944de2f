/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha256.h - SHA-256 (FIPS 180-4), for expected values that are digests
 *
 *	struct sha256 h;
 *	char hex[65];
 *
 *	sha256_init(&h);
 *	sha256_add(&h, data, n);
 *	sha256_hex(&h, hex);
 */
#ifndef TEST_SHA256_H
#define TEST_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sha256 {
	uint32_t state[8];
	uint64_t n;
	uint8_t block[64];
};

static inline void
sha256_init(struct sha256 *h)
{
	*h = (struct sha256){
	    .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static inline uint32_t
sha256_rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static inline void
sha256_block(struct sha256 *h)
{
	/* Cube roots of the first 64 primes, the fraction's first 32 bits. */
	static const uint32_t k[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf,
	    0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74,
	    0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc,
	    0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb,
	    0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70,
	    0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3,
	    0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f,
	    0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	    0xc67178f2};
	uint32_t w[64], s[8], a, b;

	for (size_t i = 0; i < 16; i++)
		w[i] = (uint32_t)h->block[4 * i] << 24 |
		       (uint32_t)h->block[4 * i + 1] << 16 |
		       (uint32_t)h->block[4 * i + 2] << 8 | h->block[4 * i + 3];
	for (size_t i = 16; i < 64; i++) {
		a = w[i - 15];
		b = w[i - 2];
		w[i] = w[i - 16] + w[i - 7] +
		       (sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ a >> 3) +
		       (sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ b >> 10);
	}
	for (size_t i = 0; i < 8; i++)
		s[i] = h->state[i];
	for (size_t i = 0; i < 64; i++) {
		a = s[7] + k[i] + w[i] + ((s[4] & s[5]) ^ (~s[4] & s[6])) +
		    (sha256_rotate(s[4], 6) ^ sha256_rotate(s[4], 11) ^
			sha256_rotate(s[4], 25));
		b = ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2])) +
		    (sha256_rotate(s[0], 2) ^ sha256_rotate(s[0], 13) ^
			sha256_rotate(s[0], 22));
		for (size_t j = 7; j > 0; j--)
			s[j] = s[j - 1];
		s[4] += a;
		s[0] = a + b;
	}
	for (size_t i = 0; i < 8; i++)
		h->state[i] += s[i];
}

static inline void
sha256_add(struct sha256 *h, const void *data, size_t n)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < n; i++) {
		h->block[h->n++ % 64] = p[i];
		if (h->n % 64 == 0)
			sha256_block(h);
	}
}

static inline void
sha256_hex(struct sha256 *h, char hex[65])
{
	uint64_t bits = h->n * 8;
	uint8_t byte = 0x80;

	sha256_add(h, &byte, 1);
	byte = 0;
	while (h->n % 64 != 56)
		sha256_add(h, &byte, 1);
	for (unsigned i = 0; i < 8; i++) {
		byte = (uint8_t)(bits >> (56 - 8 * i));
		sha256_add(h, &byte, 1);
	}
	for (unsigned i = 0; i < 8; i++)
		snprintf(hex + (size_t)8 * i, 9, "%08x", (unsigned)h->state[i]);
}

#endif
