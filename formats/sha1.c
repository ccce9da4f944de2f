/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha1.c - SHA-1 (FIPS 180-4)
 *
 * The data, a byte 0x80, zeros up to 8 bytes before a multiple of 64, and the
 * count of bits as 8 bytes big-endian go through the block function.
 */
#include "sha1.h"

#include <string.h>

#include "banned.h"

static uint32_t
rotate(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

static void
block(uint32_t state[5], const uint8_t *p)
{
	static const uint32_t round[4] = {
	    0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
	uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3],
			e = state[4], f, t;

	for (size_t i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
		       (uint32_t)p[2] << 8 | p[3];
	for (size_t i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (size_t i = 0; i < 80; i++) {
		if (i < 20)
			f = (b & c) | (~b & d);
		else if (i < 40 || i >= 60)
			f = b ^ c ^ d;
		else
			f = (b & c) | (b & d) | (c & d);
		t = rotate(a, 5) + f + e + round[i / 20] + w[i];
		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = t;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
}

void
tpi_sha1_init(struct tpi_sha1 *h)
{
	static const uint32_t first[5] = {
	    0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};

	memcpy(h->state, first, sizeof(first));
	h->n = 0;
}

void
tpi_sha1_add(struct tpi_sha1 *h, const void *data, size_t n)
{
	const uint8_t *p = data;
	size_t have = (size_t)(h->n % 64), part;

	h->n += n;
	while (n) {
		if (!have && n >= 64) {
			block(h->state, p);
			part = 64;
		} else {
			part = n < 64 - have ? n : 64 - have;
			memcpy(h->block + have, p, part);
			have = (have + part) % 64;
			if (!have)
				block(h->state, h->block);
		}
		p += part;
		n -= part;
	}
}

void
tpi_sha1_hex(struct tpi_sha1 *h, char hex[41])
{
	static const uint8_t pad[64] = {0x80};
	static const char digits[] = "0123456789abcdef";
	uint64_t bits = h->n * 8;
	uint8_t tail[8];

	tpi_sha1_add(h, pad, 1 + (size_t)((119 - h->n % 64) % 64));
	for (unsigned i = 0; i < 8; i++)
		tail[i] = (uint8_t)(bits >> (56 - 8 * i));
	tpi_sha1_add(h, tail, 8);
	for (unsigned i = 0; i < 40; i++)
		hex[i] = digits[h->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
	hex[40] = 0;
}
