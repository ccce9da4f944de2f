/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activation.c - functions of one number with up to two parameters
 *
 * Each is computed in double throughout and rounded once. Defaults are the f32
 * that ONNX's schemas say.
 */
#include "elementwise.h"
#include "functions.h"

#include "../banned.h"

#define EXPR_leaky_relu(T, W, x) ((x) < 0 ? p.a * (x) : (x))
#define EXPR_elu(T, W, x) ((x) < 0 ? p.a * expm1(x) : (x))
#define EXPR_celu(T, W, x) celu(x, p.a)
#define EXPR_selu(T, W, x) (p.b * ((x) > 0 ? (x) : p.a * expm1(x)))
#define EXPR_thresholded_relu(T, W, x) ((x) > p.a ? (x) : 0)
#define EXPR_hard_sigmoid(T, W, x) unit(p.a *(x) + p.b)
#define EXPR_hard_swish(T, W, x) hard_swish(x)
#define EXPR_softplus(T, W, x) tpi_softplus(x)
#define EXPR_softsign(T, W, x) softsign(x)
#define EXPR_mish(T, W, x) mish(x)
#define EXPR_swish(T, W, x) tpi_swish(x, p.a)
#define EXPR_gelu(T, W, x) (p.a != 0 ? tpi_gelu_tanh(x) : tpi_gelu(x))
#define EXPR_affine(T, W, x) (p.a * (x) + p.b)
#define EXPR_parametric_softplus(T, W, x) (p.a * tpi_softplus(p.b * (x)))
#define EXPR_scaled_tanh(T, W, x) (p.a * tanh(p.b * (x)))
#define EXPR_shrinkf(T, W, x) ((x) < -p.a ? (x) + p.b : (x) > p.a ? (x)-p.b : 0)
#define EXPR_shrink(T, W, x) ((W)shrink_whole((uint64_t)(x), (double)(x), p))

/* max(0, x) + min(0, a (e^(x / a) - 1)); NaN stays NaN. */
TPI_INLINE double
celu(double x, double a)
{
	double low = a * expm1(x / a);

	return (x <= 0 ? 0 : x) + (low > 0 ? 0 : low);
}

TPI_INLINE double
unit(double x)
{
	return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* x unit(x / 6 + 1/2); x + 3 is exact where the result is small. */
TPI_INLINE double
hard_swish(double x)
{
	return x <= -3 ? 0 : x * unit((x + 3) * (1.0 / 6));
}

TPI_INLINE double
softsign(double x)
{
	return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}

TPI_INLINE double
mish(double x)
{
	double t = tanh(tpi_softplus(x));

	return t == 0 ? -0.0 : x * t;
}

/* Whole numbers: exact where the bias is whole, else cut. */
static uint64_t
shrink_whole(uint64_t x, double value, struct tpi_params p)
{
	double bias = value < -p.a ? p.b : -p.b;

	if (!(value < -p.a) && !(value > p.a))
		return 0;
	if (fabs(bias) < 0x1p63 && trunc(bias) == bias)
		return x + tpi_cut(bias);
	return tpi_cut(value + bias);
}

/*
 *	X(op, parameter, default)
 *	X(op, parameter, default, second, default)
 */
/* clang-format off */
#define ONE_PARAMETER(X) \
	X(leaky_relu,       "alpha", 0.01f) \
	X(elu,              "alpha", 1)     \
	X(celu,             "alpha", 1)     \
	X(thresholded_relu, "alpha", 1)     \
	X(swish,            "alpha", 1)
#define TWO_PARAMETERS(X) \
	X(hard_sigmoid,        "alpha", 0.2f,    "beta",  0.5) \
	X(shrink,              "lambd", 0.5,     "bias",  0)   \
	X(affine,              "alpha", 1,       "beta",  0)   \
	X(parametric_softplus, "alpha", 1,       "beta",  1)   \
	X(scaled_tanh,         "alpha", 1,       "beta",  1)   \
	X(selu_1,              "alpha", 1.6732f, "gamma", 1.0507f) \
	X(selu,                "alpha", 1.67326319217681884765625f, \
	    "gamma", 1.05070102214813232421875f)
/* clang-format on */

/* The first is of opset 1 alone; later rows begin with the second. */
#define DEFINE_ONE(op, name, value)                                            \
	static const struct tpi_attr_spec op##_attrs[] = {                     \
	    {"consumed_inputs", TP_ATTR_INTS}, {name, TP_ATTR_FLOAT},          \
	    {NULL, 0}};                                                        \
	static enum tp_status run_##op(struct tpi_call *c, struct tp_err *err) \
	{                                                                      \
		struct tpi_params p = {                                        \
		    .a = tpi_attr_float(c, name, (double)(value))};            \
                                                                               \
		return tpi_run_elementwise_with(c, &p, err);                   \
	}
#define DEFINE_TWO(op, name_a, value_a, name_b, value_b)                       \
	static const struct tpi_attr_spec op##_attrs[] = {                     \
	    {"consumed_inputs", TP_ATTR_INTS}, {name_a, TP_ATTR_FLOAT},        \
	    {name_b, TP_ATTR_FLOAT}, {NULL, 0}};                               \
	static enum tp_status run_##op(struct tpi_call *c, struct tp_err *err) \
	{                                                                      \
		struct tpi_params p = {                                        \
		    .a = tpi_attr_float(c, name_a, (double)(value_a)),         \
		    .b = tpi_attr_float(c, name_b, (double)(value_b)),         \
		};                                                             \
                                                                               \
		return tpi_run_elementwise_with(c, &p, err);                   \
	}
ONE_PARAMETER(DEFINE_ONE)
TWO_PARAMETERS(DEFINE_TWO)

TPI_TABLE_OF(leaky_relu, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(elu, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(celu, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(selu, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(thresholded_relu, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(hard_sigmoid, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(hard_swish, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(softplus, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(softsign, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(mish, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(swish, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(gelu, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(affine, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(parametric_softplus, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(scaled_tanh, TPI_PARAM_UNARY, TPI_FOREACH_DOUBLE);

TPI_FOREACH_DOUBLE(TPI_PARAM_UNARY, shrinkf)
TPI_FOREACH_INT(TPI_PARAM_UNARY, shrink)
TPI_TABLE(shrink) = {TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, shrinkf)
	TPI_FOREACH_INT(TPI_KERNEL_ROW, shrink)};

static const struct tpi_attr_spec gelu_attrs[] = {
    {"approximate", TP_ATTR_STRING}, {NULL, 0}};

static enum tp_status
run_gelu(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "approximate");
	struct tp_str how = a ? a->s : TP_STR("none");
	struct tpi_params p = {.a = tp_str_cmp(how, TP_STR("tanh")) == 0};

	if (p.a == 0 && tp_str_cmp(how, TP_STR("none")) != 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: approximate '%s', expected none or tanh", c->op->onnx,
		    TP_BRIEF(how));
	return tpi_run_elementwise_with(c, &p, err);
}

#define ROW(op, onnx_name, FROM, TO, attrs)                     \
	TPI_ELEMENTWISE_ROW(#op, onnx_name, 1, FROM, TO, attrs, \
	    tpi_infer_same, run_##op, op##_kernels)
#define ROWS(op, onnx_name)                       \
	ROW(op, onnx_name, 6, 0, op##_attrs + 1), \
	    ROW(op, onnx_name, 1, 5, op##_attrs)

const struct tp_op tpi_activation_ops[] = {
    ROWS(leaky_relu, "LeakyRelu"),
    ROWS(elu, "Elu"),
    ROWS(hard_sigmoid, "HardSigmoid"),
    ROW(selu, "Selu", 6, 0, selu_attrs + 1),
    TPI_ELEMENTWISE_ROW("selu", "Selu", 1, 1, 5, selu_1_attrs, tpi_infer_same,
	run_selu_1, selu_kernels),
    ROW(celu, "Celu", 12, 0, celu_attrs + 1),
    ROW(shrink, "Shrink", 9, 0, shrink_attrs + 1),
    ROW(swish, "Swish", 24, 0, swish_attrs + 1),
    ROW(gelu, "Gelu", 20, 0, gelu_attrs),
    /* In opset 1 as an experiment, as the three below. */
    ROW(thresholded_relu, "ThresholdedRelu", 1, 0, thresholded_relu_attrs + 1),
    ROW(affine, "Affine", 1, 9, affine_attrs + 1),
    ROW(parametric_softplus, "ParametricSoftplus", 1, 9,
	parametric_softplus_attrs + 1),
    ROW(scaled_tanh, "ScaledTanh", 1, 9, scaled_tanh_attrs + 1),
    TPI_UNARY_ROW(hard_swish, "HardSwish", 14),
    TPI_UNARY_ROW(softplus, "Softplus", 1),
    TPI_UNARY_ROW(softsign, "Softsign", 1),
    TPI_UNARY_ROW(mish, "Mish", 18),
    {.name = NULL},
};
