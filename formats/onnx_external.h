/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_external.h - tensor bytes in files beside the model
 *
 *	external_data: location = "weights/a.bin"   relative to the model
 *		       offset   = "4096"	    decimal; 0 if absent
 *		       length   = "1024"	    to the end if absent
 *		       checksum = SHA-1 of the whole file, in hexadecimal
 *
 * A location never leads out of the folder of the model: no absolute path, no
 * "..", no link to elsewhere; and only to a regular file. The path is resolved
 * first and then opened step by step without following links, so a link that
 * is put there in between is not followed either.
 */
#ifndef TPI_ONNX_EXTERNAL_H
#define TPI_ONNX_EXTERNAL_H

#include <stdint.h>

#include "onnx.pb-c.h"
#include "source.h"

/* What the entries of external_data say. */
struct tpi_onnx_external {
	struct tp_str location;
	uint64_t offset, length;
	bool has_length;
	struct tp_str checksum; /* .s is NULL when there is none */
};

/* Other keys are ignored. what is the tensor, for messages. */
enum tp_status tpi_onnx_external_parse(const TpOnnx__TensorProto *t,
    struct tp_str what, struct tpi_onnx_external *out, struct tp_err *err);

/* Open the file at that location beside the model at model_path. */
enum tp_status tpi_onnx_external_open(const struct tp_alloc *alloc,
    const char *model_path, struct tp_str location, struct tp_str what,
    struct tpi_source **out, struct tp_err *err);

/* Does the tensor that needs nbytes find just these in the file? */
enum tp_status tpi_onnx_external_fits(const struct tpi_onnx_external *e,
    const struct tpi_source *src, uint64_t nbytes, struct tp_str what,
    struct tp_err *err);

/* Read the whole file: the digest as it stands in a checksum. */
enum tp_status tpi_onnx_external_digest(const struct tp_alloc *alloc,
    const struct tpi_source *src, char hex[41], struct tp_err *err);

/* TP_EFORMAT if the checksum is not that digest. */
enum tp_status tpi_onnx_external_compare(const struct tpi_onnx_external *e,
    const char hex[41], struct tp_str what, struct tp_err *err);

#endif
