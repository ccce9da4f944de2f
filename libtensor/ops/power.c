/* SPDX-License-Identifier: Apache-2.0 */
/*
 * power.c - Pow: the dtype of the result is that of the base
 *
 * Exponents of another dtype are brought to i64 where both are integers, else
 * to f64; the kernels are chosen by the dtype of the base.
 */
#include "elementwise.h"
#include "old_broadcast.h"

#include <limits.h>

#include "tp/broadcast.h"
#include "tp/layout.h"

#include "../tensor.h"

#include "../banned.h"

/* Square and multiply, modulo 2^64; a negative exponent is 1 / x^-e, cut. */
static uint64_t
integer_power(uint64_t x, bool is_minus_one, int64_t e)
{
	uint64_t y = 1;

	if (e < 0) {
		if (x == 1)
			return 1;
		return is_minus_one ? (e % 2 ? x : 1) : 0;
	}
	for (; e > 0; e /= 2) {
		if (e % 2)
			y *= x;
		x *= x;
	}
	return y;
}

#define POW(OP, ID, T, W, LOAD, STORE)                                       \
	static void OP##_##ID(                                               \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)    \
	{                                                                    \
		(void)ctx;                                                   \
		for (size_t i = 0; i < n; i++) {                             \
			W x = LOAD(*TPI_CONST_AT(T, data[1], steps[1], i));  \
			double e =                                           \
			    *TPI_CONST_AT(double, data[2], steps[2], i);     \
                                                                             \
			*TPI_AT(T, data[0], steps[0], i) = STORE(pow(x, e)); \
		}                                                            \
	}

/* Exponents f64 for pow_, i64 for ipow_. */
#define INT_POW(OP, ID, T, W, LOAD, STORE)                                \
	static void OP##_##ID(                                            \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		(void)ctx;                                                \
		for (size_t i = 0; i < n; i++) {                          \
			T x = *TPI_CONST_AT(T, data[1], steps[1], i);     \
			double e =                                        \
			    *TPI_CONST_AT(double, data[2], steps[2], i);  \
                                                                          \
			*TPI_AT(T, data[0], steps[0], i) =                \
			    STORE((W)tpi_cut(pow((double)x, e)));         \
		}                                                         \
	}                                                                 \
	static void i##OP##_##ID(                                         \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		(void)ctx;                                                \
		for (size_t i = 0; i < n; i++) {                          \
			T x = *TPI_CONST_AT(T, data[1], steps[1], i);     \
			int64_t e =                                       \
			    *TPI_CONST_AT(int64_t, data[2], steps[2], i); \
                                                                          \
			*TPI_AT(T, data[0], steps[0], i) =                \
			    STORE((W)integer_power(                       \
				(uint64_t)x, x < 1 && x == (T)-1, e));    \
		}                                                         \
	}

TPI_FOREACH_DOUBLE(POW, pow)
TPI_FOREACH_INT(INT_POW, pow)

static tp_loop_fn *const pow_kernels[TP_DTYPE_COUNT] = {TPI_FOREACH_DOUBLE(
    TPI_KERNEL_ROW, pow) TPI_FOREACH_INT(TPI_KERNEL_ROW, pow)};
static tp_loop_fn *const ipow_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_INT(TPI_KERNEL_ROW, ipow)};

static enum tp_status
infer_pow(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *e = c->in[1];
	const struct tp_shape_ref shapes[] = {
	    {tp_tensor_sizes(x), x->rank}, {tp_tensor_sizes(e), e->rank}};

	if (!tp_op_takes(c->op, e->dtype))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: exponents of dtype %s", c->op->onnx,
		    tp_dtype_name(e->dtype));
	if (c->op->until && e->dtype != x->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 1 has dtype %s, input 0 has %s", c->op->onnx,
		    tp_dtype_name(e->dtype), tp_dtype_name(x->dtype));
	infos[0].dtype = x->dtype;
	return tp_broadcast_shape(
	    shapes, 2, infos[0].sizes, &infos[0].rank, err);
}

static enum tp_status
run_pow(struct tpi_call *c, struct tp_err *err)
{
	bool whole =
	    tpi_is_integer(c->in[0]->dtype) && tpi_is_integer(c->in[1]->dtype);
	enum tp_dtype dtype = whole ? TP_DTYPE_I64 : TP_DTYPE_F64;
	const struct tp_tensor *e = c->in[1];
	struct tp_tensor *wide = NULL;
	enum tp_status rc = TP_OK;

	if (whole)
		c->kernel = ipow_kernels[c->in[0]->dtype];
	if (e->dtype != dtype) {
		rc = tpi_op_temp(
		    c, dtype, tp_tensor_sizes(e), e->rank, &wide, err);
		if (!rc)
			rc = tp_tensor_assign(
			    wide, e, TP_OVERFLOW_SATURATE, err);
		c->in[1] = wide;
	}
	if (!rc)
		rc = tpi_run_elementwise(c, err);
	c->in[1] = e;
	tp_tensor_free(wide);
	return rc;
}

static enum tp_status
run_old_pow(struct tpi_call *c, struct tp_err *err)
{
	return tpi_run_aligned(c, run_pow, err);
}

#define ROW(FROM, TO, ATTRS, INFER, RUN) \
	TPI_ELEMENTWISE_ROW(             \
	    "pow", "Pow", 2, FROM, TO, ATTRS, INFER, RUN, pow_kernels)

const struct tp_op tpi_power_ops[] = {
    ROW(12, 0, NULL, infer_pow, run_pow),
    ROW(7, 11, NULL, infer_pow, run_pow),
    ROW(1, 6, tpi_old_broadcast_attrs, tpi_infer_old_broadcast, run_old_pow),
    {.name = NULL},
};
