/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.c: the text of arrays as NumPy 1.24 wrote it, and what NumPy has not:
 * other dtypes, tensor(...), shape=, writers that fail
 */
#include "support/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/print.h"
#include "tp/view.h"

struct print_case {
	enum tp_dtype dtype;
	unsigned rank;
	int64_t sizes[4];
	const char *name, *dtype_text;
	const char *want;
	/* The elements: codes, or values, or i * step. */
	double step;
	uint64_t codes[2];
	double values[12];
};

/* clang-format off */
static const struct print_case cases[] = {
    {TP_DTYPE_F64, 0, {0}, NULL, NULL,
	"0.3333333333333333",
	.values = {0.3333333333333333}},
    {TP_DTYPE_F64, 0, {0}, NULL, NULL,
	"1.0",
	.values = {1}},
    {TP_DTYPE_F64, 0, {0}, NULL, NULL,
	"1e+16",
	.values = {1e+16}},
    {TP_DTYPE_F64, 0, {0}, NULL, NULL,
	"1e-05",
	.values = {1e-05}},
    {TP_DTYPE_F64, 0, {0}, NULL, NULL,
	"-0.0",
	.values = {-0.0}},
    {TP_DTYPE_F64, 0, {0}, NULL, NULL,
	"nan",
	.values = {NAN}},
    {TP_DTYPE_F64, 0, {0}, NULL, NULL,
	"-inf",
	.values = {-INFINITY}},
    {TP_DTYPE_F64, 0, {0}, "array", NULL,
	"array(0.33333333)",
	.values = {0.3333333333333333}},
    {TP_DTYPE_F64, 0, {0}, "array", NULL,
	"array(5.)",
	.values = {5}},
    {TP_DTYPE_F32, 0, {0}, NULL, NULL,
	"0.1",
	.values = {0.10000000149011612}},
    {TP_DTYPE_F16, 0, {0}, NULL, NULL,
	"65500.0",
	.values = {65504}},
    {TP_DTYPE_F32, 0, {0}, NULL, NULL,
	"10000000000.0",
	.values = {10000000000}},
    {TP_DTYPE_F64, 1, {0}, NULL, NULL,
	"[]",
	.values = {0}},
    {TP_DTYPE_F32, 1, {0}, "array", "float32",
	"array([], dtype=float32)",
	.values = {0}},
    {TP_DTYPE_F64, 3, {2, 0, 3}, NULL, NULL,
	"[]",
	.values = {0}},
    {TP_DTYPE_F32, 3, {2, 0, 3}, "array", "float32",
	"array([], shape=(2, 0, 3), dtype=float32)",
	.values = {0}},
    {TP_DTYPE_F64, 1, {3}, NULL, NULL,
	"[1. 2. 3.]",
	.values = {1, 2, 3}},
    {TP_DTYPE_F32, 1, {3}, "array", "float32",
	"array([ 1. ,  2.5, -3. ], dtype=float32)",
	.values = {1, 2.5, -3}},
    {TP_DTYPE_F64, 1, {3}, NULL, NULL,
	"[  0.1    0.25 100.  ]",
	.values = {0.1, 0.25, 100}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[1.e+08 1.e+00]",
	.values = {100000000, 1}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[99999999.   100000.]",
	.values = {99999999, 100000}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[1.e-04 1.e+00]",
	.values = {0.0001, 1}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[9.9e-05 1.0e-02]",
	.values = {9.9e-05, 0.01}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[1000.    1.]",
	.values = {1000, 1}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[1.001e+03 1.000e+00]",
	.values = {1001, 1}},
    {TP_DTYPE_F64, 1, {3}, NULL, NULL,
	"[1.e+100 1.e-100 1.e+000]",
	.values = {1e+100, 1e-100, 1}},
    {TP_DTYPE_F64, 1, {3}, NULL, NULL,
	"[0.33333333 0.66666667 1.        ]",
	.values = {0.3333333333333333, 0.6666666666666666, 1}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[1.23456789e+05 5.00000000e-01]",
	.values = {123456.789, 0.5}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[ 0. -0.]",
	.values = {0, -0.0}},
    {TP_DTYPE_F64, 1, {4}, NULL, NULL,
	"[ nan   1.  inf -inf]",
	.values = {NAN, 1, INFINITY, -INFINITY}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[nan nan]",
	.values = {NAN, NAN}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[ inf -inf]",
	.values = {INFINITY, -INFINITY}},
    {TP_DTYPE_F64, 1, {3}, NULL, NULL,
	"[   nan 1.e+10   -inf]",
	.values = {NAN, 10000000000, -INFINITY}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[-1.5  2. ]",
	.values = {-1.5, 2}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[5.e-324 1.e+000]",
	.values = {5e-324, 1}},
    {TP_DTYPE_F64, 1, {1}, NULL, NULL,
	"[1.79769313e+308]",
	.values = {1.7976931348623157e+308}},
    {TP_DTYPE_F64, 1, {1}, NULL, NULL,
	"[5.68434189e-14]",
	.values = {5.684341886080802e-14}},
    {TP_DTYPE_F32, 1, {2}, NULL, NULL,
	"[1.6777216e+07 1.0000000e-01]",
	.values = {16777216, 0.10000000149011612}},
    {TP_DTYPE_F32, 1, {1}, NULL, NULL,
	"[0.33333334]",
	.values = {0.3333333432674408}},
    {TP_DTYPE_F32, 1, {2}, NULL, NULL,
	"[3.4028235e+38 1.0000000e+00]",
	.values = {3.4028234663852886e+38, 1}},
    {TP_DTYPE_F32, 1, {1}, NULL, NULL,
	"[1.1754944e-38]",
	.values = {1.1754943508222875e-38}},
    {TP_DTYPE_F32, 1, {1}, NULL, NULL,
	"[1.e-45]",
	.values = {1.401298464324817e-45}},
    {TP_DTYPE_F16, 1, {3}, NULL, NULL,
	"[0.3333 0.1    2.    ]",
	.values = {0.333251953125, 0.0999755859375, 2}},
    {TP_DTYPE_F16, 1, {2}, NULL, NULL,
	"[6.55e+04 1.00e+00]",
	.values = {65504, 1}},
    {TP_DTYPE_F16, 1, {2}, NULL, NULL,
	"[6.0e-08 6.1e-05]",
	.values = {5.960464477539063e-08, 6.097555160522461e-05}},
    {TP_DTYPE_F16, 1, {2}, NULL, NULL,
	"[1.e-04 1.e+00]",
	.values = {0.00010001659393310547, 1}},
    {TP_DTYPE_F16, 1, {2}, NULL, NULL,
	"[1000.    1.]",
	.values = {1000, 1}},
    {TP_DTYPE_F16, 1, {2}, NULL, NULL,
	"[3.586e+03 9.429e-05]",
	.values = {3586, 9.429454803466797e-05}},
    {TP_DTYPE_F64, 2, {2, 3}, "array", NULL,
	"array([[1., 2., 3.],\n"
	"       [4., 5., 6.]])",
	.values = {1, 2, 3, 4, 5, 6}},
    {TP_DTYPE_F32, 2, {2, 3}, "array", "float32",
	"array([[99.,  2.,  3.],\n"
	"       [ 4.,  5.,  6.]], dtype=float32)",
	.values = {99, 2, 3, 4, 5, 6}},
    {TP_DTYPE_F64, 3, {2, 2, 2}, NULL, NULL,
	"[[[0.   0.25]\n"
	"  [0.5  0.75]]\n"
	"\n"
	" [[1.   1.25]\n"
	"  [1.5  1.75]]]",
	.values = {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75}},
    {TP_DTYPE_F64, 3, {2, 2, 2}, "array", NULL,
	"array([[[0.  , 0.25],\n"
	"        [0.5 , 0.75]],\n"
	"\n"
	"       [[1.  , 1.25],\n"
	"        [1.5 , 1.75]]])",
	.values = {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75}},
    {TP_DTYPE_F64, 4, {2, 2, 2, 2}, NULL, NULL,
	"[[[[ 0.   1.5]\n"
	"   [ 3.   4.5]]\n"
	"\n"
	"  [[ 6.   7.5]\n"
	"   [ 9.  10.5]]]\n"
	"\n"
	"\n"
	" [[[12.  13.5]\n"
	"   [15.  16.5]]\n"
	"\n"
	"  [[18.  19.5]\n"
	"   [21.  22.5]]]]",
	.step = 1.5},
    {TP_DTYPE_F64, 1, {30}, NULL, NULL,
	"[0.         0.14285714 0.28571429 0.42857143 0.57142857 0.71428571\n"
	" 0.85714286 1.         1.14285714 1.28571429 1.42857143 1.57142857\n"
	" 1.71428571 1.85714286 2.         2.14285714 2.28571429 2.42857143\n"
	" 2.57142857 2.71428571 2.85714286 3.         3.14285714 3.28571429\n"
	" 3.42857143 3.57142857 3.71428571 3.85714286 4.         4.14285714]",
	.step = 1.0 / 7},
    {TP_DTYPE_F64, 1, {30}, "array", NULL,
	"array([0.        , 0.14285714, 0.28571429, 0.42857143, 0.57142857,\n"
	"       0.71428571, 0.85714286, 1.        , 1.14285714, 1.28571429,\n"
	"       1.42857143, 1.57142857, 1.71428571, 1.85714286, 2.        ,\n"
	"       2.14285714, 2.28571429, 2.42857143, 2.57142857, 2.71428571,\n"
	"       2.85714286, 3.        , 3.14285714, 3.28571429, 3.42857143,\n"
	"       3.57142857, 3.71428571, 3.85714286, 4.        , 4.14285714])",
	.step = 1.0 / 7},
    {TP_DTYPE_F64, 1, {1001}, NULL, NULL,
	"[  0.      0.125   0.25  ... 124.75  124.875 125.   ]",
	.step = 0.125},
    {TP_DTYPE_F64, 1, {1001}, "array", NULL,
	"array([  0.   ,   0.125,   0.25 , ..., 124.75 , 124.875, 125.   ])",
	.step = 0.125},
    {TP_DTYPE_F32, 2, {40, 30}, NULL, NULL,
	"[[0.000e+00 1.000e+00 2.000e+00 ... 2.700e+01 2.800e+01 2.900e+01]\n"
	" [3.000e+01 3.100e+01 3.200e+01 ... 5.700e+01 5.800e+01 5.900e+01]\n"
	" [6.000e+01 6.100e+01 6.200e+01 ... 8.700e+01 8.800e+01 8.900e+01]\n"
	" ...\n"
	" [1.110e+03 1.111e+03 1.112e+03 ... 1.137e+03 1.138e+03 1.139e+03]\n"
	" [1.140e+03 1.141e+03 1.142e+03 ... 1.167e+03 1.168e+03 1.169e+03]\n"
	" [1.170e+03 1.171e+03 1.172e+03 ... 1.197e+03 1.198e+03 1.199e+03]]",
	.step = 1},
    {TP_DTYPE_F64, 3, {4, 5, 55}, "array", NULL,
	"array([[[0.000e+00, 1.000e+00, 2.000e+00, ..., 5.200e+01, 5.300e+01,\n"
	"         5.400e+01],\n"
	"        [5.500e+01, 5.600e+01, 5.700e+01, ..., 1.070e+02, 1.080e+02,\n"
	"         1.090e+02],\n"
	"        [1.100e+02, 1.110e+02, 1.120e+02, ..., 1.620e+02, 1.630e+02,\n"
	"         1.640e+02],\n"
	"        [1.650e+02, 1.660e+02, 1.670e+02, ..., 2.170e+02, 2.180e+02,\n"
	"         2.190e+02],\n"
	"        [2.200e+02, 2.210e+02, 2.220e+02, ..., 2.720e+02, 2.730e+02,\n"
	"         2.740e+02]],\n"
	"\n"
	"       [[2.750e+02, 2.760e+02, 2.770e+02, ..., 3.270e+02, 3.280e+02,\n"
	"         3.290e+02],\n"
	"        [3.300e+02, 3.310e+02, 3.320e+02, ..., 3.820e+02, 3.830e+02,\n"
	"         3.840e+02],\n"
	"        [3.850e+02, 3.860e+02, 3.870e+02, ..., 4.370e+02, 4.380e+02,\n"
	"         4.390e+02],\n"
	"        [4.400e+02, 4.410e+02, 4.420e+02, ..., 4.920e+02, 4.930e+02,\n"
	"         4.940e+02],\n"
	"        [4.950e+02, 4.960e+02, 4.970e+02, ..., 5.470e+02, 5.480e+02,\n"
	"         5.490e+02]],\n"
	"\n"
	"       [[5.500e+02, 5.510e+02, 5.520e+02, ..., 6.020e+02, 6.030e+02,\n"
	"         6.040e+02],\n"
	"        [6.050e+02, 6.060e+02, 6.070e+02, ..., 6.570e+02, 6.580e+02,\n"
	"         6.590e+02],\n"
	"        [6.600e+02, 6.610e+02, 6.620e+02, ..., 7.120e+02, 7.130e+02,\n"
	"         7.140e+02],\n"
	"        [7.150e+02, 7.160e+02, 7.170e+02, ..., 7.670e+02, 7.680e+02,\n"
	"         7.690e+02],\n"
	"        [7.700e+02, 7.710e+02, 7.720e+02, ..., 8.220e+02, 8.230e+02,\n"
	"         8.240e+02]],\n"
	"\n"
	"       [[8.250e+02, 8.260e+02, 8.270e+02, ..., 8.770e+02, 8.780e+02,\n"
	"         8.790e+02],\n"
	"        [8.800e+02, 8.810e+02, 8.820e+02, ..., 9.320e+02, 9.330e+02,\n"
	"         9.340e+02],\n"
	"        [9.350e+02, 9.360e+02, 9.370e+02, ..., 9.870e+02, 9.880e+02,\n"
	"         9.890e+02],\n"
	"        [9.900e+02, 9.910e+02, 9.920e+02, ..., 1.042e+03, 1.043e+03,\n"
	"         1.044e+03],\n"
	"        [1.045e+03, 1.046e+03, 1.047e+03, ..., 1.097e+03, 1.098e+03,\n"
	"         1.099e+03]]])",
	.step = 1},
    {TP_DTYPE_F64, 2, {2, 1}, NULL, NULL,
	"[[1.0e+10]\n"
	" [2.5e-10]]",
	.values = {10000000000, 2.5e-10}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[1.2345678e+04 1.0000000e-03]",
	.values = {12345.678, 0.001}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[1.e+15 1.e+16]",
	.values = {1000000000000000, 1e+16}},
    {TP_DTYPE_F64, 1, {2}, NULL, NULL,
	"[0.5        0.12345679]",
	.values = {0.5, 0.123456789012}},
    {TP_DTYPE_I64, 0, {0}, NULL, NULL,
	"5",
	.values = {5}},
    {TP_DTYPE_I64, 1, {3}, NULL, NULL,
	"[  1  -2 300]",
	.values = {1, -2, 300}},
    {TP_DTYPE_U8, 1, {3}, NULL, NULL,
	"[  0 255   7]",
	.values = {0, 255, 7}},
    {TP_DTYPE_I8, 1, {2}, "array", "int8",
	"array([-128,  127], dtype=int8)",
	.values = {-128, 127}},
    {TP_DTYPE_U64, 1, {2}, NULL, NULL,
	"[18446744073709551615                    0]",
	.codes = {0xffffffffffffffffu, 0x0u}},
    {TP_DTYPE_I64, 1, {2}, NULL, NULL,
	"[-9223372036854775808  9223372036854775807]",
	.codes = {0x8000000000000000u, 0x7fffffffffffffffu}},
    {TP_DTYPE_I64, 1, {40}, NULL, NULL,
	"[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
	" 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39]",
	.step = 1},
    {TP_DTYPE_I64, 1, {40}, "array", NULL,
	"array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16,\n"
	"       17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,\n"
	"       34, 35, 36, 37, 38, 39])",
	.step = 1},
    {TP_DTYPE_I32, 3, {2, 3, 4}, NULL, NULL,
	"[[[ 0  1  2  3]\n"
	"  [ 4  5  6  7]\n"
	"  [ 8  9 10 11]]\n"
	"\n"
	" [[12 13 14 15]\n"
	"  [16 17 18 19]\n"
	"  [20 21 22 23]]]",
	.step = 1},
    {TP_DTYPE_I32, 1, {2000}, NULL, NULL,
	"[   0    1    2 ... 1997 1998 1999]",
	.step = 1},
    {TP_DTYPE_I16, 2, {13, 100}, "array", "int16",
	"array([[   0,    1,    2, ...,   97,   98,   99],\n"
	"       [ 100,  101,  102, ...,  197,  198,  199],\n"
	"       [ 200,  201,  202, ...,  297,  298,  299],\n"
	"       ...,\n"
	"       [1000, 1001, 1002, ..., 1097, 1098, 1099],\n"
	"       [1100, 1101, 1102, ..., 1197, 1198, 1199],\n"
	"       [1200, 1201, 1202, ..., 1297, 1298, 1299]], dtype=int16)",
	.step = 1},
    {TP_DTYPE_BOOL, 0, {0}, NULL, NULL,
	"True",
	.values = {1}},
    {TP_DTYPE_BOOL, 1, {2}, NULL, NULL,
	"[ True False]",
	.values = {1, 0}},
    {TP_DTYPE_BOOL, 2, {2, 2}, "array", NULL,
	"array([[ True, False],\n"
	"       [False, False]])",
	.values = {1, 0, 0, 0}},
    {TP_DTYPE_BOOL, 0, {0}, "array", NULL,
	"array(True)",
	.values = {1}},
    {TP_DTYPE_C128, 0, {0}, NULL, NULL,
	"(1+2j)",
	.values = {1, 2}},
    {TP_DTYPE_C128, 0, {0}, NULL, NULL,
	"2j",
	.values = {0, 2}},
    {TP_DTYPE_C128, 0, {0}, NULL, NULL,
	"(nan-infj)",
	.values = {NAN, -INFINITY}},
    {TP_DTYPE_C64, 1, {2}, NULL, NULL,
	"[ 1. +2.j -0.5-1.j]",
	.values = {1, 2, -0.5, -1}},
    {TP_DTYPE_C128, 1, {2}, "array", NULL,
	"array([1.e+10+1.e+00j, 2.e+00-3.e-05j])",
	.values = {10000000000, 1, 2, -3e-05}},
    {TP_DTYPE_C128, 1, {2}, NULL, NULL,
	"[nan +1.j  1.-infj]",
	.values = {NAN, 1, 1, -INFINITY}},
    {TP_DTYPE_C64, 0, {0}, NULL, NULL,
	"(0.1+0.25j)",
	.values = {0.10000000149011612, 0.25}},
};
/* clang-format on */

static struct tp_tensor *
make_tensor(const struct print_case *c)
{
	struct tp_tensor *t = NULL;
	void *data;
	size_t n;

	assert_int_equal(
	    tp_tensor_empty(NULL, c->dtype, c->sizes, c->rank, &t, NULL),
	    TP_OK);
	data = tp_tensor_data_mut(t);
	n = (size_t)tp_tensor_numel(t);
	if (c->codes[0] || c->codes[1])
		memcpy(data, c->codes, n * sizeof(*c->codes));
	else if (c->step != 0)
		for (size_t i = 0; i < n; i++) {
			double x = (double)i * c->step;
			size_t size = tp_dtype_bits(c->dtype) / 8;

			assert_int_equal(
			    tp_convert(c->dtype, (uint8_t *)data + i * size,
				TP_DTYPE_F64, &x, 1, TP_OVERFLOW_ERROR, 0, NULL,
				NULL),
			    TP_OK);
		}
	else
		assert_int_equal(
		    tp_convert(c->dtype, data,
			tp_dtype_kind(c->dtype) == TP_KIND_COMPLEX
			    ? TP_DTYPE_C128
			    : TP_DTYPE_F64,
			c->values, n, TP_OVERFLOW_ERROR, 0, NULL, NULL),
		    TP_OK);
	return t;
}

static void
arrays_print_as_numpy_prints_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct print_case *c = &cases[i];
		struct tp_print_options opts = {
		    .name = c->name, .dtype = c->dtype_text};
		struct tp_tensor *t = make_tensor(c);
		char text[8192];

		assert_int_equal(tp_tensor_text(t, &opts, text, sizeof(text)),
		    strlen(c->want));
		assert_string_equal(text, c->want);
		tp_tensor_free(t);
	}
}

static void
assert_prints(enum tp_dtype dtype, const double *values, int64_t n,
    const struct tp_print_options *opts, const char *want)
{
	struct tp_tensor *t = NULL;
	char text[512];

	assert_int_equal(tp_tensor_empty(NULL, dtype, &n, 1, &t, NULL), TP_OK);
	assert_int_equal(
	    tp_convert(dtype, tp_tensor_data_mut(t), TP_DTYPE_F64, values,
		(size_t)n, TP_OVERFLOW_ERROR, 0, NULL, NULL),
	    TP_OK);
	tp_tensor_text(t, opts, text, sizeof(text));
	assert_string_equal(text, want);
	tp_tensor_free(t);
}

/* Shortest in their own dtype: 3.14 in bf16 is 3.140625, its neighbours are
 * 3.125 and 3.15625. */
static void
other_dtypes_print_alike(void **state)
{
	const double pi[] = {3.140625, -1, 0.5};
	const double small[] = {0, 0.5, -1.5, 6};
	const double tiny[] = {0.001953125, 448};
	const double scale[] = {1, 1024, 0.25};
	const double ints[] = {0, 7, 3};
	const double negative[] = {-8, 7, 0};

	(void)state;
	assert_prints(TP_DTYPE_BF16, pi, 3, NULL, "[ 3.14 -1.    0.5 ]");
	assert_prints(TP_DTYPE_F4E2M1, small, 4, NULL, "[ 0.   0.5 -1.5  6. ]");
	assert_prints(TP_DTYPE_F6E2M3, small, 4, NULL, "[ 0.   0.5 -1.5  6. ]");
	assert_prints(TP_DTYPE_F8E4M3FN, tiny, 2, NULL, "[2.0e-03 4.5e+02]");
	assert_prints(
	    TP_DTYPE_F8E8M0, scale, 3, NULL, "[1.000e+00 1.024e+03 2.500e-01]");
	assert_prints(TP_DTYPE_U4, ints, 3, NULL, "[0 7 3]");
	assert_prints(TP_DTYPE_I4, negative, 3, NULL, "[-8  7  0]");
	assert_prints(TP_DTYPE_U2, ints, 1, NULL, "[0]");
}

/* Example 2 of the tensor core. */
static void
a_write_through_a_row_shows(void **state)
{
	static const float x[] = {1, 2, 3, 4, 5, 6};
	const struct tp_print_options opts = {.name = "tensor"};
	const int64_t sizes[] = {2, 3};
	struct tp_tensor *a = NULL, *v = NULL;
	char text[128];

	(void)state;
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_F32, sizes, 2, &a, NULL), TP_OK);
	memcpy(tp_tensor_data_mut(a), x, sizeof(x));
	assert_int_equal(tp_tensor_select(a, 0, 0, &v, NULL), TP_OK);
	assert_ptr_equal(tp_tensor_data(v), tp_tensor_data(a));
	*(float *)tp_tensor_data_mut(v) = 99;
	tp_tensor_text(a, &opts, text, sizeof(text));
	assert_string_equal(text, "tensor([[99.,  2.,  3.],\n"
				  "        [ 4.,  5.,  6.]])");
	tp_tensor_free(v);
	assert_int_equal(tp_tensor_transpose(a, 0, 1, &v, NULL), TP_OK);
	tp_tensor_text(v, NULL, text, sizeof(text));
	assert_string_equal(text, "[[99.  4.]\n [ 2.  5.]\n [ 3.  6.]]");
	tp_tensor_free(v);
	assert_int_equal(tp_tensor_flip(a, 1, &v, NULL), TP_OK);
	tp_tensor_text(v, NULL, text, sizeof(text));
	assert_string_equal(text, "[[ 3.  2. 99.]\n [ 6.  5.  4.]]");
	tp_tensor_free(v);
	tp_tensor_free(a);
}

static void
options_change_the_form(void **state)
{
	const double x[] = {1.0 / 3, 2, 3, 4, 5, 6, 7, 8};
	struct tp_print_options o = {.precision = 2};

	(void)state;
	assert_prints(TP_DTYPE_F64, x, 3, &o, "[0.33 2.   3.  ]");
	o = (struct tp_print_options){.threshold = 4, .edge_items = 2};
	assert_prints(TP_DTYPE_I8, x, 8, &o, "[0 2 ... 7 8]");
	o.name = "tensor";
	o.shape = true;
	o.dtype = "int8";
	assert_prints(TP_DTYPE_I8, x, 8, &o,
	    "tensor([0, 2, ..., 7, 8], shape=(8,), dtype=int8)");
	o.line_width = 30;
	assert_prints(TP_DTYPE_I8, x, 8, &o,
	    "tensor([0, 2, ..., 7, 8],\n"
	    "       shape=(8,), dtype=int8)");
	o = (struct tp_print_options){.line_width = 10};
	assert_prints(TP_DTYPE_I8, x, 8, &o, "[0 2 3 4\n 5 6 7 8]");
	/* A word wider than the line still gets printed. */
	o.line_width = 1;
	assert_prints(TP_DTYPE_I8, x, 3, &o, "[0\n 2\n 3]");
}

static int
refuse(void *ctx, const char *s, size_t n)
{
	(void)s;
	*(size_t *)ctx += n;
	return -1;
}

static void
what_cannot_be_printed_is_an_error(void **state)
{
	const int64_t sizes[] = {900};
	struct tp_strided strings = {.dtype = TP_DTYPE_STRING};
	struct tp_tensor *t = NULL;
	struct tp_err err = TP_ERR_INIT;
	size_t n = 0;
	char text[5];

	(void)state;
	assert_int_equal(
	    tp_tensor_empty(NULL, TP_DTYPE_U8, sizes, 1, &t, NULL), TP_OK);
	assert_int_equal(
	    tp_tensor_print(t, NULL, refuse, &n, &err), TP_EOUTPUT);
	/* Not called again after it refused. */
	assert_true(n > 0 && n <= 512);
	assert_int_equal(
	    tp_print(&strings, NULL, refuse, &n, &err), TP_EUNSUPPORTED);
	assert_true(tp_tensor_text(t, NULL, text, sizeof(text)) > 900);
	assert_string_equal(text, "[0 0");
	assert_true(tp_tensor_text(t, NULL, NULL, 0) > 900);
	tp_tensor_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arrays_print_as_numpy_prints_them),
	    cmocka_unit_test(other_dtypes_print_alike),
	    cmocka_unit_test(a_write_through_a_row_shows),
	    cmocka_unit_test(options_change_the_form),
	    cmocka_unit_test(what_cannot_be_printed_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
