/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards.h - models that lie in several safetensors files
 *
 *	NAME-00001-of-00003.safetensors … and NAME.safetensors.index.json:
 *
 *	{"metadata": {"total_size": 24}, "weight_map": {"tensor": "file"}}
 */
#ifndef TPI_SHARDS_H
#define TPI_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin.h"

#define TPI_SHARDS_SUFFIX ".safetensors"
#define TPI_SHARDS_INDEX_SUFFIX ".safetensors.index.json"

/* Bytes at the beginning of an index that tell what it is. */
#define TPI_SHARDS_PROBE 4096

/*
 * The file to open for a folder: the index of the one shard set in it, or its
 * one safetensors file. *path has *path_size bytes and is the caller's to give
 * back with tp_mem_free. TP_EIO or TP_EFORMAT when there is not just one.
 */
enum tp_status tpi_shards_locate(const struct tp_alloc *alloc,
    const char *folder, char **path, size_t *path_size, struct tp_err *err);

/* True if a file that begins so is an index. */
bool tpi_shards_is_index(const uint8_t *head, size_t n);

/* The last component of a path. */
const char *tpi_shards_base(const char *path);

bool tpi_shards_ends_with(const char *name, const char *suffix);

/*
 * True if the file name is that of a shard; *stem_len is the length of what
 * stands before "-00001-of-00003.safetensors", *of the second number.
 */
bool tpi_shards_parse(const char *base, size_t *stem_len, uint64_t *of);

/* folder of `path` + name, from the arena; NULL when there is no memory. */
char *tpi_shards_beside(
    struct tpi_arena *arena, const char *path, struct tp_str name);

/* r->sources[0] is an index: read all shards. */
enum tp_status tpi_shards_open_index(struct tp_reader *r, struct tp_err *err);

/*
 * If r->sources[0] is one shard of a set whose index lies beside it, read the
 * set and set *done; without an index warn that the file is read alone.
 */
enum tp_status tpi_shards_open_around(
    struct tp_reader *r, bool *done, struct tp_err *err);

#endif
