/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_walk.c - the elements of an entry as f32, chunk by chunk */
#include "quantize.h"

#include <inttypes.h>

#include "tp/checked.h"
#include "tp/convert.h"
#include "tp/endian.h"

#include "banned.h"

/* What tp/compare.h wants to be given at a time. */
#define CHUNK ((size_t)TP_COMPARE_CHUNK)

/* The number of the first element of a block. */
static uint64_t
element_of(const struct tp_quant_groups *g, uint64_t block)
{
	uint64_t row = block / g->n_blocks, at = block % g->n_blocks;

	return (row * g->size + at * g->block) * g->inner;
}

/* Groups that lie side by side in a block: one, if it is a channel. */
static uint64_t
groups_of_block(const struct tpi_walk *w)
{
	return tpi_narrow_by_chunk(w->n) ? w->n->groups.inner : 1;
}

static uint64_t
count_blocks(const struct tpi_walk *w)
{
	uint64_t n = groups_of_block(w);

	return n ? w->n->groups.n_groups / n : 0;
}

/* Elements of a block, or of a channel: not more than were counted. */
static uint64_t
elems_of_block(const struct tp_quant_groups *g)
{
	return (g->block < g->size ? g->block : g->size) * g->inner;
}

static uint64_t
most_elems(const struct tpi_narrow *n)
{
	uint64_t limit = n->max_memory / 32;

	return limit > CHUNK ? limit : CHUNK;
}

bool
tpi_narrow_by_row(const struct tpi_narrow *n)
{
	return !tpi_narrow_casts(n) && n->recipe.per == TP_PER_CHANNEL &&
	       n->recipe.calibrate != TP_CALIBRATE_PERCENTILE &&
	       n->groups.outer == 1 &&
	       elems_of_block(&n->groups) <= most_elems(n);
}

static uint64_t
divide_up(uint64_t n, uint64_t by)
{
	return n / by + (n % by ? 1 : 0);
}

/* How much is a chunk? Of a small tensor never more than all. */
static enum tp_status
size_chunk(struct tpi_walk *w, struct tp_err *err)
{
	const struct tp_quant_groups *g = &w->n->groups;
	uint64_t elems = elems_of_block(g), all = w->n->e->n_elems;

	w->max = all < CHUNK ? (size_t)all : CHUNK;
	w->n_chunks = divide_up(all, CHUNK);
	if (!w->whole_groups)
		return TP_OK;
	if (elems > most_elems(w->n))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': %" PRIu64
		    " elements of one row of blocks do not fit into the memory "
		    "allowed; choose a later axis",
		    TP_BRIEF(w->n->e->name), elems);
	w->blocks = elems && elems < CHUNK ? CHUNK / elems : 1;
	w->n_chunks = divide_up(count_blocks(w), w->blocks);
	if (elems > CHUNK)
		w->max = (size_t)elems;
	return TP_OK;
}

size_t
tpi_walk_max_groups(const struct tpi_walk *w)
{
	uint64_t n = w->blocks * groups_of_block(w);

	return (size_t)(n < w->n->groups.n_groups ? n : w->n->groups.n_groups);
}

enum tp_status
tpi_walk_open(struct tpi_walk *w, const struct tpi_narrow *n, bool by_row,
    struct tp_err *err)
{
	enum tp_status rc;

	*w = (struct tpi_walk){
	    .n = n, .whole_groups = by_row || tpi_narrow_by_chunk(n)};
	rc = size_chunk(w, err);
	return rc ? rc : tp_stream_entry(n->r, n->entry, &w->s, err);
}

void
tpi_walk_close(struct tpi_walk *w)
{
	tp_stream_close(w->s);
	w->s = NULL;
}

static unsigned
raw_size(const struct tpi_narrow *n)
{
	return tp_dtype_bits(n->e->dtype) / 8;
}

enum tp_status
tpi_chunk_init(
    struct tpi_narrow_chunk *c, const struct tpi_walk *w, struct tp_err *err)
{
	bool is_raw = w->n->e->dtype != TP_DTYPE_F32;

	*c = (struct tpi_narrow_chunk){.n = w->n, .max = w->max};
	c->x = tp_mem_array(w->n->alloc, c->max, sizeof(*c->x));
	if (is_raw)
		c->raw = tp_mem_array(w->n->alloc, c->max, raw_size(w->n));
	if (c->x && (c->raw || !is_raw))
		return TP_OK;
	tpi_chunk_release(c);
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "no memory to read a tensor in pieces");
}

void
tpi_chunk_release(struct tpi_narrow_chunk *c)
{
	if (c->x)
		tp_mem_free(c->n->alloc, c->x, c->max, sizeof(*c->x));
	if (c->raw)
		tp_mem_free(c->n->alloc, c->raw, c->max, raw_size(c->n));
	c->x = NULL;
	c->raw = NULL;
}

/* Which elements are next? */
static void
move_on(struct tpi_walk *w, struct tpi_narrow_chunk *c)
{
	const struct tp_quant_groups *g = &w->n->groups;
	uint64_t end, total;

	if (!w->whole_groups) {
		c->first = w->next;
		c->n_elems = w->n->e->n_elems - w->next < CHUNK
				 ? (size_t)(w->n->e->n_elems - w->next)
				 : CHUNK;
		w->next += c->n_elems;
		return;
	}
	total = count_blocks(w);
	end = total - w->next < w->blocks ? total : w->next + w->blocks;
	c->first = element_of(g, w->next);
	c->n_elems = (size_t)(element_of(g, end) - c->first);
	c->first_group = w->next * groups_of_block(w);
	c->n_groups = (end - w->next) * groups_of_block(w);
	w->next = end;
}

enum tp_status
tpi_walk_read(struct tpi_walk *w, struct tpi_narrow_chunk *c, bool *more,
    struct tp_err *err)
{
	void *to = c->raw ? (void *)c->raw : (void *)c->x;

	move_on(w, c);
	*more = c->n_elems > 0;
	if (!*more)
		return TP_OK;
	if (w->n->proceed && !w->n->proceed(w->n->ctx))
		return tp_fail(err, TP_EIO, TP_NO_OFFSET, "interrupted");
	return tp_stream_read(w->s, to, c->n_elems * raw_size(w->n), err);
}

enum tp_status
tpi_chunk_load(struct tpi_narrow_chunk *c, struct tp_err *err)
{
	void *raw = c->raw ? (void *)c->raw : (void *)c->x;

	if (!tp_host_is_little())
		tp_swap_bytes(raw, c->n_elems, raw_size(c->n));
	if (!c->raw)
		return TP_OK;
	return tp_convert(TP_DTYPE_F32, c->x, c->n->e->dtype, raw, c->n_elems,
	    TP_OVERFLOW_INF, c->first, NULL, err);
}

enum tp_status
tpi_walk_next(struct tpi_walk *w, struct tpi_narrow_chunk *c, bool *more,
    struct tp_err *err)
{
	enum tp_status rc = tpi_walk_read(w, c, more, err);

	return rc || !*more ? rc : tpi_chunk_load(c, err);
}
