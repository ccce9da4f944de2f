/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_pour.h - the chunks of a stream written by whoever read them
 *
 *	stream -> worker's buffer -> file
 *
 * Where a chunk goes is known before it is read, so each worker writes its own,
 * while it is in that processor's cache, and waits for nobody. Chunks are begun
 * in order, so all before one that fails are done in the end: the failure of
 * the earliest chunk is told whatever the timing was.
 */
#ifndef TPI_STREAM_POUR_H
#define TPI_STREAM_POUR_H

#include "stream.h"

struct tpi_pour {
	uint64_t n_chunks;
	unsigned n_workers;
	void *ctx;
	/* Chunk k to worker i; one call at a time, in order. */
	enum tp_status (*read)(
	    void *ctx, size_t i, uint64_t k, struct tp_err *err);
	/* And from there to the file, side by side; sets *n to its bytes. */
	enum tp_status (*write)(
	    void *ctx, size_t i, uint64_t k, size_t *n, struct tp_err *err);
};

/* All chunks; moves s by what was written, on the caller's thread. */
enum tp_status tpi_pour(
    struct tp_stream *s, const struct tpi_pour *what, struct tp_err *err);

#endif
