/* SPDX-License-Identifier: Apache-2.0 */
/* quant_groups.h - runs of elements that one loop can deal with */
#ifndef TPI_QUANT_GROUPS_H
#define TPI_QUANT_GROUPS_H

#include "tp/quant_fit.h"

/* True if each index of the axis has one scale for all that is outside it. */
static inline bool
tpi_quant_is_channel(const struct tp_quant_groups *g)
{
	return g->block == 1 && g->n_groups == g->size;
}

/* n elements of one group, or, side by side, one of each of n groups. */
struct tpi_quant_run {
	uint64_t group; /* the first */
	bool side_by_side;
	size_t n;
};

/* The run that begins with an element, of at most `left` elements. */
static inline struct tpi_quant_run
tpi_quant_run_at(const struct tp_quant_groups *g, uint64_t elem, size_t left)
{
	uint64_t at = elem % g->size, n;
	struct tpi_quant_run run;

	if (tpi_quant_is_channel(g)) {
		run.side_by_side = g->inner == 1 && g->size > 1;
		run.group = elem / g->inner % g->size;
		n = run.side_by_side ? g->size - at
				     : g->inner - elem % g->inner;
	} else {
		run.side_by_side = g->inner > 1;
		run.group = tp_quant_group_of(g, elem);
		n = g->block - at % g->block;
		if (n > g->size - at)
			n = g->size - at;
		if (run.side_by_side)
			n = g->inner - elem % g->inner;
	}
	if (n >= left)
		n = left;
	run.n = (size_t)n;
	return run;
}

#endif
