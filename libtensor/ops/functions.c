/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c - exp, log, roots, circular and hyperbolic functions, erf */
#include "elementwise.h"
#include "functions.h"

#include "../banned.h"

#define EXPR_acos(T, W, x) acos((W)(x))
#define EXPR_acosh(T, W, x) acosh((W)(x))
#define EXPR_asin(T, W, x) asin((W)(x))
#define EXPR_asinh(T, W, x) asinh((W)(x))
#define EXPR_atan(T, W, x) atan((W)(x))
#define EXPR_atanh(T, W, x) atanh((W)(x))
#define EXPR_cos(T, W, x) cos((W)(x))
#define EXPR_cosh(T, W, x) cosh((W)(x))
#define EXPR_erf(T, W, x) erf((W)(x))
#define EXPR_exp(T, W, x) exp((W)(x))
#define EXPR_log(T, W, x) log((W)(x))
#define EXPR_sigmoid(T, W, x) tpi_sigmoid(x)
#define EXPR_sin(T, W, x) sin((W)(x))
#define EXPR_sinh(T, W, x) sinh((W)(x))
#define EXPR_sqrt(T, W, x) sqrt((W)(x))
#define EXPR_tan(T, W, x) tan((W)(x))
#define EXPR_tanh(T, W, x) tanh((W)(x))

TPI_TABLE_OF(acos, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(acosh, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(asin, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(asinh, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(atan, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(atanh, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(cos, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(cosh, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(erf, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(exp, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(log, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(sigmoid, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(sin, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(sinh, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(sqrt, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(tan, TPI_UNARY, TPI_FOREACH_DOUBLE);
TPI_TABLE_OF(tanh, TPI_UNARY, TPI_FOREACH_DOUBLE);

const struct tp_op tpi_functions_ops[] = {
    TPI_UNARY_ROW(acos, "Acos", 7),
    TPI_UNARY_ROW(acosh, "Acosh", 9),
    TPI_UNARY_ROW(asin, "Asin", 7),
    TPI_UNARY_ROW(asinh, "Asinh", 9),
    TPI_UNARY_ROW(atan, "Atan", 7),
    TPI_UNARY_ROW(atanh, "Atanh", 9),
    TPI_UNARY_ROW(cos, "Cos", 7),
    TPI_UNARY_ROW(cosh, "Cosh", 9),
    TPI_UNARY_ROW(erf, "Erf", 9),
    TPI_UNARY_ROWS(exp, "Exp"),
    TPI_UNARY_ROWS(log, "Log"),
    TPI_UNARY_ROWS(sigmoid, "Sigmoid"),
    TPI_UNARY_ROW(sin, "Sin", 7),
    TPI_UNARY_ROW(sinh, "Sinh", 9),
    TPI_UNARY_ROWS(sqrt, "Sqrt"),
    TPI_UNARY_ROW(tan, "Tan", 7),
    TPI_UNARY_ROWS(tanh, "Tanh"),
    {.name = NULL},
};
