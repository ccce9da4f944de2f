/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deny_calls.c - deny_calls NAME[,NAME…] COMMAND…: run it on a system that
 * lacks a part of the sandbox; without arguments the names, and what is left
 *
 * Exits with 77 where the system has no filters to play this with.
 */
#define _GNU_SOURCE 1
#include "support/deny_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int
list(void)
{
	for (size_t i = 0; i < N_DENIALS; i++)
		printf("%s %s %s\n", denials[i].name,
		    denials[i].files ? "true" : "false",
		    denials[i].calls ? "true" : "false");
	return 0;
}

int
main(int argc, char **argv)
{
	char *names, *name;

	if (argc == 1)
		return list();
	if (argc < 3)
		return 2;
	names = argv[1];
	while ((name = strsep(&names, ","))) {
		const struct denial *d = denial_find(name);

		if (!d) {
			fprintf(stderr, "deny_calls: %s is unknown\n", name);
			return 2;
		}
		if (!deny_call(d))
			return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 2;
}
