/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_write.c: files of other people rewrite to the same bytes */
#include "support/cmocka_all.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rewrite.h"
#include "support/temp_dir.h"

#define SUFFIX ".safetensors"

static char folder[512];

static void
rewrite_is_equal(const char *name, struct temp_dir *d)
{
	const struct tp_create_options options = {.force = true};
	const char *out = temp_path(d, "out" SUFFIX);
	struct tp_err err = TP_ERR_INIT;
	struct tp_reader *r = NULL;
	size_t n_in, n_out;
	char path[1024], *in_bytes, *out_bytes;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (tp_open(path, NULL, &r, &err) || rewrite(r, out, &options, &err))
		fail_msg("%s: %s", path, err.msg);
	tp_close(r);
	in_bytes = read_file(path, &n_in);
	out_bytes = read_file(out, &n_out);
	assert_int_equal(n_in, n_out);
	assert_memory_equal(in_bytes, out_bytes, n_in);
	free(in_bytes);
	free(out_bytes);
}

static void
every_model_rewrites_to_itself(void **state)
{
	DIR *dir = opendir(folder);
	struct dirent *item;
	struct temp_dir d;
	size_t n = 0;

	(void)state;
	assert_non_null(dir);
	temp_dir_make(&d);
	while ((item = readdir(dir))) {
		size_t len = strlen(item->d_name);

		if (len < strlen(SUFFIX) ||
		    strcmp(item->d_name + len - strlen(SUFFIX), SUFFIX))
			continue;
		rewrite_is_equal(item->d_name, &d);
		n++;
	}
	closedir(dir);
	temp_dir_remove(&d);
	assert_true(n > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_model_rewrites_to_itself),
	};
	const char *data = getenv("TP_TEST_DATA");
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/models", data ? data : "");
	dir = data ? opendir(folder) : NULL;
	if (!dir) {
		fprintf(stderr,
		    "SKIPPED: no folder `models` in TP_TEST_DATA (%s)\n",
		    data ? data : "not set");
		return 77;
	}
	closedir(dir);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
