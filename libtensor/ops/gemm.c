/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.c - products of matrices by tiles
 *
 * A tile is a part of y whose sums so far are kept. Along k it takes a block of
 * b, then, one after the other, blocks of a:
 *
 *	            b: KC x NC
 *	            columns, in panels of TPI_NR
 *	a: MC x KC  tile: TILE x NC
 *	rows, in panels of TPI_MR
 */
#include "gemm.h"

#include "kernel.h"

#include "tp/checked.h"
#include "tp/parallel.h"

#include "../banned.h"

/* The blocks that stay in the caches. */
#define MC 128
#define NC TPI_GEMM_COLUMNS
#define KC 256
#define TILE 512
#define LINE 8 /* doubles of a cache line, at which blocks begin */

#define UNPACK_LOOP(T, LOAD, TO, FROM)    \
	for (size_t i = 0; i < n; i++)    \
	*TPI_AT(double, data[0], TO, i) = \
	    LOAD(*TPI_CONST_AT(T, data[1], FROM, i))

#define UNPACK(OP, ID, T, W, LOAD, STORE)                                 \
	TPI_CLONES static void OP##_##ID(                                 \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		const int64_t size = sizeof(T), wide = sizeof(double);    \
                                                                          \
		(void)ctx;                                                \
		if (steps[0] == wide && steps[1] == size)                 \
			UNPACK_LOOP(T, LOAD, wide, size);                 \
		else                                                      \
			UNPACK_LOOP(T, LOAD, steps[0], steps[1]);         \
	}

#define PACK(OP, ID, T, W, LOAD, STORE)                                   \
	TPI_CLONES static void OP##_##ID(                                 \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		T *y = (T *)(void *)data[0];                              \
		const double *x = (const double *)(void *)data[1];        \
                                                                          \
		(void)ctx;                                                \
		(void)steps;                                              \
		for (size_t i = 0; i < n; i++)                            \
			y[i] = STORE(x[i]);                               \
	}

TPI_FOREACH_DOUBLE(UNPACK, unpack)
TPI_FOREACH_DOUBLE(PACK, pack)

tp_loop_fn *const tpi_unpack[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, unpack)};
tp_loop_fn *const tpi_pack[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, pack)};

/*
 * Integers wrap, in whatever order: data[0] is n elements of a row of y,
 * data[1] the row of a, data[2] the first column of b.
 */
#define INT_SUMS(T, W, STEP)                                            \
	for (size_t k = 0; k < g->k; k++) {                             \
		W a = (W)*TPI_CONST_AT(T, data[1], g->a.depth_step, k); \
		const char *b = data[2] + (int64_t)k * g->b.depth_step; \
                                                                        \
		for (size_t i = 0; i < n; i++) {                        \
			W x = (W)*TPI_CONST_AT(T, b, STEP, i);          \
                                                                        \
			sums[i] += a * x;                               \
		}                                                       \
	}

#define INT_ROW(OP, ID, T, W, LOAD, STORE)                                \
	static void OP##_##ID(                                            \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		const struct tpi_gemm *g = ctx;                           \
		const int64_t size = sizeof(T), step = g->b.lane_step;    \
		T *y = (T *)(void *)data[0];                              \
		W sums[NC] = {0};                                         \
                                                                          \
		(void)steps;                                              \
		if (step == size)                                         \
			INT_SUMS(T, W, size)                              \
		else                                                      \
			INT_SUMS(T, W, step)                              \
		for (size_t i = 0; i < n; i++)                            \
			y[i] = STORE(sums[i]);                            \
	}

TPI_FOREACH_INT(INT_ROW, int_row)

tp_loop_fn *const tpi_gemm_kernels[TP_DTYPE_COUNT] = {TPI_FOREACH_DOUBLE(
    TPI_KERNEL_ROW, unpack) TPI_FOREACH_INT(TPI_KERNEL_ROW, int_row)};

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
round_up(size_t n, size_t step)
{
	return (n + step - 1) / step * step;
}

/* One panel, reading along what lies together. */
static void
pack_panel(tp_loop_fn *unpack, const struct tpi_matrix *x, double *panel,
    size_t width, size_t first, size_t lanes, size_t k, size_t depth)
{
	const int64_t size = sizeof(double);
	const char *from = x->data + (int64_t)first * x->lane_step +
			   (int64_t)k * x->depth_step;
	bool by_lane = lanes == 1 || x->depth_step < x->lane_step;
	int64_t steps[2] = {size, x->lane_step};

	if (lanes < width)
		memset(panel, 0, width * depth * sizeof(*panel));
	if (by_lane) {
		steps[0] = (int64_t)width * size;
		steps[1] = x->depth_step;
	}
	for (size_t i = 0; i < (by_lane ? lanes : depth); i++) {
		char *data[2] = {(char *)(panel + (by_lane ? i : i * width)),
		    (char *)(uintptr_t)from};

		unpack(NULL, data, steps, by_lane ? depth : lanes);
		from += by_lane ? x->lane_step : x->depth_step;
	}
}

static void
pack_matrix(const struct tpi_gemm *g, const struct tpi_matrix *x,
    double *panels, size_t width, size_t first, size_t n, size_t k,
    size_t depth)
{
	for (size_t at = 0; at < n; at += width)
		pack_panel(tpi_unpack[g->dtype], x, panels + at * depth, width,
		    first + at, least(width, n - at), k, depth);
}

static void
pack_a(const struct tpi_gemm *g, double *panels, size_t first, size_t n,
    size_t k, size_t depth)
{
	if (g->pack_a)
		g->pack_a(g, panels, TPI_MR, first, n, k, depth);
	else
		pack_matrix(g, &g->a, panels, TPI_MR, first, n, k, depth);
}

static void
pack_b(const struct tpi_gemm *g, double *panels, size_t first, size_t n,
    size_t k, size_t depth)
{
	if (g->pack_b)
		g->pack_b(g, panels, TPI_NR, first, n, k, depth);
	else
		pack_matrix(g, &g->b, panels, TPI_NR, first, n, k, depth);
}

static void
put_row(const struct tpi_gemm *g, size_t i, size_t j, double *sums, size_t n)
{
	size_t size = tp_dtype_bits(g->dtype) / 8;
	char *data[2] = {g->y + (int64_t)i * g->y_row + j * size, (char *)sums};

	tpi_pack[g->dtype](NULL, data, NULL, n);
}

/* Panels of a, of b, and the sums of a tile: sizes in doubles. */
struct scratch {
	size_t a, b, c, c_row;
};

static struct scratch
measure(const struct tpi_gemm *g)
{
	struct scratch s;
	size_t depth = least(KC, g->k);

	s.c_row = round_up(least(NC, g->n), TPI_NR);
	s.a = round_up(round_up(least(MC, g->m), TPI_MR) * depth, LINE);
	s.b = s.c_row * depth;
	s.c = round_up(least(TILE, g->m), TPI_MR) * s.c_row;
	return s;
}

/* Rows i … and columns j … of y. */
static void
multiply_tile(const struct tpi_gemm *g, const struct scratch *s, double *a,
    size_t i, size_t j)
{
	size_t m = least(TILE, g->m - i), n = least(NC, g->n - j);
	double *b = a + s->a, *c = b + s->b;
	tpi_products_fn *multiply =
	    g->dtype == TP_DTYPE_F64 ? tpi_products : tpi_products_exact;

	if (g->k == 0)
		memset(c, 0, round_up(m, TPI_MR) * s->c_row * sizeof(*c));
	for (size_t k = 0; k < g->k; k += KC) {
		size_t depth = least(KC, g->k - k);

		pack_b(g, b, j, n, k, depth);
		for (size_t r = 0; r < m; r += MC) {
			size_t rows = least(MC, m - r);

			pack_a(g, a, i + r, rows, k, depth);
			for (size_t q = 0; q < n; q += TPI_NR)
				multiply(a, (rows + TPI_MR - 1) / TPI_MR,
				    b + q * depth, depth, c + r * s->c_row + q,
				    s->c_row, k > 0);
		}
	}
	for (size_t r = 0; r < m; r++)
		(g->put ? g->put : put_row)(g, i + r, j, c + r * s->c_row, n);
}

static void
multiply_ints(struct tpi_gemm *g, size_t i, size_t j)
{
	size_t m = least(TILE, g->m - i), n = least(NC, g->n - j);
	int64_t size = tp_dtype_bits(g->dtype) / 8;

	for (size_t r = i; r < i + m; r++) {
		char *data[3] = {
		    g->y + (int64_t)r * g->y_row + (int64_t)j * size,
		    (char *)(uintptr_t)(g->a.data +
					(int64_t)r * g->a.lane_step),
		    (char *)(uintptr_t)(g->b.data +
					(int64_t)j * g->b.lane_step)};

		tpi_gemm_kernels[g->dtype](g, data, NULL, n);
	}
}

struct products {
	const struct tpi_gemm *shape;
	tpi_gemm_fn *each;
	struct scratch sizes;
	size_t n_scratch; /* doubles for a part */
	double *scratch;
	uint64_t n_across, n_down, n_tiles; /* of a product; of all */
	size_t n_parts;
};

static void
multiply_part(void *ctx, size_t k)
{
	const struct products *all = ctx;
	struct tpi_gemm g = *all->shape;
	struct tpi_share mine = tpi_share(all->n_tiles, all->n_parts, k);
	uint64_t a_product = all->n_across * all->n_down;
	double *scratch = all->scratch + k * all->n_scratch;

	for (uint64_t t = mine.from; t < mine.end; t++) {
		uint64_t tile = t % a_product;
		size_t i, j;

		g.product = t / a_product;
		if (all->each && (t == mine.from || tile == 0))
			all->each(g.ctx, g.product, &g);
		i = (size_t)(tile % all->n_down) * TILE;
		j = (size_t)(tile / all->n_down) * NC;
		if (tpi_unpack[g.dtype])
			multiply_tile(&g, &all->sizes, scratch, i, j);
		else
			multiply_ints(&g, i, j);
	}
}

static uint64_t
work_of(const struct tpi_gemm *g, uint64_t n_products)
{
	uint64_t work;

	if (tp_mul_u64(g->m, g->n, &work) ||
	    tp_mul_u64(work, g->k ? g->k : 1, &work) ||
	    tp_mul_u64(work, n_products, &work))
		return UINT64_MAX;
	return work;
}

enum tp_status
tpi_gemm_run(const struct tpi_call *c, const struct tpi_gemm *g,
    uint64_t n_products, tpi_gemm_fn *each, struct tp_err *err)
{
	struct products all = {.shape = g, .each = each, .sizes = measure(g)};
	double *block;
	size_t n;

	if (g->m == 0 || g->n == 0 || n_products == 0)
		return TP_OK;
	all.n_across = (g->n + NC - 1) / NC;
	all.n_down = (g->m + TILE - 1) / TILE;
	/* No more than there are elements of y. */
	all.n_tiles = n_products * all.n_across * all.n_down;
	all.n_parts = tpi_op_parts(c, work_of(g, n_products), all.n_tiles);
	all.n_scratch = round_up(all.sizes.a + all.sizes.b + all.sizes.c, LINE);
	n = all.n_parts * all.n_scratch + LINE;
	block = tpi_op_scratch(c, n, sizeof(*block));
	if (!block)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for panels", c->op->onnx);
	all.scratch = block + (LINE - (uintptr_t)block / sizeof(*block) % LINE);
	tp_parallel(c->n_threads, all.n_parts, multiply_part, &all);
	tp_mem_free(c->alloc, block, n, sizeof(*block));
	return TP_OK;
}

void
tpi_batch_go(const void *ctx, uint64_t i, struct tpi_gemm *g)
{
	const struct tpi_batch *batch = ctx;

	g->y = batch->y + (int64_t)i * batch->y_step;
	g->a.data = batch->a;
	g->b.data = batch->b;
	for (unsigned d = batch->rank; d-- > 0;) {
		int64_t at = (int64_t)(i % (uint64_t)batch->sizes[d]);

		i /= (uint64_t)batch->sizes[d];
		g->a.data += at * batch->a_steps[d];
		g->b.data += at * batch->b_steps[d];
	}
}
