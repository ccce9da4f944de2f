/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_place.c - where the bytes of a tensor lie: a storage for each payload
 */
#include <inttypes.h>
#include <string.h>

#include "tp/endian.h"

#include "grow.h"
#include "onnx_read.h"
#include "onnx_typed.h"

#include "banned.h"

static enum tp_status
no_memory(struct tp_str what, struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "tensor '%s': out of memory", TP_BRIEF(what));
}

/* Add a storage and what is known about it. */
static enum tp_status
add_storage(struct tp_reader *r, const struct tp_storage_info *info,
    const struct tpi_onnx_origin *origin, size_t *storage, struct tp_err *err)
{
	struct tpi_onnx_reader *o = r->priv;
	enum tp_status rc;
	void *p;

	p = tpi_grow(r->alloc, o->origins, o->n_origins + 1, &o->cap_origins,
	    sizeof(*o->origins));
	if (!p)
		return no_memory(origin->what, err);
	o->origins = p;
	o->origins[o->n_origins] = *origin;
	rc = tpi_reader_add_storage(r, info, origin->what, storage, err);
	if (!rc)
		o->n_origins++;
	return rc;
}

enum tp_status
tpi_onnx_add_memory(struct tp_reader *r, const void *data, uint64_t nbytes,
    struct tp_str what, size_t *storage, struct tp_err *err)
{
	const struct tpi_onnx_origin origin = {
	    .data = data, .payload = TP_NONE, .what = what};
	const struct tp_storage_info info = {
	    .nbytes = nbytes, .encoding = TP_ENC_OTHER};

	return add_storage(r, &info, &origin, storage, err);
}

static enum tp_status
add_raw(struct tp_reader *r, size_t file, uint64_t offset, uint64_t nbytes,
    struct tp_str what, size_t *storage, struct tp_err *err)
{
	const struct tpi_onnx_origin origin = {
	    .payload = TP_NONE, .what = what};
	const struct tp_storage_info info = {.nbytes = nbytes,
	    .encoding = TP_ENC_RAW,
	    .file = file,
	    .offset = offset,
	    .stored_nbytes = nbytes};

	return add_storage(r, &info, &origin, storage, err);
}

/* A file is opened once, under whatever names tensors call it. */
static enum tp_status
find_source(struct tp_reader *r, struct tp_str location, struct tp_str what,
    size_t *file, struct tp_err *err)
{
	struct tpi_onnx_reader *o = r->priv;
	struct tpi_source *src = NULL;
	enum tp_status rc;

	if (tp_map_find(&o->locations, location, file))
		return TP_OK;
	rc = tpi_onnx_external_open(
	    r->alloc, r->sources[0]->path, location, what, &src, err);
	if (rc)
		return rc;
	if (tpi_reader_find_source(r, &src->id, file))
		tpi_source_close(src);
	else
		rc = tpi_reader_adopt_source(r, src, file, err);
	return rc ? rc : tp_map_add(&o->locations, location, *file, NULL, err);
}

static enum tp_status
check_digest(struct tp_reader *r, const struct tpi_onnx_external *e,
    size_t file, struct tp_str what, struct tp_err *err)
{
	struct tpi_onnx_reader *o = r->priv;
	enum tp_status rc = TP_OK;
	void *p;

	if (!e->checksum.s || r->flags & TP_OPEN_NO_CHECKSUM)
		return TP_OK;
	p = tpi_grow(r->alloc, o->digests, r->n_sources, &o->cap_digests,
	    sizeof(*o->digests));
	if (!p)
		return no_memory(what, err);
	o->digests = p;
	if (!o->digests[file][0])
		rc = tpi_onnx_external_digest(
		    r->alloc, r->sources[file], o->digests[file], err);
	return rc ? rc
		  : tpi_onnx_external_compare(e, o->digests[file], what, err);
}

/* Tensors that name the same bytes share a storage. */
static enum tp_status
add_external(struct tp_reader *r, const TpOnnx__TensorProto *t,
    struct tp_str what, const struct tp_entry *e, size_t *storage,
    struct tp_err *err)
{
	struct tpi_onnx_reader *o = r->priv;
	struct tpi_onnx_external x;
	size_t file;
	uint8_t *key;
	struct tp_str place;
	enum tp_status rc;

	if (e->dtype == TP_DTYPE_STRING)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': strings cannot be external", TP_BRIEF(what));
	rc = tpi_onnx_external_parse(t, what, &x, err);
	if (!rc)
		rc = find_source(r, x.location, what, &file, err);
	if (!rc)
		rc = tpi_onnx_external_fits(
		    &x, r->sources[file], e->nbytes, what, err);
	if (!rc)
		rc = check_digest(r, &x, file, what, err);
	if (rc)
		return rc;
	if (!e->nbytes)
		return add_raw(r, file, x.offset, 0, what, storage, err);

	key = tpi_arena_array(&r->arena, 3, 8);
	if (!key)
		return no_memory(what, err);
	tp_put_le64(key, file);
	tp_put_le64(key + 8, x.offset);
	tp_put_le64(key + 16, e->nbytes);
	place = (struct tp_str){(const char *)key, 24};
	if (tp_map_find(&o->places, place, storage))
		return TP_OK;
	rc = add_raw(r, file, x.offset, e->nbytes, what, storage, err);
	return rc ? rc : tp_map_add(&o->places, place, *storage, NULL, err);
}

/* Values in float_data and so on. */
static enum tp_status
add_typed(struct tp_reader *r, size_t payload, struct tp_str what,
    const struct tp_entry *e, size_t *storage, struct tp_err *err)
{
	struct tpi_onnx_reader *o = r->priv;
	const struct tpi_payload *p = &o->skim.payloads[payload];
	const struct tpi_piece *piece = &o->skim.pieces[p->first];
	const struct tpi_onnx_typed typed = {.alloc = r->alloc,
	    .src = r->sources[0],
	    .skim = &o->skim,
	    .payload = p,
	    .dtype = e->dtype,
	    .what = what};
	struct tpi_onnx_origin origin = {
	    .payload = payload, .dtype = e->dtype, .what = what};
	struct tp_storage_info info = {.encoding = TP_ENC_OTHER,
	    .offset = piece->begin,
	    .stored_nbytes = piece->end - piece->begin};
	bool in_place;
	enum tp_status rc;

	rc = tpi_onnx_typed_check(
	    &typed, e->n_elems, &info.nbytes, &in_place, err);
	if (rc)
		return rc;
	if (in_place)
		return add_raw(r, 0, p->offset, p->nbytes, what, storage, err);
	if (p->single) {
		info.offset = p->offset;
		info.stored_nbytes = p->nbytes;
	}
	return add_storage(r, &info, &origin, storage, err);
}

/* The names of the payload fields that are there. */
static const char *
field_names(uint32_t fields, char buf[128])
{
	size_t n = 0;
	const char *name;

	for (unsigned f = 0; f < 32; f++) {
		if (!(fields >> f & 1))
			continue;
		name = tpi_payload_field_name(f);
		if (n)
			memcpy(buf + n, ", ", 2);
		n += n ? 2 : 0;
		memcpy(buf + n, name, strlen(name));
		n += strlen(name);
	}
	buf[n] = 0;
	return buf;
}

static enum tp_status
add_inline(struct tp_reader *r, size_t payload, struct tp_str what,
    const struct tp_entry *e, size_t *storage, struct tp_err *err)
{
	struct tpi_onnx_reader *o = r->priv;
	const struct tpi_payload *p = &o->skim.payloads[payload];
	const uint32_t raw = 1U << TPI_RAW_DATA;
	const uint32_t own = 1U << tpi_onnx_typed_field(e->dtype);
	const bool string = e->dtype == TP_DTYPE_STRING;
	char found[128], expected[128];

	if (!p->fields) {
		if (e->n_elems)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "tensor '%s': no data (0 elements), expected "
			    "%" PRIu64,
			    TP_BRIEF(what), e->n_elems);
		return tpi_onnx_add_memory(r, "", 0, what, storage, err);
	}
	if (p->fields & (p->fields - 1))
		return tp_fail(err, TP_EFORMAT, p->offset,
		    "tensor '%s': more than one data field: %s", TP_BRIEF(what),
		    field_names(p->fields, found));
	if (p->fields != own && (p->fields != raw || string))
		return tp_fail(err, TP_EFORMAT, p->offset,
		    "tensor '%s': data of %s in %s, expected it in %s",
		    TP_BRIEF(what), tp_dtype_name(e->dtype),
		    field_names(p->fields, found),
		    field_names(string ? own : own | raw, expected));
	if (p->fields == own)
		return add_typed(r, payload, what, e, storage, err);
	if (p->nbytes != e->nbytes)
		return tp_fail(err, TP_EFORMAT, p->offset,
		    "tensor '%s': raw_data of %" PRIu64
		    " bytes, expected %" PRIu64,
		    TP_BRIEF(what), p->nbytes, e->nbytes);
	return add_raw(r, 0, p->offset, p->nbytes, what, storage, err);
}

enum tp_status
tpi_onnx_add_payload(struct tp_reader *r, const TpOnnx__TensorProto *t,
    struct tp_str what, const struct tp_entry *e, size_t *storage,
    struct tp_err *err)
{
	struct tpi_onnx_reader *o = r->priv;
	size_t payload = tpi_onnx_payload_of(t);
	char found[128];

	if (t->has_data_location &&
	    (t->data_location < 0 || t->data_location > 1))
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': unknown data_location %" PRId32
		    ", expected 0 or 1",
		    TP_BRIEF(what), t->data_location);
	if (!t->has_data_location || t->data_location == 0)
		return add_inline(r, payload, what, e, storage, err);
	if (o->skim.payloads[payload].fields)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': external, but it has %s too", TP_BRIEF(what),
		    field_names(o->skim.payloads[payload].fields, found));
	return add_external(r, t, what, e, storage, err);
}

void
tpi_onnx_name_storages(struct tp_reader *r, size_t first, struct tp_str name)
{
	struct tpi_onnx_reader *o = r->priv;

	for (size_t i = first; i < o->n_origins; i++)
		o->origins[i].what = name;
}

enum tp_status
tpi_onnx_stream(struct tp_reader *r, size_t storage, struct tp_stream **out,
    struct tp_err *err)
{
	struct tpi_onnx_reader *o = r->priv;
	const struct tp_storage_info *info = &r->storages[storage];
	const struct tpi_onnx_origin *origin = &o->origins[storage];
	struct tpi_onnx_typed typed = {.alloc = r->alloc,
	    .src = r->sources[0],
	    .skim = &o->skim,
	    .dtype = origin->dtype,
	    .what = origin->what};

	if (origin->payload == TP_NONE)
		return tp_stream_memory(
		    r->alloc, origin->data, (size_t)info->nbytes, out, err);
	typed.payload = &o->skim.payloads[origin->payload];
	return tpi_onnx_typed_stream(&typed, info->nbytes, out, err);
}
