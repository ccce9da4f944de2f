/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_tensor.c - an entry as a tensor in memory
 *
 * Mapped where the bytes lie plainly in the file, the machine is little-endian
 * and the elements are aligned; else read into a storage of its own.
 */
#include <inttypes.h>

#include "tp/checked.h"
#include "tp/endian.h"

#include "stream_entry.h"

#include "banned.h"

static void
release_window(void *ctx, void *data, size_t nbytes)
{
	struct tpi_window *w = ctx;

	(void)data;
	(void)nbytes;
	tpi_window_close(w);
	tp_mem_free(w->alloc, w, 1, sizeof(*w));
}

static bool
may_map(const struct tp_reader *r, const struct tp_entry *e)
{
	const struct tp_storage_info *info = &r->storages[e->storage];
	size_t size = tp_dtype_swap_size(e->dtype);

	return !(r->flags & TP_OPEN_NO_MMAP) && !e->sparse &&
	       info->encoding == TP_ENC_RAW && e->n_elems > 0 &&
	       e->nbytes >= r->map_from && info->offset % size == 0 &&
	       (size == 1 || tp_host_is_little());
}

static enum tp_status
map_tensor(struct tp_reader *r, const struct tp_entry *e,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tpi_window *w = tp_mem_array(r->alloc, 1, sizeof(*w));
	struct tp_storage *storage = NULL;
	enum tp_status rc;

	if (!w)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a mapping");
	rc = tpi_window_open(r, e->storage, e->name, w, err);
	if (!rc) {
		/* Read-only by its kind, whatever the type of the pointer. */
		void *data = (char *)w->map + (w->data - (uint8_t *)w->map);

		rc = tp_storage_wrap(r->alloc, TP_STORAGE_MAPPED, data,
		    w->nbytes, false, release_window, w, &storage, err);
		if (rc)
			tpi_window_close(w);
	}
	if (rc) {
		tp_mem_free(r->alloc, w, 1, sizeof(*w));
		return rc;
	}
	rc = tp_tensor_new(storage, e->dtype, e->shape, e->strides, e->rank,
	    e->first, out, err);
	tp_storage_unref(storage);
	return rc;
}

static enum tp_status
read_tensor(
    struct tp_reader *r, size_t i, struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_entry *e = &r->entries[i];
	struct tp_stream *s = NULL;
	struct tp_tensor *t = NULL;
	enum tp_status rc;
	size_t nbytes;

	/* A sparse entry claims what no file has to hold; see its values. */
	if (tp_u64_to_size(e->nbytes, &nbytes))
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "tensor '%s': no memory for %" PRIu64 " bytes",
		    TP_BRIEF(e->name), e->nbytes);
	rc = tp_stream_entry(r, i, &s, err);
	if (!rc)
		rc = tp_tensor_empty(
		    r->alloc, e->dtype, e->shape, e->rank, &t, err);
	if (!rc && nbytes > 0) {
		void *data = tp_tensor_data_mut(t);
		size_t size = tp_dtype_swap_size(e->dtype);

		rc = tp_stream_read(s, data, nbytes, err);
		if (!rc && !tp_host_is_little())
			tp_swap_bytes(data, nbytes / size, size);
	}
	tp_stream_close(s);
	if (rc)
		tp_tensor_free(t);
	else
		*out = t;
	return rc;
}

enum tp_status
tp_reader_tensor(
    struct tp_reader *r, size_t i, struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_entry *e;

	*out = NULL;
	if (i >= r->n_entries)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "entry %zu of %zu",
		    i, r->n_entries);
	e = &r->entries[i];
	if (e->dtype == TP_DTYPE_STRING)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s' holds strings, which are read as a stream",
		    TP_BRIEF(e->name));
	return may_map(r, e) ? map_tensor(r, e, out, err)
			     : read_tensor(r, i, out, err);
}
