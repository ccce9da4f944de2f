/* SPDX-License-Identifier: Apache-2.0 */
/* source.c: only readable regular files, and only bytes that are there */
#include "support/cmocka_all.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/source.h"
#include "support/fail_alloc.h"
#include "support/temp_dir.h"

static void
assert_refused(const char *path, const char *message)
{
	struct tp_err err = TP_ERR_INIT;
	struct tpi_source *s = NULL;

	assert_int_equal(tpi_source_open(NULL, path, &s, &err), TP_EIO);
	assert_null(s);
	assert_string_equal(err.msg, message);
}

static void
what_is_no_file_is_refused(void **state)
{
	struct temp_dir *d = *state;

	assert_refused(d->path, "is a folder");
	assert_refused("/dev/null", "is a device, not a regular file");
	assert_refused(temp_path(d, "none"), "open: No such file or directory");
	/* Without a writer: the open must not wait for one. */
	assert_int_equal(mkfifo(temp_path(d, "pipe"), 0600), 0);
	assert_refused(
	    temp_path(d, "pipe"), "is a pipe; use - to read standard input");
}

static void
bytes_are_those_of_the_file(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "f");
	struct tp_err err = TP_ERR_INIT;
	struct tpi_source *s;
	char buf[8] = "";

	write_file(path, "0123456789", 10);
	assert_int_equal(tpi_source_open(NULL, path, &s, NULL), TP_OK);
	assert_int_equal(s->size, 10);
	assert_string_equal(s->path, path);
	assert_int_equal(tpi_source_read(s, 7, buf, 3, NULL), TP_OK);
	assert_string_equal(buf, "789");
	assert_int_equal(tpi_source_read(s, 10, buf, 0, NULL), TP_OK);
	assert_int_equal(tpi_source_read(s, 8, buf, 3, &err), TP_EFORMAT);
	assert_int_equal(
	    tpi_source_read(s, UINT64_MAX, buf, 2, &err), TP_EFORMAT);

	/* Someone cuts it meanwhile: an error, not a signal, not zeros. */
	assert_int_equal(truncate(path, 4), 0);
	assert_int_equal(tpi_source_read(s, 2, buf, 3, &err), TP_EIO);
	assert_non_null(strstr(err.msg, "cut short"));
	tpi_source_close(s);
}

static enum tp_status
check_after(struct temp_dir *d, void (*change)(const char *path))
{
	/* Long ago, so that a change now is at another time. */
	static const struct timespec then[2] = {
	    {.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	const char *path = temp_path(d, "f");
	struct tpi_source *s, *again;
	enum tp_status rc;

	write_file(path, "0123456789", 10);
	assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
	assert_int_equal(tpi_source_open(NULL, path, &s, NULL), TP_OK);
	if (change)
		change(path);
	assert_int_equal(tpi_source_again(s, &again, NULL), TP_OK);
	rc = tpi_source_check(s, NULL);
	/* It is what the first was when it was opened. */
	assert_int_equal(tpi_source_check(again, NULL), rc);
	tpi_source_close(s);
	tpi_source_close(again);
	return rc;
}

static void
overwrite(const char *path)
{
	FILE *f = fopen(path, "r+");

	fputs("9", f);
	fclose(f);
}

static void
cut(const char *path)
{
	assert_int_equal(truncate(path, 9), 0);
}

static void
replace(const char *path)
{
	char other[600];

	snprintf(other, sizeof(other), "%s.other", path);
	write_file(other, "abc", 3);
	assert_int_equal(rename(other, path), 0);
}

static void
remove_it(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

static void
what_was_written_to_is_noticed(void **state)
{
	struct temp_dir *d = *state;

	assert_int_equal(check_after(d, NULL), TP_OK);
	assert_int_equal(check_after(d, overwrite), TP_EIO);
	assert_int_equal(check_after(d, cut), TP_EIO);
	/* The file that is read stays as it is. */
	assert_int_equal(check_after(d, replace), TP_OK);
	assert_int_equal(check_after(d, remove_it), TP_OK);
}

static void
standard_input_can_be_a_file_or_a_pipe(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "f");
	int saved = dup(STDIN_FILENO), ends[2];
	struct tpi_source *s;
	char buf[8] = "";

	write_file(path, "0123456789", 10);
	assert_non_null(freopen(path, "rb", stdin));
	assert_int_equal(tpi_source_open(NULL, "-", &s, NULL), TP_OK);
	assert_int_equal(s->size, 10);
	tpi_source_close(s);

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "piped", 5), 5);
	close(ends[1]);
	assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
	close(ends[0]);
	assert_int_equal(tpi_source_open(NULL, "-", &s, NULL), TP_OK);
	assert_int_equal(s->size, 5);
	assert_int_equal(tpi_source_read(s, 0, buf, 5, NULL), TP_OK);
	assert_string_equal(buf, "piped");
	tpi_source_close(s);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void
no_memory_is_an_error(void **state)
{
	struct temp_dir *d = *state;
	const char *path = temp_path(d, "f");
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	write_file(path, "x", 1);
	while (fail_alloc_next(&a, rc)) {
		struct tpi_source *s = NULL;

		rc = tpi_source_open(&a.alloc, path, &s, NULL);
		tpi_source_close(s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEMP_DIR_TEST(what_is_no_file_is_refused),
	    TEMP_DIR_TEST(bytes_are_those_of_the_file),
	    TEMP_DIR_TEST(what_was_written_to_is_noticed),
	    TEMP_DIR_TEST(standard_input_can_be_a_file_or_a_pipe),
	    TEMP_DIR_TEST(no_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
