/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - reading from any stream; bytes of a file and bytes in memory */
#include "stream.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"

#include "crc32c.h"

#include "banned.h"

uint64_t
tp_stream_nbytes(const struct tp_stream *s)
{
	return s->nbytes;
}

uint64_t
tp_stream_left(const struct tp_stream *s)
{
	return s->nbytes - s->pos;
}

enum tp_status
tp_stream_read(struct tp_stream *s, void *buf, size_t n, struct tp_err *err)
{
	enum tp_status rc;

	if (n > tp_stream_left(s))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%zu bytes wanted of a stream with %" PRIu64 " left", n,
		    tp_stream_left(s));
	if (n == 0)
		return TP_OK;
	rc = s->read(s, buf, n, err);
	return rc ? rc : tpi_stream_moved(s, n, err);
}

enum tp_status
tpi_stream_next(struct tp_stream *s, void *buf, size_t cap, const void **p,
    size_t *n, struct tp_err *err)
{
	enum tp_status rc;

	if (s->take) {
		rc = s->take(s, p, n, err);
		return rc ? rc : tpi_stream_moved(s, *n, err);
	}
	*p = buf;
	*n = tp_stream_left(s) < cap ? (size_t)tp_stream_left(s) : cap;
	return tp_stream_read(s, buf, *n, err);
}

void
tp_stream_close(struct tp_stream *s)
{
	if (s)
		s->close(s);
}

enum tp_status
tpi_sum_compare(struct tpi_sum *sum, uint32_t found, uint32_t expected,
    uint64_t offset, const char *what, struct tp_err *err)
{
	if (sum && found == expected)
		atomic_store(&sum->holds, true);
	if (found == expected)
		return TP_OK;
	if (sum) {
		atomic_store(&sum->found, found);
		atomic_store(&sum->differs, true);
	}
	return tp_fail(err, TP_EMISMATCH, offset,
	    "tensor '%s': checksum %08" PRIx32 ", expected %08" PRIx32, what,
	    found, expected);
}

struct raw_stream {
	struct tp_stream base;
	const struct tp_alloc *alloc;
	const struct tpi_source *file;
	uint64_t offset;
	bool check;
	uint32_t expected, crc;
	char what[TP_BRIEF_SIZE];
};

static enum tp_status
raw_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct raw_stream *s = (struct raw_stream *)base;
	enum tp_status rc =
	    tpi_source_read(s->file, s->offset + base->pos, buf, n, err);

	if (rc || !s->check)
		return rc;
	s->crc = tpi_crc32c(s->crc, buf, n);
	if (base->pos + n < base->nbytes)
		return TP_OK;
	return tpi_sum_compare(
	    base->sum, s->crc, s->expected, s->offset, s->what, err);
}

static void
raw_close(struct tp_stream *base)
{
	struct raw_stream *s = (struct raw_stream *)base;

	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

enum tp_status
tpi_stream_raw(const struct tp_alloc *alloc, const struct tpi_source *src,
    uint64_t offset, uint64_t nbytes, bool check_crc, uint32_t crc32c,
    struct tp_str what, struct tp_stream **out, struct tp_err *err)
{
	struct raw_stream *s;
	uint64_t end;

	*out = NULL;
	if (tp_add_u64(offset, nbytes, &end) || end > src->size)
		return tp_fail(err, TP_EFORMAT, offset,
		    "tensor '%s': %" PRIu64
		    " bytes do not fit in a file of %" PRIu64,
		    TP_BRIEF(what), nbytes, src->size);
	s = tp_mem_array(alloc, 1, sizeof(*s));
	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a stream");
	s->base = (struct tp_stream){
	    .nbytes = nbytes,
	    .src = check_crc ? NULL : src,
	    .offset = offset,
	    .read = raw_read,
	    .close = raw_close,
	};
	s->alloc = alloc;
	s->file = src;
	s->offset = offset;
	s->check = check_crc;
	s->expected = crc32c;
	tp_str_brief(what, s->what);
	*out = &s->base;
	return TP_OK;
}

struct memory_stream {
	struct tp_stream base;
	const struct tp_alloc *alloc;
	const uint8_t *data;
};

static enum tp_status
memory_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct memory_stream *s = (struct memory_stream *)base;

	(void)err;
	memcpy(buf, s->data + base->pos, n);
	return TP_OK;
}

static void
memory_close(struct tp_stream *base)
{
	struct memory_stream *s = (struct memory_stream *)base;

	tp_mem_free(s->alloc, s, 1, sizeof(*s));
}

enum tp_status
tp_stream_memory(const struct tp_alloc *alloc, const void *data, size_t nbytes,
    struct tp_stream **out, struct tp_err *err)
{
	struct memory_stream *s = tp_mem_array(alloc, 1, sizeof(*s));

	*out = NULL;
	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a stream");
	s->base = (struct tp_stream){
	    .nbytes = nbytes,
	    .read = memory_read,
	    .close = memory_close,
	};
	s->alloc = alloc;
	s->data = data;
	*out = &s->base;
	return TP_OK;
}
