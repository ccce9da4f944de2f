/* SPDX-License-Identifier: Apache-2.0 */
/*
 * where.c - Where: elements of one tensor or of another, picked as bits
 */
#include "elementwise.h"

#include "tp/broadcast.h"

#include "../tensor.h"

#include "../banned.h"

/* Both are read, so that picking is no branch. */
#define PICK(Y, C, A, B)                 \
	for (size_t i = 0; i < n; i++) { \
		type a_ = A, b_ = B;     \
                                         \
		Y = C ? a_ : b_;         \
	}

#define WHERE(bits, TYPE)                                                     \
	static void where_##bits(                                             \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)     \
	{                                                                     \
		typedef TYPE type;                                            \
		const int64_t size = sizeof(type);                            \
		type *y = (type *)(void *)data[0];                            \
		const uint8_t *if_a = (const uint8_t *)data[1];               \
		const type *a = (const type *)(const void *)data[2], a0 = *a; \
		const type *b = (const type *)(const void *)data[3], b0 = *b; \
		const bool is_row = steps[0] == size && steps[1] == 1;        \
                                                                              \
		(void)ctx;                                                    \
		if (is_row && steps[2] == size && steps[3] == size)           \
			PICK(y[i], if_a[i], a[i], b[i])                       \
		else if (is_row && steps[2] == size && steps[3] == 0)         \
			PICK(y[i], if_a[i], a[i], b0)                         \
		else if (is_row && steps[2] == 0 && steps[3] == size)         \
			PICK(y[i], if_a[i], a0, b[i])                         \
		else                                                          \
			PICK(*TPI_AT(type, data[0], steps[0], i),             \
			    *TPI_CONST_AT(uint8_t, data[1], steps[1], i),     \
			    *TPI_CONST_AT(type, data[2], steps[2], i),        \
			    *TPI_CONST_AT(type, data[3], steps[3], i))        \
	}

struct pair64 {
	uint64_t low, high;
};

WHERE(8, uint8_t)
WHERE(16, uint16_t)
WHERE(32, uint32_t)
WHERE(64, uint64_t)
WHERE(128, struct pair64)

/* What is narrower than a byte is seen as one; strings as numbers. */
#define where_0 NULL
#define where_2 where_8
#define where_4 where_8
#define where_6 where_8
#define ROW(ID, name, bits, kind) [TP_DTYPE_##ID] = where_##bits,
static tp_loop_fn *const where_kernels[TP_DTYPE_COUNT] = {TP_DTYPES(ROW)};
#undef ROW

static enum tp_status
infer_where(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct tp_shape_ref shapes[3];

	if (c->in[0]->dtype != TP_DTYPE_BOOL)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 has dtype %s, expected bool", c->op->onnx,
		    tp_dtype_name(c->in[0]->dtype));
	for (unsigned k = 0; k < 3; k++)
		shapes[k] = (struct tp_shape_ref){
		    tp_tensor_sizes(c->in[k]), c->in[k]->rank};
	infos[0].dtype = c->in[1]->dtype;
	return tp_broadcast_shape(
	    shapes, 3, infos[0].sizes, &infos[0].rank, err);
}

const struct tp_op tpi_where_ops[] = {
    {
	.name = "where",
	.onnx = "Where",
	.since = 9,
	.min_in = 3,
	.max_in = 3,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_ELEMENTWISE | TPI_OP_MOVES,
	.strings_in = TPI_BIT(1) | TPI_BIT(2),
	.strings_out = TPI_BIT(0),
	.infer = infer_where,
	.run = tpi_run_elementwise,
	.kernel_of = 1,
	.kernels = where_kernels,
    },
    {.name = NULL},
};
