/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/strings.h - the strings of an evaluation, each kept once
 *
 * A tensor of strings holds numbers: element i is the number of its string in a
 * pool. Equal strings have equal numbers, and number 0 is the empty string, so
 * whatever moves or compares elements needs to know nothing of strings.
 *
 * A pool only grows; its bytes are counted, and more than its limit is refused.
 * It belongs to one thread at a time.
 */
#ifndef TP_STRINGS_H
#define TP_STRINGS_H

#include <stdint.h>

#include "tp/alloc.h"
#include "tp/error.h"
#include "tp/macros.h"

struct tp_strings;

/* max_bytes 0 stands for 1 GiB. */
TP_API TP_NODISCARD enum tp_status tp_strings_new(const struct tp_alloc *alloc,
    uint64_t max_bytes, struct tp_strings **out, struct tp_err *err);
TP_API void tp_strings_free(struct tp_strings *pool); /* NULL is allowed */

/* The number of text, which is copied. A NULL pool has the empty one only. */
TP_API TP_NODISCARD enum tp_status tp_strings_add(struct tp_strings *pool,
    struct tp_str text, uint64_t *number, struct tp_err *err);

/* The string of that number, valid while the pool is; "" for no number. */
TP_API struct tp_str tp_strings_at(
    const struct tp_strings *pool, uint64_t number);

#endif
