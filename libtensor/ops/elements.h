/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elements.h - places of a tensor that tensors of indices name
 *
 * Each function gives the offsets, in bytes from the first element of a tensor,
 * that go with a row of indices.
 */
#ifndef TPI_OPS_ELEMENTS_H
#define TPI_OPS_ELEMENTS_H

#include "indices.h"

/*
 * GatherElements, ScatterElements: index [i, j, k] stands for the element of
 * data that has these coordinates but, along the axis, the index itself.
 */
struct tpi_elements {
	struct tpi_indices list; /* wrapped */
	unsigned axis, rank;
	const int64_t *sizes; /* of the indices, borrowed from their tensor */
	int64_t steps[TP_MAX_RANK]; /* of data, bytes */
	uint64_t n_rows, row;	    /* along the last axis */
};

/* Indices are input 1; data is a tensor of input 0's shape. */
enum tp_status tpi_elements_take(const struct tpi_call *c,
    const struct tp_tensor *data, struct tpi_elements *e, struct tp_err *err);
void tpi_elements_row(
    const struct tpi_elements *e, uint64_t row, int64_t *offsets);

/*
 * GatherND, ScatterND: the last axis of the indices has coordinates of a slice
 * of data, whose first n_batch axes are those of the indices.
 */
struct tpi_tuples {
	int64_t *offsets; /* of slices */
	size_t n;	  /* slices named */
	size_t n_inner;	  /* elements of one */
	const struct tp_alloc *alloc;
};

/* The shapes fit; *depth is how many coordinates there are. */
enum tp_status tpi_tuples_check(const struct tpi_call *c, unsigned n_batch,
    unsigned *depth, struct tp_err *err);
/* data is packed and has the shape of input 0. */
enum tp_status tpi_tuples_take(const struct tpi_call *c,
    const struct tp_tensor *data, unsigned n_batch, struct tpi_tuples *t,
    struct tp_err *err);
void tpi_tuples_release(struct tpi_tuples *t);

#endif
