/* SPDX-License-Identifier: Apache-2.0 */
/* logic.c - And, Or, Xor, Not, the same of all bits, and BitShift */
#include "elementwise.h"
#include "old_broadcast.h"

#include "../banned.h"

#define EXPR_and(T, W, a, b) ((W)(a) & (W)(b))
#define EXPR_or(T, W, a, b) ((W)(a) | (W)(b))
#define EXPR_xor(T, W, a, b) ((W)(a) ^ (W)(b))
#define EXPR_not(T, W, x) ((W)(x) ^ (W)1)
#define EXPR_invert(T, W, x) (~(W)(x))
/* Nothing is left of a value whose bits are all moved out. */
#define EXPR_shift_left(T, W, a, b) \
	((b) < 8 * sizeof(T) ? (W)(a) << ((b) % (8 * sizeof(T))) : (W)0)
#define EXPR_shift_right(T, W, a, b) \
	((b) < 8 * sizeof(T) ? (W)(a) >> ((b) % (8 * sizeof(T))) : (W)0)

/* Bits of integers, and truth. */
#define FOREACH_BITS(X, A) TPI_FOREACH_BOOL(X, A) TPI_FOREACH_INT(X, A)

FOREACH_BITS(TPI_BINARY, and)
FOREACH_BITS(TPI_BINARY, or)
FOREACH_BITS(TPI_BINARY, xor)
TPI_TABLE(and) = {TPI_FOREACH_BOOL(TPI_KERNEL_ROW, and)};
TPI_TABLE(or) = {TPI_FOREACH_BOOL(TPI_KERNEL_ROW, or)};
TPI_TABLE(xor) = {TPI_FOREACH_BOOL(TPI_KERNEL_ROW, xor)};
TPI_TABLE(bit_and) = {TPI_FOREACH_INT(TPI_KERNEL_ROW, and)};
TPI_TABLE(bit_or) = {TPI_FOREACH_INT(TPI_KERNEL_ROW, or)};
TPI_TABLE(bit_xor) = {TPI_FOREACH_INT(TPI_KERNEL_ROW, xor)};
TPI_TABLE_OF(not, TPI_UNARY, TPI_FOREACH_BOOL);
TPI_TABLE_OF(invert, TPI_UNARY, TPI_FOREACH_INT);
TPI_TABLE_OF(shift_left, TPI_BINARY, TPI_FOREACH_UNSIGNED);
TPI_TABLE_OF(shift_right, TPI_BINARY, TPI_FOREACH_UNSIGNED);

static const struct tpi_attr_spec shift_attrs[] = {
    {"direction", TP_ATTR_STRING}, {NULL, 0}};

static enum tp_status
run_shift(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "direction");
	struct tp_str way = a ? a->s : TP_STR("");

	if (tp_str_cmp(way, TP_STR("RIGHT")) == 0)
		c->kernel = shift_right_kernels[tp_tensor_dtype(c->in[0])];
	else if (tp_str_cmp(way, TP_STR("LEFT")) != 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: direction '%s', expected LEFT or RIGHT", c->op->onnx,
		    TP_BRIEF(way));
	return tpi_run_elementwise(c, err);
}

#define ROW(NAME, ONNX, FROM, op)                                              \
	TPI_ELEMENTWISE_ROW(NAME, ONNX, 2, FROM, 0, NULL, tpi_infer_broadcast, \
	    tpi_run_elementwise, op##_kernels)
#define OLD_ROW(NAME, ONNX, op)                                           \
	TPI_ELEMENTWISE_ROW(NAME, ONNX, 2, 1, 6, tpi_old_broadcast_attrs, \
	    tpi_infer_old_broadcast, tpi_run_old_broadcast, op##_kernels)

const struct tp_op tpi_logic_ops[] = {
    ROW("and", "And", 7, and),
    OLD_ROW("and", "And", and),
    ROW("or", "Or", 7, or),
    OLD_ROW("or", "Or", or),
    ROW("xor", "Xor", 7, xor),
    OLD_ROW("xor", "Xor", xor),
    TPI_UNARY_ROW(not, "Not", 1),
    ROW("bit_and", "BitwiseAnd", 18, bit_and),
    ROW("bit_or", "BitwiseOr", 18, bit_or),
    ROW("bit_xor", "BitwiseXor", 18, bit_xor),
    TPI_ELEMENTWISE_ROW("bit_not", "BitwiseNot", 1, 18, 0, NULL, tpi_infer_same,
	tpi_run_elementwise, invert_kernels),
    TPI_ELEMENTWISE_ROW("bit_shift", "BitShift", 2, 11, 0, shift_attrs,
	tpi_infer_broadcast, run_shift, shift_left_kernels),
    {.name = NULL},
};
