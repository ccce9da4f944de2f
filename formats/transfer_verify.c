/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_verify.c - the written file, read by a reader of its own
 *
 * Nothing of what the writer did is trusted: each tensor is found by its name
 * and its dense bytes are compared with those of the input's entry. Where the
 * writer copied whole storages or converted on several threads, this reads
 * entries and converts on one.
 */
#include <inttypes.h>
#include <string.h>

#include "tp/profile.h"
#include "tp/shape.h"

#include "stream_cast.h"
#include "transfer_plan.h"

#include "banned.h"

/* What one comparison needs; buffers for a chunk of any pair of dtypes. */
struct check {
	struct tp_transfer *t;
	struct tp_reader *out;
	uint8_t *want, *found, *raw; /* CHECK_CHUNK each */
	uint64_t done, total;
};

#define CHECK_CHUNK TPI_CHUNK

static enum tp_status
differs(struct tp_err *err, struct tp_str name, const char *what)
{
	return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
	    "verify: tensor '%s': %s", TP_BRIEF(name), what);
}

static enum tp_status
check_shape(
    const struct tpi_item *it, const struct tp_entry *found, struct tp_err *err)
{
	const struct tp_entry *e = it->item.source;

	if (found->dtype != it->item.dtype)
		return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
		    "verify: tensor '%s': dtype is %s, expected %s",
		    TP_BRIEF(it->item.name), tp_dtype_name(found->dtype),
		    tp_dtype_name(it->item.dtype));
	if (found->rank != e->rank ||
	    (e->rank && memcmp(found->shape, e->shape,
			    e->rank * sizeof(*e->shape)) != 0))
		return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
		    "verify: tensor '%s': shape is %s, expected %s",
		    TP_BRIEF(it->item.name),
		    TP_SHAPE_TEXT(found->shape, found->rank),
		    TP_SHAPE_TEXT(e->shape, e->rank));
	if (found->nbytes != it->item.nbytes)
		return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
		    "verify: tensor '%s': %" PRIu64 " bytes, expected %" PRIu64,
		    TP_BRIEF(it->item.name), found->nbytes, it->item.nbytes);
	return TP_OK;
}

static enum tp_status
tick(struct check *c, size_t n, struct tp_err *err)
{
	const struct tp_transfer_options *o = &c->t->options;

	c->done += n;
	if (o->progress && !o->progress(o->progress_ctx, c->done, c->total))
		return tp_fail(err, TP_EIO, TP_NO_OFFSET, "interrupted");
	return TP_OK;
}

static enum tp_status
compare_chunk(struct check *c, struct tp_stream *found, uint64_t at, size_t n,
    const struct tpi_item *it, struct tp_err *err)
{
	enum tp_status rc = tp_stream_read(found, c->found, n, err);
	size_t i = 0;

	if (rc)
		return rc;
	if (!memcmp(c->want, c->found, n))
		return tick(c, n, err);
	while (c->want[i] == c->found[i])
		i++;
	return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
	    "verify: tensor '%s': byte %" PRIu64 " is 0x%02x, expected 0x%02x",
	    TP_BRIEF(it->item.name), at + i, c->found[i], c->want[i]);
}

static enum tp_status
compare_copied(struct check *c, const struct tpi_item *it,
    struct tp_stream *want, struct tp_stream *found, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	while (!rc && tp_stream_left(want)) {
		uint64_t left = tp_stream_left(want), at = found->pos;
		size_t n = left < CHECK_CHUNK ? (size_t)left : CHECK_CHUNK;

		rc = tp_stream_read(want, c->want, n, err);
		if (!rc)
			rc = compare_chunk(c, found, at, n, it, err);
	}
	return rc;
}

static enum tp_status
compare_cast(struct check *c, const struct tpi_item *it,
    struct tp_stream *source, struct tp_stream *found, struct tp_err *err)
{
	const struct tp_entry *e = it->item.source;
	struct tpi_cast cast = {
	    .from = e->dtype,
	    .to = it->item.dtype,
	    .overflow = c->t->options.overflow,
	    .what = it->item.name,
	};
	size_t chunk = tpi_cast_chunk(cast.from, cast.to);
	enum tp_status rc = TP_OK;

	for (uint64_t i = 0; !rc && i < e->n_elems; i += chunk) {
		uint64_t left = e->n_elems - i, at = found->pos;
		size_t n = left < chunk ? (size_t)left : chunk;
		size_t from = (n * tp_dtype_bits(cast.from) + 7) / 8;
		size_t to = (n * tp_dtype_bits(cast.to) + 7) / 8;

		rc = tp_stream_read(source, c->raw, from, err);
		if (!rc)
			rc = tpi_cast_bytes(
			    &cast, c->want, c->raw, n, i, NULL, err);
		if (!rc)
			rc = compare_chunk(c, found, at, to, it, err);
	}
	return rc;
}

static enum tp_status
check_item(struct check *c, const struct tpi_item *it, struct tp_err *err)
{
	size_t i = tp_reader_find(c->out, it->item.name);
	struct tp_stream *want = NULL, *found = NULL;
	enum tp_status rc;

	if (i == TP_NONE)
		return differs(err, it->item.name, "it is not in the output");
	rc = check_shape(it, tp_reader_entry(c->out, i), err);
	if (!rc)
		rc = tp_stream_entry(it->reader, it->entry, &want, err);
	if (!rc)
		rc = tp_stream_entry(c->out, i, &found, err);
	if (!rc)
		rc = it->item.dtype == it->item.source->dtype
			 ? compare_copied(c, it, want, found, err)
			 : compare_cast(c, it, want, found, err);
	tp_stream_close(found);
	tp_stream_close(want);
	return rc;
}

/* Items that were to share bytes do; those without bytes cannot. */
static enum tp_status
check_sharing(struct check *c, const struct tpi_item *it, struct tp_err *err)
{
	const struct tp_entry *a, *b;
	struct tp_str other;

	if (it->item.how != TP_HOW_SHARED)
		return TP_OK;
	other = c->t->items[it->item.shared].item.name;
	a = tp_reader_entry(c->out, tp_reader_find(c->out, it->item.name));
	b = tp_reader_entry(c->out, tp_reader_find(c->out, other));
	if (a->storage != b->storage && it->item.nbytes)
		return differs(err, it->item.name,
		    "it no longer shares the bytes of another tensor");
	return TP_OK;
}

static enum tp_status
check_meta(const struct check *c, struct tp_err *err)
{
	const struct tp_transfer *t = c->t;

	if (tp_reader_n_meta(c->out) != t->n_meta)
		return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
		    "verify: %zu metadata entries, expected %zu",
		    tp_reader_n_meta(c->out), t->n_meta);
	for (size_t i = 0; i < t->n_meta; i++) {
		const struct tp_meta *m = tp_reader_meta(c->out, i);

		if (tp_str_cmp(m->key, t->meta[i].key) ||
		    tp_str_cmp(m->value, t->meta[i].value))
			return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
			    "verify: metadata entry %zu: '%s' differs from "
			    "'%s' as planned",
			    i, TP_BRIEF(m->key), TP_BRIEF(t->meta[i].key));
	}
	return TP_OK;
}

/*
 * True if the attachment must come back as it went. A graph into which tensors
 * of another dtype or other metadata were put is another graph.
 */
static bool
is_kept(const struct tp_transfer *t, const struct tp_attachment *a)
{
	if (!(t->format->caps & TPI_CAP_GRAPH) ||
	    tp_str_cmp(a->name, TP_STR(TP_ATTACHMENT_ONNX)))
		return true;
	for (size_t i = 0; i < t->n_items; i++)
		if (t->items[i].slot ||
		    t->items[i].item.dtype != t->items[i].item.source->dtype)
			return false;
	return !t->options.drop_meta && !t->options.n_set_meta;
}

static enum tp_status
check_attachment(
    const struct check *c, const struct tp_attachment *want, struct tp_err *err)
{
	struct tp_attachment found = {.nbytes = 0};
	size_t n = tp_reader_n_attachments(c->out), i = 0;
	enum tp_status rc;

	while (i < n &&
	       tp_str_cmp(tp_reader_attachment_name(c->out, i), want->name))
		i++;
	if (i == n)
		return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
		    "verify: attachment '%s' is not in the output",
		    TP_BRIEF(want->name));
	rc = tp_reader_attachment(c->out, i, &found, err);
	if (rc || !is_kept(c->t, want))
		return rc;
	if (found.nbytes != want->nbytes ||
	    (found.nbytes && memcmp(found.data, want->data, found.nbytes) != 0))
		return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
		    "verify: attachment '%s' differs", TP_BRIEF(want->name));
	return TP_OK;
}

static enum tp_status
check_model(struct check *c, struct tp_err *err)
{
	struct tp_transfer *t = c->t;
	enum tp_status rc;

	if (tp_reader_n_entries(c->out) != t->model.n_entries)
		return tp_fail(err, TP_EMISMATCH, TP_NO_OFFSET,
		    "verify: %zu tensors, expected %zu",
		    tp_reader_n_entries(c->out), t->model.n_entries);
	rc = check_meta(c, err);
	for (size_t i = 0; !rc && i < t->n_attachments; i++)
		rc = check_attachment(c, &t->attachments[i], err);
	for (size_t i = 0; i < t->model.n_entries; i++)
		c->total += t->entries[i].nbytes;
	for (size_t i = 0; !rc && i < t->n_items; i++)
		if (t->items[i].item.how != TP_HOW_LEFT_OUT)
			rc = check_item(c, &t->items[i], err);
	for (size_t i = 0; !rc && i < t->n_items; i++)
		rc = check_sharing(c, &t->items[i], err);
	return rc;
}

/*
 * The written file. Only its content tells whether the Constants of its graph
 * are tensors of this model; if there are too many, they are not.
 */
static enum tp_status
open_output(
    struct check *c, struct tp_open_options *options, struct tp_err *err)
{
	const char *path = tp_transfer_file(c->t, 0, NULL);
	enum tp_status rc = tp_open(path, options, &c->out, err);

	if (rc || !c->t->has_graph ||
	    tp_reader_n_entries(c->out) <= c->t->model.n_entries)
		return rc;
	tp_close(c->out);
	options->flags |= TP_OPEN_KEEP_CONSTANTS;
	return tp_open(path, options, &c->out, err);
}

enum tp_status
tp_transfer_verify(struct tp_transfer *t, struct tp_err *err)
{
	struct tp_open_options open = {
	    .format = t->format->name,
	    .flags = TP_OPEN_NO_MMAP,
	    .alloc = t->alloc,
	};
	struct tp_storage *buffers = NULL;
	struct check c = {.t = t};
	struct tp_scope scope;
	enum tp_status rc;

	if (!t->written || !strcmp(t->path, "-"))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "there is no written file to verify");
	rc = tp_storage_new(t->alloc, 3 * CHECK_CHUNK, &buffers, err);
	if (rc)
		return rc;
	c.want = tp_storage_data_mut(buffers);
	c.found = c.want + CHECK_CHUNK;
	c.raw = c.found + CHECK_CHUNK;
	rc = open_output(&c, &open, err);
	scope = tp_scope_begin("verify output");
	if (!rc)
		rc = check_model(&c, err);
	tp_scope_end(&scope);
	tp_close(c.out);
	tp_storage_unref(buffers);
	if (!rc)
		rc = tpi_transfer_check_inputs(t, err);
	if (!rc)
		tp_writer_settle(t->writer);
	return rc;
}
