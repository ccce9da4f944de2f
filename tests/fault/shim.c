/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim.c - system calls that fail when they are told to
 *
 * Preloaded into a program, it counts the calls of one name and makes one of
 * them fail:
 *
 *	TP_FAULT_CALL	the name of a call
 *	TP_FAULT_AT	which one, from 1 on; 0 or nothing: none
 *	TP_FAULT_DO	an error (EIO, ENOSPC, EINTR, …), "short" for half of
 *			the bytes, or "KILL" for the end of the process
 *	TP_FAULT_COUNT	a file into which the number of calls is written at exit
 *
 * An error happens before the call has done anything, but for close, which has
 * closed. "malloc" is every way to get memory from the heap; what was not given
 * back at the end stands as a second number in the file of the count. "thread"
 * is pthread_create.
 *
 * "mmap-input", "pread-input" and "copy_file_range-input" are such calls upon
 * files in the folder TP_FAULT_INPUTS. They do not fail, but the file changes
 * behind the back of the program, after the map and before the others:
 *
 *	cut, cut-half	it is shortened to nothing, to half of its size
 *	overwrite	all of its bytes are others
 *	unlink		its name is taken away
 */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static atomic_long n_calls, n_held;
static const char *fault_call, *fault_do, *count_file, *inputs;
static long fault_at;

static const struct {
	const char *name;
	int code;
} errors[] = {{"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EINTR", EINTR},
    {"EDQUOT", EDQUOT}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM},
    {"EAGAIN", EAGAIN}};

__attribute__((constructor)) static void
begin(void)
{
	const char *at = getenv("TP_FAULT_AT");

	fault_call = getenv("TP_FAULT_CALL");
	fault_do = getenv("TP_FAULT_DO");
	count_file = getenv("TP_FAULT_COUNT");
	inputs = getenv("TP_FAULT_INPUTS");
	fault_at = at ? strtol(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void
end(void)
{
	char text[64];
	int fd, n;

	if (!count_file || !*count_file)
		return;
	fd = creat(count_file, 0666);
	n = snprintf(text, sizeof(text), "%ld %ld\n", atomic_load(&n_calls),
	    atomic_load(&n_held));
	if (fd < 0 || write(fd, text, (size_t)n) != n)
		abort();
}

/* True if the descriptor is of a file in the folder of the inputs. */
static bool
is_input(int fd)
{
	char link[64], path[4096];
	size_t n = inputs ? strlen(inputs) : 0;
	ssize_t k;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	k = readlink(link, path, sizeof(path));
	return n && k > (ssize_t)n && !memcmp(path, inputs, n) &&
	       path[n] == '/';
}

/* By its position: offsets of 64 bits are passed otherwise by each machine. */
static void
overwrite(long fd)
{
	char buf[4096];
	long n;

	while ((n = syscall(SYS_read, fd, buf, sizeof(buf))) > 0) {
		for (long i = 0; i < n; i++)
			buf[i] = (char)~buf[i];
		if (lseek((int)fd, -n, SEEK_CUR) < 0 ||
		    syscall(SYS_write, fd, buf, (size_t)n) != n)
			abort();
	}
	if (n)
		abort();
}

/* What someone else does to a file that is being read. */
static void
change_input(const char *call, int fd)
{
	int saved = errno;
	char link[64], path[4096];
	struct stat st;
	long other;

	if (!fault_call || strcmp(fault_call, call) || !is_input(fd) ||
	    atomic_fetch_add(&n_calls, 1) + 1 != fault_at || !fault_do)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	other = syscall(SYS_openat, AT_FDCWD, link, O_RDWR, 0);
	if (other < 0 || fstat(fd, &st))
		abort();
	if (!strcmp(fault_do, "unlink")) {
		ssize_t n = readlink(link, path, sizeof(path) - 1);

		path[n < 0 ? 0 : n] = '\0';
		if (unlink(path))
			abort();
	} else if (!strcmp(fault_do, "overwrite"))
		overwrite(other);
	else if (syscall(SYS_ftruncate, other,
		     !strcmp(fault_do, "cut-half") ? st.st_size / 2 : 0))
		abort();
	syscall(SYS_close, other);
	errno = saved;
}

enum fault { NONE, FAIL, SHORT };

/* What is to become of this call; errno is set for FAIL. */
static enum fault
fault_of(const char *call)
{
	if (!fault_call || strcmp(fault_call, call))
		return NONE;
	if (atomic_fetch_add(&n_calls, 1) + 1 != fault_at || !fault_do)
		return NONE;
	if (!strcmp(fault_do, "KILL"))
		raise(SIGKILL);
	if (!strcmp(fault_do, "short"))
		return SHORT;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(fault_do, errors[i].name)) {
			errno = errors[i].code;
			return FAIL;
		}
	abort();
}

/* The libc's own function of that name. */
#define NEXT(type, name)                    \
	union {                             \
		void *address;              \
		__typeof__(type) call;      \
	} found = {dlsym(RTLD_NEXT, name)}; \
	__typeof__(type) next = found.call

static size_t
part(enum fault f, size_t n)
{
	return f == SHORT && n > 1 ? n / 2 : n;
}

/*
 * Calls that come in two names, with 64-bit offsets and without: x86-64 and its
 * kind use the former through the headers, what was built long ago the latter.
 */
#define OPEN(name)                                            \
	EXPORT int name(const char *path, int flags, ...);    \
	int name(const char *path, int flags, ...)            \
	{                                                     \
		NEXT(int (*)(const char *, int, ...), #name); \
		mode_t mode = 0;                              \
		va_list ap;                                   \
                                                              \
		va_start(ap, flags);                          \
		if (flags & (O_CREAT | __O_TMPFILE))          \
			mode = (mode_t)va_arg(ap, unsigned);  \
		va_end(ap);                                   \
		if (fault_of("open") == FAIL)                 \
			return -1;                            \
		return next(path, flags, mode);               \
	}
#define OPENAT(name)                                               \
	EXPORT int name(int at, const char *path, int flags, ...); \
	int name(int at, const char *path, int flags, ...)         \
	{                                                          \
		NEXT(int (*)(int, const char *, int, ...), #name); \
		mode_t mode = 0;                                   \
		va_list ap;                                        \
                                                                   \
		va_start(ap, flags);                               \
		if (flags & (O_CREAT | __O_TMPFILE))               \
			mode = (mode_t)va_arg(ap, unsigned);       \
		va_end(ap);                                        \
		if (fault_of("open") == FAIL)                      \
			return -1;                                 \
		return next(at, path, flags, mode);                \
	}
#define FOPEN(name)                                                 \
	EXPORT FILE *name(const char *path, const char *mode);      \
	FILE *name(const char *path, const char *mode)              \
	{                                                           \
		NEXT(FILE *(*)(const char *, const char *), #name); \
                                                                    \
		if (fault_of("open") == FAIL)                       \
			return NULL;                                \
		return next(path, mode);                            \
	}
#define READDIR(name, item)                                            \
	EXPORT struct item *name(DIR *dir);                            \
	struct item *name(DIR *dir)                                    \
	{                                                              \
		NEXT(struct item *(*)(DIR *), #name);                  \
                                                                       \
		return fault_of("readdir") == FAIL ? NULL : next(dir); \
	}
#define PREAD(name, off)                                             \
	EXPORT ssize_t name(int fd, void *p, size_t n, off at);      \
	ssize_t name(int fd, void *p, size_t n, off at)              \
	{                                                            \
		NEXT(ssize_t (*)(int, void *, size_t, off), #name);  \
		enum fault f = fault_of("pread");                    \
                                                                     \
		change_input("pread-input", fd);                     \
		return f == FAIL ? -1 : next(fd, p, part(f, n), at); \
	}
#define PWRITE(name, off)                                                 \
	EXPORT ssize_t name(int fd, const void *p, size_t n, off at);     \
	ssize_t name(int fd, const void *p, size_t n, off at)             \
	{                                                                 \
		NEXT(ssize_t (*)(int, const void *, size_t, off), #name); \
		enum fault f = fault_of("write");                         \
                                                                          \
		return f == FAIL ? -1 : next(fd, p, part(f, n), at);      \
	}
#define FTRUNCATE(name, off)                                                \
	EXPORT int name(int fd, off size);                                  \
	int name(int fd, off size)                                          \
	{                                                                   \
		NEXT(int (*)(int, off), #name);                             \
                                                                            \
		return fault_of("ftruncate") == FAIL ? -1 : next(fd, size); \
	}
#define MMAP(name, off)                                                       \
	EXPORT void *name(                                                    \
	    void *at, size_t n, int prot, int flags, int fd, off from);       \
	void *name(void *at, size_t n, int prot, int flags, int fd, off from) \
	{                                                                     \
		NEXT(void *(*)(void *, size_t, int, int, int, off), #name);   \
                                                                              \
		if (!(flags & MAP_ANONYMOUS) && fault_of("mmap") == FAIL)     \
			return MAP_FAILED;                                    \
		at = next(at, n, prot, flags, fd, from);                      \
		if (!(flags & MAP_ANONYMOUS) && at != MAP_FAILED)             \
			change_input("mmap-input", fd);                       \
		return at;                                                    \
	}
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
FOPEN(fopen)
FOPEN(fopen64)
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)
PREAD(pread, off_t)
PREAD(pread64, off64_t)
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

EXPORT DIR *
opendir(const char *path)
{
	NEXT(DIR * (*)(const char *), "opendir");

	return fault_of("open") == FAIL ? NULL : next(path);
}

EXPORT ssize_t
read(int fd, void *p, size_t n)
{
	NEXT(ssize_t(*)(int, void *, size_t), "read");
	enum fault f = fault_of("read");

	return f == FAIL ? -1 : next(fd, p, part(f, n));
}

EXPORT ssize_t
write(int fd, const void *p, size_t n)
{
	NEXT(ssize_t(*)(int, const void *, size_t), "write");
	enum fault f = fault_of("write");

	return f == FAIL ? -1 : next(fd, p, part(f, n));
}

EXPORT ssize_t
writev(int fd, const struct iovec *parts, int n)
{
	NEXT(ssize_t(*)(int, const struct iovec *, int), "writev");
	enum fault f = fault_of("write");

	if (f == SHORT)
		return write(fd, parts[0].iov_base, part(f, parts[0].iov_len));
	return f == FAIL ? -1 : next(fd, parts, n);
}

EXPORT ssize_t
copy_file_range(
    int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags)
{
	NEXT(ssize_t(*)(int, off64_t *, int, off64_t *, size_t, unsigned),
	    "copy_file_range");
	enum fault f = fault_of("copy_file_range");

	change_input("copy_file_range-input", in);
	return f == FAIL ? -1 : next(in, in_at, out, out_at, part(f, n), flags);
}

EXPORT int
fsync(int fd)
{
	NEXT(int (*)(int), "fsync");

	return fault_of("fsync") == FAIL ? -1 : next(fd);
}

EXPORT int
fdatasync(int fd)
{
	NEXT(int (*)(int), "fdatasync");

	return fault_of("fsync") == FAIL ? -1 : next(fd);
}

EXPORT int
rename(const char *from, const char *to)
{
	NEXT(int (*)(const char *, const char *), "rename");

	return fault_of("rename") == FAIL ? -1 : next(from, to);
}

/* The heap: glibc's own functions have a second name. */
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

static void *
held(void *p)
{
	if (p)
		atomic_fetch_add(&n_held, 1);
	return p;
}

EXPORT void *
malloc(size_t n)
{
	return fault_of("malloc") == FAIL ? NULL : held(__libc_malloc(n));
}

EXPORT void *
calloc(size_t n, size_t size)
{
	return fault_of("malloc") == FAIL ? NULL : held(__libc_calloc(n, size));
}

EXPORT void *
realloc(void *p, size_t n)
{
	void *moved;

	if (fault_of("malloc") == FAIL)
		return NULL;
	moved = __libc_realloc(p, n);
	if (!p)
		held(moved);
	else if (!moved && n == 0)
		atomic_fetch_sub(&n_held, 1);
	return moved;
}

EXPORT void *
aligned_alloc(size_t align, size_t n)
{
	return fault_of("malloc") == FAIL ? NULL
					  : held(__libc_memalign(align, n));
}

EXPORT int
posix_memalign(void **out, size_t align, size_t n)
{
	void *p = aligned_alloc(align, n);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

EXPORT void
free(void *p)
{
	if (p)
		atomic_fetch_sub(&n_held, 1);
	__libc_free(p);
}

EXPORT int
link(const char *from, const char *to)
{
	NEXT(int (*)(const char *, const char *), "link");

	return fault_of("rename") == FAIL ? -1 : next(from, to);
}

EXPORT int
close(int fd)
{
	NEXT(int (*)(int), "close");
	enum fault f = fault_of("close");
	int code = errno, rc = next(fd);

	if (f != FAIL)
		return rc;
	errno = code;
	return -1;
}

EXPORT int
pthread_create(pthread_t *thread, const pthread_attr_t *attr,
    void *(*start)(void *), void *arg)
{
	NEXT(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
		 void *),
	    "pthread_create");

	return fault_of("thread") == FAIL ? errno
					  : next(thread, attr, start, arg);
}
