/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_kernels.c - the largest, sums, and sums of powers, of floats in double
 */
#include "pool_kernels.h"

#include "kernel.h"

#include "../banned.h"

#define TAKE_ROW(T, LOAD, STEP, NEXT)                                        \
	for (size_t i = 0; i < n; i++) {                                     \
		double x = (double)LOAD(*TPI_CONST_AT(T, data[1], STEP, i)); \
		double a = acc[i];                                           \
                                                                             \
		acc[i] = NEXT;                                               \
	}

#define TAKE(OP, ID, T, LOAD, NEXT)                                       \
	static void OP##_##ID(                                            \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		const struct tpi_pool_tap *tap = ctx;                     \
		double *acc = (double *)(void *)data[0];                  \
		const int64_t size = sizeof(T), step = steps[1];          \
                                                                          \
		(void)tap;                                                \
		if (step == size)                                         \
			TAKE_ROW(T, LOAD, size, NEXT)                     \
		else                                                      \
			TAKE_ROW(T, LOAD, step, NEXT)                     \
	}

/* The first of equals; NaN wins. */
#define FIND(ID, T, LOAD)                                                     \
	static void find_##ID(                                                \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)     \
	{                                                                     \
		const struct tpi_pool_tap *tap = ctx;                         \
		double *acc = (double *)(void *)data[0];                      \
		int64_t *found = (int64_t *)(void *)data[2];                  \
                                                                              \
		for (size_t i = 0; i < n; i++) {                              \
			double x = (double)LOAD(                              \
			    *TPI_CONST_AT(T, data[1], steps[1], i));          \
                                                                              \
			if (found[i] >= 0 && !(x > acc[i]) &&                 \
			    (x == x || acc[i] != acc[i]))                     \
				continue;                                     \
			acc[i] = x;                                           \
			found[i] = tap->place + (int64_t)i * tap->place_step; \
		}                                                             \
	}

#define END(ID, T, RESULT)                                                \
	static void end_##ID(                                             \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		T *y = (T *)(void *)data[0];                              \
		const double *acc = (const double *)(void *)data[1];      \
                                                                          \
		(void)ctx;                                                \
		(void)steps;                                              \
		for (size_t i = 0; i < n; i++) {                          \
			double a = acc[i];                                \
                                                                          \
			y[i] = RESULT;                                    \
		}                                                         \
	}

#define FLOAT_POOLS(OP, ID, T, W, LOAD, STORE)          \
	TAKE(max, ID, T, LOAD, x > a || x != x ? x : a) \
	TAKE(sum, ID, T, LOAD, a + x)                   \
	TAKE(l1, ID, T, LOAD, a + fabs(x))              \
	TAKE(l2, ID, T, LOAD, a + x * x)                \
	TAKE(lp, ID, T, LOAD, a + pow(fabs(x), tap->p)) \
	FIND(ID, T, LOAD)                               \
	END(ID, T, STORE(a))

/* Those that a double holds. Windows of padding alone have the lowest. */
#define FOREACH_SMALL_INT(X, A)       \
	X(A, I8, int8_t, INT8_MIN)    \
	X(A, I16, int16_t, INT16_MIN) \
	X(A, I32, int32_t, INT32_MIN) \
	X(A, U8, uint8_t, 0)          \
	X(A, U16, uint16_t, 0)        \
	X(A, U32, uint32_t, 0)

#define INT_POOLS(OP, ID, T, LOWEST)              \
	TAKE(max, ID, T, TPI_KEEP, x > a ? x : a) \
	FIND(ID, T, TPI_KEEP)                     \
	END(ID, T, a < (double)LOWEST ? (T)LOWEST : (T)a)

TPI_FOREACH_DOUBLE(FLOAT_POOLS, pool)
FOREACH_SMALL_INT(INT_POOLS, pool)

#define INT_ROW(OP, ID, T, LOWEST) [TP_DTYPE_##ID] = OP##_##ID,
#define FLOATS(OP) TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, OP)
#define INTS(OP) FOREACH_SMALL_INT(INT_ROW, OP)
#define TABLE(OP) tp_loop_fn *const tpi_pool_##OP[TP_DTYPE_COUNT]

TABLE(max) = {FLOATS(max) INTS(max)};
TABLE(find) = {FLOATS(find) INTS(find)};
TABLE(sum) = {FLOATS(sum)};
TABLE(l1) = {FLOATS(l1)};
TABLE(l2) = {FLOATS(l2)};
TABLE(lp) = {FLOATS(lp)};
TABLE(end) = {FLOATS(end) INTS(end)};
