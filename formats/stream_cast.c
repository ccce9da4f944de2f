/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_cast.c - read, convert and write at the same time
 *
 *	inner stream -> worker's raw buffer -> slot -> whoever reads
 *
 * Workers take turns at the inner stream, so its chunks are read in order; they
 * convert side by side, each into the slot of its chunk (a ring), and the
 * reader empties the slots in order. A chunk's failure waits in its slot, so
 * the reader meets the failure of the earliest chunk whatever the timing was.
 * With one thread, or little to do, the reader does a worker's job itself.
 */
#include "stream_cast.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"
#include "tp/parallel.h"

#include "banned.h"

#define MAX_WORKERS 16
#define MAX_SLOTS (2 * MAX_WORKERS + 2)
/* Below this many bytes starting threads costs more than it saves. */
#define MIN_THREADED ((uint64_t)4 << 20)

struct slot {
	bool full;
	enum tp_status status;
	struct tp_err err;
	struct tp_cast_stats stats;
	uint8_t *data;
	size_t nbytes;
};

struct worker {
	struct cast_stream *c;
	pthread_t thread;
	uint8_t *raw;
};

struct cast_stream {
	struct tp_stream s;
	const struct tp_alloc *alloc;
	struct tp_stream *inner;
	struct tpi_cast cast;
	struct tp_cast_stats *stats;
	size_t chunk;	   /* elements */
	size_t raw_nbytes; /* of a buffer, before and after */
	size_t out_nbytes;
	uint64_t n_chunks;

	struct worker workers[MAX_WORKERS];
	unsigned n_workers, n_started;
	struct slot slots[MAX_SLOTS];
	unsigned n_slots;
	struct tpi_cast_pool block; /* of all their buffers */

	pthread_mutex_t turn; /* held while reading the inner stream */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t filled, emptied;
	uint64_t next_in;  /* chunk to read from the inner stream */
	uint64_t next_out; /* chunk being handed out */
	size_t out_pos;	   /* bytes of it that are gone */
	bool lent; /* all of it is gone, the last perhaps still in use */
	bool stop;
	double max_rel; /* the largest relative error of a chunk so far */
};

size_t
tpi_cast_chunk(enum tp_dtype from, enum tp_dtype to)
{
	unsigned a = tp_dtype_bits(from), b = tp_dtype_bits(to);

	return TPI_CHUNK * 8 / (a > b ? a : b) / 64 * 64;
}

void
tpi_cast_stats_add(struct tp_cast_stats *sum, const struct tp_cast_stats *part)
{
	if (part->n_overflow && !sum->n_overflow) {
		sum->first_overflow = part->first_overflow;
		sum->first_overflow_value = part->first_overflow_value;
	}
	if (part->max_rel_error > sum->max_rel_error) {
		sum->max_rel_error = part->max_rel_error;
		sum->max_rel_index = part->max_rel_index;
	}
	sum->n += part->n;
	sum->n_overflow += part->n_overflow;
	sum->n_to_zero += part->n_to_zero;
	sum->n_to_subnormal += part->n_to_subnormal;
	sum->n_nan += part->n_nan;
	sum->n_inf += part->n_inf;
	sum->n_inexact += part->n_inexact;
}

/* Between little-endian bytes and values of this machine, either way. */
static void
swap_elements(enum tp_dtype dtype, void *p, size_t n)
{
	size_t unit = tp_dtype_swap_size(dtype);

	if (tp_host_is_little() || unit == 1)
		return;
	tp_swap_bytes(p, n * (tp_dtype_bits(dtype) / 8 / unit), unit);
}

enum tp_status
tpi_cast_bytes(const struct tpi_cast *cast, void *dst, void *src, size_t n,
    uint64_t base, struct tp_cast_stats *stats, struct tp_err *err)
{
	struct tp_err inner = TP_ERR_INIT;
	enum tp_status rc;

	swap_elements(cast->from, src, n);
	rc = tp_convert(cast->to, dst, cast->from, src, n, cast->overflow, base,
	    stats, &inner);
	if (rc)
		return tp_fail(err, rc, TP_NO_OFFSET, "tensor '%s': %s",
		    TP_BRIEF(cast->what), inner.msg);
	swap_elements(cast->to, dst, n);
	return TP_OK;
}

/* Bytes of n elements that are known to fit in a buffer. */
static size_t
packed_nbytes(enum tp_dtype dtype, size_t n)
{
	return (n * tp_dtype_bits(dtype) + 7) / 8;
}

/* The same, so that another buffer behind it is aligned for any dtype. */
static size_t
buffer_nbytes(enum tp_dtype dtype, size_t n)
{
	return (packed_nbytes(dtype, n) + 63) / 64 * 64;
}

static size_t
chunk_elems(const struct cast_stream *c, uint64_t k)
{
	uint64_t left = c->cast.n_elems - k * c->chunk;

	return left < c->chunk ? (size_t)left : c->chunk;
}

/*
 * Just below the largest relative error that any chunk had so far. A chunk that
 * begins with it need not look for its own largest, unless that is as large:
 * then the first element that has it is found as ever.
 */
static double
error_floor(struct cast_stream *c)
{
	double max_rel;

	pthread_mutex_lock(&c->lock);
	max_rel = c->max_rel;
	pthread_mutex_unlock(&c->lock);
	return max_rel * (1 - 0x1p-52);
}

/* What a chunk found above the floor, or that it found nothing. */
static void
settle_error(struct cast_stream *c, struct tp_cast_stats *s, double floor)
{
	if (s->max_rel_error == floor) {
		s->max_rel_error = 0;
		return;
	}
	pthread_mutex_lock(&c->lock);
	if (s->max_rel_error > c->max_rel)
		c->max_rel = s->max_rel_error;
	pthread_mutex_unlock(&c->lock);
}

/* Convert chunk k, whose bytes are in raw, into its slot. */
static void
convert_chunk(struct cast_stream *c, uint64_t k, uint8_t *raw)
{
	struct slot *slot = &c->slots[k % c->n_slots];
	size_t n = chunk_elems(c, k);
	double floor = error_floor(c);

	memset(&slot->stats, 0, sizeof(slot->stats));
	slot->stats.max_rel_error = floor;
	slot->nbytes = packed_nbytes(c->cast.to, n);
	slot->status = tpi_cast_bytes(&c->cast, slot->data, raw, n,
	    k * c->chunk, &slot->stats, &slot->err);
	if (!slot->status)
		settle_error(c, &slot->stats, floor);
}

/* Read the next chunk; its turn is the caller's. */
static enum tp_status
read_chunk(struct cast_stream *c, uint64_t k, uint8_t *raw)
{
	struct slot *slot = &c->slots[k % c->n_slots];
	size_t n = packed_nbytes(c->cast.from, chunk_elems(c, k));

	slot->status = tp_stream_read(c->inner, raw, n, &slot->err);
	return slot->status;
}

/*
 * Take the turn, wait for the next chunk's slot to be empty, read the chunk.
 * False when there is nothing left to do; *k is the chunk, *ok that it was
 * read.
 */
static bool
take_chunk(struct cast_stream *c, uint8_t *raw, uint64_t *k, bool *ok)
{
	bool more;

	pthread_mutex_lock(&c->turn);
	pthread_mutex_lock(&c->lock);
	while (!c->stop && c->next_in < c->n_chunks &&
	       c->next_in - c->next_out >= c->n_slots)
		pthread_cond_wait(&c->emptied, &c->lock);
	more = !c->stop && c->next_in < c->n_chunks;
	*k = c->next_in;
	if (more)
		c->next_in++;
	pthread_mutex_unlock(&c->lock);

	*ok = more && !read_chunk(c, *k, raw);
	if (more && !*ok) {
		pthread_mutex_lock(&c->lock);
		c->next_in = c->n_chunks;
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&c->turn);
	return more;
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct cast_stream *c = w->c;
	uint64_t k;
	bool ok;

	while (take_chunk(c, w->raw, &k, &ok)) {
		if (ok)
			convert_chunk(c, k, w->raw);
		pthread_mutex_lock(&c->lock);
		c->slots[k % c->n_slots].full = true;
		pthread_cond_signal(&c->filled);
		pthread_mutex_unlock(&c->lock);
	}
	return NULL;
}

/* Give the slot that was handed out back to the workers. */
static void
leave_slot(struct cast_stream *c)
{
	pthread_mutex_lock(&c->lock);
	c->slots[c->next_out % c->n_slots].full = false;
	c->next_out++;
	pthread_cond_signal(&c->emptied);
	pthread_mutex_unlock(&c->lock);
	c->out_pos = 0;
	c->lent = false;
}

/* The slot of the chunk that is to be handed out, full. */
static struct slot *
await_slot(struct cast_stream *c)
{
	struct slot *slot;

	if (c->lent)
		leave_slot(c);
	slot = &c->slots[c->next_out % c->n_slots];
	if (c->n_started) {
		pthread_mutex_lock(&c->lock);
		while (!slot->full)
			pthread_cond_wait(&c->filled, &c->lock);
		pthread_mutex_unlock(&c->lock);
	} else if (!slot->full) {
		if (!read_chunk(c, c->next_out, c->workers[0].raw))
			convert_chunk(c, c->next_out, c->workers[0].raw);
		slot->full = true;
	}
	return slot;
}

/* n more bytes of the slot are handed out. */
static void
hand_out(struct cast_stream *c, const struct slot *slot, size_t n)
{
	c->out_pos += n;
	c->lent = c->out_pos == slot->nbytes;
	if (c->lent && c->stats)
		tpi_cast_stats_add(c->stats, &slot->stats);
}

static void
start_workers(struct cast_stream *c)
{
	if (c->cast.n_threads == 1 || c->s.nbytes < MIN_THREADED)
		return;
	while (c->n_started < c->n_workers &&
	       !pthread_create(&c->workers[c->n_started].thread, NULL, work,
		   &c->workers[c->n_started]))
		c->n_started++;
}

/* The slot with the next bytes, or the failure that is there instead. */
static enum tp_status
next_slot(struct cast_stream *c, struct slot **slot, struct tp_err *err)
{
	if (c->s.pos == 0 && c->n_started == 0)
		start_workers(c);
	*slot = await_slot(c);
	if ((*slot)->status && err)
		*err = (*slot)->err;
	return (*slot)->status;
}

static enum tp_status
cast_take(struct tp_stream *s, const void **p, size_t *n, struct tp_err *err)
{
	struct cast_stream *c = (struct cast_stream *)s;
	struct slot *slot;
	enum tp_status rc = next_slot(c, &slot, err);

	if (rc)
		return rc;
	*p = slot->data + c->out_pos;
	*n = slot->nbytes - c->out_pos;
	hand_out(c, slot, *n);
	return TP_OK;
}

static enum tp_status
cast_read(struct tp_stream *s, void *buf, size_t n, struct tp_err *err)
{
	struct cast_stream *c = (struct cast_stream *)s;
	uint8_t *to = buf;

	while (n > 0) {
		struct slot *slot;
		enum tp_status rc = next_slot(c, &slot, err);
		size_t part;

		if (rc)
			return rc;
		part = slot->nbytes - c->out_pos;
		if (part > n)
			part = n;
		memcpy(to, slot->data + c->out_pos, part);
		to += part;
		n -= part;
		hand_out(c, slot, part);
	}
	return TP_OK;
}

void
tpi_cast_pool_release(struct tpi_cast_pool *pool)
{
	tp_storage_unref(pool->block);
	*pool = (struct tpi_cast_pool){NULL, 0};
}

/* The larger block stays in the pool. */
static void
give_buffers(struct cast_stream *c)
{
	struct tpi_cast_pool *pool = c->cast.pool;

	if (pool && c->block.block && c->block.nbytes > pool->nbytes) {
		tpi_cast_pool_release(pool);
		*pool = c->block;
	} else if (c->block.block) {
		tpi_cast_pool_release(&c->block);
	}
}

static void
cast_close(struct tp_stream *s)
{
	struct cast_stream *c = (struct cast_stream *)s;

	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_broadcast(&c->emptied);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->n_started; i++)
		pthread_join(c->workers[i].thread, NULL);

	pthread_cond_destroy(&c->emptied);
	pthread_cond_destroy(&c->filled);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->turn);
	tp_stream_close(c->inner);
	give_buffers(c);
	tp_mem_free(c->alloc, c, 1, sizeof(*c));
}

/* As many workers as threads were asked for and memory allows. */
static void
size_ring(struct cast_stream *c)
{
	uint64_t max =
	    c->cast.max_memory ? c->cast.max_memory : (uint64_t)16 << 20;
	unsigned n = c->cast.n_threads ? c->cast.n_threads : tp_cpu_count();

	if (n > MAX_WORKERS)
		n = MAX_WORKERS;
	if (n > c->n_chunks)
		n = (unsigned)c->n_chunks;
	while (n > 1 && n * (uint64_t)c->raw_nbytes +
				(2 * n + 2) * (uint64_t)c->out_nbytes >
			    max)
		n--;
	c->n_workers = n ? n : 1;
	c->n_slots = 2 * c->n_workers + 2;
	if (c->n_slots > c->n_chunks)
		c->n_slots = c->n_chunks ? (unsigned)c->n_chunks : 1;
}

/* One block for all buffers: that of the pool if it is large enough. */
static bool
get_buffers(struct cast_stream *c)
{
	struct tpi_cast_pool *pool = c->cast.pool;
	uint8_t *p;

	/* What size_ring allows is far from any overflow. */
	c->block.nbytes =
	    c->n_workers * c->raw_nbytes + c->n_slots * c->out_nbytes;
	if (pool && pool->block && pool->nbytes >= c->block.nbytes) {
		c->block = *pool;
		*pool = (struct tpi_cast_pool){NULL, 0};
	} else if (tp_storage_new(
		       c->alloc, c->block.nbytes, &c->block.block, NULL)) {
		return false;
	}
	p = tp_storage_data_mut(c->block.block);
	for (unsigned i = 0; i < c->n_workers; i++, p += c->raw_nbytes)
		c->workers[i] = (struct worker){.c = c, .raw = p};
	for (unsigned i = 0; i < c->n_slots; i++, p += c->out_nbytes)
		c->slots[i].data = p;
	return true;
}

static enum tp_status
check_cast(const struct tp_stream *inner, const struct tpi_cast *cast,
    uint64_t *nbytes, struct tp_err *err)
{
	uint64_t need = 0;
	enum tp_status rc;

	rc = tp_dtype_nbytes(cast->from, cast->n_elems, &need, err);
	if (!rc)
		rc = tp_dtype_nbytes(cast->to, cast->n_elems, nbytes, err);
	if (!rc && need > inner->nbytes - inner->pos)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64 " elements of %s need %" PRIu64
		    " bytes, %" PRIu64 " are there",
		    TP_BRIEF(cast->what), cast->n_elems,
		    tp_dtype_name(cast->from), need,
		    inner->nbytes - inner->pos);
	return rc;
}

enum tp_status
tpi_stream_cast(const struct tp_alloc *alloc, struct tp_stream *inner,
    const struct tpi_cast *cast, struct tp_cast_stats *stats,
    struct tp_stream **out, struct tp_err *err)
{
	struct cast_stream *c = NULL;
	uint64_t nbytes = 0;
	enum tp_status rc;

	*out = NULL;
	rc = check_cast(inner, cast, &nbytes, err);
	if (!rc) {
		c = tp_mem_array(alloc, 1, sizeof(*c));
		if (!c)
			rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "no memory for a conversion");
	}
	if (rc) {
		tp_stream_close(inner);
		return rc;
	}

	c->s = (struct tp_stream){.nbytes = nbytes,
	    .read = cast_read,
	    .take = cast_take,
	    .close = cast_close};
	c->alloc = alloc;
	c->inner = inner;
	c->cast = *cast;
	c->stats = stats;
	c->chunk = tpi_cast_chunk(cast->from, cast->to);
	c->raw_nbytes = buffer_nbytes(cast->from, chunk_elems(c, 0));
	c->out_nbytes = buffer_nbytes(cast->to, chunk_elems(c, 0));
	c->n_chunks =
	    cast->n_elems / c->chunk + (cast->n_elems % c->chunk ? 1 : 0);
	pthread_mutex_init(&c->turn, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->filled, NULL);
	pthread_cond_init(&c->emptied, NULL);
	size_ring(c);
	if (!get_buffers(c)) {
		cast_close(&c->s);
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for the buffers of a conversion");
	}
	*out = &c->s;
	return TP_OK;
}
