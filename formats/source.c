/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - regular files by pread; standard input by way of a file */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform.h"
#include "spool.h"

#include "banned.h"

#define SPOOL_CHUNK ((size_t)256 << 10)

/* Why a file that is no regular one cannot be read, or NULL. */
static const char *
refusal(mode_t mode)
{
	if (S_ISREG(mode))
		return NULL;
	if (S_ISDIR(mode))
		return "is a folder";
	if (S_ISFIFO(mode))
		return "is a pipe; use - to read standard input";
	/* The system opens no socket. */
	return "is a device, not a regular file";
}

enum tp_status
tpi_source_from_fd(const struct tp_alloc *alloc, int fd, const char *path,
    struct tpi_source **out, struct tp_err *err)
{
	struct tpi_source *s = NULL;
	const char *why;
	struct stat st;
	enum tp_status rc;

	*out = NULL;
	if (fstat(fd, &st)) {
		rc = tp_fail_errno(err, TP_EIO, errno, "fstat");
		goto fail;
	}
	why = refusal(st.st_mode);
	if (why) {
		rc = tp_fail(err, TP_EIO, TP_NO_OFFSET, "%s", why);
		goto fail;
	}
	s = tp_mem_array(alloc, 1, sizeof(*s));
	if (s) {
		s->path_size = strlen(path) + 1;
		s->path = tp_mem_array(alloc, s->path_size, 1);
	}
	if (!s || !s->path) {
		rc = tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory to open a file");
		goto fail;
	}
	memcpy(s->path, path, s->path_size);
	s->alloc = alloc;
	s->fd = fd;
	s->size = (uint64_t)st.st_size;
	s->id.device = (uint64_t)st.st_dev;
	s->id.inode = (uint64_t)st.st_ino;
	s->written_s = (int64_t)st.st_mtim.tv_sec;
	s->written_ns = (int64_t)st.st_mtim.tv_nsec;
	*out = s;
	return TP_OK;
fail:
	tp_mem_free(alloc, s, 1, sizeof(*s));
	close(fd);
	return rc;
}

/* Standard input as a file: itself if it is one, else a copy of all of it. */
static enum tp_status
open_stdin(
    const struct tp_alloc *alloc, struct tpi_source **out, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	struct stat st;
	ssize_t n;
	char *buf;
	int fd;

	if (!fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode)) {
		fd = dup(STDIN_FILENO);
		if (fd < 0)
			return tp_fail_errno(err, TP_EIO, errno, "dup");
		return tpi_source_from_fd(alloc, fd, "-", out, err);
	}

	fd = tpi_spool_open(err);
	if (fd < 0)
		return TP_EIO;
	buf = tp_mem_array(alloc, SPOOL_CHUNK, 1);
	if (!buf) {
		close(fd);
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a buffer");
	}
	while (!rc && (n = read(STDIN_FILENO, buf, SPOOL_CHUNK)) != 0) {
		if (n > 0)
			rc = tpi_spool_write(fd, buf, (size_t)n, err);
		else if (errno != EINTR)
			rc = tp_fail_errno(err, TP_EIO, errno, "read");
	}
	tp_mem_free(alloc, buf, SPOOL_CHUNK, 1);
	if (rc) {
		close(fd);
		return rc;
	}
	return tpi_source_from_fd(alloc, fd, "-", out, err);
}

enum tp_status
tpi_source_open(const struct tp_alloc *alloc, const char *path,
    struct tpi_source **out, struct tp_err *err)
{
	int fd;

	*out = NULL;
	if (!strcmp(path, "-"))
		return open_stdin(alloc, out, err);
	/* Without O_NONBLOCK the open of a pipe would wait for a writer. */
	do
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return tp_fail_errno(err, TP_EIO, errno, "open");
	return tpi_source_from_fd(alloc, fd, path, out, err);
}

enum tp_status
tpi_source_again(
    const struct tpi_source *s, struct tpi_source **out, struct tp_err *err)
{
	int fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
	enum tp_status rc;

	*out = NULL;
	if (fd < 0)
		return tp_fail_errno(err, TP_EIO, errno, "%s", s->path);
	rc = tpi_source_from_fd(s->alloc, fd, s->path, out, err);
	/* What it was when the structure was read, which is not read again. */
	if (!rc) {
		(*out)->size = s->size;
		(*out)->written_s = s->written_s;
		(*out)->written_ns = s->written_ns;
	}
	return rc;
}

enum tp_status
tpi_source_check(const struct tpi_source *s, struct tp_err *err)
{
	struct stat st;

	if (fstat(s->fd, &st))
		return tp_fail_errno(err, TP_EIO, errno, "fstat");
	if ((uint64_t)st.st_size == s->size &&
	    (int64_t)st.st_mtim.tv_sec == s->written_s &&
	    (int64_t)st.st_mtim.tv_nsec == s->written_ns)
		return TP_OK;
	return tp_fail(err, TP_EIO, TP_NO_OFFSET,
	    "%s was written to while it was read", s->path);
}

void
tpi_source_close(struct tpi_source *s)
{
	if (!s)
		return;
	close(s->fd);
	tp_mem_free(s->alloc, s->path, s->path_size, 1);
	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

enum tp_status
tpi_source_read(const struct tpi_source *s, uint64_t offset, void *buf,
    size_t n, struct tp_err *err)
{
	char *p = buf;

	if (offset > s->size || n > s->size - offset)
		return tp_fail(err, TP_EFORMAT, offset,
		    "%zu bytes wanted, the file ends at %" PRIu64, n, s->size);
	while (n > 0) {
		ssize_t got = pread(s->fd, p, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return tp_fail_errno(err, TP_EIO, errno,
			    "read of %zu bytes at %" PRIu64, n, offset);
		if (got == 0)
			return tp_fail(err, TP_EIO, offset,
			    "the file was cut short while it was read: %" PRIu64
			    " bytes when it was opened",
			    s->size);
		p += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return TP_OK;
}
