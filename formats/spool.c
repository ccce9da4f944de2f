/* SPDX-License-Identifier: Apache-2.0 */
/* spool.c - a file that never had a name, else mkstemp and unlink at once */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "platform.h"

#include "banned.h"

int
tpi_spool_open(struct tp_err *err)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	int fd, n;

	if (!folder || !*folder)
		folder = "/tmp";
	fd = tpi_open_nameless(folder);
	if (fd >= 0)
		return fd;
	n = snprintf(path, sizeof(path), "%s/tp-spool-XXXXXX", folder);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		tp_fail(err, TP_EIO, TP_NO_OFFSET,
		    "TMPDIR is longer than %zu bytes", sizeof(path));
		return -1;
	}
	fd = mkstemp(path);
	if (fd < 0) {
		tp_fail_errno(
		    err, TP_EIO, errno, "temporary file in %s", folder);
		return -1;
	}
	(void)unlink(path);
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

enum tp_status
tpi_spool_write(int fd, const void *buf, size_t n, struct tp_err *err)
{
	const char *p = buf;

	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return tp_fail_errno(
			    err, TP_EIO, errno, "write to a temporary file");
		p += done;
		n -= (size_t)done;
	}
	return TP_OK;
}
