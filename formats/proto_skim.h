/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto_skim.h - the structure of an ONNX file without its payloads
 *
 * One walk over the wire format checks everything (lengths, depth, tags) and
 * makes a copy that protobuf-c may unpack. In the copy the payload of every
 * TensorProto, however small, is replaced:
 *
 *	raw_data, float_data, int32_data, string_data,	    raw_data = u32le,
 *	int64_data, double_data, uint64_data		->  number of a record
 *
 * The record says which of these fields there were and where they lie. Payload
 * bytes are skipped, not read, so the work is that of the structure.
 *
 * Protobuf's rules hold: the last raw_data counts; typed data comes packed, one
 * by one or mixed; a message that is not repeated but given twice is merged
 * (one record then has several pieces). A known number with another wire type
 * and groups are left out of the copy, unknown fields stay in it.
 */
#ifndef TPI_PROTO_SKIM_H
#define TPI_PROTO_SKIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "tp/alloc.h"
#include "tp/error.h"
#include "tp/format.h"

#include "proto_copy.h"
#include "proto_wire.h"

/* The fields of a TensorProto that hold values. */
enum tpi_payload_field {
	TPI_FLOAT_DATA = 4,
	TPI_INT32_DATA = 5,
	TPI_STRING_DATA = 6,
	TPI_INT64_DATA = 7,
	TPI_RAW_DATA = 9,
	TPI_DOUBLE_DATA = 10,
	TPI_UINT64_DATA = 11,
};

/* "raw_data" and so on. */
const char *tpi_payload_field_name(unsigned field);

/* The body of a TensorProto, or of a part of it that is merged later. */
struct tpi_piece {
	uint64_t begin, end;
	size_t next; /* in tpi_skim.pieces, TP_NONE after the last */
};

struct tpi_payload {
	uint32_t fields; /* bit n: field n is there, perhaps empty */
	bool single;	 /* data is all there is: raw, or packed once */
	/* The last piece of data: of raw_data the one that counts. */
	uint64_t offset, nbytes;
	uint64_t n_fields;  /* how many times a payload field occurs */
	size_t first, last; /* pieces */
};

struct tpi_skim {
	const struct tp_alloc *alloc;
	struct tpi_copy copy; /* may be released once it is unpacked */
	struct tpi_payload *payloads;
	size_t n_payloads, cap_payloads;
	struct tpi_piece *pieces;
	size_t n_pieces, cap_pieces;
};

enum tpi_skim_mode {
	TPI_SKIM_PAYLOADS, /* replaced as above */
	TPI_SKIM_WHOLE,	   /* payloads are copied like everything else */
};

/*
 * Walk the message desc that lies from w->pos to end. limits: depth, and
 * directory_bytes for what the message will take when it is unpacked. On
 * failure *s is released.
 */
enum tp_status tpi_skim(struct tpi_skim *s, const struct tp_alloc *alloc,
    struct tpi_wire *w, uint64_t end, const ProtobufCMessageDescriptor *desc,
    enum tpi_skim_mode mode, const struct tp_limits *limits,
    struct tp_err *err);
void tpi_skim_release(struct tpi_skim *s);

/*
 * Check, then unpack a message that lies in memory, payloads and all. *out is
 * freed with tpi_proto_free.
 */
enum tp_status tpi_skim_unpack(const struct tp_alloc *alloc, const void *data,
    size_t n, const ProtobufCMessageDescriptor *desc,
    const struct tp_limits *limits, ProtobufCMessage **out, struct tp_err *err);

#endif
