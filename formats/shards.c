/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c - names of shards and indexes, and finding a set in a folder */
#include "shards.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/checked.h"

#include "grow.h"

#include "banned.h"

bool
tpi_shards_ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), k = strlen(suffix);

	return n > k && !strcmp(name + n - k, suffix);
}

const char *
tpi_shards_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The number of five digits or more that ends before *end. */
static bool
number_before(const char *s, size_t *end, uint64_t *value)
{
	size_t begin = *end;
	uint64_t v = 0;

	while (begin > 0 && s[begin - 1] >= '0' && s[begin - 1] <= '9')
		begin--;
	if (*end - begin < 5)
		return false;
	for (size_t i = begin; i < *end; i++)
		if (tp_mul_u64(v, 10, &v) ||
		    tp_add_u64(v, (uint64_t)(s[i] - '0'), &v))
			return false;
	*end = begin;
	*value = v;
	return true;
}

static bool
text_before(const char *s, size_t *end, const char *text)
{
	size_t n = strlen(text);

	if (*end < n || memcmp(s + *end - n, text, n))
		return false;
	*end -= n;
	return true;
}

bool
tpi_shards_parse(const char *base, size_t *stem_len, uint64_t *of)
{
	size_t end = strlen(base);
	uint64_t number = 0;

	if (!text_before(base, &end, TPI_SHARDS_SUFFIX) ||
	    !number_before(base, &end, of) ||
	    !text_before(base, &end, "-of-") ||
	    !number_before(base, &end, &number) ||
	    !text_before(base, &end, "-") || end == 0)
		return false;
	*stem_len = end;
	return number >= 1 && number <= *of;
}

char *
tpi_shards_beside(struct tpi_arena *arena, const char *path, struct tp_str name)
{
	size_t folder = (size_t)(tpi_shards_base(path) - path), size;
	char *joined;

	if (tp_add_size(folder, name.len, &size) || tp_add_size(size, 1, &size))
		return NULL;
	joined = tpi_arena_array(arena, size, 1);
	if (joined) {
		memcpy(joined, path, folder);
		memcpy(joined + folder, name.s, name.len);
	}
	return joined;
}

/* Go past white space. */
static size_t
skip_space(const uint8_t *head, size_t n, size_t i)
{
	while (i < n && (head[i] == ' ' || head[i] == '\t' || head[i] == '\r' ||
			    head[i] == '\n'))
		i++;
	return i;
}

static bool
holds(const uint8_t *head, size_t n, const char *text)
{
	size_t k = strlen(text);

	for (size_t i = 0; i + k <= n; i++)
		if (!memcmp(head + i, text, k))
			return true;
	return false;
}

/*
 * An object, so the text begins at once; a safetensors file begins with a
 * length instead, whose last bytes are zero. The map comes second and may begin
 * further on, behind "metadata".
 */
bool
tpi_shards_is_index(const uint8_t *head, size_t n)
{
	size_t i = skip_space(head, n, 0);

	if (i == n || head[i] != '{' || memchr(head, 0, n < 8 ? n : 8))
		return false;
	if (holds(head, n, "\"weight_map\""))
		return true;
	i = skip_space(head, n, i + 1);
	return n - i >= 10 && !memcmp(head + i, "\"metadata\"", 10) &&
	       n == TPI_SHARDS_PROBE;
}

/* Names in a folder that could be meant. */
struct names {
	struct tpi_arena arena;
	struct tp_str *list;
	size_t n, cap;
};

static int
compare_names(const void *a, const void *b)
{
	return tp_str_cmp(*(const struct tp_str *)a, *(const struct tp_str *)b);
}

static enum tp_status
add_name(struct names *names, const char *name, struct tp_err *err)
{
	struct tp_str copy = tpi_arena_str(&names->arena, tp_str(name));
	void *list = tpi_grow(names->arena.alloc, names->list, names->n + 1,
	    &names->cap, sizeof(*names->list));

	if (list)
		names->list = list;
	if (!list || !copy.s)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for the names in a folder");
	names->list[names->n++] = copy;
	return TP_OK;
}

static enum tp_status
list_folder(const char *folder, struct names *indexes, struct names *files,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	struct dirent *item;
	DIR *dir = opendir(folder);

	if (!dir)
		return tp_fail_errno(err, TP_EIO, errno, "open folder");
	for (;;) {
		errno = 0;
		item = readdir(dir);
		if (!item && errno)
			rc = tp_fail_errno(err, TP_EIO, errno, "read folder");
		if (!item || rc)
			break;
		if (item->d_name[0] == '.')
			continue;
		if (tpi_shards_ends_with(item->d_name, TPI_SHARDS_INDEX_SUFFIX))
			rc = add_name(indexes, item->d_name, err);
		else if (tpi_shards_ends_with(item->d_name, TPI_SHARDS_SUFFIX))
			rc = add_name(files, item->d_name, err);
	}
	closedir(dir);
	return rc;
}

/* Several: name the first two. */
static enum tp_status
ambiguous(struct names *names, const char *what, struct tp_err *err)
{
	qsort(names->list, names->n, sizeof(*names->list), compare_names);
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "the folder holds %zu %s ('%s', '%s'%s); name the one to open",
	    names->n, what, TP_BRIEF(names->list[0]), TP_BRIEF(names->list[1]),
	    names->n > 2 ? ", …" : "");
}

static enum tp_status
choose(struct names *indexes, struct names *files, struct tp_str *name,
    struct tp_err *err)
{
	if (indexes->n > 1)
		return ambiguous(indexes, "shard indexes", err);
	if (indexes->n == 0 && files->n > 1)
		return ambiguous(files, "safetensors files and no index", err);
	if (indexes->n + files->n == 0)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "the folder holds no safetensors file");
	*name = indexes->n ? indexes->list[0] : files->list[0];
	return TP_OK;
}

static void
release_names(struct names *names)
{
	tp_mem_free(
	    names->arena.alloc, names->list, names->cap, sizeof(*names->list));
	tpi_arena_release(&names->arena);
}

enum tp_status
tpi_shards_locate(const struct tp_alloc *alloc, const char *folder, char **path,
    size_t *path_size, struct tp_err *err)
{
	struct names indexes = {0}, files = {0};
	struct tp_str name = {0};
	enum tp_status rc;

	*path = NULL;
	*path_size = 0;
	tpi_arena_init(&indexes.arena, alloc);
	tpi_arena_init(&files.arena, alloc);
	rc = list_folder(folder, &indexes, &files, err);
	if (!rc)
		rc = choose(&indexes, &files, &name, err);
	if (!rc) {
		size_t size = strlen(folder) + 1 + name.len + 1;
		char *joined = tp_mem_array(alloc, size, 1);

		if (joined) {
			snprintf(joined, size, "%s/%s", folder, name.s);
			*path = joined;
			*path_size = size;
		} else {
			rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "no memory for a path");
		}
	}
	release_names(&indexes);
	release_names(&files);
	return rc;
}
