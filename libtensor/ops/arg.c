/* SPDX-License-Identifier: Apache-2.0 */
/* arg.c - ArgMax, ArgMin: where along an axis the extreme element is */
#include "kernel.h"
#include "rows.h"

#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

/*
 * Kernels of rows.h on the index and x; how is a bool, whether the last of
 * equal ones counts. As in NumPy the extreme is NaN where there is one.
 */
#define ARG(OP, ID, T, W, LOAD, STORE) \
	FIND(arg_max, ID, T, LOAD, >)  \
	FIND(arg_min, ID, T, LOAD, <)
#define FIND(OP, ID, T, LOAD, BEATS)                                      \
	static void OP##_##ID(                                            \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		bool last = *(const bool *)((struct tpi_row *)ctx)->how;  \
		VALUE_##ID best = LOAD(*TPI_CONST_AT(T, data[1], 0, 0));  \
		int64_t found = 0;                                        \
                                                                          \
		for (size_t i = 1; i < n; i++) {                          \
			VALUE_##ID a =                                    \
			    LOAD(*TPI_CONST_AT(T, data[1], steps[1], i)); \
                                                                          \
			if (a BEATS best || (last && a == best) ||        \
			    (a != a && (last || best == best))) {         \
				best = a;                                 \
				found = (int64_t)i;                       \
			}                                                 \
		}                                                         \
		*(int64_t *)(void *)data[0] = found;                      \
	}

/* What an element is compared as. */
#define VALUE_F16 float
#define VALUE_BF16 float
#define VALUE_F32 float
#define VALUE_F64 double
#define VALUE_I8 int8_t
#define VALUE_I16 int16_t
#define VALUE_I32 int32_t
#define VALUE_I64 int64_t
#define VALUE_U8 uint8_t
#define VALUE_U16 uint16_t
#define VALUE_U32 uint32_t
#define VALUE_U64 uint64_t

TPI_FOREACH_ARITH(ARG, )

static tp_loop_fn *const arg_max_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(TPI_KERNEL_ROW, arg_max)};
static tp_loop_fn *const arg_min_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(TPI_KERNEL_ROW, arg_min)};

static enum tp_status
find_axis(const struct tpi_call *c, unsigned *axis, struct tp_err *err)
{
	return tpi_op_axis(
	    c, tpi_attr_int(c, "axis", 0), c->in[0]->rank, axis, err);
}

static enum tp_status
infer_arg(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	bool keep = tpi_attr_int(c, "keepdims", 1) != 0;
	unsigned axis = 0;
	enum tp_status rc = find_axis(c, &axis, err);

	infos[0].dtype = TP_DTYPE_I64;
	infos[0].rank = 0;
	if (rc)
		return rc;
	if (tp_tensor_sizes(x)[axis] == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: axis %u of shape %s has no element", c->op->onnx, axis,
		    TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	for (unsigned d = 0; d < x->rank; d++)
		if (d != axis)
			infos[0].sizes[infos[0].rank++] = tp_tensor_sizes(x)[d];
		else if (keep)
			infos[0].sizes[infos[0].rank++] = 1;
	return TP_OK;
}

static enum tp_status
run_arg(struct tpi_call *c, struct tp_err *err)
{
	bool last = tpi_attr_int(c, "select_last_index", 0) != 0;
	struct tp_tensor *kept = NULL;
	unsigned axis = 0;
	enum tp_status rc = find_axis(c, &axis, err);

	if (!rc && c->out[0]->rank < c->in[0]->rank)
		rc = tp_tensor_unsqueeze(c->out[0], (int)axis, &kept, err);
	if (!rc) {
		struct tpi_rows rows = {
		    .kernel = c->kernel,
		    .how = &last,
		    .operands = {kept ? kept : c->out[0], c->in[0]},
		    .n_written = 1,
		    .n_operands = 2,
		    .axis = axis,
		    .n = tp_tensor_sizes(c->in[0])[axis],
		};

		rc = tpi_rows_run(c, &rows, err);
	}
	tp_tensor_free(kept);
	return rc;
}

static const struct tpi_attr_spec attrs_1[] = {
    {"axis", TP_ATTR_INT}, {"keepdims", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec attrs_12[] = {{"axis", TP_ATTR_INT},
    {"keepdims", TP_ATTR_INT}, {"select_last_index", TP_ATTR_INT}, {NULL, 0}};

#define ROW(c_name, onnx_name, from, to)                                 \
	{                                                                \
		.name = #c_name, .onnx = onnx_name, .since = from,       \
		.until = to, .min_in = 1, .max_in = 1, .min_out = 1,     \
		.max_out = 1, .attrs = attrs_##from, .infer = infer_arg, \
		.run = run_arg, .kernels = c_name##_kernels              \
	}

const struct tp_op tpi_arg_ops[] = {
    ROW(arg_max, "ArgMax", 12, 0),
    ROW(arg_max, "ArgMax", 1, 11),
    ROW(arg_min, "ArgMin", 12, 0),
    ROW(arg_min, "ArgMin", 1, 11),
    {.name = NULL},
};
