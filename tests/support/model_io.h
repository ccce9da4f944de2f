/* SPDX-License-Identifier: Apache-2.0 */
/* model_io.h - a whole model into a file, and all that a reader offers */
#ifndef TEST_MODEL_IO_H
#define TEST_MODEL_IO_H

#include <stdint.h>
#include <stdlib.h>

#include "tp/format.h"

/*
 * Create path for m and commit it. The storages are those of r or, where r is
 * NULL, lie in data.
 */
static inline enum tp_status
create_model(const char *path, const struct tp_model *m, struct tp_reader *r,
    const void *const *data, const struct tp_create_options *options,
    struct tp_err *err)
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
		size_t k = order[i];

		if (r)
			rc = tp_stream_storage(r, k, &s, err);
		else
			rc = tp_stream_memory(options->alloc, data[k],
			    (size_t)m->storage_nbytes[k], &s, err);
		if (!rc)
			rc = tp_writer_put(w, k, s, err);
		tp_stream_close(s);
	}
	if (!rc)
		rc = tp_writer_commit(w, err);
	tp_writer_free(w);
	return rc;
}

/* Read every storage and attachment, and drop what was read. */
static inline enum tp_status
read_all(struct tp_reader *r, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	uint8_t buf[512];

	for (size_t i = 0; !rc && i < tp_reader_n_storages(r); i++) {
		struct tp_stream *s = NULL;

		rc = tp_stream_storage(r, i, &s, err);
		while (!rc && tp_stream_left(s)) {
			uint64_t left = tp_stream_left(s);

			rc = tp_stream_read(s, buf,
			    left < sizeof(buf) ? (size_t)left : sizeof(buf),
			    err);
		}
		tp_stream_close(s);
	}
	for (size_t i = 0; !rc && i < tp_reader_n_attachments(r); i++) {
		struct tp_attachment a;

		rc = tp_reader_attachment(r, i, &a, err);
	}
	return rc;
}

/* All bytes of a storage, read in two steps; the caller frees them. */
static inline uint8_t *
storage_bytes(struct tp_reader *r, size_t storage, size_t *n)
{
	struct tp_stream *s = NULL;
	uint8_t *p;
	size_t first;

	if (tp_stream_storage(r, storage, &s, NULL))
		abort();
	*n = (size_t)tp_stream_left(s);
	first = *n < 3 ? *n : 3;
	p = malloc(*n + 1);
	if (!p || tp_stream_read(s, p, first, NULL) ||
	    tp_stream_read(s, p + first, *n - first, NULL))
		abort();
	tp_stream_close(s);
	return p;
}

#endif
