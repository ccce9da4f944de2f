/* SPDX-License-Identifier: Apache-2.0 */
/* autograd_kernels.c - elementwise loops that only gradients need */
#include "fn.h"

#include "tp/broadcast.h"
#include "tp/iter.h"

#include "ops/kernel.h"
#include "tensor.h"

#include "banned.h"

#define EXPR_positive(a, b) ((b) > 0 ? (a) : 0)
#define EXPR_signed(a, b) ((b) > 0 ? (a) : (b) < 0 ? -(a) : 0)
#define EXPR_equal(a, b) ((a) == (b) ? 1 : 0)
/* x^0 is constant, even at 0 where x^-1 is not finite. */
#define EXPR_pow_base(a, b) ((b) == 0 ? 0 : (b)*pow(a, (b)-1))
/* 0^b is constant for every b > 0. */
#define EXPR_pow_exponent(a, b) ((a) == 0 && (b) >= 0 ? 0 : pow(a, b) * log(a))

#define BINARY(OP, ID, T, W, LOAD, STORE)                                 \
	static void OP##_##ID(                                            \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		(void)ctx;                                                \
		for (size_t i = 0; i < n; i++) {                          \
			double a =                                        \
			    LOAD(*TPI_CONST_AT(T, data[1], steps[1], i)); \
			double b =                                        \
			    LOAD(*TPI_CONST_AT(T, data[2], steps[2], i)); \
                                                                          \
			*TPI_AT(T, data[0], steps[0], i) =                \
			    STORE(EXPR_##OP(a, b));                       \
		}                                                         \
	}

#define SCALE(OP, ID, T, W, LOAD, STORE)                                   \
	static void OP##_##ID(                                             \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)  \
	{                                                                  \
		double factor = *(const double *)ctx;                      \
                                                                           \
		for (size_t i = 0; i < n; i++)                             \
			*TPI_AT(T, data[0], steps[0], i) = STORE(          \
			    LOAD(*TPI_CONST_AT(T, data[1], steps[1], i)) * \
			    factor);                                       \
	}

TPI_FOREACH_DOUBLE(BINARY, positive)
TPI_FOREACH_DOUBLE(BINARY, signed)
TPI_FOREACH_DOUBLE(BINARY, equal)
TPI_FOREACH_DOUBLE(BINARY, pow_base)
TPI_FOREACH_DOUBLE(BINARY, pow_exponent)
TPI_FOREACH_DOUBLE(SCALE, scale)

#define TABLE(OP)                                      \
	{                                              \
		TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, OP) \
	}

static tp_loop_fn *const binary[][TP_DTYPE_COUNT] = {
    [TPI_GRAD_POSITIVE] = TABLE(positive),
    [TPI_GRAD_SIGNED] = TABLE(signed),
    [TPI_GRAD_EQUAL] = TABLE(equal),
    [TPI_GRAD_POW_BASE] = TABLE(pow_base),
    [TPI_GRAD_POW_EXPONENT] = TABLE(pow_exponent),
};
static tp_loop_fn *const scale[TP_DTYPE_COUNT] = TABLE(scale);

static enum tp_status
run(tp_loop_fn *kernel, void *ctx, const struct tp_tensor *const *in,
    unsigned n_in, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_shape_ref shapes[2];
	int64_t sizes[TP_MAX_RANK];
	struct tp_tensor *y = NULL;
	enum tp_status rc;
	struct tp_iter it;
	unsigned rank = 0;

	*out = NULL;
	if (!kernel)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "gradients of dtype %s", tp_dtype_name(in[0]->dtype));
	for (unsigned k = 0; k < n_in; k++)
		shapes[k] =
		    (struct tp_shape_ref){tp_tensor_sizes(in[k]), in[k]->rank};
	rc = tp_broadcast_shape(shapes, n_in, sizes, &rank, err);
	if (!rc)
		rc = tp_tensor_empty(
		    in[0]->alloc, in[0]->dtype, sizes, rank, &y, err);
	if (!rc)
		rc = tp_iter_init(&it, &y, 1, in, n_in, 0, err);
	if (rc) {
		tp_tensor_free(y);
		return rc;
	}
	tp_iter_run(&it, kernel, ctx);
	*out = y;
	return TP_OK;
}

enum tp_status
tpi_grad_binary(enum tpi_grad_kernel which, const struct tp_tensor *a,
    const struct tp_tensor *b, struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_tensor *in[] = {a, b};

	return run(binary[which][a->dtype], NULL, in, 2, out, err);
}

enum tp_status
tpi_grad_scale(const struct tp_tensor *a, double factor, struct tp_tensor **out,
    struct tp_err *err)
{
	return run(scale[a->dtype], &factor, &a, 1, out, err);
}
