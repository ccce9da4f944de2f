/* SPDX-License-Identifier: Apache-2.0 */
/* moves.c - copies and fills of elements by their size */
#include "moves.h"

#include <string.h>

#include "tp/copy.h"
#include "tp/parallel.h"
#include "tp/view.h"

#include "../compiler.h"
#include "../tensor.h"

#include "../banned.h"

/* clang-format off */
#define SIZES(X) X(1) X(2) X(4) X(8) X(16)
/* clang-format on */

size_t
tpi_element_size(const struct tp_tensor *t)
{
	return tp_dtype_bits(t->dtype) / 8;
}

void
tpi_fill(void *dst, const void *element, size_t size, size_t n)
{
	char *p = dst;
	size_t done = 1;

	if (n == 0)
		return;
	if (size == 1) {
		memset(p, *(const unsigned char *)element, n);
		return;
	}
	/* What is filled already is copied behind itself, twice as much each
	 * time, until that is worth a call. */
	memcpy(p, element, size);
	while (done < n) {
		size_t more = done < 4096 / size ? done : 4096 / size;

		if (more > n - done)
			more = n - done;
		memcpy(p + done * size, p, more * size);
		done += more;
	}
}

#define TAKE(size)                                                        \
	static void take_##size(                                          \
	    char *dst, const char *src, const int64_t *offsets, size_t n) \
	{                                                                 \
		for (size_t i = 0; i < n; i++)                            \
			memcpy(dst + i * (size), src + offsets[i], size); \
	}
SIZES(TAKE)
#undef TAKE

void
tpi_take(char *dst, const char *src, const int64_t *offsets, size_t size,
    size_t n, const void *filler)
{
	for (size_t i = 0; i < n && filler; i++)
		memcpy(dst + i * size,
		    offsets[i] == TPI_NOWHERE ? filler : src + offsets[i],
		    size);
	if (filler)
		return;
	switch (size) {
#define CASE(bytes)                                 \
	case bytes:                                 \
		take_##bytes(dst, src, offsets, n); \
		return;
		SIZES(CASE)
#undef CASE
	default:
		for (size_t i = 0; i < n; i++)
			memcpy(dst + i * size, src + offsets[i], size);
	}
}

/* Rows between strided operands; whole runs where both are packed. */
#define MOVE(size)                                                         \
	static void move_##size(void *ctx, char *const *data,              \
	    const int64_t *steps, size_t n, const int64_t *row_steps,      \
	    size_t n_rows)                                                 \
	{                                                                  \
		bool packed = steps[0] == (size) && steps[1] == (size);    \
                                                                           \
		(void)ctx;                                                 \
		for (size_t r = 0; r < n_rows; r++) {                      \
			char *to = data[0] + (int64_t)r * row_steps[0];    \
			const char *from =                                 \
			    data[1] + (int64_t)r * row_steps[1];           \
                                                                           \
			if (packed) {                                      \
				memcpy(to, from, n *(size));               \
				continue;                                  \
			}                                                  \
			for (size_t i = 0; i < n; i++)                     \
				memcpy(to + (int64_t)i * steps[0],         \
				    from + (int64_t)i * steps[1], (size)); \
		}                                                          \
	}
SIZES(MOVE)
#undef MOVE

static tp_loop2_fn *const movers[] = {
#define ROW(size) [size] = move_##size,
    SIZES(ROW)
#undef ROW
};

struct move {
	struct tp_iter it;
	tp_loop2_fn *fn;
	/* To packed elements: what tp_gather packs. */
	struct tp_strided from;
	char *to;
	uint64_t n_rows, row; /* along the first axis, elements of one */
	size_t n_parts;
};

static void
move_part(void *ctx, size_t k)
{
	const struct move *m = ctx;
	struct tp_iter part;

	tp_iter_part(&m->it, k, m->n_parts, &part);
	tp_iter_run2(&part, m->fn, NULL);
}

static void
pack_part(void *ctx, size_t k)
{
	const struct move *m = ctx;
	struct tpi_share mine = tpi_share(m->n_rows, m->n_parts, k);
	uint64_t from = mine.from * m->row, to = mine.end * m->row;
	size_t size = tp_dtype_bits(m->from.dtype) / 8;

	tp_gather(
	    &m->from, from, (size_t)(to - from), m->to + (size_t)from * size);
}

/* Into packed bytes; narrow elements cannot be split among threads. */
static void
pack(const struct tpi_call *c, const struct tp_tensor *t, void *to)
{
	struct move m = {.from = tp_tensor_strided(t), .to = to};

	if (t->n_elems == 0)
		return;
	m.n_rows = t->rank ? (uint64_t)m.from.sizes[0] : 1;
	m.row = t->n_elems / m.n_rows;
	m.n_parts = tp_dtype_bits(t->dtype) < 8
			? 1
			: tpi_op_parts(c, t->n_elems, m.n_rows);
	if (m.n_parts == 1)
		tp_gather(&m.from, 0, (size_t)t->n_elems, to);
	else
		tp_parallel(c->n_threads, m.n_parts, pack_part, &m);
}

enum tp_status
tpi_pack_as(const struct tpi_call *c, const struct tp_tensor *t,
    const int64_t *sizes, unsigned rank, struct tp_tensor **out,
    struct tp_err *err)
{
	enum tp_status rc = tpi_op_temp(c, t->dtype, sizes, rank, out, err);

	if (!rc)
		pack(c, t, tp_tensor_data_mut(*out));
	return rc;
}

static enum tp_status
move_strided(const struct tpi_call *c, struct tp_tensor *dst,
    const struct tp_tensor *src, struct tp_err *err)
{
	struct move m = {.fn = movers[tpi_element_size(dst)]};
	enum tp_status rc = tp_iter_init(&m.it, &dst, 1, &src, 1, 0, err);

	if (rc)
		return rc;
	m.n_parts = tpi_op_parts(c, m.it.n_elems, (uint64_t)m.it.sizes[0]);
	tp_parallel(c->n_threads, m.n_parts, move_part, &m);
	return TP_OK;
}

enum tp_status
tpi_move(const struct tpi_call *c, struct tp_tensor *dst,
    const struct tp_tensor *src, struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	enum tp_status rc;

	if (dst->n_elems == src->n_elems && tp_tensor_is_row_major(dst)) {
		pack(c, src, tpi_tensor_address(dst));
		return TP_OK;
	}
	if (src->rank == 0 || tp_tensor_strides(src)[src->rank - 1] == 1)
		return move_strided(c, dst, src, err);
	/* Columns: packing reads them in tiles. */
	rc = tpi_pack_as(c, src, tp_tensor_sizes(src), src->rank, &packed, err);
	if (!rc)
		rc = move_strided(c, dst, packed, err);
	tp_tensor_free(packed);
	return rc;
}

enum tp_status
tpi_push_size(const struct tpi_call *c, struct tpi_info *info, int64_t size,
    struct tp_err *err)
{
	if (info->rank == TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: the result has more than %u axes", c->op->onnx,
		    TP_MAX_RANK);
	info->sizes[info->rank++] = size;
	return TP_OK;
}
