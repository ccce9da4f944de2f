/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - Equal, Less, Greater, LessOrEqual, GreaterOrEqual */
#include "elementwise.h"
#include "old_broadcast.h"

#include "../banned.h"

#define EXPR_equal(T, W, a, b) ((a) == (b))
#define EXPR_less(T, W, a, b) ((a) < (b))
#define EXPR_greater(T, W, a, b) ((a) > (b))
#define EXPR_less_equal(T, W, a, b) ((a) <= (b))
#define EXPR_greater_equal(T, W, a, b) ((a) >= (b))

/* Equal strings have equal numbers, so u64 serves them too. */
#define FOREACH_EQUAL(X, A) TPI_FOREACH_BOOL(X, A) TPI_FOREACH_ARITH(X, A)

TPI_TABLE_OF(equal, TPI_COMPARE, FOREACH_EQUAL);
TPI_TABLE_OF(less, TPI_COMPARE, TPI_FOREACH_ARITH);
TPI_TABLE_OF(greater, TPI_COMPARE, TPI_FOREACH_ARITH);
TPI_TABLE_OF(less_equal, TPI_COMPARE, TPI_FOREACH_ARITH);
TPI_TABLE_OF(greater_equal, TPI_COMPARE, TPI_FOREACH_ARITH);

static enum tp_status
infer(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc = tpi_infer_broadcast(c, infos, err);

	infos[0].dtype = TP_DTYPE_BOOL;
	return rc;
}

static enum tp_status
infer_old(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc = tpi_infer_old_broadcast(c, infos, err);

	infos[0].dtype = TP_DTYPE_BOOL;
	return rc;
}

#define ROW(op, onnx_name, FROM)                                     \
	TPI_ELEMENTWISE_ROW(#op, onnx_name, 2, FROM, 0, NULL, infer, \
	    tpi_run_elementwise, op##_kernels)
#define OLD_ROW(op, onnx_name)                                                \
	TPI_ELEMENTWISE_ROW(#op, onnx_name, 2, 1, 6, tpi_old_broadcast_attrs, \
	    infer_old, tpi_run_old_broadcast, op##_kernels)

const struct tp_op tpi_comparison_ops[] = {
    {
	.name = "equal",
	.onnx = "Equal",
	.since = 7,
	.min_in = 2,
	.max_in = 2,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_ELEMENTWISE,
	.strings_in = TPI_BIT(0) | TPI_BIT(1),
	.infer = infer,
	.run = tpi_run_elementwise,
	.kernels = equal_kernels,
    },
    OLD_ROW(equal, "Equal"),
    ROW(less, "Less", 7),
    OLD_ROW(less, "Less"),
    ROW(greater, "Greater", 7),
    OLD_ROW(greater, "Greater"),
    ROW(less_equal, "LessOrEqual", 12),
    ROW(greater_equal, "GreaterOrEqual", 12),
    {.name = NULL},
};
