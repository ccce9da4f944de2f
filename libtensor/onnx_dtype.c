/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_dtype.c - dtypes as ONNX numbers and names them */
#include "tp/onnx_dtype.h"

#include <stddef.h>

#include "banned.h"

static const struct {
	int32_t code;
	const char *name;
	struct tp_onnx_since since;
} rows[TP_DTYPE_COUNT] = {
#define ROW(ID, code, name, ir_version, opset) \
	[TP_DTYPE_##ID] = {code, name, {ir_version, opset}},
    TP_ONNX_DTYPES(ROW)
#undef ROW
};

int32_t
tp_onnx_code(enum tp_dtype dtype)
{
	return rows[dtype].code;
}

enum tp_dtype
tp_onnx_dtype(int64_t code)
{
	for (int d = 0; code > 0 && d < TP_DTYPE_COUNT; d++)
		if (rows[d].code == code)
			return (enum tp_dtype)d;
	return TP_DTYPE_NONE;
}

enum tp_dtype
tp_onnx_dtype_named(struct tp_str name)
{
	for (int d = 0; d < TP_DTYPE_COUNT; d++)
		if (rows[d].name && tp_str_cmp(tp_str(rows[d].name), name) == 0)
			return (enum tp_dtype)d;
	return TP_DTYPE_NONE;
}

struct tp_onnx_since
tp_onnx_since(enum tp_dtype dtype)
{
	return rows[dtype].since;
}
