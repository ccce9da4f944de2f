/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_wire.h - the wire format of protobuf, read through a window
 *
 *	message = { tag value }		tag = varint of number << 3 | type
 *
 *	type 0	varint, 1 to 10 bytes, 7 bits each, low bits first
 *	     1	8 bytes
 *	     2	varint length, then so many bytes
 *	     3	group: fields up to a tag of type 4 with the same number
 *	     5	4 bytes
 *
 * A file is read by pread, a window of 4 to 64 KiB at a time; what is skipped
 * is not read. Each function is told where the enclosing message ends and goes
 * no further. Positions are those in the file. After a failure the position is
 * not meaningful.
 */
#ifndef TPI_PROTO_WIRE_H
#define TPI_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/error.h"

#include "source.h"

enum tpi_wire_type {
	TPI_WIRE_VARINT = 0,
	TPI_WIRE_FIXED64 = 1,
	TPI_WIRE_BYTES = 2,
	TPI_WIRE_GROUP = 3,
	TPI_WIRE_END_GROUP = 4,
	TPI_WIRE_FIXED32 = 5,
};

#define TPI_WIRE_WINDOW ((size_t)64 << 10)

struct tpi_wire {
	const struct tp_alloc *alloc;
	const struct tpi_source *src; /* NULL: data is all there is */
	uint8_t *buf;		      /* cap bytes, or NULL */
	size_t cap;
	const uint8_t *data; /* the window */
	size_t n_data;
	uint64_t begin; /* where it lies */
	size_t ahead;	/* how much the next fill reads */
	uint64_t pos;	/* the next byte */
	uint64_t size;	/* of all */
};

/*
 * Over a file, of which about `expected` bytes will be read, or over bytes in
 * memory, which are borrowed.
 */
enum tp_status tpi_wire_open(struct tpi_wire *w, const struct tp_alloc *alloc,
    const struct tpi_source *src, uint64_t expected, struct tp_err *err);
void tpi_wire_memory(struct tpi_wire *w, const void *data, size_t n);
void tpi_wire_close(struct tpi_wire *w);

/* Borrow the next n <= 4096 bytes, which must exist. */
enum tp_status tpi_wire_peek(
    struct tpi_wire *w, size_t n, const uint8_t **out, struct tp_err *err);

/* Copy the next n bytes, which must exist. */
enum tp_status tpi_wire_read(
    struct tpi_wire *w, void *buf, size_t n, struct tp_err *err);

/* A varint; bits beyond 64 are dropped, as protobuf does. */
enum tp_status tpi_wire_varint(
    struct tpi_wire *w, uint64_t end, uint64_t *v, struct tp_err *err);

/* A tag with a number that is not 0 and one of the six types. */
enum tp_status tpi_wire_tag(struct tpi_wire *w, uint64_t end, uint32_t *number,
    enum tpi_wire_type *type, struct tp_err *err);

/* The length of a field of type 2, all of which lies before end. */
enum tp_status tpi_wire_length(
    struct tpi_wire *w, uint64_t end, uint64_t *n, struct tp_err *err);

/* Skip the value of a field whose tag was read, a group with all it holds. */
enum tp_status tpi_wire_skip(struct tpi_wire *w, uint64_t end, uint32_t number,
    enum tpi_wire_type type, struct tp_err *err);

/* Varints and tags as they are written: returns how many of 10 bytes. */
size_t tpi_wire_put_varint(uint8_t buf[10], uint64_t v);

#endif
