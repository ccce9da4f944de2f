/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_file.c - the part file, its lock, and the rename
 *
 *	at the path	    the bytes wait in	       the commit
 *	nothing, a file	    .NAME.tp-part, locked      links or renames it
 *	a device, a pipe    a spool, without a name    copies it there
 *	"-"		    a spool		       copies it to stdout
 */
#include "part_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform.h"
#include "spool.h"
#include "stream.h"

#include "banned.h"

#define PREFIX "."
#define PART_SUFFIX ".tp-part"
#define OLD_SUFFIX ".tp-old"
#define NAME_BYTES_MAX 255 /* of one path component, on usual file systems */

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

/* `.NAME` and the suffix in the folder of path. */
static enum tp_status
name_beside(const struct tpi_part *p, const char *suffix, char **name,
    size_t *size, struct tp_err *err)
{
	const char *slash = strrchr(p->path, '/');
	const char *base = slash ? slash + 1 : p->path;
	size_t folder = (size_t)(base - p->path), base_len = strlen(base);
	size_t added = strlen(PREFIX) + strlen(suffix);

	if (base_len == 0)
		return tp_fail(
		    err, TP_EOUTPUT, TP_NO_OFFSET, "no file name in the path");
	if (base_len + added > NAME_BYTES_MAX)
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
		    "file name of %zu bytes, at most %zu can be written",
		    base_len, NAME_BYTES_MAX - added);
	*size = folder + base_len + added + 1;
	*name = tp_mem_array(p->alloc, *size, 1);
	if (!*name)
		return out_of_memory(err);
	snprintf(*name, *size, "%.*s%s%s%s", (int)folder, p->path, PREFIX, base,
	    suffix);
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
open_part(struct tpi_part *p, struct tp_err *err)
{
	for (int round = 0; round < 16; round++) {
		do
			p->fd = open(p->name,
			    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
				O_NONBLOCK,
			    0666);
		while (p->fd < 0 && errno == EINTR);
		if (p->fd < 0)
			return tp_fail_errno(err, TP_EOUTPUT, errno,
			    "create temporary file %s", p->name);
		if (!tpi_lock_file(p->fd)) {
			/* The file is the other run's: closing leaves it be. */
			close(p->fd);
			p->fd = -1;
			return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
			    "another run is writing it (%s is locked)",
			    p->name);
		}
		if (is_still_named(p->fd, p->name)) {
			/*
			 * Only what a dead run left is cut: ext4 writes a file
			 * that was cut to the disk when it is closed, and the
			 * one who closes it waits.
			 */
			if (lseek(p->fd, 0, SEEK_END) != 0 &&
			    ftruncate(p->fd, 0))
				return tp_fail_errno(err, TP_EOUTPUT, errno,
				    "truncate %s", p->name);
			return TP_OK;
		}
		close(p->fd);
		p->fd = -1;
	}
	return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
	    "%s keeps being replaced by another run", p->name);
}

/* What stands at the final name decides how the bytes get there. */
static enum tp_status
open_target(struct tpi_part *p, struct tp_err *err)
{
	enum tp_status rc;
	struct stat st;
	bool exists = strcmp(p->path, "-") && !stat(p->path, &st);

	if (exists && S_ISDIR(st.st_mode))
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET, "is a folder");
	if (exists && S_ISREG(st.st_mode) && !p->force)
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET, "exists already");

	/*
	 * A device or a pipe is written to at the commit, never renamed over.
	 */
	if (!strcmp(p->path, "-") || (exists && !S_ISREG(st.st_mode))) {
		p->fd = tpi_spool_open(err);
		return p->fd < 0 ? as_output(err) : TP_OK;
	}

	p->replaces = exists;
	rc = name_beside(p, PART_SUFFIX, &p->name, &p->name_size, err);
	if (!rc)
		rc = name_beside(p, OLD_SUFFIX, &p->old, &p->old_size, err);
	if (!rc)
		rc = open_part(p, err);
	/* The new file is as open to others as the one that it replaces. */
	if (!rc && exists)
		(void)fchmod(p->fd, st.st_mode & 0777);
	return rc;
}

/* Follow a link, so that the file behind it is replaced and not the link. */
static enum tp_status
resolve(struct tpi_part *p, const char *path, struct tp_err *err)
{
	enum tp_status rc;
	struct stat st;
	char *real;

	if (!strcmp(path, "-") || lstat(path, &st) || !S_ISLNK(st.st_mode))
		return copy_string(
		    p->alloc, path, &p->path, &p->path_size, err);
	real = realpath(path, NULL);
	if (!real)
		return tp_fail_errno(
		    err, TP_EOUTPUT, errno, "a link that leads nowhere");
	rc = copy_string(p->alloc, real, &p->path, &p->path_size, err);
	free(real);
	return rc;
}

enum tp_status
tpi_part_open(struct tpi_part *p, const struct tp_alloc *alloc,
    const char *path, bool force, enum tp_sync sync, struct tp_err *err)
{
	enum tp_status rc;

	*p = (struct tpi_part){
	    .alloc = alloc, .fd = -1, .sync = sync, .force = force};
	rc = resolve(p, path, err);
	if (!rc)
		rc = open_target(p, err);
	if (rc)
		tpi_part_close(p);
	return rc;
}

void
tpi_part_close(struct tpi_part *p)
{
	/* Still locked, so nobody else's file can have this name. */
	if (p->fd >= 0 && p->name && !p->renamed &&
	    is_still_named(p->fd, p->name))
		(void)unlink(p->name);
	if (p->fd >= 0)
		close(p->fd);
	tp_mem_free(p->alloc, p->old, p->old_size, 1);
	tp_mem_free(p->alloc, p->name, p->name_size, 1);
	tp_mem_free(p->alloc, p->path, p->path_size, 1);
	*p = (struct tpi_part){.alloc = p->alloc, .fd = -1};
}

static bool
must_sync(const struct tpi_part *p)
{
	return p->sync == TP_SYNC_ALWAYS ||
	       (p->sync == TP_SYNC_AUTO && p->replaces);
}

enum tp_status
tpi_part_sync(const struct tpi_part *p, struct tp_err *err)
{
	if (p->name && must_sync(p) && fsync(p->fd))
		return tp_fail_errno(
		    err, TP_EOUTPUT, errno, "flush to the disk");
	return TP_OK;
}

/* Flush the folder, so that the new name is on the disk too. */
static enum tp_status
sync_folder(const struct tpi_part *p, struct tp_err *err)
{
	const char *slash = strrchr(p->path, '/');
	size_t len = slash ? (size_t)(slash - p->path) + 1 : 1;
	char *folder = tp_mem_array(p->alloc, len + 1, 1);
	int fd, rc;

	if (!folder)
		return out_of_memory(err);
	memcpy(folder, slash ? p->path : ".", len);
	fd = open(folder, O_RDONLY | O_CLOEXEC);
	tp_mem_free(p->alloc, folder, len + 1, 1);
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

/* All of buf to a file that need not be seekable. */
static enum tp_status
write_all(int out, const uint8_t *buf, size_t n, struct tp_err *err)
{
	while (n > 0) {
		ssize_t k = write(out, buf, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return tp_fail_errno(err, TP_EOUTPUT, errno, "write");
		buf += k;
		n -= (size_t)k;
	}
	return TP_OK;
}

/* What waited in the spool goes to standard output, a device or a pipe. */
static enum tp_status
pour(const struct tpi_part *p, uint64_t size, struct tp_err *err)
{
	bool is_stdout = !strcmp(p->path, "-");
	int out = is_stdout ? dup(STDOUT_FILENO)
			    : open(p->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	uint8_t *buf = NULL;
	enum tp_status rc = TP_OK;

	if (out < 0)
		return tp_fail_errno(err, TP_EOUTPUT, errno, "open");
	buf = tp_mem_array(p->alloc, TPI_CHUNK, 1);
	if (!buf)
		rc = out_of_memory(err);
	for (uint64_t at = 0; at < size && !rc;) {
		ssize_t n = pread(p->fd, buf, TPI_CHUNK, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = tp_fail_errno(err, TP_EOUTPUT, n ? errno : EIO,
			    "read of the temporary file");
			break;
		}
		rc = write_all(out, buf, (size_t)n, err);
		at += (uint64_t)n;
	}
	tp_mem_free(p->alloc, buf, TPI_CHUNK, 1);
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
take_name(struct tpi_part *p, struct tp_err *err)
{
	if (!p->force) {
		if (!link(p->name, p->path)) {
			(void)unlink(p->name);
			return TP_OK;
		}
		if (errno == EEXIST || !access(p->path, F_OK))
			return tp_fail(
			    err, TP_EOUTPUT, TP_NO_OFFSET, "exists by now");
	}
	if (rename(p->name, p->path))
		return tp_fail_errno(
		    err, TP_EOUTPUT, errno, "rename from %s", p->name);
	return TP_OK;
}

enum tp_status
tpi_part_commit(struct tpi_part *p, uint64_t size, struct tp_err *err)
{
	enum tp_status rc;

	if (!p->name)
		return pour(p, size, err);
	rc = take_name(p, err);
	if (rc)
		return rc;
	p->renamed = true;
	return must_sync(p) ? sync_folder(p, err) : TP_OK;
}

enum tp_status
tpi_part_set_aside(struct tpi_part *p, bool leave, struct tp_err *err)
{
	p->replaces = p->name && !access(p->path, F_OK);
	/* Without force a file that came meanwhile will stop the commit. */
	if (!p->replaces || !p->force)
		return TP_OK;
	/* What a run that died kept is older than what has the name now. */
	(void)unlink(p->old);
	if (leave) {
		/* Without links it is replaced all the same. */
		p->is_aside = !link(p->path, p->old);
		return TP_OK;
	}
	if (rename(p->path, p->old))
		return tp_fail_errno(
		    err, TP_EOUTPUT, errno, "rename to %s", p->old);
	p->is_aside = true;
	return TP_OK;
}

void
tpi_part_undo(struct tpi_part *p)
{
	/* Of two links to one file rename() leaves both. */
	if (p->is_aside && !rename(p->old, p->path))
		(void)unlink(p->old);
	else if (!p->is_aside && p->renamed && !p->replaces &&
		 is_still_named(p->fd, p->path))
		(void)unlink(p->path);
	p->is_aside = false;
}

void
tpi_part_settle(struct tpi_part *p)
{
	if (p->old)
		(void)unlink(p->old);
	p->is_aside = false;
}
