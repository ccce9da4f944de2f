/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.c - strided elements into packed ones
 *
 * Axes that walk memory like one are merged first. The last axis is the inner
 * loop. Where another axis has the smallest stride (a transpose), reading along
 * the last would touch a cache line for each element, so both are copied in
 * tiles through a buffer that stays in the cache: a few lines high, so that
 * each line of the source is used up, and long, so that the copy is written in
 * runs.
 */
#include "tp/copy.h"

#include <stdbool.h>
#include <string.h>

#include "tp/layout.h"
#include "tp/shape.h"

#include "compiler.h"
#include "packed.h"
#include "storage.h"
#include "tensor.h"

#include "banned.h"

#define TILE_ROWS 32
#define TILE_BYTES 2048 /* of a row */
/* Rows a power of two apart would share few places of the cache. */
#define TILE_PAD 64
/* Columns whose lines are asked for ahead. */
#define AHEAD 16

typedef uint8_t tile_row[TILE_BYTES + TILE_PAD];

/* Merged axes and a position in them. */
struct walk {
	unsigned rank; /* at least 1 */
	int64_t sizes[TP_MAX_RANK], strides[TP_MAX_RANK];
	int64_t index[TP_MAX_RANK];
	int64_t at; /* element of the storage */
	/* The axis with the smallest stride, and the elements of one step along
	 * it; rank - 1 if that is the last. */
	unsigned near_axis;
	uint64_t near_elems;
};

struct unit {
	size_t size;
	/* n elements that lie `step` bytes apart. */
	void (*run)(uint8_t *dst, const uint8_t *src, size_t n, ptrdiff_t step);
	/*
	 * Up to TILE_ROWS rows of TILE_BYTES; dst_row bytes are between them.
	 */
	void (*tile)(uint8_t *dst, size_t dst_row, const uint8_t *src,
	    ptrdiff_t row, ptrdiff_t column, size_t n_rows, size_t n_columns);
};

struct pair64 {
	uint64_t low, high;
};

/* clang-format off */
#define UNITS(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) \
	X(16, struct pair64)
/* clang-format on */

/* Ask for the lines of n rows, where they lie side by side. */
TPI_INLINE void
prefetch_rows(const uint8_t *p, ptrdiff_t row, size_t n_rows)
{
	if (row < 0 || row > 16)
		return;
	for (size_t at = 0; at < n_rows * (size_t)row; at += 64)
		TPI_PREFETCH(p + at);
}

#define DEFINE(bytes, type)                                                    \
	static void run_##bytes(                                               \
	    uint8_t *dst, const uint8_t *src, size_t n, ptrdiff_t step)        \
	{                                                                      \
		if (step == (bytes)) {                                         \
			memcpy(dst, src, n *(bytes));                          \
			return;                                                \
		}                                                              \
		for (size_t i = 0; i < n; i++)                                 \
			memcpy(dst + i * (bytes), src + (ptrdiff_t)i * step,   \
			    (bytes));                                          \
	}                                                                      \
	TPI_INLINE void fill_##bytes(tile_row *tile, const uint8_t *src,       \
	    ptrdiff_t row, ptrdiff_t column, size_t n_rows, size_t n_columns)  \
	{                                                                      \
		size_t c = 0;                                                  \
                                                                               \
		for (; c + 4 <= n_columns; c += 4) {                           \
			const uint8_t *p = src + (ptrdiff_t)c * column;        \
                                                                               \
			for (size_t k = 0; k < 4 && c + k + AHEAD < n_columns; \
			     k++)                                              \
				prefetch_rows(                                 \
				    p + (ptrdiff_t)(k + AHEAD) * column, row,  \
				    n_rows);                                   \
			for (size_t r = 0; r < n_rows; r++, p += row) {        \
				type four[4];                                  \
                                                                               \
				memcpy(&four[0], p, (bytes));                  \
				memcpy(&four[1], p + column, (bytes));         \
				memcpy(&four[2], p + 2 * column, (bytes));     \
				memcpy(&four[3], p + 3 * column, (bytes));     \
				memcpy(                                        \
				    tile[r] + c * (bytes), four, 4 * (bytes)); \
			}                                                      \
		}                                                              \
		for (; c < n_columns; c++)                                     \
			for (size_t r = 0; r < n_rows; r++)                    \
				memcpy(tile[r] + c * (bytes),                  \
				    src + (ptrdiff_t)c * column +              \
					(ptrdiff_t)r * row,                    \
				    (bytes));                                  \
	}                                                                      \
	static void tile_##bytes(uint8_t *dst, size_t dst_row,                 \
	    const uint8_t *src, ptrdiff_t row, ptrdiff_t column,               \
	    size_t n_rows, size_t n_columns)                                   \
	{                                                                      \
		tile_row tile[TILE_ROWS];                                      \
                                                                               \
		/* A constant distance makes the common case faster. */        \
		if (row == (bytes))                                            \
			fill_##bytes(                                          \
			    tile, src, (bytes), column, n_rows, n_columns);    \
		else                                                           \
			fill_##bytes(                                          \
			    tile, src, row, column, n_rows, n_columns);        \
		for (size_t r = 0; r < n_rows; r++)                            \
			memcpy(                                                \
			    dst + r * dst_row, tile[r], n_columns * (bytes));  \
	}
UNITS(DEFINE)
#undef DEFINE

static const struct unit units[] = {
#define ROW(bytes, type) {bytes, run_##bytes, tile_##bytes},
    UNITS(ROW)
#undef ROW
};

static int64_t
magnitude(int64_t stride)
{
	return stride < 0 ? -stride : stride;
}

/* Merge the axes of s that have elements and go to number `from`. */
static void
begin_walk(struct walk *w, const struct tp_strided *s, uint64_t from)
{
	w->rank = 0;
	for (unsigned d = 0; d < s->rank; d++) {
		unsigned last = w->rank - 1;

		if (s->sizes[d] == 1)
			continue;
		if (w->rank &&
		    w->strides[last] == s->strides[d] * s->sizes[d]) {
			w->sizes[last] *= s->sizes[d];
			w->strides[last] = s->strides[d];
			continue;
		}
		w->sizes[w->rank] = s->sizes[d];
		w->strides[w->rank++] = s->strides[d];
	}
	if (w->rank == 0) {
		w->sizes[0] = 1;
		w->strides[0] = 1;
		w->rank = 1;
	}

	w->at = (int64_t)s->first;
	for (unsigned d = w->rank; d-- > 0;) {
		w->index[d] = (int64_t)(from % (uint64_t)w->sizes[d]);
		from /= (uint64_t)w->sizes[d];
		w->at += w->index[d] * w->strides[d];
	}

	w->near_axis = w->rank - 1;
	for (unsigned d = w->rank - 1; d-- > 0;)
		if (magnitude(w->strides[d]) <
			magnitude(w->strides[w->near_axis]) &&
		    w->strides[d] != 0)
			w->near_axis = d;
	w->near_elems = 1;
	for (unsigned d = w->near_axis + 1; d < w->rank; d++)
		w->near_elems *= (uint64_t)w->sizes[d];
}

/* Go n steps along an axis; they do not pass its end. */
static void
advance(struct walk *w, unsigned axis, int64_t n)
{
	w->index[axis] += n;
	w->at += n * w->strides[axis];
	/* cppcheck-suppress arrayIndexOutOfBoundsCond ; axis only falls */
	for (; axis > 0 && w->index[axis] == w->sizes[axis]; axis--) {
		w->at -= w->sizes[axis] * w->strides[axis];
		w->index[axis] = 0;
		w->index[axis - 1]++;
		w->at += w->strides[axis - 1];
	}
}

/*
 * Steps along the near axis that can be copied in tiles: 0 when that is the
 * last, or within a step, or when fewer than two are left.
 */
static size_t
count_near_steps(const struct walk *w, size_t n)
{
	int64_t left = w->sizes[w->near_axis] - w->index[w->near_axis];
	uint64_t steps = n / w->near_elems;

	if (w->near_axis == w->rank - 1 || steps < 2)
		return 0;
	for (unsigned d = w->near_axis + 1; d < w->rank; d++)
		if (w->index[d])
			return 0;
	return steps < (uint64_t)left ? (size_t)steps : (size_t)left;
}

/* One position of the axes between the near and the last: a matrix. */
static void
copy_matrix(const struct walk *w, const struct unit *u, uint8_t *dst,
    const uint8_t *src, size_t n_rows)
{
	unsigned last = w->rank - 1;
	size_t dst_row = (size_t)w->near_elems * u->size;
	size_t n_columns = (size_t)w->sizes[last];
	size_t width = TILE_BYTES / u->size;
	ptrdiff_t size = (ptrdiff_t)u->size;
	ptrdiff_t row = (ptrdiff_t)w->strides[w->near_axis] * size;
	ptrdiff_t column = (ptrdiff_t)w->strides[last] * size;

	for (size_t r = 0; r < n_rows; r += TILE_ROWS)
		for (size_t c = 0; c < n_columns; c += width)
			u->tile(dst + r * dst_row + c * u->size, dst_row,
			    src + (ptrdiff_t)r * row + (ptrdiff_t)c * column,
			    row, column,
			    n_rows - r < TILE_ROWS ? n_rows - r : TILE_ROWS,
			    n_columns - c < width ? n_columns - c : width);
}

static void
copy_near_steps(struct walk *w, const struct unit *u, uint8_t *dst,
    const uint8_t *base, size_t n_rows)
{
	unsigned last = w->rank - 1;
	uint64_t n_matrices = w->near_elems / (uint64_t)w->sizes[last];
	struct walk inner = *w;

	/* The axes between: the near one stays, so its index is set aside. */
	for (uint64_t m = 0; m < n_matrices; m++) {
		copy_matrix(w, u, dst,
		    base + (ptrdiff_t)inner.at * (ptrdiff_t)u->size, n_rows);
		dst += (size_t)w->sizes[last] * u->size;
		if (last > w->near_axis + 1)
			advance(&inner, last - 1, 1);
	}
	advance(w, w->near_axis, (int64_t)n_rows);
}

static void
gather_bytes(struct walk *w, const struct unit *u, const uint8_t *base,
    uint8_t *dst, size_t n)
{
	unsigned last = w->rank - 1;
	ptrdiff_t size = (ptrdiff_t)u->size;

	while (n) {
		size_t steps = count_near_steps(w, n), done;

		if (steps) {
			copy_near_steps(w, u, dst, base, steps);
			done = steps * (size_t)w->near_elems;
		} else {
			uint64_t left =
			    (uint64_t)(w->sizes[last] - w->index[last]);

			done = left < n ? (size_t)left : n;
			u->run(dst, base + (ptrdiff_t)w->at * size, done,
			    (ptrdiff_t)w->strides[last] * size);
			advance(w, last, (int64_t)done);
		}
		dst += done * u->size;
		n -= done;
	}
}

static void
gather_packed(
    struct walk *w, unsigned bits, const uint8_t *base, uint8_t *dst, size_t n)
{
	unsigned last = w->rank - 1;

	for (size_t i = 0; i < n;) {
		uint64_t left = (uint64_t)(w->sizes[last] - w->index[last]);
		size_t whole = (left < n - i ? (size_t)left : n - i) / 8;

		if (w->strides[last] == 1 && whole && i % 8 == 0 &&
		    w->at % 8 == 0) {
			memcpy(dst + i / 8 * bits,
			    base + (size_t)w->at / 8 * bits, whole * bits);
			advance(w, last, (int64_t)(whole * 8));
			i += whole * 8;
			continue;
		}
		tpi_packed_put(
		    dst, i, bits, tpi_packed_get(base, (size_t)w->at, bits));
		advance(w, last, 1);
		i++;
	}
}

void
tp_gather(const struct tp_strided *s, uint64_t from, size_t n, void *dst)
{
	unsigned bits = tp_dtype_bits(s->dtype);
	struct walk w;

	if (n == 0)
		return;
	begin_walk(&w, s, from);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].size * 8 == bits) {
			gather_bytes(&w, &units[i], s->base, dst, n);
			return;
		}
	gather_packed(&w, bits, s->base, dst, n);
}

struct tp_strided
tp_tensor_strided(const struct tp_tensor *t)
{
	return (struct tp_strided){
	    .dtype = t->dtype,
	    .rank = t->rank,
	    .sizes = tp_tensor_sizes(t),
	    .strides = tp_tensor_strides(t),
	    .first = t->first,
	    .base = tp_storage_data(t->storage),
	};
}

enum tp_status
tp_tensor_contiguous(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err)
{
	*out = NULL;
	if (t->sparse)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "packing a sparse tensor; tp_to_dense first");
	if (t->batch)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "packing a tensor inside tp_vmap");
	if (tp_tensor_is_row_major(t) && tp_tensor_data(t))
		return tp_tensor_alias(t, out, err);
	return tp_tensor_clone(t, TP_LAYOUT_CONTIGUOUS, out, err);
}
