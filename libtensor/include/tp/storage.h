/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/storage.h - counted bytes under tensors
 *
 *  1. tp_storage_new owns fresh zeroed memory; tp_storage_wrap adopts memory of
 *     the caller's (a mapping, a borrowed buffer) with a function that gives it
 *     back.
 *  2. Tensors hold a reference each: tp_storage_ref, tp_storage_unref.
 *  3. The last unref releases the bytes, on whichever thread it happens.
 *
 * The count is atomic; the bytes are not guarded.
 */
#ifndef TP_STORAGE_H
#define TP_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/device.h"
#include "tp/error.h"
#include "tp/macros.h"

struct tp_storage;

enum tp_storage_kind {
	TP_STORAGE_OWNED,    /* allocated here, writable */
	TP_STORAGE_MAPPED,   /* pages of a file, read-only */
	TP_STORAGE_BORROWED, /* the caller's, writable if it says so */
};

/*
 * A new reference to nbytes of zeroed memory aligned to 64, from alloc or, when
 * that is NULL, from the allocator registered for the CPU. 0 is allowed.
 */
TP_API TP_NODISCARD enum tp_status tp_storage_new(const struct tp_alloc *alloc,
    size_t nbytes, struct tp_storage **out, struct tp_err *err);

/* The same from the allocator registered for a device (tp/allocator.h). */
TP_API TP_NODISCARD enum tp_status tp_storage_new_on(struct tp_device device,
    size_t nbytes, struct tp_storage **out, struct tp_err *err);

/*
 * A new reference to memory that someone else allocated. release (may be NULL)
 * is called with ctx, data and nbytes by the last unref; it is not called when
 * this function fails.
 */
typedef void tp_release_fn(void *ctx, void *data, size_t nbytes);
TP_API TP_NODISCARD enum tp_status tp_storage_wrap(const struct tp_alloc *alloc,
    enum tp_storage_kind kind, void *data, size_t nbytes, bool writable,
    tp_release_fn *release, void *ctx, struct tp_storage **out,
    struct tp_err *err);

/*
 * Storages have a fixed size unless they are made resizable, which is TP_EARG
 * for memory that was wrapped.
 */
TP_API TP_NODISCARD enum tp_status tp_storage_set_resizable(
    struct tp_storage *s, bool on, struct tp_err *err);
TP_API bool tp_storage_is_resizable(const struct tp_storage *s);

/*
 * Another size; what is kept are the bytes up to the smaller one, and new ones
 * are zero. Tensors over it stay valid: a larger size may move the bytes, so
 * addresses taken before are void, and a smaller one gives no memory back.
 * TP_EARG for a fixed size. No other thread may use the storage meanwhile.
 */
TP_API TP_NODISCARD enum tp_status tp_storage_resize(
    struct tp_storage *s, size_t nbytes, struct tp_err *err);

/* Returns s. NULL is passed through by both. */
TP_API struct tp_storage *tp_storage_ref(struct tp_storage *s);
TP_API void tp_storage_unref(struct tp_storage *s);

TP_API const void *tp_storage_data(const struct tp_storage *s);
/* NULL when the storage is read-only. */
TP_API void *tp_storage_data_mut(struct tp_storage *s);
TP_API size_t tp_storage_nbytes(const struct tp_storage *s);
TP_API enum tp_storage_kind tp_storage_kind(const struct tp_storage *s);

#endif
