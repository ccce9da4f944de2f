/* SPDX-License-Identifier: Apache-2.0 */
/* checked.h, endian.h: the last that fits, the first that does not */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"

static void
unsigned_sums_and_products(void **state)
{
	static const struct {
		uint64_t a, b;
		bool add, sub, mul; /* overflows */
	} rows[] = {
	    {0, 0, false, false, false},
	    {UINT64_MAX, 0, false, false, false},
	    {UINT64_MAX, 1, true, false, false},
	    {1, UINT64_MAX, true, true, false},
	    {UINT64_MAX, UINT64_MAX, true, false, true},
	    {UINT64_C(1) << 63, UINT64_C(1) << 63, true, false, true},
	    {UINT32_MAX, UINT64_C(1) << 32, false, true, false},
	    {UINT64_C(1) << 32, UINT64_C(1) << 32, false, false, true},
	    {UINT64_MAX / 3, 3, false, false, false},
	    {UINT64_MAX / 3 + 1, 3, false, false, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t a = rows[i].a, b = rows[i].b, out;

		assert_int_equal(tp_add_u64(a, b, &out), rows[i].add);
		if (!rows[i].add)
			assert_true(out == a + b);
		assert_int_equal(tp_sub_u64(a, b, &out), rows[i].sub);
		if (!rows[i].sub)
			assert_true(out == a - b);
		assert_int_equal(tp_mul_u64(a, b, &out), rows[i].mul);
		if (!rows[i].mul)
			assert_true(out == a * b);
		assert_int_equal(tp_mul_u64(b, a, &out), rows[i].mul);
	}
}

static void
sizes_and_rounding(void **state)
{
	uint64_t u;
	size_t s;

	(void)state;
	assert_true(tp_mul_size(SIZE_MAX, 2, &s));
	assert_false(tp_mul_size(SIZE_MAX, 1, &s));
	assert_true(s == SIZE_MAX);
	assert_false(tp_mul_size(0, SIZE_MAX, &s));
	assert_true(tp_add_size(SIZE_MAX, 1, &s));
	assert_false(tp_add_size(SIZE_MAX - 1, 1, &s));
	assert_false(tp_round_up_u64(0, 64, &u));
	assert_true(u == 0);
	assert_false(tp_round_up_u64(65, 64, &u));
	assert_true(u == 128);
	assert_false(tp_round_up_u64(128, 64, &u));
	assert_true(u == 128);
	assert_false(tp_round_up_u64(10, 3, &u));
	assert_true(u == 12);
	assert_true(tp_round_up_u64(UINT64_MAX, 64, &u));
	assert_false(tp_round_up_u64(UINT64_MAX, 1, &u));
	assert_false(tp_u64_to_size(5, &s));
	assert_true(s == 5);
	assert_int_equal(tp_u64_to_size(UINT64_MAX, &s), SIZE_MAX < UINT64_MAX);
}

static void
signed_sums_and_products(void **state)
{
	static const struct {
		int64_t a, b;
		bool add, mul;
	} rows[] = {
	    {INT64_MAX, 1, true, false},
	    {INT64_MIN, -1, true, true},
	    {INT64_MIN, 1, false, false},
	    {INT64_MAX, -1, false, false},
	    {INT64_MIN, INT64_MAX, false, true},
	    {INT64_C(1) << 32, INT64_C(1) << 31, false, true},
	    {-(INT64_C(1) << 32), INT64_C(1) << 31, false, false},
	    {-(INT64_C(1) << 32), -(INT64_C(1) << 31), false, true},
	    {0, INT64_MIN, false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t a = rows[i].a, b = rows[i].b, out;

		assert_int_equal(tp_add_i64(a, b, &out), rows[i].add);
		assert_int_equal(tp_add_i64(b, a, &out), rows[i].add);
		if (!rows[i].add)
			assert_true(out == a + b);
		assert_int_equal(tp_mul_i64(a, b, &out), rows[i].mul);
		assert_int_equal(tp_mul_i64(b, a, &out), rows[i].mul);
		if (!rows[i].mul)
			assert_true(out == a * b);
	}
}

static void
bytes_are_little_endian(void **state)
{
	const uint8_t bytes[] = {0, 1, 2, 3, 4, 5, 6, 7, 0xf8};
	uint8_t out[9] = {0};
	uint16_t one = 1;

	(void)state;
	/* At an odd address too. */
	assert_int_equal(tp_le16(bytes + 7), 0xf807);
	assert_int_equal(tp_le32(bytes + 5), 0xf8070605);
	assert_true(tp_le64(bytes + 1) == UINT64_C(0xf807060504030201));
	tp_put_le64(out + 1, UINT64_C(0xf807060504030201));
	assert_memory_equal(out, bytes, 9);
	tp_put_le32(out, 0x03020100);
	tp_put_le16(out + 4, 0x0504);
	assert_memory_equal(out, bytes, 6);
	assert_int_equal(tp_host_is_little(), *(unsigned char *)&one == 1);
	tp_swap_bytes(out + 1, 2, 4);
	assert_memory_equal(out, "\0\4\3\2\1\xf8\7\6\5", 9);
	tp_swap_bytes(out, 9, 1);
	assert_memory_equal(out, "\0\4\3\2\1\xf8\7\6\5", 9);
	tp_swap_bytes(out + 1, 1, 8);
	assert_memory_equal(out, "\0\5\6\7\xf8\1\2\3\4", 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unsigned_sums_and_products),
	    cmocka_unit_test(sizes_and_rounding),
	    cmocka_unit_test(signed_sums_and_products),
	    cmocka_unit_test(bytes_are_little_endian),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
