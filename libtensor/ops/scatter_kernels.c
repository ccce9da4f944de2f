/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_kernels.c - updates that add, multiply, or keep the extreme */
#include "scatter_kernels.h"

#include "kernel.h"

#include "../banned.h"

#define EXPR_add(T, W, a, b) ((W)(a) + (W)(b))
#define EXPR_mul(T, W, a, b) ((W)(a) * (W)(b))
#define EXPR_max(T, W, a, b) ((b) > (a) ? (b) : (a))
#define EXPR_min(T, W, a, b) ((b) < (a) ? (b) : (a))
/* A NaN stays and spreads. */
#define EXPR_fmax(T, W, a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define EXPR_fmin(T, W, a, b) ((b) < (a) || (b) != (b) ? (b) : (a))

#define KERNEL(OP, ID, T, W, LOAD, STORE)                                     \
	static void OP##_##ID(                                                \
	    char *dst, const int64_t *offsets, const char *updates, size_t n) \
	{                                                                     \
		const T *b = (const T *)(const void *)updates;                \
                                                                              \
		for (size_t i = 0; i < n; i++) {                              \
			T *a = offsets ? (T *)(void *)(dst + offsets[i])      \
				       : (T *)(void *)dst + i;                \
                                                                              \
			*a = STORE(EXPR_##OP(T, W, *a, b[i]));                \
		}                                                             \
	}

struct complex {
	double re, im;
};

/* By the parts, as the numbers are written: infinite ones are not special. */
static void
add_C128(char *dst, const int64_t *offsets, const char *updates, size_t n)
{
	const struct complex *b = (const struct complex *)(const void *)updates;

	for (size_t i = 0; i < n; i++) {
		struct complex *a =
		    offsets ? (struct complex *)(void *)(dst + offsets[i])
			    : (struct complex *)(void *)dst + i;

		*a = (struct complex){a->re + b[i].re, a->im + b[i].im};
	}
}

static void
mul_C128(char *dst, const int64_t *offsets, const char *updates, size_t n)
{
	const struct complex *b = (const struct complex *)(const void *)updates;

	for (size_t i = 0; i < n; i++) {
		struct complex *a =
		    offsets ? (struct complex *)(void *)(dst + offsets[i])
			    : (struct complex *)(void *)dst + i;

		*a = (struct complex){a->re * b[i].re - a->im * b[i].im,
		    a->re * b[i].im + a->im * b[i].re};
	}
}

#define FOR_INT(OP) TPI_FOREACH_INT(KERNEL, OP)
#define FOR_F64(OP) KERNEL(OP, F64, double, double, TPI_KEEP, TPI_KEEP)

FOR_INT(add)
FOR_INT(mul)
FOR_INT(max)
FOR_INT(min)
FOR_F64(add)
FOR_F64(mul)
FOR_F64(fmax)
FOR_F64(fmin)

/* Of bools, or is the larger and and the smaller. */
#define TABLE(OP, REAL_OP, BOOL_OP)                                            \
	{                                                                      \
		TPI_FOREACH_INT(TPI_KERNEL_ROW, OP)                            \
		[TP_DTYPE_F64] = REAL_OP##_F64, [TP_DTYPE_BOOL] = BOOL_OP##_U8 \
	}

static tpi_scatter_fn *const kernels[TPI_SCATTER_COUNT][TP_DTYPE_COUNT] = {
    [TPI_SCATTER_ADD] = TABLE(add, add, max),
    [TPI_SCATTER_MUL] = TABLE(mul, mul, min),
    [TPI_SCATTER_MAX] = TABLE(max, fmax, max),
    [TPI_SCATTER_MIN] = TABLE(min, fmin, min),
};

tpi_scatter_fn *
tpi_scatter_kernel(enum tpi_scatter how, enum tp_dtype dtype)
{
	if (dtype == TP_DTYPE_C128)
		return how == TPI_SCATTER_ADD	? add_C128
		       : how == TPI_SCATTER_MUL ? mul_C128
						: NULL;
	return kernels[how][dtype];
}
