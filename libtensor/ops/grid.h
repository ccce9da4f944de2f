/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grid.h - the scale and zero point that each element of a tensor has
 *
 *	one for all		scale []
 *	one for each slice	scale [D_axis]
 *	one for each block	scale [D1, …, ceil(D_axis / block), …, Dn]
 *
 * The tensor is outer x axis x inner elements, its blocks outer x n_blocks x
 * inner. With one for all, that is one block of everything.
 */
#ifndef TPI_OPS_GRID_H
#define TPI_OPS_GRID_H

#include "../op.h"

struct tpi_grid {
	uint64_t axis, inner; /* elements along the axis, and behind it */
	uint64_t block;	      /* of the axis, elements of one scale */
	uint64_t n_blocks;    /* along the axis */
	bool by_slice;	      /* scales differ along the axis alone */
	struct tp_tensor *scale, *zero; /* f64, packed; zero may be NULL */
};

/*
 * From inputs 0 (what is scaled), 1 (scales) and, if given, 2 (zero points),
 * and the attributes axis and block_size. tpi_grid_check: do they fit?
 */
enum tp_status tpi_grid_check(const struct tpi_call *c, struct tp_err *err);
enum tp_status tpi_grid_init(
    struct tpi_grid *g, const struct tpi_call *c, struct tp_err *err);
void tpi_grid_release(struct tpi_grid *g);

/* What elements from … from + n - 1 have; zeros are 0 without zero points. */
void tpi_grid_scales(
    const struct tpi_grid *g, uint64_t from, size_t n, double *scales);
void tpi_grid_zeros(
    const struct tpi_grid *g, uint64_t from, size_t n, double *zeros);

#endif
