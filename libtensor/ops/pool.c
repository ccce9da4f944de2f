/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - MaxPool, AveragePool, LpPool, and each of them over a whole plane
 *
 * A block of outputs in a row has an accumulator each. Tap by tap, in row-major
 * order, they take what their windows have there: one strided row of the input.
 * Windows never look at padding, which would change none of the three.
 */
#include "pool_kernels.h"
#include "spatial.h"

#include <math.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/parallel.h"

#include "../tensor.h"

#include "../banned.h"

#define BLOCK 256

/* Planes of x, packed, and what is made of each. */
struct pool {
	const struct tpi_call *c;
	tp_loop_fn *take;
	struct tpi_windows w;
	int64_t n_planes, n_rows, n_blocks; /* rows a plane, blocks a row */
	int64_t x_plane, size;		    /* elements; bytes of one */
	const char *x;
	char *y;
	int64_t *indices; /* NULL: not wanted */
	double start, p;
	bool is_average, counts_pads, is_column_major;
	size_t n_parts;
};

/* A block: outputs from … from+n-1 of a row of a plane. */
struct pool_block {
	const struct pool *pool;
	int64_t plane, row, from, n;
	double acc[BLOCK];
	int64_t found[BLOCK];
};

static void
take_tap_row(void *ctx, int64_t input_row, int64_t tap_row)
{
	struct pool_block *b = ctx;
	const struct pool *p = b->pool;
	const struct tpi_window_axis *a = &p->w.axis[p->w.rank - 1];
	int64_t steps[3] = {sizeof(double), a->stride * p->size, 8};
	int64_t base = b->plane * p->x_plane + input_row * a->input;
	/* Of all taps, those that some output of the block has inside. */
	struct tpi_range first = tpi_window_taps(a, b->from + b->n - 1);
	struct tpi_range last = tpi_window_taps(a, b->from);

	(void)tap_row;
	for (int64_t k = first.first; k < last.end; k++) {
		struct tpi_range o = tpi_window_outputs(a, k);
		struct tpi_pool_tap tap = {.p = p->p, .place_step = a->stride};
		char *data[3];

		if (o.first < b->from)
			o.first = b->from;
		if (o.end > b->from + b->n)
			o.end = b->from + b->n;
		if (o.first >= o.end)
			continue;
		tap.place = base + tpi_window_at(a, o.first, k);
		data[0] = (char *)(b->acc + (o.first - b->from));
		data[1] = (char *)(uintptr_t)(p->x + tap.place * p->size);
		data[2] = (char *)(b->found + (o.first - b->from));
		p->take(&tap, data, steps, (size_t)(o.end - o.first));
	}
}

/* How many numbers the window of output o is the average of, along an axis. */
static double
count_along(const struct pool *p, unsigned d, int64_t o)
{
	struct tpi_window_axis a = p->w.axis[d];
	struct tpi_range taps;

	if (p->counts_pads) {
		a.input += a.pad_begin + a.pad_end;
		a.pad_begin = 0;
	}
	taps = tpi_window_taps(&a, o);
	return taps.end > taps.first ? (double)(taps.end - taps.first) : 0;
}

static void
take_averages(struct pool_block *b)
{
	const struct pool *p = b->pool;
	unsigned inner = p->w.rank - 1;
	int64_t row = b->row;
	double outer = 1;

	for (unsigned d = inner; d-- > 0;) {
		outer *= count_along(p, d, row % p->w.axis[d].output);
		row /= p->w.axis[d].output;
	}
	for (int64_t i = 0; i < b->n; i++)
		b->acc[i] /= outer * count_along(p, inner, b->from + i);
}

/* The p-th roots of sums of p-th powers. */
static void
take_roots(struct pool_block *b)
{
	double p = b->pool->p;

	for (int64_t i = 0; i < b->n && p != 1; i++)
		b->acc[i] = p == 2 ? sqrt(b->acc[i]) : pow(b->acc[i], 1 / p);
}

/* The place in row-major order as that with the first spatial axis fastest. */
static int64_t
column_major(const struct pool *p, int64_t place)
{
	int64_t plane = place / p->x_plane, at = 0;

	if (place < 0)
		return place;
	place %= p->x_plane;
	for (unsigned d = p->w.rank; d-- > 0;) {
		int64_t size = p->w.axis[d].input, weight = 1;

		for (unsigned e = 0; e < d; e++)
			weight *= p->w.axis[e].input;
		at += place % size * weight;
		place /= size;
	}
	return plane * p->x_plane + at;
}

static void
pool_block(struct pool_block *b)
{
	const struct pool *p = b->pool;
	int64_t width = p->w.axis[p->w.rank - 1].output;
	int64_t at = (b->plane * p->n_rows + b->row) * width + b->from;
	char *data[2] = {p->y + at * p->size, (char *)b->acc};

	for (int64_t i = 0; i < b->n; i++) {
		b->acc[i] = p->start;
		b->found[i] = -1;
	}
	tpi_windows_tap_rows(&p->w, b->row, take_tap_row, b);
	if (p->is_average)
		take_averages(b);
	else if (p->p > 0)
		take_roots(b);
	tpi_pool_end[p->c->in[0]->dtype](NULL, data, NULL, (size_t)b->n);
	for (int64_t i = 0; i < b->n && p->indices; i++)
		p->indices[at + i] = p->is_column_major
					 ? column_major(p, b->found[i])
					 : b->found[i];
}

static void
pool_part(void *ctx, size_t k)
{
	const struct pool *p = ctx;
	int64_t width = p->w.axis[p->w.rank - 1].output;
	uint64_t n = (uint64_t)(p->n_planes * p->n_rows * p->n_blocks);
	struct tpi_share mine = tpi_share(n, p->n_parts, k);
	struct pool_block b = {.pool = p};

	for (int64_t i = (int64_t)mine.from; i < (int64_t)mine.end; i++) {
		b.plane = i / p->n_blocks / p->n_rows;
		b.row = i / p->n_blocks % p->n_rows;
		b.from = i % p->n_blocks * BLOCK;
		b.n = width - b.from < BLOCK ? width - b.from : BLOCK;
		pool_block(&b);
	}
}

/* Windows are known; the rest follows from them and from the operator. */
static enum tp_status
run_pool(struct tpi_call *c, struct pool *p, struct tp_err *err)
{
	struct tp_tensor *x = NULL;
	uint64_t work = c->in[0]->n_elems;
	enum tp_status rc;

	if (c->out[0]->n_elems == 0)
		return TP_OK;
	rc = tp_tensor_contiguous(c->in[0], &x, err);
	if (rc)
		return rc;
	p->c = c;
	p->x = tpi_tensor_address(x);
	p->y = tpi_tensor_address(c->out[0]);
	p->size = tp_dtype_bits(x->dtype) / 8;
	p->n_rows = tpi_windows_rows(&p->w);
	p->n_blocks = (p->w.axis[p->w.rank - 1].output + BLOCK - 1) / BLOCK;
	for (unsigned d = 0; d < p->w.rank; d++)
		if (tp_mul_u64(work, (uint64_t)p->w.axis[d].kernel, &work))
			work = UINT64_MAX;
	p->n_parts = tpi_op_parts(
	    c, work, (uint64_t)(p->n_planes * p->n_rows * p->n_blocks));
	tp_parallel(c->n_threads, p->n_parts, pool_part, p);
	tp_tensor_free(x);
	return TP_OK;
}

static enum tp_status
infer_pool(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct tpi_windows w;
	enum tp_status rc;

	if (x->rank < 3)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 has shape %s, expected [N, C, D1, …]",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	rc = tpi_windows_read(
	    c, x->rank - 2, tp_tensor_sizes(x) + 2, NULL, &w, err);
	infos[0] = tpi_info_of(x);
	for (unsigned d = 0; d < x->rank - 2 && !rc; d++)
		infos[0].sizes[2 + d] = w.axis[d].output;
	if (c->n_out > 1) {
		infos[1] = infos[0];
		infos[1].dtype = TP_DTYPE_I64;
	}
	return rc;
}

static enum tp_status
run_windows(struct tpi_call *c, struct pool *p, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const int64_t *sizes = tp_tensor_sizes(x);
	enum tp_status rc =
	    tpi_windows_read(c, x->rank - 2, sizes + 2, NULL, &p->w, err);

	/* Tensors without elements may have axes of any size. */
	if (rc || c->out[0]->n_elems == 0)
		return rc;
	p->n_planes = sizes[0] * sizes[1];
	p->x_plane = (int64_t)x->n_elems / p->n_planes;
	return run_pool(c, p, err);
}

/* All planes are one row, whose windows are as long as their steps. */
static enum tp_status
run_planes(struct tpi_call *c, struct pool *p, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t n_planes = (int64_t)c->out[0]->n_elems;

	p->n_planes = 1;
	p->x_plane = (int64_t)x->n_elems;
	p->w.rank = 1;
	p->w.axis[0] = (struct tpi_window_axis){.input = p->x_plane,
	    .output = n_planes,
	    .kernel = n_planes ? p->x_plane / n_planes : 1,
	    .stride = x->n_elems ? p->x_plane / n_planes : 1,
	    .dilation = 1};
	return run_pool(c, p, err);
}

static enum tp_status
run_max_pool(struct tpi_call *c, struct tp_err *err)
{
	struct pool p = {.start = -(double)INFINITY, .take = c->kernel};

	if (c->n_out > 1) {
		p.indices = tp_tensor_data_mut(c->out[1]);
		p.take = tpi_pool_find[c->in[0]->dtype];
	}
	p.is_column_major = tpi_attr_int(c, "storage_order", 0) != 0;
	return run_windows(c, &p, err);
}

static enum tp_status
run_average_pool(struct tpi_call *c, struct tp_err *err)
{
	struct pool p = {.is_average = true, .take = c->kernel};

	p.counts_pads = tpi_attr_int(c, "count_include_pad", 0) != 0;
	return run_windows(c, &p, err);
}

/* p was a float in opset 1. */
static enum tp_status
choose_power(struct tpi_call *c, struct pool *p, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "p");
	enum tp_dtype dtype = c->in[0]->dtype;

	p->p = !a ? 2 : a->kind == TP_ATTR_FLOAT ? a->f : (double)a->i;
	if (!(p->p > 0))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: p is %g, expected more than 0", c->op->onnx, p->p);
	p->take = p->p == 1   ? tpi_pool_l1[dtype]
		  : p->p == 2 ? tpi_pool_l2[dtype]
			      : tpi_pool_lp[dtype];
	return TP_OK;
}

static enum tp_status
run_lp_pool(struct tpi_call *c, struct tp_err *err)
{
	struct pool p = {.start = 0};
	enum tp_status rc = choose_power(c, &p, err);

	return rc ? rc : run_windows(c, &p, err);
}

static enum tp_status
infer_plane(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];

	if (x->rank < 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 has shape %s, expected [N, C, D1, …]",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	infos[0] = tpi_info_of(x);
	for (unsigned d = 2; d < x->rank; d++)
		infos[0].sizes[d] = 1;
	return TP_OK;
}

static enum tp_status
run_max_plane(struct tpi_call *c, struct tp_err *err)
{
	struct pool p = {.start = -(double)INFINITY, .take = c->kernel};

	return run_planes(c, &p, err);
}

static enum tp_status
run_average_plane(struct tpi_call *c, struct tp_err *err)
{
	struct pool p = {.is_average = true, .take = c->kernel};

	return run_planes(c, &p, err);
}

static enum tp_status
run_lp_plane(struct tpi_call *c, struct tp_err *err)
{
	struct pool p = {.start = 0};
	enum tp_status rc = choose_power(c, &p, err);

	return rc ? rc : run_planes(c, &p, err);
}

/* clang-format off */
#define WINDOW_ATTRS \
	{"auto_pad", TP_ATTR_STRING}, {"kernel_shape", TP_ATTR_INTS}, \
	{"pads", TP_ATTR_INTS}, {"strides", TP_ATTR_INTS}
#define ATTRS(name) static const struct tpi_attr_spec name[]
#define CEIL {"ceil_mode", TP_ATTR_INT}
#define DILATIONS {"dilations", TP_ATTR_INTS}
#define STORAGE_ORDER {"storage_order", TP_ATTR_INT}
#define COUNT_PADS {"count_include_pad", TP_ATTR_INT}
#define FLOAT_P {"p", TP_ATTR_FLOAT}
#define INT_P {"p", TP_ATTR_INT}
ATTRS(window_attrs) = {WINDOW_ATTRS, {NULL, 0}};
ATTRS(max_8_attrs) = {WINDOW_ATTRS, STORAGE_ORDER, {NULL, 0}};
ATTRS(max_10_attrs) = {WINDOW_ATTRS, STORAGE_ORDER, CEIL, DILATIONS, {NULL, 0}};
ATTRS(average_7_attrs) = {WINDOW_ATTRS, COUNT_PADS, {NULL, 0}};
ATTRS(average_10_attrs) = {WINDOW_ATTRS, COUNT_PADS, CEIL, {NULL, 0}};
ATTRS(average_19_attrs) =
    {WINDOW_ATTRS, COUNT_PADS, CEIL, DILATIONS, {NULL, 0}};
ATTRS(lp_1_attrs) = {WINDOW_ATTRS, FLOAT_P, {NULL, 0}};
ATTRS(lp_2_attrs) = {WINDOW_ATTRS, INT_P, {NULL, 0}};
ATTRS(lp_18_attrs) = {WINDOW_ATTRS, INT_P, CEIL, DILATIONS, {NULL, 0}};
ATTRS(float_p_attrs) = {FLOAT_P, {NULL, 0}};
ATTRS(int_p_attrs) = {INT_P, {NULL, 0}};
/* clang-format on */

#define ROW(op, onnx_name, from, to, outs, spec, shapes, table)             \
	{                                                                   \
		.name = #op, .onnx = onnx_name, .since = from, .until = to, \
		.min_in = 1, .max_in = 1, .min_out = 1, .max_out = outs,    \
		.attrs = spec, .infer = shapes, .run = run_##op,            \
		.kernels = tpi_pool_##table                                 \
	}
#define POOL(op, onnx_name, from, to, outs, spec, table) \
	ROW(op, onnx_name, from, to, outs, spec, infer_pool, table)
#define PLANE(op, onnx_name, from, to, spec, table) \
	ROW(op, onnx_name, from, to, 1, spec, infer_plane, table)

const struct tp_op tpi_pool_ops[] = {
    POOL(max_pool, "MaxPool", 10, 0, 2, max_10_attrs, max),
    POOL(max_pool, "MaxPool", 8, 9, 2, max_8_attrs, max),
    POOL(max_pool, "MaxPool", 1, 7, 1, window_attrs, max),
    POOL(average_pool, "AveragePool", 19, 0, 1, average_19_attrs, sum),
    POOL(average_pool, "AveragePool", 10, 18, 1, average_10_attrs, sum),
    POOL(average_pool, "AveragePool", 7, 9, 1, average_7_attrs, sum),
    POOL(average_pool, "AveragePool", 1, 6, 1, window_attrs, sum),
    POOL(lp_pool, "LpPool", 18, 0, 1, lp_18_attrs, lp),
    POOL(lp_pool, "LpPool", 2, 17, 1, lp_2_attrs, lp),
    POOL(lp_pool, "LpPool", 1, 1, 1, lp_1_attrs, lp),
    PLANE(max_plane, "GlobalMaxPool", 1, 0, NULL, max),
    PLANE(average_plane, "GlobalAveragePool", 1, 0, NULL, sum),
    PLANE(lp_plane, "GlobalLpPool", 2, 0, int_p_attrs, lp),
    PLANE(lp_plane, "GlobalLpPool", 1, 1, float_p_attrs, lp),
    {.name = NULL},
};
