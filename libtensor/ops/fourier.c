/* SPDX-License-Identifier: Apache-2.0 */
/* fourier.c - the discrete Fourier transform of n complex numbers */
#include "fourier.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "../banned.h"

#define HALF_PI 1.57079632679489661923
#define SMALL 32
#define MOST (UINT64_C(1) << 40)

/* By quarters of the circle, so that all of them are alike. */
void
tpi_root(uint64_t k, uint64_t n, double *re, double *im)
{
	uint64_t quarter = 4 * k / n, rest = 4 * k % n;
	double c, s;

	if (2 * rest <= n) {
		c = cos(HALF_PI * (double)rest / (double)n);
		s = sin(HALF_PI * (double)rest / (double)n);
	} else {
		c = sin(HALF_PI * (double)(n - rest) / (double)n);
		s = cos(HALF_PI * (double)(n - rest) / (double)n);
	}
	*re = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
	*im = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
}

static void
multiply(const double *a, const double *b, double *out)
{
	double re = a[0] * b[0] - a[1] * b[1];
	double im = a[0] * b[1] + a[1] * b[0];

	out[0] = re;
	out[1] = im;
}

static void
run_direct(struct tpi_fourier *f, double *x)
{
	size_t n = f->n;

	memcpy(f->work, x, 2 * n * sizeof(*x));
	for (size_t k = 0; k < n; k++) {
		double re = 0, im = 0, term[2];

		for (size_t j = 0, at = 0; j < n; j++) {
			multiply(f->work + 2 * j, f->roots + 2 * at, term);
			re += term[0];
			im += term[1];
			at += k;
			at -= at >= n ? n : 0;
		}
		x[2 * k] = re;
		x[2 * k + 1] = im;
	}
}

static void
swap_reversed(double *x, size_t m)
{
	for (size_t i = 1, j = 0; i < m; i++) {
		size_t bit = m >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i >= j)
			continue;
		for (size_t part = 0; part < 2; part++) {
			double t = x[2 * i + part];

			x[2 * i + part] = x[2 * j + part];
			x[2 * j + part] = t;
		}
	}
}

/* m numbers, with roots of m; conjugate ones for the way back. */
static void
run_halves(const double *roots, size_t m, bool back, double *x)
{
	swap_reversed(x, m);
	for (size_t half = 1; half < m; half *= 2)
		for (size_t k = 0; k < half; k++) {
			const double *r = roots + 2 * (k * (m / half / 2));
			const double root[2] = {r[0], back ? -r[1] : r[1]};

			for (size_t i = k; i < m; i += 2 * half) {
				double *a = x + 2 * i, *b = a + 2 * half, t[2];

				multiply(b, root, t);
				b[0] = a[0] - t[0];
				b[1] = a[1] - t[1];
				a[0] += t[0];
				a[1] += t[1];
			}
		}
}

/* The filter has been divided by m already. */
static void
run_bluestein(struct tpi_fourier *f, double *x)
{
	double *w = f->work;

	memset(w, 0, 2 * f->m * sizeof(*w));
	for (size_t j = 0; j < f->n; j++)
		multiply(x + 2 * j, f->chirp + 2 * j, w + 2 * j);
	run_halves(f->roots, f->m, false, w);
	for (size_t j = 0; j < f->m; j++)
		multiply(w + 2 * j, f->filter + 2 * j, w + 2 * j);
	run_halves(f->roots, f->m, true, w);
	for (size_t k = 0; k < f->n; k++)
		multiply(w + 2 * k, f->chirp + 2 * k, x + 2 * k);
}

void
tpi_fourier_run(struct tpi_fourier *f, double *x)
{
	if (f->is_direct)
		run_direct(f, x);
	else if (f->m == f->n)
		run_halves(f->roots, f->m, false, x);
	else
		run_bluestein(f, x);
}

/* e^(-+pi i k^2 / n), and the transform of the other sign's. */
static void
make_chirp(struct tpi_fourier *f, double sign)
{
	size_t n = f->n, m = f->m;
	uint64_t square = 0; /* k^2 modulo 2 n */

	memset(f->filter, 0, 2 * m * sizeof(*f->filter));
	for (size_t k = 0; k < n; k++) {
		double *c = f->chirp + 2 * k, *a = f->filter + 2 * k;
		double *b = f->filter + 2 * (m - k);

		tpi_root(square, 2 * n, &c[0], &c[1]);
		c[1] *= sign;
		a[0] = c[0] / (double)m;
		a[1] = -c[1] / (double)m;
		if (k)
			memcpy(b, a, 2 * sizeof(*a));
		square = (square + 2 * k + 1) % (2 * n);
	}
	run_halves(f->roots, m, false, f->filter);
}

enum tp_status
tpi_fourier_init(struct tpi_fourier *f, const struct tpi_call *c, uint64_t n,
    bool inverse, struct tp_err *err)
{
	double sign = inverse ? 1 : -1;

	*f = (struct tpi_fourier){.alloc = c->alloc, .n = (size_t)n};
	if (n > MOST)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: a transform of %" PRIu64 " numbers", c->op->onnx, n);
	f->is_direct = n <= SMALL;
	f->m = f->n;
	if (!f->is_direct && (n & (n - 1)))
		for (f->m = 1; f->m < 2 * f->n - 1;)
			f->m *= 2;
	f->roots = tp_mem_array(c->alloc, f->m, 2 * sizeof(*f->roots));
	f->work = tp_mem_array(c->alloc, f->m, 2 * sizeof(*f->work));
	if (f->m != f->n) {
		f->chirp = tp_mem_array(c->alloc, f->n, 2 * sizeof(*f->chirp));
		f->filter =
		    tp_mem_array(c->alloc, f->m, 2 * sizeof(*f->filter));
	}
	if (!f->roots || !f->work ||
	    (f->m != f->n && (!f->chirp || !f->filter)))
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for a transform of %" PRIu64 " numbers",
		    c->op->onnx, n);
	for (size_t k = 0; k < f->m; k++) {
		tpi_root(k, f->m, &f->roots[2 * k], &f->roots[2 * k + 1]);
		f->roots[2 * k + 1] *= sign;
	}
	if (f->m != f->n)
		make_chirp(f, sign);
	return TP_OK;
}

void
tpi_fourier_release(struct tpi_fourier *f)
{
	if (f->roots)
		tp_mem_free(f->alloc, f->roots, f->m, 2 * sizeof(*f->roots));
	if (f->work)
		tp_mem_free(f->alloc, f->work, f->m, 2 * sizeof(*f->work));
	if (f->chirp)
		tp_mem_free(f->alloc, f->chirp, f->n, 2 * sizeof(*f->chirp));
	if (f->filter)
		tp_mem_free(f->alloc, f->filter, f->m, 2 * sizeof(*f->filter));
}
