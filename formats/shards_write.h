/* SPDX-License-Identifier: Apache-2.0 */
/* shards_write.h - which tensors go into which file, and what it is called */
#ifndef TPI_SHARDS_WRITE_H
#define TPI_SHARDS_WRITE_H

#include "shards.h"

/* One tensor of the output. */
struct tpi_shard_item {
	size_t entry;
	unsigned order; /* of its dtype */
	size_t shard;
};

struct tpi_shard_plan {
	struct tpi_shard_item *items; /* shard after shard, in file order */
	size_t n_items;
	size_t n_shards;
	bool has_index;
	/* Path without suffix, and its last component. */
	const char *stem, *base;
};

/*
 * Sort the entries of w->model and spread them over files as w->options say.
 * Everything is allocated from w->arena.
 */
enum tp_status tpi_shards_plan(
    struct tp_writer *w, struct tpi_shard_plan *p, struct tp_err *err);

/* The path of a shard, or of the one file; NULL when there is no memory. */
const char *tpi_shards_path(
    struct tp_writer *w, const struct tpi_shard_plan *p, size_t shard);

/* Open the index as the next sink and write it. */
enum tp_status tpi_shards_write_index(
    struct tp_writer *w, const struct tpi_shard_plan *p, struct tp_err *err);

/* A tp_json_write_fn over a sink; ctx is a struct tpi_json_sink. */
struct tpi_json_sink {
	struct tpi_sink *sink;
	struct tp_err *err;
	enum tp_status rc;
};
int tpi_json_to_sink(void *ctx, const char *s, size_t n);

#endif
