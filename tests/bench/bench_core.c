/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_core.c - how fast libtensor is, beside what it is measured against
 *
 *	bench_core [WORD]	only lines that contain WORD
 *
 * Prints a line each: what, against what, how many times as fast, and what is
 * wanted. The exit status is 1 when a figure is below that.
 */
#include "bench.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"
#include "tp/iter.h"
#include "tp/op.h"
#include "tp/profile.h"
#include "tp/view.h"

/* Memory that is really there: each page written. */
static void *
pages(size_t nbytes)
{
	char *p = aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);

	if (!p)
		abort();
	memset(p, 1, nbytes);
	return p;
}

struct copy {
	void *to;
	const void *from;
	size_t nbytes;
};

static void
run_memcpy(void *ctx)
{
	struct copy *c = ctx;

	memcpy(c->to, c->from, c->nbytes);
}

struct gather {
	struct tp_strided from;
	size_t n;
	void *to;
};

static void
run_gather(void *ctx)
{
	struct gather *g = ctx;

	tp_gather(&g->from, 0, g->n, g->to);
}

static _Bool
bench_transpose(void)
{
	static const int64_t sizes[] = {4096, 4096}, strides[] = {1, 4096};
	size_t n = (size_t)4096 * 4096;
	void *from = pages(n * 4), *to = pages(n * 4);
	struct gather g = {{TP_DTYPE_F32, 2, sizes, strides, 0, from}, n, to};
	struct copy c = {to, from, n * 4};
	struct bench b = {"transposed 4096 x 4096 f32", "memcpy", run_gather,
	    run_memcpy, &g, &c, 1, 0.35};
	_Bool good = bench_run(&b);

	free(from);
	free(to);
	return good;
}

struct cast {
	enum tp_dtype to_dtype, from_dtype;
	void *to;
	const void *from;
	size_t n;
};

static void
run_cast(void *ctx)
{
	struct cast *c = ctx;

	if (tp_convert(c->to_dtype, c->to, c->from_dtype, c->from, c->n,
		TP_OVERFLOW_INF, 0, NULL, NULL))
		abort();
}

/* Finite values of every size, half of them negative. */
static void
fill_floats(enum tp_dtype dtype, void *to, size_t n)
{
	static float block[4096];
	size_t size = tp_dtype_bits(dtype) / 8;

	for (size_t i = 0; i < 4096; i++)
		block[i] =
		    (float)((int)(i * 2654435761u >> 8 & 0xffff) - 32768) /
		    1024;
	for (size_t at = 0; at < n; at += 4096)
		if (tp_convert(dtype, (char *)to + at * size, TP_DTYPE_F32,
			block, n - at < 4096 ? n - at : 4096, TP_OVERFLOW_INF,
			0, NULL, NULL))
			abort();
}

/* memcpy moves as many bytes, read plus written. */
static _Bool
bench_cast(enum tp_dtype to, enum tp_dtype from, size_t n, const char *how)
{
	size_t to_size = tp_dtype_bits(to) / 8;
	size_t from_size = tp_dtype_bits(from) / 8;
	size_t nbytes = n * (to_size + from_size) / 2;
	void *a = pages(n * 4), *b = pages(n * 4);
	struct cast cast = {to, from, b, a, n};
	struct copy copy = {b, a, nbytes};
	char what[64];
	struct bench bench = {
	    what, "memcpy", run_cast, run_memcpy, &cast, &copy, 1, 0.6};
	_Bool good;

	fill_floats(from, a, n);
	snprintf(what, sizeof(what), "%s to %s, %s", tp_dtype_name(from),
	    tp_dtype_name(to), how);
	good = bench_run(&bench);
	free(a);
	free(b);
	return good;
}

static _Bool
bench_casts(void)
{
	static const enum tp_dtype pairs[][2] = {
	    {TP_DTYPE_F16, TP_DTYPE_F32},
	    {TP_DTYPE_BF16, TP_DTYPE_F32},
	    {TP_DTYPE_F32, TP_DTYPE_F16},
	};
	_Bool good = 1;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		good &= bench_cast(
		    pairs[i][0], pairs[i][1], (size_t)16 << 20, "64 MiB");
	return good;
}

/* out[i][j] = a[i] + b[j] */
#define ADD_ROWS 2048
#define ADD_COLS 2048

struct add {
	struct tp_tensor *out, *a, *b;
};

static void
add_row(float *restrict y, float a, const float *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = a + b[i];
}

/* All rows in one call: y and b are arrays, a is one number a row. */
static void
add_rows(void *ctx, char *const *data, const int64_t *steps, size_t n,
    const int64_t *row_steps, size_t n_rows)
{
	char *y = data[0];
	const char *a = data[1], *b = data[2];

	(void)ctx;
	if (steps[0] != 4 || steps[1] != 0 || steps[2] != 4)
		abort();
	for (size_t i = 0; i < n_rows; i++) {
		add_row((float *)(void *)y, *(const float *)(const void *)a,
		    (const float *)(const void *)b, n);
		y += row_steps[0];
		a += row_steps[1];
		b += row_steps[2];
	}
}

static void
run_iter(void *ctx)
{
	struct add *s = ctx;
	const struct tp_tensor *terms[2] = {s->a, s->b};
	struct tp_iter it;

	if (tp_iter_init(&it, &s->out, 1, terms, 2, 0, NULL))
		abort();
	tp_iter_run2(&it, add_rows, NULL);
}

static void
run_op(void *ctx)
{
	static const struct tp_str onnx = {"", 0}, name = {"Add", 3};
	struct add *s = ctx;
	const struct tp_value terms[] = {tp_value_of(s->a), tp_value_of(s->b)};
	const struct tp_op_opts opts = {.n_threads = 1, .into = s->out};
	const struct tp_op *op = NULL;
	struct tp_value sum;

	if (tp_op_find(onnx, name, TP_OP_NEWEST, &op, NULL) ||
	    tp_op_run(op, NULL, 0, terms, 2, &sum, 1, &opts, NULL))
		abort();
	tp_value_release(&sum);
}

static void
run_loop(void *ctx)
{
	struct add *s = ctx;
	float *restrict out = tp_tensor_data_mut(s->out);
	const float *a = tp_tensor_data(s->a), *b = tp_tensor_data(s->b);

	for (size_t i = 0; i < ADD_ROWS; i++)
		for (size_t j = 0; j < ADD_COLS; j++)
			out[i * ADD_COLS + j] = a[i] + b[j];
}

static struct tp_tensor *
new_tensor(int64_t rows, int64_t cols)
{
	const int64_t sizes[] = {rows, cols};
	struct tp_tensor *t = NULL;

	if (tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, 2, &t, NULL))
		abort();
	fill_floats(TP_DTYPE_F32, tp_tensor_data_mut(t), (size_t)(rows * cols));
	return t;
}

static _Bool
bench_add(void)
{
	struct add add = {new_tensor(ADD_ROWS, ADD_COLS),
	    new_tensor(ADD_ROWS, 1), new_tensor(1, ADD_COLS)};
	struct bench b = {"add, broadcast, tp_iter", "loop by hand", run_iter,
	    run_loop, &add, &add, 1, 1 / 1.1};
	_Bool good = bench_run(&b);

	b.what = "add, broadcast, operator";
	b.ours = run_op;
	good &= bench_run(&b);
	tp_tensor_free(add.out);
	tp_tensor_free(add.a);
	tp_tensor_free(add.b);
	return good;
}

/* Pieces of work of about a microsecond, with and without a scope around. */
#define SCOPE_PIECES 4000

struct piece {
	float from[1024];
	uint16_t to[1024];
};

static void
run_plain(void *ctx)
{
	struct piece *p = ctx;
	struct cast c = {TP_DTYPE_F16, TP_DTYPE_F32, p->to, p->from, 1024};

	for (unsigned i = 0; i < SCOPE_PIECES; i++)
		run_cast(&c);
}

static void
run_scoped(void *ctx)
{
	struct piece *p = ctx;
	struct cast c = {TP_DTYPE_F16, TP_DTYPE_F32, p->to, p->from, 1024};

	for (unsigned i = 0; i < SCOPE_PIECES; i++) {
		struct tp_scope scope = tp_scope_begin("piece");

		run_cast(&c);
		tp_scope_end(&scope);
	}
}

static _Bool
bench_scope(void)
{
	static struct piece piece;
	struct bench b = {"scope timer, off", "without it", run_scoped,
	    run_plain, &piece, &piece, 1, 0.97};

	fill_floats(TP_DTYPE_F32, piece.from, 1024);
	return bench_run(&b);
}

int
main(int argc, char **argv)
{
	_Bool good = 1;

	bench_begin(argc > 1 ? argv[1] : "");
	good &= bench_allocators();
	good &= bench_transpose();
	good &= bench_casts();
	good &= bench_add();
	good &= bench_scope();
	return good ? 0 : 1;
}
