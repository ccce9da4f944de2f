/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lp_norm.c - LpNormalization, LRN: division by a norm of the row, or of a
 * window of it
 */
#include "kernel.h"
#include "rows.h"

#include <inttypes.h>

#include "../tensor.h"

#include "../banned.h"

/* Kernels of rows.h on y and x; how is p, 1 or 2. A norm of 0 gives zeros. */
#define LP(OP, ID, T, W, LOAD, STORE)                                       \
	static void OP##_##ID(                                              \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)   \
	{                                                                   \
		int64_t p = *(const int64_t *)((struct tpi_row *)ctx)->how; \
		double norm = 0;                                            \
                                                                            \
		for (size_t i = 0; i < n; i++) {                            \
			double x =                                          \
			    LOAD(*TPI_CONST_AT(T, data[1], steps[1], i));   \
                                                                            \
			norm += p == 1 ? fabs(x) : x * x;                   \
		}                                                           \
		norm = p == 1 ? norm : sqrt(norm);                          \
		for (size_t i = 0; i < n; i++) {                            \
			double x =                                          \
			    LOAD(*TPI_CONST_AT(T, data[1], steps[1], i));   \
                                                                            \
			*TPI_AT(T, data[0], steps[0], i) =                  \
			    STORE(norm == 0 ? 0 : x / norm);                \
		}                                                           \
	}

TPI_FOREACH_DOUBLE(LP, lp)

static tp_loop_fn *const lp_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, lp)};

struct lrn {
	double alpha, beta, bias;
	size_t below, above; /* the window around an element */
};

/* x / (bias + alpha / size * sum of squares in the window) ^ beta */
#define LRN(OP, ID, T, W, LOAD, STORE)                                         \
	static void OP##_##ID(                                                 \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)      \
	{                                                                      \
		const struct tpi_row *row = ctx;                               \
		const struct lrn *l = row->how;                                \
                                                                               \
		for (size_t i = 0; i < n; i++)                                 \
			row->scratch[i] =                                      \
			    LOAD(*TPI_CONST_AT(T, data[1], steps[1], i));      \
		for (size_t i = 0; i < n; i++)                                 \
			*TPI_AT(T, data[0], steps[0], i) = STORE(              \
			    row->scratch[i] / divisor(l, row->scratch, i, n)); \
	}

static double
divisor(const struct lrn *l, const double *x, size_t i, size_t n)
{
	size_t end = l->above < n - i ? i + l->above + 1 : n;
	double sum = 0;

	for (size_t k = i > l->below ? i - l->below : 0; k < end; k++)
		sum += x[k] * x[k];
	return pow(l->bias + l->alpha * sum, l->beta);
}

TPI_FOREACH_DOUBLE(LRN, lrn)

static tp_loop_fn *const lrn_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, lrn)};

static enum tp_status
run_rows(struct tpi_call *c, const void *how, unsigned axis, bool has_scratch,
    struct tp_err *err)
{
	int64_t n = tp_tensor_sizes(c->in[0])[axis];
	struct tpi_rows rows = {
	    .kernel = c->kernel,
	    .how = how,
	    .operands = {c->out[0], c->in[0]},
	    .n_written = 1,
	    .n_operands = 2,
	    .axis = axis,
	    .n = n,
	    .n_scratch = has_scratch ? (size_t)n : 0,
	};

	return tpi_rows_run(c, &rows, err);
}

static enum tp_status
infer_lp(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int64_t p = tpi_attr_int(c, "p", 2);
	unsigned axis = 0;

	infos[0] = tpi_info_of(c->in[0]);
	if (p != 1 && p != 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: p is %" PRId64 ", expected 1 or 2", c->op->onnx, p);
	return tpi_op_axis(
	    c, tpi_attr_int(c, "axis", -1), c->in[0]->rank, &axis, err);
}

static enum tp_status
run_lp(struct tpi_call *c, struct tp_err *err)
{
	int64_t p = tpi_attr_int(c, "p", 2);
	unsigned axis = 0;
	enum tp_status rc = tpi_op_axis(
	    c, tpi_attr_int(c, "axis", -1), c->in[0]->rank, &axis, err);

	return rc ? rc : run_rows(c, &p, axis, false, err);
}

static enum tp_status
infer_lrn(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int64_t size = tpi_attr_int(c, "size", 0);

	infos[0] = tpi_info_of(c->in[0]);
	if (infos[0].rank < 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 has rank %u, expected 2 or more", c->op->onnx,
		    infos[0].rank);
	if (size < 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: size is %" PRId64 ", expected 1 or more", c->op->onnx,
		    size);
	return TP_OK;
}

static enum tp_status
run_lrn(struct tpi_call *c, struct tp_err *err)
{
	int64_t size = tpi_attr_int(c, "size", 1);
	struct lrn l = {
	    .alpha = tpi_attr_float(c, "alpha", (double)1e-4f) / (double)size,
	    .beta = tpi_attr_float(c, "beta", 0.75),
	    .bias = tpi_attr_float(c, "bias", 1),
	    .below = (size_t)((size - 1) / 2),
	    .above = (size_t)(size / 2),
	};

	return run_rows(c, &l, 1, true, err);
}

static const struct tpi_attr_spec lp_attrs[] = {
    {"axis", TP_ATTR_INT}, {"p", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec lrn_attrs[] = {{"alpha", TP_ATTR_FLOAT},
    {"beta", TP_ATTR_FLOAT}, {"bias", TP_ATTR_FLOAT}, {"size", TP_ATTR_INT},
    {NULL, 0}};

#define ROW(c_name, onnx_name, of)                                            \
	{                                                                     \
		.name = c_name, .onnx = onnx_name, .since = 1, .min_in = 1,   \
		.max_in = 1, .min_out = 1, .max_out = 1, .attrs = of##_attrs, \
		.infer = infer_##of, .run = run_##of, .kernels = of##_kernels \
	}

const struct tp_op tpi_lp_norm_ops[] = {
    ROW("lp_norm", "LpNormalization", lp),
    ROW("lrn", "LRN", lrn),
    {.name = NULL},
};
