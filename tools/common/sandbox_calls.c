/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_calls.c - seccomp: which system calls are made at all
 *
 * The list says what reading needs; all else fails with ENOSYS, upon which a C
 * library does without, as on an older kernel. A call on the list that comes
 * with arguments it must not have fails with EPERM. The filter is made of the
 * list, for each row:
 *
 *	if (number == row.number) {
 *		if ((argument & row.mask) == row.value)
 *			allow
 *		…the next row of the same number, or EPERM
 *	}
 */
#define _GNU_SOURCE 1
#include "sandbox.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#ifdef __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#else
#define MACHINE AUDIT_ARCH_AARCH64
#endif

struct row {
	uint32_t number;
	uint32_t argument, mask, value; /* the low half of that argument */
};

#define ANY(name)                   \
	{                           \
		SYS_##name, 0, 0, 0 \
	}
#define WHEN(name, argument, mask, value)               \
	{                                               \
		SYS_##name, (argument), (mask), (value) \
	}

#define TO_WRITE ((uint32_t)(O_ACCMODE | O_CREAT | O_TRUNC))
/* A file without a name; none can be given to it, as linkat is not allowed. */
#define NAMELESS ((uint32_t)(O_TMPFILE | O_RDWR))

/* Rows of one number follow each other. */
static const struct row for_reading[] = {
    /* files that are open */
    ANY(read),
    ANY(readv),
    ANY(pread64),
    ANY(write),
    ANY(writev),
    ANY(pwrite64),
    ANY(lseek),
    ANY(close),
    ANY(fstat),
    ANY(fadvise64),
    ANY(dup),
    ANY(getdents64),
    ANY(copy_file_range),
    /* F_DUPFD, F_GETFD … F_SETLKW; nothing that asks for signals */
    WHEN(fcntl, 1, ~UINT32_C(7), 0),
    WHEN(fcntl, 1, UINT32_MAX, F_DUPFD_CLOEXEC),
    /* is it a terminal, how wide? */
    WHEN(ioctl, 1, UINT32_MAX, TCGETS),
    WHEN(ioctl, 1, UINT32_MAX, TIOCGWINSZ),
    /* paths */
    WHEN(openat, 2, TO_WRITE, O_RDONLY),
    WHEN(openat, 2, TO_WRITE | O_TMPFILE, NAMELESS),
    ANY(newfstatat),
    ANY(statx),
    ANY(faccessat),
    ANY(readlinkat),
    ANY(getcwd),
#ifdef SYS_open
    WHEN(open, 1, TO_WRITE, O_RDONLY),
    WHEN(open, 1, TO_WRITE | O_TMPFILE, NAMELESS),
    ANY(stat),
    ANY(lstat),
    ANY(access),
    ANY(readlink),
#endif
    /* memory, none of it to be run */
    WHEN(mmap, 2, PROT_EXEC, 0),
    WHEN(mprotect, 2, PROT_EXEC, 0),
    ANY(munmap),
    ANY(mremap),
    ANY(madvise),
    ANY(brk),
    /* threads; clone3 hides its flags, and clone does as well */
    WHEN(clone, 0, CLONE_THREAD, CLONE_THREAD),
    ANY(futex),
    ANY(set_robust_list),
    ANY(sched_yield),
    ANY(sched_getaffinity),
    ANY(gettid),
    ANY(getpid),
    ANY(exit),
    ANY(exit_group),
#ifdef SYS_rseq
    ANY(rseq),
#endif
    /* signals that are received */
    ANY(rt_sigaction),
    ANY(rt_sigprocmask),
    ANY(rt_sigreturn),
    ANY(sigaltstack),
    ANY(restart_syscall),
    /* the system */
    ANY(clock_gettime),
    ANY(clock_getres),
    ANY(clock_nanosleep),
    ANY(nanosleep),
    ANY(gettimeofday),
    ANY(getrandom),
    ANY(getrusage),
    ANY(prlimit64),
    ANY(sysinfo),
    ANY(uname),
};

/* Where, Landlock says. */
static const struct row for_writing[] = {
    ANY(openat),
    ANY(unlinkat),
    ANY(renameat2),
    /* of a path, not of a descriptor: that could be a file without a name */
    WHEN(linkat, 4, UINT32_MAX, 0),
    ANY(mkdirat),
    ANY(ftruncate),
    ANY(fsync),
    ANY(flock),
    /* as open to others as the file that is replaced */
    WHEN(fchmod, 1, ~UINT32_C(0777), 0),
#ifdef SYS_renameat
    ANY(renameat),
#endif
#ifdef SYS_open
    ANY(open),
    ANY(unlink),
    ANY(rename),
    ANY(link),
    ANY(mkdir),
#endif
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

struct program {
	struct sock_filter
	    code[6 * (COUNT(for_reading) + COUNT(for_writing)) + 32];
	unsigned short n;
};

static void
emit(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	p->code[p->n++] = (struct sock_filter){code, yes, no, k};
}

static void
load(struct program *p, size_t offset)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void
end_with(struct program *p, uint32_t action)
{
	emit(p, BPF_RET | BPF_K, action, 0, 0);
}

static void
emit_rows(struct program *p, const struct row *rows, size_t n)
{
	const uint32_t refused = SECCOMP_RET_ERRNO | EPERM;

	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];
		bool last = i + 1 == n || rows[i + 1].number != row->number;

		if (row->mask == 0) {
			emit(p, BPF_JMP | BPF_JEQ | BPF_K, row->number, 0, 1);
			end_with(p, SECCOMP_RET_ALLOW);
			continue;
		}
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, row->number, 0, 5);
		/* Little-endian: the low half lies first. */
		load(p, offsetof(struct seccomp_data, args) +
			    row->argument * sizeof(uint64_t));
		emit(p, BPF_ALU | BPF_AND | BPF_K, row->mask, 0, 0);
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, row->value, 0, 1);
		end_with(p, SECCOMP_RET_ALLOW);
		if (last)
			end_with(p, refused);
		else
			load(p, offsetof(struct seccomp_data, nr));
	}
}

const char *
sandbox_calls_enter(bool may_write)
{
	const uint32_t self = (uint32_t)getpid();
	/* abort and raise */
	const struct row to_self[] = {
	    WHEN(tgkill, 0, UINT32_MAX, self),
	    WHEN(kill, 0, UINT32_MAX, self),
	};
	struct program p = {.n = 0};
	struct sock_fprog filter;

	load(&p, offsetof(struct seccomp_data, arch));
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
	end_with(&p, SECCOMP_RET_KILL_PROCESS);
	load(&p, offsetof(struct seccomp_data, nr));
	if (may_write)
		emit_rows(&p, for_writing, COUNT(for_writing));
	emit_rows(&p, for_reading, COUNT(for_reading));
	emit_rows(&p, to_self, COUNT(to_self));
	end_with(&p, SECCOMP_RET_ERRNO | ENOSYS);

	filter = (struct sock_fprog){p.n, p.code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return strerror(errno);
	return NULL;
}

#else

const char *
sandbox_calls_enter(bool may_write)
{
	(void)may_write;
	return "no filter for this system";
}

#endif
