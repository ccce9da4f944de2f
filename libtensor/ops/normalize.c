/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalize.c - LayerNormalization
 *
 * A kernel makes one row: data[] is y, x, scale and bias.
 */
#include "kernel.h"

#include "tp/copy.h"
#include "tp/parallel.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

struct layer {
	const struct tpi_call *c;
	size_t n_rows, n, n_parts;
	double epsilon;
	char *y, *x;
	char *scale, *bias;	      /* NULL: 1, 0 */
	size_t scale_step, bias_step; /* bytes from row to row */
	float *means, *inverses;      /* NULL: not asked for */
	double mean, inverse;	      /* of the row that was made last */
};

/* x, scale and bias are packed rows; steps are not looked at. */
#define LAYER_NORM(OP, ID, T, W, LOAD, STORE)                             \
	static void OP##_##ID(                                            \
	    void *ctx, char *const *data, const int64_t *steps, size_t n) \
	{                                                                 \
		struct layer *l = ctx;                                    \
		T *y = (T *)(void *)data[0];                              \
		const T *x = (const T *)(void *)data[1];                  \
		const T *scale = (const T *)(void *)data[2];              \
		const T *bias = (const T *)(void *)data[3];               \
		double mean = 0, variance = 0;                            \
                                                                          \
		(void)steps;                                              \
		for (size_t i = 0; i < n; i++)                            \
			mean += LOAD(x[i]);                               \
		mean /= (double)n;                                        \
		for (size_t i = 0; i < n; i++) {                          \
			double d = LOAD(x[i]) - mean;                     \
                                                                          \
			variance += d * d;                                \
		}                                                         \
		variance /= (double)n;                                    \
		l->mean = mean;                                           \
		l->inverse = 1 / sqrt(variance + l->epsilon);             \
		for (size_t i = 0; i < n; i++) {                          \
			double v = (LOAD(x[i]) - mean) * l->inverse;      \
                                                                          \
			if (scale)                                        \
				v *= LOAD(scale[i]);                      \
			if (bias)                                         \
				v += LOAD(bias[i]);                       \
			y[i] = STORE(v);                                  \
		}                                                         \
	}

TPI_FOREACH_DOUBLE(LAYER_NORM, layer_norm)

static tp_loop_fn *const layer_norm_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, layer_norm)};

static void
layer_part(void *ctx, size_t k)
{
	const struct layer *l = ctx;
	size_t row_size = l->n * (tp_dtype_bits(l->c->in[0]->dtype) / 8);
	size_t from = l->n_rows / l->n_parts * k;
	size_t to =
	    k + 1 == l->n_parts ? l->n_rows : l->n_rows / l->n_parts * (k + 1);
	struct layer mine = *l;

	for (size_t r = from; r < to; r++) {
		char *data[4] = {l->y + r * row_size, l->x + r * row_size,
		    l->scale ? l->scale + r * l->scale_step : NULL,
		    l->bias ? l->bias + r * l->bias_step : NULL};

		l->c->kernel(&mine, data, NULL, l->n);
		if (l->means)
			l->means[r] = (float)mine.mean;
		if (l->inverses)
			l->inverses[r] = (float)mine.inverse;
	}
}

/*
 * Scale or bias as packed rows: one for all, or, where it differs from row to
 * row, as many as x has.
 */
static enum tp_status
pack_parameter(const struct tpi_call *c, size_t k, unsigned axis,
    struct tp_tensor **out, size_t *step, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *t = c->in[k];
	struct tp_tensor *full = NULL;
	unsigned lead =
	    t->rank > x->rank - axis ? t->rank - (x->rank - axis) : 0;
	bool varies = false;
	enum tp_status rc;

	for (unsigned d = 0; d < lead; d++)
		varies = varies || tp_tensor_sizes(t)[d] != 1;
	if (varies)
		rc = tp_tensor_expand(
		    t, tp_tensor_sizes(x), x->rank, &full, err);
	else {
		struct tp_tensor *flat = NULL;

		rc = tp_tensor_alias(t, &flat, err);
		for (unsigned d = 0; d < lead && !rc; d++) {
			struct tp_tensor *next = NULL;

			rc = tp_tensor_squeeze(flat, 0, &next, err);
			tp_tensor_free(flat);
			flat = next;
		}
		if (!rc)
			rc = tp_tensor_expand(flat, tp_tensor_sizes(x) + axis,
			    x->rank - axis, &full, err);
		tp_tensor_free(flat);
	}
	if (!rc)
		rc = tp_tensor_contiguous(full, out, err);
	*step = varies ? tp_dtype_bits(t->dtype) / 8 : 0;
	tp_tensor_free(full);
	return rc;
}

static enum tp_status
check_parameter(const struct tpi_call *c, size_t k, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *t = c->in[k];
	bool fits = t->rank <= x->rank;

	if (t->dtype != x->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s, input 0 has %s", c->op->onnx,
		    k, tp_dtype_name(t->dtype), tp_dtype_name(x->dtype));
	for (unsigned d = 0; d < t->rank && fits; d++) {
		int64_t size = tp_tensor_sizes(t)[d];

		fits = size == 1 ||
		       size == tp_tensor_sizes(x)[x->rank - t->rank + d];
	}
	if (fits)
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: input %zu of shape %s does not broadcast to %s", c->op->onnx,
	    k, TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
	    TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
}

static enum tp_status
infer_layer_norm(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	unsigned axis = 0;
	enum tp_status rc =
	    tpi_op_axis(c, tpi_attr_int(c, "axis", -1), x->rank, &axis, err);

	for (size_t k = 1; k < c->n_in && !rc; k++)
		if (c->in[k])
			rc = check_parameter(c, k, err);
	if (!rc && tpi_attr_int(c, "stash_type", 1) != 1)
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: stash_type %lld, expected 1 (float)", c->op->onnx,
		    (long long)tpi_attr_int(c, "stash_type", 1));
	for (size_t k = 0; k < c->n_out && !rc; k++) {
		infos[k] = tpi_info_of(x);
		if (k == 0)
			continue;
		infos[k].dtype = TP_DTYPE_F32;
		for (unsigned d = axis; d < x->rank; d++)
			infos[k].sizes[d] = 1;
	}
	return rc;
}

static enum tp_status
run_layer_norm(struct tpi_call *c, struct tp_err *err)
{
	struct layer l = {.c = c, .n_rows = 1, .n = 1};
	struct tp_tensor *x = NULL, *extra[2] = {NULL, NULL};
	unsigned axis = 0;
	enum tp_status rc = tpi_op_axis(
	    c, tpi_attr_int(c, "axis", -1), c->in[0]->rank, &axis, err);

	if (!rc)
		rc = tp_tensor_contiguous(c->in[0], &x, err);
	if (!rc && c->in[1])
		rc = pack_parameter(c, 1, axis, &extra[0], &l.scale_step, err);
	if (!rc && c->in[2])
		rc = pack_parameter(c, 2, axis, &extra[1], &l.bias_step, err);
	if (!rc) {
		for (unsigned d = 0; d < x->rank; d++)
			*(d < axis ? &l.n_rows : &l.n) *=
			    (size_t)tp_tensor_sizes(x)[d];
		l.scale_step *= l.n;
		l.bias_step *= l.n;
		l.epsilon = tpi_attr_float(c, "epsilon", (double)1e-5f);
		l.y = tpi_tensor_address(c->out[0]);
		l.x = tpi_tensor_address(x);
		l.scale = extra[0] ? tpi_tensor_address(extra[0]) : NULL;
		l.bias = extra[1] ? tpi_tensor_address(extra[1]) : NULL;
		if (c->n_out > 1)
			l.means = tp_tensor_data_mut(c->out[1]);
		if (c->n_out > 2)
			l.inverses = tp_tensor_data_mut(c->out[2]);
		l.n_parts = tpi_op_parts(c, x->n_elems, l.n_rows);
		if (l.n_rows > 0)
			tp_parallel(c->n_threads, l.n_parts, layer_part, &l);
	}
	tp_tensor_free(x);
	tp_tensor_free(extra[0]);
	tp_tensor_free(extra[1]);
	return rc;
}

static const struct tpi_attr_spec layer_attrs[] = {{"axis", TP_ATTR_INT},
    {"epsilon", TP_ATTR_FLOAT}, {"stash_type", TP_ATTR_INT}, {NULL, 0}};

const struct tp_op tpi_normalize_ops[] = {
    {
	.name = "layer_norm",
	.onnx = "LayerNormalization",
	.since = 17,
	/* Scale is optional here, for tp_layer_norm. */
	.min_in = 1,
	.max_in = 3,
	.min_out = 1,
	.max_out = 3,
	.attrs = layer_attrs,
	.infer = infer_layer_norm,
	.run = run_layer_norm,
	.kernels = layer_norm_kernels,
    },
    {.name = NULL},
};
