/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_files.c - Landlock: which files may be opened, and for what
 *
 * A ruleset names what it handles, and then nothing of it is allowed but what
 * a rule gives back, a rule being some accesses beneath one folder. Kernels
 * know more accesses with each version of the interface; to ask for one that a
 * kernel does not know is an error, so what is handled depends on the version.
 *
 * The numbers are those of linux/landlock.h, which older systems do not have.
 */
#define _GNU_SOURCE 1
#include "sandbox.h"

#ifdef __linux__

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same on every architecture. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };

#define VERSION_ONLY 1
#define PATH_BENEATH 1

#define WRITE_FILE (UINT64_C(1) << 1)
#define READ_FILE (UINT64_C(1) << 2)
#define READ_DIR (UINT64_C(1) << 3)
#define REMOVE_FILE (UINT64_C(1) << 5)
#define MAKE_DIR (UINT64_C(1) << 7)
#define MAKE_REG (UINT64_C(1) << 8)
#define TRUNCATE (UINT64_C(1) << 14)

#define FOR_READING (READ_FILE | READ_DIR)
#define FOR_WRITING \
	(FOR_READING | WRITE_FILE | REMOVE_FILE | MAKE_REG | TRUNCATE)

/* struct landlock_ruleset_attr; a kernel takes one that ends in zeros. */
struct ruleset {
	uint64_t files, net, scoped;
};

/* struct landlock_path_beneath_attr */
struct beneath {
	uint64_t allowed;
	int32_t folder;
} __attribute__((packed));

/* What each version of the interface can forbid, all of it. */
static const struct ruleset versions[] = {
    {(UINT64_C(1) << 13) - 1, 0, 0}, /* 1: as in Linux 5.13 */
    {(UINT64_C(1) << 14) - 1, 0, 0}, /* 2: to move between folders */
    {(UINT64_C(1) << 15) - 1, 0, 0}, /* 3: truncate */
    {(UINT64_C(1) << 15) - 1, 3, 0}, /* 4: TCP */
    {(UINT64_C(1) << 16) - 1, 3, 0}, /* 5: ioctl of devices */
    {(UINT64_C(1) << 16) - 1, 3, 3}, /* 6: abstract sockets, signals */
};

/* More links than a folder of models has. */
#define MAX_LINKS 4096

struct rules {
	int fd;
	uint64_t handled;
};

/*
 * Allow it for path and what is beneath it. A path that cannot be opened needs
 * no rule: it cannot be opened later either.
 */
static void
allow(const struct rules *r, const char *path, uint64_t access)
{
	struct beneath rule = {.allowed = access & r->handled};
	struct stat st;

	rule.folder = open(path, O_PATH | O_CLOEXEC);
	if (rule.folder < 0)
		return;
	if (!fstat(rule.folder, &st) && !S_ISDIR(st.st_mode))
		rule.allowed &= READ_FILE | WRITE_FILE | TRUNCATE;
	(void)syscall(ADD_RULE, r->fd, PATH_BENEATH, &rule, 0);
	close(rule.folder);
}

/*
 * The part before the last slash that has something behind it, in buf; false if
 * it is too long.
 */
static bool
folder_of(const char *path, char buf[PATH_MAX])
{
	const char *slash = NULL;
	size_t n;

	for (const char *s = path; *s; s++)
		if (*s == '/' && s[strspn(s, "/")] != '\0')
			slash = s;
	n = slash ? (size_t)(slash - path) : 1;

	if (n >= PATH_MAX)
		return false;
	memcpy(buf, slash ? path : ".", n);
	if (n == 0)
		buf[n++] = '/';
	buf[n] = '\0';
	return true;
}

/*
 * Download caches keep files in one folder and sets of links to them in
 * others: what links in a folder of models lead to may be read.
 */
static void
allow_links(const struct rules *r, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *item;
	size_t n = 0;

	while (dir && n < MAX_LINKS && (item = readdir(dir))) {
		char path[PATH_MAX];
		struct stat st;
		int len =
		    snprintf(path, sizeof(path), "%s/%s", folder, item->d_name);

		if (len < 0 || (size_t)len >= sizeof(path) ||
		    lstat(path, &st) || !S_ISLNK(st.st_mode) ||
		    stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		allow(r, path, READ_FILE);
		n++;
	}
	if (dir)
		closedir(dir);
}

static void
allow_input(const struct rules *r, const char *path)
{
	char folder[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		allow(r, path, FOR_READING);
		allow_links(r, path);
		return;
	}
	if (folder_of(path, folder)) {
		allow(r, folder, FOR_READING);
		allow_links(r, folder);
	}
	if (realpath(path, real) && folder_of(real, folder))
		allow(r, folder, FOR_READING);
}

/*
 * A file is made beside it and renamed, where a link leads if it is one;
 * anything else is written at once.
 */
static void
allow_output(const struct rules *r, const char *path)
{
	char folder[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return;
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		allow(r, path, WRITE_FILE);
		return;
	}
	if (folder_of(path, folder))
		allow(r, folder, FOR_WRITING);
	if (!lstat(path, &st) && S_ISLNK(st.st_mode) && realpath(path, real) &&
	    folder_of(real, folder))
		allow(r, folder, FOR_WRITING);
}

/* One that is not there is made, in a folder that is. */
static void
allow_output_folder(const struct rules *r, const char *path)
{
	char parent[PATH_MAX];
	struct stat st;

	if (!stat(path, &st))
		allow(r, path, FOR_WRITING);
	else if (folder_of(path, parent))
		allow(r, parent, FOR_WRITING | MAKE_DIR);
}

/*
 * What comes from standard input, and what must be decoded to be jumped about
 * in, lies in a file without a name. Landlock cannot tell that from a file with
 * one; sandbox_calls.c does.
 */
static void
allow_nameless(const struct rules *r)
{
	const char *folder = getenv("TMPDIR");

	allow(r, folder && *folder ? folder : "/tmp", READ_FILE | WRITE_FILE);
}

static void
allow_planned(const struct rules *r, const struct sandbox_plan *plan)
{
	allow_nameless(r);
	for (size_t i = 0; i < plan->n; i++) {
		const char *path = plan->paths[i].path;

		switch (plan->paths[i].use) {
		case SANDBOX_READ:
			allow_input(r, path);
			break;
		case SANDBOX_READ_ONE:
			allow(r, path, READ_FILE);
			break;
		case SANDBOX_WRITE:
			allow_output(r, path);
			break;
		case SANDBOX_WRITE_IN:
			allow_output_folder(r, path);
			break;
		}
	}
}

const char *
sandbox_files_enter(const struct sandbox_plan *plan)
{
	const size_t newest = sizeof(versions) / sizeof(versions[0]);
	long version = syscall(CREATE_RULESET, NULL, 0, VERSION_ONLY);
	const struct ruleset *handled;
	struct rules r;
	const char *why = NULL;

	if (version < 1)
		return "the system has no Landlock";
	handled =
	    &versions[((size_t)version < newest ? (size_t)version : newest) -
		      1];
	r.handled = handled->files;
	r.fd = (int)syscall(CREATE_RULESET, handled, sizeof(*handled), 0);
	if (r.fd < 0)
		return strerror(errno);
	allow_planned(&r, plan);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(RESTRICT_SELF, r.fd, 0))
		why = strerror(errno);
	close(r.fd);
	return why;
}

#else

const char *
sandbox_files_enter(const struct sandbox_plan *plan)
{
	(void)plan;
	return "the system has no Landlock";
}

#endif
