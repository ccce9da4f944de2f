/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_dtype.c - dtypes as ONNX numbers them (TensorProto.data_type)
 */
#include "onnx_dtype.h"

#include <stddef.h>

#include "banned.h"

static const struct {
	int32_t code;
	struct tpi_onnx_since since;
} rows[TP_DTYPE_COUNT] = {
    [TP_DTYPE_F32] = {1, {1, 1}},
    [TP_DTYPE_U8] = {2, {1, 1}},
    [TP_DTYPE_I8] = {3, {1, 1}},
    [TP_DTYPE_U16] = {4, {1, 1}},
    [TP_DTYPE_I16] = {5, {1, 1}},
    [TP_DTYPE_I32] = {6, {1, 1}},
    [TP_DTYPE_I64] = {7, {1, 1}},
    [TP_DTYPE_STRING] = {8, {1, 1}},
    [TP_DTYPE_BOOL] = {9, {1, 1}},
    [TP_DTYPE_F16] = {10, {1, 1}},
    [TP_DTYPE_F64] = {11, {1, 1}},
    [TP_DTYPE_U32] = {12, {1, 1}},
    [TP_DTYPE_U64] = {13, {1, 1}},
    [TP_DTYPE_C64] = {14, {1, 1}},
    [TP_DTYPE_C128] = {15, {1, 1}},
    [TP_DTYPE_BF16] = {16, {4, 13}},
    [TP_DTYPE_F8E4M3FN] = {17, {9, 19}},
    [TP_DTYPE_F8E4M3FNUZ] = {18, {9, 19}},
    [TP_DTYPE_F8E5M2] = {19, {9, 19}},
    [TP_DTYPE_F8E5M2FNUZ] = {20, {9, 19}},
    [TP_DTYPE_U4] = {21, {10, 21}},
    [TP_DTYPE_I4] = {22, {10, 21}},
    [TP_DTYPE_F4E2M1] = {23, {11, 23}},
    [TP_DTYPE_F8E8M0] = {24, {12, 24}},
    [TP_DTYPE_U2] = {25, {13, 25}},
    [TP_DTYPE_I2] = {26, {13, 25}},
};

int32_t
tpi_onnx_code(enum tp_dtype dtype)
{
	return rows[dtype].code;
}

enum tp_dtype
tpi_onnx_dtype(int32_t code)
{
	for (int d = 0; code > 0 && d < TP_DTYPE_COUNT; d++)
		if (rows[d].code == code)
			return (enum tp_dtype)d;
	return TP_DTYPE_NONE;
}

struct tpi_onnx_since
tpi_onnx_since(enum tp_dtype dtype)
{
	return rows[dtype].since;
}
