/* SPDX-License-Identifier: Apache-2.0 */
/* cli_json.h - what every tool's JSON document is put together from */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "tp/json.h"

/* A tp_json_write_fn; ctx is the FILE. */
int cli_json_write(void *ctx, const char *s, size_t n);

/* A member of the object that is open; a text of NULL is null. */
void cli_json_text(struct tp_json *j, const char *key, const char *value);
void cli_json_u64(struct tp_json *j, const char *key, uint64_t value);

#endif
