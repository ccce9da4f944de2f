/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - a tensor that stands for many: what lies under it
 *
 * The wrapper has shape, strides and storage of the first example, so that
 * sizes are those that a function of one example expects.
 */
#ifndef TPI_BATCH_H
#define TPI_BATCH_H

#include "fn.h"

struct tp_batch {
	struct tp_tensor *value; /* the batch is axis 0; may be a wrapper */
	uint64_t level;		 /* of the tp_vmap that made it, from 1 on */
};

/* The innermost tp_vmap that an input belongs to; 0: none. */
uint64_t tpi_batch_level(const struct tp_tensor *const *in, unsigned n_in);

enum tp_status tpi_apply_batched(const struct tpi_fn *fn,
    const struct tpi_args *args, const struct tp_tensor *const *in,
    unsigned n_in, struct tp_tensor *into, struct tp_tensor **out,
    struct tp_err *err);

/* A wrapper over value, which is taken, also on failure. */
enum tp_status tpi_batch_wrap(struct tp_tensor *value, uint64_t level,
    struct tp_tensor **out, struct tp_err *err);
/* Another handle on a wrapper. */
enum tp_status tpi_batch_alias(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err);
/*
 * Input k with axes of size 1 behind the batch, so that examples have that
 * rank; a step of c.
 */
const struct tp_tensor *tpi_batch_align(struct tpi_calc *c,
    const struct tpi_batch_call *b, unsigned k, unsigned rank);
/* Called by tp_tensor_free. */
void tpi_batch_drop(struct tp_tensor *t);

#endif
