/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_payload.h - bytes of a storage as they stand in an ONNX file
 *
 * Most lie there as they are (raw_data, or another file). Strings and the
 * attributes of a Constant that hold numbers are protobuf fields, one for each
 * element, and a writer has to know their size before it has seen a value. So
 * every number that is not known takes as many bytes as the largest possible
 * one: protobuf allows varints with leading zero groups.
 *
 *	RAW      the bytes
 *	FIXED32  4 bytes | tag 4 bytes | tag 4 bytes …
 *	VARINT   10 bytes | tag 10 bytes …		from i64
 *	BYTES    length text | tag length text …	from strings
 *
 * The tag of the first element belongs to the message around it.
 */
#ifndef TPI_ONNX_PAYLOAD_H
#define TPI_ONNX_PAYLOAD_H

#include <stdint.h>

#include "sink.h"
#include "stream.h"

enum tpi_onnx_form {
	TPI_FORM_RAW,
	TPI_FORM_FIXED32,
	TPI_FORM_VARINT,
	TPI_FORM_BYTES,
};

struct tpi_onnx_payload {
	enum tpi_onnx_form form;
	uint8_t tag;	    /* a byte: field numbers below 16 */
	struct tp_str name; /* of the tensor, for messages */
	uint64_t n_elems;
	uint64_t skip, size; /* which bytes of the storage; all if not RAW */
	uint64_t nbytes;     /* in the file; see tpi_onnx_payload_measure */
};

/*
 * Set nbytes. TP_EFORMAT when size bytes cannot be n_elems elements of the
 * form.
 */
enum tp_status tpi_onnx_payload_measure(
    struct tpi_onnx_payload *p, struct tp_err *err);

/*
 * Write a whole storage in that form: exactly nbytes bytes. The stream is read
 * to its end. TP_EFORMAT when strings are not what the shape says.
 */
enum tp_status tpi_onnx_payload_write(const struct tpi_onnx_payload *p,
    struct tpi_sink *sink, struct tp_stream *s, struct tp_err *err);

#endif
