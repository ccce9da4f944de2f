/* SPDX-License-Identifier: Apache-2.0 */
/* strings.c - a pool of strings, each kept once and known by its number */
#include "tp/strings.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/map.h"

#include "banned.h"

#define MAX_BYTES (UINT64_C(1) << 30)

struct tp_strings {
	const struct tp_alloc *alloc;
	struct tp_map numbers; /* of all but the empty string */
	struct tp_str *texts; /* number 0 is at [0], without bytes of its own */
	size_t n, capacity;
	uint64_t nbytes, max_bytes;
};

enum tp_status
tp_strings_new(const struct tp_alloc *alloc, uint64_t max_bytes,
    struct tp_strings **out, struct tp_err *err)
{
	struct tp_strings *pool = tp_mem_array(alloc, 1, sizeof(*pool));

	*out = NULL;
	if (!pool)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for strings");
	pool->alloc = alloc;
	pool->max_bytes = max_bytes ? max_bytes : MAX_BYTES;
	pool->n = 1;
	tp_map_init(&pool->numbers, alloc);
	*out = pool;
	return TP_OK;
}

void
tp_strings_free(struct tp_strings *pool)
{
	if (!pool)
		return;
	for (size_t i = 1; i < pool->n; i++)
		tp_mem_free(pool->alloc, (void *)(uintptr_t)pool->texts[i].s,
		    pool->texts[i].len + 1, 1);
	tp_mem_free(
	    pool->alloc, pool->texts, pool->capacity, sizeof(*pool->texts));
	tp_map_release(&pool->numbers);
	tp_mem_free(pool->alloc, pool, 1, sizeof(*pool));
}

static enum tp_status
make_room(struct tp_strings *pool, struct tp_err *err)
{
	size_t capacity = pool->capacity ? pool->capacity * 2 : 64;
	struct tp_str *texts;

	if (pool->n < pool->capacity)
		return TP_OK;
	texts = tp_mem_grow(
	    pool->alloc, pool->texts, pool->capacity, capacity, sizeof(*texts));
	if (!texts)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu strings", capacity);
	pool->texts = texts;
	pool->capacity = capacity;
	return TP_OK;
}

enum tp_status
tp_strings_add(struct tp_strings *pool, struct tp_str text, uint64_t *number,
    struct tp_err *err)
{
	size_t found = 0;
	uint64_t nbytes;
	enum tp_status rc;
	char *copy;

	*number = 0;
	if (text.len == 0)
		return TP_OK;
	if (!pool)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a string, but no pool of strings is given");
	if (tp_map_find(&pool->numbers, text, &found)) {
		*number = found;
		return TP_OK;
	}
	if (tp_add_u64(pool->nbytes, text.len, &nbytes) ||
	    nbytes > pool->max_bytes)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "strings of more than %" PRIu64 " bytes", pool->max_bytes);
	rc = make_room(pool, err);
	if (rc)
		return rc;
	copy = tp_mem_array(pool->alloc, text.len + 1, 1);
	if (!copy)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a string of %zu bytes", text.len);
	memcpy(copy, text.s, text.len);
	text.s = copy;
	rc = tp_map_add(&pool->numbers, text, pool->n, NULL, err);
	if (rc) {
		tp_mem_free(pool->alloc, copy, text.len + 1, 1);
		return rc;
	}
	pool->texts[pool->n] = text;
	pool->nbytes = nbytes;
	*number = pool->n++;
	return TP_OK;
}

struct tp_str
tp_strings_at(const struct tp_strings *pool, uint64_t number)
{
	if (!pool || number == 0 || number >= pool->n)
		return TP_STR("");
	return pool->texts[number];
}
