/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h - the model of a reader into a new file, by tp_create alone
 *
 * Nothing is converted or normalised: what the target cannot hold is refused.
 */
#ifndef TEST_REWRITE_H
#define TEST_REWRITE_H

#include <stdlib.h>

#include "tp/format.h"

#include "support/model_io.h"

/* A model that borrows all that r has; .entries … are to be freed. */
static inline struct tp_model
model_of(const struct tp_reader *r)
{
	struct tp_model m = {
	    .n_entries = tp_reader_n_entries(r),
	    .n_storages = tp_reader_n_storages(r),
	    .n_meta = tp_reader_n_meta(r),
	};
	struct tp_entry *entries = calloc(m.n_entries + 1, sizeof(*entries));
	uint64_t *nbytes = calloc(m.n_storages + 1, sizeof(*nbytes));
	struct tp_meta *meta = calloc(m.n_meta + 1, sizeof(*meta));

	if (!entries || !nbytes || !meta)
		abort();
	for (size_t i = 0; i < m.n_entries; i++)
		entries[i] = *tp_reader_entry(r, i);
	for (size_t i = 0; i < m.n_storages; i++)
		nbytes[i] = tp_reader_storage(r, i)->nbytes;
	for (size_t i = 0; i < m.n_meta; i++)
		meta[i] = *tp_reader_meta(r, i);
	m.entries = entries;
	m.storage_nbytes = nbytes;
	m.meta = meta;
	return m;
}

static inline void
model_release(struct tp_model *m)
{
	free((void *)(uintptr_t)m->entries);
	free((void *)(uintptr_t)m->storage_nbytes);
	free((void *)(uintptr_t)m->meta);
}

static inline enum tp_status
rewrite(struct tp_reader *r, const char *path,
    const struct tp_create_options *options, struct tp_err *err)
{
	struct tp_model m = model_of(r);
	enum tp_status rc = create_model(path, &m, r, NULL, options, err);

	model_release(&m);
	return rc;
}

#endif
