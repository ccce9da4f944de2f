/* SPDX-License-Identifier: Apache-2.0 */
/* platform.c - Linux calls, and what is done without them */
#define _GNU_SOURCE 1
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "banned.h"

int64_t
tpi_copy_range(int in, uint64_t in_offset, int out, uint64_t out_offset,
    uint64_t n, bool *unable)
{
#ifdef __linux__
	off_t in_at = (off_t)in_offset, out_at = (off_t)out_offset;
	ssize_t done;

	if (n > (uint64_t)1 << 30)
		n = (uint64_t)1 << 30;
	done = copy_file_range(in, &in_at, out, &out_at, (size_t)n, 0);
	/* Different file systems, old kernels, sealed or special files. */
	*unable =
	    done < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS ||
			    errno == EOPNOTSUPP || errno == EPERM ||
			    errno == EBADF || errno == ETXTBSY);
	return done;
#else
	(void)in;
	(void)in_offset;
	(void)out;
	(void)out_offset;
	(void)n;
	*unable = true;
	return -1;
#endif
}

bool
tpi_lock_file(int fd)
{
	int rc;

	do
		rc = flock(fd, LOCK_EX | LOCK_NB);
	while (rc && errno == EINTR);
	/* A file system without locks: the part file is used unguarded. */
	return rc == 0 || (errno != EWOULDBLOCK && errno != EAGAIN);
}

void
tpi_advise_sequential(int fd)
{
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
}

int
tpi_open_nameless(const char *folder)
{
#ifdef O_TMPFILE
	return open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
#else
	(void)folder;
	return -1;
#endif
}
