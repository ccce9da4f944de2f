/* SPDX-License-Identifier: Apache-2.0 */
/* tests/corpus/native: every file does what its name promises */
#include "support/cmocka_all.h"

#include <dirent.h>

#include "support/native_files.h"
#include "support/temp_dir.h"

static enum tp_status
open_and_read(const char *path, struct tp_err *err)
{
	struct tp_reader *r = NULL;
	enum tp_status rc = tp_open(path, NULL, &r, err);

	if (!rc)
		rc = read_all(r, err);
	tp_close(r);
	return rc;
}

static void
check(const char *name, const char *readme)
{
	struct tp_err err = TP_ERR_INIT;
	char path[512], listed[300];
	enum tp_status rc;

	snprintf(path, sizeof(path), TP_CORPUS "/native/%s", name);
	rc = open_and_read(path, &err);
	if (!strncmp(name, "good-", 5)) {
		if (rc)
			fail_msg("%s: %s", name, err.msg);
	} else if (!strncmp(name, "bad-", 4)) {
		if (rc != TP_EFORMAT && rc != TP_EMISMATCH)
			fail_msg("%s: status %d, %s", name, rc, err.msg);
	} else if (!strncmp(name, "unsupported-", 12)) {
		if (rc != TP_EUNSUPPORTED)
			fail_msg("%s: status %d, %s", name, rc, err.msg);
	} else {
		fail_msg("%s promises nothing", name);
	}
	snprintf(listed, sizeof(listed), "| %s |", name);
	if (!strstr(readme, listed))
		fail_msg("%s has no line in the README", name);
}

static void
names_keep_their_promise(void **state)
{
	char *readme = read_file(TP_CORPUS "/README.md", NULL);
	DIR *dir = opendir(TP_CORPUS "/native");
	const struct dirent *entry;
	size_t n = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			check(entry->d_name, readme);
			n++;
		}
	closedir(dir);
	free(readme);
	assert_true(n >= 30);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_keep_their_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
