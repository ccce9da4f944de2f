/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_run.c - run a program and tell what it took
 *
 *	bench_run RESULT PROGRAM [ARGUMENT…]
 *
 * Writes "SECONDS PEAK-KIB CPU-SECONDS" to the file RESULT: wall-clock time
 * from before the fork to after the wait, the peak resident size that the system
 * counted, and what all threads spent, in the kernel too. Ends as the program
 * ended.
 */
#define _DEFAULT_SOURCE /* wait4 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double
seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int
main(int argc, char **argv)
{
	struct rusage usage;
	double begin, took;
	int status;
	FILE *f;
	pid_t pid;

	if (argc < 3)
		return 2;
	begin = seconds_now();
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 1;
	took = seconds_now() - begin;

	f = fopen(argv[1], "w");
	if (!f)
		return 1;
	fprintf(f, "%.6f %ld %.6f\n", took, usage.ru_maxrss,
	    seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
	if (fclose(f))
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
