/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_reader.h - a reader over bytes that a test writes down
 *
 * It has a descriptor without functions, so every storage is bytes as they lie
 * in one file, and the test enters storages and entries as a format would.
 */
#ifndef TEST_FAKE_READER_H
#define TEST_FAKE_READER_H

#include <stdlib.h>

#include "formats/plugin.h"
#include "support/temp_dir.h"

static const struct tp_format fake_format = {.name = "fake"};

/* A reader of a file with these bytes; tp_close frees it. */
static inline struct tp_reader *
fake_reader(
    const struct tp_alloc *alloc, const char *path, const void *data, size_t n)
{
	struct tp_reader *r = tp_mem_array(alloc, 1, sizeof(*r));
	size_t index;

	write_file(path, data, n);
	r->format = &fake_format;
	r->alloc = alloc;
	r->limits = tp_limits_default();
	tpi_arena_init(&r->arena, alloc);
	tp_map_init(&r->names, alloc);
	tp_map_init(&r->meta_keys, alloc);
	if (tpi_reader_add_source(r, path, &index, NULL))
		abort();
	return r;
}

/* nbytes of the file from offset on, as a storage; its number. */
static inline size_t
fake_storage(struct tp_reader *r, uint64_t offset, uint64_t nbytes)
{
	const struct tp_storage_info info = {
	    .nbytes = nbytes, .stored_nbytes = nbytes, .offset = offset};
	size_t index;

	if (tpi_reader_add_storage(r, &info, TP_STR("t"), &index, NULL))
		abort();
	return index;
}

#endif
