/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tp/map.h - from names to numbers
 *
 * An open-addressing table whose keys are borrowed: each must stay where it is
 * while the map lives. Lookups cost one hash and about one comparison; nothing
 * depends on the order of the table, so no output does. The hash is SipHash,
 * keyed by a value drawn once a process, so no file can be made to be slow.
 */
#ifndef TP_MAP_H
#define TP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tp/alloc.h"
#include "tp/error.h"
#include "tp/macros.h"

struct tp_map {
	const struct tp_alloc *alloc;
	struct tp_map_slot *slots;
	size_t n_slots; /* a power of two, or 0 */
	size_t n_used;
};

TP_API void tp_map_init(struct tp_map *m, const struct tp_alloc *alloc);
TP_API void tp_map_release(struct tp_map *m);

/*
 * Add key -> value. When the key is there already, sets *taken to its value
 * (taken may be NULL), changes nothing and returns TP_EARG without a message.
 */
TP_API TP_NODISCARD enum tp_status tp_map_add(struct tp_map *m,
    struct tp_str key, size_t value, size_t *taken, struct tp_err *err);

/* Room for n keys in all, so that adding them moves nothing. */
TP_API TP_NODISCARD enum tp_status tp_map_reserve(
    struct tp_map *m, size_t n, struct tp_err *err);

/* True and *value if the key is there. */
TP_API bool tp_map_find(
    const struct tp_map *m, struct tp_str key, size_t *value);

#endif
