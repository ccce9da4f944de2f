/* SPDX-License-Identifier: Apache-2.0 */
/* quant_misfit.c - the error of groups under scales that are tried */
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
