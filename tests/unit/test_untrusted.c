/* SPDX-License-Identifier: Apache-2.0 */
/*
 * untrusted.c: limits by name, and that SECURITY.md and the manuals have them
 * all, with their numbers.
 */
#include "support/cmocka_all.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "untrusted.h"

/* 64 -> "64", 16384 -> "16 KiB", 1 << 40 -> "1 TiB", all bits -> "no limit". */
static void
as_written(uint64_t n, bool is_bytes, char buf[40])
{
	static const char *const units[] = {"", " KiB", " MiB", " GiB", " TiB"};
	size_t unit = 0;

	if (n == UINT64_MAX) {
		snprintf(buf, 40, "no limit");
		return;
	}
	while (is_bytes && unit < 4 && n % 1024 == 0) {
		n /= 1024;
		unit++;
	}
	snprintf(buf, 40, "%llu%s", (unsigned long long)n, units[unit]);
}

static char *
read_text(const char *name)
{
	char path[1024];
	char *text = NULL;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", TP_SOURCE_DIR, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	text = calloc(1, 1 << 20);
	assert_non_null(text);
	n = fread(text, 1, (1 << 20) - 1, f);
	assert_true(n > 0 && n < (1 << 20) - 1);
	fclose(f);
	return text;
}

/* The line that begins so, without commas; NULL: there is none. */
static const char *
find_line(const char *text, const char *head, char *line, size_t size)
{
	const char *at = strstr(text, head);
	size_t n = 0;

	if (!at || (at != text && at[-1] != '\n'))
		return NULL;
	for (; *at && *at != '\n' && n + 1 < size; at++)
		if (*at != ',')
			line[n++] = *at;
	line[n] = '\0';
	return line;
}

static bool
ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && !strcmp(text + n - k, end);
}

/* Each limit has a line "HEAD name … BETWEEN untrusted BETWEEN otherwise". */
static void
check_table(const char *file, const char *before, const char *after,
    const char *between, const char *end)
{
	char *text = read_text(file);
	uint64_t untrusted, otherwise;
	const char *name;

	for (size_t i = 0;
	     (name = cli_untrusted_limit(i, &untrusted, &otherwise)); i++) {
		bool is_bytes = strstr(name, "bytes") != NULL;
		char head[80], line[400], low[40], high[40], want[120];

		as_written(untrusted, is_bytes, low);
		as_written(otherwise, is_bytes, high);
		snprintf(head, sizeof(head), "%s%s%s", before, name, after);
		snprintf(want, sizeof(want), "%s%s%s%s%s", between, low,
		    between, high, end);
		if (!find_line(text, head, line, sizeof(line)))
			fail_msg("%s does not tell of %s", file, name);
		if (!ends_with(line, want))
			fail_msg("%s: '%s' does not end with '%s'", file, line,
			    want);
	}
	free(text);
}

static void
the_texts_have_the_numbers(void **state)
{
	(void)state;
	check_table("SECURITY.md", "| `", "` |", " | ", " |");
	check_table("man/tp-inspect.1", ".It Cm ", " Ta ", " Ta ", "");
	check_table("man/tp-verify.1", ".It Cm ", " Ta ", " Ta ", "");
}

/* A field that is added to the libraries' limits gets a name here. */
static void
every_limit_has_a_name(void **state)
{
	uint64_t untrusted, otherwise;
	size_t n = 0;

	(void)state;
	while (cli_untrusted_limit(n, &untrusted, &otherwise)) {
		assert_true(untrusted > 0 && untrusted < otherwise);
		n++;
	}
	assert_int_equal(n * sizeof(uint64_t), sizeof(struct tp_limits));
}

static void
options_set_limits(void **state)
{
	const struct cli_option option = {.value = &cli_untrusted.limits};
	uint64_t untrusted, otherwise;
	struct tp_limits l;

	(void)state;
	cli_untrusted.trust = CLI_TRUSTED;
	l = cli_untrusted_limits();
	assert_int_equal(l.depth, 0);
	cli_untrusted.trust = CLI_UNTRUSTED;
	assert_string_equal(
	    cli_untrusted_limit(0, &untrusted, &otherwise), "header_bytes");
	assert_int_equal(cli_untrusted_limits().header_bytes, untrusted);
	assert_null(cli_untrusted_set_limit(&option, "header_bytes=2K"));
	assert_int_equal(cli_untrusted_limits().header_bytes, 2048);
	assert_int_equal(cli_untrusted_limits().depth, 64);
	cli_untrusted.trust = CLI_TRUSTED;
	assert_int_equal(cli_untrusted_limits().header_bytes, 2048);
	assert_non_null(cli_untrusted_set_limit(&option, "header_bytes"));
	assert_non_null(cli_untrusted_set_limit(&option, "header_bytes=0"));
	assert_non_null(cli_untrusted_set_limit(&option, "header_bytes=-1"));
	assert_non_null(cli_untrusted_set_limit(&option, "header=1"));
	assert_string_equal(cli_untrusted_set_limit(&option, "=1"),
	    "not one of header_bytes, directory_bytes, tensors, name_bytes, "
	    "metadata, metadata_bytes, depth, expansion");
	assert_non_null(cli_untrusted_set_limit(&option, ""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_texts_have_the_numbers),
	    cmocka_unit_test(every_limit_has_a_name),
	    cmocka_unit_test(options_set_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
