/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.c: every part exactly once, whatever the threads */
#include "support/cmocka_all.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "tp/parallel.h"

#define MAX_PARTS 1000

struct seen {
	atomic_uint counts[MAX_PARTS + 1];
	atomic_size_t last; /* part of a single thread */
	atomic_bool is_ascending;
};

static void
note_part(void *ctx, size_t part)
{
	struct seen *s = ctx;

	atomic_fetch_add(&s->counts[part < MAX_PARTS ? part : MAX_PARTS], 1);
	if (part < atomic_exchange(&s->last, part))
		atomic_store(&s->is_ascending, false);
}

static void
every_part_runs_once(void **state)
{
	static const unsigned threads[] = {0, 1, 2, 3, 64, 1000};
	static const size_t parts[] = {0, 1, 2, 3, 65, MAX_PARTS};
	static struct seen s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(threads) * COUNT_OF(parts); i++) {
		unsigned n_threads = threads[i / COUNT_OF(parts)];
		size_t n_parts = parts[i % COUNT_OF(parts)];

		for (size_t p = 0; p <= MAX_PARTS; p++)
			atomic_store(&s.counts[p], 0);
		atomic_store(&s.last, 0);
		atomic_store(&s.is_ascending, true);
		tp_parallel(n_threads, n_parts, note_part, &s);
		for (size_t p = 0; p <= MAX_PARTS; p++)
			assert_int_equal(
			    atomic_load(&s.counts[p]), p < n_parts);
		if (n_threads == 1)
			assert_true(atomic_load(&s.is_ascending));
	}
}

static void
there_is_a_processor(void **state)
{
	(void)state;
	assert_true(tp_cpu_count() >= 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_part_runs_once),
	    cmocka_unit_test(there_is_a_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
