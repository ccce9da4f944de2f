/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.h - what a tensor handle holds, for the files of libtensor
 */
#ifndef TPI_TENSOR_H
#define TPI_TENSOR_H

#include "tp/tensor.h"

#define TPI_INLINE_RANK 5

struct tp_tensor {
	const struct tp_alloc *alloc;
	struct tp_storage *storage;
	enum tp_dtype dtype;
	unsigned rank;
	uint64_t first; /* element at index (0, …, 0) */
	uint64_t n_elems;
	bool is_view, is_inference;
	struct tp_quantizer *quantizer; /* NULL: plain numbers */
	struct tp_sparse *sparse;	/* NULL: dense */
	struct tp_autograd *autograd;	/* NULL: no history */
	struct tp_batch *batch;		/* NULL: not inside tp_vmap */
	/* Sizes, then strides: inline up to rank 5, else 2 * rank on the heap.
	 */
	int64_t inline_dims[2 * TPI_INLINE_RANK];
	int64_t *heap_dims;
};

static inline int64_t *
tpi_tensor_dims(struct tp_tensor *t)
{
	return t->heap_dims ? t->heap_dims : t->inline_dims;
}

/*
 * As tp_shape_numel, for a tensor in memory: its elements and the size of each
 * axis can be counted by size_t and ptrdiff_t of this machine, even where they
 * take no memory. TP_ELIMIT if not.
 */
enum tp_status tpi_tensor_numel(
    const int64_t *sizes, unsigned rank, uint64_t *n, struct tp_err *err);

/*
 * A view: a tensor over the storage of t, without its quantizer, which has a
 * shape of its own to follow (see view.c).
 */
enum tp_status tpi_tensor_derive(const struct tp_tensor *t,
    const int64_t *sizes, const int64_t *strides, unsigned rank, uint64_t first,
    struct tp_tensor **out, struct tp_err *err);

/*
 * As tp_tensor_empty, but the elements are still to be written: all of them,
 * for what they are is undefined.
 */
enum tp_status tpi_tensor_unwritten(const struct tp_alloc *alloc,
    enum tp_dtype dtype, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err);

/*
 * A tensor of the same sizes, dtype, device and allocator over a storage of its
 * own, whose elements are still to be written. strides are dense; NULL means
 * row-major.
 */
enum tp_status tpi_tensor_new_like(const struct tp_tensor *t,
    const int64_t *strides, struct tp_tensor **out, struct tp_err *err);

/*
 * The address of the first element for loops, whether they write or not; only
 * what tp_tensor_check_write allows may be written.
 */
char *tpi_tensor_address(const struct tp_tensor *t);

#endif
