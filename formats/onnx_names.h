/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_names.h - a name for every slot of a model */
#ifndef TPI_ONNX_NAMES_H
#define TPI_ONNX_NAMES_H

#include "onnx_slots.h"

/* a, b, c one after the other, in the arena; TP_ELIMIT beyond bytes_left. */
enum tp_status tpi_onnx_join(struct tpi_onnx_slots *s, struct tp_str a,
    struct tp_str b, struct tp_str c, struct tp_str *out, struct tp_err *err);

/* Name all slots; TP_EFORMAT for a name that is twice in one scope. */
enum tp_status tpi_onnx_name_slots(
    struct tpi_onnx_slots *s, struct tp_err *err);

#endif
