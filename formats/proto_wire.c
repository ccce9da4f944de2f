/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_wire.c - the wire format of protobuf, read through a window
 */
#include <inttypes.h>
#include <string.h>

#include "proto_wire.h"

#include "banned.h"

/* A fill after a jump; one that follows another reads twice as much. */
#define SMALL ((size_t)4 << 10)

/* Groups within groups; ONNX has none at all. */
#define MAX_GROUPS 100

enum tp_status
tpi_wire_open(struct tpi_wire *w, const struct tp_alloc *alloc,
    const struct tpi_source *src, uint64_t expected, struct tp_err *err)
{
	*w = (struct tpi_wire){
	    .alloc = alloc, .src = src, .ahead = SMALL, .size = src->size};
	w->cap =
	    expected < TPI_WIRE_WINDOW ? (size_t)expected : TPI_WIRE_WINDOW;
	if (w->cap < SMALL)
		w->cap = SMALL;
	w->buf = tp_mem_array(alloc, w->cap, 1);
	if (!w->buf)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for a window of %zu bytes", w->cap);
	w->data = w->buf;
	return TP_OK;
}

void
tpi_wire_memory(struct tpi_wire *w, const void *data, size_t n)
{
	*w = (struct tpi_wire){.data = data, .n_data = n, .size = n};
}

void
tpi_wire_close(struct tpi_wire *w)
{
	tp_mem_free(w->alloc, w->buf, w->cap, 1);
	*w = (struct tpi_wire){.src = NULL};
}

/* Bytes of the window from pos on. */
static size_t
in_window(const struct tpi_wire *w)
{
	if (w->pos < w->begin || w->pos - w->begin > w->n_data)
		return 0;
	return w->n_data - (size_t)(w->pos - w->begin);
}

enum tp_status
tpi_wire_peek(
    struct tpi_wire *w, size_t n, const uint8_t **out, struct tp_err *err)
{
	size_t have = in_window(w);
	enum tp_status rc;

	if (have < n) {
		if (w->pos < w->begin || w->pos - w->begin > w->n_data)
			w->ahead = SMALL;
		if (w->ahead < n)
			w->ahead = n;
		have = w->ahead;
		if (have > w->size - w->pos)
			have = (size_t)(w->size - w->pos);
		w->n_data = 0;
		rc = tpi_source_read(w->src, w->pos, w->buf, have, err);
		if (rc)
			return rc;
		w->begin = w->pos;
		w->n_data = have;
		w->ahead = w->ahead * 2 < w->cap ? w->ahead * 2 : w->cap;
	}
	*out = n ? w->data + (size_t)(w->pos - w->begin) : w->data;
	return TP_OK;
}

enum tp_status
tpi_wire_read(struct tpi_wire *w, void *buf, size_t n, struct tp_err *err)
{
	uint8_t *to = buf;
	const uint8_t *p;
	enum tp_status rc;
	size_t part;

	while (n) {
		part = in_window(w);
		if (!part && n >= w->cap) {
			rc = tpi_source_read(w->src, w->pos, to, n, err);
			w->pos += n;
			return rc;
		}
		if (!part || part > n)
			part = n;
		rc = tpi_wire_peek(w, part, &p, err);
		if (rc)
			return rc;
		memcpy(to, p, part);
		to += part;
		n -= part;
		w->pos += part;
	}
	return TP_OK;
}

enum tp_status
tpi_wire_varint(
    struct tpi_wire *w, uint64_t end, uint64_t *v, struct tp_err *err)
{
	size_t n = end - w->pos < 10 ? (size_t)(end - w->pos) : 10;
	const uint8_t *p;
	uint64_t value = 0;
	enum tp_status rc;

	rc = tpi_wire_peek(w, n, &p, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		value |= (uint64_t)(p[i] & 0x7f) << 7 * i;
		if (p[i] & 0x80)
			continue;
		w->pos += i + 1;
		*v = value;
		return TP_OK;
	}
	if (n == 10)
		return tp_fail(
		    err, TP_EFORMAT, w->pos, "varint of more than 10 bytes");
	return tp_fail(err, TP_EFORMAT, w->pos,
	    "a varint does not end where its message or the file does, at "
	    "byte %" PRIu64,
	    end);
}

enum tp_status
tpi_wire_tag(struct tpi_wire *w, uint64_t end, uint32_t *number,
    enum tpi_wire_type *type, struct tp_err *err)
{
	uint64_t at = w->pos, tag;
	enum tp_status rc;

	rc = tpi_wire_varint(w, end, &tag, err);
	if (rc)
		return rc;
	if (tag > UINT32_MAX)
		return tp_fail(err, TP_EFORMAT, at,
		    "invalid tag %" PRIu64 ": more than 32 bits", tag);
	if (tag >> 3 == 0)
		return tp_fail(err, TP_EFORMAT, at,
		    "invalid tag %" PRIu64 ": field number 0", tag);
	if ((tag & 7) > 5)
		return tp_fail(err, TP_EFORMAT, at,
		    "invalid tag %" PRIu64 ": wire type %" PRIu64, tag,
		    tag & 7);
	*number = (uint32_t)(tag >> 3);
	*type = (enum tpi_wire_type)(tag & 7);
	return TP_OK;
}

enum tp_status
tpi_wire_length(
    struct tpi_wire *w, uint64_t end, uint64_t *n, struct tp_err *err)
{
	uint64_t at = w->pos, length;
	enum tp_status rc;

	rc = tpi_wire_varint(w, end, &length, err);
	if (rc)
		return rc;
	if (length > end - w->pos) {
		if (length > UINT64_MAX - w->pos)
			return tp_fail(err, TP_EFORMAT, at,
			    "truncated: field of %" PRIu64 " bytes", length);
		return tp_fail(err, TP_EFORMAT, at,
		    "truncated: field ends at byte %" PRIu64
		    ", but the %s at %" PRIu64,
		    w->pos + length,
		    end == w->size ? "file" : "enclosing message", end);
	}
	*n = length;
	return TP_OK;
}

/* Skip what has no inner structure. */
static enum tp_status
skip_plain(struct tpi_wire *w, uint64_t end, enum tpi_wire_type type,
    struct tp_err *err)
{
	uint64_t n = type == TPI_WIRE_FIXED32 ? 4 : 8;
	enum tp_status rc;

	if (type == TPI_WIRE_VARINT)
		return tpi_wire_varint(w, end, &n, err);
	if (type == TPI_WIRE_BYTES) {
		rc = tpi_wire_length(w, end, &n, err);
		if (rc)
			return rc;
	}
	if (n > end - w->pos)
		return tp_fail(err, TP_EFORMAT, w->pos,
		    "truncated: %" PRIu64 " bytes of a number of %" PRIu64,
		    end - w->pos, n);
	w->pos += n;
	return TP_OK;
}

enum tp_status
tpi_wire_skip(struct tpi_wire *w, uint64_t end, uint32_t number,
    enum tpi_wire_type type, struct tp_err *err)
{
	uint32_t open[MAX_GROUPS];
	size_t n_open = 0;
	enum tp_status rc = TP_OK;

	for (;;) {
		if (type == TPI_WIRE_GROUP) {
			if (n_open == MAX_GROUPS)
				return tp_fail(err, TP_ELIMIT, w->pos,
				    "groups nested more than %d deep",
				    MAX_GROUPS);
			open[n_open++] = number;
		} else if (type == TPI_WIRE_END_GROUP) {
			/* cppcheck-suppress uninitvar ; n_open are set */
			if (!n_open || open[n_open - 1] != number)
				return tp_fail(err, TP_EFORMAT, w->pos,
				    "end of a group %" PRIu32
				    " that never began",
				    number);
			n_open--;
		} else {
			rc = skip_plain(w, end, type, err);
		}
		if (rc || !n_open)
			return rc;
		if (w->pos == end)
			return tp_fail(err, TP_EFORMAT, w->pos,
			    "group %" PRIu32 " without end", open[n_open - 1]);
		rc = tpi_wire_tag(w, end, &number, &type, err);
		if (rc)
			return rc;
	}
}

size_t
tpi_wire_put_varint(uint8_t buf[10], uint64_t v)
{
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		buf[n++] = (uint8_t)(v | 0x80);
	buf[n++] = (uint8_t)v;
	return n;
}
