/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny_calls.h - systems that have no sandbox, or a part of one
 *
 * Older kernels, kernels built without it, containers that forbid it: for what
 * asks they are system calls that fail in a certain way, which a filter of our
 * own does as well. It stays for the process and what it starts.
 */
#ifndef SUPPORT_DENY_CALLS_H
#define SUPPORT_DENY_CALLS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* landlock_create_ruleset and so on, which older headers do not name. */
enum { DENY_CREATE_RULESET = 444, DENY_RESTRICT_SELF = 446 };

static const struct denial {
	const char *name;
	long number;
	uint32_t first; /* its first argument; 0: any */
	int errnum;
	bool files, calls; /* what a sandbox still has */
} denials[] = {
#ifdef __linux__
    {"old-kernel", DENY_CREATE_RULESET, 0, ENOSYS, false, true},
    {"landlock-off", DENY_CREATE_RULESET, 0, EOPNOTSUPP, false, true},
    {"landlock-forbidden", DENY_CREATE_RULESET, 0, EPERM, false, true},
    {"landlock-full", DENY_RESTRICT_SELF, 0, E2BIG, false, true},
    {"no-seccomp", SYS_prctl, PR_SET_SECCOMP, EINVAL, true, false},
    {"seccomp-forbidden", SYS_prctl, PR_SET_SECCOMP, EPERM, true, false},
    {"seccomp-unknown", SYS_prctl, PR_SET_SECCOMP, ENOSYS, true, false},
    /* Both walls need it. */
    {"no-promise", SYS_prctl, PR_SET_NO_NEW_PRIVS, EINVAL, false, false},
#else
    {"nothing", 0, 0, ENOSYS, false, false},
#endif
};
#define N_DENIALS (sizeof(denials) / sizeof(denials[0]))

static inline const struct denial *
denial_find(const char *name)
{
	for (size_t i = 0; i < N_DENIALS; i++)
		if (!strcmp(denials[i].name, name))
			return &denials[i];
	return NULL;
}

/* False where the system has no filters to play this with. */
static inline bool
deny_call(const struct denial *d)
{
#ifdef __linux__
	const uint32_t argument = offsetof(struct seccomp_data, args) +
				  (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) * 4;
	struct sock_filter code[] = {
	    {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
	    {BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)d->number},
	    {BPF_JMP | BPF_JA, 0, 0, d->first ? 0 : 2},
	    {BPF_LD | BPF_W | BPF_ABS, 0, 0, argument},
	    {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, d->first},
	    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | (uint32_t)d->errnum},
	    {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
#else
	(void)d;
	return false;
#endif
}

#endif
