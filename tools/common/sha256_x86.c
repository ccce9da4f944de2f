/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha256_x86.c - SHA-256 by the SHA instructions of x86 processors
 *
 * The instructions keep the state as two vectors, ABEF and CDGH, take two
 * rounds each, and four words of the message at a time. NULL elsewhere.
 */
#include "sha256.h"

#include "sha256_k.h"

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)

#include <stdatomic.h>
#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>

/* The next four words of the message from the sixteen before them. */
__attribute__((target("sha,sse4.1"))) static inline __m128i
next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
	__m128i sum = _mm_add_epi32(
	    _mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));

	return _mm_sha256msg2_epu32(sum, w3);
}

/* Four rounds with the words w. */
#define FOUR_ROUNDS(w, i)                                               \
	do {                                                            \
		__m128i sum = _mm_add_epi32((w), load(sha256_k + (i))); \
                                                                        \
		cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);          \
		abef = _mm_sha256rnds2_epu32(                           \
		    abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));          \
	} while (0)

__attribute__((target("sha,sse4.1"))) static inline __m128i
load(const void *p)
{
	return _mm_loadu_si128(p);
}

__attribute__((target("sha,sse4.1"))) static void
blocks(uint32_t state[8], const uint8_t *p, size_t n)
{
	const __m128i swap =
	    _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i badc = _mm_shuffle_epi32(load(state), 0xb1);
	__m128i efgh = _mm_shuffle_epi32(load(state + 4), 0x1b);
	__m128i abef = _mm_alignr_epi8(badc, efgh, 8);
	__m128i cdgh = _mm_blend_epi16(efgh, badc, 0xf0);

	for (; n; n--, p += SHA256_BLOCK) {
		__m128i first_abef = abef, first_cdgh = cdgh;
		__m128i w0 = _mm_shuffle_epi8(load(p), swap);
		__m128i w1 = _mm_shuffle_epi8(load(p + 16), swap);
		__m128i w2 = _mm_shuffle_epi8(load(p + 32), swap);
		__m128i w3 = _mm_shuffle_epi8(load(p + 48), swap);

		for (int i = 0;; i += 16) {
			FOUR_ROUNDS(w0, i);
			FOUR_ROUNDS(w1, i + 4);
			FOUR_ROUNDS(w2, i + 8);
			FOUR_ROUNDS(w3, i + 12);
			if (i == 48)
				break;
			w0 = next_words(w0, w1, w2, w3);
			w1 = next_words(w1, w2, w3, w0);
			w2 = next_words(w2, w3, w0, w1);
			w3 = next_words(w3, w0, w1, w2);
		}
		abef = _mm_add_epi32(abef, first_abef);
		cdgh = _mm_add_epi32(cdgh, first_cdgh);
	}
	badc = _mm_shuffle_epi32(cdgh, 0xb1);
	efgh = _mm_shuffle_epi32(abef, 0x1b);
	_mm_storeu_si128((void *)state, _mm_blend_epi16(efgh, badc, 0xf0));
	_mm_storeu_si128((void *)(state + 4), _mm_alignr_epi8(badc, efgh, 8));
}

static bool
has_instruction(void)
{
	unsigned a, b, c, d;

	/* SSSE3 and SSE4.1, then SHA. */
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 9) ||
	    !(c & 1u << 19))
		return false;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29);
}

sha256_blocks_fn *
sha256_blocks_by_instruction(void)
{
	static atomic_int known = -1; /* threads ask at once */
	int has = atomic_load_explicit(&known, memory_order_relaxed);

	if (has < 0) {
		has = has_instruction();
		atomic_store_explicit(&known, has, memory_order_relaxed);
	}
	return has ? blocks : NULL;
}

#else

sha256_blocks_fn *
sha256_blocks_by_instruction(void)
{
	return NULL;
}

#endif
