/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_kernels.c - how sums, products and extremes accumulate
 *
 * Floats accumulate in double. Integers do in 64 bits and wrap, except where a
 * logarithm of theirs is wanted.
 */
#include "reduce.h"

#include "kernel.h"

#include "../banned.h"

#define NEXT_ROW(T, LOAD, TYPE, STEP, NEXT)                          \
	for (size_t j = 0; j < b->n_outputs; j++) {                  \
		TYPE x = (TYPE)LOAD(*TPI_CONST_AT(T, row, STEP, j)); \
		TYPE a = acc[j];                                     \
                                                                     \
		acc[j] = NEXT;                                       \
	}

#define STEP(OP, ID, T, LOAD, TYPE, MEMBER, BEGIN, NEXT)                   \
	static void step_##OP##_##ID(                                      \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)  \
	{                                                                  \
		struct tpi_reduce_block *b = ctx;                          \
		TYPE *acc = b->acc.MEMBER;                                 \
		const int64_t size = sizeof(T), step = steps[0];           \
                                                                           \
		for (size_t j = 0; j < b->n_outputs && b->is_first; j++)   \
			acc[j] = BEGIN;                                    \
		for (size_t i = 0; i < n; i++) {                           \
			const char *row = data[1] + (int64_t)i * steps[1]; \
                                                                           \
			if (step == size)                                  \
				NEXT_ROW(T, LOAD, TYPE, size, NEXT)        \
			else                                               \
				NEXT_ROW(T, LOAD, TYPE, step, NEXT)        \
		}                                                          \
	}

#define END(OP, ID, T, TYPE, MEMBER, STORE, RESULT)                       \
	static void end_##OP##_##ID(                                      \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		struct tpi_reduce_block *b = ctx;                         \
		uint64_t count = b->n_reduced;                            \
		T *y = (T *)(void *)data[0];                              \
                                                                          \
		(void)steps;                                              \
		(void)count;                                              \
		for (size_t j = 0; j < n; j++) {                          \
			TYPE a = (TYPE)b->acc.MEMBER[j];                  \
                                                                          \
			y[j] = STORE(RESULT);                             \
		}                                                         \
	}

/* A real result as an integer: cut, then clamped; not a number as 0. */
static uint64_t
whole(double x, size_t size, bool is_signed)
{
	unsigned bits = (unsigned)(8 * size) - is_signed;
	double end = ldexp(1, (int)bits);

	if (x != x)
		return 0;
	if (x >= end)
		return UINT64_MAX >> (64 - bits);
	if (!is_signed)
		return x > 0 ? (uint64_t)x : 0;
	return (uint64_t)(int64_t)(x < -end ? -end : x);
}

/* -0 is what changes no number that is added to it; no number at all is 0. */
#define SUM_F(OP, ID, T, W, LOAD, STORE)                                    \
	STEP(sum, ID, T, LOAD, double, d, -0.0, a + x)                      \
	END(sum, ID, T, double, d, STORE, count ? a : 0)                    \
	END(mean, ID, T, double, d, STORE, (count ? a : 0) / (double)count) \
	END(log_sum, ID, T, double, d, STORE, log(count ? a : 0))           \
	STEP(prod, ID, T, LOAD, double, d, 1, a *x)                         \
	END(prod, ID, T, double, d, STORE, a)                               \
	STEP(l1, ID, T, LOAD, double, d, 0, a + fabs(x))                    \
	END(l1, ID, T, double, d, STORE, a)                                 \
	STEP(sum_square, ID, T, LOAD, double, d, 0, a + x * x)              \
	END(sum_square, ID, T, double, d, STORE, a)                         \
	END(l2, ID, T, double, d, STORE, sqrt(a))

/* S is what the sum of the dtype is, signed or not, in 64 bits. */
#define SUM_WHOLE(ID, T, LOAD, STORE, S, IS_SIGNED)              \
	STEP(sum, ID, T, LOAD, uint64_t, u, 0, a + x)            \
	END(sum, ID, T, uint64_t, u, STORE, a)                   \
	END(mean, ID, T, S, u, STORE, count ? a / (S)count : 0)  \
	END(log_sum, ID, T, S, u, STORE,                         \
	    whole(log((double)a), sizeof(T), IS_SIGNED))         \
	STEP(prod, ID, T, LOAD, uint64_t, u, 1, a *x)            \
	END(prod, ID, T, uint64_t, u, STORE, a)                  \
	STEP(l1, ID, T, LOAD, uint64_t, u, 0,                    \
	    IS_SIGNED && (int64_t)x < 0 ? a - x : a + x)         \
	END(l1, ID, T, uint64_t, u, STORE, a)                    \
	STEP(sum_square, ID, T, LOAD, uint64_t, u, 0, a + x * x) \
	END(sum_square, ID, T, uint64_t, u, STORE, a)            \
	END(l2, ID, T, uint64_t, u, STORE,                       \
	    whole(sqrt((double)a), sizeof(T), IS_SIGNED))

#define SUM_I(OP, ID, T, W, LOAD, STORE) \
	SUM_WHOLE(ID, T, LOAD, STORE, int64_t, true)
#define SUM_U(OP, ID, T, W, LOAD, STORE) \
	SUM_WHOLE(ID, T, LOAD, (T), uint64_t, false)

/* cppcheck-suppress invalidFunctionArg ; log(0) is -infinity, as it should */
TPI_FOREACH_DOUBLE(SUM_F, )
TPI_FOREACH_SIGNED(SUM_I, )
TPI_FOREACH_UNSIGNED(SUM_U, )

/* NaN wins. */
#define EXTREMES_F(OP, ID, T, W, LOAD, STORE)                \
	STEP(max, ID, T, LOAD, double, d, -(double)INFINITY, \
	    x > a || x != x ? x : a)                         \
	END(max, ID, T, double, d, STORE, a)                 \
	STEP(min, ID, T, LOAD, double, d, (double)INFINITY,  \
	    x < a || x != x ? x : a)                         \
	END(min, ID, T, double, d, STORE, a)

#define EXTREMES_WHOLE(ID, T, STORE, TYPE, MEMBER, LOWEST, HIGHEST)      \
	STEP(max, ID, T, TPI_KEEP, TYPE, MEMBER, LOWEST, x > a ? x : a)  \
	END(max, ID, T, TYPE, MEMBER, STORE, a)                          \
	STEP(min, ID, T, TPI_KEEP, TYPE, MEMBER, HIGHEST, x < a ? x : a) \
	END(min, ID, T, TYPE, MEMBER, STORE, a)

#define LOWEST_OF(T) (-((INT64_C(1) << (8 * sizeof(T) - 2)) - 1) * 2 - 2)
#define EXTREMES_I(OP, ID, T, W, LOAD, STORE) \
	EXTREMES_WHOLE(                       \
	    ID, T, STORE, int64_t, i, LOWEST_OF(T), -(LOWEST_OF(T) + 1))
#define EXTREMES_U(OP, ID, T, W, LOAD, STORE) \
	EXTREMES_WHOLE(ID, T, (T), uint64_t, u, 0, (T)-1)

TPI_FOREACH_DOUBLE(EXTREMES_F, )
TPI_FOREACH_SIGNED(EXTREMES_I, )
TPI_FOREACH_UNSIGNED(EXTREMES_U, )
EXTREMES_WHOLE(BOOL, uint8_t, (uint8_t), uint64_t, u, 0, 1)

/*
 * With m the largest so far, acc is the sum of exp(x - m). What equals m adds
 * one, infinities among them, whose difference would be no number.
 */
TPI_INLINE void
next_exponent(double x, double *m, double *sum)
{
	if (x > *m) {
		*sum = *sum * exp(*m - x) + 1;
		*m = x;
	} else {
		*sum += x == *m ? 1 : exp(x - *m);
	}
}

#define LOG_SUM_EXP(ID, T, LOAD, RESULT, STORE)                            \
	static void step_log_sum_exp_##ID(                                 \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)  \
	{                                                                  \
		struct tpi_reduce_block *b = ctx;                          \
                                                                           \
		for (size_t j = 0; j < b->n_outputs && b->is_first; j++) { \
			b->largest[j] = -(double)INFINITY;                 \
			b->acc.d[j] = 0;                                   \
		}                                                          \
		for (size_t i = 0; i < n; i++) {                           \
			const char *row = data[1] + (int64_t)i * steps[1]; \
                                                                           \
			for (size_t j = 0; j < b->n_outputs; j++)          \
				next_exponent((double)LOAD(*TPI_CONST_AT(  \
						  T, row, steps[0], j)),   \
				    &b->largest[j], &b->acc.d[j]);         \
		}                                                          \
	}                                                                  \
	END(log_sum_exp, ID, T, double, d, STORE,                          \
	    RESULT(T, b->largest[j] + log(a)))

#define REAL(T, x) (x)
#define WHOLE_I(T, x) whole(x, sizeof(T), true)
#define WHOLE_U(T, x) whole(x, sizeof(T), false)
#define LOG_SUM_EXP_F(OP, ID, T, W, LOAD, STORE) \
	LOG_SUM_EXP(ID, T, LOAD, REAL, STORE)
#define LOG_SUM_EXP_I(OP, ID, T, W, LOAD, STORE) \
	LOG_SUM_EXP(ID, T, LOAD, WHOLE_I, STORE)
#define LOG_SUM_EXP_U(OP, ID, T, W, LOAD, STORE) \
	LOG_SUM_EXP(ID, T, LOAD, WHOLE_U, (T))

TPI_FOREACH_DOUBLE(LOG_SUM_EXP_F, )
TPI_FOREACH_SIGNED(LOG_SUM_EXP_I, )
TPI_FOREACH_UNSIGNED(LOG_SUM_EXP_U, )

/* clang-format off */
#define TABLE(kind, name, of, ...)                                        \
	tp_loop_fn *const tpi_reduce_##kind##_##name[TP_DTYPE_COUNT] = { \
	    TPI_FOREACH_ARITH(TPI_KERNEL_ROW, kind##_##of) __VA_ARGS__};
/* clang-format on */

#define TABLES(name, steps) TABLE(step, name, steps, ) TABLE(end, name, name, )

TABLES(sum, sum)
TABLES(mean, sum)
TABLES(log_sum, sum)
TABLES(prod, prod)
TABLES(l1, l1)
TABLES(sum_square, sum_square)
TABLES(l2, sum_square)
TABLES(log_sum_exp, log_sum_exp)
TABLE(step, max, max, [TP_DTYPE_BOOL] = step_max_BOOL)
TABLE(end, max, max, [TP_DTYPE_BOOL] = end_max_BOOL)
TABLE(step, min, min, [TP_DTYPE_BOOL] = step_min_BOOL)
TABLE(end, min, min, [TP_DTYPE_BOOL] = end_min_BOOL)
