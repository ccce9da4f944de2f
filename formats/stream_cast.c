/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_cast.c - a converting stream: its buffers, and what becomes of a chunk
 */
#include "stream_cast_parts.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/endian.h"
#include "tp/parallel.h"

#include "banned.h"

/* Below this many bytes starting threads costs more than it saves. */
#define MIN_THREADED ((uint64_t)4 << 20)

size_t
tpi_cast_chunk(enum tp_dtype from, enum tp_dtype to)
{
	unsigned a = tp_dtype_bits(from), b = tp_dtype_bits(to);

	return TPI_CHUNK * 8 / (a > b ? a : b) / 64 * 64;
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
	enum tp_status rc = TP_OK;

	swap_elements(cast->from, src, n);
	if (cast->convert)
		cast->convert(cast->ctx, dst, src, n, base);
	else
		rc = tp_convert(cast->to, dst, cast->from, src, n,
		    cast->overflow, base, stats, &inner);
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
chunk_elems(const struct tpi_cast_stream *c, uint64_t k)
{
	uint64_t left = c->cast.n_elems - k * c->chunk;

	return left < c->chunk ? (size_t)left : c->chunk;
}

bool
tpi_cast_is_threaded(const struct tpi_cast_stream *c)
{
	return c->cast.n_threads != 1 && c->s.nbytes >= MIN_THREADED;
}

uint64_t
tpi_cast_chunk_offset(const struct tpi_cast_stream *c, uint64_t k)
{
	return k * packed_nbytes(c->cast.to, c->chunk);
}

/*
 * Just below the largest relative error that any chunk had so far. A chunk that
 * begins with it need not look for its own largest, unless that is as large:
 * then the first element that has it is found as ever.
 */
static double
error_floor(struct tpi_cast_stream *c)
{
	double max_rel;

	pthread_mutex_lock(&c->lock);
	max_rel = c->max_rel;
	pthread_mutex_unlock(&c->lock);
	return max_rel * (1 - 0x1p-52);
}

/* What a chunk found above the floor, or that it found nothing. */
static void
settle_error(struct tpi_cast_stream *c, struct tp_cast_stats *s, double floor)
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

void
tpi_cast_convert_chunk(struct tpi_cast_stream *c, uint64_t k, uint8_t *raw,
    struct tpi_cast_slot *slot)
{
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

void
tpi_cast_read_chunk(struct tpi_cast_stream *c, uint64_t k, uint8_t *raw,
    struct tpi_cast_slot *slot)
{
	size_t n = packed_nbytes(c->cast.from, chunk_elems(c, k));

	slot->status = tp_stream_read(c->inner, raw, n, &slot->err);
}

void
tpi_cast_pool_release(struct tpi_cast_pool *pool)
{
	tp_storage_unref(pool->block);
	*pool = (struct tpi_cast_pool){NULL, 0};
}

/* The larger block stays in the pool. */
static void
give_buffers(struct tpi_cast_stream *c)
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
	struct tpi_cast_stream *c = (struct tpi_cast_stream *)s;

	tpi_cast_ring_stop(c);
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
size_ring(struct tpi_cast_stream *c)
{
	uint64_t max =
	    c->cast.max_memory ? c->cast.max_memory : (uint64_t)16 << 20;
	unsigned n = c->cast.n_threads ? c->cast.n_threads : tp_cpu_count();

	if (n > TPI_CAST_MAX_WORKERS)
		n = TPI_CAST_MAX_WORKERS;
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
get_buffers(struct tpi_cast_stream *c)
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
		c->workers[i] = (struct tpi_cast_worker){.c = c, .raw = p};
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
	struct tpi_cast_stream *c = NULL;
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
	    .read = tpi_cast_ring_read,
	    .take = tpi_cast_ring_take,
	    .pour = tpi_cast_pour,
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
