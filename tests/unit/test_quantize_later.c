/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_pass.c: measured while it is written, against measured before */
#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tp/endian.h"
#include "tp/quantized.h"
#include "tp/transfer.h"

#include "formats/stream.h"

#include "support/fail_alloc.h"
#include "support/model_io.h"
#include "support/temp_dir.h"

/* Some chunks, which begin and end with no piece, and within a byte of int4. */
#define ROWS 71
#define COLUMNS 4001
#define N ((size_t)ROWS * COLUMNS)

/* "v" and "w" [71, 4001], whose last element is odd unless 0, "tied" as "w". */
static struct tp_reader *
open_model(float odd)
{
	static float x[2][N];
	const void *const data[] = {x[0], x[1]};
	const int64_t shape[] = {ROWS, COLUMNS};
	const uint64_t nbytes[] = {sizeof(x[0]), sizeof(x[1])};
	struct tp_entry entries[3] = {{.name = TP_STR("v")},
	    {.name = TP_STR("w"), .storage = 1},
	    {.name = TP_STR("tied"), .storage = 1}};
	const struct tp_model m = {.entries = entries,
	    .n_entries = 3,
	    .storage_nbytes = nbytes,
	    .n_storages = 2};
	const struct tp_create_options o = {.format = "native", .force = true};
	const char *path = temp_path(&test_dir, "in.tpt");
	struct tp_reader *r = NULL;
	uint32_t seed = 5;

	for (size_t i = 0; i < 2 * N; i++) {
		seed = seed * 1664525 + 1013904223;
		x[i / N][i % N] = i / COLUMNS == 3
				      ? 0
				      : (float)(int32_t)seed * 0x1p-31f *
					    (float)(i / COLUMNS + 1);
	}
	if (odd != 0)
		x[1][N - 1] = odd;
	/* Files are little-endian. */
	if (!tp_host_is_little())
		tp_swap_bytes(x, 2 * N, sizeof(float));
	for (size_t i = 0; i < 3; i++) {
		entries[i].dtype = TP_DTYPE_F32;
		entries[i].rank = 2;
		entries[i].shape = shape;
		entries[i].n_elems = N;
		entries[i].nbytes = sizeof(x[0]);
	}
	assert_int_equal(create_model(path, &m, NULL, data, &o, NULL), TP_OK);
	assert_int_equal(tp_open(path, NULL, &r, NULL), TP_OK);
	return r;
}

/* Recipes that take the different ways. */
static const struct row {
	const char *scheme;
	struct tp_recipe recipe;
	bool late; /* scales come of the pass that writes the codes */
} rows[] = {
    {"int8", {.symmetric = true, .per = TP_PER_CHANNEL}, true},
    {"uint8", {.per = TP_PER_CHANNEL}, true},
    {"int8", {.symmetric = true, .per = TP_PER_CHANNEL, .axis = 1}, false},
    {"int8", {.per = TP_PER_TENSOR}, false},
    {"q8_0", {.symmetric = true, .per = TP_PER_BLOCK, .axis = 1, .block = 32},
	true},
    {"uint4", {.per = TP_PER_BLOCK, .axis = 1, .block = 7}, true},
    {"int4", {.per = TP_PER_BLOCK, .axis = 0, .block = 5}, true},
    {"int4",
	{.symmetric = true,
	    .per = TP_PER_CHANNEL,
	    .calibrate = TP_CALIBRATE_MSE},
	true},
    {"f16", {.per = TP_PER_TENSOR}, false},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static enum tp_status
choose(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_recipe *recipe, struct tp_err *err)
{
	const struct row *row = ctx;

	(void)r;
	(void)entry;
	(void)err;
	*recipe = row->recipe;
	recipe->scheme = tp_scheme_find(row->scheme);
	return TP_OK;
}

static struct tp_reader *
narrow(struct tp_reader *r, const struct row *row, bool later, unsigned threads)
{
	struct row copy = *row;
	const struct tp_quantize_options o = {.recipe = choose,
	    .ctx = &copy,
	    .measure_later = later,
	    .n_threads = threads};
	struct tp_reader *q = NULL;

	assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
	return q;
}

static enum tp_status
transfer(struct tp_reader *q, const char *path, struct tp_err *err)
{
	const struct tp_transfer_options o = {
	    .create = {.force = true}, .allow_loss = TP_LOSS_ALIAS};
	struct tp_transfer *t = NULL;
	enum tp_status rc = tp_transfer_plan(&q, 1, path, &o, &t, err);

	if (!rc)
		rc = tp_transfer_run(t, err);
	if (!rc)
		rc = tp_transfer_verify(t, err);
	tp_transfer_free(t);
	return rc;
}

static void
assert_same_item(
    const struct tp_quantized_item *a, const struct tp_quantized_item *b)
{
	const double x[] = {a->errors.max_abs, a->errors.worst_a,
	    a->errors.worst_b, a->errors.sum_abs, a->errors.sum_squares,
	    a->errors.sum_squares_a, a->errors.sum_squares_b, a->errors.dot,
	    (double)a->least_scale, (double)a->most_scale};
	const double y[] = {b->errors.max_abs, b->errors.worst_a,
	    b->errors.worst_b, b->errors.sum_abs, b->errors.sum_squares,
	    b->errors.sum_squares_a, b->errors.sum_squares_b, b->errors.dot,
	    (double)b->least_scale, (double)b->most_scale};

	assert_true(a->measured && b->measured);
	assert_true(a->errors.n_finite > 0);
	assert_memory_equal(x, y, sizeof(x));
	assert_int_equal(a->errors.worst, b->errors.worst);
	assert_int_equal(a->errors.n_finite, b->errors.n_finite);
	assert_int_equal(a->n_saturated, b->n_saturated);
	assert_int_equal(a->n_groups, b->n_groups);
	assert_int_equal(a->n_zero_groups, b->n_zero_groups);
	assert_int_equal(a->nbytes_after, b->nbytes_after);
	assert_true(!tp_str_cmp(a->name, b->name));
}

static void
assert_same_file(const char *a, const char *b)
{
	size_t n = 0, m = 0;
	char *x = read_file(a, &n), *y = read_file(b, &m);

	assert_int_equal(n, m);
	assert_memory_equal(x, y, n);
	free(x);
	free(y);
}

static bool
holds(const char *suffix, const struct row *row)
{
	return strcmp(suffix, "safetensors") || !strstr(row->scheme, "int4");
}

static void
check_files(struct tp_reader *r, const struct row *row, const char *suffix)
{
	char one[64], other[64];
	struct tp_reader *q = narrow(r, row, false, 1);

	snprintf(one, sizeof(one), "before.%s", suffix);
	snprintf(other, sizeof(other), "later.%s", suffix);
	assert_int_equal(transfer(q, temp_path(&test_dir, one), NULL), TP_OK);
	for (unsigned threads = 1; threads <= 5; threads += 2) {
		struct tp_reader *late = narrow(r, row, true, threads);

		for (size_t i = 0; i < tp_reader_n_entries(r); i++)
			assert_false(tp_quantized_item(late, i)->measured);
		assert_int_equal(
		    transfer(late, temp_path(&test_dir, other), NULL), TP_OK);
		for (size_t i = 0; i < tp_reader_n_entries(r); i++)
			assert_same_item(tp_quantized_item(late, i),
			    tp_quantized_item(q, i));
		assert_same_file(
		    temp_path(&test_dir, one), temp_path(&test_dir, other));
		tp_close(late);
	}
	tp_close(q);
}

static void
files_and_figures_are_the_same(void **state)
{
	static const char *const suffixes[] = {"tpt", "safetensors", "onnx"};
	struct tp_reader *r = open_model(0);

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++)
		for (size_t k = 0; k < 3; k++)
			if (holds(suffixes[k], &rows[i]))
				check_files(r, &rows[i], suffixes[k]);
	tp_close(r);
}

/* Whoever reads, in whatever order, gets the same; room is not left for it. */
static void
parts_can_be_read_in_any_order(void **state)
{
	struct tp_reader *r = open_model(0);

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		struct tp_reader *q = narrow(r, &rows[i], false, 1);
		struct tp_reader *late = narrow(r, &rows[i], true, 2);
		size_t n_storages = tp_reader_n_storages(q);

		/* The last first: zero points and scales before codes. */
		for (size_t k = n_storages; k-- > 2;) {
			size_t n = 0, m = 0;
			uint8_t *x, *y;

			x = storage_bytes(q, k, &n);
			y = storage_bytes(late, k, &m);
			assert_int_equal(n, m);
			assert_memory_equal(x, y, n);
			free(x);
			free(y);
		}
		tp_close(late);
		tp_close(q);
	}
	tp_close(r);
}

/* Room is left only for what comes of codes, and only if that is asked for. */
static void
what_is_late(void **state)
{
	struct tp_reader *r = open_model(0);

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++)
		for (int later = 0; later < 2; later++) {
			struct tp_reader *q = narrow(r, &rows[i], later, 1);
			struct tp_stream *codes = NULL, *scales = NULL;

			assert_int_equal(
			    tp_stream_storage(q, 2, &codes, NULL), TP_OK);
			assert_false(codes->late);
			tp_stream_close(codes);
			/* Of a cast these are the codes of "w". */
			assert_int_equal(
			    tp_stream_storage(q, 3, &scales, NULL), TP_OK);
			assert_int_equal(scales->late, later && rows[i].late);
			if (scales->late)
				assert_int_equal(scales->source, 2);
			tp_stream_close(scales);
			tp_close(q);
		}
	tp_close(r);
}

static void
what_is_not_finite_leaves_no_file(void **state)
{
	static const float odd[] = {NAN, INFINITY, -INFINITY};
	const char *out = temp_path(&test_dir, "none.tpt");

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct tp_reader *r = open_model(odd[k]);

		for (size_t i = 0; i < N_ROWS; i++) {
			struct tp_err err = TP_ERR_INIT;
			struct tp_reader *q;

			/* The others are found out at once. */
			if (!rows[i].late && rows[i].recipe.symmetric)
				continue;
			if (!strcmp(rows[i].scheme, "int8") && !rows[i].late)
				continue;
			q = narrow(r, &rows[i], true, 3);
			assert_int_equal(transfer(q, out, &err), TP_ERANGE);
			/* 71 * 4001 - 1 */
			assert_non_null(strstr(err.msg, "'w': element 284070"));
			assert_int_equal(access(out, F_OK), -1);
			assert_true(tp_quantized_item(q, 0)->measured);
			assert_false(tp_quantized_item(q, 1)->measured);
			tp_close(q);
		}
		tp_close(r);
	}
}

/* Rows of 3, 3000 and 70000: buffers of one tensor may not do for the next. */
static void
tensors_of_many_shapes(void **state)
{
	static const int64_t shapes[][2] = {
	    {3000, 100}, {100, 3000}, {5, 70000}, {100000, 3}, {100, 3000}};
	static float x[350000];
	struct tp_entry entries[5];
	uint64_t nbytes[5];
	const void *data[5];
	const struct tp_model m = {.entries = entries,
	    .n_entries = 5,
	    .storage_nbytes = nbytes,
	    .n_storages = 5};
	const struct tp_create_options o = {.format = "native", .force = true};
	const char *in = temp_path(&test_dir, "shapes.tpt");
	struct tp_reader *r = NULL;

	(void)state;
	for (size_t i = 0; i < 350000; i++)
		x[i] = (float)(i * 7919 % 10007) - 5000;
	if (!tp_host_is_little())
		tp_swap_bytes(x, 350000, sizeof(float));
	for (size_t i = 0; i < 5; i++) {
		static const char names[] = "abcde";
		uint64_t n = (uint64_t)(shapes[i][0] * shapes[i][1]);

		entries[i] = (struct tp_entry){.name = {names + i, 1},
		    .dtype = TP_DTYPE_F32,
		    .rank = 2,
		    .shape = shapes[i],
		    .n_elems = n,
		    .nbytes = n * 4,
		    .storage = i};
		nbytes[i] = n * 4;
		data[i] = x;
	}
	assert_int_equal(create_model(in, &m, NULL, data, &o, NULL), TP_OK);
	assert_int_equal(tp_open(in, NULL, &r, NULL), TP_OK);
	for (size_t i = 0; i < N_ROWS; i++)
		check_files(r, &rows[i], "tpt");
	tp_close(r);
}

/* A little above the middle between 1 and the next f16, but not as an f32. */
static void
wide_numbers_are_rounded_once(void **state)
{
	static double x[256 * 256];
	const void *const data[] = {x};
	const int64_t shape[] = {256, 256};
	const uint64_t nbytes[] = {sizeof(x)};
	const struct tp_entry e = {.name = TP_STR("w"),
	    .dtype = TP_DTYPE_F64,
	    .rank = 2,
	    .shape = shape,
	    .n_elems = 256 * 256,
	    .nbytes = sizeof(x)};
	const struct tp_model m = {.entries = &e,
	    .n_entries = 1,
	    .storage_nbytes = nbytes,
	    .n_storages = 1};
	const struct tp_create_options o = {.format = "native", .force = true};
	const char *in = temp_path(&test_dir, "wide.tpt");
	const char *out = temp_path(&test_dir, "halves.tpt");
	const struct row f16 = {"f16", {.per = TP_PER_TENSOR}, false};

	(void)state;
	for (size_t i = 0; i < 256 * 256; i++)
		x[i] = 1 + 0x1p-11 + 0x1p-40;
	if (!tp_host_is_little())
		tp_swap_bytes(x, 256 * 256, sizeof(*x));
	assert_int_equal(create_model(in, &m, NULL, data, &o, NULL), TP_OK);
	for (int later = 0; later < 2; later++) {
		struct tp_reader *r = NULL, *q, *written = NULL;
		uint8_t *codes;
		size_t n = 0;

		assert_int_equal(tp_open(in, NULL, &r, NULL), TP_OK);
		q = narrow(r, &f16, later, 2);
		assert_int_equal(transfer(q, out, NULL), TP_OK);
		assert_int_equal(tp_open(out, NULL, &written, NULL), TP_OK);
		codes = storage_bytes(written, 0, &n);
		assert_int_equal(n, 2 * 256 * 256);
		for (size_t i = 0; i < n; i += 2)
			assert_int_equal(tp_le16(codes + i), 0x3c01);
		free(codes);
		tp_close(written);
		tp_close(q);
		tp_close(r);
	}
}

static void
memory_fails_anywhere(void **state)
{
	const char *out = temp_path(&test_dir, "out.safetensors");
	struct tp_reader *r = open_model(0);

	(void)state;
	for (size_t i = 0; i < N_ROWS; i++) {
		struct fail_alloc a = {0};
		enum tp_status rc = TP_OK;

		if (!holds("safetensors", &rows[i]))
			continue;
		while (fail_alloc_next(&a, rc)) {
			struct row copy = rows[i];
			const struct tp_quantize_options o = {.recipe = choose,
			    .ctx = &copy,
			    .measure_later = true,
			    .alloc = &a.alloc,
			    .n_threads = 1};
			struct tp_reader *q = NULL;

			rc = tp_quantize_reader(r, &o, &q, NULL);
			if (!rc)
				rc = transfer(q, out, NULL);
			tp_close(q);
		}
	}
	tp_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(files_and_figures_are_the_same),
	    cmocka_unit_test(parts_can_be_read_in_any_order),
	    cmocka_unit_test(what_is_late),
	    cmocka_unit_test(what_is_not_finite_leaves_no_file),
	    cmocka_unit_test(tensors_of_many_shapes),
	    cmocka_unit_test(wide_numbers_are_rounded_once),
	    cmocka_unit_test(memory_fails_anywhere),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
