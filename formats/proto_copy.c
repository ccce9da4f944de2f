/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_copy.c - a message that is written from front to back
 */
#include "proto_copy.h"

#include <inttypes.h>

#include "tp/checked.h"

#include "grow.h"

#include "banned.h"

void
tpi_copy_release(struct tpi_copy *c)
{
	tp_mem_free(c->alloc, c->data, c->cap, 1);
	*c = (struct tpi_copy){.alloc = c->alloc};
}

enum tp_status
tpi_copy_reserve(const struct tp_alloc *alloc, void **items, size_t n_items,
    size_t *cap, size_t n, size_t size, struct tp_err *err)
{
	size_t need;
	void *p;

	if (n == 0)
		return TP_OK;
	if (tp_add_size(n_items, n, &need))
		need = SIZE_MAX;
	p = tpi_grow(alloc, *items, need, cap, size);
	if (!p)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for the structure of the file");
	*items = p;
	return TP_OK;
}

enum tp_status
tpi_copy_add(struct tpi_copy *c, size_t n, uint8_t **p, struct tp_err *err)
{
	void *data = c->data;
	enum tp_status rc;

	rc = tpi_copy_reserve(c->alloc, &data, c->n, &c->cap, n, 1, err);
	c->data = data;
	if (rc)
		return rc;
	*p = c->data + c->n;
	c->n += n;
	return TP_OK;
}

enum tp_status
tpi_copy_varint(struct tpi_copy *c, uint64_t v, struct tp_err *err)
{
	uint8_t buf[10], *p;
	size_t n = tpi_wire_put_varint(buf, v);
	enum tp_status rc = tpi_copy_add(c, n, &p, err);

	for (size_t i = 0; i < n && !rc; i++)
		p[i] = buf[i];
	return rc;
}

enum tp_status
tpi_copy_tag(struct tpi_copy *c, uint32_t number, enum tpi_wire_type type,
    struct tp_err *err)
{
	return tpi_copy_varint(c, (uint64_t)number << 3 | type, err);
}

enum tp_status
tpi_copy_begin(
    struct tpi_copy *c, uint32_t number, size_t *length_at, struct tp_err *err)
{
	uint8_t *p;
	enum tp_status rc;

	rc = tpi_copy_tag(c, number, TPI_WIRE_BYTES, err);
	if (!rc)
		rc = tpi_copy_add(c, TPI_COPY_LENGTH, &p, err);
	if (!rc)
		*length_at = c->n - TPI_COPY_LENGTH;
	return rc;
}

enum tp_status
tpi_copy_end(struct tpi_copy *c, size_t length_at, struct tp_err *err)
{
	uint64_t length = c->n - length_at - TPI_COPY_LENGTH;

	if (length > INT32_MAX)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "structure of %" PRIu64
		    " bytes in one message, protobuf allows 2 GiB",
		    length);
	for (size_t i = 0; i < TPI_COPY_LENGTH; i++, length >>= 7)
		c->data[length_at + i] =
		    (uint8_t)((length & 0x7f) |
			      (i + 1 < TPI_COPY_LENGTH ? 0x80 : 0));
	return TP_OK;
}

static void
reverse(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint8_t t = p[i];

		p[i] = p[n - 1 - i];
		p[n - 1 - i] = t;
	}
}

enum tp_status
tpi_copy_reopen(struct tpi_copy *c, size_t body, uint32_t number,
    size_t *length_at, struct tp_err *err)
{
	enum tpi_wire_type type;
	uint64_t start, n;
	uint32_t found;
	struct tpi_wire w;
	size_t end, size;
	enum tp_status rc;

	tpi_wire_memory(&w, c->data, c->n);
	w.pos = body;
	for (;;) {
		start = w.pos;
		rc = tpi_wire_tag(&w, w.size, &found, &type, err);
		if (rc || found == number)
			break;
		rc = tpi_wire_skip(&w, w.size, found, type, err);
		if (rc)
			break;
	}
	*length_at = (size_t)w.pos;
	if (!rc)
		rc = tpi_wire_length(&w, w.size, &n, err);
	if (rc)
		return rc;

	/* A rotation, as three reversals. */
	end = (size_t)(w.pos + n);
	size = end - (size_t)start;
	reverse(c->data + start, size);
	reverse(c->data + end, c->n - end);
	reverse(c->data + start, c->n - (size_t)start);
	*length_at += c->n - end;
	return TP_OK;
}
