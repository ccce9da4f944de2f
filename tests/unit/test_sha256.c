/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.c: the examples of FIPS 180-4, odd pieces, and both ways alike */
#include "support/cmocka_all.h"

#include <string.h>

#include "sha256.h"

static void
check(const void *data, size_t n, size_t piece, const char *expected)
{
	uint8_t hash[SHA256_SIZE];
	char text[SHA256_TEXT_SIZE];
	struct sha256 h;

	sha256_init(&h);
	for (size_t i = 0; i < n; i += piece)
		sha256_add(
		    &h, (const char *)data + i, n - i < piece ? n - i : piece);
	sha256_end(&h, hash);
	assert_string_equal(sha256_text(hash, text), expected);
}

static void
published_examples(void **state)
{
	static char million[1000000];

	(void)state;
	check("", 0, 1,
	    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check("abc", 3, 3,
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 7,
	    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(million, 'a', sizeof(million));
	check(million, sizeof(million), sizeof(million),
	    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	check(million, sizeof(million), 63,
	    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths around the block, where the padding changes its form. */
static void
pieces_do_not_matter(void **state)
{
	uint8_t data[200], whole[SHA256_SIZE], pieces[SHA256_SIZE];
	struct sha256 h;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + 3);
	for (size_t n = 0; n <= sizeof(data); n++) {
		sha256_init(&h);
		sha256_add(&h, data, n);
		sha256_end(&h, whole);
		sha256_init(&h);
		for (size_t i = 0; i < n; i++)
			sha256_add(&h, data + i, 1);
		sha256_end(&h, pieces);
		assert_memory_equal(whole, pieces, SHA256_SIZE);
	}
}

static void
the_instruction_gives_the_same(void **state)
{
	sha256_blocks_fn *quick = sha256_blocks_by_instruction();
	uint32_t a[8] = {1, 2, 3, 4, 5, 6, 7, 0xffffffff}, b[8];
	uint8_t data[10 * SHA256_BLOCK];

	(void)state;
	if (!quick)
		skip();
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * i + i / 3);
	memcpy(b, a, sizeof(a));
	sha256_blocks_plain(a, data, 10);
	quick(b, data, 10);
	assert_memory_equal(a, b, sizeof(a));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(published_examples),
	    cmocka_unit_test(pieces_do_not_matter),
	    cmocka_unit_test(the_instruction_gives_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
