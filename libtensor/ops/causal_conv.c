/* SPDX-License-Identifier: Apache-2.0 */
/*
 * causal_conv.c - CausalConvWithState: each channel convolved with its past
 *
 * A row is the state, what was behind the end of the last call, and then the
 * input; its end is the next state. The sum and its activation are made in
 * double and rounded once.
 */
#include "gemm.h"

#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"

#include "../tensor.h"

#include "../banned.h"

/* data: all packed; NULL for an input that is absent. */
struct causal {
	enum tp_dtype dtype;
	size_t size;
	int64_t n_rows, n_channels, n, n_taps;
	char *x, *w, *bias, *past, *y, *state;
	bool is_silu;
};

static enum tp_status
read_activation(const struct tpi_call *c, bool *is_silu, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "activation");

	*is_silu = a && (tp_str_cmp(a->s, TP_STR("silu")) == 0 ||
			    tp_str_cmp(a->s, TP_STR("swish")) == 0);
	if (*is_silu || !a || tp_str_cmp(a->s, TP_STR("none")) == 0)
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: activation '%s', expected silu, swish or none", c->op->onnx,
	    TP_BRIEF(a->s));
}

static enum tp_status
check_input(const struct tpi_call *c, size_t k, unsigned rank,
    const int64_t *sizes, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];

	if (!t ||
	    (t->dtype == c->in[0]->dtype && t->rank == rank &&
		!memcmp(tp_tensor_sizes(t), sizes, rank * sizeof(*sizes))))
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: input %zu has dtype %s and shape %s, expected %s and %s",
	    c->op->onnx, k, tp_dtype_name(t->dtype),
	    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
	    tp_dtype_name(c->in[0]->dtype), TP_SHAPE_TEXT(sizes, rank));
}

static enum tp_status
infer_causal(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *w = c->in[1];
	const int64_t *sizes = tp_tensor_sizes(x);
	bool is_silu;
	enum tp_status rc = read_activation(c, &is_silu, err);

	if (rc)
		return rc;
	if (x->rank != 3 || w->rank != 3 || tp_tensor_sizes(w)[2] < 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: inputs of shapes %s and %s, expected [N, C, length] "
		    "and [C, 1, taps]",
		    c->op->onnx, TP_SHAPE_TEXT(sizes, x->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(w), w->rank));
	infos[0] = infos[1] = tpi_info_of(x);
	infos[1].sizes[2] = tp_tensor_sizes(w)[2] - 1;
	rc = check_input(c, 1, 3,
	    (const int64_t[]){sizes[1], 1, tp_tensor_sizes(w)[2]}, err);
	if (!rc)
		rc = check_input(c, 2, 1, &sizes[1], err);
	return rc ? rc : check_input(c, 3, 3, infos[1].sizes, err);
}

static void
unpack(const struct causal *v, double *to, char *from, int64_t n)
{
	const int64_t steps[2] = {sizeof(double), (int64_t)v->size};
	char *data[2] = {(char *)to, from};

	tpi_unpack[v->dtype](NULL, data, steps, (size_t)n);
}

static void
convolve_row(const struct causal *v, int64_t row, double *seen, double *w)
{
	int64_t n_state = v->n_taps - 1, channel = row % v->n_channels;
	int64_t size = (int64_t)v->size;
	double bias = 0, *sums = w + v->n_taps;
	char *data[2] = {v->y + row * v->n * size, (char *)sums};

	unpack(v, w, v->w + channel * v->n_taps * size, v->n_taps);
	if (v->bias)
		unpack(v, &bias, v->bias + channel * size, 1);
	if (v->past)
		unpack(v, seen, v->past + row * n_state * size, n_state);
	else
		memset(seen, 0, (size_t)n_state * sizeof(*seen));
	unpack(v, seen + n_state, v->x + row * v->n * size, v->n);
	for (int64_t i = 0; i < v->n; i++) {
		double sum = 0;

		for (int64_t k = 0; k < v->n_taps; k++)
			sum += w[k] * seen[i + k];
		sum += bias;
		sums[i] = v->is_silu ? sum / (1 + exp(-sum)) : sum;
	}
	tpi_pack[v->dtype](NULL, data, NULL, (size_t)v->n);
	if (!v->state)
		return;
	/* Numbers of the dtype, so that packing them is exact. */
	data[0] = v->state + row * n_state * size;
	data[1] = (char *)(seen + v->n);
	tpi_pack[v->dtype](NULL, data, NULL, (size_t)n_state);
}

static enum tp_status
convolve(const struct tpi_call *c, const struct causal *v, struct tp_err *err)
{
	size_t n, taps = (size_t)v->n_taps;
	double *scratch = NULL;

	/* A row with its state, the taps, the sums. */
	if (!tp_mul_size((size_t)v->n, 2, &n) && !tp_add_size(n, taps, &n) &&
	    !tp_add_size(n, taps, &n))
		scratch = tpi_op_scratch(c, n, sizeof(*scratch));
	if (!scratch)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for a row", c->op->onnx);
	for (int64_t row = 0; row < v->n_rows; row++)
		convolve_row(v, row, scratch, scratch + v->n + v->n_taps - 1);
	tp_mem_free(c->alloc, scratch, n, sizeof(*scratch));
	return TP_OK;
}

static enum tp_status
run_causal(struct tpi_call *c, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(c->in[0]);
	struct causal v = {.dtype = c->in[0]->dtype,
	    .n_rows = sizes[0] * sizes[1],
	    .n_channels = sizes[1],
	    .n = sizes[2],
	    .n_taps = tp_tensor_sizes(c->in[1])[2]};
	char **places[] = {&v.x, &v.w, &v.bias, &v.past};
	struct tp_tensor *packed[4] = {NULL};
	enum tp_status rc = read_activation(c, &v.is_silu, err);

	v.size = tp_dtype_bits(v.dtype) / 8;
	for (size_t k = 0; k < 4 && !rc; k++) {
		if (!c->in[k])
			continue;
		rc = tp_tensor_contiguous(c->in[k], &packed[k], err);
		if (!rc)
			*places[k] = tpi_tensor_address(packed[k]);
	}
	v.y = tpi_tensor_address(c->out[0]);
	v.state = c->n_out > 1 ? tpi_tensor_address(c->out[1]) : NULL;
	if (!rc)
		rc = convolve(c, &v, err);
	for (size_t k = 0; k < 4; k++)
		tp_tensor_free(packed[k]);
	return rc;
}

static const struct tpi_attr_spec causal_attrs[] = {
    {"activation", TP_ATTR_STRING}, {NULL, 0}};

const struct tp_op tpi_causal_conv_ops[] = {
    {
	.name = "causal_conv",
	.onnx = "CausalConvWithState",
	.since = 27,
	.min_in = 2,
	.max_in = 4,
	.min_out = 1,
	.max_out = 2,
	.attrs = causal_attrs,
	.infer = infer_causal,
	.run = run_causal,
	.kernels = tpi_unpack,
    },
    {.name = NULL},
};
