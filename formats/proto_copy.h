/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_copy.h - a message that is written from front to back
 *
 * A message in a message begins with a tag and a length of always 5 bytes (as a
 * varint may be written), which is filled in at its end. So the enclosing
 * lengths need not be known before, and nothing is moved.
 */
#ifndef TPI_PROTO_COPY_H
#define TPI_PROTO_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/error.h"

#include "proto_wire.h"

struct tpi_copy {
	const struct tp_alloc *alloc;
	uint8_t *data;
	size_t n, cap;
};

/* What stands before the body of a message, after its tag. */
#define TPI_COPY_LENGTH ((size_t)5)

void tpi_copy_release(struct tpi_copy *c);

/* Room for n more items in an array that doubles; *items may move. */
enum tp_status tpi_copy_reserve(const struct tp_alloc *alloc, void **items,
    size_t n_items, size_t *cap, size_t n, size_t size, struct tp_err *err);

/* n more bytes at *p, to be filled at once. */
enum tp_status tpi_copy_add(
    struct tpi_copy *c, size_t n, uint8_t **p, struct tp_err *err);
enum tp_status tpi_copy_varint(
    struct tpi_copy *c, uint64_t v, struct tp_err *err);
enum tp_status tpi_copy_tag(struct tpi_copy *c, uint32_t number,
    enum tpi_wire_type type, struct tp_err *err);

/* Begin a message; *length_at is for the end of it. */
enum tp_status tpi_copy_begin(
    struct tpi_copy *c, uint32_t number, size_t *length_at, struct tp_err *err);
/* The message ends here. TP_ELIMIT when it is larger than protobuf allows. */
enum tp_status tpi_copy_end(
    struct tpi_copy *c, size_t length_at, struct tp_err *err);

/*
 * Go on with the message in field `number` that was ended before, in the body
 * that goes from `body` to the end of the copy: it is brought to the end, where
 * it can grow. *length_at is as from tpi_copy_begin.
 */
enum tp_status tpi_copy_reopen(struct tpi_copy *c, size_t body, uint32_t number,
    size_t *length_at, struct tp_err *err);

#endif
