/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: what is counted, by whom, and in which order it is told */
#include "support/cmocka_all.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tp/profile.h"

static void
spend(const char *name, long ns)
{
	struct tp_scope scope = tp_scope_begin(name);
	const struct timespec t = {0, ns};

	nanosleep(&t, NULL);
	tp_scope_end(&scope);
}

static void *
work(void *arg)
{
	(void)arg;
	spend("worker", 2000000);
	spend("worker", 2000000);
	return NULL;
}

static void
collect(void *ctx, const char *line)
{
	strncat(ctx, line, 1000);
	strncat(ctx, "\n", 2);
}

static void
nothing_is_counted_while_it_is_off(void **state)
{
	struct tp_profile_row row;
	struct tp_scope scope = tp_scope_begin("off");

	(void)state;
	assert_false(tp_profile_enabled());
	tp_scope_end(&scope);
	assert_int_equal(tp_profile_rows(&row, 1), 0);
}

/* The row of that name; a busy machine decides which is the longest. */
static const struct tp_profile_row *
row_of(const struct tp_profile_row *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	fail_msg("no row '%s'", name);
	return NULL;
}

static void
threads_are_added_up_longest_first(void **state)
{
	struct tp_profile_row rows[4];
	char text[8192] = "";
	pthread_t t[2];

	(void)state;
	tp_profile_enable(true);
	spend("short", 1);
	spend("long", 30000000);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, work, NULL), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(tp_profile_rows(rows, 4), 3);
	assert_true(rows[0].total_ns >= rows[1].total_ns);
	assert_true(rows[1].total_ns >= rows[2].total_ns);
	assert_int_equal(row_of(rows, 3, "short")->n_calls, 1);
	assert_int_equal(row_of(rows, 3, "worker")->n_calls, 4);
	assert_true(row_of(rows, 3, "long")->total_ns >= 30000000);
	assert_true(row_of(rows, 3, "worker")->total_ns >= 8000000);
	assert_true(rows[0].share + rows[1].share + rows[2].share > 0.999);

	/* A scope that is open when it is switched off still counts, once. */
	{
		struct tp_scope scope = tp_scope_begin("short");

		tp_profile_enable(false);
		tp_scope_end(&scope);
		tp_scope_end(&scope);
	}
	assert_int_equal(tp_profile_rows(rows, 4), 3);
	assert_int_equal(row_of(rows, 3, "short")->n_calls, 2);
	tp_profile_report(collect, text);
	assert_non_null(strstr(text, "scope"));
	assert_non_null(strstr(text, "\nlong "));
	assert_non_null(strstr(text, "\nworker "));
	tp_profile_reset();
	assert_int_equal(tp_profile_rows(rows, 4), 0);
}

/* More names than there are rows: none is lost, they share one. */
static void
too_many_names_share_a_row(void **state)
{
	static char names[600][8];
	struct tp_profile_row rows[300];
	uint64_t n_calls = 0;
	size_t n;

	(void)state;
	tp_profile_enable(true);
	for (unsigned i = 0; i < 600; i++) {
		snprintf(names[i], sizeof(names[i]), "n%u", i);
		spend(names[i], 0);
	}
	tp_profile_enable(false);
	n = tp_profile_rows(rows, 300);
	assert_int_equal(n, 256);
	for (size_t i = 0; i < n; i++)
		n_calls += rows[i].n_calls;
	assert_int_equal(n_calls, 600);
	tp_profile_reset();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_counted_while_it_is_off),
	    cmocka_unit_test(threads_are_added_up_longest_first),
	    cmocka_unit_test(too_many_names_share_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
