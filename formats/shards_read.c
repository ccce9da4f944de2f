/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards_read.c - a shard set, its index checked against every shard
 *
 * Shards are read in the order of their names. A tensor must lie where the
 * index says, in no other shard, and nothing else may; what the index lists
 * must be there, and be as many bytes as it says.
 */
#include "shards.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tp/checked.h"

#include "grow.h"
#include "json.h"
#include "safetensors.h"

#include "banned.h"

struct shard {
	struct tp_str name;
	size_t number; /* in the order in which the index names them */
};

struct item {
	struct tp_str tensor;
	size_t shard; /* number */
	bool seen;
};

struct set {
	struct tpi_safetensors_set rules; /* what the reader of a file asks */
	struct tp_reader *r;
	size_t index; /* source */
	struct tpi_arena arena;
	char *text;
	size_t text_size;
	struct tpi_json json;
	struct shard *shards;
	size_t n_shards, cap_shards;
	struct item *items;
	size_t n_items, cap_items;
	struct tp_map by_file, by_tensor;
	bool has_map, has_metadata, has_total;
	uint64_t total_size;
	size_t current; /* shard number */
	struct tp_str current_name;
};

static enum tp_status
out_of_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a shard index");
}

/* A file beside the index, and nothing that leads elsewhere. */
static enum tp_status
check_file_name(
    struct tp_str tensor, struct tp_str file, uint64_t at, struct tp_err *err)
{
	if (file.len == 0 || memchr(file.s, '/', file.len) ||
	    memchr(file.s, '\0', file.len) || !tp_str_cmp(file, TP_STR(".")) ||
	    !tp_str_cmp(file, TP_STR("..")))
		return tp_fail(err, TP_EFORMAT, at,
		    "tensor '%s': '%s' is not the name of a file beside the "
		    "index",
		    TP_BRIEF(tensor), TP_BRIEF(file));
	return TP_OK;
}

static enum tp_status
find_shard(
    struct set *s, struct tp_str file, size_t *number, struct tp_err *err)
{
	void *list;
	struct tp_str name;

	if (tp_map_find(&s->by_file, file, number))
		return TP_OK;
	name = tpi_arena_str(&s->arena, file);
	list = tpi_grow(s->r->alloc, s->shards, s->n_shards + 1, &s->cap_shards,
	    sizeof(*s->shards));
	if (list)
		s->shards = list;
	if (!name.s || !list)
		return out_of_memory(err);
	*number = s->n_shards++;
	s->shards[*number] = (struct shard){name, *number};
	return tp_map_add(&s->by_file, name, *number, NULL, err);
}

static enum tp_status
add_item(struct set *s, struct tp_str tensor, struct tp_str file, uint64_t at,
    struct tp_err *err)
{
	struct item item = {0};
	enum tp_status rc;
	void *list;

	rc = check_file_name(tensor, file, at, err);
	if (!rc)
		rc = find_shard(s, file, &item.shard, err);
	if (rc)
		return rc;
	item.tensor = tpi_arena_str(&s->arena, tensor);
	list = tpi_grow(s->r->alloc, s->items, s->n_items + 1, &s->cap_items,
	    sizeof(*s->items));
	if (list)
		s->items = list;
	if (!item.tensor.s || !list)
		return out_of_memory(err);
	rc = tp_map_add(&s->by_tensor, item.tensor, s->n_items, NULL, err);
	if (rc == TP_EARG)
		return tp_fail(err, TP_EFORMAT, at,
		    "the index lists tensor '%s' twice", TP_BRIEF(tensor));
	if (!rc)
		s->items[s->n_items++] = item;
	return rc;
}

static enum tp_status
enter_object(struct set *s, const char *what, bool *given, struct tp_err *err)
{
	uint64_t at = tpi_json_at(&s->json);

	if (*given)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s is given twice in the index", what);
	*given = true;
	if (tpi_json_peek(&s->json) != '{')
		return tp_fail(err, TP_EFORMAT, at,
		    "%s of the index is %s, expected an object", what,
		    tpi_json_kind(&s->json));
	return tpi_json_object(&s->json, err);
}

static enum tp_status
read_weight_map(struct set *s, struct tp_err *err)
{
	enum tp_status rc = enter_object(s, "weight_map", &s->has_map, err);

	while (!rc) {
		struct tp_str tensor = {0}, file = {0};
		bool more = false;
		uint64_t at;

		rc = tpi_json_member(&s->json, &more, &tensor, err);
		if (rc || !more)
			break;
		at = tpi_json_at(&s->json);
		if (tpi_json_peek(&s->json) != '"')
			return tp_fail(err, TP_EFORMAT, at,
			    "the index has %s for tensor '%s', expected a file "
			    "name",
			    tpi_json_kind(&s->json), TP_BRIEF(tensor));
		rc = tpi_json_string(&s->json, &file, err);
		if (!rc)
			rc = add_item(s, tensor, file, at, err);
	}
	return rc;
}

static enum tp_status
read_total_size(struct set *s, struct tp_err *err)
{
	uint64_t at = tpi_json_at(&s->json);
	const cJSON *item = NULL;
	enum tp_status rc;

	if (s->has_total)
		return tp_fail(err, TP_EFORMAT, at,
		    "total_size is given twice in the index");
	rc = tpi_json_take(&s->json, 1, &item, err);
	if (rc)
		return rc;
	/* Sums that went through floats end in ".0". */
	if (!tpi_json_whole(item, &s->total_size))
		return tp_fail(err, TP_EFORMAT, at,
		    "total_size of the index is %s, expected a whole number",
		    TPI_JSON_SHOW(item));
	s->has_total = true;
	return TP_OK;
}

static enum tp_status
read_index_metadata(struct set *s, struct tp_err *err)
{
	enum tp_status rc;

	if (tpi_json_peek(&s->json) == 'n')
		return tpi_json_skip(&s->json, err);
	rc = enter_object(s, "metadata", &s->has_metadata, err);
	while (!rc) {
		struct tp_str key = {0};
		bool more = false;

		rc = tpi_json_member(&s->json, &more, &key, err);
		if (rc || !more)
			break;
		if (!tp_str_cmp(key, TP_STR("total_size")))
			rc = read_total_size(s, err);
		else
			rc = tpi_json_skip(&s->json, err);
	}
	return rc;
}

static enum tp_status
read_index_text(struct set *s, struct tp_err *err)
{
	const struct tpi_source *src = s->r->sources[s->index];

	if (src->size > s->r->limits.header_bytes)
		return tp_fail(err, TP_ELIMIT, 0,
		    "shard index of %" PRIu64 " bytes, the limit is %" PRIu64,
		    src->size, s->r->limits.header_bytes);
	s->text = tp_mem_array(s->r->alloc, (size_t)src->size, 1);
	if (!s->text)
		return out_of_memory(err);
	s->text_size = (size_t)src->size;
	return tpi_source_read(src, 0, s->text, s->text_size, err);
}

static enum tp_status
read_index(struct set *s, struct tp_err *err)
{
	enum tp_status rc = read_index_text(s, err);

	if (!rc)
		rc = tpi_json_init(
		    &s->json, s->r->alloc, s->text, s->text_size, 0, err);
	if (!rc)
		rc = tpi_json_object(&s->json, err);
	while (!rc) {
		struct tp_str key = {0};
		bool more = false;

		rc = tpi_json_member(&s->json, &more, &key, err);
		if (rc || !more)
			break;
		if (!tp_str_cmp(key, TP_STR("weight_map")))
			rc = read_weight_map(s, err);
		else if (!tp_str_cmp(key, TP_STR("metadata")))
			rc = read_index_metadata(s, err);
		else
			rc = tpi_json_skip(&s->json, err);
	}
	if (!rc)
		rc = tpi_json_end(&s->json, err);
	if (!rc && !s->has_map)
		rc = tp_fail(err, TP_EFORMAT, 0, "the index has no weight_map");
	return rc;
}

/* May this tensor lie in the shard that is being read? */
static enum tp_status
check_tensor(struct tpi_safetensors_set *rules, struct tp_str tensor,
    uint64_t at, struct tp_err *err)
{
	struct set *s = (struct set *)(void *)rules;
	struct item *item;
	size_t i;

	if (!tp_map_find(&s->by_tensor, tensor, &i))
		return tp_fail(err, TP_EFORMAT, at,
		    "tensor '%s' is not in the index", TP_BRIEF(tensor));
	item = &s->items[i];
	if (item->shard != s->current)
		return tp_fail(err, TP_EFORMAT, at,
		    item->seen ? "tensor '%s' lies in shard '%s' too"
			       : "tensor '%s' should lie in shard '%s'",
		    TP_BRIEF(tensor), TP_BRIEF(s->shards[item->shard].name));
	item->seen = true;
	return TP_OK;
}

/* The source of the current shard; the file that was opened may be one. */
static enum tp_status
open_shard(struct set *s, size_t *source, struct tp_err *err)
{
	const char *opened = s->r->sources[0]->path;
	char *path;

	if (s->index != 0 &&
	    !tp_str_cmp(tp_str(tpi_shards_base(opened)), s->current_name)) {
		*source = 0;
		return TP_OK;
	}
	path = tpi_shards_beside(&s->arena, opened, s->current_name);
	if (!path)
		return out_of_memory(err);
	return tpi_reader_add_source(s->r, path, source, err);
}

static enum tp_status
read_shard(struct set *s, uint64_t *total, struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;
	enum tp_status rc;
	size_t source = 0;
	uint64_t nbytes = 0;

	rc = open_shard(s, &source, &why);
	if (!rc)
		rc = tpi_safetensors_read(
		    s->r, source, &s->rules, &nbytes, &why);
	if (!rc && tp_add_u64(*total, nbytes, total))
		rc = tp_fail(&why, TP_ELIMIT, TP_NO_OFFSET,
		    "the shards hold more bytes than 64 bits count");
	if (rc)
		return tp_fail(err, rc, why.offset, "shard '%s': %s",
		    TP_BRIEF(s->current_name), why.msg);
	return TP_OK;
}

static int
compare_shards(const void *a, const void *b)
{
	const struct shard *x = a, *y = b;

	return tp_str_cmp(x->name, y->name);
}

static enum tp_status
read_shards(struct set *s, struct tp_err *err)
{
	struct shard *sorted =
	    tp_mem_array(s->r->alloc, s->n_shards, sizeof(*sorted));
	enum tp_status rc = TP_OK;
	uint64_t total = 0;

	if (!sorted)
		return out_of_memory(err);
	if (s->n_shards) {
		memcpy(sorted, s->shards, s->n_shards * sizeof(*sorted));
		qsort(sorted, s->n_shards, sizeof(*sorted), compare_shards);
	}
	for (size_t i = 0; i < s->n_shards && !rc; i++) {
		s->current = sorted[i].number;
		s->current_name = sorted[i].name;
		rc = read_shard(s, &total, err);
	}
	tp_mem_free(s->r->alloc, sorted, s->n_shards, sizeof(*sorted));
	for (size_t i = 0; i < s->n_items && !rc; i++)
		if (!s->items[i].seen)
			rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "tensor '%s' is not in shard '%s', where the index "
			    "has it",
			    TP_BRIEF(s->items[i].tensor),
			    TP_BRIEF(s->shards[s->items[i].shard].name));
	if (!rc && s->has_total && s->total_size != total)
		rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "total_size of the index is %" PRIu64
		    ", the shards hold %" PRIu64 " bytes",
		    s->total_size, total);
	return rc;
}

/* A shard that was opened must be one of the set that is read instead. */
static enum tp_status
check_opened(struct set *s, struct tp_err *err)
{
	const char *base = tpi_shards_base(s->r->sources[0]->path);
	size_t number;

	if (s->index == 0 || tp_map_find(&s->by_file, tp_str(base), &number))
		return TP_OK;
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "it does not name the shard that was opened");
}

/* Read the set whose index is r->sources[index]. */
static enum tp_status
open_set(struct tp_reader *r, size_t index, struct tp_err *err)
{
	struct set s = {
	    .rules = {check_tensor},
	    .r = r,
	    .index = index,
	};
	struct tp_err why = TP_ERR_INIT;
	struct tp_str name = tp_str(tpi_shards_base(r->sources[index]->path));
	enum tp_status rc;

	tpi_arena_init(&s.arena, r->alloc);
	tp_map_init(&s.by_file, r->alloc);
	tp_map_init(&s.by_tensor, r->alloc);
	rc = read_index(&s, &why);
	if (!rc)
		rc = check_opened(&s, &why);
	if (rc && index != 0)
		tp_fail(err, rc, why.offset, "index '%s': %s", TP_BRIEF(name),
		    why.msg);
	else if (rc)
		tp_fail(err, rc, why.offset, "%s", why.msg);
	/* The text has done its work before the headers need memory. */
	tpi_json_release(&s.json);
	tp_mem_free(r->alloc, s.text, s.text_size, 1);
	if (!rc)
		rc = read_shards(&s, err);
	tp_map_release(&s.by_file);
	tp_map_release(&s.by_tensor);
	tp_mem_free(r->alloc, s.shards, s.cap_shards, sizeof(*s.shards));
	tp_mem_free(r->alloc, s.items, s.cap_items, sizeof(*s.items));
	tpi_arena_release(&s.arena);
	return rc;
}

enum tp_status
tpi_shards_open_index(struct tp_reader *r, struct tp_err *err)
{
	return open_set(r, 0, err);
}

enum tp_status
tpi_shards_open_around(struct tp_reader *r, bool *done, struct tp_err *err)
{
	const char *path = r->sources[0]->path;
	const char *base = tpi_shards_base(path);
	size_t stem_len = 0, size, source = 0;
	struct tp_err why = TP_ERR_INIT;
	uint64_t of = 0;
	struct stat st;
	char *name, *index;
	enum tp_status rc;

	if (!tpi_shards_parse(base, &stem_len, &of))
		return TP_OK;
	size = stem_len + sizeof(TPI_SHARDS_INDEX_SUFFIX);
	name = tpi_arena_array(&r->arena, size, 1);
	if (!name)
		return out_of_memory(err);
	snprintf(
	    name, size, "%.*s%s", (int)stem_len, base, TPI_SHARDS_INDEX_SUFFIX);
	index = tpi_shards_beside(&r->arena, path, tp_str(name));
	if (!index)
		return out_of_memory(err);
	if (stat(index, &st)) {
		if (of > 1)
			tpi_reader_warn(r, 0,
			    "one of %" PRIu64
			    " shards, read alone: there is no index '%s'",
			    of, name);
		return TP_OK;
	}
	rc = tpi_reader_add_source(r, index, &source, &why);
	if (rc)
		return tp_fail(err, rc, why.offset, "index '%s': %s",
		    TP_BRIEF(tp_str(name)), why.msg);
	*done = true;
	return open_set(r, source, err);
}
