/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx.c - ONNX models: weights, and the graph around them
 */
#include "plugin.h"

#include "onnx_read.h"
#include "onnx_write.h"

#include "banned.h"

const struct tp_format tpi_format_onnx = {
    .name = "onnx",
    .suffixes = (const char *const[]){".onnx", NULL},
    .caps = TPI_ONNX_CAPS | TPI_CAP_HARDENED,
    .probe_len = 4096,
    .probe = tpi_onnx_probe,
    .open = tpi_onnx_open,
    .stream = tpi_onnx_stream,
    .attach = tpi_onnx_attach,
    .close = tpi_onnx_close,
    .holds_dtype = tpi_onnx_holds_dtype,
    .survey = tpi_onnx_wants_outside,
    .loses = tpi_onnx_loses,
    .keeps_attachment = tpi_onnx_keeps_attachment,
    .plan = tpi_onnx_plan,
    .put = tpi_onnx_put,
    .finish = tpi_onnx_finish,
    .discard = tpi_onnx_discard,
};
