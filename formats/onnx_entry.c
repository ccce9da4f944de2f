/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_entry.c - a slot of the model becomes an entry of the reader
 */
#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"
#include "tp/onnx_dtype.h"
#include "tp/shape.h"

#include "onnx_read.h"
#include "stream_entry.h"

#include "banned.h"

static enum tp_status
no_memory(struct tp_str what, struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "tensor '%s': out of memory", TP_BRIEF(what));
}

/* Sizes as the file has them; their product must be a number of elements. */
static enum tp_status
copy_shape(const int64_t *dims, size_t n, struct tp_str what,
    struct tp_entry *e, int64_t *shape, struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;

	if (n > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "tensor '%s': rank %zu, the limit is %u", TP_BRIEF(what), n,
		    TP_MAX_RANK);
	for (size_t i = 0; i < n; i++) {
		shape[i] = dims[i];
		if (dims[i] < 0)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "tensor '%s': negative size %" PRId64
			    " at axis %zu",
			    TP_BRIEF(what), dims[i], i);
	}
	e->shape = shape;
	e->rank = (unsigned)n;
	if (tp_shape_numel(shape, e->rank, &e->n_elems, &why))
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET, "tensor '%s': %s",
		    TP_BRIEF(what), why.msg);
	return TP_OK;
}

enum tp_status
tpi_onnx_tensor_type(const TpOnnx__TensorProto *t, struct tp_str what,
    struct tp_entry *e, int64_t *shape, struct tp_err *err)
{
	struct tp_err why = TP_ERR_INIT;
	enum tp_status rc;

	if (!t->has_data_type)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': data_type is absent", TP_BRIEF(what));
	e->dtype = tp_onnx_dtype(t->data_type);
	if (e->dtype == TP_DTYPE_NONE)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': unknown data_type %" PRId32
		    ", expected 1 to 26",
		    TP_BRIEF(what), t->data_type);
	if (t->segment)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': data in segments is not supported",
		    TP_BRIEF(what));
	rc = copy_shape(t->dims, t->n_dims, what, e, shape, err);
	if (rc || e->dtype == TP_DTYPE_STRING)
		return rc;
	if (tp_dtype_nbytes(e->dtype, e->n_elems, &e->nbytes, &why))
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': shape %s: %s", TP_BRIEF(what),
		    TP_SHAPE_TEXT(shape, e->rank), why.msg);
	return TP_OK;
}

/* Row-major element number of index i of the indices, or of its coordinates. */
struct index_check {
	const struct tp_entry *e;
	const struct tp_sparse_info *info;
	uint64_t last; /* element of the index before */
};

static enum tp_status
check_index(
    struct index_check *c, uint64_t i, const uint8_t *raw, struct tp_err *err)
{
	const struct tp_entry *e = c->e;
	unsigned n = c->info->coordinates ? e->rank : 1;
	uint64_t element = 0, limit, at;

	for (unsigned d = 0; d < n; d++) {
		limit =
		    c->info->coordinates ? (uint64_t)e->shape[d] : e->n_elems;
		at = tp_le64(raw + (size_t)8 * d);
		if (at >= limit)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "tensor '%s': sparse index %" PRId64
			    " of value %" PRIu64 " is outside 0..%" PRId64,
			    TP_BRIEF(e->name), (int64_t)at, i,
			    (int64_t)limit - 1);
		/* Less than n_elems at the end, and on the way there. */
		element = element * limit + at;
	}
	if (i && element <= c->last)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': sparse index %" PRIu64 " of value %" PRIu64
		    " %s",
		    TP_BRIEF(e->name), element, i,
		    element == c->last ? "is repeated" : "does not ascend");
	c->last = element;
	return TP_OK;
}

/* All indices, in one pass. */
static enum tp_status
check_indices(struct tp_reader *r, const struct tp_entry *e,
    const struct tp_sparse_info *info, struct tp_err *err)
{
	struct index_check c = {.e = e, .info = info};
	const size_t size = info->coordinates ? (size_t)8 * e->rank : 8;
	uint8_t raw[8 * TP_MAX_RANK];
	struct tp_stream *s = NULL;
	enum tp_status rc;

	rc = tpi_stream_storage_of(r, info->indices, e->name, &s, err);
	for (uint64_t i = 0; !rc && i < info->n_values; i++) {
		if (size)
			rc = tp_stream_read(s, raw, size, err);
		if (!rc)
			rc = check_index(&c, i, raw, err);
	}
	tp_stream_close(s);
	return rc;
}

static enum tp_status
sparse_indices(struct tp_reader *r, const TpOnnx__TensorProto *t,
    const struct tp_entry *dense, struct tp_sparse_info *info,
    struct tp_err *err)
{
	struct tp_entry e = {.name = dense->name};
	int64_t shape[TP_MAX_RANK];
	enum tp_status rc;

	if (!t) {
		if (info->n_values)
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "tensor '%s': sparse values without indices",
			    TP_BRIEF(dense->name));
		return tpi_onnx_add_memory(
		    r, "", 0, dense->name, &info->indices, err);
	}
	rc = tpi_onnx_tensor_type(t, dense->name, &e, shape, err);
	if (rc)
		return rc;
	info->coordinates = e.rank == 2;
	if (e.dtype != TP_DTYPE_I64 || e.rank < 1 || e.rank > 2 ||
	    (uint64_t)shape[0] != info->n_values ||
	    (e.rank == 2 && shape[1] != (int64_t)dense->rank))
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': sparse indices of %s %s, expected i64 "
		    "[%" PRIu64 "] or [%" PRIu64 ", %u]",
		    TP_BRIEF(dense->name), tp_dtype_name(e.dtype),
		    TP_SHAPE_TEXT(shape, e.rank), info->n_values,
		    info->n_values, dense->rank);
	return tpi_onnx_add_payload(r, t, dense->name, &e, &info->indices, err);
}

static enum tp_status
sparse(struct tp_reader *r, const TpOnnx__SparseTensorProto *s,
    struct tp_entry *e, int64_t *shape, struct tp_sparse_info *info,
    struct tp_err *err)
{
	struct tp_entry values = {.name = e->name};
	int64_t values_shape[TP_MAX_RANK];
	enum tp_status rc;

	if (!s || !s->values)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': sparse tensor without values",
		    TP_BRIEF(e->name));
	rc = tpi_onnx_tensor_type(
	    s->values, e->name, &values, values_shape, err);
	if (!rc)
		rc = copy_shape(s->dims, s->n_dims, e->name, e, shape, err);
	if (rc)
		return rc;
	if (values.rank != 1)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': sparse values of rank %u, expected 1",
		    TP_BRIEF(e->name), values.rank);
	if (values.dtype == TP_DTYPE_STRING)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': sparse strings are not supported",
		    TP_BRIEF(e->name));
	e->dtype = values.dtype;
	info->n_values = values.n_elems;
	if (info->n_values > e->n_elems)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " sparse values for %" PRIu64
		    " elements",
		    TP_BRIEF(e->name), info->n_values, e->n_elems);
	rc = tpi_onnx_add_payload(
	    r, s->values, e->name, &values, &e->storage, err);
	if (!rc)
		rc = sparse_indices(r, s->indices, e, info, err);
	if (!rc)
		rc = check_indices(r, e, info, err);
	e->sparse = info;
	return rc;
}

/* Bytes in the arena for a value that is an attribute of a Constant. */
static enum tp_status
numbers(struct tp_reader *r, const TpOnnx__AttributeProto *a,
    struct tp_entry *e, size_t n, size_t size, struct tp_err *err)
{
	uint8_t *p = tpi_arena_array(&r->arena, n ? n : 1, size);
	const float *f = a->floats ? a->floats : &a->f;
	const int64_t *v = a->ints ? a->ints : &a->i;
	uint32_t bits;

	if (!p)
		return no_memory(e->name, err);
	for (size_t i = 0; i < n; i++) {
		if (size == 8) {
			tp_put_le64(p + 8 * i, (uint64_t)v[i]);
		} else {
			memcpy(&bits, &f[i], 4);
			tp_put_le32(p + 4 * i, bits);
		}
	}
	return tpi_onnx_add_memory(
	    r, p, (uint64_t)n * size, e->name, &e->storage, err);
}

static enum tp_status
strings(struct tp_reader *r, const ProtobufCBinaryData *s, size_t n,
    struct tp_entry *e, struct tp_err *err)
{
	size_t size = 0;
	uint8_t *p, *to;

	for (size_t i = 0; i < n; i++)
		if (tp_add_size(size, 8, &size) ||
		    tp_add_size(size, s[i].len, &size))
			return no_memory(e->name, err);
	to = p = tpi_arena_array(&r->arena, size ? size : 1, 1);
	if (!p)
		return no_memory(e->name, err);
	for (size_t i = 0; i < n; i++) {
		tp_put_le64(to, s[i].len);
		to += 8;
		if (s[i].len)
			memcpy(to, s[i].data, s[i].len);
		to += s[i].len;
	}
	return tpi_onnx_add_memory(r, p, size, e->name, &e->storage, err);
}

static enum tp_status
no_value(const struct tp_entry *e, const TpOnnx__AttributeProto *a,
    struct tp_err *err)
{
	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "tensor '%s': attribute %s of the Constant has no value of its "
	    "type",
	    TP_BRIEF(e->name), TP_BRIEF(tpi_onnx_str(a->name)));
}

/* The value of a Constant that is given as numbers or strings. */
static enum tp_status
attribute(struct tp_reader *r, const struct tpi_onnx_slot *slot,
    struct tp_entry *e, int64_t *shape, struct tp_err *err)
{
	const TpOnnx__AttributeProto *a = slot->attribute;
	size_t n = 1;

	e->shape = shape;
	switch (slot->kind) {
	case TPI_SLOT_VALUE_FLOAT:
		e->dtype = TP_DTYPE_F32;
		return a->has_f && !a->n_floats ? numbers(r, a, e, 1, 4, err)
						: no_value(e, a, err);
	case TPI_SLOT_VALUE_INT:
		e->dtype = TP_DTYPE_I64;
		return a->has_i && !a->n_ints ? numbers(r, a, e, 1, 8, err)
					      : no_value(e, a, err);
	case TPI_SLOT_VALUE_STRING:
		e->dtype = TP_DTYPE_STRING;
		return a->has_s ? strings(r, &a->s, 1, e, err)
				: no_value(e, a, err);
	case TPI_SLOT_VALUE_FLOATS:
		e->dtype = TP_DTYPE_F32;
		n = a->n_floats;
		break;
	case TPI_SLOT_VALUE_INTS:
		e->dtype = TP_DTYPE_I64;
		n = a->n_ints;
		break;
	case TPI_SLOT_VALUE_STRINGS:
		e->dtype = TP_DTYPE_STRING;
		n = a->n_strings;
		break;
	case TPI_SLOT_INITIALIZER:
	case TPI_SLOT_SPARSE_INITIALIZER:
	case TPI_SLOT_VALUE:
	case TPI_SLOT_SPARSE_VALUE:
		break;
	}
	if (!n && (a->has_f || a->has_i || a->has_s || a->t))
		return no_value(e, a, err);
	e->rank = 1;
	shape[0] = (int64_t)n;
	if (e->dtype == TP_DTYPE_STRING)
		return strings(r, a->strings, n, e, err);
	return numbers(r, a, e, n, e->dtype == TP_DTYPE_F32 ? 4 : 8, err);
}

static enum tp_origin
origin_of(enum tpi_slot_kind kind)
{
	if (kind == TPI_SLOT_INITIALIZER)
		return TP_ORIGIN_INITIALIZER;
	if (kind == TPI_SLOT_SPARSE_INITIALIZER)
		return TP_ORIGIN_SPARSE;
	return TP_ORIGIN_CONSTANT;
}

enum tp_status
tpi_onnx_add_slot(struct tp_reader *r, const struct tpi_onnx_slot *slot,
    const struct tpi_onnx_scope *scope, struct tp_err *err)
{
	struct tp_entry e = {.name = slot->name,
	    .scope = scope->path,
	    .local = slot->local,
	    .origin = origin_of(slot->kind)};
	struct tp_sparse_info info = {.n_values = 0};
	int64_t shape[TP_MAX_RANK];
	size_t n_before = r->n_storages;
	enum tp_status rc;

	if (slot->kind == TPI_SLOT_INITIALIZER ||
	    slot->kind == TPI_SLOT_VALUE) {
		if (!slot->tensor)
			return no_value(&e, slot->attribute, err);
		rc = tpi_onnx_tensor_type(slot->tensor, e.name, &e, shape, err);
		if (!rc)
			rc = tpi_onnx_add_payload(
			    r, slot->tensor, e.name, &e, &e.storage, err);
	} else if (slot->kind == TPI_SLOT_SPARSE_INITIALIZER ||
		   slot->kind == TPI_SLOT_SPARSE_VALUE) {
		rc = sparse(r, slot->sparse, &e, shape, &info, err);
	} else {
		rc = attribute(r, slot, &e, shape, err);
	}
	if (!rc)
		rc = tpi_reader_add(r, &e, TP_NO_OFFSET, err);
	if (!rc)
		tpi_onnx_name_storages(
		    r, n_before, r->entries[r->n_entries - 1].name);
	return rc;
}
