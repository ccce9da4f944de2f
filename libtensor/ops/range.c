/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range.c - Range: start, start + delta, … up to, and without, limit
 *
 * Floats are computed in f64 from the three numbers, not step by step.
 */
#include "kernel.h"

#include <inttypes.h>

#include "../tensor.h"

#include "../banned.h"

/* How many; -1 where that is no number. Operands: start, limit, delta. */
#define COUNT(A, ID, T, W, LOAD, STORE)                                    \
	static void count_##ID(                                            \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)  \
	{                                                                  \
		T a = *(const T *)(void *)data[0];                         \
		T b = *(const T *)(void *)data[1];                         \
		T d = *(const T *)(void *)data[2];                         \
		bool up = d > 0;                                           \
		uint64_t way = up ? (uint64_t)b - (uint64_t)a              \
				  : (uint64_t)a - (uint64_t)b;             \
		uint64_t step = up ? (uint64_t)d : 0 - (uint64_t)d, count; \
                                                                           \
		(void)steps, (void)n;                                      \
		count = d == 0 || (up ? b <= a : b >= a)                   \
			    ? 0                                            \
			    : (way - 1) / step + 1;                        \
		*(int64_t *)ctx =                                          \
		    d == 0 || count > INT64_MAX ? -1 : (int64_t)count;     \
	}

#define COUNT_FLOAT(A, ID, T, W, LOAD, STORE)                                  \
	static void count_##ID(                                                \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)      \
	{                                                                      \
		double a = LOAD(*(const T *)(void *)data[0]);                  \
		double b = LOAD(*(const T *)(void *)data[1]);                  \
		double d = LOAD(*(const T *)(void *)data[2]);                  \
		double count = ceil((b - a) / d);                              \
                                                                               \
		(void)steps, (void)n;                                          \
		*(int64_t *)ctx = d == 0 || !(count < 0x1p62) ? -1             \
				  : count > 0		      ? (int64_t)count \
							      : 0;                             \
	}

/* Operands: result, start, delta. */
#define FILL(A, ID, T, W, LOAD, STORE)                                    \
	static void fill_##ID(                                            \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		W a = (W)LOAD(*(const T *)(void *)data[1]);               \
		W d = (W)LOAD(*(const T *)(void *)data[2]);               \
		T *y = (T *)(void *)data[0];                              \
                                                                          \
		(void)ctx, (void)steps;                                   \
		for (size_t i = 0; i < n; i++)                            \
			y[i] = STORE(a + (W)i * d);                       \
	}

TPI_FOREACH_INT(COUNT, 0)
TPI_FOREACH_DOUBLE(COUNT_FLOAT, 0)
TPI_FOREACH_INT(FILL, 0)
TPI_FOREACH_DOUBLE(FILL, 0)

static tp_loop_fn *const counts[TP_DTYPE_COUNT] = {TPI_FOREACH_INT(
    TPI_KERNEL_ROW, count) TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, count)};
static tp_loop_fn *const fills[TP_DTYPE_COUNT] = {TPI_FOREACH_INT(
    TPI_KERNEL_ROW, fill) TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, fill)};

static enum tp_status
infer_range(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc = tpi_infer_broadcast(c, infos, err);
	char *data[3] = {NULL};
	int64_t n = 0;

	if (rc)
		return rc;
	for (size_t k = 0; k < 3; k++) {
		if (c->in[k]->n_elems != 1)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has shape %s, expected one number",
			    c->op->onnx, k,
			    TP_SHAPE_TEXT(
				tp_tensor_sizes(c->in[k]), c->in[k]->rank));
		data[k] = tpi_tensor_address(c->in[k]);
	}
	c->op->finish[c->in[0]->dtype](&n, data, NULL, 1);
	if (n < 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: delta leads nowhere, or too far", c->op->onnx);
	infos[0].rank = 1;
	infos[0].sizes[0] = n;
	return TP_OK;
}

static enum tp_status
run_range(struct tpi_call *c, struct tp_err *err)
{
	char *const data[3] = {tpi_tensor_address(c->out[0]),
	    tpi_tensor_address(c->in[0]), tpi_tensor_address(c->in[2])};

	(void)err;
	c->kernel(NULL, data, NULL, (size_t)c->out[0]->n_elems);
	return TP_OK;
}

static const struct tpi_attr_spec range_attrs[] = {
    {"stash_type", TP_ATTR_INT}, {NULL, 0}};

#define ROW(from, to, spec)                                                   \
	{                                                                     \
		.name = "range", .onnx = "Range", .since = from, .until = to, \
		.min_in = 3, .max_in = 3, .min_out = 1, .max_out = 1,         \
		.attrs = spec, .infer = infer_range, .run = run_range,        \
		.kernels = fills, .finish = counts                            \
	}

const struct tp_op tpi_range_ops[] = {
    ROW(27, 0, range_attrs),
    ROW(11, 26, NULL),
    {.name = NULL},
};
