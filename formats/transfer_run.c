/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_run.c - write what was planned
 *
 * Storages are written in the order that the writer wants. One whose bytes are
 * known only when another of the same reader was read leaves room, which is
 * filled then.
 */
#include "transfer_plan.h"

#include "tp/profile.h"

#include "sink.h"
#include "stream_cast.h"

#include "banned.h"

/* A stream's tick: n more bytes went through. */
static bool
count_bytes(void *ctx, uint64_t n)
{
	struct tp_transfer *t = ctx;

	t->done += n;
	return !t->options.progress ||
	       t->options.progress(t->options.progress_ctx, t->done, t->total);
}

enum tp_status
tpi_feed_open(struct tp_transfer *t, size_t i, struct tp_cast_stats *stats,
    struct tp_stream **out, struct tp_err *err)
{
	const struct tpi_feed *f = &t->feeds[i];
	struct tp_stream *s = NULL;
	struct tpi_cast cast = {
	    .from = f->cast_from,
	    .to = f->cast_to,
	    .n_elems = f->n_elems,
	    .overflow = t->options.overflow,
	    .n_threads = t->options.n_threads,
	    .max_memory = t->options.max_memory / 4,
	    .what = f->first->item.name,
	    .pool = &t->cast_pool,
	};
	enum tp_status rc;

	*out = NULL;
	rc = f->whole ? tp_stream_storage(f->reader, f->from, &s, err)
		      : tp_stream_entry(f->reader, f->from, &s, err);
	if (!rc && f->cast_to != TP_DTYPE_NONE)
		rc = tpi_stream_cast(t->alloc, s, &cast, stats, &s, err);
	if (!rc)
		*out = s;
	return rc;
}

static struct tp_str
key_of(const struct tpi_waits_for *source)
{
	return (struct tp_str){(const char *)source, sizeof(*source)};
}

/* waiting[n_waiting] has a room now. */
static enum tp_status
add_waiting(struct tp_transfer *t, struct tp_err *err)
{
	size_t i = t->n_waiting++, first = 0;
	struct tpi_waiting *w = &t->waiting[i];
	enum tp_status rc =
	    tp_map_add(&t->waits, key_of(&w->source), i, &first, err);

	if (rc != TP_EARG)
		return rc;
	w->next = t->waiting[first].next;
	t->waiting[first].next = i;
	return TP_OK;
}

static enum tp_status
put_storage(struct tp_transfer *t, size_t i, struct tp_err *err)
{
	struct tp_cast_stats *stats = &t->feeds[i].first->item.stats;
	struct tpi_waiting *waiting = &t->waiting[t->n_waiting];
	struct tp_stream *s = NULL;
	enum tp_status rc;

	rc = tpi_feed_open(t, i, stats, &s, err);
	if (rc)
		return rc;
	s->tick = count_bytes;
	s->tick_ctx = t;
	*waiting = (struct tpi_waiting){
	    .source = {.reader = t->feeds[i].reader, .storage = s->source},
	    .storage = i,
	    .next = TP_NONE};
	if (s->late)
		s->room = &waiting->room;
	rc = tp_writer_put(t->writer, i, s, err);
	if (waiting->room.sink && !rc)
		rc = add_waiting(t, err);
	tp_stream_close(s);
	return rc;
}

enum tp_status
tpi_transfer_check_inputs(const struct tp_transfer *t, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < t->n_readers && !rc; i++)
		rc = tp_reader_check_files(t->readers[i], err);
	if (!rc && t->options.graph)
		rc = tp_reader_check_files(t->options.graph, err);
	return rc;
}

static enum tp_status
fill_room(struct tp_transfer *t, struct tpi_waiting *w, struct tp_err *err)
{
	struct tp_stream *s = NULL;
	enum tp_status rc = tpi_feed_open(t, w->storage, NULL, &s, err);

	if (rc)
		return rc;
	s->tick = count_bytes;
	s->tick_ctx = t;
	rc = tpi_sink_fill(&w->room, s, err);
	tp_stream_close(s);
	w->storage = TP_NONE;
	return rc;
}

/* Rooms of what waits for the storage that this feed is made of. */
static enum tp_status
fill_rooms(struct tp_transfer *t, const struct tpi_feed *f, struct tp_err *err)
{
	const struct tpi_waits_for source = {.reader = f->reader,
	    .storage =
		f->whole ? f->from : f->reader->entries[f->from].storage};
	enum tp_status rc = TP_OK;
	size_t i = TP_NONE;

	if (!tp_map_find(&t->waits, key_of(&source), &i))
		return TP_OK;
	for (; !rc && i != TP_NONE; i = t->waiting[i].next)
		if (t->waiting[i].storage != TP_NONE)
			rc = fill_room(t, &t->waiting[i], err);
	return rc;
}

static enum tp_status
put_in_order(
    struct tp_transfer *t, const size_t *order, size_t n, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n; i++) {
		rc = put_storage(t, order[i], err);
		if (!rc)
			rc = fill_rooms(t, &t->feeds[order[i]], err);
	}
	/* What it waited for came before it, or not at all. */
	for (size_t i = 0; !rc && i < t->n_waiting; i++)
		if (t->waiting[i].storage != TP_NONE)
			rc = fill_room(t, &t->waiting[i], err);
	return rc;
}

static enum tp_status
put_all(struct tp_transfer *t, struct tp_err *err)
{
	size_t n = 0;
	const size_t *order = tp_writer_order(t->writer, &n);
	enum tp_status rc;

	t->waiting = tpi_arena_array(&t->arena, n, sizeof(*t->waiting));
	if (!t->waiting && n)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a transfer");
	tp_map_init(&t->waits, t->alloc);
	rc = put_in_order(t, order, n, err);
	tp_map_release(&t->waits);
	return rc;
}

static enum tp_status
write_all(struct tp_transfer *t, struct tp_err *err)
{
	struct tp_writer *w = t->writer;
	struct tp_scope scope;
	const char *file;
	enum tp_status rc;

	for (size_t i = 0; (file = tp_writer_file(w, i, NULL)); i++) {
		rc = tpi_transfer_check_not_input(t, file, err);
		if (rc)
			return rc;
	}
	scope = tp_scope_begin("write tensors");
	rc = put_all(t, err);
	tp_scope_end(&scope);
	if (!rc)
		rc = tpi_transfer_check_inputs(t, err);
	if (rc)
		return rc;
	scope = tp_scope_begin("commit output");
	rc = tp_writer_commit(w, err);
	tp_scope_end(&scope);
	return rc;
}

enum tp_status
tp_transfer_run(struct tp_transfer *t, struct tp_err *err)
{
	enum tp_status rc;

	if (t->writer)
		return tp_fail(
		    err, TP_EARG, TP_NO_OFFSET, "a transfer runs once");
	rc = tp_transfer_check(t, err);
	if (rc)
		return rc;
	t->total = tp_transfer_nbytes(t);
	rc = tp_create(t->path, &t->model, &t->options.create, &t->writer, err);
	if (rc)
		return rc;
	rc = write_all(t, err);
	if (rc) {
		tp_writer_free(t->writer);
		t->writer = NULL;
	}
	t->written = !rc;
	return rc;
}

const char *
tp_transfer_file(const struct tp_transfer *t, size_t i, uint64_t *nbytes)
{
	return t->written ? tp_writer_file(t->writer, i, nbytes) : NULL;
}
