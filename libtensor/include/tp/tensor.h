/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/tensor.h - a typed, strided window of a storage
 *
 *  1. tp_tensor_new over a storage, or tp_tensor_empty for fresh memory.
 *  2. Views (tp/view.h) share the storage; tp/copy.h packs them.
 *  3. Read through tp_tensor_data when row-major, else through tp_gather.
 *  4. tp_tensor_free drops the handle; the bytes live while anyone holds them,
 *     so a tensor may outlive the file it came from.
 *
 * Values in memory have the byte order of the machine. Shapes up to rank 5 live
 * inside the handle.
 */
#ifndef TP_TENSOR_H
#define TP_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/device.h"
#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"
#include "tp/storage.h"

struct tp_tensor;

/*
 * A tensor over storage (a reference is taken). strides NULL means row-major;
 * first is the element at index (0, …, 0). TP_EARG when an element would lie
 * outside the storage. Strings are not held by tensors.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_new(struct tp_storage *storage,
    enum tp_dtype dtype, const int64_t *sizes, const int64_t *strides,
    unsigned rank, uint64_t first, struct tp_tensor **out, struct tp_err *err);

/* A row-major tensor of zeros with a storage of its own. */
TP_API TP_NODISCARD enum tp_status tp_tensor_empty(const struct tp_alloc *alloc,
    enum tp_dtype dtype, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err);

/* The same on a device. */
TP_API TP_NODISCARD enum tp_status tp_tensor_empty_on(struct tp_device device,
    enum tp_dtype dtype, const int64_t *sizes, unsigned rank,
    struct tp_tensor **out, struct tp_err *err);

/*
 * Another handle on the same elements: it shares storage, version and
 * quantizer, never the gradient history.
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_alias(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err);

/* NULL is allowed. */
TP_API void tp_tensor_free(struct tp_tensor *t);

TP_API enum tp_dtype tp_tensor_dtype(const struct tp_tensor *t);
TP_API unsigned tp_tensor_rank(const struct tp_tensor *t);
TP_API const int64_t *tp_tensor_sizes(const struct tp_tensor *t);
TP_API const int64_t *tp_tensor_strides(const struct tp_tensor *t);
TP_API uint64_t tp_tensor_numel(const struct tp_tensor *t);
TP_API uint64_t tp_tensor_first(const struct tp_tensor *t);
TP_API struct tp_storage *tp_tensor_storage(const struct tp_tensor *t);
TP_API bool tp_tensor_is_row_major(const struct tp_tensor *t);

/*
 * The address of the first element; NULL when elements are narrower than a byte
 * and the first does not begin one, for sparse tensors, and inside tp_vmap.
 * _mut also NULL when read-only.
 */
TP_API const void *tp_tensor_data(const struct tp_tensor *t);
TP_API void *tp_tensor_data_mut(struct tp_tensor *t);

/*
 * True for a tensor that was made as a window of another one (tp/view.h), which
 * its writes therefore change.
 */
TP_API bool tp_tensor_is_view(const struct tp_tensor *t);

TP_API struct tp_device tp_tensor_device(const struct tp_tensor *t);

/*
 * How often the elements were written in place, through any handle or view of
 * the storage. Autograd compares it with what it saw. Inference tensors do not
 * count and always say 0.
 */
TP_API uint64_t tp_tensor_version(const struct tp_tensor *t);
TP_API void tp_tensor_bump_version(const struct tp_tensor *t);
TP_API void tp_tensor_set_inference(struct tp_tensor *t, bool on);
TP_API bool tp_tensor_is_inference(const struct tp_tensor *t);

/*
 * TP_EARG unless the elements may be written one by one: the storage is
 * writable, and no two indices lead to the same element (an expanded axis).
 */
TP_API TP_NODISCARD enum tp_status tp_tensor_check_write(
    const struct tp_tensor *t, struct tp_err *err);

#endif
