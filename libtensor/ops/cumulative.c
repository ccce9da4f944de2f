/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumulative.c - CumSum, CumProd: each element is the sum or the product of
 * those up to it
 */
#include "kernel.h"
#include "rows.h"

#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

/*
 * Kernels of rows.h on y and x; how is a bool, whether an element is left out
 * of its own sum. A sum begins with -0, which changes no number, but what is
 * shown of it is 0.
 */
#define CUMULATE(OP, ID, T, LOAD, STORE, TYPE, FIRST, BEGIN, NEXT)            \
	static void OP##_##ID(                                                \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)     \
	{                                                                     \
		bool exclusive = *(const bool *)((struct tpi_row *)ctx)->how; \
		TYPE a = exclusive ? FIRST : BEGIN;                           \
                                                                              \
		for (size_t i = 0; i < n; i++) {                              \
			TYPE x = (TYPE)LOAD(                                  \
			    *TPI_CONST_AT(T, data[1], steps[1], i));          \
			TYPE before = a;                                      \
                                                                              \
			a = NEXT;                                             \
			*TPI_AT(T, data[0], steps[0], i) =                    \
			    STORE(exclusive ? before : a);                    \
		}                                                             \
	}

#define CUMULATE_F(OP, ID, T, W, LOAD, STORE)                         \
	CUMULATE(cum_sum, ID, T, LOAD, STORE, double, 0, -0.0, a + x) \
	CUMULATE(cum_prod, ID, T, LOAD, STORE, double, 1, 1, a *x)
#define CUMULATE_I(OP, ID, T, W, LOAD, STORE)                        \
	CUMULATE(cum_sum, ID, T, LOAD, STORE, uint64_t, 0, 0, a + x) \
	CUMULATE(cum_prod, ID, T, LOAD, STORE, uint64_t, 1, 1, a *x)
#define CUMULATE_U(OP, ID, T, W, LOAD, STORE) \
	CUMULATE_I(OP, ID, T, W, LOAD, (T))

TPI_FOREACH_DOUBLE(CUMULATE_F, )
TPI_FOREACH_SIGNED(CUMULATE_I, )
TPI_FOREACH_UNSIGNED(CUMULATE_U, )

static tp_loop_fn *const cum_sum_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(TPI_KERNEL_ROW, cum_sum)};
static tp_loop_fn *const cum_prod_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_ARITH(TPI_KERNEL_ROW, cum_prod)};

static enum tp_status
find_axis(const struct tpi_call *c, unsigned *axis, struct tp_err *err)
{
	int64_t list[TP_MAX_RANK];
	bool given = false;
	size_t n = 0;
	enum tp_status rc = tpi_int_list(c, "axis", 1, list, &n, &given, err);

	if (!rc && n != 1)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: axis has %zu elements, expected 1", c->op->onnx, n);
	return rc ? rc : tpi_op_axis(c, list[0], c->in[0]->rank, axis, err);
}

static enum tp_status
infer_cumulative(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	unsigned axis = 0;

	infos[0] = tpi_info_of(c->in[0]);
	return find_axis(c, &axis, err);
}

static enum tp_status
run_cumulative(struct tpi_call *c, struct tp_err *err)
{
	bool exclusive = tpi_attr_int(c, "exclusive", 0) != 0;
	struct tp_tensor *x = NULL, *y = NULL;
	unsigned axis = 0;
	enum tp_status rc = find_axis(c, &axis, err);

	/* From the end: the same on what is turned round. */
	if (!rc && tpi_attr_int(c, "reverse", 0)) {
		rc = tp_tensor_flip(c->in[0], (int)axis, &x, err);
		if (!rc)
			rc = tp_tensor_flip(c->out[0], (int)axis, &y, err);
	}
	if (!rc) {
		struct tpi_rows rows = {
		    .kernel = c->kernel,
		    .how = &exclusive,
		    .operands = {y ? y : c->out[0], x ? x : c->in[0]},
		    .n_written = 1,
		    .n_operands = 2,
		    .axis = axis,
		    .n = tp_tensor_sizes(c->in[0])[axis],
		};

		rc = tpi_rows_run(c, &rows, err);
	}
	tp_tensor_free(x);
	tp_tensor_free(y);
	return rc;
}

static const struct tpi_attr_spec attrs[] = {
    {"exclusive", TP_ATTR_INT}, {"reverse", TP_ATTR_INT}, {NULL, 0}};

#define ROW(c_name, onnx_name, from)                                  \
	{                                                             \
		.name = #c_name, .onnx = onnx_name, .since = from,    \
		.min_in = 2, .max_in = 2, .min_out = 1, .max_out = 1, \
		.attrs = attrs, .infer = infer_cumulative,            \
		.run = run_cumulative, .kernels = c_name##_kernels    \
	}

const struct tp_op tpi_cumulative_ops[] = {
    ROW(cum_sum, "CumSum", 11),
    ROW(cum_prod, "CumProd", 26),
    {.name = NULL},
};
