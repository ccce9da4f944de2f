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

__attribute__((target("sha,sse4.1"))) static void
blocks(uint32_t state[8], const uint8_t *p, size_t n)
{
	const __m128i swap =
	    _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)state);
	__m128i hgfe =
	    _mm_loadu_si128((const __m128i *)(const void *)(state + 4));
	__m128i badc = _mm_shuffle_epi32(dcba, 0xb1);
	__m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
	__m128i abef = _mm_alignr_epi8(badc, efgh, 8);
	__m128i cdgh = _mm_blend_epi16(efgh, badc, 0xf0);

	for (; n; n--, p += SHA256_BLOCK) {
		__m128i first_abef = abef, first_cdgh = cdgh, w[4];

		for (int i = 0; i < 16; i++) {
			__m128i *now = &w[i % 4], sum;

			if (i < 4)
				*now = _mm_shuffle_epi8(
				    _mm_loadu_si128((
					const __m128i *)(const void *)(p +
								       16 * i)),
				    swap);
			else
				*now = next_words(w[i % 4], w[(i + 1) % 4],
				    w[(i + 2) % 4], w[(i + 3) % 4]);
			sum = _mm_add_epi32(
			    *now, _mm_loadu_si128(
				      (const __m128i *)(const void *)(sha256_k +
								      4 * i)));
			cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
			abef = _mm_sha256rnds2_epu32(
			    abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
		}
		abef = _mm_add_epi32(abef, first_abef);
		cdgh = _mm_add_epi32(cdgh, first_cdgh);
	}
	badc = _mm_shuffle_epi32(cdgh, 0xb1);
	efgh = _mm_shuffle_epi32(abef, 0x1b);
	_mm_storeu_si128(
	    (__m128i *)(void *)state, _mm_blend_epi16(efgh, badc, 0xf0));
	_mm_storeu_si128(
	    (__m128i *)(void *)(state + 4), _mm_alignr_epi8(badc, efgh, 8));
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
	static int known = -1;

	if (known < 0)
		known = has_instruction();
	return known ? blocks : NULL;
}

#else

sha256_blocks_fn *
sha256_blocks_by_instruction(void)
{
	return NULL;
}

#endif
