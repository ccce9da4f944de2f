/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_cast.h - a stream that converts the elements of another
 *
 * Elements are read, converted and handed out in chunks whose size depends on
 * the dtypes alone, so neither the bytes nor the statistics depend on the
 * number of threads.
 */
#ifndef TPI_STREAM_CAST_H
#define TPI_STREAM_CAST_H

#include "tp/convert.h"

#include "stream.h"

/*
 * The buffers of a stream that was closed, for the next one: new memory costs
 * more than the conversion of a small tensor. Starts as zeros.
 */
struct tpi_cast_pool {
	struct tp_storage *block;
	size_t nbytes;
};
void tpi_cast_pool_release(struct tpi_cast_pool *pool);

struct tpi_cast {
	enum tp_dtype from, to;
	uint64_t n_elems; /* the inner stream has at least their bytes */
	enum tp_overflow overflow;
	unsigned n_threads;  /* 0: one for each processor; 1: no others */
	uint64_t max_memory; /* for buffers; 0: 16 MiB */
	struct tp_str what;  /* the tensor, for messages; borrowed */
	struct tpi_cast_pool *pool; /* NULL: none */
	/*
	 * Not NULL: how n elements from number base on are converted, on any
	 * thread, instead of by tp_convert.
	 */
	void (*convert)(const void *ctx, void *dst, const void *src, size_t n,
	    uint64_t base);
	const void *ctx;
};

/*
 * Takes ownership of inner, also on failure. stats (may be NULL) is added to as
 * chunks are handed out and complete when the stream is at its end. Reading
 * fails with TP_ERANGE at the first value that does not fit.
 */
enum tp_status tpi_stream_cast(const struct tp_alloc *alloc,
    struct tp_stream *inner, const struct tpi_cast *cast,
    struct tp_cast_stats *stats, struct tp_stream **out, struct tp_err *err);

/* Elements in one chunk: a multiple of 64, so that chunks begin on a byte. */
size_t tpi_cast_chunk(enum tp_dtype from, enum tp_dtype to);

/*
 * Convert n elements between little-endian bytes. On a big-endian machine src
 * is turned in place. Messages name the tensor; indices count from base.
 */
enum tp_status tpi_cast_bytes(const struct tpi_cast *cast, void *dst, void *src,
    size_t n, uint64_t base, struct tp_cast_stats *stats, struct tp_err *err);

#endif
