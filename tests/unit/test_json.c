/* SPDX-License-Identifier: Apache-2.0 */
/* json.c, json_scan.c: what is JSON, and that nothing of it is lost */
#define _DEFAULT_SOURCE 1 /* MAP_ANON */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/json.h"

#define LITERAL(s)               \
	{                        \
		s, sizeof(s) - 1 \
	}

/* Scan a whole text as one value. */
static enum tp_status
check(const char *text, size_t size, struct tp_err *err)
{
	struct tpi_json j;
	enum tp_status rc;

	rc = tpi_json_init(&j, NULL, text, size, 0, err);
	if (!rc)
		rc = tpi_json_skip(&j, err);
	if (!rc)
		rc = tpi_json_end(&j, err);
	tpi_json_release(&j);
	return rc;
}

static void
good_texts_pass(void **state)
{
	static const struct tp_str rows[] = {
	    LITERAL("{}"),
	    LITERAL("[]"),
	    LITERAL("0"),
	    LITERAL("-0"),
	    LITERAL("-0.0e-0"),
	    LITERAL("1E+400"),
	    LITERAL("123456789012345678901234567890"),
	    LITERAL("\"\""),
	    LITERAL("true"),
	    LITERAL("false"),
	    LITERAL("null"),
	    LITERAL(" \t\r\n[ 1 , 2 ] \t\r\n"),
	    LITERAL("{\"a\":{\"b\":[{},[],\"c\"]},\"d\":null}"),
	    LITERAL("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00fc\""),
	    LITERAL("\"\\ud83d\\ude00\""),
	    LITERAL("\"\\uD83D\\uDE00\""),
	    LITERAL("\"\\u0000\""),
	    LITERAL("\"\\\\u0000\""),
	    LITERAL("\"\x7f\xc3\xbc\xf0\x9f\x98\x80\""),
	    LITERAL("{\"\":{\"\":[]}}"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_err err = TP_ERR_INIT;

		if (check(rows[i].s, rows[i].len, &err))
			fail_msg("%s: %s", rows[i].s, err.msg);
	}
}

static void
bad_texts_fail_where_they_are_bad(void **state)
{
	static const struct {
		struct tp_str text;
		uint64_t offset;
	} rows[] = {
	    {LITERAL(""), 0},
	    {LITERAL("  "), 2},
	    {LITERAL("\xef\xbb\xbf{}"), 0}, /* a byte order mark */
	    {LITERAL("{} x"), 3},
	    {LITERAL("{}\0"), 2},
	    {LITERAL("{}{}"), 2},
	    {LITERAL("{"), 1},
	    {LITERAL("["), 1},
	    {LITERAL("]"), 0},
	    {LITERAL("[1"), 2},
	    {LITERAL("[1,]"), 3},
	    {LITERAL("[,1]"), 1},
	    {LITERAL("[1 2]"), 3},
	    {LITERAL("[1}"), 2},
	    {LITERAL("{\"a\":1]"), 6},
	    {LITERAL("{\"a\"}"), 4},
	    {LITERAL("{\"a\":}"), 5},
	    {LITERAL("{\"a\":1,}"), 7},
	    {LITERAL("{a:1}"), 1},
	    {LITERAL("{'a':1}"), 1},
	    {LITERAL("{1:1}"), 1},
	    {LITERAL("{\"a\":1 \"b\":2}"), 7},
	    {LITERAL("01"), 0},
	    {LITERAL("[-01]"), 2},
	    {LITERAL("00"), 0},
	    {LITERAL("+1"), 0},
	    {LITERAL(".5"), 0},
	    {LITERAL("1."), 2},
	    {LITERAL("1.e1"), 2},
	    {LITERAL("1e"), 2},
	    {LITERAL("1e+"), 3},
	    {LITERAL("-"), 1},
	    {LITERAL("--1"), 1},
	    {LITERAL("0x10"), 1},
	    {LITERAL("1a"), 1},
	    {LITERAL("NaN"), 0},
	    {LITERAL("Infinity"), 0},
	    {LITERAL("-Infinity"), 1},
	    {LITERAL("True"), 0},
	    {LITERAL("nul"), 0},
	    {LITERAL("nullx"), 4},
	    {LITERAL("[1]//"), 3},
	    {LITERAL("/*x*/1"), 0},
	    {LITERAL("\"a"), 0},
	    {LITERAL("\"a\\\""), 0},
	    {LITERAL("\"\\"), 2},
	    {LITERAL("\"\\x41\""), 2},
	    {LITERAL("\"\\'\""), 2},
	    {LITERAL("\"\\u12\""), 5},
	    {LITERAL("\"\\u12g4\""), 5},
	    {LITERAL("\"\\u123"), 6},
	    {LITERAL("\"\\ud800\""), 1},
	    {LITERAL("\"\\udc00\""), 1},
	    {LITERAL("\"\\ud800\\n\""), 1},
	    {LITERAL("\"\\ud800\\ud800\""), 1},
	    {LITERAL("\"\\ud800\\u0041\""), 1},
	    {LITERAL("\"\n\""), 1},
	    {LITERAL("\"a\x1f\""), 2},
	    {LITERAL("\"\0\""), 1},
	    {LITERAL("\"\xff\""), 1},
	    {LITERAL("\"\xc0\x80\""), 1},
	    {LITERAL("\"\xed\xa0\x80\""), 1},
	    {LITERAL("\"\xf4\x90\x80\x80\""), 1},
	    {LITERAL("\"\xc3"), 1},
	    {LITERAL("[1\x0b]"), 2},
	    {LITERAL("[1\xc2\xa0]"), 2},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_err err = TP_ERR_INIT;

		if (check(rows[i].text.s, rows[i].text.len, &err) != TP_EFORMAT)
			fail_msg("row %zu '%s' passed", i, rows[i].text.s);
		if (err.offset != rows[i].offset)
			fail_msg("'%s': at %d: %s", rows[i].text.s,
			    (int)err.offset, err.msg);
		assert_true(err.msg[0]);
	}
}

static void
depth_ends_at_127(void **state)
{
	char text[2 * 200];

	(void)state;
	for (size_t depth = 126; depth <= 200; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_int_equal(check(text, 2 * depth, NULL),
		    depth <= 127 ? TP_OK : TP_ELIMIT);
	}
}

static void
numbers_keep_their_text(void **state)
{
	static const struct {
		const char *text;
		bool whole;
		uint64_t value;
	} rows[] = {
	    {"0", true, 0},
	    {"7", true, 7},
	    {"9007199254740993", true, UINT64_C(9007199254740993)},
	    {"18446744073709551615", true, UINT64_MAX},
	    {"18446744073709551616", false, 0},
	    {"99999999999999999999999999", false, 0},
	    {"-0", false, 0},
	    {"-1", false, 0},
	    {"2.0", false, 0},
	    {"2e0", false, 0},
	    {"\"2\"", false, 0},
	    {"\"\\u00ff2\"", false, 0},
	    {"true", false, 0},
	    {"null", false, 0},
	    {"[]", false, 0},
	    {"{}", false, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const cJSON *item = NULL;
		struct tpi_json j;
		uint64_t value = 77;

		assert_int_equal(tpi_json_init(&j, NULL, rows[i].text,
				     strlen(rows[i].text), 0, NULL),
		    TP_OK);
		assert_int_equal(tpi_json_take(&j, 10, &item, NULL), TP_OK);
		assert_int_equal(tpi_json_u64(item, &value), rows[i].whole);
		assert_int_equal(value, rows[i].whole ? rows[i].value : 77);
		if (rows[i].text[0] == '-' || rows[i].text[0] == '2')
			assert_string_equal(TPI_JSON_SHOW(item), rows[i].text);
		tpi_json_release(&j);
	}
}

static void
arrays_become_trees(void **state)
{
	static const char text[] = "[1, 22 ,[333,-4.5e6],\"a\\u0041\"]";
	const cJSON *item = NULL;
	struct tpi_json j;
	uint64_t value = 0;

	(void)state;
	assert_int_equal(
	    tpi_json_init(&j, NULL, text, strlen(text), 0, NULL), TP_OK);
	assert_int_equal(tpi_json_take(&j, 7, &item, NULL), TP_OK);
	assert_int_equal(cJSON_GetArraySize(item), 4);
	assert_true(tpi_json_u64(cJSON_GetArrayItem(item, 1), &value));
	assert_int_equal(value, 22);
	item = cJSON_GetArrayItem(item, 2);
	assert_string_equal(
	    TPI_JSON_SHOW(cJSON_GetArrayItem(item, 1)), "-4.5e6");
	assert_false(tpi_json_u64(item, &value));
	tpi_json_release(&j);

	assert_int_equal(
	    tpi_json_init(&j, NULL, text, strlen(text), 0, NULL), TP_OK);
	assert_int_equal(tpi_json_take(&j, 6, &item, NULL), TP_ELIMIT);
	tpi_json_release(&j);
}

static void
arrays_of_numbers_need_no_tree(void **state)
{
	static const struct {
		const char *text;
		size_t n; /* SIZE_MAX: not such an array */
		uint64_t last;
	} rows[] = {
	    {"[]", 0, 0},
	    {" [ ] ", 0, 0},
	    {"[0]", 1, 0},
	    {"[ 1 ,\n2,18446744073709551615 ]", 3, UINT64_MAX},
	    {"[1,2,3,4]", SIZE_MAX, 0}, /* more than three */
	    {"[18446744073709551616]", SIZE_MAX, 0},
	    {"[01]", SIZE_MAX, 0},
	    {"[00]", SIZE_MAX, 0},
	    {"[1,]", SIZE_MAX, 0},
	    {"[,1]", SIZE_MAX, 0},
	    {"[1 2]", SIZE_MAX, 0},
	    {"[-0]", SIZE_MAX, 0},
	    {"[1.0]", SIZE_MAX, 0},
	    {"[1e0]", SIZE_MAX, 0},
	    {"[\"1\"]", SIZE_MAX, 0},
	    {"[[1]]", SIZE_MAX, 0},
	    {"[1", SIZE_MAX, 0},
	    {"[", SIZE_MAX, 0},
	    {"1", SIZE_MAX, 0},
	    {"", SIZE_MAX, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint64_t values[3] = {0};
		size_t n = SIZE_MAX;
		struct tpi_json j;

		assert_int_equal(tpi_json_init(&j, NULL, rows[i].text,
				     strlen(rows[i].text), 0, NULL),
		    TP_OK);
		assert_int_equal(
		    tpi_json_u64s(&j, values, 3, &n), rows[i].n != SIZE_MAX);
		assert_int_equal(n, rows[i].n);
		if (n == SIZE_MAX)
			assert_int_equal(j.pos, 0);
		else if (n)
			assert_int_equal(values[n - 1], rows[i].last);
		tpi_json_release(&j);
	}
}

static void
whole_numbers_may_end_in_zeros(void **state)
{
	static const struct {
		const char *text;
		bool whole;
	} rows[] = {{"12", true}, {"12.0", true}, {"12.000", true},
	    {"12.5", false}, {"12.05", false}, {"12e0", false}, {"-12", false},
	    {"\"12\"", false}, {"18446744073709551616", false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const cJSON *item = NULL;
		struct tpi_json j;
		uint64_t value = 7;

		assert_int_equal(tpi_json_init(&j, NULL, rows[i].text,
				     strlen(rows[i].text), 0, NULL),
		    TP_OK);
		assert_int_equal(tpi_json_take(&j, 1, &item, NULL), TP_OK);
		assert_int_equal(tpi_json_whole(item, &value), rows[i].whole);
		assert_int_equal(value, rows[i].whole ? 12 : 7);
		tpi_json_release(&j);
	}
}

static void
strings_keep_every_byte(void **state)
{
	static const struct {
		struct tp_str text, value;
	} rows[] = {
	    {LITERAL("\"\""), LITERAL("")},
	    {LITERAL("\"plain\""), LITERAL("plain")},
	    {LITERAL("\"a\\u0000b\""), LITERAL("a\0b")},
	    {LITERAL("\"\\u0000\\u0000\""), LITERAL("\0\0")},
	    {LITERAL("\"\\\\u0000\""), LITERAL("\\u0000")},
	    {LITERAL("\"1\\n\""), LITERAL("1\n")},
	    {LITERAL("\"\\u00c0\\u0080\""), LITERAL("\xc3\x80\xc2\x80")},
	    {LITERAL("\"\\ud83d\\ude00/\\/\""), LITERAL("\xf0\x9f\x98\x80//")},
	    {LITERAL("\"-1e5 [2,3] \\\"4\\\"\""), LITERAL("-1e5 [2,3] \"4\"")},
	    {LITERAL("\"\\u20AC\xe2\x82\xac\""),
		LITERAL("\xe2\x82\xac\xe2\x82\xac")},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct tp_str value = {0};
		struct tpi_json j;

		assert_int_equal(tpi_json_init(&j, NULL, rows[i].text.s,
				     rows[i].text.len, 0, NULL),
		    TP_OK);
		assert_int_equal(tpi_json_string(&j, &value, NULL), TP_OK);
		assert_int_equal(value.len, rows[i].value.len);
		assert_memory_equal(value.s, rows[i].value.s, value.len);
		tpi_json_release(&j);
	}
}

static void
members_come_in_order(void **state)
{
	static const char text[] =
	    " {\"a\":1, \"a\" : {\"x\\n\":[1],\"y\":{\"z\":2}}, \"\":\"v\"} ";
	struct tp_str key;
	struct tpi_json j;
	bool more;

	(void)state;
	assert_int_equal(
	    tpi_json_init(&j, NULL, text, strlen(text), 100, NULL), TP_OK);
	assert_int_equal(tpi_json_object(&j, NULL), TP_OK);

	assert_int_equal(tpi_json_member(&j, &more, &key, NULL), TP_OK);
	assert_true(more && key.len == 1 && key.s[0] == 'a');
	assert_int_equal(tpi_json_at(&j), 106);
	assert_string_equal(tpi_json_kind(&j), "a number");
	assert_int_equal(tpi_json_skip(&j, NULL), TP_OK);

	assert_int_equal(tpi_json_member(&j, &more, &key, NULL), TP_OK);
	assert_string_equal(tpi_json_kind(&j), "an object");
	assert_int_equal(tpi_json_object(&j, NULL), TP_OK);
	assert_int_equal(tpi_json_member(&j, &more, &key, NULL), TP_OK);
	assert_true(more && key.len == 2 && key.s[1] == '\n');
	assert_int_equal(tpi_json_skip(&j, NULL), TP_OK);
	assert_int_equal(tpi_json_member(&j, &more, &key, NULL), TP_OK);
	assert_int_equal(tpi_json_skip(&j, NULL), TP_OK);
	assert_int_equal(tpi_json_member(&j, &more, &key, NULL), TP_OK);
	assert_false(more);

	assert_int_equal(tpi_json_member(&j, &more, &key, NULL), TP_OK);
	assert_true(more && key.len == 0);
	assert_int_equal(tpi_json_string(&j, &key, NULL), TP_OK);
	assert_true(key.len == 1 && key.s[0] == 'v');
	assert_int_equal(tpi_json_member(&j, &more, &key, NULL), TP_OK);
	assert_false(more);
	assert_int_equal(tpi_json_end(&j, NULL), TP_OK);
	tpi_json_release(&j);
}

/* Nothing is read behind the last byte: it lies before an unmapped page. */
static void
no_byte_behind_the_end_is_read(void **state)
{
	static const char *const texts[] = {
	    "{\"a\\u0000\\ud83d\\ude00\":[1,-2.5e+10,true,false,null]}",
	    "{\"b\":{\"c\":\"d\\n\"}}",
	    "[18446744073709551615,\"\\\\u0000\\n\"]",
	    "\"\\n\"",
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANON, -1, 0);

	(void)state;
	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + page, page, PROT_NONE), 0);
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		for (size_t n = 0; n <= strlen(texts[i]); n++) {
			char *text = map + page - n;
			const cJSON *item = NULL;
			struct tpi_json j;
			bool whole = n == strlen(texts[i]);

			memcpy(text, texts[i], n);
			assert_int_equal(
			    check(text, n, NULL), whole ? TP_OK : TP_EFORMAT);
			if (tpi_json_init(&j, NULL, text, n, 0, NULL))
				continue;
			assert_int_equal(tpi_json_take(&j, 99, &item, NULL),
			    whole ? TP_OK : TP_EFORMAT);
			tpi_json_release(&j);
		}
	munmap(map, 2 * page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good_texts_pass),
	    cmocka_unit_test(bad_texts_fail_where_they_are_bad),
	    cmocka_unit_test(depth_ends_at_127),
	    cmocka_unit_test(numbers_keep_their_text),
	    cmocka_unit_test(arrays_become_trees),
	    cmocka_unit_test(arrays_of_numbers_need_no_tree),
	    cmocka_unit_test(whole_numbers_may_end_in_zeros),
	    cmocka_unit_test(strings_keep_every_byte),
	    cmocka_unit_test(members_come_in_order),
	    cmocka_unit_test(no_byte_behind_the_end_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
