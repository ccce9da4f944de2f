/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unary.c - what needs no function of the C library: signs, whole numbers, and
 * questions with a bool for an answer
 */
#include "elementwise.h"

#include "tp/convert.h"

#include "../banned.h"

#define EXPR_reciprocal(T, W, x) ((W)1 / (W)(x))
/* NaN stays NaN. */
#define EXPR_relu(T, W, x) ((x) < 0 ? (W)0 : (W)(x))
#define EXPR_negf(T, W, x) (-(W)(x))
#define EXPR_neg(T, W, x) ((W)0 - (W)(x))
#define EXPR_absf(T, W, x) ((W)fabs((double)(x)))
#define EXPR_abs(T, W, x) ((x) < 0 ? (W)0 - (W)(x) : (W)(x))
#define EXPR_same(T, W, x) ((W)(x))
#define EXPR_signf(T, W, x) \
	((x) != (x) ? (W)(x) : (W)((int)((x) > 0) - (int)((x) < 0)))
#define EXPR_sign(T, W, x) ((W)((x) > 0) - (W)((x) < 0))
#define EXPR_signu(T, W, x) ((W)((x) > 0))
#define EXPR_round(T, W, x) round_##W(x)
#define EXPR_floor(T, W, x) floor_##W(x)
#define EXPR_ceil(T, W, x) ceil_##W(x)
#define EXPR_is_nan(T, W, x) ((x) != (x))
/* p.a and p.b: is the positive one asked for, the negative? */
#define EXPR_is_inf(T, W, x) \
	((x) == (W)INFINITY ? p.a != 0 : (x) == -(W)INFINITY ? p.b != 0 : false)

/*
 * To nearest even: from 2^23 (2^52) on there are no fractions, so adding that
 * much rounds them away. Down and up are one step from there. Signs stay, those
 * of zeros too. All of it in instructions that any vector unit has.
 */
#define WHOLE_NUMBERS(W, LIMIT, SIGN, ABS)                   \
	TPI_INLINE W round_##W(W x)                          \
	{                                                    \
		W a = ABS(x), whole = (a + LIMIT) - LIMIT;   \
                                                             \
		return a < LIMIT ? SIGN(whole, x) : x;       \
	}                                                    \
	TPI_INLINE W floor_##W(W x)                          \
	{                                                    \
		W whole = round_##W(x);                      \
                                                             \
		return SIGN(whole - (whole > x ? 1 : 0), x); \
	}                                                    \
	TPI_INLINE W ceil_##W(W x)                           \
	{                                                    \
		W whole = round_##W(x);                      \
                                                             \
		return SIGN(whole + (whole < x ? 1 : 0), x); \
	}
WHOLE_NUMBERS(float, 0x1p23f, copysignf, fabsf)
WHOLE_NUMBERS(double, 0x1p52, copysign, fabs)

/* Floats of 8 bits, which are only asked what they are. */
#define DEFINE_LOAD(ID)                                      \
	TPI_INLINE double load_##ID(uint8_t code)            \
	{                                                    \
		return tp_load_f64(TP_DTYPE_##ID, &code, 0); \
	}
DEFINE_LOAD(F8E4M3FN)
DEFINE_LOAD(F8E5M2)
DEFINE_LOAD(F8E4M3FNUZ)
DEFINE_LOAD(F8E5M2FNUZ)
DEFINE_LOAD(F8E8M0)

/* clang-format off */
#define FOREACH_F8(X, A) \
	X(A, F8E4M3FN,   uint8_t, double, load_F8E4M3FN,   TPI_ST_u8) \
	X(A, F8E5M2,     uint8_t, double, load_F8E5M2,     TPI_ST_u8) \
	X(A, F8E4M3FNUZ, uint8_t, double, load_F8E4M3FNUZ, TPI_ST_u8) \
	X(A, F8E5M2FNUZ, uint8_t, double, load_F8E5M2FNUZ, TPI_ST_u8) \
	X(A, F8E8M0,     uint8_t, double, load_F8E8M0,     TPI_ST_u8)
/* clang-format on */
#define FOREACH_ASKED(X, A) TPI_FOREACH_FLOAT(X, A) FOREACH_F8(X, A)

#define ASK(OP, ID, T, W, LOAD, STORE)                           \
	TPI_UNARY_KERNEL(OP, ID, uint8_t, T, W, LOAD, TPI_ST_u8, \
	    const struct tpi_params p = *(const struct tpi_params *)ctx)
#define ASK_PLAIN(OP, ID, T, W, LOAD, STORE) \
	TPI_UNARY_KERNEL(OP, ID, uint8_t, T, W, LOAD, TPI_ST_u8, (void)ctx)

TPI_TABLE_OF(reciprocal, TPI_UNARY, TPI_FOREACH_FLOAT);
TPI_TABLE_OF(round, TPI_UNARY, TPI_FOREACH_FLOAT);
TPI_TABLE_OF(floor, TPI_UNARY, TPI_FOREACH_FLOAT);
TPI_TABLE_OF(ceil, TPI_UNARY, TPI_FOREACH_FLOAT);
TPI_TABLE_OF(is_nan, ASK_PLAIN, FOREACH_ASKED);
TPI_TABLE_OF(is_inf, ASK, FOREACH_ASKED);

TPI_FOREACH_FLOAT(TPI_UNARY, relu)
TPI_FOREACH_SIGNED(TPI_UNARY, relu)
TPI_FOREACH_UNSIGNED(TPI_UNARY, same)
TPI_TABLE(relu) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, relu) TPI_FOREACH_SIGNED(
    TPI_KERNEL_ROW, relu) TPI_FOREACH_UNSIGNED(TPI_KERNEL_ROW, same)};

TPI_FOREACH_FLOAT(TPI_UNARY, negf)
TPI_FOREACH_SIGNED(TPI_UNARY, neg)
TPI_TABLE(neg) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, negf)
	TPI_FOREACH_SIGNED(TPI_KERNEL_ROW, neg)};

TPI_FOREACH_FLOAT(TPI_UNARY, absf)
TPI_FOREACH_SIGNED(TPI_UNARY, abs)
TPI_TABLE(abs) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, absf) TPI_FOREACH_SIGNED(
    TPI_KERNEL_ROW, abs) TPI_FOREACH_UNSIGNED(TPI_KERNEL_ROW, same)};

TPI_FOREACH_FLOAT(TPI_UNARY, signf)
TPI_FOREACH_SIGNED(TPI_UNARY, sign)
TPI_FOREACH_UNSIGNED(TPI_UNARY, signu)
TPI_TABLE(sign) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, signf) TPI_FOREACH_SIGNED(
    TPI_KERNEL_ROW, sign) TPI_FOREACH_UNSIGNED(TPI_KERNEL_ROW, signu)};

static enum tp_status
infer_bool(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc = tpi_infer_same(c, infos, err);

	infos[0].dtype = TP_DTYPE_BOOL;
	return rc;
}

static const struct tpi_attr_spec inf_attrs[] = {
    {"detect_negative", TP_ATTR_INT},
    {"detect_positive", TP_ATTR_INT},
    {NULL, 0},
};

static enum tp_status
run_is_inf(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_params p = {
	    .a = tpi_attr_int(c, "detect_positive", 1) ? 1 : 0,
	    .b = tpi_attr_int(c, "detect_negative", 1) ? 1 : 0,
	};

	return tpi_run_elementwise_with(c, &p, err);
}

const struct tp_op tpi_unary_ops[] = {
    TPI_UNARY_ROWS(reciprocal, "Reciprocal"),
    TPI_UNARY_ROWS(relu, "Relu"),
    TPI_UNARY_ROWS(neg, "Neg"),
    TPI_UNARY_ROWS(abs, "Abs"),
    TPI_UNARY_ROWS(floor, "Floor"),
    TPI_UNARY_ROWS(ceil, "Ceil"),
    TPI_UNARY_ROW(round, "Round", 11),
    TPI_UNARY_ROW(sign, "Sign", 9),
    TPI_ELEMENTWISE_ROW("is_nan", "IsNaN", 1, 9, 0, NULL, infer_bool,
	tpi_run_elementwise, is_nan_kernels),
    TPI_ELEMENTWISE_ROW("is_inf", "IsInf", 1, 10, 0, inf_attrs, infer_bool,
	run_is_inf, is_inf_kernels),
    {.name = NULL},
};
