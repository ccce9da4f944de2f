/* SPDX-License-Identifier: Apache-2.0 */
/* quant_error.c - how far off the numbers are that codes stand for */
#include <math.h>

#include "compiler.h"
#include "quant_groups.h"

#include "banned.h"

#define PART 512

void
tp_quant_misfit_add(const struct tp_quant_groups *g,
    const struct tp_quant_grid *grid, uint64_t first_group, uint64_t first,
    const float *x, size_t n, const float *scale, const int16_t *zero,
    double *error)
{
	int8_t codes[PART];
	float y[PART];
	struct tpi_quant_run run;

	for (size_t i = 0; i < n; i += run.n) {
		double *sum;
		size_t step;

		run =
		    tpi_quant_run_at(g, first + i, n - i < PART ? n - i : PART);
		tp_quant_store(g, grid, first_group, first + i, x + i, run.n,
		    scale, zero, codes);
		tp_quant_load(g, grid->is_signed, first_group, first + i, codes,
		    run.n, scale, zero, y);
		sum = error + (run.group - first_group);
		step = run.side_by_side ? 1 : 0;
		for (size_t k = 0; k < run.n; k++) {
			double d = (double)x[i + k] - (double)y[k];

			sum[k * step] += d * d;
		}
	}
}

/* Add n elements, a multiple of the lanes; the largest |x - y| of them. */
TPI_CLONES
static double
add_lanes(struct tp_quant_error *e, const float *restrict x,
    const float *restrict y, size_t n)
{
	double max[TP_QUANT_LANES] = {0}, top = 0;

	for (size_t i = 0; i < n; i += TP_QUANT_LANES)
		for (size_t k = 0; k < TP_QUANT_LANES; k++) {
			double a = (double)x[i + k], b = (double)y[i + k];
			double d = a - b, m = fabs(d);

			e->error2[k] += d * d;
			e->x2[k] += a * a;
			e->y2[k] += b * b;
			e->xy[k] += a * b;
			max[k] = m > max[k] ? m : max[k];
		}
	for (size_t k = 0; k < TP_QUANT_LANES; k++)
		top = max[k] > top ? max[k] : top;
	return top;
}

void
tp_quant_error_add(
    struct tp_quant_error *e, const float *x, const float *y, size_t n)
{
	float last[2][TP_QUANT_LANES] = {{0}};
	size_t whole = n / TP_QUANT_LANES * TP_QUANT_LANES;
	double max = add_lanes(e, x, y, whole), rest;

	for (size_t i = whole; i < n; i++) {
		last[0][i - whole] = x[i];
		last[1][i - whole] = y[i];
	}
	rest = add_lanes(e, last[0], last[1], TP_QUANT_LANES);
	max = rest > max ? rest : max;
	if (max > e->max_abs) {
		size_t i = 0;

		while (fabs((double)x[i] - (double)y[i]) != max)
			i++;
		e->max_abs = max;
		e->max_index = e->n + i;
	}
	e->n += n;
}

static double
total(const double *lanes)
{
	double sum = 0;

	for (size_t k = 0; k < TP_QUANT_LANES; k++)
		sum += lanes[k];
	return sum;
}

double
tp_quant_error_rms(const struct tp_quant_error *e)
{
	return e->n ? sqrt(total(e->error2) / (double)e->n) : 0;
}

double
tp_quant_error_sqnr(const struct tp_quant_error *e)
{
	double noise = total(e->error2);

	return noise > 0 ? 10 * log10(total(e->x2) / noise) : INFINITY;
}

double
tp_quant_error_cosine(const struct tp_quant_error *e)
{
	double x2 = total(e->x2), y2 = total(e->y2);

	if (x2 == 0 && y2 == 0)
		return 1;
	return x2 > 0 && y2 > 0 ? total(e->xy) / (sqrt(x2) * sqrt(y2)) : 0;
}
