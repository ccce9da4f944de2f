/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/sparse.h - tensors of which only the elements that are not zero are kept
 *
 *	indices  [[0, 1], [1, 2]]	values [5, 7]		shape [2, 3]
 *
 *	0 5 0
 *	0 0 7
 *
 *  1. tp_sparse_new over values [n] and indices [n, rank] (or [n]: row-major
 *     element numbers).
 *  2. It has the dtype of the values and the shape it stands for. Its elements
 *     have no place in memory: tp_tensor_data is NULL, and views, iterators and
 *     packing refuse it with TP_EUNSUPPORTED.
 *  3. tp_to_dense writes it out; tp_to_sparse finds the elements that are not
 *     zero; tp_coalesce sorts by index and adds up what is there twice.
 */
#ifndef TP_SPARSE_H
#define TP_SPARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

/*
 * Handles on values and indices are kept; the given ones stay the caller's.
 * TP_EARG when the shapes do not fit, an index lies outside, or indices are not
 * i64. Indices may come in any order and more than once.
 */
TP_API TP_NODISCARD enum tp_status tp_sparse_new(const struct tp_tensor *values,
    const struct tp_tensor *indices, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err);

TP_API bool tp_tensor_is_sparse(const struct tp_tensor *t);

/* Borrowed until the tensor is freed; NULL when it is not sparse. */
TP_API const struct tp_tensor *tp_sparse_values(const struct tp_tensor *t);
TP_API const struct tp_tensor *tp_sparse_indices(const struct tp_tensor *t);

/* True when the indices ascend in row-major order, each once. */
TP_API bool tp_sparse_is_coalesced(const struct tp_tensor *t);

/*
 * A row-major tensor with all elements; values of one index are added, in their
 * order (TP_EUNSUPPORTED for dtypes that do not add: bool).
 */
TP_API TP_NODISCARD enum tp_status tp_to_dense(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err);

/*
 * The elements of a dense tensor that are not zero, coalesced, with coordinates
 * [n, rank]. A negative zero counts as zero, NaN does not.
 */
TP_API TP_NODISCARD enum tp_status tp_to_sparse(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err);

/* The same tensor with ascending indices, each once; values are added up. */
TP_API TP_NODISCARD enum tp_status tp_coalesce(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err);

#endif
