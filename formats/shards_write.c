/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shards_write.c - spreading tensors over files as huggingface_hub does
 *
 * Tensors are taken in the order of the file. One that would make the open
 * shard too large closes it; one larger than the limit gets a shard of its own
 * and leaves the open one open. The limit counts tensor bytes, not headers.
 */
#include "shards_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tp/checked.h"
#include "tp/json.h"
#include "tp/utf8.h"

#include "safetensors.h"

#include "banned.h"

#define SHARD_NUMBERS_MAX 64 /* bytes of "-%05zu-of-%05zu" */

static enum tp_status
out_of_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory to plan the output");
}

int
tpi_json_to_sink(void *ctx, const char *s, size_t n)
{
	struct tpi_json_sink *to = ctx;

	to->rc = tpi_sink_write(to->sink, s, n, to->err);
	return to->rc != TP_OK;
}

/* An entry beside what the sort asks of it. */
struct key {
	struct tp_str name;
	struct tpi_shard_item item;
};

static int
compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->item.order != y->item.order)
		return x->item.order < y->item.order ? -1 : 1;
	return tp_str_cmp(x->name, y->name);
}

static int
compare_names(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return tp_str_cmp(x->name, y->name);
}

/* The larger dtypes first, as they stand in the format's list; then by name. */
static enum tp_status
sort_entries(struct tp_writer *w, struct tpi_shard_plan *p, struct tp_err *err)
{
	const struct tp_model *m = w->model;
	struct key *keys = tp_mem_array(w->alloc, m->n_entries, sizeof(*keys));

	p->n_items = m->n_entries;
	p->items = tpi_arena_array(&w->arena, p->n_items, sizeof(*p->items));
	if (!keys || !p->items) {
		tp_mem_free(w->alloc, keys, m->n_entries, sizeof(*keys));
		return out_of_memory(err);
	}
	for (size_t i = 0; i < m->n_entries; i++) {
		const struct tp_entry *e = &m->entries[i];

		keys[i].name = e->name;
		keys[i].item.entry = i;
		keys[i].item.order = tpi_safetensors_dtype_order(e->dtype);
	}
	qsort(keys, m->n_entries, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < m->n_entries; i++)
		p->items[i] = keys[i].item;
	tp_mem_free(w->alloc, keys, m->n_entries, sizeof(*keys));
	return TP_OK;
}

/* The open shard, which has items from `first` on, is full. */
static void
close_shard(struct tpi_shard_plan *p, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (p->items[i].shard == TP_NONE)
			p->items[i].shard = p->n_shards;
	p->n_shards++;
}

/*
 * Number the shard of each item. The shard that is open has no number yet: it
 * gets one when it is closed, so that a large tensor met meanwhile comes first.
 */
static enum tp_status
assign_shards(struct tp_writer *w, struct tpi_shard_plan *p, struct tp_err *err)
{
	uint64_t limit = w->options.max_shard_size, size = 0;
	size_t first = 0, n_open = 0;

	for (size_t i = 0; i < p->n_items; i++) {
		uint64_t n = w->model->entries[p->items[i].entry].nbytes;
		uint64_t sum;

		if (limit && n > limit) {
			p->items[i].shard = p->n_shards++;
			continue;
		}
		if (tp_add_u64(size, n, &sum))
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "the tensors have more bytes than 64 bits count");
		if (limit && sum > limit) {
			close_shard(p, first, i);
			first = i;
			n_open = 0;
			sum = n;
		}
		p->items[i].shard = TP_NONE;
		n_open++;
		size = sum;
	}
	if (n_open || p->n_shards == 0)
		close_shard(p, first, p->n_items);
	return TP_OK;
}

/* Bring the items of each shard together; their order inside it stays. */
static enum tp_status
group_items(struct tp_writer *w, struct tpi_shard_plan *p, struct tp_err *err)
{
	struct tpi_shard_item *grouped =
	    tpi_arena_array(&w->arena, p->n_items, sizeof(*grouped));
	size_t *next = tp_mem_array(w->alloc, p->n_shards + 1, sizeof(*next));

	if (!grouped || !next) {
		tp_mem_free(w->alloc, next, p->n_shards + 1, sizeof(*next));
		return out_of_memory(err);
	}
	for (size_t i = 0; i < p->n_items; i++)
		next[p->items[i].shard + 1]++;
	for (size_t k = 1; k <= p->n_shards; k++)
		next[k] += next[k - 1];
	for (size_t i = 0; i < p->n_items; i++)
		grouped[next[p->items[i].shard]++] = p->items[i];
	tp_mem_free(w->alloc, next, p->n_shards + 1, sizeof(*next));
	p->items = grouped;
	return TP_OK;
}

/* NAME of NAME.safetensors or of NAME.safetensors.index.json. */
static enum tp_status
name_files(struct tp_writer *w, struct tpi_shard_plan *p, struct tp_err *err)
{
	const char *path = w->path;
	size_t len = strlen(path);
	struct tp_str stem;

	if (tpi_shards_ends_with(path, TPI_SHARDS_INDEX_SUFFIX)) {
		p->has_index = true;
		len -= strlen(TPI_SHARDS_INDEX_SUFFIX);
	} else if (tpi_shards_ends_with(path, TPI_SHARDS_SUFFIX)) {
		len -= strlen(TPI_SHARDS_SUFFIX);
	}
	stem = tpi_arena_str(&w->arena, (struct tp_str){path, len});
	if (!stem.s)
		return out_of_memory(err);
	p->stem = stem.s;
	p->base = tpi_shards_base(stem.s);
	return TP_OK;
}

/* A set must be possible under that name, and be found again by it. */
static enum tp_status
check_set(
    struct tp_writer *w, const struct tpi_shard_plan *p, struct tp_err *err)
{
	const char *base = tpi_shards_base(w->path);
	size_t stem_len;
	uint64_t of;

	if (!strcmp(w->path, "-"))
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
		    "a shard set cannot go to standard output");
	if (tpi_shards_parse(base, &stem_len, &of))
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
		    "'%s' is the name of one shard; name the set "
		    "%.*s.safetensors",
		    TP_BRIEF(tp_str(base)), (int)stem_len, base);
	if (!p->base[0] ||
	    tp_utf8_check(p->base, strlen(p->base)) < strlen(p->base))
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
		    "'%s' cannot name shards: the index holds UTF-8 only",
		    TP_BRIEF(tp_str(base)));
	return TP_OK;
}

/* One file where a set was: the old index would still be what is opened. */
static enum tp_status
check_no_old_index(
    struct tp_writer *w, const struct tpi_shard_plan *p, struct tp_err *err)
{
	size_t size = strlen(p->stem) + sizeof(TPI_SHARDS_INDEX_SUFFIX);
	char *index = tpi_arena_array(&w->arena, size, 1);
	struct stat st;

	if (!index)
		return out_of_memory(err);
	snprintf(index, size, "%s%s", p->stem, TPI_SHARDS_INDEX_SUFFIX);
	if (strcmp(w->path, "-") && !stat(index, &st))
		return tp_fail(err, TP_EOUTPUT, TP_NO_OFFSET,
		    "one file is enough, but '%s' lies there and names the "
		    "shards of an older set; remove it first",
		    TP_BRIEF(tp_str(tpi_shards_base(index))));
	return TP_OK;
}

enum tp_status
tpi_shards_plan(
    struct tp_writer *w, struct tpi_shard_plan *p, struct tp_err *err)
{
	enum tp_status rc;

	*p = (struct tpi_shard_plan){0};
	rc = name_files(w, p, err);
	if (!rc)
		rc = sort_entries(w, p, err);
	if (!rc)
		rc = assign_shards(w, p, err);
	if (!rc && p->n_shards > 1)
		rc = group_items(w, p, err);
	if (rc)
		return rc;
	p->has_index |= p->n_shards > 1;
	if (p->has_index)
		return check_set(w, p, err);
	if (w->options.max_shard_size)
		return check_no_old_index(w, p, err);
	return TP_OK;
}

/* "-00001-of-00003.safetensors" behind a stem. */
static void
name_shard(char *buf, size_t size, const char *stem,
    const struct tpi_shard_plan *p, size_t shard)
{
	snprintf(buf, size, "%s-%05zu-of-%05zu%s", stem, shard + 1, p->n_shards,
	    TPI_SHARDS_SUFFIX);
}

const char *
tpi_shards_path(
    struct tp_writer *w, const struct tpi_shard_plan *p, size_t shard)
{
	size_t size = strlen(p->stem) + SHARD_NUMBERS_MAX;
	char *path;

	if (!p->has_index)
		return w->path;
	path = tpi_arena_array(&w->arena, size, 1);
	if (path)
		name_shard(path, size, p->stem, p, shard);
	return path;
}

/* The text of the index; sorted has the items by name. */
static void
write_index(struct tp_json *j, const struct tp_model *m,
    const struct tpi_shard_plan *p, const struct key *sorted, char *name,
    size_t name_size)
{
	uint64_t total = 0;

	for (size_t i = 0; i < p->n_items; i++)
		total += m->entries[p->items[i].entry].nbytes;
	tp_json_object_begin(j);
	tp_json_key(j, "metadata");
	tp_json_object_begin(j);
	tp_json_key(j, "total_size");
	tp_json_u64(j, total);
	tp_json_object_end(j);
	tp_json_key(j, "weight_map");
	tp_json_object_begin(j);
	for (size_t i = 0; i < p->n_items; i++) {
		name_shard(name, name_size, p->base, p, sorted[i].item.shard);
		tp_json_key_str(j, sorted[i].name);
		tp_json_text(j, name);
	}
	tp_json_object_end(j);
	tp_json_object_end(j);
}

enum tp_status
tpi_shards_write_index(
    struct tp_writer *w, const struct tpi_shard_plan *p, struct tp_err *err)
{
	size_t index_size = strlen(p->stem) + sizeof(TPI_SHARDS_INDEX_SUFFIX);
	size_t name_size = strlen(p->base) + SHARD_NUMBERS_MAX;
	char *index = tpi_arena_array(&w->arena, index_size, 1);
	char *name = tpi_arena_array(&w->arena, name_size, 1);
	struct key *sorted =
	    tp_mem_array(w->alloc, p->n_items, sizeof(*sorted));
	struct tpi_json_sink to = {.err = err};
	enum tp_status rc = TP_OK;
	struct tp_json j;

	if (!index || !name || !sorted) {
		rc = out_of_memory(err);
		goto out;
	}
	for (size_t i = 0; i < p->n_items; i++)
		sorted[i] = (struct key){
		    w->model->entries[p->items[i].entry].name, p->items[i]};
	qsort(sorted, p->n_items, sizeof(*sorted), compare_names);

	snprintf(index, index_size, "%s%s", p->stem, TPI_SHARDS_INDEX_SUFFIX);
	rc = tpi_writer_add_sink(w, index, &to.sink, err);
	if (rc)
		goto out;
	tp_json_init(&j, tpi_json_to_sink, &to, TP_JSON_PRETTY);
	write_index(&j, w->model, p, sorted, name, name_size);
	rc = tp_json_finish(&j) ? to.rc : tpi_sink_idle(to.sink, err);
out:
	tp_mem_free(w->alloc, sorted, p->n_items, sizeof(*sorted));
	return rc;
}
