/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heads.h - queries, keys and values of attention, by head, in f64
 *
 *	queries [batch, heads, n_q, size]
 *	keys    [batch, kv_heads, n_k, size]
 *	values  [batch, kv_heads, n_k, v_size]
 *
 * Operators also take them with the heads side by side, [batch, n, heads *
 * size]. There may be fewer heads of keys than of queries; neighbors share one
 * then.
 */
#ifndef TPI_OPS_HEADS_H
#define TPI_OPS_HEADS_H

#include "../op.h"

struct tpi_heads {
	int64_t n_batch, n_heads, n_kv_heads, n_q, n_k, size, v_size;
	bool is_flat; /* heads came side by side */
	double scale; /* of scores */
	/* Keys are turned over, [batch, kv_heads, size, n_k], for products. */
	struct tp_tensor *q, *k, *v;
};

/*
 * Sizes from inputs 0 to 2; the numbers of heads are for those that lie side by
 * side, 0 if they are not given. scale is 1 / sqrt(size). Tensors are NULL.
 */
enum tp_status tpi_heads_read(const struct tpi_call *c, int64_t n_heads,
    int64_t n_kv_heads, struct tpi_heads *h, struct tp_err *err);

/* t as [batch, heads, n, size], whichever way it lies; n_heads divide. */
enum tp_status tpi_heads_split(const struct tp_tensor *t, int64_t n_heads,
    struct tp_tensor **out, struct tp_err *err);

/* Tensors from q, k, v as tpi_heads_split gives them; n_k is that of k. */
enum tp_status tpi_heads_take(const struct tpi_call *c, struct tpi_heads *h,
    const struct tp_tensor *q, const struct tp_tensor *k,
    const struct tp_tensor *v, struct tp_err *err);
void tpi_heads_drop(struct tpi_heads *h);

/* The number of rows, one for each query of each head. */
uint64_t tpi_heads_rows(const struct tpi_heads *h);
/* n_k scores of a row. */
void tpi_heads_scores(
    const struct tpi_heads *h, uint64_t row, double *restrict scores);
/* v_size sums of values, weighed by n_k probabilities. */
void tpi_heads_sum(const struct tpi_heads *h, uint64_t row,
    const double *restrict p, double *restrict y);

#endif
