/* SPDX-License-Identifier: Apache-2.0 */
/* hostile.c - files by kind */
#include "hostile_text.h"

void
hostile_each(const char *kind, hostile_fn *fn)
{
	if (!strcmp(kind, "onnx"))
		hostile_onnx(fn);
	else if (!strcmp(kind, "native"))
		hostile_native(fn);
	else
		hostile_json(fn, !strcmp(kind, "safetensors"));
}
