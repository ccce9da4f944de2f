/* SPDX-License-Identifier: Apache-2.0 */
/* stream_pour.c: what is in order, what is not, and which failure is told */
#include "support/cmocka_all.h"

#include <time.h>

#include "formats/stream_pour.h"

#define CHUNKS 40
#define WORKERS 4

enum step { READ, MAKE, SETTLE, WRITE, NEVER };

/* What was done with chunks, and where one of them fails. */
struct log {
	uint64_t of[WORKERS]; /* chunk that a worker has */
	uint64_t read[CHUNKS], settled[CHUNKS];
	size_t n_read, n_settled, n_inside;
	bool made[CHUNKS], written[CHUNKS];
	enum step fails;
	uint64_t fails_at, fails_too;
};

static enum tp_status
outcome(const struct log *l, enum step step, uint64_t k, struct tp_err *err)
{
	if (l->fails == step && (k == l->fails_at || k == l->fails_too))
		return tp_fail(err, TP_EFORMAT, k, "chunk %d", (int)k);
	return TP_OK;
}

/* The first of some take longest. */
static void
pause_at(uint64_t k)
{
	const struct timespec t = {.tv_nsec = (long)(3 - k % 4) * 300000};

	nanosleep(&t, NULL);
}

static enum tp_status
read_chunk(void *ctx, size_t i, uint64_t k, struct tp_err *err)
{
	struct log *l = ctx;

	/* One call at a time, so there is no lock. */
	l->of[i] = k;
	l->read[l->n_read++] = k;
	return outcome(l, READ, k, err);
}

static enum tp_status
make_chunk(void *ctx, size_t i, uint64_t k, struct tp_err *err)
{
	struct log *l = ctx;

	assert_int_equal(l->of[i], k);
	pause_at(k);
	l->made[k] = true;
	return outcome(l, MAKE, k, err);
}

static enum tp_status
settle_chunk(void *ctx, size_t i, uint64_t k, struct tp_err *err)
{
	struct log *l = ctx;

	assert_int_equal(l->of[i], k);
	assert_true(l->made[k]);
	assert_int_equal(l->n_inside++, 0);
	l->settled[l->n_settled++] = k;
	l->n_inside--;
	return outcome(l, SETTLE, k, err);
}

static enum tp_status
write_chunk(void *ctx, size_t i, uint64_t k, size_t *n, struct tp_err *err)
{
	struct log *l = ctx;

	assert_int_equal(l->of[i], k);
	pause_at(k + 1);
	l->written[k] = true;
	*n = 10;
	return outcome(l, WRITE, k, err);
}

static enum tp_status
run(struct log *l, struct tp_stream *s, unsigned n_workers, struct tp_err *err)
{
	return tpi_pour(s,
	    &(struct tpi_pour){
		.n_chunks = CHUNKS,
		.n_workers = n_workers,
		.ctx = l,
		.read = read_chunk,
		.make = make_chunk,
		.settle = settle_chunk,
		.write = s ? write_chunk : NULL,
	    },
	    err);
}

static void
chunks_settle_in_order(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= WORKERS; workers++) {
		struct log l = {.fails = NEVER};
		struct tp_stream s = {.nbytes = 10 * CHUNKS};

		assert_int_equal(run(&l, &s, workers, NULL), TP_OK);
		assert_int_equal(s.pos, 10 * CHUNKS);
		assert_int_equal(l.n_read, CHUNKS);
		assert_int_equal(l.n_settled, CHUNKS);
		for (size_t k = 0; k < CHUNKS; k++) {
			assert_int_equal(l.read[k], k);
			assert_int_equal(l.settled[k], k);
			assert_true(l.written[k]);
		}
	}
}

static void
nothing_has_to_be_written(void **state)
{
	struct log l = {.fails = NEVER};

	(void)state;
	assert_int_equal(run(&l, NULL, 3, NULL), TP_OK);
	assert_int_equal(l.n_settled, CHUNKS);
	assert_false(l.written[0]);
}

/* Nobody waits for a chunk that failed; the earliest failure is told. */
static void
the_earliest_failure_is_told(void **state)
{
	static const uint64_t places[] = {0, 7, CHUNKS - 1};

	(void)state;
	for (size_t i = 0; i < 4 * 3 * WORKERS; i++) {
		enum step step = (enum step)(i % 4);
		uint64_t k = places[i / 4 % 3];
		struct log l = {
		    .fails = step, .fails_at = k, .fails_too = k + 1};
		struct tp_stream s = {.nbytes = 10 * CHUNKS};
		struct tp_err err = TP_ERR_INIT;

		assert_int_equal(
		    run(&l, &s, (unsigned)(i / 12) + 1, &err), TP_EFORMAT);
		assert_int_equal(err.offset, k);
		/* All before were settled, and none behind. */
		assert_int_equal(l.n_settled >= k, 1);
		for (size_t n = 0; n < l.n_settled; n++)
			assert_int_equal(l.settled[n], n);
		if (step < WRITE)
			assert_true(l.n_settled <= k + (step == SETTLE));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chunks_settle_in_order),
	    cmocka_unit_test(nothing_has_to_be_written),
	    cmocka_unit_test(the_earliest_failure_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
