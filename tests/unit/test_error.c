/* SPDX-License-Identifier: Apache-2.0 */
/* error.c: statuses, messages that do not fit, and names in messages */
#include "support/cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tp/error.h"
#include "tp/utf8.h"

static void
every_status_has_words(void **state)
{
	(void)state;
	for (int a = TP_ERANGE; a <= TP_OK; a++) {
		assert_string_not_equal(
		    tp_status_text((enum tp_status)a), "unknown status");
		for (int b = a + 1; b <= TP_OK; b++)
			assert_string_not_equal(
			    tp_status_text((enum tp_status)a),
			    tp_status_text((enum tp_status)b));
	}
	assert_string_equal(
	    tp_status_text((enum tp_status)99), "unknown status");
}

static void
failing_fills_the_error(void **state)
{
	struct tp_err err = TP_ERR_INIT;
	char text[2 * TP_ERR_MSG_SIZE];

	(void)state;
	assert_int_equal(
	    tp_fail(&err, TP_EFORMAT, 12, "%d of %s", 3, "four"), TP_EFORMAT);
	assert_int_equal(err.status, TP_EFORMAT);
	assert_int_equal(err.offset, 12);
	assert_string_equal(err.msg, "3 of four");
	assert_int_equal(tp_fail(NULL, TP_EIO, 0, "%s", "x"), TP_EIO);

	assert_int_equal(
	    tp_fail_errno(&err, TP_EIO, ENOENT, "%s", "a"), TP_EIO);
	assert_memory_equal(err.msg, "a: ", 3);
	assert_string_equal(err.msg + 3, strerror(ENOENT));
	assert_int_equal(err.offset, TP_NO_OFFSET);
	assert_int_equal(tp_fail_errno(NULL, TP_EIO, ENOENT, "a"), TP_EIO);

	/* The last that fits, and the first that does not. */
	memset(text, 'x', sizeof(text));
	tp_fail(&err, TP_EARG, 0, "%.*s", TP_ERR_MSG_SIZE - 1, text);
	assert_int_equal(strlen(err.msg), TP_ERR_MSG_SIZE - 1);
	assert_int_equal(err.msg[TP_ERR_MSG_SIZE - 2], 'x');
	tp_fail(&err, TP_EARG, 0, "%.*s", TP_ERR_MSG_SIZE, text);
	assert_int_equal(strlen(err.msg), TP_ERR_MSG_SIZE - 1);
	assert_string_equal(err.msg + TP_ERR_MSG_SIZE - 5, "x...");
	/* The system's words are cut, not written past the end. */
	tp_fail_errno(&err, TP_EIO, ENOENT, "%.*s", TP_ERR_MSG_SIZE - 4, text);
	assert_true(strlen(err.msg) < TP_ERR_MSG_SIZE);
}

static void
strings_compare_by_bytes(void **state)
{
	const struct {
		struct tp_str a, b;
		int sign;
	} rows[] = {
	    {TP_STR(""), TP_STR(""), 0},
	    {TP_STR(""), TP_STR("a"), -1},
	    {TP_STR("a"), TP_STR("ab"), -1},
	    {TP_STR("a\0b"), TP_STR("a\0c"), -1},
	    {TP_STR("a\0b"), TP_STR("a"), 1},
	    {TP_STR("\xff"), TP_STR("a"), 1},
	    {{NULL, 0}, TP_STR("a"), -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int order = tp_str_cmp(rows[i].a, rows[i].b);

		assert_int_equal((order > 0) - (order < 0), rows[i].sign);
		order = tp_str_cmp(rows[i].b, rows[i].a);
		assert_int_equal((order > 0) - (order < 0), -rows[i].sign);
	}
	assert_int_equal(tp_str("abc").len, 3);
	assert_int_equal(tp_str(NULL).len, 0);
}

static void
names_are_shown_harmlessly(void **state)
{
	const struct {
		struct tp_str name;
		const char *want;
	} rows[] = {
	    {TP_STR("layer.0/w 'x'"), "layer.0/w 'x'"},
	    {TP_STR(""), ""},
	    {TP_STR("a\nb\0c\x1b[0m"), "a\\x0ab\\x00c\\x1b[0m"},
	    {TP_STR("\x7f\xff\xc3"), "\\x7f\\xff\\xc3"},
	    {TP_STR("\xc2\x9b"), "\\xc2\\x9b"}, /* a C1 control */
	    {TP_STR("\xc3\xa9\xf0\x9f\x98\x80"), "\xc3\xa9\xf0\x9f\x98\x80"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_string_equal(TP_BRIEF(rows[i].name), rows[i].want);
}

/* Whatever the name: it ends inside the buffer and is whole UTF-8. */
static void
long_names_keep_both_ends(void **state)
{
	static const char *const pieces[] = {
	    "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\n", "\xff"};
	char name[600];

	(void)state;
	for (size_t p = 0; p < COUNT_OF(pieces); p++)
		for (size_t lead = 0; lead < 4; lead++) {
			size_t n = 0;

			for (; n < lead; n++)
				name[n] = 'b';
			while (n < 500) {
				char buf[TP_BRIEF_SIZE];
				struct tp_str s;

				memcpy(name + n, pieces[p], strlen(pieces[p]));
				n += strlen(pieces[p]);
				s = (struct tp_str){name, n};
				memset(buf, 1, sizeof(buf));
				assert_ptr_equal(tp_str_brief(s, buf), buf);
				assert_non_null(memchr(buf, 0, sizeof(buf)));
				assert_int_equal(
				    tp_utf8_check(buf, strlen(buf)),
				    strlen(buf));
				if (n >= 400)
					assert_non_null(strstr(buf, "..."));
			}
		}
	memset(name, 'm', sizeof(name));
	memcpy(name, "begin.", 6);
	memcpy(name + sizeof(name) - 7, ".weight", 7);
	{
		struct tp_str s = {name, sizeof(name)};
		const char *brief = TP_BRIEF(s);

		assert_memory_equal(brief, "begin.", 6);
		assert_string_equal(brief + strlen(brief) - 7, ".weight");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_status_has_words),
	    cmocka_unit_test(failing_fills_the_error),
	    cmocka_unit_test(strings_compare_by_bytes),
	    cmocka_unit_test(names_are_shown_harmlessly),
	    cmocka_unit_test(long_names_keep_both_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
