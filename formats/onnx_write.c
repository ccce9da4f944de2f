/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_write.c - write ONNX files
 *
 *	the message without its payloads, filled	onnx_skeleton, onnx_tensor
 *	where each payload lies				onnx_layout
 *	literal | payload | literal | payload …		proto_splice
 *
 * All offsets are known before the first byte, so payloads are streamed: those
 * inside the model in the order of the message, then those beside it.
 */
#include "onnx_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/onnx_dtype.h"

#include "onnx_out.h"

#include "banned.h"

bool
tpi_onnx_holds_dtype(enum tp_dtype dtype, uint64_t n_elems)
{
	(void)n_elems;
	return tp_onnx_code(dtype) != 0;
}

bool
tpi_onnx_keeps_attachment(struct tp_str name)
{
	return tp_str_cmp(name, TP_STR(TP_ATTACHMENT_ONNX)) == 0;
}

unsigned
tpi_onnx_loses(const struct tp_create_options *options,
    const struct tp_model *m, bool outside, size_t i, bool shared,
    char why[TP_WHY_SIZE])
{
	const struct tp_entry *e = &m->entries[i];
	uint64_t nbytes =
	    e->storage < m->n_storages ? m->storage_nbytes[e->storage] : 0;
	unsigned bits = tp_dtype_bits(e->dtype), losses = 0;

	/* Elements are packed; one that begins inside a byte has no place. */
	if (bits % 8 && !e->sparse && (e->first || nbytes != e->nbytes)) {
		losses |= TP_LOSS_STRIDES;
		snprintf(why, TP_WHY_SIZE,
		    "onnx cannot store a part of packed elements");
	}
	if (shared && nbytes &&
	    (e->sparse || e->dtype == TP_DTYPE_STRING || !outside ||
		nbytes < tpi_onnx_threshold(options))) {
		losses |= TP_LOSS_ALIAS;
		snprintf(why, TP_WHY_SIZE,
		    "onnx stores tied tensors once only as external data");
	}
	if (e->name.len == 0) {
		losses |= TP_LOSS_NAME;
		snprintf(why, TP_WHY_SIZE, "onnx demands a name");
	}
	return losses;
}

static const struct tp_attachment *
find_skeleton(const struct tp_model *m)
{
	for (size_t i = 0; i < m->n_attachments; i++)
		if (tpi_onnx_keeps_attachment(m->attachments[i].name))
			return &m->attachments[i];
	return NULL;
}

/*
 * A storage for each payload of the message (so perhaps twice: the indices of
 * two sparse tensors may be one storage), then those that lie outside or are
 * empty, once.
 */
static enum tp_status
set_order(struct tpi_onnx_out *o, struct tp_err *err)
{
	size_t n_storages = o->m->n_storages, n = 0;
	uint8_t *seen = tp_mem_array(o->alloc, n_storages, 1);
	size_t *order =
	    tpi_arena_array(&o->w->arena, o->n_places, sizeof(*order));
	enum tp_status rc = TP_OK;

	if (!seen || !order) {
		rc = tpi_onnx_no_memory(err);
		goto out;
	}
	for (size_t i = 0; i < o->splice.n_parts; i++) {
		size_t p = o->splice.parts[i].payload;

		if (p == TP_NONE)
			continue;
		seen[o->places[p].storage] = 1;
		order[n++] = o->places[p].storage;
	}
	for (size_t i = 0; i < o->n_places; i++) {
		size_t storage = o->places[i].storage;

		if (seen[storage])
			continue;
		seen[storage] = 1;
		order[n++] = storage;
	}
	o->w->order = order;
	o->w->n_order = n;
out:
	tp_mem_free(o->alloc, seen, n_storages, 1);
	return rc;
}

static enum tp_status
open_sinks(struct tpi_onnx_out *o, struct tp_err *err)
{
	static const char suffix[] = ".data";
	struct tp_writer *w = o->w;
	size_t n = strlen(w->path);
	enum tp_status rc;
	char *path;

	rc = tpi_writer_add_sink(w, w->path, &o->model_sink, err);
	if (rc || o->data_nbytes == 0)
		return rc;
	path = tpi_arena_array(&w->arena, n + sizeof(suffix), 1);
	if (!path)
		return tpi_onnx_no_memory(err);
	memcpy(path, w->path, n);
	memcpy(path + n, suffix, sizeof(suffix));
	return tpi_writer_add_sink(w, path, &o->data_sink, err);
}

/* What is only needed to make the message. */
static void
drop_message(struct tpi_onnx_out *o)
{
	tpi_onnx_slots_release(&o->slots);
	tpi_arena_release(&o->arena);
	tpi_pool_release(&o->pool);
	o->message = NULL;
}

enum tp_status
tpi_onnx_plan(struct tp_writer *w, struct tp_err *err)
{
	const struct tp_attachment *skeleton = find_skeleton(w->model);
	struct tpi_onnx_out *o = tp_mem_array(w->alloc, 1, sizeof(*o));
	enum tp_status rc;

	if (!o)
		return tpi_onnx_no_memory(err);
	w->priv = o;
	o->w = w;
	o->m = w->model;
	o->alloc = w->alloc;
	o->slots.alloc = w->alloc;
	tpi_pool_init(&o->pool, w->alloc);
	tpi_arena_init(&o->arena, w->alloc);
	o->first_place =
	    tp_mem_array(w->alloc, o->m->n_storages, sizeof(size_t));
	if (!o->first_place)
		return tpi_onnx_no_memory(err);
	for (size_t i = 0; i < o->m->n_storages; i++)
		o->first_place[i] = TP_NONE;

	rc = skeleton ? tpi_onnx_fill_skeleton(o, skeleton, err)
		      : tpi_onnx_make_model(o, err);
	if (!rc)
		rc = tpi_onnx_fill_meta(o, err);
	if (!rc)
		rc = tpi_onnx_lay_out(o, err);
	if (!rc)
		rc = set_order(o, err);
	if (!rc)
		rc = open_sinks(o, err);
	drop_message(o);
	return rc;
}

/* Literal bytes up to the next payload, or to the end. */
static enum tp_status
write_literal(struct tpi_onnx_out *o, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	while (!rc && o->next_part < o->splice.n_parts) {
		const struct tpi_splice_part *p =
		    &o->splice.parts[o->next_part];

		if (p->payload != TP_NONE)
			break;
		rc = tpi_sink_write(
		    o->model_sink, p->bytes, (size_t)p->nbytes, err);
		o->next_part++;
	}
	return rc;
}

/* The next payload of the message, which must lie in that storage. */
static enum tp_status
put_inside(struct tpi_onnx_out *o, size_t storage, struct tp_stream *s,
    struct tp_err *err)
{
	enum tp_status rc = write_literal(o, err);
	const struct tpi_splice_part *part;
	const struct tpi_onnx_place *place;
	uint64_t end;

	if (rc)
		return rc;
	part = &o->splice.parts[o->next_part];
	if (o->next_part == o->splice.n_parts ||
	    o->places[part->payload].storage != storage)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "storage %zu out of turn", storage);
	place = &o->places[part->payload];
	end = tpi_sink_size(o->model_sink) + part->nbytes;
	rc = tpi_onnx_payload_write(&place->payload, o->model_sink, s, err);
	if (!rc && tpi_sink_size(o->model_sink) != end)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s' took another size than planned",
		    TP_BRIEF(place->payload.name));
	o->next_part++;
	return rc;
}

static enum tp_status
put_outside(struct tpi_onnx_out *o, const struct tpi_onnx_place *p,
    struct tp_stream *s, struct tp_err *err)
{
	uint64_t gap;
	enum tp_status rc;

	if (tp_sub_u64(p->offset, tpi_sink_size(o->data_sink), &gap))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s' out of turn", TP_BRIEF(p->payload.name));
	rc = tpi_sink_zeros(o->data_sink, gap, err);
	return rc ? rc : tpi_sink_stream(o->data_sink, s, err);
}

enum tp_status
tpi_onnx_put(struct tp_writer *w, size_t storage, struct tp_stream *s,
    struct tp_err *err)
{
	struct tpi_onnx_out *o = w->priv;
	const struct tpi_onnx_place *p = &o->places[o->first_place[storage]];

	if (p->external)
		return put_outside(o, p, s, err);
	/* A payload without bytes is no part of the message. */
	if (p->payload.nbytes == 0) {
		struct tpi_onnx_payload nothing = {.form = TPI_FORM_RAW};

		return tpi_onnx_payload_write(&nothing, o->model_sink, s, err);
	}
	return put_inside(o, storage, s, err);
}

enum tp_status
tpi_onnx_finish(struct tp_writer *w, struct tp_err *err)
{
	struct tpi_onnx_out *o = w->priv;

	return write_literal(o, err);
}

void
tpi_onnx_discard(struct tp_writer *w)
{
	struct tpi_onnx_out *o = w->priv;

	if (!o)
		return;
	drop_message(o);
	tpi_splice_release(&o->splice);
	tp_mem_free(o->alloc, o->places, o->cap_places, sizeof(*o->places));
	tp_mem_free(o->alloc, o->first_place, o->m->n_storages, sizeof(size_t));
	tp_mem_free(o->alloc, o, 1, sizeof(*o));
	w->priv = NULL;
}
