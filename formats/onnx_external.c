/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_external.c - tensor bytes in files beside the model
 */
#include "onnx_external.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tp/checked.h"

#include "onnx_slots.h"
#include "sha1.h"
#include "stream.h"

#include "banned.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

static bool
is(struct tp_str s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.s, word, s.len);
}

/* Digits only: no sign, no space, no end other than the end. */
static enum tp_status
decimal(struct tp_str text, const char *key, struct tp_str what, uint64_t *out,
    struct tp_err *err)
{
	uint64_t v = 0;
	bool bad = !text.len;

	for (size_t i = 0; i < text.len && !bad; i++)
		bad = text.s[i] < '0' || text.s[i] > '9' ||
		      tp_mul_u64(v, 10, &v) ||
		      tp_add_u64(v, (uint64_t)(text.s[i] - '0'), &v);
	if (bad)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': external %s '%s' is not a number of bytes",
		    TP_BRIEF(what), key, TP_BRIEF(text));
	*out = v;
	return TP_OK;
}

enum tp_status
tpi_onnx_external_parse(const TpOnnx__TensorProto *t, struct tp_str what,
    struct tpi_onnx_external *out, struct tp_err *err)
{
	static const char *const keys[] = {
	    "location", "offset", "length", "checksum"};
	struct tp_str found[4] = {{NULL, 0}};
	enum tp_status rc;

	for (size_t i = 0; i < t->n_external_data; i++)
		for (size_t k = 0; k < 4; k++) {
			if (!is(tpi_onnx_str(t->external_data[i]->key),
				keys[k]))
				continue;
			if (found[k].s)
				return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
				    "tensor '%s': external %s given twice",
				    TP_BRIEF(what), keys[k]);
			found[k] = tpi_onnx_str(t->external_data[i]->value);
		}
	*out = (struct tpi_onnx_external){.checksum = found[3]};
	if (!found[0].s)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': external data without a location",
		    TP_BRIEF(what));
	out->location = found[0];
	rc = TP_OK;
	if (found[1].s)
		rc = decimal(found[1], keys[1], what, &out->offset, err);
	out->has_length = found[2].s != NULL;
	if (!rc && out->has_length)
		rc = decimal(found[2], keys[2], what, &out->length, err);
	return rc;
}

static enum tp_status
refuse(struct tp_str location, struct tp_str what, const char *why,
    struct tp_err *err)
{
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "tensor '%s': external location '%s' %s", TP_BRIEF(what),
	    TP_BRIEF(location), why);
}

/* What can be said without looking at the disk. */
static enum tp_status
check_location(struct tp_str location, struct tp_str what, struct tp_err *err)
{
	size_t n;

	if (!location.len)
		return refuse(location, what, "is empty", err);
	if (memchr(location.s, 0, location.len))
		return refuse(location, what, "holds a NUL", err);
	if (location.s[0] == '/')
		return refuse(location, what, "is absolute", err);
	for (size_t i = 0; i <= location.len; i += n + 1) {
		for (n = 0; i + n < location.len && location.s[i + n] != '/';)
			n++;
		if (n == 2 && !memcmp(location.s + i, "..", 2))
			return refuse(location, what,
			    "leaves the folder of the model", err);
	}
	return TP_OK;
}

/* The folder of a path, "." if it names none, with what comes after it. */
static bool
join_folder(const char *path, struct tp_str after, char out[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;

	if (n >= PATH_MAX || after.len >= PATH_MAX - 2 ||
	    n + after.len >= PATH_MAX - 2)
		return false;
	memcpy(out, path, n);
	memcpy(out + n, after.s, after.len);
	n += after.len;
	if (!n)
		out[n++] = '.';
	out[n] = 0;
	return true;
}

/*
 * Open name, a path without links below the folder: each step must be what it
 * was when it was resolved, a folder and at last a file.
 */
static int
open_below(const char *folder, const char *name)
{
	char step[NAME_MAX + 1];
	int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	size_t n;

	while (at >= 0) {
		n = strcspn(name, "/");
		if (n > NAME_MAX) {
			close(at);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(step, name, n);
		step[n] = 0;
		fd = openat(at, step,
		    O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
			(name[n] ? O_DIRECTORY : O_NONBLOCK));
		close(at);
		if (fd < 0 || !name[n])
			return fd;
		at = fd;
		name += n + 1;
	}
	return at;
}

/* paths is room for three: what is asked for, the folder, the real file. */
static enum tp_status
resolve(const char *model_path, struct tp_str location, struct tp_str what,
    char *paths, int *fd, struct tp_err *err)
{
	char *path = paths, *folder = paths + PATH_MAX,
	     *file = paths + 2 * PATH_MAX;
	size_t n;

	if (!join_folder(model_path, TP_STR(""), path))
		return refuse(location, what, "makes too long a path", err);
	if (!realpath(path, folder))
		return tp_fail_errno(err, TP_EIO, errno,
		    "tensor '%s': folder of the model", TP_BRIEF(what));
	if (!join_folder(model_path, location, path))
		return refuse(location, what, "makes too long a path", err);
	if (!realpath(path, file))
		return tp_fail_errno(err, TP_EIO, errno,
		    "tensor '%s': external file '%s'", TP_BRIEF(what),
		    TP_BRIEF(location));
	n = strlen(folder);
	if (n == 1)
		n = 0; /* the root ends in its slash already */
	if (strncmp(folder, file, n) || file[n] != '/')
		return refuse(location, what,
		    "is a link that leaves the folder of the model", err);
	*fd = open_below(folder, file + n + 1);
	if (*fd < 0)
		return tp_fail_errno(err, TP_EIO, errno,
		    "tensor '%s': external file '%s'", TP_BRIEF(what),
		    TP_BRIEF(location));
	return TP_OK;
}

enum tp_status
tpi_onnx_external_open(const struct tp_alloc *alloc, const char *model_path,
    struct tp_str location, struct tp_str what, struct tpi_source **out,
    struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;
	char *paths;
	enum tp_status rc;
	int fd = -1;

	*out = NULL;
	rc = check_location(location, what, err);
	if (rc)
		return rc;
	if (!strcmp(model_path, "-"))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s' is in file '%s', which cannot be found beside "
		    "standard input",
		    TP_BRIEF(what), TP_BRIEF(location));
	paths = tp_mem_array(alloc, 3, PATH_MAX);
	if (!paths)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a path");
	rc = resolve(model_path, location, what, paths, &fd, err);
	if (!rc) {
		/* resolve left the path as the user would write it. */
		rc = tpi_source_from_fd(alloc, fd, paths, out, &why);
		if (rc == TP_ENOMEM)
			tp_fail(err, rc, TP_NO_OFFSET, "%s", why.msg);
		else if (rc)
			tp_fail(err, rc, TP_NO_OFFSET,
			    "tensor '%s': external location '%s' %s",
			    TP_BRIEF(what), TP_BRIEF(location), why.msg);
	}
	tp_mem_free(alloc, paths, 3, PATH_MAX);
	return rc;
}

enum tp_status
tpi_onnx_external_fits(const struct tpi_onnx_external *e,
    const struct tpi_source *src, uint64_t nbytes, struct tp_str what,
    struct tp_err *err)
{
	uint64_t rest = e->offset < src->size ? src->size - e->offset : 0;

	if (e->has_length && e->length != nbytes)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': external length is %" PRIu64
		    ", expected %" PRIu64,
		    TP_BRIEF(what), e->length, nbytes);
	if (rest < nbytes || e->offset > src->size)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': external file '%s' has %" PRIu64
		    " bytes from offset %" PRIu64 " on, expected %" PRIu64,
		    TP_BRIEF(what), TP_BRIEF(e->location), rest, e->offset,
		    nbytes);
	if (!e->has_length && rest != nbytes)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': external data without a length goes to the "
		    "end of '%s': %" PRIu64 " bytes, expected %" PRIu64,
		    TP_BRIEF(what), TP_BRIEF(e->location), rest, nbytes);
	return TP_OK;
}

enum tp_status
tpi_onnx_external_digest(const struct tp_alloc *alloc,
    const struct tpi_source *src, char hex[41], struct tp_err *err)
{
	uint8_t *buf = tp_mem_array(alloc, TPI_CHUNK, 1);
	struct tpi_sha1 h;
	size_t n;
	enum tp_status rc = TP_OK;

	if (!buf)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a buffer");
	tpi_sha1_init(&h);
	for (uint64_t at = 0; !rc && at < src->size; at += n) {
		n = src->size - at < TPI_CHUNK ? (size_t)(src->size - at)
					       : TPI_CHUNK;
		rc = tpi_source_read(src, at, buf, n, err);
		if (!rc)
			tpi_sha1_add(&h, buf, n);
	}
	tpi_sha1_hex(&h, hex);
	tp_mem_free(alloc, buf, TPI_CHUNK, 1);
	return rc;
}

/* Hexadecimal digits of either case. */
static char
lower(char c)
{
	return c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
}

enum tp_status
tpi_onnx_external_compare(const struct tpi_onnx_external *e, const char hex[41],
    struct tp_str what, struct tp_err *err)
{
	bool same = e->checksum.len == 40;

	for (size_t i = 0; i < 40 && same; i++)
		same = lower(e->checksum.s[i]) == hex[i];
	if (same)
		return TP_OK;
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "tensor '%s': external file '%s' has SHA-1 %s, but its checksum "
	    "is '%s'",
	    TP_BRIEF(what), TP_BRIEF(e->location), hex, TP_BRIEF(e->checksum));
}
