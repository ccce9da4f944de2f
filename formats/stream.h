/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - how a stream is made
 *
 * A stream is a struct that begins with struct tp_stream and two functions.
 * One whose rest lies in a file as it is says so (src), and a sink then copies
 * it inside the kernel; it must still be readable.
 */
#ifndef TPI_STREAM_H
#define TPI_STREAM_H

#include <stdatomic.h>

#include "tp/format.h"

#include "source.h"

struct tpi_sink;

struct tpi_room {
	struct tpi_sink *sink; /* NULL: none was left */
	uint64_t offset, nbytes;
};

/*
 * What reading all of a storage has told of its checksum, so that those who
 * read a part of it later need not read all of it again. Threads may find the
 * same at once; found is told before differs.
 */
struct tpi_sum {
	atomic_bool holds, differs;
	atomic_uint found;
};

struct tp_stream {
	uint64_t nbytes; /* in all */
	uint64_t pos;	 /* read so far, kept by tp_stream_read */
	/*
	 * Not NULL: byte `pos` lies at offset + pos of this source, and so on.
	 */
	const struct tpi_source *src;
	uint64_t offset;
	/* NULL, or told of each step of pos; false stops the work. */
	bool (*tick)(void *ctx, uint64_t n);
	void *tick_ctx;
	/* Exactly n bytes from pos on, n <= nbytes - pos, n > 0. */
	enum tp_status (*read)(
	    struct tp_stream *s, void *buf, size_t n, struct tp_err *err);
	/*
	 * NULL, or: lend some of the bytes from pos on, good until the next
	 * call; sets *p and *n > 0. Called with bytes left only.
	 */
	enum tp_status (*take)(
	    struct tp_stream *s, const void **p, size_t *n, struct tp_err *err);
	/*
	 * NULL, or: write all bytes to fd, from offset on, in any order and on
	 * several threads, moving pos on the caller's. Only while pos is 0;
	 * what a failure leaves in the file is undefined.
	 */
	enum tp_status (*pour)(
	    struct tp_stream *s, int fd, uint64_t offset, struct tp_err *err);
	/* Not NULL: pour makes it that of the bytes it covered and its own. */
	uint32_t *crc32c;
	/* NULL, or where one that compares a checksum tells what it found. */
	struct tpi_sum *sum;
	/*
	 * These bytes follow from those of another storage of the same reader,
	 * `source`, and are at hand once that was streamed; before, reading
	 * them takes as long as that.
	 */
	bool late;
	size_t source;
	/*
	 * Not NULL: a sink leaves room for the bytes instead of reading them,
	 * and says where, for tpi_sink_fill.
	 */
	struct tpi_room *room;
	/* Frees the stream itself too. */
	void (*close)(struct tp_stream *s);
};

/*
 * pos has moved by n: called by tp_stream_read and by whoever copies what src
 * and offset tell, in steps of at most TPI_TICK bytes.
 */
#define TPI_TICK ((uint64_t)64 << 20)
static inline enum tp_status
tpi_stream_moved(struct tp_stream *s, uint64_t n, struct tp_err *err)
{
	s->pos += n;
	if (s->tick && !s->tick(s->tick_ctx, n))
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET, "interrupted");
	return TP_OK;
}

/*
 * The checksum of a storage at that offset, compared; sum, which is told, may
 * be NULL. TP_EMISMATCH.
 */
enum tp_status tpi_sum_compare(struct tpi_sum *sum, uint32_t found,
    uint32_t expected, uint64_t offset, const char *what, struct tp_err *err);

/* Buffers that streams and sinks pass data through. */
#define TPI_CHUNK ((size_t)256 << 10)

/*
 * The next bytes of a stream that has some left, lent by it or read into buf
 * (cap bytes): *n of them at *p, good until the next call.
 */
enum tp_status tpi_stream_next(struct tp_stream *s, void *buf, size_t cap,
    const void **p, size_t *n, struct tp_err *err);

/*
 * The nbytes at offset of src, as they lie. check_crc: compare with crc32c at
 * the end, which forbids copying inside the kernel. what names it in messages.
 */
enum tp_status tpi_stream_raw(const struct tp_alloc *alloc,
    const struct tpi_source *src, uint64_t offset, uint64_t nbytes,
    bool check_crc, uint32_t crc32c, struct tp_str what, struct tp_stream **out,
    struct tp_err *err);

#endif
