/* SPDX-License-Identifier: Apache-2.0 */
/* siphash.c - SipHash-1-3 */
#include "siphash.h"

#include "tp/endian.h"

#include "banned.h"

struct state {
	uint64_t v0, v1, v2, v3;
};

static uint64_t
rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void
mix(struct state *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 = rotate(s->v2, 32);
}

static void
absorb(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	mix(s);
	s->v0 ^= word;
}

uint64_t
tpi_siphash(const uint64_t key[2], const void *data, size_t n)
{
	const uint8_t *p = data;
	/* The text is "somepseudorandomlygeneratedbytes". */
	struct state s = {
	    key[0] ^ UINT64_C(0x736f6d6570736575),
	    key[1] ^ UINT64_C(0x646f72616e646f6d),
	    key[0] ^ UINT64_C(0x6c7967656e657261),
	    key[1] ^ UINT64_C(0x7465646279746573),
	};
	uint64_t last = (uint64_t)n << 56;
	size_t i = 0;

	for (; n - i >= 8; i += 8)
		absorb(&s, tp_le64(p + i));
	/* What is left of the bytes, and their number in the highest byte. */
	for (unsigned at = 0; i < n; i++, at += 8)
		last |= (uint64_t)p[i] << at;
	absorb(&s, last);
	s.v2 ^= 0xff;
	mix(&s);
	mix(&s);
	mix(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
