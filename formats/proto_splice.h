/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_splice.h - pack a message whose large fields lie elsewhere
 *
 *	literal | payload 0 | literal | payload 1 | literal
 *
 * The reverse of proto_skim.h. In the message a bytes field (or an unknown
 * field) stands for a payload: it has the payload's length and, as its data,
 * an address that nothing reads. Packing yields the bytes between the payloads,
 * with every enclosing length already counting them, and the places where they
 * belong; the payloads themselves are streamed later.
 *
 *  1. tpi_splice_init for a number of payloads.
 *  2. tpi_splice_place for each payload that goes into the message.
 *  3. tpi_splice_measure, and if the size will do tpi_splice_pack.
 *  4. Walk the parts.
 *  5. tpi_splice_release.
 */
#ifndef TPI_PROTO_SPLICE_H
#define TPI_PROTO_SPLICE_H

#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "tp/format.h"

/* The largest message that protobuf knows: lengths are 31-bit numbers. */
#define TPI_PROTO_MAX ((uint64_t)INT32_MAX)

struct tpi_splice_part {
	size_t payload;	      /* TP_NONE: literal bytes */
	const uint8_t *bytes; /* literal; borrowed from the splice */
	uint64_t nbytes;
};

struct tpi_splice {
	const struct tp_alloc *alloc;
	uint8_t *marks;	  /* one address for each payload */
	uint64_t *nbytes; /* of each; 0 until it is placed */
	size_t n_payloads;
	uint8_t *literal;
	size_t literal_size;
	struct tpi_splice_part *parts;
	size_t n_parts, cap_parts;
	uint64_t total; /* sum of nbytes of the parts */
};

enum tp_status tpi_splice_init(struct tpi_splice *s,
    const struct tp_alloc *alloc, size_t n_payloads, struct tp_err *err);

/* Also of one that tpi_splice_init left half made, or that is all zero. */
void tpi_splice_release(struct tpi_splice *s);

/*
 * Let a field stand for the nbytes of payload i, which may be placed again (in
 * the same field, with another size). An empty payload makes no part.
 */
enum tp_status tpi_splice_place(struct tpi_splice *s, size_t i, uint64_t nbytes,
    ProtobufCBinaryData *field, struct tp_err *err);

/* Payload i goes elsewhere after all. Its field is the caller's to clear. */
void tpi_splice_drop(struct tpi_splice *s, size_t i);

/*
 * The size that the message would have, or UINT64_MAX when it is certain to be
 * above TPI_PROTO_MAX.
 */
uint64_t tpi_splice_measure(
    const struct tpi_splice *s, const ProtobufCMessage *message);

/*
 * Make the parts. TP_EUNSUPPORTED above TPI_PROTO_MAX, TP_EARG when a placed
 * payload is not in the message exactly once. The message is not needed
 * afterwards. Its nesting must be bounded: protobuf-c recurses.
 */
enum tp_status tpi_splice_pack(
    struct tpi_splice *s, const ProtobufCMessage *message, struct tp_err *err);

#endif
