/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - open addressing with linear probing, at most half full */
#include "tp/map.h"

#include <string.h>

#include "siphash.h"

#include "banned.h"

struct tp_map_slot {
	struct tp_str key; /* key.s is NULL in an empty slot */
	uint64_t hash;
	size_t value;
};

/*
 * The key is an address, different in every process where address randomisation
 * is on.
 */
static uint64_t
hash_bytes(struct tp_str bytes)
{
	static const char anchor;
	const uint64_t key[2] = {
	    (uint64_t)(uintptr_t)&anchor, ~(uint64_t)(uintptr_t)&anchor};

	return tpi_siphash(key, bytes.s, bytes.len);
}

void
tp_map_init(struct tp_map *m, const struct tp_alloc *alloc)
{
	*m = (struct tp_map){.alloc = alloc};
}

void
tp_map_release(struct tp_map *m)
{
	tp_mem_free(m->alloc, m->slots, m->n_slots, sizeof(*m->slots));
	*m = (struct tp_map){.alloc = m->alloc};
}

/* The slot that holds key, or the empty one where it belongs. */
static struct tp_map_slot *
find_slot(const struct tp_map *m, struct tp_str key, uint64_t hash)
{
	size_t mask = m->n_slots - 1;

	for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
		struct tp_map_slot *slot = &m->slots[i];

		if (!slot->key.s)
			return slot;
		if (slot->hash == hash && slot->key.len == key.len &&
		    !memcmp(slot->key.s, key.s, key.len))
			return slot;
	}
}

static bool
grow(struct tp_map *m, size_t n_slots)
{
	struct tp_map bigger = {.alloc = m->alloc, .n_used = m->n_used};

	bigger.n_slots = n_slots;
	bigger.slots =
	    tp_mem_array(m->alloc, bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < m->n_slots; i++)
		if (m->slots[i].key.s)
			*find_slot(&bigger, m->slots[i].key, m->slots[i].hash) =
			    m->slots[i];
	tp_map_release(m);
	*m = bigger;
	return true;
}

static enum tp_status
out_of_memory(size_t n, struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "no memory for a table of %zu names", n);
}

enum tp_status
tp_map_reserve(struct tp_map *m, size_t n, struct tp_err *err)
{
	size_t n_slots = m->n_slots ? m->n_slots : 64;

	while (n_slots / 2 < n) {
		if (n_slots > SIZE_MAX / 2)
			return out_of_memory(n, err);
		n_slots *= 2;
	}
	if (n_slots > m->n_slots && !grow(m, n_slots))
		return out_of_memory(n, err);
	return TP_OK;
}

enum tp_status
tp_map_add(struct tp_map *m, struct tp_str key, size_t value, size_t *taken,
    struct tp_err *err)
{
	struct tp_map_slot *slot;
	uint64_t hash;

	/* A NULL key marks an empty slot; the empty name has an address. */
	if (!key.s)
		key = TP_STR("");
	hash = hash_bytes(key);
	if (m->n_used >= m->n_slots / 2 &&
	    !grow(m, m->n_slots ? m->n_slots * 2 : 64))
		return out_of_memory(m->n_used, err);
	slot = find_slot(m, key, hash);
	if (slot->key.s) {
		if (taken)
			*taken = slot->value;
		return TP_EARG;
	}
	*slot = (struct tp_map_slot){key, hash, value};
	m->n_used++;
	return TP_OK;
}

bool
tp_map_find(const struct tp_map *m, struct tp_str key, size_t *value)
{
	struct tp_map_slot *slot;

	if (!m->n_slots)
		return false;
	if (!key.s)
		key = TP_STR("");
	slot = find_slot(m, key, hash_bytes(key));
	if (!slot->key.s)
		return false;
	*value = slot->value;
	return true;
}
