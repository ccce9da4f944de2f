/* SPDX-License-Identifier: Apache-2.0 */
/* chunk.c - operands in row-major order, a chunk of elements at a time */
#include "chunk.h"
#include "elementwise.h"

#include <assert.h>

#include "tp/broadcast.h"
#include "tp/convert.h"
#include "tp/parallel.h"

#include "../tensor.h"

#include "../banned.h"

struct chunks {
	uint64_t n_elems, n_chunks;
	size_t n_parts;
	tpi_chunk_fn *fn;
	void *ctx;
};

static void
run_part(void *ctx, size_t k)
{
	const struct chunks *s = ctx;
	struct tpi_share mine = tpi_share(s->n_chunks, s->n_parts, k);

	for (uint64_t at = mine.from * TPI_CHUNK;
	     at < mine.end * TPI_CHUNK && at < s->n_elems; at += TPI_CHUNK) {
		uint64_t left = s->n_elems - at;

		s->fn(s->ctx, at, left < TPI_CHUNK ? (size_t)left : TPI_CHUNK);
	}
}

void
tpi_for_chunks(
    const struct tpi_call *c, uint64_t n_elems, tpi_chunk_fn *fn, void *ctx)
{
	struct chunks s = {.n_elems = n_elems, .fn = fn, .ctx = ctx};

	s.n_chunks = n_elems / TPI_CHUNK + (n_elems % TPI_CHUNK != 0);
	s.n_parts = tpi_op_parts(c, n_elems, s.n_chunks);
	tp_parallel(c->n_threads, s.n_parts, run_part, &s);
}

struct tp_strided
tpi_broadcast_to(
    const struct tp_tensor *t, const struct tp_tensor *y, int64_t *strides)
{
	struct tp_strided s = tp_tensor_strided(t);
	const struct tp_shape_ref from = {s.sizes, s.rank};
	const struct tp_shape_ref to = {tp_tensor_sizes(y), y->rank};

	tp_broadcast_strides(from, s.strides, to, strides);
	s.rank = to.rank;
	s.sizes = to.sizes;
	s.strides = strides;
	return s;
}

/* Does each element lie behind the one before? */
static bool
is_packed(const struct tp_strided *s)
{
	int64_t stride = 1;

	for (unsigned d = s->rank; d-- > 0; stride *= s->sizes[d])
		if (s->sizes[d] != 1 && s->strides[d] != stride)
			return false;
	return true;
}

const void *
tpi_chunk_read(
    const struct tp_strided *s, uint64_t from, size_t n, union tpi_chunk *room)
{
	unsigned bits = tp_dtype_bits(s->dtype);
	uint64_t first = s->first + from;

	if (is_packed(s) && (bits >= 8 || first % 8 == 0))
		return (const uint8_t *)s->base +
		       (bits >= 8 ? first * (bits / 8) : first / 8 * bits);
	tp_gather(s, from, n, room);
	return room;
}

void *
tpi_chunk_place(struct tp_tensor *t, uint64_t from)
{
	return (uint8_t *)tp_tensor_data_mut(t) +
	       from / 8 * tp_dtype_bits(t->dtype);
}

#define LOAD_ROW(OP, ID, T, W, LOAD, STORE)                         \
	static void load_##ID(const void *src, size_t n, double *x) \
	{                                                           \
		const T *p = src;                                   \
                                                                    \
		for (size_t i = 0; i < n; i++)                      \
			x[i] = (double)LOAD(p[i]);                  \
	}
#define STORE_ROW(OP, ID, T, W, LOAD, STORE)                         \
	static void store_##ID(const double *x, size_t n, void *dst) \
	{                                                            \
		T *p = dst;                                          \
                                                                     \
		for (size_t i = 0; i < n; i++)                       \
			p[i] = STORE(x[i]);                          \
	}
TPI_FOREACH_DOUBLE(LOAD_ROW, load)
TPI_FOREACH_INT(LOAD_ROW, load)
TPI_FOREACH_BOOL(LOAD_ROW, load)
TPI_FOREACH_DOUBLE(STORE_ROW, store)

void
tpi_load_doubles(enum tp_dtype dtype, const void *src, size_t n, double *x)
{
	static void (*const loads[TP_DTYPE_COUNT])(const void *, size_t,
	    double *) = {TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, load)
		TPI_FOREACH_INT(TPI_KERNEL_ROW, load)
		    TPI_FOREACH_BOOL(TPI_KERNEL_ROW, load)};
	enum tp_status rc = TP_OK;

	if (loads[dtype])
		loads[dtype](src, n, x);
	else
		rc = tp_convert(TP_DTYPE_F64, x, dtype, src, n, TP_OVERFLOW_INF,
		    0, NULL, NULL);
	assert(rc == TP_OK);
	(void)rc;
}

void
tpi_store_doubles(enum tp_dtype dtype, const double *x, size_t n, void *dst)
{
	static void (*const stores[TP_DTYPE_COUNT])(const double *, size_t,
	    void *) = {TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, store)};
	enum tp_status rc = TP_OK;

	if (stores[dtype])
		stores[dtype](x, n, dst);
	else
		rc = tp_convert(dtype, dst, TP_DTYPE_F64, x, n, TP_OVERFLOW_INF,
		    0, NULL, NULL);
	assert(rc == TP_OK);
	(void)rc;
}

enum tp_status
tpi_numbers_input(const struct tpi_call *c, size_t k, double *list, size_t room,
    size_t *n, struct tp_err *err)
{
	const struct tp_tensor *t = k < c->n_in ? c->in[k] : NULL;
	union tpi_chunk chunk;
	struct tp_strided s;

	*n = 0;
	if (!t)
		return TP_OK;
	if (tp_dtype_kind(t->dtype) == TP_KIND_COMPLEX || tpi_is_strings(c, k))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s, expected real numbers",
		    c->op->onnx, k,
		    tpi_is_strings(c, k) ? "string" : tp_dtype_name(t->dtype));
	if (room > TPI_CHUNK)
		room = TPI_CHUNK;
	if (t->n_elems > room)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has shape %s, expected up to %zu numbers",
		    c->op->onnx, k, TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    room);
	*n = (size_t)t->n_elems;
	s = tp_tensor_strided(t);
	if (*n)
		tpi_load_doubles(
		    t->dtype, tpi_chunk_read(&s, 0, *n, &chunk), *n, list);
	return TP_OK;
}

enum tp_status
tpi_number_input(const struct tpi_call *c, size_t k, double otherwise,
    double *x, struct tp_err *err)
{
	size_t n = 0;
	enum tp_status rc = tpi_numbers_input(c, k, x, 1, &n, err);

	if (rc)
		return rc;
	if (k < c->n_in && c->in[k] && n == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu is empty, expected one number", c->op->onnx,
		    k);
	if (n == 0)
		*x = otherwise;
	return TP_OK;
}
