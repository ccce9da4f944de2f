/* SPDX-License-Identifier: Apache-2.0 */
/* cli_file.c - written beside its name, and renamed when whole */
#include "cli_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "folder/.name.tp-part", to be freed with free. */
static char *
part_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t size = strlen(path) + sizeof(".tp-part") + 1;
	char *part = malloc(size);

	if (part)
		snprintf(part, size, "%.*s.%s.tp-part", (int)(name - path),
		    path, name);
	return part;
}

static int
fill(const char *path, cli_put_fn *put, void *ctx)
{
	FILE *f = fopen(path, "wb");
	bool failed;
	int rc;

	if (!f)
		return errno;
	rc = put(f, ctx);
	errno = 0;
	failed = ferror(f);
	failed |= fclose(f) != 0;
	if (rc || !failed)
		return rc;
	return errno ? errno : EIO;
}

int
cli_write_file(const char *path, cli_put_fn *put, void *ctx)
{
	struct stat st;
	char *part;
	int rc;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return fill(path, put, ctx);
	part = part_path(path);
	if (!part)
		return ENOMEM;
	rc = fill(part, put, ctx);
	if (!rc && rename(part, path))
		rc = errno;
	if (rc)
		unlink(part);
	free(part);
	return rc;
}
