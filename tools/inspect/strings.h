/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strings.h - a tensor of strings in memory, for --values
 *
 * Each element is its length as 8 bytes little-endian, then its bytes.
 */
#ifndef INSPECT_STRINGS_H
#define INSPECT_STRINGS_H

#include <stdio.h>

#include "tp/error.h"
#include "tp/format.h"
#include "tp/json.h"

#include "slice.h"

struct string_array;

/*
 * All of the entry, checked: TP_EFORMAT when lengths and bytes do not agree.
 * TP_ELIMIT when it is larger than --max-memory.
 */
enum tp_status string_array_new(struct tp_reader *r, size_t entry,
    struct string_array **out, struct tp_err *err);
/* NULL is allowed. */
void string_array_free(struct string_array *a);

/* The chosen elements: [['a' 'b'] ['c' 'd']], or as items of a JSON array. */
void string_array_print(
    const struct string_array *a, const struct slice *s, FILE *out);
void string_array_json(
    const struct string_array *a, const struct slice *s, struct tp_json *j);

#endif
