/* SPDX-License-Identifier: Apache-2.0 */
/* cli_file.c: texts that options name, and what is written beside the output */
#include "support/cmocka_all.h"

#include <errno.h>
#include <unistd.h>

#include "support/temp_dir.h"

#include "cli_file.h"

#define MANY 70000

/* How many bytes are asked for at a time does not show. */
static void
texts_of_any_size_are_whole(void **state)
{
	static const size_t sizes[] = {0, 1, 4094, 4095, 4096, 8191, MANY};
	const char *path = temp_path(&test_dir, "text");
	struct tp_err err = TP_ERR_INIT;
	char *made = malloc(MANY), *text;
	size_t n;

	(void)state;
	assert_non_null(made);
	for (size_t i = 0; i < MANY; i++)
		made[i] = (char)(i % 251);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_file(path, made, sizes[i]);
		assert_int_equal(
		    cli_read_file(path, sizes[i], &text, &n, &err), TP_OK);
		assert_int_equal(n, sizes[i]);
		assert_memory_equal(text, made, n);
		assert_int_equal(text[n], '\0');
		free(text);
	}
	free(made);
}

static void
expect_failure(
    const char *path, size_t max, enum tp_status status, const char *message)
{
	struct tp_err err = TP_ERR_INIT;
	char some = 0, *text = &some;
	size_t n = 1;

	assert_int_equal(cli_read_file(path, max, &text, &n, &err), status);
	assert_int_equal(err.status, status);
	assert_string_equal(err.msg, message);
	assert_null(text);
	assert_int_equal(n, 0);
}

static void
what_cannot_be_a_text_is_told(void **state)
{
	const char *path = temp_path(&test_dir, "text");

	(void)state;
	write_file(path, "12345", 5);
	expect_failure(path, 4, TP_ELIMIT, "the text is longer than 4 bytes");
	/* One without an end. */
	expect_failure("/dev/zero", 100000, TP_ELIMIT,
	    "the text is longer than 100000 bytes");
	expect_failure(temp_path(&test_dir, "none"), 4, TP_EIO,
	    "open: No such file or directory");
	expect_failure(test_dir.path, 4, TP_EIO, "read: Is a directory");
}

static int
put_four(FILE *out, void *ctx)
{
	(void)ctx;
	return fputs("four", out) < 0 ? EIO : 0;
}

static int
put_half(FILE *out, void *ctx)
{
	(void)ctx;
	fputs("fo", out);
	return ENOSPC;
}

static void
a_file_is_whole_or_what_it_was(void **state)
{
	const char *path = temp_path(&test_dir, "report");
	char *text;
	size_t n;

	(void)state;
	assert_int_equal(cli_write_file(path, put_half, NULL), ENOSPC);
	assert_int_equal(temp_dir_count(&test_dir), 0);
	assert_int_equal(cli_write_file(path, put_four, NULL), 0);
	assert_int_equal(cli_write_file(path, put_half, NULL), ENOSPC);
	assert_int_equal(temp_dir_count(&test_dir), 1);
	text = read_file(path, &n);
	assert_string_equal(text, "four");
	free(text);
	assert_int_equal(
	    cli_write_file(temp_path(&test_dir, "no/report"), put_four, NULL),
	    ENOENT);
	if (!access("/dev/full", W_OK))
		assert_int_equal(
		    cli_write_file("/dev/full", put_four, NULL), ENOSPC);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEMP_DIR_TEST(texts_of_any_size_are_whole),
	    TEMP_DIR_TEST(what_cannot_be_a_text_is_told),
	    TEMP_DIR_TEST(a_file_is_whole_or_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
