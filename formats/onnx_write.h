/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_write.h - the writing half of the ONNX descriptor; see plugin.h
 */
#ifndef TPI_ONNX_WRITE_H
#define TPI_ONNX_WRITE_H

#include "plugin.h"

bool tpi_onnx_holds_dtype(enum tp_dtype dtype, uint64_t n_elems);
bool tpi_onnx_keeps_attachment(struct tp_str name);
/* Whether what is large lies in a file beside the model. */
bool tpi_onnx_wants_outside(
    const struct tp_create_options *options, const struct tp_model *m);
unsigned tpi_onnx_loses(const struct tp_create_options *options,
    const struct tp_model *m, bool outside, size_t i, bool shared,
    char why[TP_WHY_SIZE]);
enum tp_status tpi_onnx_plan(struct tp_writer *w, struct tp_err *err);
enum tp_status tpi_onnx_put(struct tp_writer *w, size_t storage,
    struct tp_stream *s, struct tp_err *err);
enum tp_status tpi_onnx_finish(struct tp_writer *w, struct tp_err *err);
void tpi_onnx_discard(struct tp_writer *w);

/* What a file can hold beyond tensors. */
#define TPI_ONNX_CAPS \
	(TPI_CAP_METADATA | TPI_CAP_ALIAS | TPI_CAP_SPARSE | TPI_CAP_GRAPH)

#endif
