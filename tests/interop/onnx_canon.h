/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_canon.h - one form for all ONNX files that say the same
 *
 * A judge for round trips that shares nothing with the reader and the writer:
 * the whole model is unpacked by protobuf-c, every tensor in it, wherever it
 * stands, gets its values as raw_data (external files are read), and the model
 * is packed again. Two files have the same content if these bytes are equal.
 * For files that are trusted: it recurses, and it exits when something fails.
 */
#ifndef ONNX_CANON_H
#define ONNX_CANON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes, to be freed by free(). */
uint8_t *onnx_canon(const char *path, size_t *nbytes);

bool onnx_same_content(const char *a, const char *b);

#endif
