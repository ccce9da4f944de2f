/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.c - SHA-256 in plain C, and what surrounds the blocks */
#include "sha256.h"

#include <string.h>

#include "sha256_k.h"

const uint32_t sha256_k[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
    0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138,
    0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
    0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f,
    0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t
rotate(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static uint32_t
load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static void
store_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

void
sha256_blocks_plain(uint32_t state[8], const uint8_t *p, size_t n)
{
	for (; n; n--, p += SHA256_BLOCK) {
		uint32_t w[64], s[8];

		for (int i = 0; i < 16; i++)
			w[i] = load_be32(p + 4 * i);
		for (int i = 16; i < 64; i++)
			w[i] = w[i - 16] + w[i - 7] +
			       (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^
				   w[i - 15] >> 3) +
			       (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^
				   w[i - 2] >> 10);
		memcpy(s, state, sizeof(s));
		for (int i = 0; i < 64; i++) {
			uint32_t t1, t2;

			t1 = s[7] + sha256_k[i] + w[i] +
			     (rotate(s[4], 6) ^ rotate(s[4], 11) ^
				 rotate(s[4], 25)) +
			     ((s[4] & s[5]) ^ (~s[4] & s[6]));
			t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^
				 rotate(s[0], 22)) +
			     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
			memmove(s + 1, s, 7 * sizeof(s[0]));
			s[4] += t1;
			s[0] = t1 + t2;
		}
		for (int i = 0; i < 8; i++)
			state[i] += s[i];
	}
}

static void
take_blocks(uint32_t state[8], const uint8_t *p, size_t n)
{
	sha256_blocks_fn *quick = sha256_blocks_by_instruction();

	if (quick)
		quick(state, p, n);
	else
		sha256_blocks_plain(state, p, n);
}

void
sha256_init(struct sha256 *h)
{
	static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
	    0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

	memcpy(h->state, first, sizeof(first));
	h->nbytes = 0;
}

void
sha256_add(struct sha256 *h, const void *data, size_t n)
{
	const uint8_t *p = data;
	size_t filled = h->nbytes % SHA256_BLOCK, part;

	if (n == 0)
		return;
	h->nbytes += n;
	if (filled) {
		part = SHA256_BLOCK - filled < n ? SHA256_BLOCK - filled : n;
		memcpy(h->block + filled, p, part);
		p += part;
		n -= part;
		if (filled + part < SHA256_BLOCK)
			return;
		take_blocks(h->state, h->block, 1);
	}
	if (n >= SHA256_BLOCK)
		take_blocks(h->state, p, n / SHA256_BLOCK);
	memcpy(h->block, p + n / SHA256_BLOCK * SHA256_BLOCK, n % SHA256_BLOCK);
}

void
sha256_end(struct sha256 *h, uint8_t out[SHA256_SIZE])
{
	static const uint8_t padding[2 * SHA256_BLOCK] = {0x80};
	uint64_t bits = h->nbytes * 8;
	size_t filled = h->nbytes % SHA256_BLOCK;
	uint8_t length[8];

	store_be32(length, (uint32_t)(bits >> 32));
	store_be32(length + 4, (uint32_t)bits);
	/* One bit, then zeros up to the last eight bytes of a block. */
	sha256_add(
	    h, padding, (filled < SHA256_BLOCK - 8 ? 56u : 120u) - filled);
	sha256_add(h, length, sizeof(length));
	for (int i = 0; i < 8; i++)
		store_be32(out + 4 * i, h->state[i]);
}

const char *
sha256_text(const uint8_t hash[SHA256_SIZE], char buf[SHA256_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SHA256_SIZE; i++) {
		buf[2 * i] = digits[hash[i] >> 4];
		buf[2 * i + 1] = digits[hash[i] & 15];
	}
	buf[2 * SHA256_SIZE] = '\0';
	return buf;
}
