/* SPDX-License-Identifier: Apache-2.0 */
/* transfer_meta.c - metadata, graphs and notes of a transfer */
#include "transfer_plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tp/checked.h"

#include "banned.h"

static void format_note(char *buf, size_t n, const char *fmt, va_list ap)
    TP_PRINTF(3, 0);

static void
format_note(char *buf, size_t n, const char *fmt, va_list ap)
{
	if (vsnprintf(buf, n, fmt, ap) < 0)
		buf[0] = '\0';
}

enum tp_status
tpi_transfer_note(
    struct tp_transfer *t, struct tp_err *err, const char *fmt, ...)
{
	char text[512];
	struct tp_str copy;
	va_list ap;

	va_start(ap, fmt);
	format_note(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy = tpi_arena_str(&t->arena, tp_str(text));
	if (t->n_notes == t->cap_notes) {
		size_t cap = t->cap_notes ? t->cap_notes * 2 : 8;
		const char **grown =
		    tpi_arena_array(&t->arena, cap, sizeof(*grown));

		if (grown && t->n_notes)
			memcpy(grown, t->notes, t->n_notes * sizeof(*grown));
		t->notes = grown ? grown : t->notes;
		t->cap_notes = grown ? cap : t->cap_notes;
	}
	if (!copy.s || t->n_notes == t->cap_notes)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a note");
	t->notes[t->n_notes++] = copy.s;
	return TP_OK;
}

/*
 * One more pair. An equal pair is there once; another value for a key that is
 * there is a loss, unless replace says that it is the caller's wish.
 */
static enum tp_status
add_meta(struct tp_transfer *t, struct tp_map *keys, const struct tp_meta *m,
    const struct tp_reader *from, struct tp_err *err)
{
	char why[TP_WHY_SIZE];
	size_t at = 0;
	enum tp_status rc;

	rc = tp_map_add(keys, m->key, t->n_meta, &at, err);
	if (!rc) {
		t->meta[t->n_meta++] = *m;
		return TP_OK;
	}
	if (rc != TP_EARG)
		return rc;
	if (!from) {
		t->meta[at].value = m->value;
		return TP_OK;
	}
	if (!tp_str_cmp(t->meta[at].value, m->value))
		return TP_OK;
	snprintf(why, sizeof(why), "'%.48s' has another value in %.80s",
	    TP_BRIEF(m->key), tpi_reader_path(from));
	return tpi_transfer_lose(t, NULL, TP_LOSS_METADATA, why,
	    "the value that came first is kept", err);
}

/* True if the caller sets that key, so that no input's value matters. */
static bool
is_set(const struct tp_transfer *t, struct tp_str key)
{
	for (size_t i = 0; i < t->options.n_set_meta; i++)
		if (!tp_str_cmp(t->options.set_meta[i].key, key))
			return true;
	return false;
}

static enum tp_status
add_reader_meta(struct tp_transfer *t, struct tp_map *keys,
    const struct tp_reader *r, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < tp_reader_n_meta(r); i++) {
		const struct tp_meta *m = tp_reader_meta(r, i);
		size_t at;

		/* The first keeps its place; a later value does not matter. */
		if (is_set(t, m->key) && tp_map_find(keys, m->key, &at))
			continue;
		rc = add_meta(t, keys, m, r, err);
	}
	return rc;
}

static enum tp_status
merge_meta(struct tp_transfer *t, struct tp_err *err)
{
	const struct tp_transfer_options *o = &t->options;
	enum tp_status rc = TP_OK;
	struct tp_map keys;
	size_t n = o->n_set_meta;

	for (size_t i = 0; i < t->n_readers; i++)
		n += tp_reader_n_meta(t->readers[i]);
	if (o->graph)
		n += tp_reader_n_meta(o->graph);
	t->meta = tpi_arena_array(&t->arena, n, sizeof(*t->meta));
	if (!t->meta)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu metadata entries", n);

	tp_map_init(&keys, t->alloc);
	if (!o->drop_meta && o->graph)
		rc = add_reader_meta(t, &keys, o->graph, err);
	for (size_t i = 0; !rc && !o->drop_meta && i < t->n_readers; i++)
		rc = add_reader_meta(t, &keys, t->readers[i], err);
	for (size_t i = 0; !rc && i < o->n_set_meta; i++)
		rc = add_meta(t, &keys, &o->set_meta[i], NULL, err);
	tp_map_release(&keys);
	return rc;
}

static size_t
find_graph(const struct tp_reader *r)
{
	for (size_t i = 0; i < tp_reader_n_attachments(r); i++)
		if (!tp_str_cmp(tp_reader_attachment_name(r, i),
			TP_STR(TP_ATTACHMENT_ONNX)))
			return i;
	return TP_NONE;
}

static enum tp_status
attach(struct tp_transfer *t, struct tp_reader *r, size_t i, struct tp_err *err)
{
	struct tp_attachment *a = &t->attachments[t->n_attachments];
	enum tp_status rc;

	rc = tp_reader_attachment(r, i, a, err);
	if (!rc)
		t->n_attachments++;
	return rc;
}

/* The graph: of options.graph, or of the only input if it is kept whole. */
static enum tp_status
take_graph(struct tp_transfer *t, struct tp_err *err)
{
	struct tp_reader *r = t->options.graph;
	bool holds =
	    tp_format_keeps_attachment(t->format, TP_STR(TP_ATTACHMENT_ONNX));
	const char *why = NULL;
	enum tp_status rc;

	if (r && find_graph(r) == TP_NONE)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s has no graph", tpi_reader_path(r));
	if (r && !holds)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "the format %s holds no graph", t->format->name);
	for (size_t i = 0; !r && i < t->n_readers; i++)
		if (find_graph(t->readers[i]) != TP_NONE)
			r = t->readers[i];
	if (!r)
		return TP_OK;

	if (!holds)
		return tpi_transfer_note(t, err,
		    "the graph of %s is left behind: %s holds weights only",
		    tpi_reader_path(r), t->format->name);
	if (!t->options.graph && t->n_readers > 1)
		why = "several inputs are merged";
	else if (!t->options.graph && !t->all_kept)
		why = "tensors are renamed or left out";
	if (why && (t->format->caps & TPI_CAP_GRAPH))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "the graph of %s cannot be kept when %s; write the weights "
		    "to another format first",
		    tpi_reader_path(r), why);
	if (why)
		return tpi_transfer_note(t, err,
		    "the graph of %s is left behind because %s",
		    tpi_reader_path(r), why);
	rc = attach(t, r, find_graph(r), err);
	t->has_graph = !rc;
	return rc;
}

/* Attachments other than graphs travel if the target keeps them. */
static enum tp_status
take_attachments(struct tp_transfer *t, struct tp_map *names,
    struct tp_reader *r, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < tp_reader_n_attachments(r); i++) {
		struct tp_str name = tp_reader_attachment_name(r, i);

		if (!tp_str_cmp(name, TP_STR(TP_ATTACHMENT_ONNX)))
			continue;
		rc = tp_format_keeps_attachment(t->format, name)
			 ? tp_map_add(names, name, 0, NULL, err)
			 : TP_EARG;
		if (!rc)
			rc = attach(t, r, i, err);
		else if (rc == TP_EARG)
			rc = tpi_transfer_note(t, err,
			    "attachment '%s' of %s is left behind",
			    TP_BRIEF(name), tpi_reader_path(r));
	}
	return rc;
}

enum tp_status
tpi_transfer_collect(struct tp_transfer *t, struct tp_err *err)
{
	struct tp_map names;
	enum tp_status rc;
	size_t n = 1;

	rc = merge_meta(t, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < t->n_readers; i++)
		n += tp_reader_n_attachments(t->readers[i]);
	t->attachments = tpi_arena_array(&t->arena, n, sizeof(*t->attachments));
	if (!t->attachments)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu attachments", n);
	rc = take_graph(t, err);
	tp_map_init(&names, t->alloc);
	for (size_t i = 0; !rc && i < t->n_readers; i++)
		rc = take_attachments(t, &names, t->readers[i], err);
	tp_map_release(&names);
	return rc;
}
