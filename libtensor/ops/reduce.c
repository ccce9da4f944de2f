/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.c - sums, means, extremes and their kind over axes
 *
 * Each output has its own accumulator, which sees its elements in row-major
 * order.
 */
#include "reduce.h"

#include "tp/parallel.h"

#include "../tensor.h"

#include "../banned.h"

/* Which axes go. None given means all of them, unless that is to mean none. */
static enum tp_status
find_reduced(const struct tpi_call *c, bool *is_reduced, struct tp_err *err)
{
	unsigned rank = c->in[0]->rank, axis = 0;
	int64_t axes[TP_MAX_RANK];
	enum tp_status rc;
	bool given, all;
	size_t n = 0;

	rc = tpi_int_list(c, "axes", 1, axes, &n, &given, err);
	if (rc)
		return rc;
	all = n == 0 && !tpi_attr_int(c, "noop_with_empty_axes", 0);
	for (unsigned d = 0; d < rank; d++)
		is_reduced[d] = all;
	for (size_t i = 0; i < n; i++) {
		rc = tpi_op_axis(c, axes[i], rank, &axis, err);
		if (rc)
			return rc;
		if (is_reduced[axis])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: axis %u twice", c->op->onnx, axis);
		is_reduced[axis] = true;
	}
	return TP_OK;
}

static enum tp_status
infer_reduce(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	bool is_reduced[TP_MAX_RANK];
	bool keep = tpi_attr_int(c, "keepdims", 1) != 0;
	enum tp_status rc = find_reduced(c, is_reduced, err);

	infos[0].dtype = x->dtype;
	infos[0].rank = 0;
	for (unsigned d = 0; d < x->rank && !rc; d++)
		if (!is_reduced[d])
			infos[0].sizes[infos[0].rank++] = tp_tensor_sizes(x)[d];
		else if (keep)
			infos[0].sizes[infos[0].rank++] = 1;
	return rc;
}

/* Axes in row-major order, those joined that are walked like one. */
struct walk {
	unsigned rank;
	int64_t sizes[TP_MAX_RANK], steps[TP_MAX_RANK];
};

static void
add_axis(struct walk *w, int64_t size, int64_t step)
{
	if (size == 1)
		return;
	if (w->rank && w->steps[w->rank - 1] == size * step) {
		w->sizes[w->rank - 1] *= size;
		w->steps[w->rank - 1] = step;
		return;
	}
	w->sizes[w->rank] = size;
	w->steps[w->rank++] = step;
}

struct reduction {
	const struct tpi_call *c;
	struct walk kept, reduced;
	uint64_t n_outputs, n_reduced;
	size_t n_parts;
};

/* All elements of the outputs of a block, in order. */
static void
reduce_block(const struct reduction *r, struct tpi_reduce_block *b, char *x,
    int64_t output_step)
{
	const struct walk *w = &r->reduced;
	unsigned inner = w->rank ? w->rank - 1 : 0;
	int64_t index[TP_MAX_RANK] = {0};
	int64_t steps[2] = {output_step, w->rank ? w->steps[inner] : 0};
	size_t n = w->rank ? (size_t)w->sizes[inner] : 1;
	unsigned d;

	b->is_first = true;
	b->n_reduced = r->n_reduced;
	do {
		char *data[2] = {NULL, x};

		r->c->kernel(b, data, steps, r->n_reduced ? n : 0);
		b->is_first = false;
		for (d = inner; d > 0; d--) {
			x += w->steps[d - 1];
			if (++index[d - 1] < w->sizes[d - 1])
				break;
			x -= w->steps[d - 1] * w->sizes[d - 1];
			index[d - 1] = 0;
		}
	} while (d > 0 && r->n_reduced);
}

/* Outputs from .. to - 1. */
static void
reduce_range(const struct reduction *r, uint64_t from, uint64_t to)
{
	const struct walk *w = &r->kept;
	const struct tp_tensor *y = r->c->out[0];
	size_t size = tp_dtype_bits(y->dtype) / 8;
	uint64_t row = w->rank ? (uint64_t)w->sizes[w->rank - 1] : 1;
	struct tpi_reduce_block b;

	while (from < to) {
		char *x = tpi_tensor_address(r->c->in[0]);
		char *data[1] = {tpi_tensor_address(y) + from * size};
		uint64_t rest = from, left = row - from % row;

		b.n_outputs = TPI_REDUCE_BLOCK;
		if (left < b.n_outputs)
			b.n_outputs = (size_t)left;
		if (to - from < b.n_outputs)
			b.n_outputs = (size_t)(to - from);
		for (unsigned d = w->rank; d-- > 0;) {
			x += (int64_t)(rest % (uint64_t)w->sizes[d]) *
			     w->steps[d];
			rest /= (uint64_t)w->sizes[d];
		}
		reduce_block(r, &b, x, w->rank ? w->steps[w->rank - 1] : 0);
		r->c->op->finish[y->dtype](&b, data, NULL, b.n_outputs);
		from += b.n_outputs;
	}
}

static void
reduce_part(void *ctx, size_t k)
{
	const struct reduction *r = ctx;
	struct tpi_share mine = tpi_share(r->n_outputs, r->n_parts, k);

	reduce_range(r, mine.from, mine.end);
}

static enum tp_status
run_reduce(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct reduction r = {.c = c, .n_outputs = c->out[0]->n_elems};
	int64_t size = tp_dtype_bits(x->dtype) / 8;
	bool is_reduced[TP_MAX_RANK];
	enum tp_status rc = find_reduced(c, is_reduced, err);

	if (rc)
		return rc;
	r.n_reduced = x->n_elems > 0;
	for (unsigned d = 0; d < x->rank && x->n_elems > 0; d++) {
		add_axis(is_reduced[d] ? &r.reduced : &r.kept,
		    tp_tensor_sizes(x)[d], tp_tensor_strides(x)[d] * size);
		if (is_reduced[d])
			r.n_reduced *= (uint64_t)tp_tensor_sizes(x)[d];
	}
	r.n_parts = tpi_op_parts(c, x->n_elems, r.n_outputs);
	if (r.n_outputs > 0)
		tp_parallel(c->n_threads, r.n_parts, reduce_part, &r);
	return TP_OK;
}

static const struct tpi_attr_spec axes_attrs[] = {
    {"axes", TP_ATTR_INTS}, {"keepdims", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec input_attrs[] = {{"keepdims", TP_ATTR_INT},
    {"noop_with_empty_axes", TP_ATTR_INT}, {NULL, 0}};

/* Axes were an attribute, and are an input from some opset on. */
#define ROWS(op, reduction, onnx_name, from)                                   \
	{                                                                      \
	    .name = op,                                                        \
	    .onnx = onnx_name,                                                 \
	    .since = from,                                                     \
	    .min_in = 1,                                                       \
	    .max_in = 2,                                                       \
	    .min_out = 1,                                                      \
	    .max_out = 1,                                                      \
	    .attrs = input_attrs,                                              \
	    .infer = infer_reduce,                                             \
	    .run = run_reduce,                                                 \
	    .kernels = tpi_reduce_step_##reduction,                            \
	    .finish = tpi_reduce_end_##reduction,                              \
	},                                                                     \
	{                                                                      \
		.name = op, .onnx = onnx_name, .since = 1, .until = (from)-1,  \
		.min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,          \
		.attrs = axes_attrs, .infer = infer_reduce, .run = run_reduce, \
		.kernels = tpi_reduce_step_##reduction,                        \
		.finish = tpi_reduce_end_##reduction                           \
	}

const struct tp_op tpi_reduce_ops[] = {
    ROWS("sum", sum, "ReduceSum", 13),
    ROWS("mean", mean, "ReduceMean", 18),
    ROWS("max", max, "ReduceMax", 18),
    ROWS("reduce_min", min, "ReduceMin", 18),
    ROWS("reduce_prod", prod, "ReduceProd", 18),
    ROWS("reduce_l1", l1, "ReduceL1", 18),
    ROWS("reduce_l2", l2, "ReduceL2", 18),
    ROWS("reduce_sum_square", sum_square, "ReduceSumSquare", 18),
    ROWS("reduce_log_sum", log_sum, "ReduceLogSum", 18),
    ROWS("reduce_log_sum_exp", log_sum_exp, "ReduceLogSumExp", 18),
    {.name = NULL},
};
