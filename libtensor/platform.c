/* SPDX-License-Identifier: Apache-2.0 */
/* platform.c - Linux, with what other systems do instead */
#define _GNU_SOURCE 1
#include "platform.h"

#ifdef __linux__
#include <sched.h>
#endif
#ifdef TP_BACKTRACE
#include <execinfo.h>
#include <stdlib.h>
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

#ifdef TP_BACKTRACE

size_t
tpi_callers(void **out, size_t max)
{
	int n = backtrace(out, (int)max);

	return n > 0 ? (size_t)n : 0;
}

void
tpi_name_callers(void *const *callers, size_t n,
    void (*fn)(void *ctx, const char *text), void *ctx)
{
	char **text = backtrace_symbols(callers, (int)n);

	for (size_t i = 0; text && i < n; i++)
		fn(ctx, text[i]);
	free(text);
}

#else

size_t
tpi_callers(void **out, size_t max)
{
	(void)out;
	(void)max;
	return 0;
}

void
tpi_name_callers(void *const *callers, size_t n,
    void (*fn)(void *ctx, const char *text), void *ctx)
{
	(void)callers;
	(void)n;
	(void)fn;
	(void)ctx;
}

#endif
