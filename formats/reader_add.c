/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_add.c - how a format fills a reader
 *
 * Nothing is entered that reader_check.c refuses; names are unique; what the
 * format lends is copied.
 */
#include "plugin.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/shape.h"

#include "grow.h"
#include "reader_check.h"

#include "banned.h"

static enum tp_status
out_of_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for what the file lists");
}

/* Room for n items (not 0) in all; *items may move. */
static enum tp_status
make_room(const struct tp_alloc *alloc, void **items, size_t n, size_t *cap,
    size_t size, struct tp_err *err)
{
	void *p = tpi_grow(alloc, *items, n, cap, size);

	if (!p)
		return out_of_memory(err);
	*items = p;
	return TP_OK;
}

enum tp_status
tpi_reader_reserve(struct tp_reader *r, size_t n, struct tp_err *err)
{
	void *entries = r->entries, *storages = r->storages;
	enum tp_status rc;
	size_t n_entries, n_storages;

	if (tp_add_size(r->n_entries, n, &n_entries) ||
	    tp_add_size(r->n_storages, n, &n_storages))
		return out_of_memory(err);
	if (n == 0)
		return TP_OK;
	rc = make_room(r->alloc, &entries, n_entries, &r->cap_entries,
	    sizeof(*r->entries), err);
	r->entries = entries;
	if (!rc)
		rc = make_room(r->alloc, &storages, n_storages,
		    &r->cap_storages, sizeof(*r->storages), err);
	r->storages = storages;
	return rc ? rc : tp_map_reserve(&r->names, n_entries, err);
}

static struct tp_str
id_key(const struct tpi_file_id *id)
{
	return (struct tp_str){(const char *)id, sizeof(*id)};
}

bool
tpi_reader_find_source(
    const struct tp_reader *r, const struct tpi_file_id *id, size_t *index)
{
	return tp_map_find(&r->source_ids, id_key(id), index);
}

enum tp_status
tpi_reader_adopt_source(struct tp_reader *r, struct tpi_source *source,
    size_t *index, struct tp_err *err)
{
	void *items = r->sources;
	enum tp_status rc = make_room(r->alloc, &items, r->n_sources + 1,
	    &r->cap_sources, sizeof(*r->sources), err);

	if (!rc) {
		r->sources = items;
		/* A file that is read twice is known by its first number. */
		if (!tpi_reader_find_source(r, &source->id, index))
			rc = tp_map_add(&r->source_ids, id_key(&source->id),
			    r->n_sources, NULL, err);
	}
	if (rc) {
		tpi_source_close(source);
		return rc;
	}
	*index = r->n_sources;
	r->sources[r->n_sources++] = source;
	if (tp_add_u64(r->source_bytes, source->size, &r->source_bytes))
		r->source_bytes = UINT64_MAX;
	return TP_OK;
}

enum tp_status
tpi_reader_add_source(
    struct tp_reader *r, const char *path, size_t *index, struct tp_err *err)
{
	struct tpi_source *source = NULL;
	enum tp_status rc = tpi_source_open(r->alloc, path, &source, err);

	return rc ? rc : tpi_reader_adopt_source(r, source, index, err);
}

enum tp_status
tpi_reader_add_storage(struct tp_reader *r, const struct tp_storage_info *info,
    struct tp_str what, size_t *index, struct tp_err *err)
{
	void *items = r->storages, *firsts = r->first_entry;
	enum tp_status rc;
	uint64_t end, size;

	if (info->file >= r->n_sources)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': file %zu of %zu", TP_BRIEF(what), info->file,
		    r->n_sources);
	size = r->sources[info->file]->size;
	if (tp_add_u64(info->offset, info->stored_nbytes, &end) || end > size)
		return tp_fail(err, TP_EFORMAT, info->offset,
		    "tensor '%s': %" PRIu64
		    " bytes pass the end of the file at %" PRIu64,
		    TP_BRIEF(what), info->stored_nbytes, size);
	if (info->encoding == TP_ENC_RAW && info->nbytes != info->stored_nbytes)
		return tp_fail(err, TP_EFORMAT, info->offset,
		    "tensor '%s': %" PRIu64 " bytes stored, expected %" PRIu64,
		    TP_BRIEF(what), info->stored_nbytes, info->nbytes);

	rc = make_room(r->alloc, &items, r->n_storages + 1, &r->cap_storages,
	    sizeof(*r->storages), err);
	if (rc)
		return rc;
	r->storages = items;
	rc = make_room(r->alloc, &firsts, r->n_storages + 1,
	    &r->cap_first_entry, sizeof(*r->first_entry), err);
	if (rc)
		return rc;
	r->first_entry = firsts;
	r->first_entry[r->n_storages] = TP_NONE;
	*index = r->n_storages;
	r->storages[r->n_storages++] = *info;
	return TP_OK;
}

/* Borrowed parts of *e become copies in the arena. */
static enum tp_status
copy_parts(struct tp_reader *r, struct tp_entry *e, struct tp_err *err)
{
	struct tpi_arena *a = &r->arena;
	bool local_is_tail = e->local.len <= e->name.len && e->local.s &&
			     !memcmp(e->name.s + e->name.len - e->local.len,
				 e->local.s, e->local.len);
	struct tp_str name = tpi_arena_str(a, e->name);
	int64_t *dims = tpi_arena_array(a, e->rank + 1, sizeof(*dims));

	if (!name.s || !dims)
		return out_of_memory(err);
	if (!e->local.s)
		e->local = name;
	else if (local_is_tail)
		e->local = (struct tp_str){
		    name.s + name.len - e->local.len, e->local.len};
	else
		e->local = tpi_arena_str(a, e->local);
	e->scope = e->scope.len ? tpi_arena_str(a, e->scope) : TP_STR("");
	if (!e->local.s || !e->scope.s)
		return out_of_memory(err);
	e->name = name;

	if (e->rank)
		memcpy(dims, e->shape, e->rank * sizeof(*dims));
	e->shape = dims;
	if (e->strides && tp_shape_is_row_major(dims, e->strides, e->rank))
		e->strides = NULL;
	if (e->strides) {
		int64_t *strides =
		    tpi_arena_array(a, e->rank, sizeof(*strides));

		if (!strides)
			return out_of_memory(err);
		memcpy(strides, e->strides, e->rank * sizeof(*strides));
		e->strides = strides;
	}
	if (e->sparse) {
		struct tp_sparse_info *sparse =
		    tpi_arena_array(a, 1, sizeof(*sparse));

		if (!sparse)
			return out_of_memory(err);
		*sparse = *e->sparse;
		e->sparse = sparse;
	}
	return TP_OK;
}

enum tp_status
tpi_reader_add(struct tp_reader *r, const struct tp_entry *entry,
    uint64_t offset, struct tp_err *err)
{
	struct tp_entry e = *entry;
	void *items = r->entries;
	enum tp_status rc;

	if (r->n_entries >= r->limits.tensors)
		return tp_fail(err, TP_ELIMIT, offset,
		    "more than %" PRIu64 " tensors", r->limits.tensors);
	rc = tpi_entry_check(r, &e, offset, err);
	if (!rc)
		rc = tpi_entry_expand(r, &e, offset, err);
	if (!rc)
		rc = make_room(r->alloc, &items, r->n_entries + 1,
		    &r->cap_entries, sizeof(*r->entries), err);
	if (rc)
		return rc;
	r->entries = items;

	e.quant = NULL;
	rc = copy_parts(r, &e, err);
	if (rc)
		return rc;
	rc = tp_map_add(&r->names, e.name, r->n_entries, NULL, err);
	if (rc == TP_EARG)
		return tp_fail(err, TP_EFORMAT, offset,
		    "duplicate tensor name '%s'", TP_BRIEF(e.name));
	if (rc)
		return rc;
	if (r->first_entry[e.storage] == TP_NONE)
		r->first_entry[e.storage] = r->n_entries;
	if (e.sparse && r->first_entry[e.sparse->indices] == TP_NONE)
		r->first_entry[e.sparse->indices] = r->n_entries;
	r->entries[r->n_entries++] = e;
	return TP_OK;
}

enum tp_status
tpi_reader_add_meta(struct tp_reader *r, struct tp_str key, struct tp_str value,
    uint64_t offset, struct tp_err *err)
{
	void *items = r->meta;
	enum tp_status rc;
	struct tp_meta m;

	if (r->n_meta >= r->limits.metadata)
		return tp_fail(err, TP_ELIMIT, offset,
		    "more than %" PRIu64 " pairs of metadata",
		    r->limits.metadata);
	rc = tpi_text_check(
	    key, "metadata key", r->limits.name_bytes, offset, err);
	if (!rc)
		rc = tpi_text_check(value, "metadata value",
		    r->limits.metadata_bytes, offset, err);
	if (!rc)
		rc = make_room(r->alloc, &items, r->n_meta + 1, &r->cap_meta,
		    sizeof(*r->meta), err);
	if (rc)
		return rc;
	r->meta = items;
	m.key = tpi_arena_str(&r->arena, key);
	m.value = tpi_arena_str(&r->arena, value);
	if (!m.key.s || !m.value.s)
		return out_of_memory(err);
	rc = tp_map_add(&r->meta_keys, m.key, r->n_meta, NULL, err);
	if (rc == TP_EARG)
		return tp_fail(err, TP_EFORMAT, offset,
		    "duplicate metadata key '%s'", TP_BRIEF(key));
	if (rc)
		return rc;
	r->meta[r->n_meta++] = m;
	return TP_OK;
}

enum tp_status
tpi_reader_add_attachment(
    struct tp_reader *r, struct tp_str name, struct tp_err *err)
{
	void *items = r->attachments;
	enum tp_status rc = make_room(r->alloc, &items, r->n_attachments + 1,
	    &r->cap_attachments, sizeof(*r->attachments), err);

	if (rc)
		return rc;
	r->attachments = items;
	name = tpi_arena_str(&r->arena, name);
	if (!name.s)
		return out_of_memory(err);
	r->attachments[r->n_attachments++] =
	    (struct tp_attachment){.name = name};
	return TP_OK;
}

enum tp_status
tpi_reader_set_quant(struct tp_reader *r, size_t i,
    const struct tp_quant_info *quant, struct tp_err *err)
{
	struct tp_entry *e = &r->entries[i];
	struct tp_quant_info *copy;

	if (quant->scale >= r->n_entries ||
	    (quant->zero_point != TP_NONE && quant->zero_point >= r->n_entries))
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': scale or zero point is no tensor of the file",
		    TP_BRIEF(e->name));
	if (quant->per != TP_PER_TENSOR && quant->axis >= e->rank)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': quantized along axis %u of %u",
		    TP_BRIEF(e->name), quant->axis, e->rank);
	if (quant->per == TP_PER_BLOCK && quant->block == 0)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': quantized in blocks of 0", TP_BRIEF(e->name));
	copy = tpi_arena_array(&r->arena, 1, sizeof(*copy));
	if (!copy)
		return out_of_memory(err);
	*copy = *quant;
	e->quant = copy;
	return TP_OK;
}
