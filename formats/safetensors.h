/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.h - what the files of the safetensors format share */
#ifndef TPI_SAFETENSORS_H
#define TPI_SAFETENSORS_H

#include "plugin.h"

/* Readers everywhere refuse a longer header. */
#define TPI_SAFETENSORS_HEADER_MAX 100000000

/* "F8_E4M3"; NULL if the format has no such dtype. */
const char *tpi_safetensors_dtype_name(enum tp_dtype dtype);
/* TP_DTYPE_NONE if there is none of that name. */
enum tp_dtype tpi_safetensors_dtype_find(struct tp_str name);
/* Where tensors of that dtype come in a file: 0 first. */
unsigned tpi_safetensors_dtype_order(enum tp_dtype dtype);

/*
 * What a shard set has to say about one of its files: whether a tensor may lie
 * in it. And metadata that an earlier file gave may be given again.
 */
struct tpi_safetensors_set {
	enum tp_status (*check)(struct tpi_safetensors_set *set,
	    struct tp_str name, uint64_t offset, struct tp_err *err);
};

/*
 * Read the header in r->sources[source] and add what it lists. set is NULL for
 * a file that stands alone. *data_nbytes (may be NULL) is what the tensors
 * take.
 */
enum tp_status tpi_safetensors_read(struct tp_reader *r, size_t source,
    struct tpi_safetensors_set *set, uint64_t *data_nbytes, struct tp_err *err);

/*
 * Do the tensors from entry `first` on lie side by side behind data_offset, in
 * any order? *end is where the last one ends, counted from there.
 */
enum tp_status tpi_safetensors_extents(const struct tp_reader *r, size_t first,
    uint64_t data_offset, uint64_t *end, struct tp_err *err);

/* The writing half of the descriptor. */
enum tp_status tpi_safetensors_plan(struct tp_writer *w, struct tp_err *err);
enum tp_status tpi_safetensors_put(struct tp_writer *w, size_t storage,
    struct tp_stream *s, struct tp_err *err);

#endif
