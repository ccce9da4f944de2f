/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_*.c: a reader over a reader, against the library's own quantizer */
#include "support/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tp/endian.h"
#include "tp/convert.h"
#include "tp/quant.h"
#include "tp/quantized.h"
#include "tp/transfer.h"

#include "formats/plugin.h"

#include "support/fail_alloc.h"
#include "support/model_io.h"
#include "support/temp_dir.h"

#define ROWS 40
#define COLUMNS 70

/* "w" [40, 70], "tied" the same bytes where the format can, "b" [5]. */
static void
write_model(const char *path, float odd)
{
	static float w[ROWS * COLUMNS + 5];
	struct tp_entry entries[3] = {{.name = TP_STR("w")},
	    {.name = TP_STR("tied")}, {.name = TP_STR("b"), .storage = 1}};
	const int64_t shape[] = {ROWS, COLUMNS}, five[] = {5};
	const uint64_t nbytes[] = {ROWS * COLUMNS * 4, 20};
	struct tp_model m = {.entries = entries,
	    .n_entries = 3,
	    .storage_nbytes = nbytes,
	    .n_storages = 2};
	struct tp_create_options o = {.format = "native", .force = true};
	struct tp_writer *writer = NULL;
	uint32_t x = 7;

	for (size_t i = 0; i < ROWS * COLUMNS + 5; i++) {
		x = x * 1664525 + 1013904223;
		w[i] = i / COLUMNS == 3 ? 0 : (float)(int32_t)x * 0x1p-31f;
	}
	if (odd != 0)
		w[COLUMNS * 2 + 1] = odd;
	/* Streams are little-endian. */
	if (!tp_host_is_little())
		tp_swap_bytes(w, sizeof(w) / sizeof(w[0]), sizeof(w[0]));
	for (size_t i = 0; i < 3; i++) {
		entries[i].dtype = TP_DTYPE_F32;
		entries[i].rank = i == 2 ? 1 : 2;
		entries[i].shape = i == 2 ? five : shape;
		entries[i].n_elems = i == 2 ? 5 : ROWS * COLUMNS;
		entries[i].nbytes = entries[i].n_elems * 4;
	}
	assert_int_equal(tp_create(path, &m, &o, &writer, NULL), TP_OK);
	for (size_t i = 0; i < 2; i++) {
		struct tp_stream *s = NULL;

		assert_int_equal(
		    tp_stream_memory(NULL, i ? w + ROWS * COLUMNS : w,
			(size_t)nbytes[i], &s, NULL),
		    TP_OK);
		assert_int_equal(tp_writer_put(writer, i, s, NULL), TP_OK);
		tp_stream_close(s);
	}
	assert_int_equal(tp_writer_commit(writer, NULL), TP_OK);
	tp_writer_free(writer);
}

static struct tp_recipe wanted;

static enum tp_status
choose(void *ctx, const struct tp_reader *r, size_t entry,
    struct tp_recipe *recipe, struct tp_err *err)
{
	(void)ctx;
	(void)err;
	if (tp_reader_entry(r, entry)->rank == 2)
		*recipe = wanted;
	else
		recipe->why = "one axis";
	return TP_OK;
}

static const char *
refuse_all(void *ctx, const struct tp_quantized_item *item)
{
	(void)ctx;
	assert_true(item->measured);
	return "no";
}

static struct tp_quantize_options
options(void)
{
	return (struct tp_quantize_options){
	    .recipe = choose, .records = true, .n_threads = 2};
}

static struct tp_reader *
open_model(const char *path)
{
	struct tp_reader *r = NULL;

	assert_int_equal(tp_open(path, NULL, &r, NULL), TP_OK);
	return r;
}

static struct tp_tensor *
tensor_of(struct tp_reader *r, const char *name)
{
	struct tp_tensor *t = NULL;
	size_t i = tp_reader_find(r, tp_str(name));

	assert_true(i != TP_NONE);
	assert_int_equal(tp_reader_tensor(r, i, &t, NULL), TP_OK);
	return t;
}

/* All that tp_compare_add_finite fills, bit by bit. */
static void
assert_same_errors(const struct tp_compare *a, const struct tp_compare *b)
{
	const double x[] = {a->max_abs, a->worst_a, a->worst_b, a->sum_abs,
	    a->sum_squares, a->sum_squares_a, a->sum_squares_b, a->dot};
	const double y[] = {b->max_abs, b->worst_a, b->worst_b, b->sum_abs,
	    b->sum_squares, b->sum_squares_a, b->sum_squares_b, b->dot};

	assert_memory_equal(x, y, sizeof(x));
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->n_finite, b->n_finite);
	assert_int_equal(a->worst, b->worst);
}

/* Dequantized as the library does it, compared with the original. */
static void
check_numbers(struct tp_reader *r, struct tp_reader *q,
    const struct tp_quantized_item *item)
{
	struct tp_tensor *t = tensor_of(q, "w"), *x = tensor_of(r, "w");
	struct tp_tensor *scale = tensor_of(q, "w_scale"), *zero = NULL;
	struct tp_tensor *y = NULL;
	const struct tp_quant_info *info =
	    tp_reader_entry(q, tp_reader_find(q, TP_STR("w")))->quant;
	struct tp_quant_params p = {
	    .scheme = TP_QUANT_ASYMMETRIC, .scale = scale};
	struct tp_compare c = {0};
	const struct tp_compare_rule rule = {0};

	assert_non_null(info);
	p.per = info->per;
	p.axis = info->axis;
	p.block = info->block;
	if (info->zero_point != TP_NONE)
		zero = tensor_of(q, "w_zero_point");
	p.zero_point = zero;
	assert_int_equal(tp_tensor_set_quantizer(t, &p, NULL), TP_OK);
	assert_int_equal(tp_dequantize(t, TP_DTYPE_F32, &y, NULL), TP_OK);
	assert_int_equal(
	    tp_compare_add(&c, &rule, TP_DTYPE_F32, tp_tensor_data(y),
		TP_DTYPE_F32, tp_tensor_data(x), ROWS * COLUMNS, NULL),
	    TP_OK);
	assert_same_errors(&c, &item->errors);
	tp_tensor_free(y);
	tp_tensor_free(x);
	tp_tensor_free(zero);
	tp_tensor_free(scale);
	tp_tensor_free(t);
}

/* As f32 again: the numbers whose errors were measured, still tied. */
static void
check_dequantized(struct tp_reader *r, struct tp_reader *q,
    const struct tp_quantized_item *item)
{
	struct tp_quantize_options o = {.n_threads = 2};
	struct tp_tensor *x = tensor_of(r, "w"), *y;
	struct tp_compare c = {0};
	const struct tp_compare_rule rule = {0};
	struct tp_reader *d = NULL;

	assert_int_equal(tp_dequantize_reader(q, &o, &d, NULL), TP_OK);
	assert_int_equal(tp_reader_n_entries(d), 3);
	assert_true(tp_quantized_item(d, 0)->widened);
	assert_int_equal(tp_quantized_item(d, 1)->nbytes_after, 0);
	y = tensor_of(d, "w");
	assert_int_equal(
	    tp_compare_add(&c, &rule, TP_DTYPE_F32, tp_tensor_data(y),
		TP_DTYPE_F32, tp_tensor_data(x), ROWS * COLUMNS, NULL),
	    TP_OK);
	assert_same_errors(&c, &item->errors);
	assert_int_equal(
	    tp_reader_entry(d, 0)->storage, tp_reader_entry(d, 1)->storage);
	tp_tensor_free(y);
	tp_tensor_free(x);
	tp_close(d);
}

static void
check_recipe(struct tp_reader *r, const char *out)
{
	struct tp_quantize_options o = options();
	struct tp_transfer_options to = {.create = {.force = true}};
	struct tp_reader *q = NULL, *one = NULL, *written;
	struct tp_transfer *t = NULL;
	const struct tp_quantized_item *item;

	assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
	item = tp_quantized_item(q, 0);
	check_numbers(r, q, item);
	assert_null(tp_quantized_item(q, 2)->recipe.scheme);
	assert_null(tp_quantized_item(q, 3));
	/* One thread finds the same. */
	o.n_threads = 1;
	assert_int_equal(tp_quantize_reader(r, &o, &one, NULL), TP_OK);
	assert_same_errors(&tp_quantized_item(one, 0)->errors, &item->errors);
	/* What is written is that, tied still. */
	assert_int_equal(tp_transfer_plan(&q, 1, out, &to, &t, NULL), TP_OK);
	assert_int_equal(tp_transfer_run(t, NULL), TP_OK);
	assert_int_equal(tp_transfer_verify(t, NULL), TP_OK);
	tp_transfer_free(t);
	written = open_model(out);
	check_numbers(r, written, item);
	check_dequantized(r, written, item);
	assert_int_equal(
	    tp_reader_entry(written, tp_reader_find(written, TP_STR("w")))
		->storage,
	    tp_reader_entry(written, tp_reader_find(written, TP_STR("tied")))
		->storage);
	tp_close(written);
	tp_close(one);
	tp_close(q);
}

static void
every_scheme(void **state)
{
	const char *path = temp_path(&test_dir, "in.tpt");
	const char *out = temp_path(&test_dir, "out.tpt");
	const struct tp_scheme *s;
	struct tp_reader *r;

	(void)state;
	write_model(path, 0);
	r = open_model(path);
	for (size_t i = 0; (s = tp_scheme_at(i)); i++)
		for (unsigned how = 0; how < 24; how++) {
			if (s->scale == TP_DTYPE_NONE || (s->block && how > 1))
				continue;
			wanted = (struct tp_recipe){.scheme = s,
			    .symmetric = s->block || how / 2 % 2,
			    .calibrate = how % 2 ? TP_CALIBRATE_MSE
						 : TP_CALIBRATE_MINMAX,
			    .per = s->block ? TP_PER_BLOCK : how / 4 % 3,
			    .axis = s->block ? 1 : how / 12,
			    .block = s->block  ? s->block
				     : how % 2 ? 7
					       : 32};
			check_recipe(r, out);
		}
	tp_close(r);
}

static int
by_value(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The scale is that of the value at the nearest rank of a sorted row. */
static void
percentiles(void **state)
{
	const char *path = temp_path(&test_dir, "in.tpt");
	/* 7 / 100 * 2800 is more than 196 in doubles; 55 likewise. */
	static const struct {
		double share;
		size_t row, whole; /* ranks of 70 and 2800 values */
	} rows[] = {{100, 70, 2800}, {99, 70, 2772}, {50.5, 36, 1414},
	    {1, 1, 28}, {1e-9, 1, 1}, {7, 5, 196}, {55, 39, 1540},
	    {99.9, 70, 2798}};
	struct tp_quantize_options o = options();
	struct tp_reader *r;
	struct tp_tensor *x;

	(void)state;
	write_model(path, 0);
	r = open_model(path);
	x = tensor_of(r, "w");
	for (size_t i = 0; i < 4 * COUNT_OF(rows); i++) {
		bool whole = i % 2, symmetric = i / 2 % 2;
		size_t n = whole ? ROWS * COLUMNS : COLUMNS;
		size_t rank = whole ? rows[i / 4].whole : rows[i / 4].row;
		static float v[ROWS * COLUMNS], minus[ROWS * COLUMNS];
		struct tp_quant_grid grid =
		    tp_quant_grid_of(tp_scheme_find("int8"), symmetric);
		struct tp_reader *q = NULL;
		struct tp_tensor *s;
		float high, low, want;
		int16_t zero;

		wanted = (struct tp_recipe){.scheme = tp_scheme_find("int8"),
		    .symmetric = symmetric,
		    .per = whole ? TP_PER_TENSOR : TP_PER_CHANNEL,
		    .calibrate = TP_CALIBRATE_PERCENTILE,
		    .percentile = rows[i / 4].share};
		/* Room to rank a few rows at a time. */
		o.max_memory = i % 3 ? 4 * 7 * 16384 : 0;
		assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
		memcpy(v, tp_tensor_data(x), sizeof(v));
		for (size_t k = 0; k < n; k++) {
			v[k] = symmetric ? fabsf(v[k]) : v[k];
			minus[k] = -v[k];
		}
		qsort(v, n, sizeof(*v), by_value);
		qsort(minus, n, sizeof(*minus), by_value);
		high = v[rank - 1] > 0 ? v[rank - 1] : 0;
		low = minus[rank - 1] > 0 ? -minus[rank - 1] : 0;
		tp_quant_fit(&grid, symmetric ? 0 : low, high, &want, &zero);
		s = tensor_of(q, "w_scale");
		assert_true(*(const float *)tp_tensor_data(s) == want);
		tp_tensor_free(s);
		tp_close(q);
	}
	tp_tensor_free(x);
	tp_close(r);
}

static void
casts(void **state)
{
	struct tp_quantize_options o = options();
	struct tp_reader *r, *q = NULL;
	struct tp_tensor *x, *y;
	uint16_t want[ROWS * COLUMNS];
	const char *path = temp_path(&test_dir, "in.tpt");

	(void)state;
	write_model(path, 1e6f);
	r = open_model(path);
	wanted = (struct tp_recipe){.scheme = tp_scheme_find("f16")};
	assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
	x = tensor_of(r, "w");
	y = tensor_of(q, "w");
	assert_int_equal(
	    tp_convert(TP_DTYPE_F16, want, TP_DTYPE_F32, tp_tensor_data(x),
		ROWS * COLUMNS, TP_OVERFLOW_SATURATE, 0, NULL, NULL),
	    TP_OK);
	assert_memory_equal(tp_tensor_data(y), want, sizeof(want));
	/* 1e6 is beyond 65504. */
	assert_int_equal(tp_quantized_item(q, 0)->n_saturated, 1);
	assert_true(tp_quantized_item(q, 0)->errors.max_abs == 1e6 - 65504);
	assert_int_equal(tp_quantized_item(q, 0)->n_groups, 0);
	tp_tensor_free(y);
	tp_tensor_free(x);
	tp_close(q);
	tp_close(r);
}

static void
what_is_not_finite(void **state)
{
	static const float odd[] = {NAN, INFINITY, -INFINITY};
	static const char *const schemes[] = {"int8", "f16", "q8_0"};
	struct tp_quantize_options o = options();
	struct tp_err err = TP_ERR_INIT;
	const char *path = temp_path(&test_dir, "in.tpt");

	(void)state;
	for (size_t i = 0; i < 9; i++) {
		const struct tp_scheme *s = tp_scheme_find(schemes[i / 3]);
		struct tp_reader *r, *q = NULL;

		write_model(path, odd[i % 3]);
		r = open_model(path);
		wanted = (struct tp_recipe){.scheme = s,
		    .symmetric = true,
		    .per = s->per,
		    .axis = s->block ? 1 : 0,
		    .block = s->block};
		assert_int_equal(
		    tp_quantize_reader(r, &o, &q, &err), TP_ERANGE);
		assert_null(q);
		assert_non_null(strstr(err.msg, "'w'"));
		assert_non_null(strstr(err.msg, "141"));
		wanted.keep_nonfinite = true;
		assert_int_equal(tp_quantize_reader(r, &o, &q, &err), TP_OK);
		assert_null(tp_quantized_item(q, 0)->recipe.scheme);
		assert_non_null(tp_quantized_item(q, 0)->recipe.why);
		assert_int_equal(tp_reader_n_entries(q), 3);
		tp_close(q);
		tp_close(r);
	}
}

static void
zero_rows_and_refusals(void **state)
{
	struct tp_quantize_options o = options();
	struct tp_reader *r, *q = NULL, *again = NULL;
	struct tp_err err = TP_ERR_INIT;
	const char *path = temp_path(&test_dir, "in.tpt");

	(void)state;
	write_model(path, 0);
	r = open_model(path);
	wanted = (struct tp_recipe){.scheme = tp_scheme_find("int8"),
	    .symmetric = true,
	    .per = TP_PER_CHANNEL};
	assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
	assert_int_equal(tp_quantized_item(q, 0)->n_groups, ROWS);
	assert_int_equal(tp_quantized_item(q, 0)->n_zero_groups, 1);
	assert_true(tp_quantized_item(q, 0)->most_scale == 1);
	assert_int_equal(
	    tp_quantized_item(q, 0)->nbytes_after, ROWS * (COLUMNS + 4));
	/* Twice is once too often. */
	assert_int_equal(
	    tp_quantize_reader(q, &o, &again, &err), TP_EUNSUPPORTED);
	tp_close(q);
	/* Nothing narrowed: the same model. */
	o.accept = refuse_all;
	assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
	assert_int_equal(tp_reader_n_entries(q), 3);
	assert_int_equal(tp_reader_n_meta(q), 0);
	tp_close(q);
	/* No such axis; no floats. */
	o.accept = NULL;
	wanted.axis = 2;
	assert_int_equal(tp_quantize_reader(r, &o, &q, &err), TP_EARG);
	tp_close(r);
}

static void
memory_fails_anywhere(void **state)
{
	const char *path = temp_path(&test_dir, "in.tpt");

	(void)state;
	write_model(path, 0);
	for (int calibrate = 0; calibrate < 3; calibrate++) {
		struct fail_alloc a = {0};
		enum tp_status rc = TP_OK;

		wanted = (struct tp_recipe){.scheme = tp_scheme_find("uint4"),
		    .per = calibrate == TP_CALIBRATE_MSE ? TP_PER_BLOCK
							 : TP_PER_CHANNEL,
		    .percentile = 99,
		    .calibrate = (enum tp_calibrate)calibrate,
		    .block = 16};
		while (fail_alloc_next(&a, rc)) {
			struct tp_quantize_options o = options();
			struct tp_reader *r = open_model(path), *q = NULL;

			o.alloc = &a.alloc;
			o.n_threads = 1;
			rc = tp_quantize_reader(r, &o, &q, NULL);
			tp_close(q);
			tp_close(r);
		}
	}
}

static void
memory_fails_while_dequantizing(void **state)
{
	const char *path = temp_path(&test_dir, "in.tpt");
	struct tp_quantize_options o = options();
	struct tp_reader *r, *q = NULL;
	struct fail_alloc a = {0};
	enum tp_status rc = TP_OK;
	char buf[COLUMNS];

	(void)state;
	write_model(path, 0);
	r = open_model(path);
	wanted = (struct tp_recipe){.scheme = tp_scheme_find("uint4"),
	    .per = TP_PER_BLOCK,
	    .axis = 1,
	    .block = 9};
	assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
	while (fail_alloc_next(&a, rc)) {
		struct tp_quantize_options back = {.alloc = &a.alloc};
		struct tp_reader *d = NULL;
		struct tp_stream *s = NULL;

		rc = tp_dequantize_reader(q, &back, &d, NULL);
		if (!rc)
			rc = tp_stream_entry(d, 0, &s, NULL);
		if (!rc)
			rc = tp_stream_read(s, buf, sizeof(buf), NULL);
		tp_stream_close(s);
		tp_close(d);
	}
	tp_close(q);
	tp_close(r);
}

#define WIDE_ROWS 70
#define WIDE 70001

/* One matrix whose rows are longer than a chunk, and not a number of them. */
static struct tp_reader *
open_wide(const char *path)
{
	const int64_t shape[] = {WIDE_ROWS, WIDE};
	size_t n = (size_t)WIDE_ROWS * WIDE;
	uint64_t nbytes = n * sizeof(float);
	float *x = malloc((size_t)nbytes);
	struct tp_entry e = {.name = TP_STR("w"),
	    .dtype = TP_DTYPE_F32,
	    .rank = 2,
	    .shape = shape,
	    .n_elems = n,
	    .nbytes = nbytes};
	struct tp_model m = {.entries = &e,
	    .n_entries = 1,
	    .storage_nbytes = &nbytes,
	    .n_storages = 1};
	struct tp_create_options o = {.format = "native", .force = true};
	struct tp_writer *writer = NULL;
	struct tp_stream *s = NULL;
	uint32_t seed = 3;

	assert_non_null(x);
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		x[i] = (float)(int32_t)seed * 0x1p-31f * (float)(i / WIDE + 1);
	}
	if (!tp_host_is_little())
		tp_swap_bytes(x, n, sizeof(*x));
	assert_int_equal(tp_create(path, &m, &o, &writer, NULL), TP_OK);
	assert_int_equal(
	    tp_stream_memory(NULL, x, (size_t)nbytes, &s, NULL), TP_OK);
	assert_int_equal(tp_writer_put(writer, 0, s, NULL), TP_OK);
	tp_stream_close(s);
	assert_int_equal(tp_writer_commit(writer, NULL), TP_OK);
	tp_writer_free(writer);
	free(x);
	return open_model(path);
}

/* The codes of "w", told in order and written to a file: the same. */
static uint8_t *
codes_of(struct tp_reader *q, unsigned n_threads, size_t *n)
{
	const char *out = temp_path(&test_dir, "wide-out.tpt");
	struct tp_transfer_options to = {
	    .create = {.force = true}, .n_threads = n_threads};
	uint8_t *told = storage_bytes(q, tp_reader_entry(q, 0)->storage, n),
		*file;
	struct tp_transfer *t = NULL;
	struct tp_reader *written;
	size_t file_n;

	assert_int_equal(tp_transfer_plan(&q, 1, out, &to, &t, NULL), TP_OK);
	assert_int_equal(tp_transfer_run(t, NULL), TP_OK);
	tp_transfer_free(t);
	written = open_model(out);
	file = storage_bytes(
	    written, tp_reader_entry(written, 0)->storage, &file_n);
	assert_int_equal(*n, file_n);
	assert_memory_equal(told, file, file_n);
	free(file);
	tp_close(written);
	return told;
}

/*
 * Rows that fit into memory are measured in one pass, others in two; codes are
 * handed out in order or written by several threads. It is all the same.
 */
static void
check_ways(struct tp_reader *r)
{
	static const struct {
		uint64_t max_memory;
		unsigned n_threads;
	} ways[] = {{0, 1}, {0, 2}, {1 << 20, 1}, {1 << 20, 3}};
	struct tp_compare errors = {0};
	uint8_t *first = NULL;
	size_t first_n = 0, n;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct tp_quantize_options o = options();
		struct tp_reader *q = NULL;
		uint8_t *codes;

		o.max_memory = ways[i].max_memory;
		o.n_threads = ways[i].n_threads;
		assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
		codes = codes_of(q, ways[i].n_threads, &n);
		if (!first) {
			first = codes;
			first_n = n;
			errors = tp_quantized_item(q, 0)->errors;
		} else {
			assert_int_equal(n, first_n);
			assert_memory_equal(codes, first, n);
			assert_same_errors(
			    &tp_quantized_item(q, 0)->errors, &errors);
			free(codes);
		}
		tp_close(q);
	}
	free(first);
}

static void
ways_to_the_same_codes(void **state)
{
	struct tp_reader *r = open_wide(temp_path(&test_dir, "wide.tpt"));

	(void)state;
	wanted = (struct tp_recipe){.scheme = tp_scheme_find("int8"),
	    .symmetric = true,
	    .per = TP_PER_CHANNEL};
	check_ways(r);
	wanted.scheme = tp_scheme_find("uint4");
	wanted.symmetric = false;
	check_ways(r);
	tp_close(r);
}

/* Scales that are not as many as the record says. */
static void
scales_that_do_not_fit(void **state)
{
	const char *path = temp_path(&test_dir, "in.tpt");
	struct tp_quantize_options o = options();
	struct tp_reader *r, *q = NULL, *d = NULL;
	struct tp_quant_info lie;
	struct tp_err err = TP_ERR_INIT;

	(void)state;
	write_model(path, 0);
	r = open_model(path);
	wanted = (struct tp_recipe){.scheme = tp_scheme_find("int8"),
	    .symmetric = true,
	    .per = TP_PER_CHANNEL};
	assert_int_equal(tp_quantize_reader(r, &o, &q, NULL), TP_OK);
	lie = *tp_reader_entry(q, 0)->quant;
	lie.axis = 1;
	assert_int_equal(tpi_reader_set_quant(q, 0, &lie, NULL), TP_OK);
	o = (struct tp_quantize_options){.n_threads = 1};
	assert_int_equal(
	    tp_dequantize_reader(q, &o, &d, &err), TP_EUNSUPPORTED);
	assert_null(d);
	assert_non_null(strstr(err.msg, "too many or too few"));
	tp_close(q);
	tp_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_scheme),
	    cmocka_unit_test(percentiles),
	    cmocka_unit_test(casts),
	    cmocka_unit_test(what_is_not_finite),
	    cmocka_unit_test(zero_rows_and_refusals),
	    cmocka_unit_test(memory_fails_anywhere),
	    cmocka_unit_test(memory_fails_while_dequantizing),
	    cmocka_unit_test(scales_that_do_not_fit),
	    cmocka_unit_test(ways_to_the_same_codes),
	};

	return cmocka_run_group_tests(tests, temp_dir_setup, temp_dir_teardown);
}
