/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_ops.c - how fast the operators are, on one thread
 *
 *	bench_ops [WORD]	only lines that contain WORD
 *
 * Against OpenBLAS, where its library is installed; memcpy of as many bytes;
 * and the product of matrices, whose rate (products a second) is what
 * convolutions and nets should come near to.
 */
#include "bench_ops.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1024 /* rows of matrices */

void
bench_op(const char *name, int opset, const struct tp_attr *attrs,
    size_t n_attrs, struct tp_tensor *const *in, size_t n_in,
    struct tp_tensor *into, struct tp_tensor **out)
{
	const struct tp_op_opts opts = {.n_threads = 1, .into = into};
	struct tp_err err = TP_ERR_INIT;
	struct tp_value values[4], result;
	const struct tp_op *op = NULL;

	for (size_t k = 0; k < n_in; k++)
		values[k] = tp_value_of(in[k]);
	if (tp_op_find(TP_STR(""), tp_str(name), opset, &op, &err) ||
	    tp_op_run(
		op, attrs, n_attrs, values, n_in, &result, 1, &opts, &err)) {
		fprintf(stderr, "bench_ops: %s\n", err.msg);
		exit(2);
	}
	if (out)
		*out = result.tensor;
	else
		tp_value_release(&result);
}

/* Numbers of both signs, near to 0. */
struct tp_tensor *
bench_tensor(const int64_t *sizes, unsigned rank)
{
	struct tp_tensor *t = NULL;
	float *x;

	if (tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, rank, &t, NULL))
		abort();
	x = tp_tensor_data_mut(t);
	for (uint64_t i = 0; i < tp_tensor_numel(t); i++)
		x[i] = (float)((int64_t)(i * 2654435761u >> 8 & 0xff) - 128) /
		       1024;
	return t;
}

struct product {
	struct tp_tensor *in[2], *out;
};

static struct product
new_product(void)
{
	static const int64_t sizes[] = {N, N};
	struct product p = {{bench_tensor(sizes, 2), bench_tensor(sizes, 2)},
	    bench_tensor(sizes, 2)};

	return p;
}

static void
free_product(struct product *p)
{
	tp_tensor_free(p->in[0]);
	tp_tensor_free(p->in[1]);
	tp_tensor_free(p->out);
}

static void
run_product(void *ctx)
{
	struct product *p = ctx;

	bench_op("MatMul", 13, NULL, 0, p->in, 2, p->out, NULL);
}

typedef void sgemm_fn(int order, int a_trans, int b_trans, int m, int n, int k,
    float alpha, const float *a, int lda, const float *b, int ldb, float beta,
    float *c, int ldc);

struct blas {
	sgemm_fn *sgemm;
	struct product *p;
};

static void
run_blas(void *ctx)
{
	const struct blas *b = ctx;

	/* Row-major, nothing transposed. */
	b->sgemm(101, 111, 111, N, N, N, 1, tp_tensor_data(b->p->in[0]), N,
	    tp_tensor_data(b->p->in[1]), N, 0, tp_tensor_data_mut(b->p->out),
	    N);
}

static _Bool
bench_matmul(struct product *p)
{
	void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	void (*set_threads)(int) = NULL;
	struct blas blas = {NULL, p};
	struct bench b = {"MatMul 1024 x 1024 f32", "OpenBLAS", run_product,
	    run_blas, p, &blas, 1, 1};

	/* ISO C has no way from an object to a function; POSIX has this. */
	if (library) {
		*(void **)&blas.sgemm = dlsym(library, "cblas_sgemm");
		*(void **)&set_threads =
		    dlsym(library, "openblas_set_num_threads");
	}
	if (!blas.sgemm || !set_threads) {
		fprintf(stderr, "bench_ops: no OpenBLAS (libopenblas0): "
				"MatMul is not compared with it\n");
		return 1;
	}
	set_threads(1);
	return bench_run(&b);
}

struct conv {
	struct tp_tensor *in[3], *out;
	int64_t group, pads[4];
};

static void
run_conv(void *ctx)
{
	struct conv *v = ctx;
	const struct tp_attr attrs[] = {{.name = TP_STR("pads"),
					    .kind = TP_ATTR_INTS,
					    .ints = v->pads,
					    .n = 4},
	    {.name = TP_STR("group"), .kind = TP_ATTR_INT, .i = v->group}};

	bench_op("Conv", 11, attrs, 2, v->in, 3, v->out, NULL);
}

/* Channels to as many channels, side x side. */
static _Bool
bench_conv(struct product *p, const char *what, int64_t channels, int64_t side,
    int64_t kernel, int64_t group, double wanted)
{
	const int64_t x[] = {1, channels, side, side};
	const int64_t w[] = {channels, channels / group, kernel, kernel};
	int64_t pad = kernel / 2;
	struct conv v = {{bench_tensor(x, 4), bench_tensor(w, 4),
			     bench_tensor(&channels, 1)},
	    bench_tensor(x, 4), group, {pad, pad, pad, pad}};
	double n = (double)(channels * side * side * w[1] * kernel * kernel);
	struct bench b = {what, "rate of MatMul", run_conv, run_product, &v, p,
	    n / ((double)N * N * N), wanted};
	_Bool good = bench_run(&b);

	for (unsigned k = 0; k < 3; k++)
		tp_tensor_free(v.in[k]);
	tp_tensor_free(v.out);
	return good;
}

static _Bool
bench_nets(struct product *p)
{
	_Bool good = 1;

	for (unsigned k = 0; k < BENCH_NETS; k++) {
		struct bench_net *net = bench_net_new(k);
		struct bench b = {bench_net_name(k), "rate of MatMul",
		    bench_net_run, run_product, net, p, 1, 1};

		bench_net_run(net);
		b.scale = bench_net_products(net) / ((double)N * N * N);
		b.wanted = bench_net_wanted(k);
		good &= bench_run(&b);
		bench_net_free(net);
	}
	return good;
}

/* Operators that should be as fast as memory is. */
#define ROWS 2048
#define COLUMNS 2048

struct stream {
	const char *name;
	int opset;
	struct tp_attr attr;
	size_t n_in;
	struct tp_tensor *in[3], *out;
	size_t nbytes; /* that memcpy moves for it */
};

static void
run_stream(void *ctx)
{
	struct stream *s = ctx;

	bench_op(s->name, s->opset, &s->attr, s->attr.name.len > 0, s->in,
	    s->n_in, s->out, NULL);
}

struct copy {
	void *to;
	const void *from;
	size_t nbytes;
};

static void
run_copy(void *ctx)
{
	struct copy *c = ctx;

	memcpy(c->to, c->from, c->nbytes);
}

static _Bool
bench_streams(void)
{
	static const int64_t half[] = {ROWS / 2, COLUMNS};
	static const int64_t whole[] = {ROWS, COLUMNS},
			     twice[] = {2 * ROWS, COLUMNS};
	struct tp_tensor *a = bench_tensor(whole, 2);
	struct tp_tensor *b = bench_tensor(whole, 2);
	struct tp_tensor *out = bench_tensor(whole, 2);
	struct tp_tensor *low = bench_tensor(half, 2);
	struct tp_tensor *large = bench_tensor(twice, 2);
	size_t n = (size_t)ROWS * COLUMNS * sizeof(float);
	struct stream streams[] = {
	    {"Add", 14, {.n = 0}, 2, {a, b}, out, n / 2 * 3},
	    {"Mul", 14, {.n = 0}, 2, {a, b}, out, n / 2 * 3},
	    {"Max", 13, {.n = 0}, 2, {a, b}, out, n / 2 * 3},
	    {"Relu", 14, {.n = 0}, 1, {a}, out, n},
	    {"Abs", 13, {.n = 0}, 1, {a}, out, n},
	    {"Clip", 6,
		{.name = TP_STR("max"), .kind = TP_ATTR_FLOAT, .f = 0.0625}, 1,
		{a}, out, n},
	    {"Concat", 13, {.name = TP_STR("axis"), .kind = TP_ATTR_INT}, 2,
		{low, low}, out, n},
	};
	struct copy c = {tp_tensor_data_mut(large), tp_tensor_data(a), n};
	_Bool good = 1;

	for (size_t k = 0; k < sizeof(streams) / sizeof(*streams); k++) {
		char what[64];
		struct bench bench = {what, "memcpy", run_stream, run_copy,
		    &streams[k], &c, 1, 0.5};

		snprintf(what, sizeof(what), "%s, 16 MiB", streams[k].name);
		bench.scale = (double)streams[k].nbytes / (double)n;
		good &= bench_run(&bench);
	}
	tp_tensor_free(a);
	tp_tensor_free(b);
	tp_tensor_free(out);
	tp_tensor_free(low);
	tp_tensor_free(large);
	return good;
}

int
main(int argc, char **argv)
{
	struct product p = new_product();
	_Bool good = 1;

	bench_begin(argc > 1 ? argv[1] : "");
	good &= bench_matmul(&p);
	good &=
	    bench_conv(&p, "Conv 3 x 3, 64 to 64, 56 x 56", 64, 56, 3, 1, 0.6);
	good &= bench_conv(
	    &p, "Conv 1 x 1, 256 to 256, 28 x 28", 256, 28, 1, 1, 0.6);
	good &= bench_conv(
	    &p, "Conv 3 x 3, 144 single, 56 x 56", 144, 56, 3, 144, 0.08);
	good &= bench_nets(&p);
	good &= bench_streams();
	free_product(&p);
	return good ? 0 : 1;
}
