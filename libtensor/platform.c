/* SPDX-License-Identifier: Apache-2.0 */
/* platform.c - Linux, with what other systems do instead */
#define _GNU_SOURCE 1
#include "platform.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <unistd.h>

#include "banned.h"

unsigned
tpi_cpu_count(void)
{
	long n;

#ifdef __linux__
	cpu_set_t set;

	/* What this process may use, which a container often narrows. */
	if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
#endif
	n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}
