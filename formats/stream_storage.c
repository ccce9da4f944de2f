/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_storage.c - the bytes of a storage, and a range of them
 *
 * A range of plain bytes is read where it lies. One under a checksum is read
 * with all that stands before and after it, because only the whole can be
 * checked: the first time. Then it is known whether the storage holds, and a
 * range costs no more than itself, or than the deflated piece it lies in. The
 * decoder stays where it was left, for ranges that follow each other in a
 * piece.
 */
#include "plugin.h"

#include <inttypes.h>
#include <pthread.h>

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
tpi_storage_holds(const struct tp_reader *r, size_t i, struct tp_str what,
    bool *holds, struct tp_err *err)
{
	const struct tp_storage_info *info = &r->storages[i];
	struct tpi_sum *sum = r->sums ? &r->sums[i] : NULL;

	*holds = !is_checked(r, info);
	if (*holds || !sum)
		return TP_OK;
	*holds = atomic_load(&sum->holds);
	return !atomic_load(&sum->differs)
		   ? TP_OK
		   : tpi_sum_compare(NULL, atomic_load(&sum->found),
			 info->crc32c, info->offset, TP_BRIEF(what), err);
}

enum tp_status
tpi_stream_storage_of(struct tp_reader *r, size_t i, struct tp_str what,
    struct tp_stream **out, struct tp_err *err)
{
	const struct tp_storage_info *info = &r->storages[i];
	enum tp_status rc;

	if (info->encoding != TP_ENC_RAW && r->format->stream)
		rc = r->format->stream(r, i, out, err);
	else
		rc = tpi_stream_raw(r->alloc, r->sources[info->file],
		    info->offset, info->nbytes, is_checked(r, info),
		    info->crc32c, what, out, err);
	if (!rc && r->sums && is_checked(r, info))
		(*out)->sum = &r->sums[i];
	return rc;
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

/*
 * ---- streams that wait ----
 */

#define PARKED_MAX 8

struct tpi_parking {
	const struct tp_alloc *alloc;
	pthread_mutex_t lock;
	struct {
		size_t storage;
		struct tp_stream *stream; /* or NULL */
	} places[PARKED_MAX];
	size_t next; /* to be left when all are taken */
};

enum tp_status
tpi_parking_new(
    const struct tp_alloc *alloc, struct tpi_parking **out, struct tp_err *err)
{
	struct tpi_parking *p = tp_mem_array(alloc, 1, sizeof(*p));

	*out = NULL;
	if (!p)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for what is read again");
	p->alloc = alloc;
	if (pthread_mutex_init(&p->lock, NULL)) {
		tp_mem_free(alloc, p, 1, sizeof(*p));
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "no lock");
	}
	*out = p;
	return TP_OK;
}

void
tpi_parking_free(struct tpi_parking *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < PARKED_MAX; i++)
		tp_stream_close(p->places[i].stream);
	pthread_mutex_destroy(&p->lock);
	tp_mem_free(p->alloc, p, 1, sizeof(*p));
}

static void
park(struct tpi_parking *p, size_t storage, struct tp_stream *s)
{
	size_t at;

	pthread_mutex_lock(&p->lock);
	for (at = 0; at < PARKED_MAX && p->places[at].stream; at++)
		;
	if (at == PARKED_MAX) {
		at = p->next;
		p->next = (p->next + 1) % PARKED_MAX;
		tp_stream_close(p->places[at].stream);
	}
	p->places[at].storage = storage;
	p->places[at].stream = s;
	pthread_mutex_unlock(&p->lock);
}

/* True if a is a better beginning for what comes at byte `to` than b. */
static bool
is_nearer(const struct tp_stream *a, const struct tp_stream *b, uint64_t to)
{
	return a->pos <= to && (b->pos > to || a->pos > b->pos);
}

/* One of that storage, or NULL. */
static struct tp_stream *
leave(struct tpi_parking *p, size_t storage, uint64_t to)
{
	struct tp_stream **best = NULL, *s = NULL;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < PARKED_MAX; i++)
		if (p->places[i].stream && p->places[i].storage == storage &&
		    (!best || is_nearer(p->places[i].stream, *best, to)))
			best = &p->places[i].stream;
	if (best) {
		s = *best;
		*best = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	return s;
}

/*
 * ---- ranges ----
 */

struct range_stream {
	struct tp_stream base;
	struct tp_reader *r;
	size_t storage;
	struct tp_stream *inner; /* of the whole storage */
	uint64_t from;		 /* byte of it that comes first */
	bool to_the_end;	 /* where a checksum is compared */
	bool failed;
};

/* Read a stream up to a byte of it, for nothing but its checksum. */
static enum tp_status
pass_over(struct tp_stream *s, uint64_t to, struct tp_err *err)
{
	uint8_t buf[8192];
	enum tp_status rc = TP_OK;

	while (s->pos < to && !rc) {
		uint64_t left = to - s->pos;

		rc = tp_stream_read(s, buf,
		    left < sizeof(buf) ? (size_t)left : sizeof(buf), err);
	}
	return rc;
}

static enum tp_status
range_read(struct tp_stream *base, void *buf, size_t n, struct tp_err *err)
{
	struct range_stream *s = (struct range_stream *)base;
	enum tp_status rc = pass_over(s->inner, s->from + base->pos, err);

	if (!rc)
		rc = tp_stream_read(s->inner, buf, n, err);
	if (!rc && s->to_the_end && base->pos + n == base->nbytes)
		rc = pass_over(s->inner, s->inner->nbytes, err);
	s->failed |= rc != TP_OK;
	return rc;
}

static void
range_close(struct tp_stream *base)
{
	struct range_stream *s = (struct range_stream *)base;
	struct tp_reader *r = s->r;

	if (s->to_the_end || s->failed || !r->parking ||
	    !r->format->stream_from)
		tp_stream_close(s->inner);
	else
		park(r->parking, s->storage, s->inner);
	tp_mem_free(r->alloc, s, 1, sizeof(*s));
}

/* A stream from which the range can be read: one that waits, or a new one. */
static enum tp_status
find_inner(struct range_stream *s, struct tp_str what, struct tp_err *err)
{
	struct tp_reader *r = s->r;

	if (s->to_the_end || !r->format->stream_from)
		return tpi_stream_storage_of(
		    r, s->storage, what, &s->inner, err);
	if (r->parking)
		s->inner = leave(r->parking, s->storage, s->from);
	return r->format->stream_from(r, s->storage, s->from, &s->inner, err);
}

/* Bytes [from, from + nbytes) of a storage that are not read as they lie. */
static enum tp_status
range_of(struct tp_reader *r, size_t storage, uint64_t from, uint64_t nbytes,
    bool to_the_end, struct tp_str what, struct tp_stream **out,
    struct tp_err *err)
{
	struct range_stream *s = tp_mem_array(r->alloc, 1, sizeof(*s));
	enum tp_status rc;

	if (!s)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a stream");
	s->base = (struct tp_stream){
	    .nbytes = nbytes,
	    .read = range_read,
	    .close = range_close,
	};
	s->r = r;
	s->storage = storage;
	s->from = from;
	s->to_the_end = to_the_end;
	rc = find_inner(s, what, err);
	if (rc) {
		tp_mem_free(r->alloc, s, 1, sizeof(*s));
		return rc;
	}
	*out = &s->base;
	return TP_OK;
}

enum tp_status
tpi_stream_range(struct tp_reader *r, size_t storage, uint64_t from,
    uint64_t nbytes, struct tp_str what, struct tp_stream **out,
    struct tp_err *err)
{
	const struct tp_storage_info *info = &r->storages[storage];
	bool holds = false;
	enum tp_status rc;
	uint64_t end;

	if (tp_add_u64(from, nbytes, &end) || end > info->nbytes)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': bytes %" PRIu64 "+%" PRIu64
		    " of a storage of %" PRIu64,
		    TP_BRIEF(what), from, nbytes, info->nbytes);
	if (from == 0 && nbytes == info->nbytes)
		return tpi_stream_storage_of(r, storage, what, out, err);
	rc = tpi_storage_holds(r, storage, what, &holds, err);
	if (rc)
		return rc;
	if (info->encoding == TP_ENC_RAW && holds)
		return tpi_stream_raw(r->alloc, r->sources[info->file],
		    info->offset + from, nbytes, false, 0, what, out, err);
	return range_of(r, storage, from, nbytes, !holds, what, out, err);
}
