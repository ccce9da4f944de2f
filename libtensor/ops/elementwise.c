/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elementwise.c - y[i] = f(x[i]) and y[i] = a[i] op b[i], one dtype throughout
 *
 * Kernels get y, then the inputs.
 */
#include "kernel.h"

#include "../banned.h"

/* W is the arithmetic type, values are loaded: T is the stored type. */
#define EXPR_exp(T, W, x) exp((W)(x))
#define EXPR_log(T, W, x) log((W)(x))
#define EXPR_tanh(T, W, x) tanh((W)(x))
#define EXPR_sigmoid(T, W, x) sigmoid(x)
#define EXPR_sqrt(T, W, x) sqrt((W)(x))
#define EXPR_reciprocal(T, W, x) ((W)1 / (W)(x))
/* NaN stays NaN. */
#define EXPR_relu(T, W, x) ((x) < 0 ? (W)0 : (W)(x))
#define EXPR_negf(T, W, x) (-(W)(x))
#define EXPR_neg(T, W, x) ((W)0 - (W)(x))
#define EXPR_absf(T, W, x) ((W)fabs((double)(x)))
#define EXPR_abs(T, W, x) ((x) < 0 ? (W)0 - (W)(x) : (W)(x))
#define EXPR_same(T, W, x) ((W)(x))

#define EXPR_add(T, W, a, b) ((W)(a) + (W)(b))
#define EXPR_sub(T, W, a, b) ((W)(a) - (W)(b))
#define EXPR_mul(T, W, a, b) ((W)(a) * (W)(b))
#define EXPR_divf(T, W, a, b) ((W)(a) / (W)(b))
/* Towards zero; by zero gives 0, and the least by -1 itself. */
#define EXPR_divi(T, W, a, b) \
	((b) == 0 ? (W)0 : (b) == (T)-1 ? (W)0 - (W)(a) : (W)((a) / (b)))
#define EXPR_divu(T, W, a, b) ((b) == 0 ? (W)0 : (W)(a) / (W)(b))

/* No overflow on either side; 1/2 at both zeros. */
static double
sigmoid(double x)
{
	double e = exp(-fabs(x));

	return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

/* Rows are indexed as arrays: that is what compilers make vectors of. */
#define UNARY_LOOP(OP, T, W, LOAD, STORE, Y, X) \
	for (size_t i = 0; i < n; i++)          \
	Y = STORE(EXPR_##OP(T, W, LOAD(X)))

#define UNARY(OP, ID, T, W, LOAD, STORE)                                      \
	static void OP##_##ID(                                                \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)     \
	{                                                                     \
		const int64_t size = sizeof(T), sy = steps[0], sx = steps[1]; \
		T *y = (T *)(void *)data[0];                                  \
		const T *x = (const T *)(const void *)data[1];                \
                                                                              \
		(void)ctx;                                                    \
		if (sy == size && sx == size)                                 \
			UNARY_LOOP(OP, T, W, LOAD, STORE, y[i], x[i]);        \
		else                                                          \
			UNARY_LOOP(OP, T, W, LOAD, STORE,                     \
			    *TPI_AT(T, data[0], sy, i),                       \
			    *TPI_CONST_AT(T, data[1], sx, i));                \
	}

#define BINARY_LOOP(OP, T, W, LOAD, STORE, Y, A, B) \
	for (size_t i = 0; i < n; i++)              \
	Y = STORE(EXPR_##OP(T, W, LOAD(A), LOAD(B)))

/*
 * Rows, and rows with one value: what broadcasting leaves. The value is never
 * an element of the row that is written, unless that has just one.
 */
#define BINARY(OP, ID, T, W, LOAD, STORE)                                     \
	static void OP##_##ID(                                                \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)     \
	{                                                                     \
		const int64_t size = sizeof(T), sy = steps[0];                \
		const int64_t sa = steps[1], sb = steps[2];                   \
		T *y = (T *)(void *)data[0];                                  \
		const T *a = (const T *)(const void *)data[1], a0 = *a;       \
		const T *b = (const T *)(const void *)data[2], b0 = *b;       \
                                                                              \
		(void)ctx;                                                    \
		if (sy == size && sa == size && sb == size)                   \
			BINARY_LOOP(OP, T, W, LOAD, STORE, y[i], a[i], b[i]); \
		else if (sy == size && sa == size && sb == 0)                 \
			BINARY_LOOP(OP, T, W, LOAD, STORE, y[i], a[i], b0);   \
		else if (sy == size && sa == 0 && sb == size)                 \
			BINARY_LOOP(OP, T, W, LOAD, STORE, y[i], a0, b[i]);   \
		else                                                          \
			BINARY_LOOP(OP, T, W, LOAD, STORE,                    \
			    *TPI_AT(T, data[0], sy, i),                       \
			    *TPI_CONST_AT(T, data[1], sa, i),                 \
			    *TPI_CONST_AT(T, data[2], sb, i));                \
	}

#define TABLE(NAME) static tp_loop_fn *const NAME##_kernels[TP_DTYPE_COUNT]

/* The dtypes of a list, of two lists, under one name. */
#define TABLE_OF(OP, SHAPE, FOREACH) \
	FOREACH(SHAPE, OP)           \
	TABLE(OP) = {FOREACH(TPI_KERNEL_ROW, OP)}

TABLE_OF(exp, UNARY, TPI_FOREACH_DOUBLE);
TABLE_OF(log, UNARY, TPI_FOREACH_DOUBLE);
TABLE_OF(tanh, UNARY, TPI_FOREACH_DOUBLE);
TABLE_OF(sigmoid, UNARY, TPI_FOREACH_DOUBLE);
TABLE_OF(sqrt, UNARY, TPI_FOREACH_DOUBLE);
TABLE_OF(reciprocal, UNARY, TPI_FOREACH_FLOAT);

TPI_FOREACH_FLOAT(UNARY, relu)
TPI_FOREACH_SIGNED(UNARY, relu)
TABLE(relu) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, relu)
	TPI_FOREACH_SIGNED(TPI_KERNEL_ROW, relu)};

TPI_FOREACH_FLOAT(UNARY, negf)
TPI_FOREACH_SIGNED(UNARY, neg)
TABLE(neg) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, negf)
	TPI_FOREACH_SIGNED(TPI_KERNEL_ROW, neg)};

TPI_FOREACH_FLOAT(UNARY, absf)
TPI_FOREACH_SIGNED(UNARY, abs)
TPI_FOREACH_UNSIGNED(UNARY, same)
TABLE(abs) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, absf) TPI_FOREACH_SIGNED(
    TPI_KERNEL_ROW, abs) TPI_FOREACH_UNSIGNED(TPI_KERNEL_ROW, same)};

TABLE_OF(add, BINARY, TPI_FOREACH_ARITH);
TABLE_OF(sub, BINARY, TPI_FOREACH_ARITH);
TABLE_OF(mul, BINARY, TPI_FOREACH_ARITH);

TPI_FOREACH_FLOAT(BINARY, divf)
TPI_FOREACH_SIGNED(BINARY, divi)
TPI_FOREACH_UNSIGNED(BINARY, divu)
TABLE(div) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, divf) TPI_FOREACH_SIGNED(
    TPI_KERNEL_ROW, divi) TPI_FOREACH_UNSIGNED(TPI_KERNEL_ROW, divu)};

#define UNARY_ROW(op, onnx_name)                                         \
	{                                                                \
		.name = #op, .onnx = onnx_name, .since = 6, .min_in = 1, \
		.max_in = 1, .min_out = 1, .max_out = 1,                 \
		.flags = TPI_OP_ELEMENTWISE, .infer = tpi_infer_same,    \
		.run = tpi_run_elementwise, .kernels = op##_kernels      \
	}

/* Before opset 7 a `broadcast` attribute aligned shapes in another way. */
#define BINARY_ROW(op, onnx_name)                                          \
	{                                                                  \
		.name = #op, .onnx = onnx_name, .since = 7, .min_in = 2,   \
		.max_in = 2, .min_out = 1, .max_out = 1,                   \
		.flags = TPI_OP_ELEMENTWISE, .infer = tpi_infer_broadcast, \
		.run = tpi_run_elementwise, .kernels = op##_kernels        \
	}

const struct tp_op tpi_elementwise_ops[] = {
    UNARY_ROW(exp, "Exp"),
    UNARY_ROW(log, "Log"),
    UNARY_ROW(tanh, "Tanh"),
    UNARY_ROW(relu, "Relu"),
    UNARY_ROW(sigmoid, "Sigmoid"),
    UNARY_ROW(sqrt, "Sqrt"),
    UNARY_ROW(reciprocal, "Reciprocal"),
    UNARY_ROW(neg, "Neg"),
    UNARY_ROW(abs, "Abs"),
    BINARY_ROW(add, "Add"),
    BINARY_ROW(sub, "Sub"),
    BINARY_ROW(mul, "Mul"),
    BINARY_ROW(div, "Div"),
    {.name = NULL},
};
