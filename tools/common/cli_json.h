/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_json.h - what every tool's JSON document is put together from
 *
 * A document is one object, indented, that begins with who wrote it:
 *
 *	cli_json_begin(&j, stdout, "tp-convert");
 *	cli_json_u64(&j, "tensors", n);
 *	cli_json_end(&j);
 *
 * Unless said otherwise a function adds a member of that key to the object that
 * is open.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tp/error.h"
#include "tp/format.h"
#include "tp/json.h"

/* A tp_json_write_fn; ctx is the FILE. */
int cli_json_write(void *ctx, const char *s, size_t n);

void cli_json_begin(struct tp_json *j, FILE *out, const char *program);
/* A failed write stays on the stream, and is found when that is closed. */
void cli_json_end(struct tp_json *j);

/* A text of NULL is null. */
void cli_json_text(struct tp_json *j, const char *key, const char *value);
void cli_json_str(struct tp_json *j, const char *key, struct tp_str value);
void cli_json_u64(struct tp_json *j, const char *key, uint64_t value);
void cli_json_i64(struct tp_json *j, const char *key, int64_t value);
void cli_json_bool(struct tp_json *j, const char *key, bool value);
void cli_json_double(struct tp_json *j, const char *key, double value);

/* A shape or strides, in one line. */
void cli_json_sizes(
    struct tp_json *j, const char *key, const int64_t *sizes, unsigned rank);

/* "error": {kind, message, path, offset}; what is not known is null. */
void cli_json_error(
    struct tp_json *j, const struct tp_err *err, const char *path);

/* An element of the array that is open: {path, bytes}, {key, value}. */
void cli_json_file(struct tp_json *j, const char *path, uint64_t nbytes);
void cli_json_meta(struct tp_json *j, const struct tp_meta *meta);

#endif
