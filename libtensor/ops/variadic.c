/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variadic.c - Max, Min, Sum and Mean of any number of inputs
 *
 * What is exact in the dtype is done two at a time. Sums of floats are not:
 * they accumulate in double, in the order of inputs.
 */
#include "chunk.h"
#include "elementwise.h"

#include "tp/layout.h"

#include "../tensor.h"

#include "../banned.h"

/* NaN from either side stays. */
#define EXPR_maximum(T, W, a, b) ((a) > (b) || (a) != (a) ? (a) : (b))
#define EXPR_minimum(T, W, a, b) ((a) < (b) || (a) != (a) ? (a) : (b))

#define EXPR_largest(T, W, a, b) ((W)((a) > (b) ? (a) : (b)))
#define EXPR_smallest(T, W, a, b) ((W)((a) < (b) ? (a) : (b)))

TPI_FOREACH_FLOAT(TPI_BINARY, maximum)
TPI_FOREACH_INT(TPI_BINARY, largest)
TPI_TABLE(maximum) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, maximum)
	TPI_FOREACH_INT(TPI_KERNEL_ROW, largest)};

TPI_FOREACH_FLOAT(TPI_BINARY, minimum)
TPI_FOREACH_INT(TPI_BINARY, smallest)
TPI_TABLE(minimum) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, minimum)
	TPI_FOREACH_INT(TPI_KERNEL_ROW, smallest)};

/* y = x0 op x1, then y = y op x2, … */
static enum tp_status
fold(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_call step = *c;
	const struct tp_tensor *pair[2] = {c->in[0], NULL};
	enum tp_status rc = TP_OK;

	if (c->n_in == 1)
		return tp_tensor_assign(
		    c->out[0], c->in[0], TP_OVERFLOW_INF, err);
	step.in = pair;
	step.n_in = 2;
	for (size_t k = 1; k < c->n_in && !rc; k++) {
		pair[1] = c->in[k];
		rc = tpi_run_elementwise(&step, err);
		pair[0] = c->out[0];
	}
	return rc;
}

struct term {
	struct tp_strided x;
	int64_t strides[TP_MAX_RANK];
};

struct sum {
	const struct term *terms;
	size_t n_terms;
	double divisor;
	struct tp_tensor *y;
};

static void
add_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct sum *s = ctx;
	union tpi_chunk room;
	double sum[TPI_CHUNK], x[TPI_CHUNK];

	for (size_t k = 0; k < s->n_terms; k++) {
		const struct tp_strided *t = &s->terms[k].x;

		tpi_load_doubles(t->dtype, tpi_chunk_read(t, from, n, &room), n,
		    /* cppcheck-suppress legacyUninitvar ; it sets them */
		    k ? x : sum);
		for (size_t i = 0; k && i < n; i++)
			sum[i] += x[i];
	}
	for (size_t i = 0; i < n; i++)
		sum[i] /= s->divisor;
	tpi_store_doubles(s->y->dtype, sum, n, tpi_chunk_place(s->y, from));
}

static enum tp_status
add_all(struct tpi_call *c, double divisor, struct tp_err *err)
{
	struct sum s = {.n_terms = c->n_in, .divisor = divisor, .y = c->out[0]};
	struct term *terms = tp_mem_array(c->alloc, c->n_in, sizeof(*terms));

	if (!terms)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu inputs", c->op->onnx, c->n_in);
	for (size_t k = 0; k < c->n_in; k++)
		terms[k].x = tpi_broadcast_to(c->in[k], s.y, terms[k].strides);
	s.terms = terms;
	tpi_for_chunks(c, s.y->n_elems, add_chunk, &s);
	tp_mem_free(c->alloc, terms, c->n_in, sizeof(*terms));
	return TP_OK;
}

/* One rounding is what Add does too, and faster. */
static enum tp_status
run_sum(struct tpi_call *c, struct tp_err *err)
{
	bool is_float = tp_dtype_kind(c->out[0]->dtype) == TP_KIND_FLOAT;

	return is_float && c->n_in > 2 ? add_all(c, 1, err) : fold(c, err);
}

static enum tp_status
run_mean(struct tpi_call *c, struct tp_err *err)
{
	return add_all(c, (double)c->n_in, err);
}

/* Before opset 8 all have the shape of the first. */
static enum tp_status
infer_equal(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *a = c->in[0], *b;
	enum tp_status rc = tpi_infer_broadcast(c, infos, err);

	for (size_t k = 1; k < c->n_in && !rc; k++) {
		b = c->in[k];
		if (!tpi_same_shape(a, b))
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has shape %s, input 0 has %s",
			    c->op->onnx, k,
			    TP_SHAPE_TEXT(tp_tensor_sizes(b), b->rank),
			    TP_SHAPE_TEXT(tp_tensor_sizes(a), a->rank));
	}
	return rc;
}

#define ROW(NAME, ONNX, FROM, TO, ATTRS, INFER, RUN, KERNELS)                  \
	{                                                                      \
		.name = NAME, .onnx = ONNX, .since = FROM, .until = TO,        \
		.min_in = 1, .max_in = TP_OP_ANY, .min_out = 1, .max_out = 1,  \
		.attrs = ATTRS, .infer = INFER, .run = RUN, .kernels = KERNELS \
	}
#define ROWS(NAME, ONNX, RUN, KERNELS)                                  \
	ROW(NAME, ONNX, 8, 0, NULL, tpi_infer_broadcast, RUN, KERNELS), \
	    ROW(NAME, ONNX, 6, 7, NULL, infer_equal, RUN, KERNELS),     \
	    ROW(NAME, ONNX, 1, 5, tpi_consumed_attrs, infer_equal, RUN, \
		KERNELS)

/* Mean calls no kernel; this says which dtypes it takes. */
TPI_TABLE(mean) = {TPI_FOREACH_FLOAT(TPI_KERNEL_ROW, maximum)};

const struct tp_op tpi_variadic_ops[] = {
    ROWS("maximum", "Max", fold, maximum_kernels),
    ROWS("minimum", "Min", fold, minimum_kernels),
    ROWS("sum_of", "Sum", run_sum, tpi_add_kernels),
    ROWS("mean_of", "Mean", run_mean, mean_kernels),
    {.name = NULL},
};
