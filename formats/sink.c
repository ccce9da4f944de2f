/* SPDX-License-Identifier: Apache-2.0 */
/* sink.c - the part file, its lock, and the rename */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tp/checked.h"

#include "platform.h"
#include "spool.h"
#include "stream.h"
#include "write_behind.h"

#include "banned.h"

#define PART_PREFIX "."
#define PART_SUFFIX ".tp-part"
#define NAME_BYTES_MAX 255 /* of one path component, on usual file systems */

/* Below this a copy inside the kernel costs more than it saves. */
#define KERNEL_COPY_MIN ((uint64_t)64 << 10)

/* From this many bytes on a write of its own is cheaper than a copy. */
#define DIRECT_MIN ((size_t)64 << 10)

/* Files that grow beyond this are written by a thread of their own. */
#define BEHIND_MIN ((uint64_t)4 << 20)

struct tpi_sink {
	const struct tp_alloc *alloc;
	char *path; /* the final name; "-" for standard output */
	size_t path_size;
	char *
	    part; /* NULL: the data waits in a spool for `path` to be written */
	size_t part_size;
	enum tp_sync sync;
	bool force;
	bool replaces; /* a file was there */
	bool renamed;
	int fd;
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

/* A failure of the spool is one of the output here. */
static enum tp_status
as_output(struct tp_err *err)
{
	if (err)
		err->status = TP_EOUTPUT;
	return TP_EOUTPUT;
}

static enum tp_status
copy_string(const struct tp_alloc *alloc, const char *s, char **copy,
    size_t *size, struct tp_err *err)
{
	*size = strlen(s) + 1;
	*copy = tp_mem_array(alloc, *size, 1);
	if (!*copy)
		return out_of_memory(err);
	memcpy(*copy, s, *size);
	return TP_OK;
}

/* `.NAME.tp-part` in the folder of path. */
static enum tp_status
name_part(struct tpi_sink *s, struct tp_err *err)
{
	const char *slash = strrchr(s->path, '/');
	const char *base = slash ? slash + 1 : s->path;
	size_t folder = (size_t)(base - s->path), base_len = strlen(base);

	if (base_len == 0)
		return tp_fail(
		    err, TP_EOUTPUT, TP_NO_OFFSET, "no file name in the path");
	if (base_len + strlen(PART_PREFIX PART_SUFFIX) > NAME_BYTES_MAX)
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
		    "file name of %zu bytes, at most %zu can be written",
		    base_len, NAME_BYTES_MAX - strlen(PART_PREFIX PART_SUFFIX));
	s->part_size = folder + base_len + sizeof(PART_PREFIX PART_SUFFIX);
	s->part = tp_mem_array(s->alloc, s->part_size, 1);
	if (!s->part)
		return out_of_memory(err);
	snprintf(s->part, s->part_size, "%.*s%s%s%s", (int)folder, s->path,
	    PART_PREFIX, base, PART_SUFFIX);
	return TP_OK;
}

/* True if the open, locked file is the one that its name leads to. */
static bool
is_still_named(int fd, const char *path)
{
	struct stat by_fd, by_name;

	return !fstat(fd, &by_fd) && !lstat(path, &by_name) &&
	       by_fd.st_dev == by_name.st_dev && by_fd.st_ino == by_name.st_ino;
}

/*
 * Make or take over the part file. It may vanish between open and lock when the
 * run that held it ends; then the next round makes a new one.
 */
static enum tp_status
open_part(struct tpi_sink *s, struct tp_err *err)
{
	for (int round = 0; round < 16; round++) {
		do
			s->fd = open(s->part,
			    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
				O_NONBLOCK,
			    0666);
		while (s->fd < 0 && errno == EINTR);
		if (s->fd < 0)
			return tp_fail_errno(err, TP_EOUTPUT, errno,
			    "create temporary file %s", s->part);
		if (!tpi_lock_file(s->fd)) {
			/* The file is the other run's: closing leaves it be. */
			close(s->fd);
			s->fd = -1;
			return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
			    "another run is writing it (%s is locked)",
			    s->part);
		}
		if (is_still_named(s->fd, s->part)) {
			/*
			 * Only what a dead run left is cut: ext4 writes a file
			 * that was cut to the disk when it is closed, and the
			 * one who closes it waits.
			 */
			if (lseek(s->fd, 0, SEEK_END) != 0 &&
			    ftruncate(s->fd, 0))
				return tp_fail_errno(err, TP_EOUTPUT, errno,
				    "truncate %s", s->part);
			return TP_OK;
		}
		close(s->fd);
		s->fd = -1;
	}
	return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
	    "%s keeps being replaced by another run", s->part);
}

/* What stands at the final name decides how the bytes get there. */
static enum tp_status
open_target(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc;
	struct stat st;
	bool exists = strcmp(s->path, "-") && !stat(s->path, &st);

	if (exists && S_ISDIR(st.st_mode))
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET, "is a folder");
	if (exists && S_ISREG(st.st_mode) && !s->force)
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
		    "exists already; --force replaces it");

	/* A device or a pipe is written to at the commit, never renamed over.
	 */
	if (!strcmp(s->path, "-") || (exists && !S_ISREG(st.st_mode))) {
		s->fd = tpi_spool_open(err);
		return s->fd < 0 ? as_output(err) : TP_OK;
	}

	s->replaces = exists;
	rc = name_part(s, err);
	if (!rc)
		rc = open_part(s, err);
	/* The new file is as open to others as the one that it replaces. */
	if (!rc && exists)
		(void)fchmod(s->fd, st.st_mode & 0777);
	return rc;
}

/* Follow a link, so that the file behind it is replaced and not the link. */
static enum tp_status
resolve(struct tpi_sink *s, const char *path, struct tp_err *err)
{
	enum tp_status rc;
	struct stat st;
	char *real;

	if (!strcmp(path, "-") || lstat(path, &st) || !S_ISLNK(st.st_mode))
		return copy_string(
		    s->alloc, path, &s->path, &s->path_size, err);
	real = realpath(path, NULL);
	if (!real)
		return tp_fail_errno(
		    err, TP_EOUTPUT, errno, "a link that leads nowhere");
	rc = copy_string(s->alloc, real, &s->path, &s->path_size, err);
	free(real);
	return rc;
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
	s->fd = -1;
	s->sync = sync;
	s->force = force;
	rc = resolve(s, path, err);
	if (!rc)
		rc = open_target(s, err);
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
	/* Still locked, so nobody else's file can have this name. */
	if (s->fd >= 0 && s->part && !s->renamed &&
	    is_still_named(s->fd, s->part))
		(void)unlink(s->part);
	if (s->fd >= 0)
		close(s->fd);
	tp_mem_free(s->alloc, s->part, s->part_size, 1);
	tp_mem_free(s->alloc, s->path, s->path_size, 1);
	tp_mem_free(s->alloc, s->buf, TPI_CHUNK, 1);
	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

/* The buffered bytes to the file, now. */
static enum tp_status
write_buffered(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc = tpi_write_at(
	    s->fd, s->size - s->n_buffered, s->buf, s->n_buffered, err);

	if (!rc)
		s->n_buffered = 0;
	return rc;
}

static enum tp_status
need_buffer(struct tpi_sink *s, struct tp_err *err)
{
	if (!s->buf)
		s->buf = tp_mem_array(s->alloc, TPI_CHUNK, 1);
	return s->buf ? TP_OK : out_of_memory(err);
}

/* Room for at least one byte behind the buffered ones. */
static enum tp_status
make_room(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc;

	if (s->n_buffered < TPI_CHUNK)
		return need_buffer(s, err);
	if (!s->behind && !s->tried_behind && s->size >= BEHIND_MIN) {
		s->tried_behind = true;
		s->behind = tpi_behind_new(s->alloc, s->fd, TPI_CHUNK);
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
	enum tp_status rc = write_buffered(s, err);

	if (!rc)
		rc = tpi_behind_wait(s->behind, err);
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
			rc = tpi_write_at(s->fd, s->size, p, n, err);
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
		    stream->offset + stream->pos, s->fd, s->size,
		    left < TPI_TICK ? left : TPI_TICK, &unable);

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

enum tp_status
tpi_sink_stream(
    struct tpi_sink *s, struct tp_stream *stream, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (stream->src && tp_stream_left(stream) >= KERNEL_COPY_MIN)
		rc = copy_in_kernel(s, stream, err);
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
	rc = write_buffered(s, err);
	if (!rc)
		rc = tpi_behind_wait(s->behind, err);
	return rc ? rc : tpi_write_at(s->fd, offset, buf, n, err);
}

uint64_t
tpi_sink_size(const struct tpi_sink *s)
{
	return s->size;
}

const char *
tpi_sink_path(const struct tpi_sink *s)
{
	return s->path;
}

static bool
must_sync(const struct tpi_sink *s)
{
	return s->sync == TP_SYNC_ALWAYS ||
	       (s->sync == TP_SYNC_AUTO && s->replaces);
}

enum tp_status
tpi_sink_flush(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc = write_buffered(s, err);

	if (!rc)
		rc = tpi_behind_wait(s->behind, err);
	if (!rc && s->part && must_sync(s) && fsync(s->fd))
		return tp_fail_errno(
		    err, TP_EOUTPUT, errno, "flush to the disk");
	return rc;
}

/* Flush the folder, so that the new name is on the disk too. */
static enum tp_status
sync_folder(const struct tpi_sink *s, struct tp_err *err)
{
	const char *slash = strrchr(s->path, '/');
	size_t len = slash ? (size_t)(slash - s->path) + 1 : 1;
	char *folder = tp_mem_array(s->alloc, len + 1, 1);
	int fd, rc;

	if (!folder)
		return out_of_memory(err);
	memcpy(folder, slash ? s->path : ".", len);
	fd = open(folder, O_RDONLY | O_CLOEXEC);
	tp_mem_free(s->alloc, folder, len + 1, 1);
	if (fd < 0)
		return TP_OK; /* writable but not readable: nothing to be done
			       */
	rc = fsync(fd);
	if (rc && errno != EINVAL) {
		int saved = errno;

		close(fd);
		return tp_fail_errno(
		    err, TP_EOUTPUT, saved, "flush the folder to the disk");
	}
	close(fd);
	return TP_OK;
}

/* What waited in the spool goes to standard output, a device or a pipe. */
static enum tp_status
pour(struct tpi_sink *s, struct tp_err *err)
{
	bool is_stdout = !strcmp(s->path, "-");
	int out = is_stdout ? dup(STDOUT_FILENO)
			    : open(s->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	enum tp_status rc;

	if (out < 0)
		return tp_fail_errno(err, TP_EOUTPUT, errno, "open");
	rc = need_buffer(s, err);
	for (uint64_t at = 0; at < s->size && !rc;) {
		ssize_t n = pread(s->fd, s->buf, TPI_CHUNK, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = tp_fail_errno(err, TP_EOUTPUT, n ? errno : EIO,
			    "read of the temporary file");
			break;
		}
		for (ssize_t done = 0; done < n && !rc;) {
			ssize_t k =
			    write(out, s->buf + done, (size_t)(n - done));

			if (k >= 0)
				done += k;
			else if (errno != EINTR)
				rc = tp_fail_errno(
				    err, TP_EOUTPUT, errno, "write");
		}
		at += (uint64_t)n;
	}
	if (close(out) && !rc)
		rc = tp_fail_errno(err, TP_EOUTPUT, errno, "close");
	return rc;
}

/*
 * Give the part file its final name. Without force link() does it, which never
 * replaces what someone else has made meanwhile; where links are not to be had
 * the name is looked at once more and renamed to.
 */
static enum tp_status
take_name(struct tpi_sink *s, struct tp_err *err)
{
	if (!s->force) {
		if (!link(s->part, s->path)) {
			(void)unlink(s->part);
			return TP_OK;
		}
		if (errno == EEXIST || !access(s->path, F_OK))
			return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
			    "exists by now; --force replaces it");
	}
	if (rename(s->part, s->path))
		return tp_fail_errno(
		    err, TP_EOUTPUT, errno, "rename from %s", s->part);
	return TP_OK;
}

enum tp_status
tpi_sink_rename(struct tpi_sink *s, struct tp_err *err)
{
	enum tp_status rc;

	if (!s->part)
		return pour(s, err);
	rc = take_name(s, err);
	if (rc)
		return rc;
	s->renamed = true;
	return must_sync(s) ? sync_folder(s, err) : TP_OK;
}
