/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc32c.c - CRC-32C by the fastest means at hand
 *
 * A CRC is the remainder of the message, seen as a polynomial over GF(2),
 * divided by P. Appending n bytes multiplies it by x^(8n) modulo P, so that
 *
 *	crc(A B) = crc(A) * x^(8 |B|) + crc(B)
 *
 * which lets three runs of the message be computed side by side: the processor
 * instruction takes three cycles, but a new one can begin in each. Everything
 * here is reflected: bit 31 is the coefficient of x^0.
 */
#include "crc32c.h"

#include <pthread.h>
#include <stdbool.h>

#include "tp/endian.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <nmmintrin.h>
#define HW_NAME "sse4.2"
#define HW_TARGET __attribute__((target("sse4.2")))
#define HW_STEP8(crc, v) _mm_crc32_u64((crc), (v))
#define HW_STEP1(crc, v) _mm_crc32_u8((uint32_t)(crc), (v))
#define HW_PRESENT() (__builtin_cpu_supports("sse4.2") != 0)
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define HW_NAME "armv8-crc"
#define HW_TARGET
#define HW_STEP8(crc, v) __crc32cd((uint32_t)(crc), (v))
#define HW_STEP1(crc, v) __crc32cb((uint32_t)(crc), (v))
#define HW_PRESENT() true
#endif

#define POLY UINT32_C(0x82f63b78)
#define X_TO_0 UINT32_C(0x80000000)
#define X_TO_8 UINT32_C(0x00800000)

/* Bytes of one of the three runs: long ones cost less, short ones fit more. */
#define LONG_RUN ((size_t)4096)
#define SHORT_RUN ((size_t)256)

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* sliced[k][b]: the CRC of byte b followed by k zero bytes. */
static uint32_t sliced[8][256];

#ifdef HW_NAME
/* Multiplication by x^(8 * run), one table for each byte of the factor. */
struct shift {
	uint32_t of[4][256];
};
static struct shift long_shift, short_shift;
static bool have_hw;
#endif

static uint32_t
times_x(uint32_t a)
{
	return a & 1 ? a >> 1 ^ POLY : a >> 1;
}

/* a * b modulo P. */
static uint32_t
multiply(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;

	for (uint32_t bit = X_TO_0; bit; bit >>= 1) {
		if (a & bit)
			sum ^= b;
		b = times_x(b);
	}
	return sum;
}

/* x^(8n) modulo P. */
static uint32_t
power_of_bytes(uint64_t n)
{
	uint32_t result = X_TO_0, square = X_TO_8;

	for (; n; n >>= 1) {
		if (n & 1)
			result = multiply(result, square);
		square = multiply(square, square);
	}
	return result;
}

#ifdef HW_NAME
static void
fill_shift(struct shift *s, size_t run)
{
	uint32_t factor = power_of_bytes(run);

	for (unsigned k = 0; k < 4; k++)
		for (uint32_t b = 0; b < 256; b++)
			s->of[k][b] = multiply(b << 8 * k, factor);
}
#endif

static void
prepare(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = times_x(crc);
		sliced[0][b] = crc;
	}
	for (unsigned k = 1; k < 8; k++)
		for (unsigned b = 0; b < 256; b++) {
			uint32_t crc = sliced[k - 1][b];

			sliced[k][b] = crc >> 8 ^ sliced[0][crc & 0xff];
		}
#ifdef HW_NAME
	fill_shift(&long_shift, LONG_RUN);
	fill_shift(&short_shift, SHORT_RUN);
	have_hw = HW_PRESENT();
#endif
}

/* Eight bytes at a time, each through a table of its own. */
static uint32_t
crc_by_table(uint32_t crc, const void *p, size_t n)
{
	const uint8_t *b = p;

	crc = ~crc;
	for (; n >= 8; b += 8, n -= 8) {
		uint32_t lo = tp_le32(b) ^ crc, hi = tp_le32(b + 4);

		crc = sliced[7][lo & 0xff] ^ sliced[6][lo >> 8 & 0xff] ^
		      sliced[5][lo >> 16 & 0xff] ^ sliced[4][lo >> 24] ^
		      sliced[3][hi & 0xff] ^ sliced[2][hi >> 8 & 0xff] ^
		      sliced[1][hi >> 16 & 0xff] ^ sliced[0][hi >> 24];
	}
	for (; n; b++, n--)
		crc = crc >> 8 ^ sliced[0][(crc ^ *b) & 0xff];
	return ~crc;
}

#ifdef HW_NAME
static uint32_t
shift_crc(const struct shift *s, uint64_t crc)
{
	return s->of[0][crc & 0xff] ^ s->of[1][crc >> 8 & 0xff] ^
	       s->of[2][crc >> 16 & 0xff] ^ s->of[3][crc >> 24 & 0xff];
}

/* Three runs side by side, joined: 3 * run bytes at b. */
HW_TARGET static uint32_t
three_runs(
    uint64_t crc, const uint8_t *b, size_t run, const struct shift *by_run)
{
	uint64_t second = 0, third = 0;

	for (size_t i = 0; i < run; i += 8) {
		crc = HW_STEP8(crc, tp_le64(b + i));
		second = HW_STEP8(second, tp_le64(b + run + i));
		third = HW_STEP8(third, tp_le64(b + 2 * run + i));
	}
	crc = shift_crc(by_run, crc) ^ second;
	return shift_crc(by_run, crc) ^ (uint32_t)third;
}

HW_TARGET static uint32_t
crc_by_instruction(uint32_t start, const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t crc = ~start;

	for (; n >= 3 * LONG_RUN; b += 3 * LONG_RUN, n -= 3 * LONG_RUN)
		crc = three_runs(crc, b, LONG_RUN, &long_shift);
	for (; n >= 3 * SHORT_RUN; b += 3 * SHORT_RUN, n -= 3 * SHORT_RUN)
		crc = three_runs(crc, b, SHORT_RUN, &short_shift);
	for (; n >= 8; b += 8, n -= 8)
		crc = HW_STEP8(crc, tp_le64(b));
	for (; n; b++, n--)
		crc = HW_STEP1(crc, *b);
	return ~(uint32_t)crc;
}
#endif

tpi_crc32c_fn *
tpi_crc32c_variant(size_t i, const char **name)
{
	pthread_once(&once, prepare);
#ifdef HW_NAME
	if (have_hw && i-- == 0) {
		*name = HW_NAME;
		return crc_by_instruction;
	}
#endif
	if (i == 0) {
		*name = "table";
		return crc_by_table;
	}
	return NULL;
}

uint32_t
tpi_crc32c(uint32_t crc, const void *p, size_t n)
{
	pthread_once(&once, prepare);
#ifdef HW_NAME
	if (have_hw)
		return crc_by_instruction(crc, p, n);
#endif
	return crc_by_table(crc, p, n);
}

uint32_t
tpi_crc32c_combine(uint32_t first, uint32_t second, uint64_t n)
{
	return multiply(first, power_of_bytes(n)) ^ second;
}
