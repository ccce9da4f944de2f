/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - what all formats share when a file is made */
#include "plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tp/shape.h"

#include "grow.h"
#include "registry.h"

#include "banned.h"

static enum tp_status
out_of_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a writer");
}

static enum tp_status
choose_format(const char *path, const char *name, const struct tp_format **out,
    struct tp_err *err)
{
	*out = name ? tp_format_find(name) : tp_format_for_path(path);
	if (!*out && name)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "unknown format '%s', there are %s", TP_BRIEF(tp_str(name)),
		    tpi_format_names());
	if (!*out)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "the suffix tells no format known here (%s)",
		    tpi_format_names());
	if (!(*out)->plan)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "format %s cannot be written", (*out)->name);
	return TP_OK;
}

/* The first loss, as the message of the refusal. */
struct first_loss {
	const struct tp_model *model;
	struct tp_err *err;
	bool told;
};

static void
refuse(void *ctx, size_t entry, enum tp_loss_kind kind, const char *why)
{
	struct first_loss *f = ctx;

	if (f->told)
		return;
	f->told = true;
	if (entry == TP_NONE)
		tp_fail(f->err, TP_EUNSUPPORTED, TP_NO_OFFSET, "loss of %s: %s",
		    tp_loss_name(kind), why);
	else
		tp_fail(f->err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': loss of %s: %s",
		    TP_BRIEF(f->model->entries[entry].name), tp_loss_name(kind),
		    why);
}

/* What no reader takes (reader_check.c) shall be in no file. */
static enum tp_status
check_form(
    const struct tp_model *m, const struct tp_entry *e, struct tp_err *err)
{
	bool is_string = e->dtype == TP_DTYPE_STRING;

	if (e->sparse && (e->strides || e->first || is_string ||
			     e->sparse->n_values > e->n_elems))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': not a possible sparse tensor",
		    TP_BRIEF(e->name));
	if (is_string && (e->strides || e->first))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': strings lie in order", TP_BRIEF(e->name));
	if (is_string && e->n_elems > m->storage_nbytes[e->storage] / 8)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " strings in %" PRIu64 " bytes",
		    TP_BRIEF(e->name), e->n_elems,
		    m->storage_nbytes[e->storage]);
	return TP_OK;
}

static enum tp_status
check_entry(
    const struct tp_model *m, const struct tp_entry *e, struct tp_err *err)
{
	uint64_t n = 0;

	if (e->storage >= m->n_storages ||
	    (e->sparse && e->sparse->indices >= m->n_storages))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': no such storage", TP_BRIEF(e->name));
	if (e->rank > TP_MAX_RANK ||
	    tp_shape_numel(e->shape, e->rank, &n, NULL) || n != e->n_elems)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " elements do not fit its shape",
		    TP_BRIEF(e->name), e->n_elems);
	return check_form(m, e, err);
}

/* A model is made by a program, but the program may have read it somewhere. */
static enum tp_status
check_model(
    const struct tp_model *m, const struct tp_alloc *alloc, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	struct tp_map names;

	tp_map_init(&names, alloc);
	for (size_t i = 0; i < m->n_entries && !rc; i++) {
		const struct tp_entry *e = &m->entries[i];

		rc = check_entry(m, e, err);
		if (rc)
			break;
		rc = tp_map_add(&names, e->name, i, NULL, err);
		if (rc == TP_EARG)
			tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "duplicate tensor name '%s'", TP_BRIEF(e->name));
	}
	tp_map_release(&names);
	return rc;
}

enum tp_status
tp_create(const char *path, const struct tp_model *model,
    const struct tp_create_options *options, struct tp_writer **out,
    struct tp_err *err)
{
	const struct tp_create_options none = {0};
	const struct tp_format *format = NULL;
	struct first_loss first = {.model = model, .err = err};
	enum tp_status rc;
	struct tp_writer *w;

	*out = NULL;
	if (!options)
		options = &none;
	rc = choose_format(path, options->format, &format, err);
	if (!rc)
		rc = check_model(model, options->alloc, err);
	if (rc)
		return rc;
	if (tp_format_loses(format, options, model, refuse, &first))
		return TP_EUNSUPPORTED;

	w = tp_mem_array(options->alloc, 1, sizeof(*w));
	if (!w)
		return out_of_memory(err);
	w->format = format;
	w->alloc = options->alloc;
	w->options = *options;
	w->model = model;
	tpi_arena_init(&w->arena, w->alloc);
	w->path = tpi_arena_str(&w->arena, tp_str(path)).s;
	w->order =
	    tpi_arena_array(&w->arena, model->n_storages, sizeof(*w->order));
	rc = w->path && w->order ? format->plan(w, err) : out_of_memory(err);
	if (rc) {
		tp_writer_free(w);
		return rc;
	}
	*out = w;
	return TP_OK;
}

enum tp_status
tpi_writer_add_sink(struct tp_writer *w, const char *path,
    struct tpi_sink **out, struct tp_err *err)
{
	void *sinks = tpi_grow(w->alloc, w->sinks, w->n_sinks + 1,
	    &w->cap_sinks, sizeof(struct tpi_sink *));
	enum tp_status rc;

	if (!sinks)
		return out_of_memory(err);
	w->sinks = sinks;
	rc = tpi_sink_open(w->alloc, path, w->options.force, w->options.sync,
	    &w->sinks[w->n_sinks], err);
	if (rc)
		return rc;
	*out = w->sinks[w->n_sinks++];
	return TP_OK;
}

const size_t *
tp_writer_order(const struct tp_writer *w, size_t *n)
{
	*n = w->n_order;
	return w->order;
}

enum tp_status
tp_writer_put(struct tp_writer *w, size_t storage, struct tp_stream *s,
    struct tp_err *err)
{
	enum tp_status rc;

	if (w->n_put >= w->n_order || w->order[w->n_put] != storage)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "storage %zu is not the next in order", storage);
	if (tp_stream_left(s) != w->model->storage_nbytes[storage])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "storage %zu: a stream of %" PRIu64
		    " bytes, expected %" PRIu64,
		    storage, tp_stream_left(s),
		    w->model->storage_nbytes[storage]);
	rc = w->format->put(w, storage, s, err);
	if (!rc)
		w->n_put++;
	return rc;
}

/*
 * Sink 0 is the file that refers to the others. It goes aside first and gets
 * its name last, so that whoever finds it finds what it refers to: old with
 * old, or new with new, at any moment. A single file is simply replaced.
 */
static enum tp_status
set_aside(struct tp_writer *w, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < w->n_sinks && !rc; i++)
		rc = tpi_sink_set_aside(w->sinks[i], w->n_sinks == 1, err);
	return rc;
}

static void
undo(struct tp_writer *w)
{
	/* The first file comes last here as well. */
	for (size_t i = w->n_sinks; i-- > 0;)
		tpi_sink_undo(w->sinks[i]);
}

void
tp_writer_settle(struct tp_writer *w)
{
	for (size_t i = 0; i < w->n_sinks && w->committed; i++)
		tpi_sink_settle(w->sinks[i]);
	w->settled = w->committed;
}

/* Every file is whole and flushed before the first gets its name. */
enum tp_status
tp_writer_commit(struct tp_writer *w, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (w->committed || w->n_put != w->n_order)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%zu of %zu storages were put", w->n_put, w->n_order);
	if (w->format->finish)
		rc = w->format->finish(w, err);
	for (size_t i = 0; i < w->n_sinks && !rc; i++)
		rc = tpi_sink_flush(w->sinks[i], err);
	if (!rc)
		rc = set_aside(w, err);
	for (size_t i = w->n_sinks; i-- > 0 && !rc;)
		rc = tpi_sink_rename(w->sinks[i], err);
	if (rc) {
		undo(w);
		return rc;
	}
	w->committed = true;
	if (!w->options.hold)
		tp_writer_settle(w);
	return TP_OK;
}

void
tp_writer_free(struct tp_writer *w)
{
	if (!w)
		return;
	if (w->committed && !w->settled)
		undo(w);
	if (w->format->discard)
		w->format->discard(w);
	for (size_t i = 0; i < w->n_sinks; i++)
		tpi_sink_close(w->sinks[i]);
	tp_mem_free(w->alloc, w->sinks, w->cap_sinks, sizeof(*w->sinks));
	tpi_arena_release(&w->arena);
	tp_mem_free(w->alloc, w, 1, sizeof(*w));
}

const char *
tp_writer_file(const struct tp_writer *w, size_t i, uint64_t *nbytes)
{
	if (i >= w->n_sinks)
		return NULL;
	if (nbytes)
		*nbytes = tpi_sink_size(w->sinks[i]);
	return tpi_sink_path(w->sinks[i]);
}
