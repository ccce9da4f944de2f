/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/copy.h - strided elements into packed, row-major ones
 *
 * tp_tensor_contiguous packs a whole tensor; tp_gather any range of its
 * elements, so that one that is larger than memory can pass through a buffer.
 */
#ifndef TP_COPY_H
#define TP_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/tensor.h"

/*
 * Where elements lie: that of index (i, j, …) is element
 * first + i * strides[0] + j * strides[1] + … of the packed elements at base.
 * Everything is borrowed; base needs no alignment. The shape must have passed
 * tp_shape_numel and every element must lie in the memory at base.
 */
struct tp_strided {
	enum tp_dtype dtype; /* not a string */
	unsigned rank;
	const int64_t *sizes, *strides;
	uint64_t first;
	const void *base;
};

/*
 * Pack the n elements from number `from` on, counted in row-major order, to the
 * start of dst, which does not overlap base. Ranges of several whole rows are
 * faster than parts of a row.
 */
TP_API void tp_gather(
    const struct tp_strided *s, uint64_t from, size_t n, void *dst);

/* The layout of a tensor; valid while the tensor is. */
TP_API struct tp_strided tp_tensor_strided(const struct tp_tensor *t);

/*
 * A row-major tensor with the values of t whose tp_tensor_data is not NULL: a
 * handle on the same storage if t is one already, else a packed copy in memory
 * from the storage's allocator.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_contiguous(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err);

#endif
