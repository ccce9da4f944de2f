/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - what other files of libtensor ask of a storage */
#ifndef TPI_STORAGE_H
#define TPI_STORAGE_H

#include "tp/storage.h"

/* The allocator it was made with, for handles that belong to it. */
const struct tp_alloc *tpi_storage_alloc(const struct tp_storage *s);

#endif
