/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax.c - Softmax, LogSoftmax, Hardmax: along an axis or, before opset 13,
 * over all axes from it on
 */
#include "softmax.h"

#include "../tensor.h"
#include "kernel.h"
#include "rows.h"

#include "../banned.h"

static double
largest_of(const double *e, size_t n)
{
	double largest = -(double)INFINITY;

	for (size_t i = 0; i < n; i++)
		if (e[i] > largest || e[i] != e[i])
			largest = e[i];
	return largest;
}

void
tpi_softmax_row(double *e, size_t n)
{
	double largest = largest_of(e, n), sum = 0;

	for (size_t i = 0; i < n; i++) {
		e[i] = exp(e[i] - largest);
		sum += e[i];
	}
	for (size_t i = 0; i < n; i++)
		e[i] /= sum;
}

void
tpi_log_softmax_row(double *e, size_t n)
{
	double largest = largest_of(e, n), sum = 0;

	for (size_t i = 0; i < n; i++) {
		e[i] -= largest;
		sum += exp(e[i]);
	}
	/* cppcheck-suppress invalidFunctionArg ; n is 0 when it is 0 */
	sum = log(sum);
	for (size_t i = 0; i < n; i++)
		e[i] -= sum;
}

/* 1 at the first of the largest elements, 0 elsewhere. */
static void
hardmax_row(double *e, size_t n)
{
	double largest = largest_of(e, n);
	size_t first = 0;

	while (first < n && e[first] != largest && e[first] == e[first])
		first++;
	for (size_t i = 0; i < n; i++)
		e[i] = i == first;
}

/* Kernels of rows.h on y and x; scratch holds a row. */
#define THROUGH(OP, ID, T, W, LOAD, STORE)                           \
	ROW_OF(softmax, ID, T, LOAD, STORE, tpi_softmax_row)         \
	ROW_OF(log_softmax, ID, T, LOAD, STORE, tpi_log_softmax_row) \
	ROW_OF(hardmax, ID, T, LOAD, STORE, hardmax_row)
#define ROW_OF(OP, ID, T, LOAD, STORE, FUNCTION)                             \
	static void OP##_##ID(                                               \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)    \
	{                                                                    \
		double *e = ((struct tpi_row *)ctx)->scratch;                \
                                                                             \
		for (size_t i = 0; i < n; i++)                               \
			e[i] = LOAD(*TPI_CONST_AT(T, data[1], steps[1], i)); \
		FUNCTION(e, n);                                              \
		for (size_t i = 0; i < n; i++)                               \
			*TPI_AT(T, data[0], steps[0], i) = STORE(e[i]);      \
	}

TPI_FOREACH_DOUBLE(THROUGH, )

#define TABLE(name)                                                 \
	static tp_loop_fn *const name##_kernels[TP_DTYPE_COUNT] = { \
	    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, name)}

TABLE(softmax);
TABLE(log_softmax);
TABLE(hardmax);

/* Before opset 13 the axis is the first of those that make up a row. */
static bool
is_flat(const struct tpi_call *c)
{
	return c->op->until != 0;
}

static enum tp_status
find_axis(const struct tpi_call *c, unsigned *axis, struct tp_err *err)
{
	int64_t at = tpi_attr_int(c, "axis", is_flat(c) ? 1 : -1);

	*axis = c->in[0]->rank;
	/* The one behind the last: rows of one element. */
	if (is_flat(c) && at == (int64_t)*axis)
		return TP_OK;
	return tpi_op_axis(c, at, c->in[0]->rank, axis, err);
}

static enum tp_status
infer_softmax(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	unsigned axis = 0;

	infos[0] = tpi_info_of(c->in[0]);
	return find_axis(c, &axis, err);
}

static enum tp_status
run_axis(struct tpi_call *c, struct tp_tensor *y, const struct tp_tensor *x,
    unsigned axis, struct tp_err *err)
{
	struct tpi_rows rows = {
	    .kernel = c->kernel,
	    .operands = {y, x},
	    .n_written = 1,
	    .n_operands = 2,
	    .axis = axis,
	    .n = tp_tensor_sizes(x)[axis],
	    .n_scratch = (size_t)tp_tensor_sizes(x)[axis],
	};

	return tpi_rows_run(c, &rows, err);
}

static enum tp_status
run_softmax(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *x = NULL, *y = NULL;
	unsigned axis = 0;
	enum tp_status rc = find_axis(c, &axis, err);

	if (rc || !is_flat(c))
		return rc ? rc : run_axis(c, c->out[0], c->in[0], axis, err);
	rc = tpi_rows_flatten(c->in[0], axis, &x, err);
	if (!rc)
		rc = tpi_rows_flatten(c->out[0], axis, &y, err);
	if (!rc)
		rc = run_axis(c, y, x, axis, err);
	tp_tensor_free(x);
	tp_tensor_free(y);
	return rc;
}

static const struct tpi_attr_spec axis_attr[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};

#define ROW(c_name, onnx_name, from, to)                                  \
	{                                                                 \
		.name = #c_name, .onnx = onnx_name, .since = from,        \
		.until = to, .min_in = 1, .max_in = 1, .min_out = 1,      \
		.max_out = 1, .attrs = axis_attr, .infer = infer_softmax, \
		.run = run_softmax, .kernels = c_name##_kernels           \
	}

const struct tp_op tpi_softmax_ops[] = {
    ROW(softmax, "Softmax", 13, 0),
    ROW(softmax, "Softmax", 1, 12),
    ROW(log_softmax, "LogSoftmax", 13, 0),
    ROW(log_softmax, "LogSoftmax", 1, 12),
    ROW(hardmax, "Hardmax", 13, 0),
    ROW(hardmax, "Hardmax", 1, 12),
    {.name = NULL},
};
