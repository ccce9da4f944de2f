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

/* Create path for m, whose storages are those of r, and commit it. */
static inline enum tp_status
write_model(struct tp_reader *r, const struct tp_model *m, const char *path,
    const struct tp_create_options *options, struct tp_err *err)
{
	struct tp_writer *w = NULL;
	enum tp_status rc = tp_create(path, m, options, &w, err);
	const size_t *order;
	size_t n = 0;

	if (rc)
		return rc;
	order = tp_writer_order(w, &n);
	for (size_t i = 0; i < n && !rc; i++) {
		struct tp_stream *s = NULL;

		rc = tp_stream_storage(r, order[i], &s, err);
		if (!rc)
			rc = tp_writer_put(w, order[i], s, err);
		if (s)
			tp_stream_close(s);
	}
	if (!rc)
		rc = tp_writer_commit(w, err);
	tp_writer_free(w);
	return rc;
}

static inline enum tp_status
rewrite(struct tp_reader *r, const char *path,
    const struct tp_create_options *options, struct tp_err *err)
{
	struct tp_model m = model_of(r);
	enum tp_status rc = write_model(r, &m, path, options, err);

	model_release(&m);
	return rc;
}

#endif
