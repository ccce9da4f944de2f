/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - opening a model by its content, and looking at it */
#include "plugin.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tp/profile.h"

#include "registry.h"
#include "shards.h"
#include "stream_entry.h"

#include "banned.h"

struct tp_limits
tp_limits_default(void)
{
	return (struct tp_limits){
	    .header_bytes = 100000000,
	    .directory_bytes = (uint64_t)1 << 30,
	    .tensors = 4000000,
	    .name_bytes = (uint64_t)1 << 20,
	    .metadata = 1000000,
	    .metadata_bytes = (uint64_t)64 << 20,
	    .depth = 100,
	    .expansion = UINT64_MAX,
	};
}

static void
fill_limits(struct tp_limits *l)
{
	const struct tp_limits d = tp_limits_default();

	if (!l->header_bytes)
		l->header_bytes = d.header_bytes;
	if (!l->directory_bytes)
		l->directory_bytes = d.directory_bytes;
	if (!l->tensors)
		l->tensors = d.tensors;
	if (!l->name_bytes)
		l->name_bytes = d.name_bytes;
	if (!l->metadata)
		l->metadata = d.metadata;
	if (!l->metadata_bytes)
		l->metadata_bytes = d.metadata_bytes;
	if (!l->depth)
		l->depth = d.depth;
	if (!l->expansion)
		l->expansion = d.expansion;
}

const char *
tp_origin_name(enum tp_origin origin)
{
	switch (origin) {
	case TP_ORIGIN_PLAIN:
		return "tensor";
	case TP_ORIGIN_INITIALIZER:
		return "initializer";
	case TP_ORIGIN_CONSTANT:
		return "constant";
	case TP_ORIGIN_SPARSE:
		return "sparse_initializer";
	}
	return "tensor";
}

/*
 * Whose file is it? Every format sees the same first bytes; the surest wins,
 * the earlier of equals. When no format knows them the suffix decides who gets
 * to say what is wrong.
 */
static enum tp_status
probe(struct tp_reader *r, struct tp_err *err)
{
	const struct tpi_source *src = r->sources[0];
	uint8_t head[TPI_PROBE_MAX];
	size_t n = src->size < sizeof(head) ? (size_t)src->size : sizeof(head);
	const struct tp_format *f;
	enum tp_status rc;
	int best = 0;

	rc = tpi_source_read(src, 0, head, n, err);
	if (rc)
		return rc;
	for (size_t i = 0; (f = tp_format_at(i)); i++) {
		int sure = 0;

		if (f->probe && (f->caps & TPI_CAP_HARDENED))
			sure = f->probe(head,
			    n < f->probe_len ? n : f->probe_len, src->size);
		if (sure > best) {
			best = sure;
			r->format = f;
		}
	}
	if (!r->format)
		r->format = tp_format_for_path(src->path);
	if (r->format)
		return TP_OK;
	if (src->size == 0)
		return tp_fail(err, TP_EFORMAT, 0, "the file is empty");
	return tp_fail(err, TP_EFORMAT, 0,
	    "not a file of a format known here (%s)", tpi_format_names());
}

static enum tp_status
choose_format(struct tp_reader *r, const char *name, struct tp_err *err)
{
	enum tp_status rc;

	if (!name) {
		rc = probe(r, err);
		if (!rc && !r->format->open)
			rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "format %s cannot be read", r->format->name);
		return rc;
	}
	r->format = tp_format_find(name);
	if (!r->format || !r->format->open)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "unknown format '%s', there are %s", TP_BRIEF(tp_str(name)),
		    tpi_format_names());
	return TP_OK;
}

static enum tp_status
open_source(struct tp_reader *r, const char *path, struct tp_err *err)
{
	enum tp_status rc;
	size_t path_size = 0;
	char *found = NULL;
	struct stat st;
	size_t index;

	/* A folder stands for the shard set in it. */
	if (strcmp(path, "-") && !stat(path, &st) && S_ISDIR(st.st_mode)) {
		rc = tpi_shards_locate(r->alloc, path, &found, &path_size, err);
		if (rc)
			return rc;
		path = found;
	}
	rc = tpi_reader_add_source(r, path, &index, err);
	tp_mem_free(r->alloc, found, path_size, 1);
	return rc;
}

struct tp_reader *
tpi_reader_new(const struct tp_open_options *options)
{
	struct tp_reader *r = tp_mem_array(options->alloc, 1, sizeof(*r));

	if (!r)
		return NULL;
	r->alloc = options->alloc;
	r->limits = options->limits;
	fill_limits(&r->limits);
	r->flags = options->flags;
	r->warn = options->warn;
	r->warn_ctx = options->warn_ctx;
	tpi_arena_init(&r->arena, r->alloc);
	tp_map_init(&r->source_ids, r->alloc);
	tp_map_init(&r->names, r->alloc);
	tp_map_init(&r->meta_keys, r->alloc);
	return r;
}

/* What only reading tensors needs. */
static enum tp_status
make_ready(struct tp_reader *r, struct tp_err *err)
{
	bool checked = false;

	for (size_t i = 0; i < r->n_storages; i++)
		checked |= r->storages[i].has_crc32c;
	if (!checked)
		return TP_OK;
	r->sums = tp_mem_array(r->alloc, r->n_storages, sizeof(*r->sums));
	return r->sums ? tpi_parking_new(r->alloc, &r->parking, err)
		       : tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			     "no memory for checksums");
}

enum tp_status
tp_open(const char *path, const struct tp_open_options *options,
    struct tp_reader **out, struct tp_err *err)
{
	const struct tp_open_options none = {0};
	struct tp_scope scope;
	enum tp_status rc;
	struct tp_reader *r;

	*out = NULL;
	r = tpi_reader_new(options ? options : &none);
	if (!r)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a reader");

	scope = tp_scope_begin("open input");
	rc = open_source(r, path, err);
	if (!rc)
		rc = choose_format(r, options ? options->format : NULL, err);
	if (!rc)
		rc = r->format->open(r, err);
	if (!rc)
		rc = make_ready(r, err);
	tp_scope_end(&scope);
	if (rc) {
		tp_close(r);
		return rc;
	}
	*out = r;
	return TP_OK;
}

void
tp_close(struct tp_reader *r)
{
	if (!r)
		return;
	tpi_parking_free(r->parking);
	if (r->format && r->format->close)
		r->format->close(r);
	for (size_t i = 0; i < r->n_sources; i++)
		tpi_source_close(r->sources[i]);
	tp_mem_free(r->alloc, r->sources, r->cap_sources, sizeof(*r->sources));
	tp_mem_free(
	    r->alloc, r->storages, r->cap_storages, sizeof(*r->storages));
	tp_mem_free(r->alloc, r->sums, r->n_storages, sizeof(*r->sums));
	tp_mem_free(r->alloc, r->first_entry, r->cap_first_entry,
	    sizeof(*r->first_entry));
	tp_mem_free(r->alloc, r->entries, r->cap_entries, sizeof(*r->entries));
	tp_mem_free(r->alloc, r->meta, r->cap_meta, sizeof(*r->meta));
	tp_mem_free(r->alloc, r->attachments, r->cap_attachments,
	    sizeof(*r->attachments));
	tp_map_release(&r->source_ids);
	tp_map_release(&r->names);
	tp_map_release(&r->meta_keys);
	tpi_arena_release(&r->arena);
	tp_mem_free(r->alloc, r, 1, sizeof(*r));
}

const struct tp_format *
tp_reader_format(const struct tp_reader *r)
{
	return r->format;
}

size_t
tp_reader_n_entries(const struct tp_reader *r)
{
	return r->n_entries;
}

const struct tp_entry *
tp_reader_entry(const struct tp_reader *r, size_t i)
{
	return &r->entries[i];
}

size_t
tp_reader_find(const struct tp_reader *r, struct tp_str name)
{
	size_t i;

	return tp_map_find(&r->names, name, &i) ? i : TP_NONE;
}

size_t
tp_reader_n_storages(const struct tp_reader *r)
{
	return r->n_storages;
}

const struct tp_storage_info *
tp_reader_storage(const struct tp_reader *r, size_t i)
{
	return &r->storages[i];
}

size_t
tp_reader_n_meta(const struct tp_reader *r)
{
	return r->n_meta;
}

const struct tp_meta *
tp_reader_meta(const struct tp_reader *r, size_t i)
{
	return &r->meta[i];
}

size_t
tp_reader_n_attachments(const struct tp_reader *r)
{
	return r->n_attachments;
}

struct tp_str
tp_reader_attachment_name(const struct tp_reader *r, size_t i)
{
	return r->attachments[i].name;
}

enum tp_status
tp_reader_attachment(struct tp_reader *r, size_t i, struct tp_attachment *out,
    struct tp_err *err)
{
	if (!r->attachments[i].data) {
		enum tp_status rc = r->format->attach(r, i, err);

		if (rc)
			return rc;
	}
	*out = r->attachments[i];
	return TP_OK;
}

enum tp_status
tp_reader_read_raw(const struct tp_reader *r, size_t storage, uint64_t offset,
    void *buf, size_t n, struct tp_err *err)
{
	const struct tp_storage_info *s = &r->storages[storage];

	if (s->encoding != TP_ENC_RAW || offset > s->nbytes ||
	    n > s->nbytes - offset)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "storage %zu has no %zu raw bytes at %" PRIu64, storage, n,
		    offset);
	return tpi_source_read(
	    r->sources[s->file], s->offset + offset, buf, n, err);
}

const char *
tp_reader_file(const struct tp_reader *r, size_t i, uint64_t *nbytes)
{
	if (i >= r->n_sources)
		return NULL;
	if (nbytes)
		*nbytes = r->sources[i]->size;
	return r->sources[i]->path;
}

enum tp_status
tp_reader_check_files(const struct tp_reader *r, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < r->n_sources && !rc; i++)
		rc = tpi_source_check(r->sources[i], err);
	return rc;
}

bool
tp_reader_reads_file(const struct tp_reader *r, const char *path)
{
	struct tpi_file_id id;
	struct stat st;
	size_t i;

	if (stat(path, &st))
		return false;
	id = (struct tpi_file_id){(uint64_t)st.st_dev, (uint64_t)st.st_ino};
	return tpi_reader_find_source(r, &id, &i);
}

void
tpi_reader_warn(struct tp_reader *r, size_t source, const char *fmt, ...)
{
	char message[TP_ERR_MSG_SIZE];
	va_list ap;

	if (!r->warn)
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	r->warn(r->warn_ctx, r->sources[source]->path, message);
}
