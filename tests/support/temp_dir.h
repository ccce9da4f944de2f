/* SPDX-License-Identifier: Apache-2.0 */
/*
 * temp_dir.h - a folder for one test, made new and removed with all it holds
 *
 *	struct temp_dir d;
 *
 *	temp_dir_make(&d);
 *	write_file(temp_path(&d, "a"), "text", 4);
 *	temp_dir_remove(&d);
 *
 * With cmocka, test_dir is that of the running test (*state points to it too):
 *
 *	cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
 *
 * for one folder, or TEMP_DIR_TEST(f) in the list of tests for one a test.
 */
#ifndef TEST_TEMP_DIR_H
#define TEST_TEMP_DIR_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct temp_dir {
	char path[256];
	char names[4][512]; /* what temp_path hands out, in turn */
	unsigned next;
};

static inline void
temp_dir_make(struct temp_dir *d)
{
	const char *base = getenv("TMPDIR");

	memset(d, 0, sizeof(*d));
	snprintf(d->path, sizeof(d->path), "%s/tp-test-XXXXXX",
	    base && *base ? base : "/tmp");
	if (!mkdtemp(d->path)) {
		perror(d->path);
		abort();
	}
}

/* The path of a file in the folder; good until the fourth call from now. */
static inline const char *
temp_path(struct temp_dir *d, const char *name)
{
	char *path = d->names[d->next++ % 4];
	size_t len = strlen(d->path), name_len = strlen(name);

	if (len + 1 + name_len + 1 > sizeof(d->names[0]))
		abort();
	memcpy(path, d->path, len);
	path[len] = '/';
	memcpy(path + len + 1, name, name_len + 1);
	return path;
}

/* Entries of the folder, `.` and `..` not counted. */
static inline size_t
temp_dir_count(const struct temp_dir *d)
{
	DIR *dir = opendir(d->path);
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 2;
}

/* Removes files and folders one level deep, which is all that tests make. */
static inline void
temp_dir_remove(struct temp_dir *d)
{
	char command[300];

	chmod(d->path, 0700);
	snprintf(command, sizeof(command), "rm -rf '%s'", d->path);
	if (system(command))
		abort();
}

static struct temp_dir test_dir;

static inline int
temp_dir_setup(void **state)
{
	temp_dir_make(&test_dir);
	*state = &test_dir;
	return 0;
}

static inline int
temp_dir_teardown(void **state)
{
	(void)state;
	temp_dir_remove(&test_dir);
	return 0;
}

#define TEMP_DIR_TEST(f) \
	cmocka_unit_test_setup_teardown(f, temp_dir_setup, temp_dir_teardown)

static inline void
write_file(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(data, 1, n, f) != n || fclose(f)) {
		perror(path);
		abort();
	}
}

/* All bytes of a file, NUL-terminated, to be freed; *n may be NULL. */
static inline void *
read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *data;

	if (!f || fstat(fileno(f), &st)) {
		perror(path);
		abort();
	}
	data = calloc(1, (size_t)st.st_size + 1);
	if (!data ||
	    fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		abort();
	fclose(f);
	if (n)
		*n = (size_t)st.st_size;
	return data;
}

#endif
