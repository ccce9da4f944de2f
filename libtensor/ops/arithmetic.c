/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.c - Add, Sub, Mul, Div and Mod */
#include "elementwise.h"
#include "old_broadcast.h"

#include "../banned.h"

#define EXPR_add(T, W, a, b) ((W)(a) + (W)(b))
#define EXPR_sub(T, W, a, b) ((W)(a) - (W)(b))
#define EXPR_mul(T, W, a, b) ((W)(a) * (W)(b))
#define EXPR_divf(T, W, a, b) ((W)(a) / (W)(b))
/* Towards zero; by zero gives 0, and the least by -1 itself. */
#define EXPR_divi(T, W, a, b) \
	((b) == 0 ? (W)0 : (b) == (T)-1 ? (W)0 - (W)(a) : (W)((a) / (b)))
#define EXPR_divu(T, W, a, b) ((b) == 0 ? (W)0 : (W)(a) / (W)(b))

/* What division leaves, with the sign of a; of division by zero, nothing. */
#define EXPR_remf(T, W, a, b) fmod((W)(a), (W)(b))
#define EXPR_remi(T, W, a, b) ((b) == 0 || (b) == (T)-1 ? (W)0 : (W)((a) % (b)))
#define EXPR_remu(T, W, a, b) ((b) == 0 ? (W)0 : (W)(a) % (W)(b))
/* The same with the sign of b: of division towards minus infinity. */
#define EXPR_modi(T, W, a, b)                                       \
	(EXPR_remi(T, W, a, b) + ((b) != 0 && (b) != (T)-1 &&       \
					     (a) % (b) != 0 &&      \
					     ((a) < 0) != ((b) < 0) \
					 ? (W)(b)                   \
					 : (W)0))

TPI_FOREACH_ARITH(TPI_BINARY, add)
tp_loop_fn *const tpi_add_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(TPI_KERNEL_ROW, add)};
TPI_TABLE_OF(sub, TPI_BINARY, TPI_FOREACH_ARITH);
TPI_TABLE_OF(mul, TPI_BINARY, TPI_FOREACH_ARITH);

TPI_FOREACH_FLOAT(TPI_BINARY, divf)
TPI_FOREACH_SIGNED(TPI_BINARY, divi)
TPI_FOREACH_UNSIGNED(TPI_BINARY, divu)
TPI_TABLE(div) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, divf) TPI_FOREACH_SIGNED(
    TPI_KERNEL_ROW, divi) TPI_FOREACH_UNSIGNED(TPI_KERNEL_ROW, divu)};

TPI_FOREACH_DOUBLE(TPI_BINARY, remf)
TPI_FOREACH_SIGNED(TPI_BINARY, remi)
TPI_FOREACH_UNSIGNED(TPI_BINARY, remu)
TPI_FOREACH_SIGNED(TPI_BINARY, modi)
TPI_TABLE(rem) = {TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, remf) TPI_FOREACH_SIGNED(
    TPI_KERNEL_ROW, remi) TPI_FOREACH_UNSIGNED(TPI_KERNEL_ROW, remu)};
TPI_TABLE(mod) = {TPI_FOREACH_SIGNED(TPI_KERNEL_ROW, modi)
	TPI_FOREACH_UNSIGNED(TPI_KERNEL_ROW, remu)};

static const struct tpi_attr_spec mod_attrs[] = {
    {"fmod", TP_ATTR_INT}, {NULL, 0}};

static enum tp_status
run_mod(struct tpi_call *c, struct tp_err *err)
{
	if (!tpi_attr_int(c, "fmod", 0))
		c->kernel = mod_kernels[tp_tensor_dtype(c->in[0])];
	if (!c->kernel)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: of dtype %s it is defined with fmod 1 only",
		    c->op->onnx, tp_dtype_name(tp_tensor_dtype(c->in[0])));
	return tpi_run_elementwise(c, err);
}

#define ROWS(op, onnx_name, KERNELS)                              \
	TPI_ELEMENTWISE_ROW(#op, onnx_name, 2, 7, 0, NULL,        \
	    tpi_infer_broadcast, tpi_run_elementwise, KERNELS),   \
	    TPI_ELEMENTWISE_ROW(#op, onnx_name, 2, 1, 6,          \
		tpi_old_broadcast_attrs, tpi_infer_old_broadcast, \
		tpi_run_old_broadcast, KERNELS)

const struct tp_op tpi_arithmetic_ops[] = {
    ROWS(add, "Add", tpi_add_kernels),
    ROWS(sub, "Sub", sub_kernels),
    ROWS(mul, "Mul", mul_kernels),
    ROWS(div, "Div", div_kernels),
    TPI_ELEMENTWISE_ROW("mod", "Mod", 2, 10, 0, mod_attrs, tpi_infer_broadcast,
	run_mod, rem_kernels),
    {.name = NULL},
};
