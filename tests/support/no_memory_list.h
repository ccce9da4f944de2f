/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_memory_list.h - the list NO_MEMORY_LIST as functions, rows and tests
 *
 * To be included behind struct world and what the lines call.
 */
#ifndef TEST_NO_MEMORY_LIST_H
#define TEST_NO_MEMORY_LIST_H

#include "support/no_memory.h"

#define GETS NO_MEMORY_STATUS
#define SOME NO_MEMORY_STATUS
#define BLOCK NO_MEMORY_BLOCK
#define NEVER_S NO_MEMORY_STATUS
#define NEVER NO_MEMORY_OTHER
#define MAY NO_MEMORY_OTHER
#include NO_MEMORY_LIST
#undef GETS
#undef SOME
#undef BLOCK
#undef NEVER_S
#undef NEVER
#undef MAY

static const struct no_memory_row no_memory_rows[] = {
#define GETS(f, args) NO_MEMORY_ROW(f, GETS)
#define SOME(f, args) NO_MEMORY_ROW(f, SOME)
#define BLOCK GETS
#define NEVER_S(f, args) NO_MEMORY_ROW(f, NEVER)
#define NEVER NEVER_S
#define MAY(f, args) NO_MEMORY_ROW(f, MAY)
#include NO_MEMORY_LIST
};

/* Calls that failed, of all functions. */
static long no_memory_total;

/* A cmocka test; *state is the row. */
static void
no_memory_test(void **state)
{
	static struct world world;
	const struct no_memory_row *row = *state;
	long n = no_memory_rounds(row, &world, false);

	(void)no_memory_rounds(row, &world, true);
	if (row->kind < NO_MEMORY_NEVER && n == 0)
		fail_msg("%s gets no memory", row->name);
	no_memory_total += n;
}

static int
no_memory_main(const char *what, int argc, char **argv,
    CMFixtureFunction before, CMFixtureFunction after)
{
	enum { N = sizeof(no_memory_rows) / sizeof(no_memory_rows[0]) };
	static struct CMUnitTest tests[N];
	char key[80];
	int failed;

	if (argc > 1 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < N; i++)
			puts(no_memory_rows[i].name);
		return 0;
	}
	for (size_t i = 0; i < N; i++) {
		union {
			const void *row;
			void *state;
		} p = {&no_memory_rows[i]};

		tests[i] = (struct CMUnitTest){no_memory_rows[i].name,
		    no_memory_test, NULL, NULL, p.state};
	}
	failed = _cmocka_run_group_tests(what, tests, N, before, after);
	snprintf(key, sizeof(key), "no_memory.%s.functions", what);
	print_fact(key, N);
	snprintf(key, sizeof(key), "no_memory.%s.allocations", what);
	print_fact(key, (uint64_t)no_memory_total);
	return failed;
}

#endif
