/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.h - what a sparse tensor holds instead of elements */
#ifndef TPI_SPARSE_H
#define TPI_SPARSE_H

#include <stdatomic.h>

#include "tp/sparse.h"

struct tp_sparse {
	const struct tp_alloc *alloc;
	atomic_size_t count;
	struct tp_tensor *values;  /* [n], row-major */
	struct tp_tensor *indices; /* i64, [n] or [n, rank], row-major */
	bool is_coalesced;
};

/* NULL is passed through by both. */
struct tp_sparse *tpi_sparse_ref(struct tp_sparse *s);
void tpi_sparse_unref(struct tp_sparse *s);

/*
 * A tensor of that shape, of the dtype of values, without elements in memory.
 */
enum tp_status tpi_sparse_shell(const struct tp_tensor *values,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err);

#endif
