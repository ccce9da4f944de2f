/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c - sums, means and largest values over axes
 *
 * Each output has its own accumulator, which sees its elements in row-major
 * order. Up to BLOCK neighbouring outputs are worked on together, so that there
 * is something to do while an addition is under way.
 */
#include "kernel.h"

#include <inttypes.h>

#include "tp/parallel.h"

#include "../tensor.h"

#include "../banned.h"

#define BLOCK 32

union accumulators {
	double d[BLOCK];
	uint64_t u[BLOCK];
	int64_t i[BLOCK];
};

struct block {
	union accumulators acc;
	size_t n_outputs;
	bool is_first; /* the accumulators have no value yet */
	uint64_t n_reduced;
};

/*
 * kernels: data[1] is the input of the first output; steps[0] leads to the next
 * output's, steps[1] to the next of n elements that one output takes.
 * finish: data[0] is the outputs, which are packed.
 */
#define NEXT_ROW(T, LOAD, TYPE, STEP, NEXT)                          \
	for (size_t j = 0; j < b->n_outputs; j++) {                  \
		TYPE x = (TYPE)LOAD(*TPI_CONST_AT(T, row, STEP, j)); \
		TYPE a = acc[j];                                     \
                                                                     \
		acc[j] = NEXT;                                       \
	}

#define ACCUMULATE(OP, ID, T, LOAD, TYPE, MEMBER, BEGIN, NEXT)             \
	static void OP##_##ID(                                             \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)  \
	{                                                                  \
		struct block *b = ctx;                                     \
		TYPE *acc = b->acc.MEMBER;                                 \
		const int64_t size = sizeof(T), step = steps[0];           \
                                                                           \
		for (size_t j = 0; j < b->n_outputs && b->is_first; j++)   \
			acc[j] = BEGIN;                                    \
		for (size_t i = 0; i < n; i++) {                           \
			const char *row = data[1] + (int64_t)i * steps[1]; \
                                                                           \
			if (step == size)                                  \
				NEXT_ROW(T, LOAD, TYPE, size, NEXT)        \
			else                                               \
				NEXT_ROW(T, LOAD, TYPE, step, NEXT)        \
		}                                                          \
	}

#define FINISH(OP, ID, T, TYPE, MEMBER, STORE, RESULT)                    \
	static void end_##OP##_##ID(                                      \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		struct block *b = ctx;                                    \
		uint64_t count = b->n_reduced;                            \
		T *y = (T *)(void *)data[0];                              \
                                                                          \
		(void)steps;                                              \
		(void)count;                                              \
		for (size_t j = 0; j < n; j++) {                          \
			TYPE a = (TYPE)b->acc.MEMBER[j];                  \
                                                                          \
			y[j] = STORE(RESULT);                             \
		}                                                         \
	}

#define END_ROW(OP, ID, T, W, LOAD, STORE) [TP_DTYPE_##ID] = end_##OP##_##ID,

/* -0 is what changes no number that is added to it; no number at all is 0. */
#define SUM_F(OP, ID, T, W, LOAD, STORE)                     \
	ACCUMULATE(sum, ID, T, LOAD, double, d, -0.0, a + x) \
	FINISH(sum, ID, T, double, d, STORE, count ? a : 0)  \
	FINISH(mean, ID, T, double, d, STORE, (count ? a : 0) / (double)count)
#define SUM_I(OP, ID, T, W, LOAD, STORE)                    \
	ACCUMULATE(sum, ID, T, LOAD, uint64_t, u, 0, a + x) \
	FINISH(sum, ID, T, uint64_t, u, STORE, a)           \
	FINISH(mean, ID, T, int64_t, u, STORE, count ? a / (int64_t)count : 0)
#define SUM_U(OP, ID, T, W, LOAD, STORE)                    \
	ACCUMULATE(sum, ID, T, LOAD, uint64_t, u, 0, a + x) \
	FINISH(sum, ID, T, uint64_t, u, (T), a)             \
	FINISH(mean, ID, T, uint64_t, u, (T), count ? a / count : 0)

TPI_FOREACH_DOUBLE(SUM_F, sum)
TPI_FOREACH_SIGNED(SUM_I, sum)
TPI_FOREACH_UNSIGNED(SUM_U, sum)

/* NaN wins. */
#define MAX_F(OP, ID, T, W, LOAD, STORE)                           \
	ACCUMULATE(max, ID, T, LOAD, double, d, -(double)INFINITY, \
	    x > a || x != x ? x : a)                               \
	FINISH(max, ID, T, double, d, STORE, a)
#define LOWEST_I8 INT8_MIN
#define LOWEST_I16 INT16_MIN
#define LOWEST_I32 INT32_MIN
#define LOWEST_I64 INT64_MIN
#define MAX_I(OP, ID, T, W, LOAD, STORE)                                     \
	ACCUMULATE(max, ID, T, LOAD, int64_t, i, LOWEST_##ID, x > a ? x : a) \
	FINISH(max, ID, T, int64_t, i, STORE, a)
#define MAX_U(OP, ID, T, W, LOAD, STORE)                            \
	ACCUMULATE(max, ID, T, LOAD, uint64_t, u, 0, x > a ? x : a) \
	FINISH(max, ID, T, uint64_t, u, (T), a)

TPI_FOREACH_DOUBLE(MAX_F, max)
TPI_FOREACH_SIGNED(MAX_I, max)
TPI_FOREACH_UNSIGNED(MAX_U, max)

static tp_loop_fn *const sum_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(TPI_KERNEL_ROW, sum)};
static tp_loop_fn *const sum_finish[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(END_ROW, sum)};
static tp_loop_fn *const mean_finish[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(END_ROW, mean)};
static tp_loop_fn *const max_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(TPI_KERNEL_ROW, max)};
static tp_loop_fn *const max_finish[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(END_ROW, max)};

/* Which axes go. None given means all of them, unless that is to mean none. */
static enum tp_status
find_reduced(const struct tpi_call *c, bool *is_reduced, struct tp_err *err)
{
	unsigned rank = c->in[0]->rank, axis = 0;
	int64_t axes[TP_MAX_RANK];
	enum tp_status rc;
	bool given, all;
	size_t n = 0;

	rc = tpi_int_list(c, "axes", 1, axes, &n, &given, err);
	if (rc)
		return rc;
	all = n == 0 && !tpi_attr_int(c, "noop_with_empty_axes", 0);
	for (unsigned d = 0; d < rank; d++)
		is_reduced[d] = all;
	for (size_t i = 0; i < n; i++) {
		rc = tpi_op_axis(c, axes[i], rank, &axis, err);
		if (rc)
			return rc;
		if (is_reduced[axis])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: axis %u twice", c->op->onnx, axis);
		is_reduced[axis] = true;
	}
	return TP_OK;
}

static enum tp_status
infer_reduce(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	bool is_reduced[TP_MAX_RANK];
	bool keep = tpi_attr_int(c, "keepdims", 1) != 0;
	enum tp_status rc = find_reduced(c, is_reduced, err);

	infos[0].dtype = x->dtype;
	infos[0].rank = 0;
	for (unsigned d = 0; d < x->rank && !rc; d++)
		if (!is_reduced[d])
			infos[0].sizes[infos[0].rank++] = tp_tensor_sizes(x)[d];
		else if (keep)
			infos[0].sizes[infos[0].rank++] = 1;
	return rc;
}

/* Axes in row-major order, those joined that are walked like one. */
struct walk {
	unsigned rank;
	int64_t sizes[TP_MAX_RANK], steps[TP_MAX_RANK];
};

static void
add_axis(struct walk *w, int64_t size, int64_t step)
{
	if (size == 1)
		return;
	if (w->rank && w->steps[w->rank - 1] == size * step) {
		w->sizes[w->rank - 1] *= size;
		w->steps[w->rank - 1] = step;
		return;
	}
	w->sizes[w->rank] = size;
	w->steps[w->rank++] = step;
}

struct reduction {
	const struct tpi_call *c;
	struct walk kept, reduced;
	uint64_t n_outputs, n_reduced;
	size_t n_parts;
};

/* All elements of the outputs of a block, in order. */
static void
reduce_block(
    const struct reduction *r, struct block *b, char *x, int64_t output_step)
{
	const struct walk *w = &r->reduced;
	unsigned inner = w->rank ? w->rank - 1 : 0;
	int64_t index[TP_MAX_RANK] = {0};
	int64_t steps[2] = {output_step, w->rank ? w->steps[inner] : 0};
	size_t n = w->rank ? (size_t)w->sizes[inner] : 1;
	unsigned d;

	b->is_first = true;
	b->n_reduced = r->n_reduced;
	do {
		char *data[2] = {NULL, x};

		r->c->kernel(b, data, steps, r->n_reduced ? n : 0);
		b->is_first = false;
		for (d = inner; d > 0; d--) {
			x += w->steps[d - 1];
			if (++index[d - 1] < w->sizes[d - 1])
				break;
			x -= w->steps[d - 1] * w->sizes[d - 1];
			index[d - 1] = 0;
		}
	} while (d > 0 && r->n_reduced);
}

/* Outputs from .. to - 1. */
static void
reduce_range(const struct reduction *r, uint64_t from, uint64_t to)
{
	const struct walk *w = &r->kept;
	const struct tp_tensor *y = r->c->out[0];
	size_t size = tp_dtype_bits(y->dtype) / 8;
	uint64_t row = w->rank ? (uint64_t)w->sizes[w->rank - 1] : 1;
	struct block b;

	while (from < to) {
		char *x = tpi_tensor_address(r->c->in[0]);
		char *data[1] = {tpi_tensor_address(y) + from * size};
		uint64_t rest = from, left = row - from % row;

		b.n_outputs = BLOCK;
		if (left < b.n_outputs)
			b.n_outputs = (size_t)left;
		if (to - from < b.n_outputs)
			b.n_outputs = (size_t)(to - from);
		for (unsigned d = w->rank; d-- > 0;) {
			x += (int64_t)(rest % (uint64_t)w->sizes[d]) *
			     w->steps[d];
			rest /= (uint64_t)w->sizes[d];
		}
		reduce_block(r, &b, x, w->rank ? w->steps[w->rank - 1] : 0);
		r->c->op->finish[y->dtype](&b, data, NULL, b.n_outputs);
		from += b.n_outputs;
	}
}

static void
reduce_part(void *ctx, size_t k)
{
	const struct reduction *r = ctx;
	uint64_t share = r->n_outputs / r->n_parts;
	uint64_t extra = r->n_outputs % r->n_parts;
	uint64_t from = share * k + (k < extra ? k : extra);

	reduce_range(r, from, from + share + (k < extra));
}

static enum tp_status
run_reduce(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct reduction r = {.c = c, .n_outputs = c->out[0]->n_elems};
	int64_t size = tp_dtype_bits(x->dtype) / 8;
	bool is_reduced[TP_MAX_RANK];
	enum tp_status rc = find_reduced(c, is_reduced, err);

	if (rc)
		return rc;
	r.n_reduced = 1;
	for (unsigned d = 0; d < x->rank; d++) {
		add_axis(is_reduced[d] ? &r.reduced : &r.kept,
		    tp_tensor_sizes(x)[d], tp_tensor_strides(x)[d] * size);
		if (is_reduced[d])
			r.n_reduced *= (uint64_t)tp_tensor_sizes(x)[d];
	}
	r.n_parts = tpi_op_parts(c, x->n_elems, r.n_outputs);
	if (r.n_outputs > 0)
		tp_parallel(c->n_threads, r.n_parts, reduce_part, &r);
	return TP_OK;
}

static const struct tpi_attr_spec axes_attrs[] = {
    {"axes", TP_ATTR_INTS}, {"keepdims", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec input_attrs[] = {{"keepdims", TP_ATTR_INT},
    {"noop_with_empty_axes", TP_ATTR_INT}, {NULL, 0}};

/* Axes were an attribute, and are an input from some opset on. */
#define ROWS(op, onnx_name, steps, ends, from)                                 \
	{                                                                      \
	    .name = #op,                                                       \
	    .onnx = onnx_name,                                                 \
	    .since = from,                                                     \
	    .min_in = 1,                                                       \
	    .max_in = 2,                                                       \
	    .min_out = 1,                                                      \
	    .max_out = 1,                                                      \
	    .attrs = input_attrs,                                              \
	    .infer = infer_reduce,                                             \
	    .run = run_reduce,                                                 \
	    .kernels = steps,                                                  \
	    .finish = ends,                                                    \
	},                                                                     \
	{                                                                      \
		.name = #op, .onnx = onnx_name, .since = 1, .until = (from)-1, \
		.min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,          \
		.attrs = axes_attrs, .infer = infer_reduce, .run = run_reduce, \
		.kernels = steps, .finish = ends                               \
	}

const struct tp_op tpi_reduce_ops[] = {
    ROWS(sum, "ReduceSum", sum_kernels, sum_finish, 13),
    ROWS(mean, "ReduceMean", sum_kernels, mean_finish, 18),
    ROWS(max, "ReduceMax", max_kernels, max_finish, 18),
    {.name = NULL},
};
