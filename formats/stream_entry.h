/* SPDX-License-Identifier: Apache-2.0 */
/* stream_entry.h - the pieces that make the stream of an entry */
#ifndef TPI_STREAM_ENTRY_H
#define TPI_STREAM_ENTRY_H

#include "plugin.h"

/*
 * True if no bits are left over in the last byte. Where some are, files that
 * others wrote may hold anything there, and only what is gathered has zeros.
 */
bool tpi_entry_fills_bytes(const struct tp_entry *e);

/*
 * Streams of parts of deflated storages that were closed and can go on from
 * where they stand; a few of them, for any number of threads.
 */
enum tp_status tpi_parking_new(
    const struct tp_alloc *alloc, struct tpi_parking **out, struct tp_err *err);
/* NULL is allowed. */
void tpi_parking_free(struct tpi_parking *p);

/*
 * True if the bytes of a storage need not be compared with a checksum (again);
 * TP_EMISMATCH if they were and it differs.
 */
enum tp_status tpi_storage_holds(const struct tp_reader *r, size_t i,
    struct tp_str what, bool *holds, struct tp_err *err);

/* tp_stream_storage with a name for messages. */
enum tp_status tpi_stream_storage_of(struct tp_reader *r, size_t i,
    struct tp_str what, struct tp_stream **out, struct tp_err *err);

/* nbytes from byte `from` of a storage on. */
enum tp_status tpi_stream_range(struct tp_reader *r, size_t storage,
    uint64_t from, uint64_t nbytes, struct tp_str what, struct tp_stream **out,
    struct tp_err *err);

/* A sparse entry with its zeros. */
enum tp_status tpi_stream_sparse(struct tp_reader *r, const struct tp_entry *e,
    struct tp_stream **out, struct tp_err *err);

/* An entry whose elements do not lie in row-major order. */
enum tp_status tpi_stream_gather(struct tp_reader *r, const struct tp_entry *e,
    struct tp_stream **out, struct tp_err *err);

/*
 * All bytes of a storage in memory as they lie in the file (little-endian),
 * mapped where they lie plainly in it, else read into `copy`. Checksums are
 * compared. Give it back with tpi_window_close.
 */
struct tpi_window {
	const struct tp_alloc *alloc;
	const uint8_t *data;
	size_t nbytes;
	void *map; /* what munmap wants, or NULL */
	size_t map_nbytes;
};

/* Of a storage that has bytes. */
enum tp_status tpi_window_open(struct tp_reader *r, size_t storage,
    struct tp_str what, struct tpi_window *w, struct tp_err *err);
void tpi_window_close(struct tpi_window *w);

/* Give the pages back; they come again from the file when they are touched. */
void tpi_window_drop(const struct tpi_window *w);

#endif
