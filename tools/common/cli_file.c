/* SPDX-License-Identifier: Apache-2.0 */
/* cli_file.c - read whole; written beside its name, and renamed when whole */
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

static enum tp_status
grow(char **text, size_t *size, struct tp_err *err)
{
	size_t larger = *size ? *size * 2 : 1 << 12;
	char *grown = realloc(*text, larger);

	if (!grown)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for a text of %zu bytes", *size);
	*text = grown;
	*size = larger;
	return TP_OK;
}

static enum tp_status
read_to_end(FILE *f, size_t max, char **text, size_t *n, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	size_t size = 0, got = 1;

	while (!rc && got) {
		/* One more than there is, for the NUL. */
		if (size - *n <= 1)
			rc = grow(text, &size, err);
		if (rc)
			break;
		got = fread(*text + *n, 1, size - *n - 1, f);
		*n += got;
		if (*n > max)
			rc = tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "the text is longer than %zu bytes", max);
	}
	if (!rc && ferror(f))
		rc = tp_fail_errno(err, TP_EIO, errno, "read");
	if (!rc)
		(*text)[*n] = '\0';
	return rc;
}

enum tp_status
cli_read_file(
    const char *path, size_t max, char **text, size_t *n, struct tp_err *err)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	enum tp_status rc;

	*text = NULL;
	*n = 0;
	if (!f)
		return tp_fail_errno(err, TP_EIO, errno, "open");
	rc = read_to_end(f, max, text, n, err);
	if (f != stdin)
		fclose(f);
	if (rc) {
		free(*text);
		*text = NULL;
		*n = 0;
	}
	return rc;
}
