/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/onnx_dtype.h - dtypes as ONNX numbers and names them
 *
 * The numbers are those of TensorProto.data_type, which the attribute `to` of
 * Cast has too; opset 1 gave it the name.
 *
 *	X(ID, number, name, ir_version, opset)
 *
 * ir_version is the first that knows the dtype, opset the first of the default
 * operators whose Cast and Shape take it.
 */
#ifndef TP_ONNX_DTYPE_H
#define TP_ONNX_DTYPE_H

#include <stdint.h>

#include "tp/dtype.h"
#include "tp/error.h"
#include "tp/macros.h"

/* clang-format off */
#define TP_ONNX_DTYPES(X) \
	X(F32,        1,  "FLOAT",          1,  1)  \
	X(U8,         2,  "UINT8",          1,  1)  \
	X(I8,         3,  "INT8",           1,  1)  \
	X(U16,        4,  "UINT16",         1,  1)  \
	X(I16,        5,  "INT16",          1,  1)  \
	X(I32,        6,  "INT32",          1,  1)  \
	X(I64,        7,  "INT64",          1,  1)  \
	X(STRING,     8,  "STRING",         1,  1)  \
	X(BOOL,       9,  "BOOL",           1,  1)  \
	X(F16,        10, "FLOAT16",        1,  1)  \
	X(F64,        11, "DOUBLE",         1,  1)  \
	X(U32,        12, "UINT32",         1,  1)  \
	X(U64,        13, "UINT64",         1,  1)  \
	X(C64,        14, "COMPLEX64",      1,  1)  \
	X(C128,       15, "COMPLEX128",     1,  1)  \
	X(BF16,       16, "BFLOAT16",       4,  13) \
	X(F8E4M3FN,   17, "FLOAT8E4M3FN",   9,  19) \
	X(F8E4M3FNUZ, 18, "FLOAT8E4M3FNUZ", 9,  19) \
	X(F8E5M2,     19, "FLOAT8E5M2",     9,  19) \
	X(F8E5M2FNUZ, 20, "FLOAT8E5M2FNUZ", 9,  19) \
	X(U4,         21, "UINT4",          10, 21) \
	X(I4,         22, "INT4",           10, 21) \
	X(F4E2M1,     23, "FLOAT4E2M1",     11, 23) \
	X(F8E8M0,     24, "FLOAT8E8M0",     12, 24) \
	X(U2,         25, "UINT2",          13, 25) \
	X(I2,         26, "INT2",           13, 25)
/* clang-format on */

struct tp_onnx_since {
	int64_t ir_version, opset;
};

/* The number of a dtype, 0 when ONNX has none for it. */
TP_API int32_t tp_onnx_code(enum tp_dtype dtype);

/* The dtype of a number or name, TP_DTYPE_NONE for those not known here. */
TP_API enum tp_dtype tp_onnx_dtype(int64_t code);
TP_API enum tp_dtype tp_onnx_dtype_named(struct tp_str name);

/* Zeros for what ONNX does not have. */
TP_API struct tp_onnx_since tp_onnx_since(enum tp_dtype dtype);

#endif
