/* SPDX-License-Identifier: Apache-2.0 */
/* stream_cast.c: values, statistics and failures, for any number of threads */
#include "support/cmocka_all.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/stream_cast.h"
#include "support/fail_alloc.h"
#include "tp/endian.h"

static const unsigned thread_counts[] = {1, 2, 3, 7, 0};
#define N_COUNTS COUNT_OF(thread_counts)

static void
put_f32(uint8_t *p, size_t i, float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	tp_put_le32(p + 4 * i, bits);
}

static struct tp_stream *
open_cast(const struct tp_alloc *alloc, const void *data, size_t nbytes,
    const struct tpi_cast *cast, struct tp_cast_stats *stats)
{
	struct tp_stream *inner = NULL, *s = NULL;
	struct tp_err err = TP_ERR_INIT;

	assert_int_equal(
	    tp_stream_memory(alloc, data, nbytes, &inner, &err), TP_OK);
	assert_int_equal(
	    tpi_stream_cast(alloc, inner, cast, stats, &s, &err), TP_OK);
	return s;
}

/* Read to the end in pieces of uneven size. */
static enum tp_status
drain(struct tp_stream *s, uint8_t *out, struct tp_err *err)
{
	size_t piece = 1;

	while (tp_stream_left(s)) {
		size_t n = tp_stream_left(s) < piece ? (size_t)tp_stream_left(s)
						     : piece;
		enum tp_status rc = tp_stream_read(s, out, n, err);

		if (rc)
			return rc;
		out += n;
		piece = piece * 3 % 500009 + 1;
	}
	return TP_OK;
}

static void
small_integers_become_halves(void **state)
{
	/* 0, 1, -2, 65504, 2^-24, 70000, NaN */
	static const float values[] = {
	    0.0F, 1.0F, -2.0F, 65504.0F, 0x1p-24F, 70000.0F};
	static const uint16_t want[] = {
	    0x0000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00};
	uint8_t in[sizeof(values)], out[sizeof(want)];
	struct tp_cast_stats stats = {0};
	struct tp_stream *s;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		put_f32(in, i, values[i]);
	s = open_cast(NULL, in, sizeof(in),
	    &(struct tpi_cast){.from = TP_DTYPE_F32,
		.to = TP_DTYPE_F16,
		.n_elems = 6,
		.overflow = TP_OVERFLOW_INF,
		.what = TP_STR("w")},
	    &stats);
	assert_int_equal(tp_stream_nbytes(s), 12);
	assert_int_equal(drain(s, out, NULL), TP_OK);
	tp_stream_close(s);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(tp_le16(out + 2 * i), want[i]);
	assert_int_equal(stats.n, 6);
	assert_int_equal(stats.n_overflow, 1);
	assert_int_equal(stats.first_overflow, 5);
	assert_true(stats.first_overflow_value == 70000.0);
	assert_int_equal(stats.n_to_subnormal, 1);
	assert_int_equal(stats.n_to_zero, 0);
}

/* Packed elements: chunks begin on bytes, and the last may be a part of one. */
static void
packed_elements_widen(void **state)
{
	size_t n = 3 * tpi_cast_chunk(TP_DTYPE_I4, TP_DTYPE_I8) + 5;
	uint8_t *in = calloc(1, n / 2 + 1), *out = calloc(1, n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		in[i / 2] |= (uint8_t)((i * 7 & 15) << (i % 2 * 4));
	for (size_t c = 0; c < N_COUNTS; c++) {
		struct tp_stream *s = open_cast(NULL, in, n / 2 + 1,
		    &(struct tpi_cast){.from = TP_DTYPE_I4,
			.to = TP_DTYPE_I8,
			.n_elems = n,
			.n_threads = thread_counts[c],
			.what = TP_STR("w")},
		    NULL);

		memset(out, 0x55, n);
		assert_int_equal(drain(s, out, NULL), TP_OK);
		tp_stream_close(s);
		for (size_t i = 0; i < n; i++) {
			int v = (int)(i * 7 & 15);

			if ((int8_t)out[i] != (v < 8 ? v : v - 16))
				fail_msg(
				    "element %zu is %d", i, (int8_t)out[i]);
		}
	}
	free(in);
	free(out);
}

/* 12 MiB, so that threads are used. */
#define MANY ((size_t)3 << 20)

/* Values of all sizes, some beyond what F16 holds. */
static void
fill_wildly(uint8_t *in)
{
	uint32_t x = 1;

	for (size_t i = 0; i < MANY; i++) {
		x = x * 1664525U + 1013904223U;
		tp_put_le32(in + 4 * i, (x & 0x9fffffffU) + 0x28000000U);
	}
}

static void
assert_same_stats(const struct tp_cast_stats *a, const struct tp_cast_stats *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->n_overflow, b->n_overflow);
	assert_int_equal(a->first_overflow, b->first_overflow);
	assert_true(a->first_overflow_value == b->first_overflow_value);
	assert_int_equal(a->n_to_zero, b->n_to_zero);
	assert_int_equal(a->n_to_subnormal, b->n_to_subnormal);
	assert_int_equal(a->n_inexact, b->n_inexact);
	assert_true(a->max_rel_error == b->max_rel_error);
	assert_int_equal(a->max_rel_index, b->max_rel_index);
}

static void
threads_do_not_change_the_answer(void **state)
{
	uint8_t *in = malloc(4 * MANY), *first = malloc(2 * MANY),
		*out = malloc(2 * MANY);
	struct tp_cast_stats one = {0};

	(void)state;
	fill_wildly(in);
	for (size_t c = 0; c < N_COUNTS; c++) {
		struct tp_cast_stats stats = {0};
		struct tp_stream *s = open_cast(NULL, in, 4 * MANY,
		    &(struct tpi_cast){.from = TP_DTYPE_F32,
			.to = TP_DTYPE_F16,
			.n_elems = MANY,
			.overflow = TP_OVERFLOW_SATURATE,
			.n_threads = thread_counts[c],
			.what = TP_STR("w")},
		    &stats);

		assert_int_equal(drain(s, c ? out : first, NULL), TP_OK);
		tp_stream_close(s);
		if (c == 0) {
			one = stats;
			assert_int_equal(one.n, MANY);
			assert_true(one.n_overflow > 0);
			assert_true(one.n_to_zero > 0);
			continue;
		}
		assert_memory_equal(out, first, 2 * MANY);
		assert_same_stats(&stats, &one);
	}
	free(in);
	free(first);
	free(out);
}

static void
the_first_overflow_is_told(void **state)
{
	uint8_t *in = calloc(MANY, 4), *out = malloc(2 * MANY);

	(void)state;
	put_f32(in, MANY - 3, 1e9F);
	put_f32(in, 2000003, -70000.0F);
	for (size_t c = 0; c < N_COUNTS; c++) {
		struct tp_err err = TP_ERR_INIT;
		struct tp_stream *s = open_cast(NULL, in, 4 * MANY,
		    &(struct tpi_cast){.from = TP_DTYPE_F32,
			.to = TP_DTYPE_F16,
			.n_elems = MANY,
			.n_threads = thread_counts[c],
			.what = TP_STR("layer.w")},
		    NULL);

		assert_int_equal(drain(s, out, &err), TP_ERANGE);
		tp_stream_close(s);
		assert_non_null(strstr(err.msg, "'layer.w'"));
		assert_non_null(strstr(err.msg, "2000003"));
		assert_non_null(strstr(err.msg, "-70000"));
	}
	free(in);
	free(out);
}

/* A stream whose bytes end in a failure. */
struct failing {
	struct tp_stream s;
	uint64_t good;
	bool closed;
};

static enum tp_status
failing_read(struct tp_stream *s, void *buf, size_t n, struct tp_err *err)
{
	struct failing *f = (struct failing *)s;

	if (s->pos + n > f->good)
		return tp_fail(err, TP_EIO, 4711, "the disk is on fire");
	memset(buf, 0, n);
	return TP_OK;
}

static void
failing_close(struct tp_stream *s)
{
	((struct failing *)s)->closed = true;
}

static void
a_read_error_comes_through(void **state)
{
	uint8_t *out = malloc(2 * MANY);

	(void)state;
	for (size_t c = 0; c < N_COUNTS; c++) {
		struct failing f = {
		    .s = {.nbytes = 4 * MANY,
			.read = failing_read,
			.close = failing_close},
		    .good = 3 * MANY,
		};
		struct tp_err err = TP_ERR_INIT;
		struct tp_stream *s = NULL;

		assert_int_equal(tpi_stream_cast(NULL, &f.s,
				     &(struct tpi_cast){.from = TP_DTYPE_F32,
					 .to = TP_DTYPE_BF16,
					 .n_elems = MANY,
					 .n_threads = thread_counts[c],
					 .what = TP_STR("w")},
				     NULL, &s, &err),
		    TP_OK);
		assert_int_equal(drain(s, out, &err), TP_EIO);
		assert_int_equal(err.offset, 4711);
		assert_true(tp_stream_nbytes(s) - tp_stream_left(s) > 0);
		tp_stream_close(s);
		assert_true(f.closed);
	}
	free(out);
}

static void
closing_early_and_short_inputs(void **state)
{
	uint8_t *in = calloc(MANY, 4), out[100];
	struct tp_err err = TP_ERR_INIT;
	struct tp_stream *inner = NULL, *s;
	struct tpi_cast cast = {.from = TP_DTYPE_F32,
	    .to = TP_DTYPE_F64,
	    .n_elems = MANY,
	    .n_threads = 3,
	    .what = TP_STR("w")};

	(void)state;
	s = open_cast(NULL, in, 4 * MANY, &cast, NULL);
	assert_int_equal(tp_stream_read(s, out, 100, &err), TP_OK);
	tp_stream_close(s);

	/* Not even read from. */
	tp_stream_close(open_cast(NULL, in, 4 * MANY, &cast, NULL));

	assert_int_equal(
	    tp_stream_memory(NULL, in, 4 * MANY - 1, &inner, &err), TP_OK);
	assert_int_equal(
	    tpi_stream_cast(NULL, inner, &cast, NULL, &s, &err), TP_EARG);
	assert_null(s);

	cast.n_elems = 0;
	s = open_cast(NULL, in, 0, &cast, NULL);
	assert_int_equal(tp_stream_left(s), 0);
	tp_stream_close(s);
	free(in);
}

/* The same bytes and statistics whether they are copied or lent. */
static void
bytes_can_be_borrowed(void **state)
{
	uint8_t *in = malloc(4 * MANY), *first = malloc(2 * MANY);

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		put_f32(in, i, (float)i / 3.0F);
	for (size_t c = 0; c < N_COUNTS; c++) {
		struct tp_cast_stats stats = {0};
		struct tp_stream *s = open_cast(NULL, in, 4 * MANY,
		    &(struct tpi_cast){.from = TP_DTYPE_F32,
			.to = TP_DTYPE_BF16,
			.n_elems = MANY,
			.n_threads = thread_counts[c],
			.what = TP_STR("w")},
		    &stats);
		size_t at = 0, n;
		const void *p;

		if (c == 0) {
			assert_int_equal(drain(s, first, NULL), TP_OK);
			tp_stream_close(s);
			continue;
		}
		/*
		 * A part by copy, so that the first loan begins inside a chunk.
		 */
		for (at = 0; at < 1000; at += 500) {
			uint8_t part[500];

			assert_int_equal(
			    tp_stream_read(s, part, 500, NULL), TP_OK);
			assert_memory_equal(part, first + at, 500);
		}
		for (; tp_stream_left(s); at += n) {
			assert_int_equal(
			    tpi_stream_next(s, NULL, 0, &p, &n, NULL), TP_OK);
			assert_memory_equal(p, first + at, n);
		}
		assert_int_equal(at, 2 * MANY);
		assert_int_equal(stats.n, MANY);
		tp_stream_close(s);
	}
	free(in);
	free(first);
}

/*
 * What a stream that is poured tells of its progress: all of it, to one thread.
 */
struct progress {
	pthread_t caller;
	uint64_t n, enough; /* bytes; from `enough` on the work is stopped */
};

static bool
follow(void *ctx, uint64_t n)
{
	struct progress *p = ctx;

	assert_true(pthread_equal(p->caller, pthread_self()));
	p->n += n;
	return p->n < p->enough;
}

/* Open, pour to fd from byte 1000 on, close. */
static enum tp_status
pour(struct tp_stream *inner, const struct tpi_cast *cast, int fd,
    struct progress *progress, struct tp_cast_stats *stats, struct tp_err *err)
{
	struct tp_stream *s = NULL;
	enum tp_status rc;

	*progress = (struct progress){
	    .caller = pthread_self(),
	    .enough = progress->enough,
	};
	assert_int_equal(
	    tpi_stream_cast(NULL, inner, cast, stats, &s, err), TP_OK);
	s->tick = follow;
	s->tick_ctx = progress;
	rc = s->pour(s, fd, 1000, err);
	if (!rc)
		assert_int_equal(tp_stream_left(s), 0);
	tp_stream_close(s);
	return rc;
}

static void
poured_bytes_are_those_that_are_read(void **state)
{
	uint8_t *in = malloc(4 * MANY), *first = malloc(2 * MANY),
		*out = malloc(2 * MANY);
	struct tpi_cast cast = {.from = TP_DTYPE_F32,
	    .to = TP_DTYPE_F16,
	    .overflow = TP_OVERFLOW_SATURATE,
	    .n_threads = 1,
	    .what = TP_STR("w")};
	struct tp_err err = TP_ERR_INIT;
	/* Chunks of 65536 elements: many and one, whole and not. */
	const uint64_t counts[] = {MANY, MANY - 12345, 65536, 65535, 1, 0};

	(void)state;
	fill_wildly(in);
	for (size_t i = 0; i < COUNT_OF(counts) * N_COUNTS; i++) {
		struct progress progress = {.enough = UINT64_MAX};
		struct tp_cast_stats want = {0}, stats = {0};
		struct tp_stream *s = NULL;
		FILE *f = tmpfile();
		size_t nbytes;

		cast.n_elems = counts[i / N_COUNTS];
		nbytes = 2 * (size_t)cast.n_elems;
		cast.n_threads = 1;
		s = open_cast(NULL, in, 4 * MANY, &cast, &want);
		assert_int_equal(drain(s, first, &err), TP_OK);
		tp_stream_close(s);

		cast.n_threads = thread_counts[i % N_COUNTS];
		assert_int_equal(
		    tp_stream_memory(NULL, in, 4 * MANY, &s, &err), TP_OK);
		assert_int_equal(
		    pour(s, &cast, fileno(f), &progress, &stats, &err), TP_OK);
		assert_int_equal(progress.n, nbytes);
		assert_int_equal(pread(fileno(f), out, 2 * MANY, 1000), nbytes);
		assert_memory_equal(out, first, nbytes);
		assert_same_stats(&stats, &want);
		fclose(f);
	}
	free(in);
	free(first);
	free(out);
}

/*
 * The failure that comes out is that of the earliest chunk: of two values that
 * do not fit, of one before the input ends early, of the write.
 */
static void
pouring_tells_the_first_failure(void **state)
{
	uint8_t *in = calloc(MANY, 4);
	struct tpi_cast cast = {.from = TP_DTYPE_F32,
	    .to = TP_DTYPE_F16,
	    .n_elems = MANY,
	    .what = TP_STR("layer.w")};
	int read_only = open("/dev/null", O_RDONLY);
	FILE *f = tmpfile();

	(void)state;
	put_f32(in, 2000003, -70000.0F);
	put_f32(in, 2000003 + 65536, 1e9F);
	for (size_t c = 0; c < N_COUNTS; c++) {
		struct progress progress = {.enough = UINT64_MAX};
		struct failing failing = {
		    .s = {.nbytes = 4 * MANY,
			.read = failing_read,
			.close = failing_close},
		    .good = 3 * MANY,
		};
		struct tp_stream *s = NULL;
		struct tp_err err = TP_ERR_INIT;

		cast.n_threads = thread_counts[c];
		assert_int_equal(
		    tp_stream_memory(NULL, in, 4 * MANY, &s, &err), TP_OK);
		assert_int_equal(
		    pour(s, &cast, fileno(f), &progress, NULL, &err),
		    TP_ERANGE);
		assert_non_null(strstr(err.msg, "'layer.w'"));
		assert_non_null(strstr(err.msg, "2000003"));
		assert_non_null(strstr(err.msg, "-70000"));

		assert_int_equal(
		    pour(&failing.s, &cast, fileno(f), &progress, NULL, &err),
		    TP_EIO);
		assert_int_equal(err.offset, 4711);
		assert_true(failing.closed);

		assert_int_equal(
		    tp_stream_memory(NULL, in, 4 * MANY, &s, &err), TP_OK);
		assert_int_equal(
		    pour(s, &cast, read_only, &progress, NULL, &err),
		    TP_EOUTPUT);
		assert_non_null(strstr(err.msg, "at 1000"));
	}
	close(read_only);
	fclose(f);
	free(in);
}

static void
pouring_can_be_stopped(void **state)
{
	uint8_t *in = calloc(MANY, 4);
	FILE *f = tmpfile();

	(void)state;
	for (size_t c = 0; c < N_COUNTS; c++) {
		struct progress progress = {.enough = MANY / 2};
		struct tp_stream *s = NULL;
		struct tp_err err = TP_ERR_INIT;

		assert_int_equal(
		    tp_stream_memory(NULL, in, 4 * MANY, &s, &err), TP_OK);
		assert_int_equal(pour(s,
				     &(struct tpi_cast){.from = TP_DTYPE_F32,
					 .to = TP_DTYPE_F16,
					 .n_elems = MANY,
					 .n_threads = thread_counts[c],
					 .what = TP_STR("w")},
				     fileno(f), &progress, NULL, &err),
		    TP_EOUTPUT);
		assert_string_equal(err.msg, "interrupted");
		assert_in_range(progress.n, progress.enough, 2 * MANY);
	}
	fclose(f);
	free(in);
}

static void
memory_runs_out_cleanly(void **state)
{
	static uint8_t in[400];
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;

	(void)state;
	while (fail_alloc_next(&a, rc)) {
		struct tp_stream *inner = NULL, *s = NULL;
		struct tp_err err = TP_ERR_INIT;

		rc = tp_stream_memory(&a.alloc, in, sizeof(in), &inner, &err);
		if (!rc)
			rc = tpi_stream_cast(&a.alloc, inner,
			    &(struct tpi_cast){.from = TP_DTYPE_F32,
				.to = TP_DTYPE_F16,
				.n_elems = 100,
				.what = TP_STR("w")},
			    NULL, &s, &err);
		if (rc)
			assert_null(s);
		tp_stream_close(s);
	}
	assert_in_range(a.n_rounds, 4, 99);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(small_integers_become_halves),
	    cmocka_unit_test(packed_elements_widen),
	    cmocka_unit_test(threads_do_not_change_the_answer),
	    cmocka_unit_test(the_first_overflow_is_told),
	    cmocka_unit_test(a_read_error_comes_through),
	    cmocka_unit_test(closing_early_and_short_inputs),
	    cmocka_unit_test(bytes_can_be_borrowed),
	    cmocka_unit_test(poured_bytes_are_those_that_are_read),
	    cmocka_unit_test(pouring_tells_the_first_failure),
	    cmocka_unit_test(pouring_can_be_stopped),
	    cmocka_unit_test(memory_runs_out_cleanly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
