/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_record.c - the records of a native file's directory
 *
 *	its size | fixed fields | what varies | zeros up to 8 bytes
 *
 * A later minor version may append to a record; an older one ends there.
 */
#include "native_read.h"

#include <inttypes.h>

#include "tp/shape.h"
#include "tp/utf8.h"

#include "reader_check.h"

#include "banned.h"

/*
 * The record that comes next, as a cursor over it, and its fixed part of
 * fixed_nbytes, which begins with the record's size.
 */
static enum tp_status
next_record(struct tpi_native_walk *w, size_t fixed_nbytes,
    struct tpi_cursor *record, const uint8_t **fixed, struct tp_err *err)
{
	uint64_t at = tpi_cursor_at(&w->c);
	size_t left = tpi_cursor_left(&w->c);
	const uint8_t *p = w->c.data + w->c.pos;
	uint32_t nbytes = left >= 4 ? tp_le32(p) : 0;

	if (nbytes < fixed_nbytes || nbytes > left || nbytes % TPI_NATIVE_UNIT)
		return tp_fail(err, TP_EFORMAT, at,
		    "%s %zu: record of %" PRIu32
		    " bytes, expected a multiple of %d from %zu to %zu",
		    w->label, w->i, nbytes, TPI_NATIVE_UNIT, fixed_nbytes,
		    left);
	*record = tpi_cursor(p, nbytes, at);
	w->c.pos += nbytes;
	(void)tpi_cursor_take(record, fixed_nbytes, fixed);
	return TP_OK;
}

/* Behind what is known lies padding, or what a later version put there. */
static enum tp_status
end_record(const struct tpi_native_walk *w, const struct tpi_cursor *record,
    struct tp_err *err)
{
	const uint8_t *p = record->data + record->pos;
	size_t left = tpi_cursor_left(record);

	if (w->n->newer)
		return TP_OK;
	if (left >= TPI_NATIVE_UNIT)
		return tp_fail(err, TP_EFORMAT, tpi_cursor_at(record),
		    "%s %zu: %zu bytes follow the end of its record", w->label,
		    w->i, left);
	for (size_t i = 0; i < left; i++)
		if (p[i])
			return tp_fail(err, TP_EFORMAT,
			    tpi_cursor_at(record) + i,
			    "%s %zu: padding holds %u, expected 0", w->label,
			    w->i, p[i]);
	return TP_OK;
}

static enum tp_status
short_record(const struct tpi_native_walk *w, const struct tpi_cursor *record,
    struct tp_err *err)
{
	return tp_fail(err, TP_EFORMAT, record->offset,
	    "%s %zu: what it announces does not fit in its record of %zu bytes",
	    w->label, w->i, record->size);
}

/* Fields that must be zero until a later version gives them a meaning. */
static enum tp_status
bad_reserved(const struct tpi_native_walk *w, const struct tpi_cursor *record,
    struct tp_err *err)
{
	return tp_fail(err, TP_EFORMAT, record->offset,
	    "%s %zu: an unused field is not zero", w->label, w->i);
}

static bool
take_str(struct tpi_cursor *c, size_t n, struct tp_str *out)
{
	const uint8_t *p;

	if (!tpi_cursor_take(c, n, &p))
		return false;
	*out = (struct tp_str){(const char *)p, n};
	return true;
}

/* Names of tensors and metadata are checked where they enter the reader. */
static enum tp_status
check_text(const struct tpi_native_walk *w, struct tp_str text,
    const char *what, uint64_t at, struct tp_err *err)
{
	size_t bad = tp_utf8_check(text.s, text.len);

	if (bad == text.len)
		return TP_OK;
	return tp_fail(err, TP_EFORMAT, at,
	    "%s %zu: its %s '%s' is not UTF-8 at byte %zu", w->label, w->i,
	    what, TP_BRIEF(text), bad);
}

static bool
take_dims(struct tpi_cursor *c, unsigned rank, int64_t *out)
{
	uint64_t v;

	for (unsigned i = 0; i < rank; i++) {
		if (!tpi_cursor_u64(c, &v))
			return false;
		out[i] = (int64_t)v; /* two's complement, as int64_t is */
	}
	return true;
}

enum tp_status
tpi_native_read_storage(struct tpi_native_walk *w, struct tp_err *err)
{
	struct tpi_native_place *place = &w->n->storages[w->i];
	struct tp_storage_info info = {0};
	struct tpi_cursor record;
	const uint8_t *fixed;
	enum tp_status rc;
	size_t index;

	rc = next_record(w, TPI_NATIVE_EXTENT_SIZE, &record, &fixed, err);
	if (rc)
		return rc;
	tpi_native_get_extent(fixed, &place->x);
	rc = tpi_native_check_place(
	    w->r, w->n, &record, place, w->label, w->i, err);
	if (!rc)
		rc = end_record(w, &record, err);
	if (rc)
		return rc;
	info.nbytes = place->x.nbytes;
	info.encoding =
	    place->x.encoding == TPI_NATIVE_RAW ? TP_ENC_RAW : TP_ENC_ZLIB;
	info.offset = place->x.offset;
	info.stored_nbytes = place->x.stored_nbytes;
	info.has_crc32c = true;
	info.crc32c = place->x.crc32c;
	return tpi_reader_add_storage(
	    w->r, &info, TP_STR("storage"), &index, err);
}

enum tp_status
tpi_native_read_attachment(struct tpi_native_walk *w, struct tp_err *err)
{
	struct tpi_native_place *place = &w->n->attachments[w->i];
	struct tpi_native_attachment a = {0};
	struct tpi_cursor record;
	const uint8_t *fixed;
	struct tp_str name;
	enum tp_status rc;

	rc = next_record(w, TPI_NATIVE_EXTENT_SIZE + TPI_NATIVE_ATTACHMENT_SIZE,
	    &record, &fixed, err);
	if (rc)
		return rc;
	tpi_native_get_extent(fixed, &place->x);
	tpi_native_get_attachment(fixed + TPI_NATIVE_EXTENT_SIZE, &a);
	if (a.reserved && !w->n->newer)
		return bad_reserved(w, &record, err);
	rc = tpi_native_check_place(
	    w->r, w->n, &record, place, w->label, w->i, err);
	if (rc)
		return rc;
	if (a.name_nbytes > w->r->limits.name_bytes)
		return tp_fail(err, TP_ELIMIT, record.offset,
		    "%s %zu: name of %" PRIu32 " bytes, the limit is %" PRIu64,
		    w->label, w->i, a.name_nbytes, w->r->limits.name_bytes);
	if (!take_str(&record, a.name_nbytes, &name))
		return short_record(w, &record, err);
	rc = end_record(w, &record, err);
	if (!rc)
		rc = check_text(w, name, "name", record.offset, err);
	if (!rc)
		rc =
		    tpi_expand(w->r, place->x.nbytes, name, record.offset, err);
	return rc ? rc : tpi_reader_add_attachment(w->r, name, err);
}

static enum tp_status
read_sparse(struct tpi_native_walk *w, const struct tpi_native_tensor *t,
    struct tpi_cursor *record, struct tp_sparse_info *out, struct tp_err *err)
{
	struct tpi_native_sparse s = {0};
	const uint8_t *p;

	if (!tpi_cursor_take(record, TPI_NATIVE_SPARSE_SIZE, &p))
		return short_record(w, record, err);
	tpi_native_get_sparse(p, &s);
	if (s.reserved && !w->n->newer)
		return bad_reserved(w, record, err);
	out->n_values = s.n_values;
	out->indices = s.indices;
	out->coordinates = t->flags & TPI_NATIVE_COORDINATES;
	return TP_OK;
}

/* The three strings of a tensor; scope and local may be parts of the name. */
static bool
take_names(
    struct tpi_cursor *c, const struct tpi_native_tensor *t, struct tp_entry *e)
{
	if (!take_str(c, t->name_nbytes, &e->name))
		return false;
	if (t->flags & TPI_NATIVE_SCOPE_IN_NAME) {
		if (t->scope_nbytes > e->name.len)
			return false;
		e->scope = (struct tp_str){e->name.s, t->scope_nbytes};
	} else if (!take_str(c, t->scope_nbytes, &e->scope)) {
		return false;
	}
	if (t->flags & TPI_NATIVE_LOCAL_IN_NAME) {
		if (t->local_nbytes > e->name.len)
			return false;
		e->local =
		    (struct tp_str){e->name.s + (e->name.len - t->local_nbytes),
			t->local_nbytes};
		return true;
	}
	return take_str(c, t->local_nbytes, &e->local);
}

/* What of a tensor's fixed fields this reader does not understand. */
static enum tp_status
check_tensor(const struct tpi_native_walk *w, const struct tpi_native_tensor *t,
    uint64_t at, struct tp_err *err)
{
	if (t->flags & ~(uint32_t)TPI_NATIVE_TENSOR_FLAGS)
		return tp_fail(err, TP_EUNSUPPORTED, at,
		    "%s %zu: flags %" PRIu32 ", only %d are known", w->label,
		    w->i, t->flags, TPI_NATIVE_TENSOR_FLAGS);
	if (tpi_native_dtype(t->dtype) == TP_DTYPE_NONE)
		return tp_fail(err, TP_EUNSUPPORTED, at,
		    "%s %zu: dtype code %u is not known", w->label, w->i,
		    t->dtype);
	if (t->rank > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, at,
		    "%s %zu: rank %u, the limit is %u", w->label, w->i, t->rank,
		    TP_MAX_RANK);
	if (t->origin > TP_ORIGIN_SPARSE)
		return tp_fail(err, TP_EUNSUPPORTED, at,
		    "%s %zu: origin %u, only 0 to %d are known", w->label, w->i,
		    t->origin, TP_ORIGIN_SPARSE);
	return TP_OK;
}

enum tp_status
tpi_native_read_tensor(
    struct tpi_native_walk *w, uint32_t *quantizer, struct tp_err *err)
{
	int64_t shape[TP_MAX_RANK], strides[TP_MAX_RANK];
	struct tp_sparse_info sparse;
	struct tp_entry e = {.shape = shape};
	struct tpi_native_tensor t = {0};
	struct tpi_cursor record;
	const uint8_t *fixed;
	enum tp_status rc;

	rc = next_record(w, TPI_NATIVE_TENSOR_SIZE, &record, &fixed, err);
	if (rc)
		return rc;
	tpi_native_get_tensor(fixed, &t);
	rc = check_tensor(w, &t, record.offset, err);
	if (rc)
		return rc;
	e.dtype = tpi_native_dtype(t.dtype);
	e.rank = t.rank;
	e.origin = (enum tp_origin)t.origin;
	e.storage = t.storage;
	e.first = t.first;
	if (!take_dims(&record, t.rank, shape))
		return short_record(w, &record, err);
	if (t.flags & TPI_NATIVE_STRIDES) {
		e.strides = strides;
		if (!take_dims(&record, t.rank, strides))
			return short_record(w, &record, err);
	}
	if (t.flags & TPI_NATIVE_SPARSE) {
		e.sparse = &sparse;
		rc = read_sparse(w, &t, &record, &sparse, err);
		if (rc)
			return rc;
	}
	if (!take_names(&record, &t, &e))
		return short_record(w, &record, err);
	rc = end_record(w, &record, err);
	if (!rc)
		rc = check_text(w, e.scope, "scope", record.offset, err);
	if (!rc)
		rc = check_text(w, e.local, "local name", record.offset, err);
	if (!rc)
		rc = tpi_reader_add(w->r, &e, record.offset, err);
	if (rc)
		return rc;
	*quantizer = t.quantizer;
	return TP_OK;
}

enum tp_status
tpi_native_read_quantizer(
    struct tpi_native_walk *w, struct tp_quant_info *out, struct tp_err *err)
{
	struct tpi_native_quantizer q = {0};
	struct tpi_cursor record;
	const uint8_t *fixed;
	enum tp_status rc;

	rc = next_record(w, TPI_NATIVE_QUANTIZER_SIZE, &record, &fixed, err);
	if (rc)
		return rc;
	tpi_native_get_quantizer(fixed, &q);
	if (q.scheme || q.per > TP_PER_BLOCK ||
	    (q.flags & ~(unsigned)TPI_NATIVE_QUANTIZER_FLAGS))
		return tp_fail(err, TP_EUNSUPPORTED, record.offset,
		    "%s %zu: scheme %u, kind %u, flags %u are not known",
		    w->label, w->i, q.scheme, q.per, q.flags);
	if (!w->n->newer && (q.reserved || (q.per == TP_PER_TENSOR && q.axis) ||
				(q.per != TP_PER_BLOCK && q.block)))
		return bad_reserved(w, &record, err);
	*out = (struct tp_quant_info){
	    .per = (enum tp_quant_per)q.per,
	    .axis = q.axis,
	    .block = q.block,
	    .scale = q.scale,
	    .zero_point =
		q.zero_point == TPI_NATIVE_NO_INDEX ? TP_NONE : q.zero_point,
	    .in_graph = q.flags & TPI_NATIVE_IN_GRAPH,
	};
	return end_record(w, &record, err);
}

enum tp_status
tpi_native_read_meta(struct tpi_native_walk *w, struct tp_err *err)
{
	struct tpi_native_meta m = {0};
	struct tpi_cursor record;
	struct tp_str key, value;
	const uint8_t *fixed;
	enum tp_status rc;

	rc = next_record(w, TPI_NATIVE_META_SIZE, &record, &fixed, err);
	if (rc)
		return rc;
	tpi_native_get_meta(fixed, &m);
	if (m.reserved && !w->n->newer)
		return bad_reserved(w, &record, err);
	if (!take_str(&record, m.key_nbytes, &key) ||
	    !take_str(&record, m.value_nbytes, &value))
		return short_record(w, &record, err);
	rc = end_record(w, &record, err);
	if (rc)
		return rc;
	return tpi_reader_add_meta(w->r, key, value, record.offset, err);
}
