/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops/: functions of f32 numbers are those of exact arithmetic, rounded
 *
 * References are in long double; where that is no wider than double they say
 * less, and nothing wrong.
 */
#include "support/op_calls.h"

#include <float.h>

#define N 20000

static long double
ref_sigmoid(long double x)
{
	return 1 / (1 + expl(-x));
}

static long double
ref_softplus(long double x)
{
	return x > 40 ? x + expl(-x) : log1pl(expl(x));
}

static long double
ref_mish(long double x)
{
	return x * tanhl(ref_softplus(x));
}

static long double
ref_gelu(long double x)
{
	return x * erfcl(-x / sqrtl(2)) / 2;
}

static long double
ref_swish(long double x)
{
	return x / (1 + expl(-x));
}

static long double
ref_elu(long double x)
{
	return x < 0 ? expm1l(x) : x;
}

static long double
ref_selu(long double x)
{
	return 1.05070102214813232421875L *
	       (x > 0 ? x : 1.67326319217681884765625L * expm1l(x));
}

static long double
ref_hard_swish(long double x)
{
	return x * fmaxl(0, fminl(1, x / 6 + 0.5L));
}

static long double
ref_softsign(long double x)
{
	return x / (1 + fabsl(x));
}

static long double
ref_reciprocal(long double x)
{
	return 1 / x;
}

static const struct {
	const char *onnx;
	long double (*f)(long double x);
	float low, high;
} functions[] = {
    {"Acos", acosl, -1, 1},
    {"Acosh", acoshl, 1, FLT_MAX},
    {"Asin", asinl, -1, 1},
    {"Asinh", asinhl, -FLT_MAX, FLT_MAX},
    {"Atan", atanl, -FLT_MAX, FLT_MAX},
    {"Atanh", atanhl, -1, 1},
    {"Cos", cosl, -1e6f, 1e6f},
    {"Cosh", coshl, -88, 88},
    {"Erf", erfl, -5, 5},
    {"Exp", expl, -100, 88},
    {"Log", logl, 0, FLT_MAX},
    {"Sin", sinl, -1e6f, 1e6f},
    {"Sinh", sinhl, -88, 88},
    {"Sqrt", sqrtl, 0, FLT_MAX},
    {"Tan", tanl, -1e6f, 1e6f},
    {"Tanh", tanhl, -20, 20},
    {"Sigmoid", ref_sigmoid, -100, 100},
    {"Softplus", ref_softplus, -100, 100},
    {"Softsign", ref_softsign, -FLT_MAX, FLT_MAX},
    {"Mish", ref_mish, -80, 80},
    {"Gelu", ref_gelu, -13, 20},
    {"Swish", ref_swish, -80, 80},
    {"Elu", ref_elu, -30, 30},
    {"Celu", ref_elu, -30, 30},
    {"Selu", ref_selu, -30, 30},
    {"HardSwish", ref_hard_swish, -4, 4},
    {"Reciprocal", ref_reciprocal, -FLT_MAX / 4, FLT_MAX / 4},
};

/* Half of them evenly in the range, half of any size that is in it. */
static float
draw(uint64_t *seed, float low, float high)
{
	uint64_t random = next_random(seed);
	uint32_t bits = (uint32_t)(random >> 32);
	float x;

	memcpy(&x, &bits, sizeof(x));
	if (random & 1 || !(x >= low && x <= high))
		x = (float)((double)low + ((double)high - (double)low) *
					      ((double)bits / 0x1p32));
	return x;
}

/* How far from the exact value, in units of the last place there. */
static double
error_of(float got, long double want)
{
	long double unit;
	int exponent;

	if (isinf(got) || isinf(want))
		return fabsl(want) >= 0x1.ffffffp127L ? 0 : (double)INFINITY;
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : (double)INFINITY;
	frexpl(want, &exponent);
	unit = ldexpl(1, (exponent < -125 ? -125 : exponent) - 24);
	return (double)(fabsl((long double)got - want) / unit);
}

static void
functions_of_f32_are_rounded_once(void **state)
{
	const int64_t n = N;

	(void)state;
	for (size_t k = 0; k < COUNT_OF(functions); k++) {
		struct tp_tensor *x = NULL, *in;
		struct tp_value y;
		uint64_t seed = 11 + k;
		double worst = 0;

		RUN(tp_tensor_empty(NULL, TP_DTYPE_F32, &n, 1, &x, err));
		in = x;
		for (int64_t i = 0; i < n; i++)
			((float *)tp_tensor_data_mut(x))[i] =
			    draw(&seed, functions[k].low, functions[k].high);
		RUN(op_try(
		    functions[k].onnx, 26, NO_ATTRS, &in, 1, &y, 1, NULL, err));
		for (int64_t i = 0; i < n; i++) {
			float from = ((const float *)tp_tensor_data(x))[i];
			float got =
			    ((const float *)tp_tensor_data(y.tensor))[i];

			worst = fmax(worst,
			    error_of(got, functions[k].f((long double)from)));
		}
		if (worst > 0.5001) {
			print_error("%s: %g ulp\n", functions[k].onnx, worst);
			fail();
		}
		tp_value_release(&y);
		tp_tensor_free(x);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_of_f32_are_rounded_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
