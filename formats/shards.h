/* SPDX-License-Identifier: Apache-2.0 */
/* shards.h - models that lie in several safetensors files */
#ifndef TPI_SHARDS_H
#define TPI_SHARDS_H

#include <stddef.h>

#include "tp/alloc.h"
#include "tp/error.h"

/*
 * The file to open for a folder: the index of the one shard set in it, or its
 * one safetensors file. *path has *path_size bytes and is the caller's to give
 * back with tp_mem_free. TP_EIO or TP_EFORMAT when there is not just one.
 */
enum tp_status tpi_shards_locate(const struct tp_alloc *alloc,
    const char *folder, char **path, size_t *path_size, struct tp_err *err);

#endif
