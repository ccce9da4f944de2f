/* SPDX-License-Identifier: Apache-2.0 */
/* cli_bus.c: a mapped page that is gone ends a tool with a status and a name */
#include "support/cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "cli_start.h"
#include "support/temp_dir.h"

/* Map a page of the file, cut the file, touch the page; stderr goes to fd. */
static void
touch_what_is_gone(const char *path, int fd)
{
	static const char page[4096];
	void *mapped;

	write_file(path, page, sizeof(page));
	mapped = mmap(NULL, sizeof(page), PROT_READ, MAP_PRIVATE,
	    fileno(fopen(path, "rb")), 0);
	if (mapped == MAP_FAILED || truncate(path, 0) || dup2(fd, 2) < 0)
		_exit(100);
	cli_set_program("tool");
	cli_watch_maps();
	_exit(*(volatile char *)mapped + 101);
}

static void
a_lost_page_is_an_input_error(void **state)
{
	char text[4096] = "", expected[4096];
	struct temp_dir dir;
	int fds[2], status;
	const char *path;
	pid_t child;

	(void)state;
	temp_dir_make(&dir);
	/* A terminal must not obey a name; the kernel says \012 for \n. */
	path = temp_path(&dir, "page\033[31m\n\xff \xc3\xa9");
	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		touch_what_is_gone(path, fds[1]);
	close(fds[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	close(fds[0]);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), CLI_INPUT);
	snprintf(expected, sizeof(expected),
	    "tool: %.*s/page\\x1b[31m\\012\\xff \xc3\xa9: cannot read: it "
	    "became shorter meanwhile, or its disk fails\n",
	    (int)(strrchr(path, '/') - path), path);
	assert_string_equal(text, expected);
	temp_dir_remove(&dir);
}

/* What is no file that became shorter ends as it would without us. */
static void
another_bus_error_stays_one(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		cli_watch_maps();
		raise(SIGBUS);
		raise(SIGBUS);
		_exit(100);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_lost_page_is_an_input_error),
	    cmocka_unit_test(another_bus_error_stays_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
