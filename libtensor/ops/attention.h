/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.h - who is seen by whom, for attention.c
 *
 * What is added to the scores of a row: the mask, and -infinity where a key is
 * behind the end of its sequence, in the future, or outside the window around
 * the query.
 */
#ifndef TPI_OPS_ATTENTION_H
#define TPI_OPS_ATTENTION_H

#include "heads.h"

struct tpi_sight {
	bool is_causal;
	int64_t left, right; /* of the window; -1: open */
	int64_t n_past;	     /* keys before the first query */
	int64_t n_q, n_k;
	struct tp_tensor *lens; /* i64, keys of each sequence, or NULL */
	/*
	 * f64 [batch, heads, n_q, keys], repeated where need be, or NULL. Keys
	 * behind its last are not seen.
	 */
	struct tp_tensor *mask;
	bool is_choice; /* the mask is 0 and 1: seen or not */
};

/*
 * Attributes and inputs but for the mask's numbers. h->n_k are the new keys,
 * before which there are n_past.
 */
enum tp_status tpi_sight_read(const struct tpi_call *c,
    const struct tpi_heads *h, int64_t n_past, struct tpi_sight *s,
    struct tp_err *err);
enum tp_status tpi_sight_take(const struct tpi_call *c,
    const struct tpi_heads *h, struct tpi_sight *s, struct tp_err *err);
void tpi_sight_drop(struct tpi_sight *s);

/* What is added to the scores of a query, and whether it sees any key. */
bool tpi_sight_row(const struct tpi_sight *s, uint64_t batch, uint64_t head,
    int64_t query, double *bias);

#endif
