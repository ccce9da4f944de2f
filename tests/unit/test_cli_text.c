/* SPDX-License-Identifier: Apache-2.0 */
/* text.c and progress.c: nothing reaches a terminal as it came from a file */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "text.h"

/* cli_put_name into a buffer; the columns it reports must be its promise. */
static void
check_name(struct tp_str name, size_t max, const char *expected, size_t columns)
{
	char buf[512] = "";
	FILE *f = fmemopen(buf, sizeof(buf), "w");
	size_t width;

	assert_non_null(f);
	width = cli_put_name(f, name, max);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(buf, expected);
	assert_int_equal(width, columns);
}

static void
names_are_escaped(void **state)
{
	(void)state;
	check_name(TP_STR("conv1.weight"), 0, "conv1.weight", 12);
	check_name(TP_STR(""), 0, "", 0);
	check_name(TP_STR("a\nb\tc"), 0, "a\\nb\\tc", 7);
	check_name(TP_STR("a\0b"), 0, "a\\x00b", 6);
	check_name(TP_STR("\033[31mred"), 0, "\\x1b[31mred", 11);
	check_name(TP_STR("a\\b"), 0, "a\\\\b", 4);
	check_name(TP_STR("\x7f\a"), 0, "\\x7f\\x07", 8);
	/* C1 controls, a right-to-left override, a byte order mark */
	check_name(TP_STR("\xc2\x9b"
			  "1m"),
	    0, "\\u009b1m", 8);
	check_name(TP_STR("x\xe2\x80\xae"
			  "y"),
	    0, "x\\u202ey", 8);
	check_name(TP_STR("\xe2\x81\xa6"), 0, "\\u2066", 6);
	check_name(TP_STR("\xef\xbb\xbf"), 0, "\\ufeff", 6);
	/* Not UTF-8: a lone continuation byte, a surrogate, an end too soon. */
	check_name(TP_STR("a\x80"), 0, "a\\x80", 5);
	check_name(TP_STR("\xed\xa0\x80"), 0, "\\xed\\xa0\\x80", 12);
	check_name(TP_STR("\xe2\x82"), 0, "\\xe2\\x82", 8);
}

/* What a runner of CI would obey, were it printed as it is. */
static void
commands_of_ci_are_escaped(void **state)
{
	(void)state;
	check_name(TP_STR("::error::x"), 0, "\\x3a:error::x", 13);
	check_name(TP_STR(" ::x"), 0, "\\x20::x", 7);
	check_name(TP_STR("\xc2\xa0::x"), 0, "\\u00a0::x", 9);
	check_name(
	    TP_STR("a ##[x] ##vso[y]"), 0, "a \\x23#[x] \\x23#vso[y]", 22);
	/* All else stays. */
	check_name(
	    TP_STR("aten::add ## #[x] : ::"), 0, "aten::add ## #[x] : ::", 22);
	check_name(TP_STR(" a::b"), 0, " a::b", 5);
	check_name(TP_STR(":"), 0, ":", 1);
	check_name(TP_STR("###[x"), 0, "#\\x23#[x", 8);
	assert_false(cli_name_is_plain(TP_STR("::x")));
	assert_false(cli_name_is_plain(TP_STR("a##[")));
	assert_true(cli_name_is_plain(TP_STR("a::x")));
}

static void
columns_are_those_of_a_terminal(void **state)
{
	(void)state;
	check_name(TP_STR("h\xc3\xa9llo"), 0, "h\xc3\xa9llo", 5);
	check_name(TP_STR("\xe6\xbc\xa2\xe5\xad\x97"), 0,
	    "\xe6\xbc\xa2\xe5\xad\x97", 4);
	check_name(TP_STR("\xf0\x9f\x98\x80"), 0, "\xf0\x9f\x98\x80", 2);
	check_name(TP_STR("e\xcc\x81"), 0, "e\xcc\x81", 1);
}

/* They take no columns, and are drawn over what is around them. */
static void
heaps_of_marks_are_escaped(void **state)
{
	struct tp_str four = TP_STR("e\xcc\x81\xcc\x82\xcd\xaf\xe2\x83\x90");
	char long_name[1 + 2 * 400 + 1] = "a";

	(void)state;
	check_name(four, 0, four.s, 1);
	check_name(
	    TP_STR("e\xcc\x81\xcc\x82\xcd\xaf\xe2\x83\x90\xcc\x81x\xcc\x81"), 0,
	    "e\xcc\x81\xcc\x82\xcd\xaf\xe2\x83\x90\\u0301x\xcc\x81", 8);
	/* Nothing to stand on: they would change what is before the name. */
	check_name(TP_STR("\xcc\x81\xcc\x82x"), 0, "\\u0301\\u0302x", 13);
	/* Bytes that are not UTF-8 are printed, so that is something. */
	check_name(TP_STR("\x81\xcc\x82"), 0, "\\x81\xcc\x82", 4);
	for (size_t i = 0; i < 400; i++)
		memcpy(long_name + 1 + 2 * i, "\xcc\x81", 2);
	check_name(tp_str(long_name), 40,
	    "a\xcc\x81\xcc\x81\xcc\x81\xcc\x81\\u0301\\u0301..."
	    "\\u0301\\u0301\\u0301",
	    34);
	assert_true(cli_name_is_plain(four));
	assert_false(cli_name_is_plain(tp_str(long_name)));
}

static void
long_names_lose_their_middle(void **state)
{
	struct tp_str name = TP_STR("abcdefghijklmnopqrstuvwxyz");

	(void)state;
	check_name(name, 26, "abcdefghijklmnopqrstuvwxyz", 26);
	check_name(name, 25, "abcdefghijk...pqrstuvwxyz", 25);
	check_name(name, 10, "abc...wxyz", 10);
	assert_int_equal(cli_name_width(name, 10), 10);
	assert_int_equal(cli_name_width(name, 0), 26);
	/* An escape is not cut. */
	check_name(TP_STR("a\nb\nc\nd\ne"), 10, "a\\n...d\\ne", 10);
	check_name(TP_STR("a\nb\nc\nd\ne"), 8, "a...\\ne", 7);
}

static void
messages_keep_single_backslashes(void **state)
{
	char buf[64] = "";
	FILE *f = fmemopen(buf, sizeof(buf), "w");

	(void)state;
	cli_put_text(f, TP_STR("no 'a\\x00b'\r\n"));
	assert_int_equal(fclose(f), 0);
	assert_string_equal(buf, "no 'a\\x00b'\\r\\n");
}

static void
numbers_and_sizes(void **state)
{
	char buf[64] = "";
	FILE *f = fmemopen(buf, sizeof(buf), "w");

	(void)state;
	cli_put_u64(f, 0, 3);
	cli_put_u64(f, UINT64_MAX, 0);
	cli_put_u64(f, 12345, 4);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(buf, "  01844674407370955161512345");
	assert_int_equal(cli_u64_width(0), 1);
	assert_int_equal(cli_u64_width(999), 3);
	assert_int_equal(cli_u64_width(UINT64_MAX), 20);
	assert_string_equal(CLI_HUMAN(0), "0 B");
	assert_string_equal(CLI_HUMAN(1023), "1023 B");
	assert_string_equal(CLI_HUMAN(1024), "1.0 KiB");
	assert_string_equal(CLI_HUMAN(1536), "1.5 KiB");
	assert_string_equal(CLI_HUMAN(1024 * 1024 - 1), "1023.9 KiB");
	assert_string_equal(CLI_HUMAN(UINT64_C(1) << 30), "1.0 GiB");
	assert_string_equal(CLI_HUMAN(UINT64_MAX), "15.9 EiB");
}

static void
progress_tells_rate_and_time_left(void **state)
{
	char buf[CLI_PROGRESS_SIZE];

	(void)state;
	cli_progress_text(buf, "stats", 256 << 20, 1024 << 20, 2);
	assert_string_equal(buf,
	    "stats [######..................]  25%  128.0 MiB/s  0:06 left");
	cli_progress_text(buf, "stats", 0, 100, 0);
	assert_string_equal(
	    buf, "stats [........................]   0%  0 B/s");
	cli_progress_text(buf, "stats", 7, 0, 1);
	assert_string_equal(
	    buf, "stats [########################] 100%  7 B/s");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_escaped),
	    cmocka_unit_test(commands_of_ci_are_escaped),
	    cmocka_unit_test(columns_are_those_of_a_terminal),
	    cmocka_unit_test(heaps_of_marks_are_escaped),
	    cmocka_unit_test(long_names_lose_their_middle),
	    cmocka_unit_test(messages_keep_single_backslashes),
	    cmocka_unit_test(numbers_and_sizes),
	    cmocka_unit_test(progress_tells_rate_and_time_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
