/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.c - appending: small pieces buffered, streams, a thread that writes
 *
 *	0			  size - n_buffered	    size
 *	| in the file, or given	  | in buf,		    | the next byte
 *	| to the thread `behind`  | at most TPI_CHUNK	    |
 *
 * Large pieces and copies inside the kernel pass the buffer, which is written
 * out before. A buffer and a thread are there only while bytes come.
 */
#include "sink.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"

#include "part_file.h"
#include "platform.h"
#include "stream.h"
#include "write_behind.h"

#include "banned.h"

/* Below this a copy inside the kernel costs more than it saves. */
#define KERNEL_COPY_MIN ((uint64_t)64 << 10)

/*
 * It moves so much at a time, and a write that begins at a multiple of it takes
 * the largest pages: on ext4 that is a fifth of the time of a copy.
 */
#define KERNEL_COPY_STEP ((uint64_t)64 << 10)

/* From this many bytes on a write of its own is cheaper than a copy. */
#define DIRECT_MIN ((size_t)64 << 10)

/* Files that grow beyond this are written by a thread of their own. */
#define BEHIND_MIN ((uint64_t)4 << 20)

struct tpi_sink {
	const struct tp_alloc *alloc;
	struct tpi_part file;
	uint64_t size;	   /* bytes appended, the buffered ones included */
	size_t n_buffered; /* the last of them, not written yet */
	uint8_t *buf; /* TPI_CHUNK bytes, or NULL while nothing is written */
	struct tpi_behind *behind; /* NULL: this thread writes */
	bool tried_behind;
};

static enum tp_status
out_of_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory to write a file");
}

enum tp_status
tpi_sink_open(const struct tp_alloc *alloc, const char *path, bool force,
    enum tp_sync sync, struct tpi_sink **out, struct tp_err *err)
{
	struct tpi_sink *s = tp_mem_array(alloc, 1, sizeof(*s));
	enum tp_status rc;

	*out = NULL;
	if (!s)
		return out_of_memory(err);
	s->alloc = alloc;
	rc = tpi_part_open(&s->file, alloc, path, force, sync, err);
	if (rc) {
		tpi_sink_close(s);
		return rc;
	}
	*out = s;
	return TP_OK;
}

void
tpi_sink_close(struct tpi_sink *s)
{
	if (!s)
		return;
	tpi_behind_free(s->behind);
	tpi_part_close(&s->file);
	tp_mem_free(s->alloc, s->buf, TPI_CHUNK, 1);
	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

/* The buffered bytes to the file, now. */
static enum tp_status
write_buffered(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc = tpi_write_at(
	    s->file.fd, s->size - s->n_buffered, s->buf, s->n_buffered, err);

	if (!rc)
		s->n_buffered = 0;
	return rc;
}

/* Everything appended so far to the file. */
static enum tp_status
settle(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc = write_buffered(s, err);

	return rc ? rc : tpi_behind_wait(s->behind, err);
}

/* Room for at least one byte behind the buffered ones. */
static enum tp_status
make_room(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc;

	if (!s->buf)
		s->buf = tp_mem_array(s->alloc, TPI_CHUNK, 1);
	if (!s->buf)
		return out_of_memory(err);
	if (s->n_buffered < TPI_CHUNK)
		return TP_OK;
	if (!s->behind && !s->tried_behind && s->size >= BEHIND_MIN) {
		s->tried_behind = true;
		s->behind = tpi_behind_new(s->alloc, s->file.fd, TPI_CHUNK);
	}
	if (!s->behind)
		return write_buffered(s, err);
	rc = tpi_behind_give(
	    s->behind, &s->buf, s->n_buffered, s->size - s->n_buffered, err);
	if (!rc)
		s->n_buffered = 0;
	return rc;
}

enum tp_status
tpi_sink_idle(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc = settle(s, err);

	if (rc)
		return rc;
	tpi_behind_free(s->behind);
	s->behind = NULL;
	s->tried_behind = false;
	tp_mem_free(s->alloc, s->buf, TPI_CHUNK, 1);
	s->buf = NULL;
	return TP_OK;
}

enum tp_status
tpi_sink_write(
    struct tpi_sink *s, const void *buf, size_t n, struct tp_err *err)
{
	const uint8_t *p = buf;
	enum tp_status rc;

	if (n >= DIRECT_MIN) {
		rc = write_buffered(s, err);
		if (!rc)
			rc = tpi_write_at(s->file.fd, s->size, p, n, err);
		if (!rc)
			s->size += n;
		return rc;
	}
	while (n > 0) {
		size_t part;

		rc = make_room(s, err);
		if (rc)
			return rc;
		part = TPI_CHUNK - s->n_buffered;
		if (part > n)
			part = n;
		memcpy(s->buf + s->n_buffered, p, part);
		s->n_buffered += part;
		s->size += part;
		p += part;
		n -= part;
	}
	return TP_OK;
}

enum tp_status
tpi_sink_zeros(struct tpi_sink *s, uint64_t n, struct tp_err *err)
{
	static const uint8_t zeros[4096];

	while (n > 0) {
		size_t part = n < sizeof(zeros) ? (size_t)n : sizeof(zeros);
		enum tp_status rc = tpi_sink_write(s, zeros, part, err);

		if (rc)
			return rc;
		n -= part;
	}
	return TP_OK;
}

enum tp_status
tpi_sink_align(struct tpi_sink *s, uint64_t align, struct tp_err *err)
{
	uint64_t rest = s->size % align;

	return tpi_sink_zeros(s, rest ? align - rest : 0, err);
}

/* How many of the bytes that are left to copy to offset `to` next. */
static uint64_t
copy_step(uint64_t to, uint64_t left)
{
	uint64_t past = to % KERNEL_COPY_STEP;
	uint64_t step = past ? KERNEL_COPY_STEP - past : TPI_TICK;

	return left < step ? left : step;
}

/*
 * Copy inside the kernel as much as it will; what is left in the stream after
 * TP_OK has to be read and written.
 */
static enum tp_status
copy_in_kernel(struct tpi_sink *s, struct tp_stream *stream, struct tp_err *err)
{
	enum tp_status rc = write_buffered(s, err);

	while (!rc && stream->pos < stream->nbytes) {
		uint64_t left = stream->nbytes - stream->pos;
		bool unable;
		int64_t n = tpi_copy_range(stream->src->fd,
		    stream->offset + stream->pos, s->file.fd, s->size,
		    copy_step(s->size, left), &unable);

		if (n < 0 && unable)
			return TP_OK;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tp_fail_errno(err, TP_EOUTPUT, errno,
			    "copy of %" PRIu64 " bytes to %" PRIu64, left,
			    s->size);
		/* The end of the input, or a file that only read() can read. */
		if (n == 0)
			return TP_OK;
		s->size += (uint64_t)n;
		rc = tpi_stream_moved(stream, (uint64_t)n, err);
	}
	return rc;
}

/* Let a stream write itself, many chunks at a time. */
static enum tp_status
pour(struct tpi_sink *s, struct tp_stream *stream, struct tp_err *err)
{
	enum tp_status rc = write_buffered(s, err);

	if (!rc)
		rc = stream->pour(stream, s->file.fd, s->size, err);
	if (!rc)
		s->size += stream->nbytes;
	return rc;
}

static enum tp_status
leave_room(struct tpi_sink *s, struct tp_stream *stream, struct tp_err *err)
{
	enum tp_status rc = write_buffered(s, err);

	if (rc)
		return rc;
	*stream->room = (struct tpi_room){s, s->size, tp_stream_left(stream)};
	s->size += tp_stream_left(stream);
	stream->pos = stream->nbytes;
	return TP_OK;
}

enum tp_status
tpi_sink_fill(
    const struct tpi_room *room, struct tp_stream *stream, struct tp_err *err)
{
	uint64_t to = room->offset;
	enum tp_status rc = TP_OK;
	uint8_t buf[8192];

	if (tp_stream_left(stream) != room->nbytes)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%" PRIu64 " bytes for a room of %" PRIu64,
		    tp_stream_left(stream), room->nbytes);
	while (!rc && tp_stream_left(stream) > 0) {
		const void *p;
		size_t n;

		rc = tpi_stream_next(stream, buf, sizeof(buf), &p, &n, err);
		if (!rc)
			rc = tpi_write_at(room->sink->file.fd, to, p, n, err);
		if (!rc)
			to += n;
	}
	return rc;
}

enum tp_status
tpi_sink_stream(
    struct tpi_sink *s, struct tp_stream *stream, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (stream->room)
		return leave_room(s, stream, err);
	if (stream->src && tp_stream_left(stream) >= KERNEL_COPY_MIN)
		rc = copy_in_kernel(s, stream, err);
	else if (stream->pour && !stream->pos && stream->nbytes >= DIRECT_MIN)
		rc = pour(s, stream, err);
	while (!rc && stream->take && tp_stream_left(stream) > 0) {
		const void *p;
		size_t n;

		rc = tpi_stream_next(stream, NULL, 0, &p, &n, err);
		if (!rc)
			rc = tpi_sink_write(s, p, n, err);
	}
	while (!rc && tp_stream_left(stream) > 0) {
		size_t n;

		rc = make_room(s, err);
		if (rc)
			break;
		n = TPI_CHUNK - s->n_buffered;
		if (n > tp_stream_left(stream))
			n = (size_t)tp_stream_left(stream);
		rc = tp_stream_read(stream, s->buf + s->n_buffered, n, err);
		if (rc)
			break;
		s->n_buffered += n;
		s->size += n;
	}
	return rc;
}

enum tp_status
tpi_sink_patch(struct tpi_sink *s, uint64_t offset, const void *buf, size_t n,
    struct tp_err *err)
{
	enum tp_status rc;
	uint64_t end;

	if (tp_add_u64(offset, n, &end) || end > s->size)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a patch of %zu bytes at %" PRIu64 " in a file of %" PRIu64,
		    n, offset, s->size);
	rc = settle(s, err);
	return rc ? rc : tpi_write_at(s->file.fd, offset, buf, n, err);
}

uint64_t
tpi_sink_size(const struct tpi_sink *s)
{
	return s->size;
}

const char *
tpi_sink_path(const struct tpi_sink *s)
{
	return s->file.path;
}

enum tp_status
tpi_sink_flush(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc = settle(s, err);

	return rc ? rc : tpi_part_sync(&s->file, err);
}

enum tp_status
tpi_sink_rename(struct tpi_sink *s, struct tp_err *err)
{
	return tpi_part_commit(&s->file, s->size, err);
}

enum tp_status
tpi_sink_set_aside(struct tpi_sink *s, bool leave, struct tp_err *err)
{
	return tpi_part_set_aside(&s->file, leave, err);
}

void
tpi_sink_undo(struct tpi_sink *s)
{
	tpi_part_undo(&s->file);
}

void
tpi_sink_settle(struct tpi_sink *s)
{
	tpi_part_settle(&s->file);
}
