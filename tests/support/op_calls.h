/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_calls.h - an operator on tensors of few numbers, in one expression
 *
 *	struct tp_tensor *y = op_result("ReduceSum", 13,
 *	    ATTRS(ATTR_INT("keepdims", 0)),
 *	    INPUTS(F32(DIMS(2, 2), 1, 2, 3, 4), I64(DIMS(1), 1)));
 *
 *	check_tensor(y, TP_DTYPE_F32, DIMS(2), NUMBERS(3, 7), 0);
 *
 * Inputs are freed by the call, checked tensors by the check.
 */
#ifndef TEST_OP_CALLS_H
#define TEST_OP_CALLS_H

#include "support/numbers.h"

#include <stdlib.h>

#include "tp/op.h"

/* An array and how many it has: two arguments. */
#define LIST(type, ...) \
	(type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}) / sizeof(type)

#define DIMS(...) LIST(const int64_t, __VA_ARGS__)
#define SCALAR NULL, 0
#define NUMBERS(...) LIST(const double, __VA_ARGS__)
#define NO_NUMBERS NULL, 0

#define TENSOR(dtype, dims, ...) op_tensor(dtype, dims, NUMBERS(__VA_ARGS__))
#define F32(dims, ...) op_tensor(TP_DTYPE_F32, dims, NUMBERS(__VA_ARGS__))
#define F64(dims, ...) op_tensor(TP_DTYPE_F64, dims, NUMBERS(__VA_ARGS__))
#define I64(dims, ...) op_tensor(TP_DTYPE_I64, dims, NUMBERS(__VA_ARGS__))
#define I32(dims, ...) op_tensor(TP_DTYPE_I32, dims, NUMBERS(__VA_ARGS__))
#define BOOL(dims, ...) op_tensor(TP_DTYPE_BOOL, dims, NUMBERS(__VA_ARGS__))
/* Without elements. */
#define EMPTY(dtype, dims) op_tensor(dtype, dims, NO_NUMBERS)

#define ATTRS(...) LIST(const struct tp_attr, __VA_ARGS__)
#define NO_ATTRS NULL, 0
#define ATTR_INT(key, value)                                           \
	{                                                              \
		.name = TP_STR(key), .kind = TP_ATTR_INT, .i = (value) \
	}
#define ATTR_FLOAT(key, value)                                           \
	{                                                                \
		.name = TP_STR(key), .kind = TP_ATTR_FLOAT, .f = (value) \
	}
#define ATTR_STRING(key, value)                              \
	{                                                    \
		.name = TP_STR(key), .kind = TP_ATTR_STRING, \
		.s = TP_STR(value)                           \
	}
#define ATTR_INTS(key, ...)                                                   \
	{                                                                     \
		.name = TP_STR(key), .kind = TP_ATTR_INTS,                    \
		.ints = (const int64_t[]){__VA_ARGS__},                       \
		.n = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t) \
	}
#define ATTR_FLOATS(key, ...)                                               \
	{                                                                   \
		.name = TP_STR(key), .kind = TP_ATTR_FLOATS,                \
		.floats = (const double[]){__VA_ARGS__},                    \
		.n = sizeof((const double[]){__VA_ARGS__}) / sizeof(double) \
	}
#define ATTR_STRINGS(key, ...)                                      \
	{                                                           \
		.name = TP_STR(key), .kind = TP_ATTR_STRINGS,       \
		.strings = (const struct tp_str[]){__VA_ARGS__},    \
		.n = sizeof((const struct tp_str[]){__VA_ARGS__}) / \
		     sizeof(struct tp_str)                          \
	}

#define INPUTS(...) LIST(struct tp_tensor *const, __VA_ARGS__)

#define OP_CALL_IN 16

static inline struct tp_tensor *
op_tensor(enum tp_dtype dtype, const int64_t *sizes, size_t rank,
    const double *x, size_t n)
{
	struct tp_tensor *t = tensor_of(NULL, dtype, sizes, (unsigned)rank, x);

	assert_int_equal(tp_tensor_numel(t), n);
	return t;
}

static inline const struct tp_op *
op_named(const char *onnx, int opset)
{
	const struct tp_op *op = NULL;

	RUN(tp_op_find(TP_STR(""), tp_str(onnx), opset, &op, err));
	return op;
}

/* Outputs are NONE after a failure. */
static inline enum tp_status
op_try(const char *onnx, int opset, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_tensor *const *in, size_t n_in, struct tp_value *out,
    size_t n_out, const struct tp_alloc *alloc, struct tp_err *err)
{
	const struct tp_op_opts opts = {.n_threads = 2, .alloc = alloc};
	struct tp_value values[OP_CALL_IN];

	assert_true(n_in <= OP_CALL_IN);
	for (size_t k = 0; k < n_in; k++)
		values[k] = tp_value_of(in[k]);
	return tp_op_run(op_named(onnx, opset), attrs, n_attrs, values, n_in,
	    out, n_out, &opts, err);
}

static inline void
op_results(const char *onnx, int opset, const struct tp_attr *attrs,
    size_t n_attrs, struct tp_tensor *const *in, size_t n_in,
    struct tp_value *out, size_t n_out)
{
	RUN(op_try(
	    onnx, opset, attrs, n_attrs, in, n_in, out, n_out, NULL, err));
	for (size_t k = 0; k < n_in; k++)
		tp_tensor_free(in[k]);
}

/* The one output. */
static inline struct tp_tensor *
op_result(const char *onnx, int opset, const struct tp_attr *attrs,
    size_t n_attrs, struct tp_tensor *const *in, size_t n_in)
{
	struct tp_value out;

	op_results(onnx, opset, attrs, n_attrs, in, n_in, &out, 1);
	assert_int_equal(out.kind, TP_VALUE_TENSOR);
	return out.tensor;
}

static inline void
op_refuses(enum tp_status status, const char *message, const char *onnx,
    int opset, const struct tp_attr *attrs, size_t n_attrs,
    struct tp_tensor *const *in, size_t n_in)
{
	struct tp_err err = TP_ERR_INIT;
	struct tp_value out;

	assert_int_equal(
	    op_try(onnx, opset, attrs, n_attrs, in, n_in, &out, 1, NULL, &err),
	    status);
	assert_int_equal(out.kind, TP_VALUE_NONE);
	assert_string_equal(err.msg, message);
	for (size_t k = 0; k < n_in; k++)
		tp_tensor_free(in[k]);
}

/* That dtype and shape, and numbers as near as relative says. */
static inline void
check_tensor(struct tp_tensor *t, enum tp_dtype dtype, const int64_t *sizes,
    size_t rank, const double *want, size_t n, double relative)
{
	assert_int_equal(tp_tensor_dtype(t), dtype);
	assert_int_equal(tp_tensor_rank(t), rank);
	for (size_t d = 0; d < rank; d++)
		assert_int_equal(tp_tensor_sizes(t)[d], sizes[d]);
	assert_int_equal(tp_tensor_numel(t), n);
	for (size_t i = 0; i < n; i++) {
		double got = number_at(t, i);

		if (isnan(want[i])
			? isnan(got)
			: got == want[i] ||
			      fabs(got - want[i]) <= relative * fabs(want[i]))
			continue;
		print_error(
		    "element %zu: %.17g, expected %.17g\n", i, got, want[i]);
		fail();
	}
	tp_tensor_free(t);
}

#endif
