/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler.h - compiler extensions that make code faster, never different
 *
 * A compiler that has none of them compiles the plain branch to the same
 * results.
 */
#ifndef TPI_COMPILER_H
#define TPI_COMPILER_H

#include <stdint.h>

/*
 * TPI_CLONES before a function makes the compiler build it once more for each
 * of these machines; the loader picks. Not under the sanitizers, which look at
 * functions before the loader is done. TP_ONE_MACHINE leaves everything to the
 * compiler's -march.
 */
#if !defined(TP_ONE_MACHINE) && defined(__GNUC__) && !defined(__clang__) && \
    defined(__x86_64__) && defined(__GLIBC__) && defined(__OPTIMIZE__) &&   \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TPI_CLONES      \
	__attribute__(( \
	    target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define TPI_CLONES
#endif

/*
 * TPI_WIDE before a function makes it one for machines with 32 registers of 64
 * bytes; call it only where TPI_HAS_WIDE.
 */
#if !defined(TP_ONE_MACHINE) && defined(__GNUC__) && defined(__x86_64__) && \
    defined(__OPTIMIZE__)
#define TPI_WIDE __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#define TPI_HAS_WIDE                              \
	(__builtin_cpu_supports("avx512f") &&     \
	    __builtin_cpu_supports("avx512dq") && \
	    __builtin_cpu_supports("avx512vl"))
#endif

/* For the bodies of kernels, which constant arguments make into one loop. */
#if defined(__GNUC__)
#define TPI_INLINE __attribute__((always_inline)) static inline
#else
#define TPI_INLINE static inline
#endif

/*
 * A double that int64_t became has its value only in memory where the x87 does
 * that conversion: in its register all bits are still there.
 */
#if defined(__i386__)
#define TPI_ROUNDED volatile
#else
#define TPI_ROUNDED
#endif

/* Ask for the cache line at p, which will be read soon. */
#if defined(__GNUC__)
#define TPI_PREFETCH(p) __builtin_prefetch(p)
#else
#define TPI_PREFETCH(p) ((void)(p))
#endif

/* The position of the highest bit set; x is not 0. */
static inline int
tpi_msb64(uint64_t x)
{
#if defined(__GNUC__)
	return 63 - __builtin_clzll(x);
#else
	int at = 0;

	for (int step = 32; step; step /= 2)
		if (x >> step) {
			x >>= step;
			at += step;
		}
	return at;
#endif
}

#endif
