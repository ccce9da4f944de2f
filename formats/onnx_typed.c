/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_typed.c - values of a tensor that are not raw bytes
 */
#include "onnx_typed.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"

#include "banned.h"

/*
 * For each dtype the field, the bytes that one number becomes, and the numbers
 * that are allowed. Floats narrower than f32 are bit patterns here.
 */
static const struct row {
	unsigned field, unit;
	int64_t low, high; /* of int32_data */
} rows[TP_DTYPE_COUNT] = {
    [TP_DTYPE_BOOL] = {TPI_INT32_DATA, 1, 0, 1},
    [TP_DTYPE_U2] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_I2] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_U4] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_I4] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_U8] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_I8] = {TPI_INT32_DATA, 1, INT8_MIN, INT8_MAX},
    [TP_DTYPE_U16] = {TPI_INT32_DATA, 2, 0, UINT16_MAX},
    [TP_DTYPE_I16] = {TPI_INT32_DATA, 2, INT16_MIN, INT16_MAX},
    [TP_DTYPE_U32] = {TPI_UINT64_DATA, 4, 0, UINT32_MAX},
    [TP_DTYPE_I32] = {TPI_INT32_DATA, 4, INT32_MIN, INT32_MAX},
    [TP_DTYPE_U64] = {TPI_UINT64_DATA, 8, 0, 0},
    [TP_DTYPE_I64] = {TPI_INT64_DATA, 8, INT64_MIN, INT64_MAX},
    [TP_DTYPE_F4E2M1] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_F8E4M3FN] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_F8E5M2] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_F8E4M3FNUZ] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_F8E5M2FNUZ] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_F8E8M0] = {TPI_INT32_DATA, 1, 0, UINT8_MAX},
    [TP_DTYPE_F16] = {TPI_INT32_DATA, 2, 0, UINT16_MAX},
    [TP_DTYPE_BF16] = {TPI_INT32_DATA, 2, 0, UINT16_MAX},
    [TP_DTYPE_F32] = {TPI_FLOAT_DATA, 4, 0, 0},
    [TP_DTYPE_F64] = {TPI_DOUBLE_DATA, 8, 0, 0},
    [TP_DTYPE_C64] = {TPI_FLOAT_DATA, 4, 0, 0},
    [TP_DTYPE_C128] = {TPI_DOUBLE_DATA, 8, 0, 0},
    [TP_DTYPE_STRING] = {TPI_STRING_DATA, 8, 0, 0},
};

unsigned
tpi_onnx_typed_field(enum tp_dtype dtype)
{
	return rows[dtype].field;
}

/* A walk over the numbers of one field. */
struct numbers {
	const struct tpi_onnx_typed *t;
	const struct row *row;
	enum tpi_wire_type one; /* how a single number is written */
	struct tpi_wire w;
	size_t piece;	  /* the next one */
	uint64_t end;	  /* of this piece */
	uint64_t run_end; /* of packed numbers; below w.pos when not in one */
	uint64_t n;	  /* numbers so far */
};

static enum tpi_wire_type
wire_type_of(unsigned field)
{
	if (field == TPI_FLOAT_DATA)
		return TPI_WIRE_FIXED32;
	if (field == TPI_DOUBLE_DATA)
		return TPI_WIRE_FIXED64;
	if (field == TPI_STRING_DATA)
		return TPI_WIRE_BYTES;
	return TPI_WIRE_VARINT;
}

static enum tp_status
numbers_open(
    struct numbers *v, const struct tpi_onnx_typed *t, struct tp_err *err)
{
	const struct row *row = &rows[t->dtype];

	*v = (struct numbers){.t = t,
	    .row = row,
	    .one = wire_type_of(row->field),
	    .piece = t->payload->first};
	if (t->payload->single && row->field != TPI_STRING_DATA) {
		v->piece = TP_NONE;
		v->run_end = t->payload->offset + t->payload->nbytes;
	}
	if (tpi_wire_open(&v->w, t->alloc, t->src,
		v->run_end ? t->payload->nbytes : TPI_WIRE_WINDOW, err))
		return TP_ENOMEM;
	v->w.pos = v->run_end ? t->payload->offset : 0;
	v->end = v->w.pos;
	return TP_OK;
}

/* One number at the position of the walk. */
static enum tp_status
number(struct numbers *v, uint64_t end, uint64_t *value, struct tp_err *err)
{
	size_t size = v->one == TPI_WIRE_FIXED32 ? 4 : 8;
	struct tp_err why = TP_ERR_INIT;
	const uint8_t *p;
	enum tp_status rc;

	v->n++;
	if (v->one == TPI_WIRE_VARINT) {
		rc = tpi_wire_varint(&v->w, end, value, &why);
		return rc ? tp_fail(err, rc, why.offset, "tensor '%s': %s",
				TP_BRIEF(v->t->what), why.msg)
			  : TP_OK;
	}
	if (size > end - v->w.pos)
		return tp_fail(err, TP_EFORMAT, v->w.pos,
		    "tensor '%s': %" PRIu64 " bytes of a number of %zu",
		    TP_BRIEF(v->t->what), end - v->w.pos, size);
	rc = tpi_wire_peek(&v->w, size, &p, err);
	if (rc)
		return rc;
	v->w.pos += size;
	*value = size == 4 ? tp_le32(p) : tp_le64(p);
	return TP_OK;
}

/*
 * The next number; of a string its length, and the walk stands before its
 * bytes, which the caller must pass. *more is false after the last.
 */
static enum tp_status
next(struct numbers *v, uint64_t *value, bool *more, struct tp_err *err)
{
	const struct tpi_piece *piece;
	enum tpi_wire_type type;
	uint32_t field;
	uint64_t n;
	enum tp_status rc;

	*more = true;
	for (;;) {
		if (v->w.pos < v->run_end)
			return number(v, v->run_end, value, err);
		if (v->w.pos >= v->end) {
			*more = v->piece != TP_NONE;
			if (!*more)
				return TP_OK;
			piece = &v->t->skim->pieces[v->piece];
			v->piece = piece->next;
			v->w.pos = piece->begin;
			v->end = piece->end;
			v->run_end = 0;
			continue;
		}
		rc = tpi_wire_tag(&v->w, v->end, &field, &type, err);
		if (rc)
			return rc;
		if (field == v->row->field && type == TPI_WIRE_BYTES) {
			rc = tpi_wire_length(&v->w, v->end, &n, err);
			if (rc || v->one == TPI_WIRE_BYTES) {
				v->n++;
				*value = n;
				return rc;
			}
			v->run_end = v->w.pos + n;
		} else if (field == v->row->field && type == v->one) {
			return number(v, v->end, value, err);
		} else {
			rc = tpi_wire_skip(&v->w, v->end, field, type, err);
			if (rc)
				return rc;
		}
	}
}

/* Does the number fit? int32_data has 32 bits, whatever the varint says. */
static enum tp_status
check_number(const struct numbers *v, uint64_t value, struct tp_err *err)
{
	int64_t x = (int32_t)(uint32_t)value;

	if (v->row->field == TPI_UINT64_DATA && v->t->dtype == TP_DTYPE_U32)
		x = value > UINT32_MAX ? INT64_MAX : (int64_t)value;
	else if (v->row->field != TPI_INT32_DATA)
		return TP_OK;
	if (x >= v->row->low && x <= v->row->high)
		return TP_OK;
	if (value > INT64_MAX)
		return tp_fail(err, TP_EFORMAT, v->w.pos,
		    "tensor '%s': value %" PRId64 " at index %" PRIu64
		    " of %s is outside %" PRId64 "..%" PRId64,
		    TP_BRIEF(v->t->what), x, v->n - 1,
		    tpi_payload_field_name(v->row->field), v->row->low,
		    v->row->high);
	return tp_fail(err, TP_EFORMAT, v->w.pos,
	    "tensor '%s': value %" PRIu64 " at index %" PRIu64
	    " of %s is outside %" PRId64 "..%" PRId64,
	    TP_BRIEF(v->t->what), value, v->n - 1,
	    tpi_payload_field_name(v->row->field), v->row->low, v->row->high);
}

static enum tp_status
wrong_count(const struct tpi_onnx_typed *t, uint64_t found, uint64_t expected,
    struct tp_err *err)
{
	return tp_fail(err, TP_EFORMAT, t->payload->offset,
	    "tensor '%s': %" PRIu64 " values in %s, expected %" PRIu64,
	    TP_BRIEF(t->what), found,
	    tpi_payload_field_name(rows[t->dtype].field), expected);
}

/* Read everything: how many numbers, and of strings how many bytes. */
static enum tp_status
count_numbers(const struct tpi_onnx_typed *t, uint64_t *n, uint64_t *bytes,
    struct tp_err *err)
{
	struct numbers v;
	bool more = true;
	uint64_t value;
	enum tp_status rc;

	*bytes = 0;
	rc = numbers_open(&v, t, err);
	while (!rc && more) {
		rc = next(&v, &value, &more, err);
		if (rc || !more)
			break;
		if (v.one != TPI_WIRE_BYTES) {
			rc = check_number(&v, value, err);
			continue;
		}
		v.w.pos += value;
		if (tp_add_u64(*bytes, 8, bytes) ||
		    tp_add_u64(*bytes, value, bytes))
			rc = tp_fail(err, TP_ELIMIT, v.w.pos,
			    "tensor '%s': too many strings", TP_BRIEF(t->what));
	}
	*n = v.n;
	tpi_wire_close(&v.w);
	return rc;
}

enum tp_status
tpi_onnx_typed_check(const struct tpi_onnx_typed *t, uint64_t n_elems,
    uint64_t *nbytes, bool *in_place, struct tp_err *err)
{
	const struct row *row = &rows[t->dtype];
	const struct tpi_payload *p = t->payload;
	uint64_t expected = n_elems, found, text;
	enum tp_status rc;

	*in_place = p->single && (row->field == TPI_FLOAT_DATA ||
				     row->field == TPI_DOUBLE_DATA);
	if (t->dtype != TP_DTYPE_STRING) {
		rc = tp_dtype_nbytes(t->dtype, n_elems, nbytes, err);
		if (rc)
			return rc;
		expected = *nbytes / row->unit;
	}
	if (*in_place) {
		found = p->nbytes / row->unit;
		if (p->nbytes % row->unit)
			return tp_fail(err, TP_EFORMAT, p->offset,
			    "tensor '%s': %" PRIu64
			    " bytes of %s are no multiple of %u",
			    TP_BRIEF(t->what), p->nbytes,
			    tpi_payload_field_name(row->field), row->unit);
	} else {
		rc = count_numbers(t, &found, &text, err);
		if (rc)
			return rc;
		if (t->dtype == TP_DTYPE_STRING)
			*nbytes = text;
	}
	return found == expected ? TP_OK : wrong_count(t, found, expected, err);
}

struct typed_stream {
	struct tp_stream base;
	struct tpi_onnx_typed typed; /* numbers.t points here */
	struct numbers numbers;
	uint8_t unit[8]; /* the bytes of a number that are still to be given */
	size_t n_unit, at;
	uint64_t text; /* bytes of a string after its length */
};

/* Fetch one more number. It is there, unless the file has changed. */
static enum tp_status
refill(struct typed_stream *s, struct tp_err *err)
{
	uint64_t value;
	bool more;
	enum tp_status rc;

	rc = next(&s->numbers, &value, &more, err);
	if (rc)
		return rc;
	if (!more)
		return tp_fail(err, TP_EIO, s->numbers.w.pos,
		    "tensor '%s': the file has changed",
		    TP_BRIEF(s->typed.what));
	tp_put_le64(s->unit, value);
	s->n_unit = s->numbers.row->unit;
	s->at = 0;
	if (s->numbers.one == TPI_WIRE_BYTES)
		s->text = value;
	return TP_OK;
}

static enum tp_status
typed_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct typed_stream *s = (struct typed_stream *)base;
	uint8_t *to = buf;
	size_t part;
	enum tp_status rc;

	while (n) {
		part = s->n_unit - s->at;
		if (part) {
			part = part < n ? part : n;
			memcpy(to, s->unit + s->at, part);
			s->at += part;
		} else if (s->text) {
			part = s->text < n ? (size_t)s->text : n;
			rc = tpi_wire_read(&s->numbers.w, to, part, err);
			if (rc)
				return rc;
			s->text -= part;
		} else {
			rc = refill(s, err);
			if (rc)
				return rc;
		}
		to += part;
		n -= part;
	}
	return TP_OK;
}

static void
typed_close(struct tp_stream *base)
{
	struct typed_stream *s = (struct typed_stream *)base;

	tpi_wire_close(&s->numbers.w);
	tp_mem_free(s->typed.alloc, s, 1, sizeof(*s));
}

enum tp_status
tpi_onnx_typed_stream(const struct tpi_onnx_typed *t, uint64_t nbytes,
    struct tp_stream **out, struct tp_err *err)
{
	struct typed_stream *s = tp_mem_array(t->alloc, 1, sizeof(*s));
	enum tp_status rc;

	*out = NULL;
	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a stream");
	s->base = (struct tp_stream){
	    .nbytes = nbytes, .read = typed_read, .close = typed_close};
	s->typed = *t;
	rc = numbers_open(&s->numbers, &s->typed, err);
	if (rc) {
		typed_close(&s->base);
		return rc;
	}
	*out = &s->base;
	return TP_OK;
}
