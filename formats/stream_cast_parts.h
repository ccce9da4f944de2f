/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_cast_parts.h - what the parts of a converting stream share
 *
 *	stream_cast.c       opening and closing; one chunk
 *	stream_cast_ring.c  chunks handed out in order
 *	stream_cast_pour.c  chunks written to where they belong
 *
 * Either way workers take turns at the inner stream, so its chunks are read in
 * order, and convert them side by side.
 */
#ifndef TPI_STREAM_CAST_PARTS_H
#define TPI_STREAM_CAST_PARTS_H

#include <pthread.h>

#include "stream_cast.h"

#define TPI_CAST_MAX_WORKERS 16
#define TPI_CAST_MAX_SLOTS (2 * TPI_CAST_MAX_WORKERS + 2)

/* One chunk after its conversion, or the failure that is there instead. */
struct tpi_cast_slot {
	bool full; /* of the ring: not handed out yet */
	enum tp_status status;
	struct tp_err err;
	struct tp_cast_stats stats;
	uint8_t *data;
	size_t nbytes;
};

struct tpi_cast_worker {
	struct tpi_cast_stream *c;
	pthread_t thread; /* of the ring */
	uint8_t *raw;	  /* one chunk before its conversion */
};

struct tpi_cast_stream {
	struct tp_stream s;
	const struct tp_alloc *alloc;
	struct tp_stream *inner;
	struct tpi_cast cast;
	struct tp_cast_stats *stats; /* may be NULL */
	size_t chunk;		     /* elements */
	size_t raw_nbytes;	     /* of a buffer, before and after */
	size_t out_nbytes;
	uint64_t n_chunks;

	struct tpi_cast_worker workers[TPI_CAST_MAX_WORKERS];
	unsigned n_workers;
	struct tpi_cast_slot slots[TPI_CAST_MAX_SLOTS];
	unsigned n_slots;
	struct tpi_cast_pool block; /* of all their buffers */

	pthread_mutex_t lock; /* guards *stats and what follows */
	double max_rel;	      /* the largest relative error of a chunk so far */

	/* ---- the ring ---- */
	unsigned n_started;
	pthread_mutex_t turn; /* held while reading the inner stream */
	pthread_cond_t filled, emptied;
	uint64_t next_in;  /* chunk to read from the inner stream */
	uint64_t next_out; /* chunk being handed out */
	size_t out_pos;	   /* bytes of it that are gone */
	bool lent; /* all of it is gone, the last perhaps still in use */
	bool stop;
};

/* Whether more threads than the caller's are worth it, and wanted. */
bool tpi_cast_is_threaded(const struct tpi_cast_stream *c);

/* Where chunk k begins in the stream. */
uint64_t tpi_cast_chunk_offset(const struct tpi_cast_stream *c, uint64_t k);

/*
 * Read chunk k of the inner stream, whose turn is the caller's; convert chunk
 * k, whose bytes are in raw, into the slot. How that went is slot->status.
 */
void tpi_cast_read_chunk(struct tpi_cast_stream *c, uint64_t k, uint8_t *raw,
    struct tpi_cast_slot *slot);
void tpi_cast_convert_chunk(struct tpi_cast_stream *c, uint64_t k, uint8_t *raw,
    struct tpi_cast_slot *slot);

/* The functions of the stream. */
enum tp_status tpi_cast_ring_take(
    struct tp_stream *s, const void **p, size_t *n, struct tp_err *err);
enum tp_status tpi_cast_ring_read(
    struct tp_stream *s, void *buf, size_t n, struct tp_err *err);
enum tp_status tpi_cast_pour(
    struct tp_stream *s, int fd, uint64_t offset, struct tp_err *err);

/* Wait for the ring's threads, which stop. */
void tpi_cast_ring_stop(struct tpi_cast_stream *c);

#endif
