/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - what other files of libtensor ask of a storage */
#ifndef TPI_STORAGE_H
#define TPI_STORAGE_H

#include "tp/device.h"
#include "tp/storage.h"

/* The allocator it was made with, for handles that belong to it. */
const struct tp_alloc *tpi_storage_alloc(const struct tp_storage *s);

/* Its bytes, whether they may be written or not. */
char *tpi_storage_bytes(const struct tp_storage *s);

/* A new storage in the memory of the CPU; what its bytes are is undefined. */
enum tp_status tpi_storage_new_raw(const struct tp_alloc *alloc, size_t nbytes,
    struct tp_storage **out, struct tp_err *err);

/*
 * A new storage on the device and from the allocator of another one; what its
 * bytes are is undefined.
 */
enum tp_status tpi_storage_new_like(const struct tp_storage *like,
    size_t nbytes, struct tp_storage **out, struct tp_err *err);

struct tp_device tpi_storage_device(const struct tp_storage *s);

/* Writes in place so far; relaxed, for it orders nothing. */
uint64_t tpi_storage_version(const struct tp_storage *s);
void tpi_storage_bump_version(struct tp_storage *s);

#endif
