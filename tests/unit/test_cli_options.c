/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_options.c, cli_help.c, cli_values.c: every kind of option, every mistake
 */
#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static struct {
	bool flag;
	const char *string;
	uint64_t size;
	int64_t number, level;
	int choice;
	struct cli_list list;
	const char *called;
} got;
static const char *whole_is_wrong;

static const char *
take_call(const struct cli_option *o, const char *text)
{
	assert_string_equal(o->name, "call");
	got.called = text;
	return strcmp(text, "bad") ? NULL : "no such thing";
}

static const char *
check_whole(void)
{
	return whole_is_wrong;
}

static const char *const choices[] = {"red", "green", NULL};
static const struct cli_option options[] = {
    {CLI_HEADING, .help = "What to show"},
    {CLI_FLAG, 'f', "flag", NULL, &got.flag, .help = "a flag"},
    {CLI_STRING, 's', "string", "TEXT", &got.string, .help = "some text"},
    {CLI_SIZE, 0, "size", "SIZE", &got.size, .help = "a size"},
    {CLI_INT, 'n', "number", "N", &got.number,
	.help = "a number that needs a rather long explanation, so long that "
		"it takes more than one line",
	.min = -3, .max = 5},
    {CLI_INT, 'c', "compress", "LEVEL", &got.level, .help = "a level",
	.without = "6", .min = 1, .max = 9},
    {CLI_CHOICE, 0, "choice", "COLOUR", &got.choice, .help = "red or green",
	.choices = choices},
    {CLI_LIST, 'l', "list", "ITEM", &got.list, .help = "repeatable"},
    {CLI_LIST, 0, "other-list-with-a-long-name", "ITEM", &got.list,
	.help = "shares the list"},
    {CLI_CALL, 0, "call", "X", NULL, .help = "calls", .call = take_call},
    {.kind = CLI_END},
};

static const struct cli_app app = {
    .name = "tool",
    .synopsis = "[options] FILE...\n--other FILE",
    .summary = "Does something.",
    .options = options,
    .min_args = 1,
    .max_args = 2,
    .check = check_whole,
};

#define MAX_WORDS 24
static char *words[MAX_WORDS + 1];
static char out_text[8192], talk_text[2048];
static int first, status;

static bool
parse(const char *line)
{
	static char copy[256];
	FILE *out = fmemopen(out_text, sizeof(out_text), "w");
	FILE *talk = fmemopen(talk_text, sizeof(talk_text), "w");
	char *rest = copy, *word;
	int argc = 0;
	bool go;

	cli_list_release(&got.list);
	memset(&got, 0, sizeof(got));
	memset(&cli_common, 0, sizeof(cli_common));
	out_text[0] = talk_text[0] = '\0';
	snprintf(copy, sizeof(copy), "tool %s", line);
	while ((word = strtok_r(rest, " ", &rest)) && argc < MAX_WORDS)
		words[argc++] = word;
	words[argc] = NULL;
	status = -1;
	go = cli_parse_to(&app, argc, words, out, talk, &first, &status);
	fclose(out);
	fclose(talk);
	return go;
}

static void
every_kind_is_stored(void **state)
{
	(void)state;
	assert_true(parse("-f in --string=x --size 3K -n -3 --choice green "
			  "--list a -l b out"));
	assert_true(got.flag);
	assert_string_equal(got.string, "x");
	assert_int_equal(got.size, 3072);
	assert_int_equal(got.number, -3);
	assert_int_equal(got.choice, 1);
	assert_int_equal(got.list.n, 2);
	assert_string_equal(got.list.items[0].text, "a");
	assert_string_equal(got.list.items[1].text, "b");
	assert_string_equal(words[first], "in");
	assert_string_equal(words[first + 1], "out");

	assert_true(parse("--other-list-with-a-long-name=1 --call y f"));
	assert_string_equal(
	    got.list.items[0].option->name, "other-list-with-a-long-name");
	assert_string_equal(got.called, "y");
	cli_list_release(&got.list);
}

static void
an_argument_may_be_left_out(void **state)
{
	(void)state;
	assert_true(parse("--compress f"));
	assert_int_equal(got.level, 6);
	assert_true(parse("--compress=9 f"));
	assert_int_equal(got.level, 9);
	assert_true(parse("-c3 f"));
	assert_int_equal(got.level, 3);
	assert_true(parse("-c f"));
	assert_int_equal(got.level, 6);
}

static void
common_options_come_by_themselves(void **state)
{
	(void)state;
	assert_true(parse("-qvv --json --threads 3 --max-memory 2M "
			  "--progress never -- -f"));
	assert_true(cli_common.quiet && cli_common.json);
	assert_int_equal(cli_common.verbose, 2);
	assert_int_equal(cli_common.threads, 3);
	assert_int_equal(cli_common.max_memory, 2 << 20);
	assert_int_equal(cli_common.progress, CLI_NEVER);
	assert_string_equal(words[first], "-f");
	assert_false(got.flag);
	/* A lone dash is an operand. */
	assert_true(parse("-"));
	assert_string_equal(words[first], "-");
}

static void
mistakes_end_with_2_and_a_hint(void **state)
{
	static const struct {
		const char *line, *talk;
	} rows[] = {
	    {"--flga f", "tool: unknown option '--flga': did you mean "
			 "'--flag'?\nTry 'tool --help'.\n"},
	    {"--sting=x f", "tool: unknown option '--sting=x': did you mean "
			    "'--string'?\n"},
	    {"--zzzzzz f", "tool: unknown option '--zzzzzz'\n"},
	    {"-fz f", "tool: unknown option '-z'\n"},
	    {"--c f", "tool: ambiguous option '--c'\n"},
	    {"--flag=1 f", "tool: option takes no argument: '--flag=1'\n"},
	    {"f --string", "tool: option needs an argument: '--string'\n"},
	    {"f -s", "tool: option needs an argument: '-s'\n"},
	    {"--size 3Q f", "tool: --size '3Q': not a size"},
	    {"--size -1 f", "tool: --size '-1': not a size"},
	    {"--number 6 f", "tool: --number '6': must be from -3 to 5\n"},
	    {"--number 1x f", "tool: --number '1x': not a whole number\n"},
	    {"--compress=0 f", "tool: --compress '0': must be from 1 to 9\n"},
	    {"--choice blue f",
		"tool: --choice 'blue': must be one of red, green\n"},
	    {"--call bad f", "tool: --call 'bad': no such thing\n"},
	    {"--threads 0 f", "tool: --threads '0': must be from 1 to 64\n"},
	    {"--max-memory 1K f",
		"tool: --max-memory '1K': must be at least 1048576\n"},
	    {"", "tool: missing operand\nUsage: tool [options] FILE...\n"},
	    {"a b c", "tool: too many operands\nUsage: tool [options] FILE"},
	    {"--\033[31m f", "tool: unknown option '--\\x1b[31m'\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_false(parse(rows[i].line));
		assert_int_equal(status, CLI_USAGE);
		if (strncmp(talk_text, rows[i].talk, strlen(rows[i].talk)))
			fail_msg("'%s' says: %s", rows[i].line, talk_text);
		assert_string_equal(out_text, "");
	}
}

static void
the_tool_judges_the_whole(void **state)
{
	(void)state;
	whole_is_wrong = "--flag without --string";
	assert_false(parse("-f x"));
	assert_int_equal(status, CLI_USAGE);
	assert_string_equal(
	    talk_text, "tool: --flag without --string\nTry 'tool --help'.\n");
	/* Help does not ask whether the rest makes sense. */
	assert_false(parse("-f --help"));
	assert_int_equal(status, CLI_OK);
	whole_is_wrong = NULL;
}

static void
help_names_every_option_within_80_columns(void **state)
{
	size_t columns = 0;

	(void)state;
	assert_false(parse("--help"));
	assert_int_equal(status, CLI_OK);
	assert_string_equal(talk_text, "");
	for (const struct cli_option *o = options; o->kind; o++)
		if (o->name)
			assert_non_null(strstr(out_text, o->name));
	assert_non_null(strstr(out_text,
	    "Usage: tool [options] FILE...\n  or:  tool --other FILE\n"));
	assert_non_null(strstr(out_text, "  -f, --flag              a flag\n"));
	assert_non_null(strstr(out_text, "      --size SIZE         a size\n"));
	assert_non_null(
	    strstr(out_text, "  -c, --compress[=LEVEL]  a level\n"));
	assert_non_null(strstr(out_text,
	    "  -n, --number N          a number that needs a rather long "
	    "explanation, so long\n                          that it"));
	assert_non_null(strstr(out_text, "\nWhat to show:\n"));
	assert_non_null(strstr(out_text, "\nCommon options:\n"));
	assert_non_null(strstr(out_text, "  -h, --help  "));
	for (const char *s = out_text; *s; s++) {
		columns = *s == '\n' ? 0 : columns + 1;
		assert_true(columns <= 80);
	}
}

static void
version_is_one_line(void **state)
{
	(void)state;
	assert_false(parse("--version"));
	assert_int_equal(status, CLI_OK);
	assert_memory_equal(out_text, "tool (tp-tools) ", 16);
	assert_ptr_equal(strchr(out_text, '\n'), strrchr(out_text, '\n'));
}

static void
sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
	    {"0", 0},
	    {"123", 123},
	    {"1K", 1024},
	    {"1k", 1024},
	    {"1KiB", 1024},
	    {"1KB", 1000},
	    {"2M", 2097152},
	    {"2MB", 2000000},
	    {"3G", UINT64_C(3221225472)},
	    {"3GB", UINT64_C(3000000000)},
	    {"1T", UINT64_C(1099511627776)},
	    {"1.5K", 1536},
	    {"0.1KB", 100},
	    {"10B", 10},
	    {"18446744073709551615", UINT64_MAX},
	};
	static const char *const bad[] = {"", "K", "-1", "1X", "1KK", " 1",
	    "1 ", "1.", ".5K", "18446744073709551616", "18014398509481984K",
	    "0x10"};
	uint64_t n;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		assert_true(cli_size_parse(good[i].text, &n));
		assert_int_equal(n, good[i].bytes);
	}
	n = 77;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (cli_size_parse(bad[i], &n))
			fail_msg("'%s' is no size", bad[i]);
	assert_int_equal(n, 77);
}

static void
statuses_become_exits(void **state)
{
	(void)state;
	assert_int_equal(cli_exit_of(TP_OK), 0);
	assert_int_equal(cli_exit_of(TP_EARG), 2);
	assert_int_equal(cli_exit_of(TP_ENOMEM), 3);
	assert_int_equal(cli_exit_of(TP_EIO), 3);
	assert_int_equal(cli_exit_of(TP_EFORMAT), 3);
	assert_int_equal(cli_exit_of(TP_ELIMIT), 3);
	assert_int_equal(cli_exit_of(TP_EMISMATCH), 3);
	assert_int_equal(cli_exit_of(TP_EUNSUPPORTED), 4);
	assert_int_equal(cli_exit_of(TP_ENOTFOUND), 4);
	assert_int_equal(cli_exit_of(TP_ERANGE), 4);
	assert_int_equal(cli_exit_of(TP_EOUTPUT), 5);
	assert_int_equal(cli_worst(3, 0), 3);
	assert_int_equal(cli_worst(3, 4), 4);
}

static void
errors_name_the_byte(void **state)
{
	struct tp_err err = {TP_EFORMAT, 114, "tensor 'a\n' appears twice"};
	char buf[128] = "";
	FILE *f = fmemopen(buf, sizeof(buf), "w");

	(void)state;
	cli_put_error(f, &err);
	fclose(f);
	assert_string_equal(
	    buf, "malformed file at byte 114: tensor 'a\\n' appears twice");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_kind_is_stored),
	    cmocka_unit_test(an_argument_may_be_left_out),
	    cmocka_unit_test(common_options_come_by_themselves),
	    cmocka_unit_test(mistakes_end_with_2_and_a_hint),
	    cmocka_unit_test(the_tool_judges_the_whole),
	    cmocka_unit_test(help_names_every_option_within_80_columns),
	    cmocka_unit_test(version_is_one_line),
	    cmocka_unit_test(sizes),
	    cmocka_unit_test(statuses_become_exits),
	    cmocka_unit_test(errors_name_the_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
