/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_dtype.h - dtypes as ONNX numbers them (TensorProto.data_type)
 */
#ifndef TPI_ONNX_DTYPE_H
#define TPI_ONNX_DTYPE_H

#include <stdint.h>

#include "tp/dtype.h"

/* The number of a dtype, 0 when ONNX has none for it. */
int32_t tpi_onnx_code(enum tp_dtype dtype);

/* The dtype of a number, TP_DTYPE_NONE for 0 and numbers not known here. */
enum tp_dtype tpi_onnx_dtype(int32_t code);

/*
 * The first ir_version that knows the dtype, and the first version of the
 * default operators whose Cast and Shape take it.
 */
struct tpi_onnx_since {
	int64_t ir_version, opset;
};
struct tpi_onnx_since tpi_onnx_since(enum tp_dtype dtype);

#endif
