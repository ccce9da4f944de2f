/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.c, siphash.c: names of all kinds found again, with and without room made
 * before; hashes
 */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "tp/map.h"

#include "libtensor/siphash.h"

#include "support/fail_alloc.h"

#define N 5000

static char names[N][16];

static struct tp_str
name(size_t i)
{
	int n = snprintf(names[i], sizeof(names[i]), "layer.%zu", i);

	return (struct tp_str){names[i], (size_t)n};
}

static void
keys_are_found_again(void **state)
{
	(void)state;
	for (size_t reserved = 0; reserved <= N; reserved += N / 2) {
		struct tp_map m;
		size_t value = 0, n_slots;

		tp_map_init(&m, NULL);
		assert_int_equal(tp_map_reserve(&m, reserved, NULL), TP_OK);
		n_slots = m.n_slots;
		for (size_t i = 0; i < N; i++) {
			assert_false(tp_map_find(&m, name(i), &value));
			assert_int_equal(
			    tp_map_add(&m, name(i), i, NULL, NULL), TP_OK);
			if (i < reserved)
				assert_int_equal(m.n_slots, n_slots);
		}
		/* Room for what is there already changes nothing. */
		n_slots = m.n_slots;
		assert_int_equal(tp_map_reserve(&m, N, NULL), TP_OK);
		assert_int_equal(m.n_slots, n_slots);
		for (size_t i = 0; i < N; i++) {
			assert_true(tp_map_find(&m, name(i), &value));
			assert_int_equal(value, i);
			assert_int_equal(
			    tp_map_add(&m, name(i), 1, &value, NULL), TP_EARG);
			assert_int_equal(value, i);
		}
		tp_map_release(&m);
	}
}

static void
odd_keys_are_kept_apart(void **state)
{
	const struct tp_str keys[] = {{"", 0}, {"\0", 1}, {"\0\0", 2}, {"a", 1},
	    {"a\0", 2}, {"a\0b", 3}, {"a\0c", 3}};
	struct tp_map m;
	size_t value = 0;

	(void)state;
	tp_map_init(&m, NULL);
	assert_false(tp_map_find(&m, keys[0], &value));
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		assert_int_equal(tp_map_add(&m, keys[i], i, NULL, NULL), TP_OK);
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		assert_true(tp_map_find(&m, keys[i], &value));
		assert_int_equal(value, i);
	}
	/* The empty name without an address is the empty name. */
	assert_true(tp_map_find(&m, (struct tp_str){NULL, 0}, &value));
	assert_int_equal(value, 0);
	tp_map_release(&m);
}

static void
room_may_be_missing(void **state)
{
	(void)state;
	for (size_t n = 1; n < 4; n++) {
		struct fail_alloc a;
		struct tp_map m;
		enum tp_status rc = TP_OK;
		size_t i, value = 0;

		fail_alloc_init(&a, n);
		tp_map_init(&m, &a.alloc);
		for (i = 0; i < N && !rc; i++)
			rc = tp_map_add(&m, name(i), i, NULL, NULL);
		assert_int_equal(rc, TP_ENOMEM);
		assert_int_equal(tp_map_reserve(&m, N, NULL), TP_ENOMEM);
		assert_int_equal(tp_map_reserve(&m, SIZE_MAX, NULL), TP_ENOMEM);
		/* What was there is still there. */
		for (size_t k = 0; k + 1 < i; k++) {
			assert_true(tp_map_find(&m, name(k), &value));
			assert_int_equal(value, k);
		}
		tp_map_release(&m);
		assert_int_equal(a.n_live, 0);
	}
}

/* What Python gives for hash() where PYTHONHASHSEED is 0. */
static void
hashes_are_siphash(void **state)
{
	static const struct {
		const char *text;
		uint64_t hash;
	} known[] = {
	    {"a", UINT64_C(0x407448d2b89b1813)},
	    {"abcdefg", UINT64_C(0x6db12aae9070f506)},
	    {"abcdefgh", UINT64_C(0x3f7b849c0b8e35ea)},
	    {"abcdefghi", UINT64_C(0xf89b34a3d11eb6e5)},
	    {"layer.0.weight", UINT64_C(0x53f3f9b339afd0eb)},
	};
	static const uint64_t zero[2];
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++)
		assert_true(tpi_siphash(zero, known[i].text,
				strlen(known[i].text)) == known[i].hash);
	for (uint8_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	assert_true(tpi_siphash(zero, bytes, sizeof(bytes)) ==
		    UINT64_C(0x75e05fd5bbc870c6));
}

/*
 * A multiplication by an odd number leaves a difference in the highest bit
 * alone, and the next word can take it back: a hash of that kind gives all of
 * these the same value, whatever its key.
 */
static void
names_cannot_be_made_to_collide(void **state)
{
	enum { BLOCKS = 10, NAMES = 1 << BLOCKS };
	static const uint64_t keys[][2] = {{0, 0}, {1, 2}, {~UINT64_C(0), 77}};
	static uint64_t hashes[NAMES];

	(void)state;
	for (size_t k = 0; k < COUNT_OF(keys); k++) {
		for (size_t i = 0; i < NAMES; i++) {
			uint8_t text[BLOCKS * 16];

			memset(text, 'a', sizeof(text));
			for (size_t b = 0; b < BLOCKS; b++) {
				uint8_t *p = text + 16 * b;

				if (i >> b & 1)
					p[7] ^= 0x80, p[11] ^= 0x80,
					    p[15] ^= 0x80;
			}
			hashes[i] = tpi_siphash(keys[k], text, sizeof(text));
			for (size_t j = 0; j < i; j++)
				assert_true(hashes[i] != hashes[j]);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keys_are_found_again),
	    cmocka_unit_test(odd_keys_are_kept_apart),
	    cmocka_unit_test(room_may_be_missing),
	    cmocka_unit_test(hashes_are_siphash),
	    cmocka_unit_test(names_cannot_be_made_to_collide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
