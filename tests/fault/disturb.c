/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disturb.c - one command, disturbed in every way, and what it leaves
 *
 *	disturb [OPTION…] NAME COMMAND…
 *
 * runs in a folder that has
 *
 *	in	what the command reads; keep has the same, to be brought back
 *	out	what it writes, made anew for each run
 *	old	what a run on other input wrote: what out has before
 *
 * and makes the system calls and allocations fail that shim.c knows, one a run,
 * or cuts or overwrites an input just after the command mapped or before it
 * read it, or kills the command at moments spread over its time. Then
 *
 *	- status 0 must have left and printed what an undisturbed run does,
 *	- another status must be 3, 4 or 5, with a message, and have left the
 *	  old outputs, or nothing where there were none, under the final names,
 *	- who was killed left the old outputs or the new ones,
 *	- an undisturbed run that follows ends with 0, the same outputs, and no
 *	  other file,
 *	- after a failed allocation nothing is held at the end that an
 *	  undisturbed run does not hold.
 *
 * Options:
 *
 *	--shim FILE	what to preload
 *	--mode MODE	fail (default), inputs or kill
 *	--most N	of each kind of call at most N, spread over all of them
 *	--kills N	how many times to kill
 *	--main FILE	of several outputs the one that refers to the others
 *	--each		outputs that do not refer to each other: each is old,
 *			new, or a whole report, whatever the status
 *
 * The line "DISTURBED name value …" at the end counts.
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_FILES 64
#define KILLED (128 + SIGKILL)
#define HANGS_SECONDS 60

/* ---- what is asked for ---- */

static const char *name, *shim, *main_file = "";
static char *const *command;
static long most = -1, n_kills = 20;
static bool each;

/* ---- what happened ---- */

static long n_faults, n_survived, n_refused, n_killed, n_failed;

static char doing[128];

static void __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	va_list ap;

	n_failed++;
	printf("FAIL %s: %s: ", name, doing);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "disturb: %s: %s: %s\n", name, what, strerror(errno));
	exit(2);
}

/* ---- files ---- */

/* A whole file; the caller frees. NULL if there is none. */
static char *
read_whole(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;

	*n = 0;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st))
		die(path);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		die("memory");
	while (*n < (size_t)st.st_size) {
		ssize_t k = read(fd, text + *n, (size_t)st.st_size - *n);

		if (k <= 0)
			die(path);
		*n += (size_t)k;
	}
	text[*n] = '\0';
	close(fd);
	return text;
}

struct file {
	char *name, *data;
	size_t size;
};

/* The visible files of a folder, sorted by name. */
struct files {
	struct file at[MAX_FILES];
	size_t n;
	bool has_hidden; /* also files that nobody asked for */
};

static int
by_name(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static struct files
files_of(const char *folder)
{
	struct files f = {.n = 0};
	char path[4096];
	struct dirent *e;
	DIR *d = opendir(folder);

	if (!d)
		die(folder);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (e->d_name[0] == '.') {
			f.has_hidden = true;
			continue;
		}
		if (f.n == MAX_FILES)
			die("too many files");
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		f.at[f.n].name = strdup(e->d_name);
		f.at[f.n].data = read_whole(path, &f.at[f.n].size);
		if (!f.at[f.n].name || !f.at[f.n].data)
			die(path);
		f.n++;
	}
	closedir(d);
	qsort(f.at, f.n, sizeof(f.at[0]), by_name);
	return f;
}

static void
files_free(struct files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->at[i].name);
		free(f->at[i].data);
	}
	f->n = 0;
}

static bool
same_file(const struct file *a, const struct file *b)
{
	return !strcmp(a->name, b->name) && a->size == b->size &&
	       !memcmp(a->data, b->data, a->size);
}

static bool
same_files(const struct files *a, const struct files *b)
{
	for (size_t i = 0; i < a->n && a->n == b->n; i++)
		if (!same_file(&a->at[i], &b->at[i]))
			return false;
	return a->n == b->n;
}

static const struct file *
file_named(const struct files *f, const char *file_name)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->at[i].name, file_name))
			return &f->at[i];
	return NULL;
}

static bool
has_file(const struct files *f, const struct file *file)
{
	const struct file *there = file_named(f, file->name);

	return there && same_file(there, file);
}

/* A report of a run that failed says so, so it is neither old nor new. */
static bool
is_whole_report(const struct file *f)
{
	static const char *const ends[] = {"\n}\n", "</testsuites>\n"};

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(ends[i]);

		if (f->size > n && (f->data[0] == '{' || f->data[0] == '<') &&
		    !memcmp(f->data + f->size - n, ends[i], n))
			return true;
	}
	return false;
}

/* None is a part of one, and none is lost that both have. */
static bool
each_is_of(
    const struct files *f, const struct files *old, const struct files *new)
{
	for (size_t i = 0; i < f->n; i++)
		if (!has_file(old, &f->at[i]) && !has_file(new, &f->at[i]) &&
		    !is_whole_report(&f->at[i]))
			return false;
	for (size_t i = 0; i < old->n; i++)
		if (!file_named(f, old->at[i].name) &&
		    file_named(new, old->at[i].name))
			return false;
	return true;
}

static void
empty_folder(const char *folder)
{
	char path[4096];
	struct dirent *e;
	DIR *d = opendir(folder);

	if (!d)
		die(folder);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (unlink(path))
			die(path);
	}
	closedir(d);
}

/*
 * Write files into a folder, over those that are there. Their time is one long
 * ago, so that whatever happens to them now gives them another.
 */
static void
put_files(const char *folder, const struct files *f)
{
	const struct timespec times[2] = {
	    {.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	char path[4096];

	for (size_t i = 0; i < f->n; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folder, f->at[i].name);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0 ||
		    write(fd, f->at[i].data, f->at[i].size) !=
			(ssize_t)f->at[i].size ||
		    futimens(fd, times) || close(fd))
			die(path);
	}
}

/* ---- runs ---- */

static struct files old, new, inputs, none;
static char *new_stdout;
static size_t new_stdout_size;
static double seconds; /* that the last undisturbed run took */

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
redirect(const char *path, int to)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0 || dup2(fd, to) < 0)
		_exit(126);
	close(fd);
}

struct fault {
	const char *call; /* NULL: undisturbed */
	long at;
	const char *way;
};

static pid_t
start_command(const struct fault *f)
{
	char at[32];
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (child)
		return child;
	redirect("stdout", STDOUT_FILENO);
	redirect("stderr", STDERR_FILENO);
	if (f) {
		snprintf(at, sizeof(at), "%ld", f->at);
		if (setenv("TP_FAULT_CALL", f->call, 1) ||
		    setenv("TP_FAULT_AT", at, 1) ||
		    setenv("TP_FAULT_DO", f->way, 1) ||
		    setenv("LD_PRELOAD", shim, 1))
			_exit(126);
	}
	alarm(HANGS_SECONDS);
	execvp(command[0], command);
	_exit(127);
}

/* As a shell has it. */
static int
status_of(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		die("wait");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static void
begin(const struct files *before)
{
	empty_folder("out");
	put_files("out", before);
}

static const char *
said(void)
{
	static char text[400];
	size_t n;
	char *all = read_whole("stderr", &n);

	snprintf(text, sizeof(text), "%s", all ? all : "");
	free(all);
	return text;
}

static bool
is_empty(const char *path)
{
	struct stat st;

	return stat(path, &st) || st.st_size == 0;
}

static bool
prints_the_same(void)
{
	size_t n;
	char *text = read_whole("stdout", &n);
	bool same =
	    text && n == new_stdout_size && !memcmp(text, new_stdout, n);

	free(text);
	return same;
}

/*
 * Killed while several files got their names: the file that refers to the
 * others has none, and what it was is kept.
 */
static bool
is_between(const struct files *there, const struct files *before)
{
	char kept[4096];

	snprintf(kept, sizeof(kept), "out/.%s.tp-old", main_file);
	return *main_file && !file_named(there, main_file) &&
	       (!file_named(before, main_file) || !access(kept, F_OK));
}

static void
judge_killed(const struct files *there, const struct files *before)
{
	bool good = same_files(there, before) || same_files(there, &new) ||
		    is_between(there, before) ||
		    (each && each_is_of(there, before, &new));

	n_killed++;
	if (!good)
		complain("killed, and the outputs are neither old nor new");
}

static void
judge(int status, const struct files *before)
{
	struct files there = files_of("out");

	if (status == 0) {
		n_survived++;
		if (!same_files(&there, &new))
			complain("ends with 0, but not all is there");
		if (!prints_the_same())
			complain("ends with 0, but prints something else");
	} else if (status >= 3 && status <= 5) {
		n_refused++;
		if (is_empty("stderr") && is_empty("stdout"))
			complain("status %d without a message", status);
		if (!same_files(&there, before) &&
		    !(each && each_is_of(&there, before, &new)))
			complain("status %d, and the old outputs are not "
				 "there: %s",
			    status, said());
	} else if (status == KILLED) {
		judge_killed(&there, before);
	} else if (status == 128 + SIGALRM) {
		complain("does not end");
	} else {
		complain("status %d: %s", status, said());
	}
	files_free(&there);
}

/* An undisturbed run in what is there must make all as if nothing had been. */
static void
run_again(void)
{
	double from = now();
	int status = status_of(start_command(NULL));
	struct files there;

	seconds = now() - from;
	there = files_of("out");
	if (status)
		complain("the next run fails with %d: %s", status, said());
	else if (!same_files(&there, &new))
		complain("the next run leaves something else");
	if (there.has_hidden)
		complain("left something behind");
	files_free(&there);
}

/* ---- calls that fail ---- */

static const struct way {
	const char *call;
	const char *ways[8];
} failing[] = {
    {"malloc", {"ENOMEM"}},
    {"open", {"EIO", "EMFILE", "EINTR", "ENOSPC", "EDQUOT", "KILL"}},
    {"read", {"EIO", "EINTR", "short", "KILL"}},
    {"pread", {"EIO", "EINTR", "short", "KILL"}},
    {"readdir", {"EIO", "KILL"}},
    {"mmap", {"ENOMEM", "EMFILE", "KILL"}},
    {"write", {"EIO", "ENOSPC", "EDQUOT", "EINTR", "short", "KILL"}},
    {"copy_file_range", {"EIO", "ENOSPC", "EDQUOT", "EINTR", "short", "KILL"}},
    {"fsync", {"EIO", "ENOSPC", "EDQUOT", "EINTR", "KILL"}},
    {"rename", {"EIO", "ENOSPC", "EDQUOT", "KILL"}},
    {"ftruncate", {"EIO", "ENOSPC", "EDQUOT", "EINTR", "KILL"}},
    {"close", {"EIO", "EINTR", "ENOSPC", "EDQUOT", "KILL"}},
    {"thread", {"EAGAIN", "KILL"}},
};
#define N_FAILING (sizeof(failing) / sizeof(failing[0]))

/* An input that is cut, or whose bytes become others, in the middle of it. */
static const struct way inputs_change[] = {
    {"mmap-input", {"cut", "cut-half", "overwrite", "unlink"}},
    {"pread-input", {"cut", "cut-half", "overwrite", "unlink"}},
    {"copy_file_range-input", {"cut", "overwrite"}},
};
#define N_INPUTS_CHANGE (sizeof(inputs_change) / sizeof(inputs_change[0]))

/* Calls, and what is held at the end, of the run that has just been. */
static void
read_count(long *calls, long *held)
{
	size_t n;
	char *text = read_whole("count", &n), *end;

	if (!text)
		die("the shim did not count");
	*calls = strtol(text, &end, 10);
	*held = strtol(end, NULL, 10);
	free(text);
}

static void
describe(const struct fault *f, const struct files *before)
{
	snprintf(doing, sizeof(doing), "%s %ld %s, %s before", f->call, f->at,
	    f->way, before == &none ? "none" : "old");
}

static void
fail_once(const struct fault *f, const struct files *before, long may_hold)
{
	long calls, held;
	int status;

	describe(f, before);
	begin(before);
	n_faults++;
	status = status_of(start_command(f));
	judge(status, before);
	if (!strcmp(f->call, "malloc")) {
		read_count(&calls, &held);
		if (held > may_hold)
			complain(
			    "%ld blocks are not given back", held - may_hold);
	}
	run_again();
}

/* The k-th of n numbers that are spread over 1 … last. */
static long
spread(long k, long n, long last)
{
	return n < 2 ? last : 1 + k * (last - 1) / (n - 1);
}

/*
 * What is done at one call; held is what an undisturbed run holds at its end.
 */
typedef void at_call_fn(struct fault *f, const struct way *w, long held);

/* At every call of that kind, or at as many as are asked for. */
static void
at_every_call(const struct way *w, at_call_fn *disturb)
{
	struct fault f = {w->call, 0, "none"};
	long n, last, held;

	begin(&none);
	if (status_of(start_command(&f)))
		die("a run that is only counted fails");
	read_count(&last, &held);
	n = most >= 0 && most < last ? most : last;
	for (long k = 0; k < n; k++) {
		f.at = spread(k, n, last);
		disturb(&f, w, held);
	}
}

/* An at_call_fn. */
static void
fail_in_every_way(struct fault *f, const struct way *w, long held)
{
	for (size_t i = 0; w->ways[i]; i++) {
		f->way = w->ways[i];
		fail_once(f, &old, held);
	}
	f->way = w->ways[0];
	fail_once(f, &none, held);
}

/* ---- inputs that change ---- */

/*
 * Whoever noticed says so with status 3. Nobody has to notice when all that was
 * needed had been read before; then the result is that of the old bytes.
 */
static void
change_once(const struct fault *f)
{
	int status;

	describe(f, &old);
	begin(&old);
	n_faults++;
	status = status_of(start_command(f));
	if (status != 0 && status != 3)
		complain("status %d: %s", status, said());
	judge(status, &old);
	put_files("in", &inputs);
	run_again();
}

/* An at_call_fn. */
static void
change_in_every_way(struct fault *f, const struct way *w, long held)
{
	(void)held;
	for (size_t i = 0; w->ways[i]; i++) {
		f->way = w->ways[i];
		change_once(f);
	}
}

/* ---- an end at any moment ---- */

static void
sleep_for(double s)
{
	struct timespec t = {(time_t)s, (long)(fmod(s, 1) * 1e9)};

	while (nanosleep(&t, &t) && errno == EINTR)
		continue;
}

/*
 * The moments are multiples of the golden section, so they are spread evenly
 * however many there are. Who has ended before was not killed, and is another
 * run that must have left all.
 */
static void
kill_many(void)
{
	const double golden = 0.61803398874989485;

	for (long i = 0; n_killed < n_kills; i++) {
		const struct files *before = i % 4 == 3 ? &none : &old;
		double part = fmod((double)i * golden, 1);
		pid_t child;

		if (i > 20 * n_kills)
			die("it always ends before it is killed");
		snprintf(doing, sizeof(doing), "killed at %.0f %% of its time",
		    part * 100);
		begin(before);
		child = start_command(NULL);
		sleep_for(part * seconds);
		kill(child, SIGKILL);
		n_faults++;
		judge(status_of(child), before);
		run_again();
	}
}

/* ---- the whole ---- */

static void
look_around(void)
{
	old = files_of("old");
	inputs = files_of("keep");
	put_files("in", &inputs);
	snprintf(doing, sizeof(doing), "undisturbed");
	if (setenv("TP_FAULT_COUNT", "count", 1) ||
	    setenv("TP_FAULT_INPUTS", realpath("in", NULL), 1))
		die("in");
	begin(&none);
	if (status_of(start_command(NULL))) {
		fprintf(stderr, "disturb: %s: %s", name, said());
		exit(2);
	}
	new = files_of("out");
	new_stdout = read_whole("stdout", &new_stdout_size);
	if (new.n && !each && same_files(&old, &new))
		die("old outputs are like new ones");
	run_again();
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"shim", required_argument, NULL, 's'},
	    {"mode", required_argument, NULL, 'm'},
	    {"most", required_argument, NULL, 'n'},
	    {"kills", required_argument, NULL, 'k'},
	    {"main", required_argument, NULL, 'f'},
	    {"each", no_argument, NULL, 'e'},
	    {NULL, 0, NULL, 0},
	};
	const char *mode = "fail";
	int c;

	while ((c = getopt_long(argc, argv, "+", options, NULL)) >= 0) {
		switch (c) {
		case 's':
			shim = optarg;
			break;
		case 'm':
			mode = optarg;
			break;
		case 'n':
			most = strtol(optarg, NULL, 10);
			break;
		case 'k':
			n_kills = strtol(optarg, NULL, 10);
			break;
		case 'f':
			main_file = optarg;
			break;
		case 'e':
			each = true;
			break;
		default:
			return 2;
		}
	}
	if (argc - optind < 2)
		return 2;
	name = argv[optind];
	command = argv + optind + 1;
	look_around();
	if (!strcmp(mode, "kill"))
		kill_many();
	for (size_t i = 0; i < N_FAILING && !strcmp(mode, "fail"); i++)
		at_every_call(&failing[i], fail_in_every_way);
	for (size_t i = 0; i < N_INPUTS_CHANGE && !strcmp(mode, "inputs"); i++)
		at_every_call(&inputs_change[i], change_in_every_way);
	printf("DISTURBED %ld survived %ld refused %ld killed %ld failed %ld "
	       "%s\n",
	    n_faults, n_survived, n_refused, n_killed, n_failed, name);
	return n_failed ? 1 : 0;
}
