/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.h - matrix products y = a b, wherever a and b come from
 *
 *  1. Fill a struct tpi_gemm: the sizes, how a block of each operand is packed
 *     into panels of doubles, and where rows of finished sums go.
 *  2. tpi_gemm_run computes one product or many of the same sizes, on threads.
 *
 * Each element of y is the sum of its products from k = 0 on, in double,
 * whatever the blocks are: operators that are products in disguise (Gemm, Conv,
 * Einsum) get the same exactness from here. Scratch is bounded: less than 300 K
 * doubles a thread.
 */
#ifndef TPI_OPS_GEMM_H
#define TPI_OPS_GEMM_H

#include "../op.h"
#include "product.h"

/*
 * An operand in memory. Its lanes are rows of a, columns of b; along its depth
 * the sums run.
 */
struct tpi_matrix {
	const char *data;
	int64_t lane_step, depth_step; /* bytes */
};

/* At most so many sums come to tpi_put_fn at once. */
#define TPI_GEMM_COLUMNS 256

struct tpi_gemm;

/*
 * Lanes first … first+n-1 and depths k … k+depth-1 of an operand as panels, one
 * after the other: `width` lanes each, the last filled up with zeros,
 *
 *	lane first + p * width + i, depth k + s:
 *	panels[(p * depth + s) * width + i]
 */
typedef void tpi_pack_fn(const struct tpi_gemm *g, double *panels, size_t width,
    size_t first, size_t n, size_t k, size_t depth);

/* n sums of row i, from column j on, are complete. */
typedef void tpi_put_fn(
    const struct tpi_gemm *g, size_t i, size_t j, double *sums, size_t n);

struct tpi_gemm {
	size_t m, n, k;
	enum tp_dtype dtype; /* of a, b and y */
	struct tpi_matrix a, b;
	/* For floats; NULL: a and b as described, into y. */
	tpi_pack_fn *pack_a, *pack_b;
	tpi_put_fn *put;
	char *y;
	int64_t y_row;	  /* bytes; elements of a row are packed */
	uint64_t product; /* its number, when one of many */
	const void *ctx, *b_ctx;
};

/* Sets up product number i of many: in *g, which has what all share. */
typedef void tpi_gemm_fn(const void *ctx, uint64_t i, struct tpi_gemm *g);

/* `each` may be NULL for one product; it is called on any thread. */
enum tp_status tpi_gemm_run(const struct tpi_call *c, const struct tpi_gemm *g,
    uint64_t n_products, tpi_gemm_fn *each, struct tp_err *err);

/* Many products: axes in front of matrices, with a step for a and b. */
struct tpi_batch {
	unsigned rank;
	int64_t sizes[TP_MAX_RANK];
	int64_t a_steps[TP_MAX_RANK], b_steps[TP_MAX_RANK]; /* bytes */
	const char *a, *b;
	char *y;
	int64_t y_step;
};

/* With the batch as ctx of the product. */
tpi_gemm_fn tpi_batch_go;

/* By dtype, for operators whose list of dtypes is that of products. */
extern tp_loop_fn *const tpi_gemm_kernels[TP_DTYPE_COUNT];

/*
 * n elements from steps[1] apart into doubles steps[0] apart, and n doubles
 * data[1] into packed elements data[0]: for floats.
 */
extern tp_loop_fn *const tpi_unpack[TP_DTYPE_COUNT];
extern tp_loop_fn *const tpi_pack[TP_DTYPE_COUNT];

#endif
