/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heads.h - queries, keys and values of attention, by head
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
	/* As above, wherever they lie; values in f64. */
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

/*
 * Some rows of scores, one for each query of each head: all of the queries of
 * n heads, or some of one.
 */
struct tpi_span {
	uint64_t head; /* batch * heads + head */
	size_t n_heads;
	int64_t query, n_queries;
};

struct tpi_span tpi_heads_all(const struct tpi_heads *h);
/* Rows from row on, of about n numbers together; at least one. */
struct tpi_span tpi_heads_span(
    const struct tpi_heads *h, uint64_t row, uint64_t n);

/* Scores of the span: rows of n_k doubles. */
enum tp_status tpi_heads_scores(const struct tpi_call *c,
    const struct tpi_heads *h, const struct tpi_span *span, double *scores,
    struct tp_err *err);
/* Values weighed by such rows, into y, which is as q with v_size at the end. */
enum tp_status tpi_heads_sum(const struct tpi_call *c,
    const struct tpi_heads *h, const struct tpi_span *span, double *p,
    const struct tp_tensor *y, struct tp_err *err);

#endif
