/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox*.c: what is given up cannot be done any more, each wall by itself and
 * both together; the same can be done without them; what reading and writing
 * need still can. Systems that lack a wall have the other.
 */
#define _GNU_SOURCE 1
#include "support/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox.h"
#include "support/deny_calls.h"
#include "support/temp_dir.h"

enum walls { NONE = 0, FILES = 1, CALLS = 2, BOTH = 3 };

/* In the folder of a test: in/model, in/deep/data, out/, elsewhere/secret,
 * tmp/file. */
static char model[512], data[512], report[512], secret[512], made[512];
static char temporary[512];

static int
result_of(long rc)
{
	return rc < 0 ? errno : 0;
}

/*
 * ---- what is tried: 0, or the error ----
 */

static int
read_the_model(void)
{
	char c;
	int fd = open(model, O_RDONLY);

	return fd < 0 ? errno : result_of(read(fd, &c, 1) - 1);
}

static int
read_data_below(void)
{
	return result_of(open(data, O_RDONLY));
}

static int
read_elsewhere(void)
{
	return result_of(open(secret, O_RDONLY));
}

static int
change_the_model(void)
{
	return result_of(open(model, O_WRONLY));
}

static int
cut_the_model(void)
{
	return result_of(truncate(model, 0));
}

static int
make_a_file(void)
{
	return result_of(open(made, O_WRONLY | O_CREAT, 0600));
}

static int
write_the_report(void)
{
	return result_of(open(report, O_WRONLY | O_CREAT, 0600));
}

static int
make_a_nameless_file(void)
{
	int fd = open(getenv("TMPDIR"), O_TMPFILE | O_RDWR, 0600);

	return fd < 0 ? errno : result_of(write(fd, "x", 1) - 1);
}

static int
change_what_is_temporary(void)
{
	return result_of(open(temporary, O_RDWR));
}

static int
make_a_folder(void)
{
	return result_of(mkdir(made, 0700));
}

static int
make_a_link(void)
{
	return result_of(symlink(secret, made));
}

static int
remove_the_model(void)
{
	return result_of(unlink(model));
}

static int
rename_the_model(void)
{
	return result_of(rename(model, made));
}

static int
open_the_model_to_all(void)
{
	return result_of(chmod(model, 0777));
}

static int
connect_by_ip(void)
{
	return result_of(socket(AF_INET, SOCK_DGRAM, 0));
}

static int
connect_locally(void)
{
	int fds[2];

	return result_of(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
}

static int
run_a_program(void)
{
	char *const argv[] = {(char[]){"true"}, NULL};

	execv("/bin/true", argv);
	return errno;
}

static int
begin_a_process(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	return result_of(child);
}

static int
signal_others(void)
{
	return result_of(kill(getppid(), 0));
}

static int
map_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? errno : 0;
}

static void *
open_in_a_thread(void *rc)
{
	*(int *)rc = read_the_model();
	return rc;
}

static int
use_threads(void)
{
	pthread_t t;
	int rc = EINVAL;

	if (pthread_create(&t, NULL, open_in_a_thread, &rc) ||
	    pthread_join(t, NULL))
		return EAGAIN;
	return rc;
}

static void *
change_in_a_thread(void *rc)
{
	*(int *)rc = change_the_model();
	return rc;
}

static int
change_from_a_thread(void)
{
	pthread_t t;
	int rc = 0;

	if (pthread_create(&t, NULL, change_in_a_thread, &rc) ||
	    pthread_join(t, NULL))
		return 0;
	return rc;
}

static int
use_memory(void)
{
	void *p = malloc(64 << 20);

	memset(p, 1, 64 << 20);
	p = realloc(p, 128 << 20);
	free(p);
	return p ? 0 : ENOMEM;
}

static volatile sig_atomic_t heard;

static void
hear(int signal_number)
{
	heard = signal_number;
}

static int
signal_itself(void)
{
	signal(SIGTERM, hear);
	return raise(SIGTERM) || heard != SIGTERM ? EPERM : 0;
}

static const struct attempt {
	const char *what;
	int (*try)(void);
	enum walls stopped_by; /* any of these */
	bool by_newer_kernels; /* Landlock stops it since its version 3 */
} attempts[] = {
    {"read the model", read_the_model, NONE, false},
    {"read data below", read_data_below, NONE, false},
    {"use threads", use_threads, NONE, false},
    {"use memory", use_memory, NONE, false},
    {"signal itself", signal_itself, NONE, false},
    {"make a nameless file", make_a_nameless_file, NONE, false},
    {"change what is temporary", change_what_is_temporary, CALLS, false},
    {"read elsewhere", read_elsewhere, FILES, false},
    {"change the model", change_the_model, BOTH, false},
    {"change from a thread", change_from_a_thread, BOTH, false},
    {"cut the model", cut_the_model, CALLS, true},
    {"make a file", make_a_file, BOTH, false},
    {"write a report that is not planned", write_the_report, BOTH, false},
    {"make a folder", make_a_folder, BOTH, false},
    {"make a link", make_a_link, BOTH, false},
    {"remove the model", remove_the_model, BOTH, false},
    {"rename the model", rename_the_model, BOTH, false},
    {"open the model to all", open_the_model_to_all, CALLS, false},
    {"connect by IP", connect_by_ip, CALLS, false},
    {"connect locally", connect_locally, CALLS, false},
    {"run a program", run_a_program, BOTH, false},
    {"begin a process", begin_a_process, CALLS, false},
    {"signal others", signal_others, CALLS, true},
    {"map code", map_code, CALLS, false},
};

/*
 * ---- in a process of its own ----
 */

static void
make_files(void)
{
	static const char *const folders[] = {
	    "in", "in/deep", "out", "elsewhere", "tmp"};

	temp_dir_make(&test_dir);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		assert_int_equal(
		    mkdir(temp_path(&test_dir, folders[i]), 0700), 0);
	strcpy(model, temp_path(&test_dir, "in/model"));
	strcpy(data, temp_path(&test_dir, "in/deep/data"));
	strcpy(made, temp_path(&test_dir, "in/made"));
	strcpy(report, temp_path(&test_dir, "out/report"));
	strcpy(secret, temp_path(&test_dir, "elsewhere/secret"));
	strcpy(temporary, temp_path(&test_dir, "tmp/file"));
	write_file(temporary, "t", 1);
	write_file(model, "m", 1);
	write_file(data, "d", 1);
	write_file(secret, "s", 1);
}

enum { CANNOT_ENTER = 200 };

static void
enter(enum walls walls, const char *output)
{
	struct sandbox_plan plan = {.paths = NULL};

	sandbox_plan_add(&plan, SANDBOX_READ, model);
	sandbox_plan_add(&plan, SANDBOX_WRITE, output);
	setenv("TMPDIR", temp_path(&test_dir, "tmp"), 1);
	if ((walls & FILES) && sandbox_files_enter(&plan))
		_exit(CANNOT_ENTER);
	if ((walls & CALLS) && sandbox_calls_enter(output != NULL))
		_exit(CANNOT_ENTER);
}

/* The errno of the attempt behind these walls. */
static int
result_behind(enum walls walls, const char *output, int (*try)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		enter(walls, output);
		_exit(try());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Not every system has these walls. */
static void
need(enum walls walls)
{
	make_files();
	if (result_behind(walls, NULL, read_the_model) == CANNOT_ENTER) {
		temp_dir_remove(&test_dir);
		skip();
	}
	temp_dir_remove(&test_dir);
}

static void
check_all(enum walls walls)
{
	need(walls);
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		const struct attempt *a = &attempts[i];
		int rc;

		if (walls == FILES && a->by_newer_kernels)
			continue;
		make_files();
		rc = result_behind(walls, NULL, a->try);
		temp_dir_remove(&test_dir);
		if ((rc != 0) == ((a->stopped_by & walls) != 0))
			continue;
		fail_msg("walls %d, %s: %s", (int)walls, a->what,
		    rc ? strerror(rc) : "done");
	}
}

static void
everything_works_outside(void **state)
{
	(void)state;
	check_all(NONE);
}

static void
landlock_keeps_to_the_folders(void **state)
{
	(void)state;
	check_all(FILES);
}

static void
seccomp_stops_calls(void **state)
{
	(void)state;
	check_all(CALLS);
}

static void
both_stop_all(void **state)
{
	(void)state;
	check_all(BOTH);
}

/* A report is made where it was planned and nowhere else. */
static void
outputs_are_written_where_planned(void **state)
{
	(void)state;
	need(BOTH);
	make_files();
	assert_int_equal(result_behind(BOTH, report, write_the_report), 0);
	assert_int_equal(result_behind(BOTH, report, make_a_file), EACCES);
	assert_int_equal(result_behind(BOTH, report, change_the_model), EACCES);
	assert_int_equal(result_behind(BOTH, report, remove_the_model), EACCES);
	assert_int_equal(result_behind(BOTH, report, read_elsewhere), EACCES);
	assert_int_not_equal(result_behind(BOTH, report, run_a_program), 0);
	assert_int_not_equal(result_behind(BOTH, report, connect_by_ip), 0);
	temp_dir_remove(&test_dir);
}

/* What is done to replace a file: beside it, locked, flushed, renamed. */
static int
replace_the_report(void)
{
	char part[520];
	int fd;

	snprintf(part, sizeof(part), "%s.part", report);
	fd = open(part, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) || ftruncate(fd, 0) ||
	    fchmod(fd, 0644) || write(fd, "r", 1) != 1 || fsync(fd))
		return errno;
	if ((link(part, report) && errno != EEXIST) || unlink(report) ||
	    rename(part, report))
		return errno;
	fd = open(temp_path(&test_dir, "out"), O_RDONLY);
	return fd < 0 || fsync(fd) ? errno : 0;
}

static int
make_a_program_of_the_report(void)
{
	int fd = open(report, O_RDWR | O_CREAT, 0600);

	return fd < 0 ? 0 : result_of(fchmod(fd, 04755));
}

static int
name_what_has_no_name(void)
{
	int fd = open(getenv("TMPDIR"), O_TMPFILE | O_RDWR, 0600);

	return fd < 0
		   ? 0
		   : result_of(linkat(fd, "", AT_FDCWD, report, AT_EMPTY_PATH));
}

static int
take_a_file_from_elsewhere(void)
{
	return result_of(link(secret, report));
}

static void
outputs_are_replaced_by_renaming(void **state)
{
	(void)state;
	need(BOTH);
	make_files();
	assert_int_equal(result_behind(NONE, report, replace_the_report), 0);
	assert_int_equal(unlink(report), 0);
	assert_int_equal(result_behind(BOTH, report, replace_the_report), 0);
	assert_int_equal(
	    result_behind(CALLS, report, make_a_program_of_the_report), EPERM);
	assert_int_equal(unlink(report), 0);
	assert_int_not_equal(
	    result_behind(CALLS, report, name_what_has_no_name), 0);
	assert_int_not_equal(
	    result_behind(FILES, report, take_a_file_from_elsewhere), 0);
	temp_dir_remove(&test_dir);
}

/* Where a link leads, the output is made. */
static void
links_of_outputs_are_followed(void **state)
{
	(void)state;
	need(BOTH);
	make_files();
	assert_int_equal(symlink(report, made), 0);
	write_file(report, "r", 1);
	assert_int_equal(result_behind(BOTH, made, replace_the_report), 0);
	temp_dir_remove(&test_dir);
}

/* Rules and lists are read, but not what lies beside them. */
static int
read_one_only(void)
{
	struct sandbox_plan plan = {.paths = NULL};

	sandbox_plan_add(&plan, SANDBOX_READ_ONE, model);
	if (sandbox_files_enter(&plan))
		return CANNOT_ENTER;
	return read_the_model() || !read_data_below();
}

/* A folder of outputs is made, and nothing beside it is changed. */
static int
write_in_a_folder(void)
{
	struct sandbox_plan plan = {.paths = NULL};
	char inside[600];
	int fd;

	sandbox_plan_add(&plan, SANDBOX_WRITE_IN, report);
	if (sandbox_files_enter(&plan) || sandbox_calls_enter(true))
		return CANNOT_ENTER;
	snprintf(inside, sizeof(inside), "%s/run-0", report);
	if (mkdir(report, 0700) && errno != EEXIST)
		return errno;
	fd = open(inside, O_WRONLY | O_CREAT, 0600);
	return fd < 0 ? errno : change_the_model() == 0;
}

static void
plans_name_files_and_folders(void **state)
{
	(void)state;
	need(BOTH);
	make_files();
	assert_int_equal(result_behind(NONE, NULL, read_one_only), 0);
	assert_int_equal(result_behind(NONE, NULL, write_in_a_folder), 0);
	assert_int_equal(result_behind(NONE, NULL, write_in_a_folder), 0);
	temp_dir_remove(&test_dir);
}

/* Download caches: a folder of links to files in another one. */
static void
links_beside_an_input_are_followed(void **state)
{
	(void)state;
	need(FILES);
	make_files();
	assert_int_equal(unlink(data), 0);
	assert_int_equal(symlink(secret, temp_path(&test_dir, "in/link")), 0);
	strcpy(data, temp_path(&test_dir, "in/link"));
	assert_int_equal(result_behind(FILES, NULL, read_data_below), 0);
	/* The input itself is a link. */
	assert_int_equal(unlink(model), 0);
	assert_int_equal(symlink(secret, model), 0);
	assert_int_equal(result_behind(FILES, NULL, read_the_model), 0);
	assert_int_equal(result_behind(FILES, NULL, change_the_model), EACCES);
	temp_dir_remove(&test_dir);
}

/* The state tells what stands, and why something does not. */
static int
try_state(void)
{
	struct sandbox_plan plan = {.paths = NULL};
	const struct sandbox_state *s = sandbox_state();

	sandbox_plan_add(&plan, SANDBOX_READ, model);
	if (s->tried || s->files || s->calls)
		return 1;
	if (sandbox_enter(&plan) != s || !s->tried)
		return 2;
	if ((s->files && s->calls) != (s->why[0] == '\0'))
		return 3;
	if (s->files != (read_elsewhere() != 0))
		return 4;
	return s->calls == (connect_by_ip() != 0) ? 0 : 5;
}

static int
try_switched_off(void)
{
	setenv("TP_SANDBOX", "off", 1);
	if (try_state())
		return 1;
	return sandbox_state()->files || sandbox_state()->calls ? 2 : 0;
}

static void
the_state_is_true(void **state)
{
	(void)state;
	make_files();
	assert_int_equal(result_behind(NONE, NULL, try_state), 0);
	assert_int_equal(result_behind(NONE, NULL, try_switched_off), 0);
	temp_dir_remove(&test_dir);
}

/*
 * ---- systems without walls ----
 */

static const struct denial *denied;
static int walls_here; /* enum walls, if nothing is denied */

enum { CANNOT_DENY = 201, WRONG_WALLS = 202, NOT_TOLD = 203 };

static int
try_denied(void)
{
	const struct sandbox_state *s = sandbox_state();
	int rc;

	if (!deny_call(denied))
		return CANNOT_DENY;
	rc = try_state();
	if (rc)
		return rc;
	if (s->files != (denied->files && (walls_here & FILES)) ||
	    s->calls != (denied->calls && (walls_here & CALLS)))
		return WRONG_WALLS;
	return (!s->files && !strstr(s->why, "files: ")) ||
		       (!s->calls && !strstr(s->why, "calls: "))
		   ? NOT_TOLD
		   : 0;
}

static int
count_walls(void)
{
	struct sandbox_plan plan = {.paths = NULL};
	const struct sandbox_state *s = sandbox_enter(&plan);

	return (s->files ? FILES : NONE) | (s->calls ? CALLS : NONE);
}

static void
what_the_system_lacks_is_told(void **state)
{
	(void)state;
	make_files();
	walls_here = result_behind(NONE, NULL, count_walls);
	for (size_t i = 0; i < N_DENIALS && walls_here != NONE; i++) {
		int rc;

		denied = &denials[i];
		rc = result_behind(NONE, NULL, try_denied);
		if (rc == CANNOT_DENY)
			walls_here = NONE;
		else if (rc)
			fail_msg("%s: %d", denied->name, rc);
	}
	temp_dir_remove(&test_dir);
	if (walls_here == NONE)
		skip();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(everything_works_outside),
	    cmocka_unit_test(landlock_keeps_to_the_folders),
	    cmocka_unit_test(seccomp_stops_calls),
	    cmocka_unit_test(both_stop_all),
	    cmocka_unit_test(outputs_are_written_where_planned),
	    cmocka_unit_test(links_beside_an_input_are_followed),
	    cmocka_unit_test(the_state_is_true),
	    cmocka_unit_test(outputs_are_replaced_by_renaming),
	    cmocka_unit_test(links_of_outputs_are_followed),
	    cmocka_unit_test(plans_name_files_and_folders),
	    cmocka_unit_test(what_the_system_lacks_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
