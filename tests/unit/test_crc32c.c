/* SPDX-License-Identifier: Apache-2.0 */
/* crc32c.c: known values, and every way of computing against plain division */
#include "support/cmocka_all.h"

#include <string.h>

#include "formats/crc32c.h"

#define BIG ((size_t)64 << 10)

static uint8_t bytes[BIG + 64];

/* One bit after the other, as the definition reads. */
static uint32_t
divide(uint32_t crc, const uint8_t *p, size_t n)
{
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ UINT32_C(0x82f63b78)
				      : crc >> 1;
	}
	return ~crc;
}

static int
fill(void **state)
{
	uint32_t x = 12345;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		x = x * UINT32_C(1664525) + UINT32_C(1013904223);
		bytes[i] = (uint8_t)(x >> 24);
	}
	return 0;
}

/* The examples of RFC 3720, appendix B.4, and the customary check value. */
static void
known_values(void **state)
{
	static const uint8_t read_pdu[48] = {[0] = 0x01,
	    [1] = 0xc0,
	    [16] = 0x14,
	    [22] = 0x04,
	    [27] = 0x14,
	    [31] = 0x18,
	    [32] = 0x28,
	    [40] = 0x02};
	uint8_t zeros[32] = {0}, ones[32], up[32], down[32];
	tpi_crc32c_fn *fn;
	const char *name;

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	for (uint8_t i = 0; i < 32; i++) {
		up[i] = i;
		down[i] = (uint8_t)(31 - i);
	}
	for (size_t i = 0; (fn = tpi_crc32c_variant(i, &name)); i++) {
		print_message("%s\n", name);
		assert_int_equal(fn(0, "", 0), 0);
		assert_int_equal(fn(0, "123456789", 9), 0xe3069283);
		assert_int_equal(fn(0, zeros, 32), 0x8a9136aa);
		assert_int_equal(fn(0, ones, 32), 0x62a8ab43);
		assert_int_equal(fn(0, up, 32), 0x46dd794e);
		assert_int_equal(fn(0, down, 32), 0x113fdb5c);
		assert_int_equal(fn(0, read_pdu, 48), 0xd9963a56);
	}
	assert_int_equal(tpi_crc32c(0, "123456789", 9), 0xe3069283);
}

static void
every_alignment_and_length(void **state)
{
	tpi_crc32c_fn *fn;
	const char *name;

	(void)state;
	for (size_t at = 0; at < 16; at++)
		for (size_t n = 0; n <= 300; n++) {
			uint32_t want = divide(0, bytes + at, n);

			for (size_t i = 0; (fn = tpi_crc32c_variant(i, &name));
			     i++)
				assert_int_equal(fn(0, bytes + at, n), want);
		}
}

/* Around the runs that are computed side by side, and several of them. */
static void
long_messages(void **state)
{
	static const size_t sizes[] = {
	    768, 3 * 768, 12288, 12288 + 768, 2 * 12288, 40000, BIG - 1, BIG};
	tpi_crc32c_fn *fn;
	const char *name;

	(void)state;
	for (size_t k = 0; k < COUNT_OF(sizes); k++)
		for (size_t n = sizes[k] - 1; n <= sizes[k] + 1; n++)
			for (size_t at = 0; at < 9; at += 4) {
				uint32_t want = divide(7, bytes + at, n);

				for (size_t i = 0;
				     (fn = tpi_crc32c_variant(i, &name)); i++)
					assert_int_equal(
					    fn(7, bytes + at, n), want);
			}
}

static void
pieces_make_the_whole(void **state)
{
	uint32_t want = divide(0, bytes, 30000);

	(void)state;
	for (size_t cut = 0; cut <= 30000; cut += cut < 40 ? 1 : 977) {
		uint32_t a = tpi_crc32c(0, bytes, cut);
		uint32_t b = tpi_crc32c(0, bytes + cut, 30000 - cut);

		assert_int_equal(tpi_crc32c(a, bytes + cut, 30000 - cut), want);
		assert_int_equal(tpi_crc32c_combine(a, b, 30000 - cut), want);
	}
}

/* A piece longer than memory: 2^40 zero bytes by doubling. */
static void
combine_takes_long_pieces(void **state)
{
	static const uint8_t zero;
	uint32_t crc = tpi_crc32c(0, &zero, 1);

	(void)state;
	for (unsigned i = 0; i < 40; i++)
		crc = tpi_crc32c_combine(crc, crc, UINT64_C(1) << i);
	assert_int_equal(tpi_crc32c_combine(tpi_crc32c(0, "123", 3),
			     tpi_crc32c_combine(crc, tpi_crc32c(0, "4", 1), 1),
			     (UINT64_C(1) << 40) + 1),
	    tpi_crc32c_combine(tpi_crc32c_combine(tpi_crc32c(0, "123", 3), crc,
				   UINT64_C(1) << 40),
		tpi_crc32c(0, "4", 1), 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_values),
	    cmocka_unit_test(every_alignment_and_length),
	    cmocka_unit_test(long_messages),
	    cmocka_unit_test(pieces_make_the_whole),
	    cmocka_unit_test(combine_takes_long_pieces),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
