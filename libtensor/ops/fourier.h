/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fourier.h - the discrete Fourier transform of n complex numbers
 *
 *	X[k] = sum of x[j] e^(-2 pi i j k / n), with + where it is inverse
 *
 * Nothing is divided by n. Angles are reduced as whole numbers, j k modulo n,
 * before they are rounded, so errors do not grow with j k.
 *
 *	n			how			steps
 *	small			by definition		n^2
 *	a power of two		halves and halves	n log n
 *	any other		as a convolution	m log m, m < 4 n
 *
 * The convolution is Bluestein's: j k = (j^2 + k^2 - (k - j)^2) / 2.
 */
#ifndef TPI_OPS_FOURIER_H
#define TPI_OPS_FOURIER_H

#include "../op.h"

struct tpi_fourier {
	const struct tp_alloc *alloc;
	size_t n;
	size_t m;	/* the power of two of Bluestein; else n */
	bool is_direct; /* by definition */
	/* Pairs of real and imaginary part: */
	double *roots;	/* m: e^(-+2 pi i k / m) */
	double *chirp;	/* n: e^(-+pi i k^2 / n), Bluestein only */
	double *filter; /* m: the transform of its inverse, Bluestein only */
	double *work;	/* m */
};

/* cos and sin of 2 pi k / n, 0 <= k < n. */
void tpi_root(uint64_t k, uint64_t n, double *re, double *im);

/* Released whatever the outcome. n is not 0. */
enum tp_status tpi_fourier_init(struct tpi_fourier *f, const struct tpi_call *c,
    uint64_t n, bool inverse, struct tp_err *err);
void tpi_fourier_release(struct tpi_fourier *f);

/* x: n pairs, which become their transform. */
void tpi_fourier_run(struct tpi_fourier *f, double *x);

#endif
