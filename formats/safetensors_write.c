/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors_write.c - files as the Rust library writes them, byte by byte
 *
 *	u64le N | compact JSON, spaces up to a multiple of 8 | tensor bytes
 *
 * The larger dtypes come first, then the order is that of the names, so every
 * tensor lies at a multiple of its element size. A larger alignment pads the
 * JSON so that the first tensor byte lies at it.
 */
#include "safetensors.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"
#include "tp/json.h"

#include "shards_write.h"

#include "banned.h"

struct file {
	struct tpi_sink *sink;
	size_t first_item, n_items;
};

struct output {
	struct tpi_shard_plan plan;
	struct file *files; /* one for each shard */
};

static int
count_bytes(void *ctx, const char *s, size_t n)
{
	uint64_t *sum = ctx;

	(void)s;
	*sum += n;
	return 0;
}

static void
write_tensor(
    struct tp_json *j, const struct tp_entry *e, uint64_t begin, uint64_t end)
{
	tp_json_key_str(j, e->name);
	tp_json_object_begin(j);
	tp_json_key(j, "dtype");
	tp_json_text(j, tpi_safetensors_dtype_name(e->dtype));
	tp_json_key(j, "shape");
	tp_json_row_begin(j);
	for (unsigned d = 0; d < e->rank; d++)
		tp_json_i64(j, e->shape[d]);
	tp_json_array_end(j);
	tp_json_key(j, "data_offsets");
	tp_json_row_begin(j);
	tp_json_u64(j, begin);
	tp_json_u64(j, end);
	tp_json_array_end(j);
	tp_json_object_end(j);
}

/* The JSON of one file; 0 or what the write function returned. */
static int
write_json(const struct tp_writer *w, const struct output *o,
    const struct file *f, tp_json_write_fn *write, void *ctx)
{
	const struct tp_model *m = w->model;
	uint64_t begin = 0;
	struct tp_json j;

	tp_json_init(&j, write, ctx, TP_JSON_COMPACT);
	tp_json_object_begin(&j);
	if (m->n_meta) {
		tp_json_key(&j, "__metadata__");
		tp_json_object_begin(&j);
		for (size_t i = 0; i < m->n_meta; i++) {
			tp_json_key_str(&j, m->meta[i].key);
			tp_json_str(&j, m->meta[i].value);
		}
		tp_json_object_end(&j);
	}
	for (size_t i = f->first_item; i < f->first_item + f->n_items; i++) {
		const struct tp_entry *e = &m->entries[o->plan.items[i].entry];

		/* The plan found that the sum fits. */
		write_tensor(&j, e, begin, begin + e->nbytes);
		begin += e->nbytes;
	}
	tp_json_object_end(&j);
	return tp_json_finish(&j);
}

/* The bytes of the header behind the length: JSON and padding. */
static enum tp_status
measure(const struct tp_writer *w, const struct output *o, const struct file *f,
    uint64_t *json_nbytes, uint64_t *header_nbytes, struct tp_err *err)
{
	uint64_t align = w->options.align > 8 ? w->options.align : 8, end;

	*json_nbytes = 0;
	(void)write_json(w, o, f, count_bytes, json_nbytes);
	if (tp_round_up_u64(8 + *json_nbytes, align, &end) ||
	    end - 8 > TPI_SAFETENSORS_HEADER_MAX)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "the header would have %" PRIu64
		    " bytes, readers accept %d",
		    end - 8, TPI_SAFETENSORS_HEADER_MAX);
	*header_nbytes = end - 8;
	return TP_OK;
}

static enum tp_status
write_padding(struct tpi_sink *sink, uint64_t n, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	char spaces[256];

	memset(spaces, ' ', sizeof(spaces));
	while (n > 0 && !rc) {
		size_t part = n < sizeof(spaces) ? (size_t)n : sizeof(spaces);

		rc = tpi_sink_write(sink, spaces, part, err);
		n -= part;
	}
	return rc;
}

static enum tp_status
write_header(const struct tp_writer *w, const struct output *o,
    const struct file *f, struct tp_err *err)
{
	struct tpi_json_sink to = {.sink = f->sink, .err = err};
	uint64_t json_nbytes, header_nbytes;
	enum tp_status rc;
	uint8_t length[8];

	rc = measure(w, o, f, &json_nbytes, &header_nbytes, err);
	if (rc)
		return rc;
	tp_put_le64(length, header_nbytes);
	rc = tpi_sink_write(f->sink, length, sizeof(length), err);
	if (rc)
		return rc;
	if (write_json(w, o, f, tpi_json_to_sink, &to))
		return to.rc;
	return write_padding(f->sink, header_nbytes - json_nbytes, err);
}

/* A format without aliases and strides gets entries that are whole storages. */
static enum tp_status
check_entries(const struct tp_model *m, struct tp_err *err)
{
	for (size_t i = 0; i < m->n_entries; i++) {
		const struct tp_entry *e = &m->entries[i];

		if (e->first != 0 || m->storage_nbytes[e->storage] != e->nbytes)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "tensor '%s' of %" PRIu64
			    " bytes in a storage of %" PRIu64,
			    TP_BRIEF(e->name), e->nbytes,
			    m->storage_nbytes[e->storage]);
	}
	return TP_OK;
}

/* Which items each file has, and the order in which storages come. */
static enum tp_status
fill_order(struct tp_writer *w, struct output *o, struct tp_err *err)
{
	const struct tpi_shard_plan *p = &o->plan;

	o->files = tpi_arena_array(&w->arena, p->n_shards, sizeof(*o->files));
	if (!o->files)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu files", p->n_shards);
	for (size_t i = 0; i < p->n_items; i++) {
		struct file *f = &o->files[p->items[i].shard];

		if (f->n_items++ == 0)
			f->first_item = i;
		w->order[i] = w->model->entries[p->items[i].entry].storage;
	}
	w->n_order = p->n_items;
	return TP_OK;
}

static enum tp_status
open_files(struct tp_writer *w, struct output *o, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	/* The index refers to the others, so it is the first. */
	if (o->plan.has_index)
		rc = tpi_shards_write_index(w, &o->plan, err);
	for (size_t i = 0; i < o->plan.n_shards && !rc; i++) {
		const char *path = tpi_shards_path(w, &o->plan, i);

		if (!path)
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "no memory for a path");
		rc = tpi_writer_add_sink(w, path, &o->files[i].sink, err);
		if (!rc)
			rc = write_header(w, o, &o->files[i], err);
		if (!rc && o->plan.n_shards > 1)
			rc = tpi_sink_idle(o->files[i].sink, err);
	}
	return rc;
}

enum tp_status
tpi_safetensors_plan(struct tp_writer *w, struct tp_err *err)
{
	struct output *o = tpi_arena_array(&w->arena, 1, sizeof(*o));
	uint64_t align = w->options.align, json_nbytes, header_nbytes;
	enum tp_status rc;

	if (!o)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a safetensors file");
	w->priv = o;
	if (align & (align - 1))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "alignment %" PRIu64 " is not a power of two", align);
	rc = check_entries(w->model, err);
	if (!rc)
		rc = tpi_shards_plan(w, &o->plan, err);
	if (!rc)
		rc = fill_order(w, o, err);

	/* Every refusal comes before the first file is made. */
	for (size_t i = 0; !rc && i < o->plan.n_shards; i++)
		rc = measure(
		    w, o, &o->files[i], &json_nbytes, &header_nbytes, err);
	return rc ? rc : open_files(w, o, err);
}

enum tp_status
tpi_safetensors_put(struct tp_writer *w, size_t storage, struct tp_stream *s,
    struct tp_err *err)
{
	const struct output *o = w->priv;
	const struct file *f = &o->files[o->plan.items[w->n_put].shard];
	enum tp_status rc = tpi_sink_stream(f->sink, s, err);

	(void)storage;
	if (!rc && w->n_put + 1 == f->first_item + f->n_items)
		rc = tpi_sink_idle(f->sink, err);
	return rc;
}
