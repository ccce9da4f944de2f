/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_storage.c - the bytes of a storage, and a range of them
 *
 * A range of plain bytes is read where it lies. One under a checksum is read
 * with all that stands before and after it, because only the whole can be
 * checked.
 */
#include "plugin.h"

#include <inttypes.h>

#include "tp/checked.h"

#include "stream_entry.h"

#include "banned.h"

/* The first tensor in the storage gives messages a name. */
static struct tp_str
name_of(const struct tp_reader *r, size_t storage)
{
	size_t i = r->first_entry[storage];

	return i == TP_NONE ? TP_STR("") : r->entries[i].name;
}

static bool
is_checked(const struct tp_reader *r, const struct tp_storage_info *info)
{
	return info->has_crc32c && !(r->flags & TP_OPEN_NO_CHECKSUM);
}

enum tp_status
tpi_stream_storage_of(struct tp_reader *r, size_t i, struct tp_str what,
    struct tp_stream **out, struct tp_err *err)
{
	const struct tp_storage_info *info = &r->storages[i];

	if (info->encoding != TP_ENC_RAW && r->format->stream)
		return r->format->stream(r, i, out, err);
	return tpi_stream_raw(r->alloc, r->sources[info->file], info->offset,
	    info->nbytes, is_checked(r, info), info->crc32c, what, out, err);
}

enum tp_status
tp_stream_storage(
    struct tp_reader *r, size_t i, struct tp_stream **out, struct tp_err *err)
{
	*out = NULL;
	if (i >= r->n_storages)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "storage %zu of %zu",
		    i, r->n_storages);
	return tpi_stream_storage_of(r, i, name_of(r, i), out, err);
}

struct range_stream {
	struct tp_stream base;
	const struct tp_alloc *alloc;
	struct tp_stream *whole;
	uint64_t before; /* bytes of it still to be passed over */
};

/* Read n bytes of the whole stream for nothing but their checksum. */
static enum tp_status
pass_over(struct tp_stream *whole, uint64_t n, struct tp_err *err)
{
	uint8_t buf[8192];
	enum tp_status rc = TP_OK;

	while (n > 0 && !rc) {
		size_t part = n < sizeof(buf) ? (size_t)n : sizeof(buf);

		rc = tp_stream_read(whole, buf, part, err);
		n -= part;
	}
	return rc;
}

static enum tp_status
range_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct range_stream *s = (struct range_stream *)base;
	enum tp_status rc = pass_over(s->whole, s->before, err);

	s->before = 0;
	if (!rc)
		rc = tp_stream_read(s->whole, buf, n, err);
	if (!rc && base->pos + n == base->nbytes)
		rc = pass_over(s->whole, tp_stream_left(s->whole), err);
	return rc;
}

static void
range_close(struct tp_stream *base)
{
	struct range_stream *s = (struct range_stream *)base;

	tp_stream_close(s->whole);
	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

/* Bytes [from, from + nbytes) of a stream, which it takes, also on failure. */
static enum tp_status
range_of(const struct tp_alloc *alloc, struct tp_stream *whole, uint64_t from,
    uint64_t nbytes, struct tp_stream **out, struct tp_err *err)
{
	struct range_stream *s = tp_mem_array(alloc, 1, sizeof(*s));

	if (!s) {
		tp_stream_close(whole);
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a stream");
	}
	s->base = (struct tp_stream){
	    .nbytes = nbytes,
	    .read = range_read,
	    .close = range_close,
	};
	s->alloc = alloc;
	s->whole = whole;
	s->before = from;
	*out = &s->base;
	return TP_OK;
}

enum tp_status
tpi_stream_range(struct tp_reader *r, size_t storage, uint64_t from,
    uint64_t nbytes, struct tp_str what, struct tp_stream **out,
    struct tp_err *err)
{
	const struct tp_storage_info *info = &r->storages[storage];
	struct tp_stream *whole = NULL;
	enum tp_status rc;
	uint64_t end;

	if (tp_add_u64(from, nbytes, &end) || end > info->nbytes)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': bytes %" PRIu64 "+%" PRIu64
		    " of a storage of %" PRIu64,
		    TP_BRIEF(what), from, nbytes, info->nbytes);
	if (info->encoding == TP_ENC_RAW && !is_checked(r, info))
		return tpi_stream_raw(r->alloc, r->sources[info->file],
		    info->offset + from, nbytes, false, 0, what, out, err);
	rc = tpi_stream_storage_of(r, storage, what, &whole, err);
	if (rc)
		return rc;
	if (from == 0 && nbytes == info->nbytes) {
		*out = whole;
		return TP_OK;
	}
	return range_of(r->alloc, whole, from, nbytes, out, err);
}
