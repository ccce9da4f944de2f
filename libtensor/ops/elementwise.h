/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elementwise.h - kernels and rows for y[i] = f(x[i]) and y[i] = a[i] op b[i]
 *
 * A kernel is made from an expression of loaded values, EXPR_op(T, W, x) or
 * EXPR_op(T, W, a, b): T is the stored type, W that of the arithmetic. It gets
 * y, then the inputs.
 */
#ifndef TPI_OPS_ELEMENTWISE_H
#define TPI_OPS_ELEMENTWISE_H

#include "kernel.h"

/* What a TPI_PARAM kernel sees as p: numbers from attributes. */
struct tpi_params {
	double a, b;
};

/* Rows are indexed as arrays: that is what compilers make vectors of. */
#define TPI_UNARY_LOOP(OP, T, W, LOAD, STORE, Y, X) \
	for (size_t i = 0; i < n; i++)              \
	Y = STORE(EXPR_##OP(T, W, LOAD(X)))

/* Y is the type of the result, SEE what is done with ctx before. */
#define TPI_UNARY_KERNEL(OP, ID, Y, T, W, LOAD, STORE, SEE)                \
	static void OP##_##ID(                                             \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)  \
	{                                                                  \
		const int64_t sy = steps[0], sx = steps[1];                \
		Y *y = (Y *)(void *)data[0];                               \
		const T *x = (const T *)(const void *)data[1];             \
		SEE;                                                       \
                                                                           \
		if (sy == (int64_t)sizeof(Y) && sx == (int64_t)sizeof(T))  \
			TPI_UNARY_LOOP(OP, T, W, LOAD, STORE, y[i], x[i]); \
		else                                                       \
			TPI_UNARY_LOOP(OP, T, W, LOAD, STORE,              \
			    *TPI_AT(Y, data[0], sy, i),                    \
			    *TPI_CONST_AT(T, data[1], sx, i));             \
	}

#define TPI_BINARY_LOOP(OP, T, W, LOAD, STORE, Y, A, B) \
	for (size_t i = 0; i < n; i++)                  \
	Y = STORE(EXPR_##OP(T, W, LOAD(A), LOAD(B)))

/*
 * Rows, and rows with one value: what broadcasting leaves. The value is never
 * an element of the row that is written, unless that has just one.
 */
#define TPI_BINARY_KERNEL(OP, ID, Y, T, W, LOAD, STORE, SEE)                  \
	static void OP##_##ID(                                                \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)     \
	{                                                                     \
		const int64_t size = sizeof(T), sa = steps[1], sb = steps[2]; \
		const bool is_row = steps[0] == (int64_t)sizeof(Y);           \
		Y *y = (Y *)(void *)data[0];                                  \
		const T *a = (const T *)(const void *)data[1], a0 = *a;       \
		const T *b = (const T *)(const void *)data[2], b0 = *b;       \
                                                                              \
		SEE;                                                          \
		if (is_row && sa == size && sb == size)                       \
			TPI_BINARY_LOOP(                                      \
			    OP, T, W, LOAD, STORE, y[i], a[i], b[i]);         \
		else if (is_row && sa == size && sb == 0)                     \
			TPI_BINARY_LOOP(                                      \
			    OP, T, W, LOAD, STORE, y[i], a[i], b0);           \
		else if (is_row && sa == 0 && sb == size)                     \
			TPI_BINARY_LOOP(                                      \
			    OP, T, W, LOAD, STORE, y[i], a0, b[i]);           \
		else                                                          \
			TPI_BINARY_LOOP(OP, T, W, LOAD, STORE,                \
			    *TPI_AT(Y, data[0], steps[0], i),                 \
			    *TPI_CONST_AT(T, data[1], sa, i),                 \
			    *TPI_CONST_AT(T, data[2], sb, i));                \
	}

/* For the lists of kernel.h: one dtype throughout, or to bool. */
#define TPI_UNARY(OP, ID, T, W, LOAD, STORE) \
	TPI_UNARY_KERNEL(OP, ID, T, T, W, LOAD, STORE, (void)ctx)
#define TPI_PARAM_UNARY(OP, ID, T, W, LOAD, STORE)     \
	TPI_UNARY_KERNEL(OP, ID, T, T, W, LOAD, STORE, \
	    const struct tpi_params p = *(const struct tpi_params *)ctx)
#define TPI_BINARY(OP, ID, T, W, LOAD, STORE) \
	TPI_BINARY_KERNEL(OP, ID, T, T, W, LOAD, STORE, (void)ctx)
#define TPI_COMPARE(OP, ID, T, W, LOAD, STORE) \
	TPI_BINARY_KERNEL(OP, ID, uint8_t, T, W, LOAD, TPI_ST_u8, (void)ctx)

#define TPI_LD_bool(x) ((x) != 0)
#define TPI_FOREACH_BOOL(X, A) \
	X(A, BOOL, uint8_t, uint32_t, TPI_LD_bool, TPI_ST_u8)

#define TPI_TABLE(NAME) static tp_loop_fn *const NAME##_kernels[TP_DTYPE_COUNT]

/* The kernels of a list, and the table of them. */
#define TPI_TABLE_OF(OP, SHAPE, FOREACH) \
	FOREACH(SHAPE, OP)               \
	TPI_TABLE(OP) = {FOREACH(TPI_KERNEL_ROW, OP)}

/* Of Add, for Sum too. */
extern tp_loop_fn *const tpi_add_kernels[TP_DTYPE_COUNT];

#define TPI_ELEMENTWISE_ROW(                                                 \
    NAME, ONNX, N_IN, FROM, TO, ATTRS, INFER, RUN, KERNELS)                  \
	{                                                                    \
		.name = NAME, .onnx = ONNX, .since = FROM, .until = TO,      \
		.min_in = N_IN, .max_in = N_IN, .min_out = 1, .max_out = 1,  \
		.flags = TPI_OP_ELEMENTWISE, .attrs = ATTRS, .infer = INFER, \
		.run = RUN, .kernels = KERNELS                               \
	}

/* Opset 1 let outputs take the place of inputs; that is ignored. */
static const struct tpi_attr_spec tpi_consumed_attrs[] = {
    {"consumed_inputs", TP_ATTR_INTS}, {NULL, 0}};

#define TPI_UNARY_ROW(op, onnx_name, FROM)                                    \
	TPI_ELEMENTWISE_ROW(#op, onnx_name, 1, FROM, 0, NULL, tpi_infer_same, \
	    tpi_run_elementwise, op##_kernels)

/* The operators of opset 1 that have lost nothing but consumed_inputs. */
#define TPI_UNARY_ROWS(op, onnx_name)                                        \
	TPI_UNARY_ROW(op, onnx_name, 6),                                     \
	    TPI_ELEMENTWISE_ROW(#op, onnx_name, 1, 1, 5, tpi_consumed_attrs, \
		tpi_infer_same, tpi_run_elementwise, op##_kernels)

#endif
