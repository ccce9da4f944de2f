/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_pour.h - the chunks of a stream written by whoever read them
 *
 *	stream -> worker's buffer -> file
 *
 * Where a chunk goes is known before it is read, so each worker writes its own,
 * while it is in that processor's cache. Workers wait for each other only to
 * read, and to settle what depends on the order. Chunks are begun in order, so
 * all before one that fails are done in the end: the failure of the earliest
 * chunk is told whatever the timing was.
 */
#ifndef TPI_STREAM_POUR_H
#define TPI_STREAM_POUR_H

#include "stream.h"

/* One step of worker i with chunk k. */
typedef enum tp_status tpi_pour_fn(
    void *ctx, size_t i, uint64_t k, struct tp_err *err);

struct tpi_pour {
	uint64_t n_chunks;
	unsigned n_workers;
	void *ctx;
	/* The steps of a chunk; of the first and the third there is one call at
	 * a time, in the order of chunks. */
	tpi_pour_fn *read;
	tpi_pour_fn *make;   /* side by side */
	tpi_pour_fn *settle; /* NULL: nothing depends on the order */
	/* To the file, side by side; sets *n to its bytes. NULL: nowhere. */
	enum tp_status (*write)(
	    void *ctx, size_t i, uint64_t k, size_t *n, struct tp_err *err);
};

/*
 * All chunks; moves s by what was written, on the caller's thread. Without a
 * write there need be no s.
 */
enum tp_status tpi_pour(
    struct tp_stream *s, const struct tpi_pour *what, struct tp_err *err);

#endif
