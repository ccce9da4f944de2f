/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matmul.c - MatMul as NumPy does it: matrices at the end, the rest broadcasts
 *
 * Floats: rows of a and columns of b are unpacked into panels of doubles, a
 * small block of the result at a time is held in registers. Each element of the
 * result is the sum of its products from k = 0 on, whatever the blocks are.
 *
 *	kernels: unpack n elements, steps apart, into doubles; for integers, a
 *	         block of the result (struct product)
 *	finish:  n doubles into packed elements
 */
#include "kernel.h"
#include "product.h"

#include "tp/broadcast.h"
#include "tp/checked.h"
#include "tp/parallel.h"

#include "../tensor.h"

#include "../banned.h"

/* The blocks that stay in the caches. */
#define MC 128
#define NC 256
#define KC 256

/* One matrix product: y [m, n] packed, a [m, k] and b [k, n] by steps. */
struct product {
	char *y;
	const char *a, *b;
	size_t m, n, k;
	int64_t a_row, a_column, b_row, b_column; /* bytes */
};

#define UNPACK_LOOP(T, LOAD, TO, FROM)    \
	for (size_t i = 0; i < n; i++)    \
	*TPI_AT(double, data[0], TO, i) = \
	    LOAD(*TPI_CONST_AT(T, data[1], FROM, i))

#define UNPACK(OP, ID, T, W, LOAD, STORE)                                 \
	static void OP##_##ID(                                            \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		const int64_t size = sizeof(T), wide = sizeof(double);    \
                                                                          \
		(void)ctx;                                                \
		if (steps[0] == wide && steps[1] == size)                 \
			UNPACK_LOOP(T, LOAD, wide, size);                 \
		else                                                      \
			UNPACK_LOOP(T, LOAD, steps[0], steps[1]);         \
	}                                                                 \
	static void end_##OP##_##ID(                                      \
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
#define END_ROW(OP, ID, T, W, LOAD, STORE) [TP_DTYPE_##ID] = end_##OP##_##ID,

#define INT_PRODUCT(OP, ID, T, W, LOAD, STORE)                                \
	static void OP##_##ID(                                                \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)     \
	{                                                                     \
		const struct product *p = ctx;                                \
		T *y = (T *)(void *)p->y;                                     \
                                                                              \
		(void)data;                                                   \
		(void)steps;                                                  \
		(void)n;                                                      \
		for (size_t i = 0; i < p->m; i++)                             \
			for (size_t j = 0; j < p->n; j++) {                   \
				const char *a = p->a + (int64_t)i * p->a_row; \
				const char *b =                               \
				    p->b + (int64_t)j * p->b_column;          \
				W sum = 0;                                    \
                                                                              \
				for (size_t k = 0; k < p->k; k++)             \
					sum += (W)*TPI_CONST_AT(              \
						   T, a, p->a_column, k) *    \
					       (W)*TPI_CONST_AT(              \
						   T, b, p->b_row, k);        \
				y[i * p->n + j] = STORE(sum);                 \
			}                                                     \
	}

TPI_FOREACH_DOUBLE(UNPACK, matmul)
TPI_FOREACH_INT(INT_PRODUCT, matmul)

static tp_loop_fn *const matmul_kernels[TP_DTYPE_COUNT] = {TPI_FOREACH_DOUBLE(
    TPI_KERNEL_ROW, matmul) TPI_FOREACH_INT(TPI_KERNEL_ROW, matmul)};
static tp_loop_fn *const matmul_finish[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(END_ROW, matmul)};

/* Panels and the sums so far, for one part; rows of c are c_row apart. */
struct panels {
	double *a, *b, *c;
	size_t c_row, c_size;
};

/*
 * A panel: `width` lanes of `lanes` (the rest zero) for each of `depth` steps.
 */
static void
unpack_panel(tp_loop_fn *unpack, double *panel, size_t width, const char *src,
    int64_t lane_step, int64_t depth_step, size_t lanes, size_t depth)
{
	int64_t size = sizeof(double);
	/* Read along what lies together. */
	bool by_lane = depth_step < lane_step || lanes == 1;

	if (lanes < width)
		memset(panel, 0, width * depth * sizeof(*panel));
	for (size_t i = 0; i < (by_lane ? lanes : depth); i++) {
		int64_t at = (int64_t)i;
		char *data[2] = {(char *)(panel + (by_lane ? i : i * width)),
		    (char *)(uintptr_t)(src + at * (by_lane ? lane_step
							    : depth_step))};
		int64_t steps[2] = {by_lane ? (int64_t)width * size : size,
		    by_lane ? depth_step : lane_step};

		unpack(NULL, data, steps, by_lane ? depth : lanes);
	}
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Rows i … and columns j … of the result. */
static void
multiply_tile(const struct tpi_call *c, const struct product *p,
    const struct panels *s, size_t i, size_t j)
{
	size_t m = least(MC, p->m - i), n = least(NC, p->n - j);
	size_t size = tp_dtype_bits(c->in[0]->dtype) / 8;
	tpi_product_fn *multiply =
	    c->in[0]->dtype == TP_DTYPE_F64 ? tpi_product : tpi_product_exact;

	memset(s->c, 0, s->c_size * sizeof(*s->c));
	for (size_t k = 0; k < p->k; k += KC) {
		size_t depth = least(KC, p->k - k);
		const char *a =
		    p->a + (int64_t)i * p->a_row + (int64_t)k * p->a_column;
		const char *b =
		    p->b + (int64_t)k * p->b_row + (int64_t)j * p->b_column;

		for (size_t r = 0; r < m; r += TPI_MR)
			unpack_panel(c->kernel, s->a + r * depth, TPI_MR,
			    a + (int64_t)r * p->a_row, p->a_row, p->a_column,
			    least(TPI_MR, m - r), depth);
		for (size_t q = 0; q < n; q += TPI_NR)
			unpack_panel(c->kernel, s->b + q * depth, TPI_NR,
			    b + (int64_t)q * p->b_column, p->b_column, p->b_row,
			    least(TPI_NR, n - q), depth);
		for (size_t q = 0; q < n; q += TPI_NR)
			for (size_t r = 0; r < m; r += TPI_MR)
				multiply(s->a + r * depth, s->b + q * depth,
				    depth, s->c + r * s->c_row + q, s->c_row);
	}
	for (size_t r = 0; r < m; r++) {
		char *data[2] = {p->y + ((i + r) * p->n + j) * size,
		    (char *)(s->c + r * s->c_row)};

		c->op->finish[c->in[0]->dtype](NULL, data, NULL, n);
	}
}

/* All products, their rows in parts. */
struct products {
	const struct tpi_call *c;
	struct tp_iter batch; /* y, a, b: the first elements of matrices */
	struct product shape;
	double *scratch; /* a_size + b_size + c_size for each part */
	size_t a_size, b_size, c_size, c_row;
	size_t n_parts, row_step;
};

struct products_part {
	const struct products *all;
	size_t k;
};

static void
multiply_batch(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	const struct products_part *part = ctx;
	const struct products *all = part->all;
	struct product p = all->shape;
	size_t from = least(part->k * all->row_step, p.m);
	size_t to = least(from + all->row_step, p.m);
	size_t size = tp_dtype_bits(all->c->in[0]->dtype) / 8;
	struct panels s = {.c_row = all->c_row, .c_size = all->c_size};

	if (all->scratch) {
		s.a = all->scratch +
		      part->k * (all->a_size + all->b_size + all->c_size);
		s.b = s.a + all->a_size;
		s.c = s.b + all->b_size;
	}
	p.m = to - from;
	for (size_t t = 0; t < n; t++) {
		int64_t at = (int64_t)t;

		p.y = data[0] + at * steps[0] + from * p.n * size;
		p.a = data[1] + at * steps[1] + (int64_t)from * p.a_row;
		p.b = data[2] + at * steps[2];
		if (!all->scratch) {
			all->c->kernel(&p, NULL, NULL, 0);
			continue;
		}
		for (size_t i = 0; i < p.m; i += MC)
			for (size_t j = 0; j < p.n; j += NC)
				multiply_tile(all->c, &p, &s, i, j);
	}
}

static void
multiply_part(void *ctx, size_t k)
{
	struct products_part part = {ctx, k};

	tp_iter_run(&part.all->batch, multiply_batch, &part);
}

/*
 * An operand as [batch…, rows, columns]: the steps of its last two axes, and a
 * view of its first elements, [batch…].
 */
static enum tp_status
split_operand(const struct tp_tensor *t, bool is_left, int64_t *row,
    int64_t *column, struct tp_tensor **first, struct tp_err *err)
{
	int64_t size = tp_dtype_bits(t->dtype) / 8;
	const int64_t *strides = tp_tensor_strides(t);
	unsigned rank = t->rank;

	if (rank == 1) {
		*row = is_left ? 0 : strides[0] * size;
		*column = is_left ? strides[0] * size : 0;
		rank = 0;
	} else {
		*row = strides[rank - 2] * size;
		*column = strides[rank - 1] * size;
		rank -= 2;
	}
	return tpi_tensor_derive(
	    t, tp_tensor_sizes(t), strides, rank, t->first, first, err);
}

static enum tp_status
infer_matmul(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b = c->in[1];
	unsigned a_batch = a->rank > 1 ? a->rank - 2 : 0;
	unsigned b_batch = b->rank > 1 ? b->rank - 2 : 0;
	const struct tp_shape_ref shapes[] = {
	    {tp_tensor_sizes(a), a_batch}, {tp_tensor_sizes(b), b_batch}};
	struct tpi_info *y = &infos[0];
	enum tp_status rc;

	if (a->dtype != b->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 1 has dtype %s, input 0 has %s", c->op->onnx,
		    tp_dtype_name(b->dtype), tp_dtype_name(a->dtype));
	if (a->rank == 0 || b->rank == 0 ||
	    tp_tensor_sizes(a)[a->rank - 1] !=
		tp_tensor_sizes(b)[b->rank > 1 ? b->rank - 2 : 0])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: shapes %s and %s do not fit", c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(a), a->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(b), b->rank));
	rc = tp_broadcast_shape(shapes, 2, y->sizes, &y->rank, err);
	y->dtype = a->dtype;
	if (!rc && a->rank > 1)
		y->sizes[y->rank++] = tp_tensor_sizes(a)[a->rank - 2];
	if (!rc && b->rank > 1)
		y->sizes[y->rank++] = tp_tensor_sizes(b)[b->rank - 1];
	return rc;
}

static size_t
round_up(size_t n, size_t step)
{
	return (n + step - 1) / step * step;
}

/* Blocks are small: at most 128 K numbers together. */
static size_t
scratch_size(const struct products *all)
{
	return all->a_size + all->b_size + all->c_size;
}

/* Parts, and panels for each unless the dtype is an integer. */
static enum tp_status
plan_parts(struct tpi_call *c, struct products *all, struct tp_err *err)
{
	struct product *p = &all->shape;
	uint64_t work = c->out[0]->n_elems;
	size_t m;

	if (tp_mul_u64(work, p->k, &work))
		work = UINT64_MAX;
	all->n_parts = tpi_op_parts(c, work, p->m);
	all->row_step = (p->m + all->n_parts - 1) / all->n_parts;
	if (!c->op->finish[c->in[0]->dtype])
		return TP_OK;
	m = round_up(least(MC, all->row_step), TPI_MR);
	all->c_row = round_up(least(NC, p->n), TPI_NR);
	all->a_size = m * least(KC, p->k);
	all->b_size = all->c_row * least(KC, p->k);
	all->c_size = m * all->c_row;
	all->scratch = tp_mem_array(
	    c->alloc, all->n_parts, scratch_size(all) * sizeof(double));
	return all->scratch ? TP_OK
			    : tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
				  "%s: no memory for panels", c->op->onnx);
}

static enum tp_status
run_matmul(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b = c->in[1], *y = c->out[0];
	struct tp_tensor *first[3] = {NULL, NULL, NULL};
	struct products all = {.c = c};
	struct product *p = &all.shape;
	unsigned lost = (a->rank > 1 ? 1u : 0u) + (b->rank > 1 ? 1u : 0u);
	enum tp_status rc;

	if (y->n_elems == 0)
		return TP_OK;
	/* Without products the result is 0. */
	if (a->n_elems == 0 || b->n_elems == 0) {
		memset(tpi_tensor_address(y), 0,
		    (size_t)y->n_elems * (tp_dtype_bits(y->dtype) / 8));
		return TP_OK;
	}
	p->m = a->rank > 1 ? (size_t)tp_tensor_sizes(a)[a->rank - 2] : 1;
	p->n = b->rank > 1 ? (size_t)tp_tensor_sizes(b)[b->rank - 1] : 1;
	p->k = (size_t)tp_tensor_sizes(a)[a->rank - 1];
	rc = tpi_tensor_derive(y, tp_tensor_sizes(y), tp_tensor_strides(y),
	    y->rank - lost, y->first, &first[0], err);
	if (!rc)
		rc = split_operand(
		    a, true, &p->a_row, &p->a_column, &first[1], err);
	if (!rc)
		rc = split_operand(
		    b, false, &p->b_row, &p->b_column, &first[2], err);
	if (!rc)
		rc = tp_iter_init(&all.batch, first, 1,
		    (const struct tp_tensor *const *)first + 1, 2, 0, err);
	if (!rc)
		rc = plan_parts(c, &all, err);
	if (!rc)
		tp_parallel(c->n_threads, all.n_parts, multiply_part, &all);
	tp_mem_free(c->alloc, all.scratch, all.n_parts,
	    scratch_size(&all) * sizeof(double));
	for (size_t k = 0; k < 3; k++)
		tp_tensor_free(first[k]);
	return rc;
}

#define ROW(from, to)                                                   \
	{                                                               \
		.name = "matmul", .onnx = "MatMul", .since = from,      \
		.until = to, .min_in = 2, .max_in = 2, .min_out = 1,    \
		.max_out = 1, .infer = infer_matmul, .run = run_matmul, \
		.kernels = matmul_kernels, .finish = matmul_finish      \
	}

const struct tp_op tpi_matmul_ops[] = {
    ROW(1, 0),
    {.name = NULL},
};
