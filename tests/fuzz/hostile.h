/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile.h - files of at most 64 KB that are meant to take long or much: all
 * names, all nodes, all nesting, all expansion that fits
 *
 * What the fuzzer would have to be lucky to put together. Each is one way to
 * make quadratic of linear, or a bomb of zeros.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stddef.h>
#include <stdint.h>

#define HOSTILE_BYTES 65536

typedef void hostile_fn(const char *name, const uint8_t *data, size_t n);

/* fn for each file of a kind: "onnx", "native", "safetensors", "json". */
void hostile_each(const char *kind, hostile_fn *fn);

#endif
