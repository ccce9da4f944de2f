/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_typed.h - values of a tensor that are not raw bytes
 *
 * In float_data, int32_data and so on each value is a protobuf number of its
 * own: packed one after the other, or each with a tag, or both in one tensor,
 * in one piece of the message or in several. The bytes that a stream gives are
 * those that raw_data would have had:
 *
 *	float_data   f32, c64 as pairs		double_data  f64, c128 as pairs
 *	int32_data   i32 and all that is smaller; below 8 bits a packed byte in
 *		     each number
 *	int64_data   i64			uint64_data  u32 u64
 *	string_data  strings, here each after its length as u64
 */
#ifndef TPI_ONNX_TYPED_H
#define TPI_ONNX_TYPED_H

#include <stdint.h>

#include "tp/dtype.h"

#include "proto_skim.h"
#include "stream.h"

/* The payload of one tensor. What it points to must outlive its streams. */
struct tpi_onnx_typed {
	const struct tp_alloc *alloc;
	const struct tpi_source *src;
	const struct tpi_skim *skim;
	const struct tpi_payload *payload;
	enum tp_dtype dtype;
	struct tp_str what; /* the tensor, for messages */
};

/* The field for values of that dtype (enum tpi_payload_field). */
unsigned tpi_onnx_typed_field(enum tp_dtype dtype);

/*
 * Are the values as many as n_elems elements need, and does each fit the dtype?
 * Reads all of them unless they are floats in one piece. *nbytes is what a
 * stream gives; *in_place tells that payload->offset and nbytes hold just that.
 */
enum tp_status tpi_onnx_typed_check(const struct tpi_onnx_typed *t,
    uint64_t n_elems, uint64_t *nbytes, bool *in_place, struct tp_err *err);

/* The nbytes that were found by tpi_onnx_typed_check. */
enum tp_status tpi_onnx_typed_stream(const struct tpi_onnx_typed *t,
    uint64_t nbytes, struct tp_stream **out, struct tp_err *err);

#endif
