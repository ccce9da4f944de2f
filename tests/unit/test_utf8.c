/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c: every code point, every pair and triple of bytes, and the rest */
#include "support/cmocka_all.h"

#include <string.h>

#include "tp/utf8.h"

/* RFC 3629, section 3. */
static size_t
encode(uint32_t c, char *s)
{
	if (c < 0x80) {
		s[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		s[0] = (char)(0xc0 + c / 64);
		s[1] = (char)(0x80 + c % 64);
		return 2;
	}
	if (c < 0x10000) {
		s[0] = (char)(0xe0 + c / 4096);
		s[1] = (char)(0x80 + c / 64 % 64);
		s[2] = (char)(0x80 + c % 64);
		return 3;
	}
	s[0] = (char)(0xf0 + c / 262144);
	s[1] = (char)(0x80 + c / 4096 % 64);
	s[2] = (char)(0x80 + c / 64 % 64);
	s[3] = (char)(0x80 + c % 64);
	return 4;
}

static void
every_code_point_decodes(void **state)
{
	(void)state;
	for (uint32_t c = 0; c < 0x1fffff; c++) {
		bool valid = c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
		uint32_t code = 77;
		char s[4];
		size_t n = encode(c, s);

		if (!valid) {
			assert_int_equal(tp_utf8_decode(s, n, &code), 0);
			assert_int_equal(tp_utf8_check(s, n), 0);
			continue;
		}
		assert_int_equal(tp_utf8_decode(s, n, &code), n);
		assert_int_equal(code, c);
		assert_int_equal(tp_utf8_check(s, n), n);
		if (n > 1)
			assert_int_equal(tp_utf8_decode(s, n - 1, &code), 0);
	}
}

/* A pair or triple is a character exactly if encoding what it says gives it. */
static void
other_bytes_are_refused(void **state)
{
	(void)state;
	for (uint32_t three = 0x800000; three < 0x1000000; three++) {
		unsigned char b[3] = {(unsigned char)(three >> 16),
		    (unsigned char)(three >> 8), (unsigned char)three};
		uint32_t pair = (b[0] & 31u) << 6 | (b[1] & 63u);
		uint32_t triple =
		    (b[0] & 15u) << 12 | (b[1] & 63u) << 6 | (b[2] & 63u);
		uint32_t code;
		char s[4];
		size_t want = 0;

		if (encode(pair, s) == 2 && !memcmp(s, b, 2))
			want = 2;
		if ((triple < 0xd800 || triple > 0xdfff) &&
		    encode(triple, s) == 3 && !memcmp(s, b, 3))
			want = 3;
		assert_int_equal(tp_utf8_decode((char *)b, 3, &code), want);
	}
}

static void
the_first_wrong_byte_is_found(void **state)
{
	char text[64];

	(void)state;
	assert_int_equal(tp_utf8_check("", 0), 0);
	for (size_t n = 1; n < sizeof(text); n++)
		for (size_t at = 0; at < n; at++) {
			memset(text, 'a', n);
			text[at] = '\xff';
			assert_int_equal(tp_utf8_check(text, n), at);
			/* A character that the end cuts. */
			text[at] = '\xe2';
			assert_int_equal(tp_utf8_check(text, n), at);
		}
	memset(text, 0, 10);
	assert_int_equal(tp_utf8_check(text, 10), 10);
	memcpy(text + 7, "\xe2\x82\xac", 3);
	assert_int_equal(tp_utf8_check(text, 10), 10);
	assert_int_equal(tp_utf8_check(text, 9), 7);
}

/* Ends of the ranges that matter, and their neighbors. */
static void
what_is_hidden(void **state)
{
	static const uint32_t yes[] = {0, 9, 0x1b, 0x1f, 0x7f, 0x80, 0x9b, 0x9f,
	    0xa0, 0xad, 0x61c, 0x115f, 0x1680, 0x180e, 0x2000, 0x200a, 0x200b,
	    0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e,
	    0x202f, 0x205f, 0x2060, 0x2066, 0x2069, 0x206f, 0x2800, 0x3000,
	    0x3164, 0xfe0f, 0xfeff, 0xfff9, 0xfffb, 0xfffe, 0xffff, 0x13430,
	    0x1343f, 0x1fffe, 0x1ffff, 0xe0001, 0xe007f, 0xe0fff, 0x10fffe,
	    0x10ffff};
	static const uint32_t no[] = {' ', '~', 0xa1, 0xac, 0xae, 0xe9, 0x61b,
	    0x1fff, 0x2010, 0x2027, 0x2030, 0x205e, 0x2070, 0x27ff, 0x2801,
	    0x2fff, 0x3001, 0x6f22, 0xd7ff, 0xe000, 0xfdf0, 0xfefe, 0xfffc,
	    0xfffd, 0x1342f, 0x13440, 0x1f600, 0x1fffd, 0x20000, 0xe1000,
	    0x10fffd};

	(void)state;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(tp_utf8_is_hidden(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(tp_utf8_is_hidden(no[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_code_point_decodes),
	    cmocka_unit_test(other_bytes_are_refused),
	    cmocka_unit_test(the_first_wrong_byte_is_found),
	    cmocka_unit_test(what_is_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
