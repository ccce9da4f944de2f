/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_norm.c - LayerNormalization, RMSNormalization: a row is the axes from
 * one on
 */
#include "normalize.h"

#include "tp/layout.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

/* Is the shape of input k one that repeats to that of x? */
static enum tp_status
check_broadcast(const struct tpi_call *c, size_t k, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *t = c->in[k];
	bool fits = t->rank <= x->rank;

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

/*
 * Scale or bias as rows: its own axes in front of `axis`, from there on those
 * of x.
 */
static enum tp_status
take_parameter(const struct tpi_call *c, size_t k, unsigned axis,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *t = c->in[k];
	unsigned missing = x->rank - t->rank;
	struct tp_tensor *wide = NULL, *full = NULL;
	int64_t sizes[TP_MAX_RANK];
	enum tp_status rc;

	for (unsigned d = 0; d < x->rank; d++)
		sizes[d] = d >= axis	 ? tp_tensor_sizes(x)[d]
			   : d < missing ? 1
					 : tp_tensor_sizes(t)[d - missing];
	rc = tpi_op_doubles(c, t, tp_tensor_sizes(t), t->rank, &wide, err);
	if (!rc)
		rc = tp_tensor_expand(wide, sizes, x->rank, &full, err);
	if (!rc)
		rc = tpi_rows_flatten(full, axis, out, err);
	tp_tensor_free(wide);
	tp_tensor_free(full);
	return rc;
}

/* The dtype that means and deviations are given in. */
static enum tp_status
find_stash(const struct tpi_call *c, enum tp_dtype *dtype, struct tp_err *err)
{
	enum tp_status rc =
	    tpi_attr_dtype(c, "stash_type", TP_DTYPE_F32, dtype, err);

	if (!rc && !tpi_normalize_kernels[*dtype])
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: stash_type %s, expected a float", c->op->onnx,
		    tp_dtype_name(*dtype));
	return rc;
}

static bool
is_rms(const struct tpi_call *c)
{
	return c->op->max_out == 1;
}

static enum tp_status
infer_layer_norm(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	enum tp_dtype stash = TP_DTYPE_F32;
	unsigned axis = 0;
	enum tp_status rc =
	    tpi_op_axis(c, tpi_attr_int(c, "axis", -1), x->rank, &axis, err);

	if (!rc)
		rc = find_stash(c, &stash, err);
	for (size_t k = 1; k < c->n_in && !rc; k++) {
		if (!c->in[k])
			continue;
		rc = check_broadcast(c, k, err);
		if (!rc && !is_rms(c) && c->in[k]->dtype != x->dtype)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s, input 0 has %s",
			    c->op->onnx, k, tp_dtype_name(c->in[k]->dtype),
			    tp_dtype_name(x->dtype));
	}
	for (size_t k = 0; k < c->n_out && !rc; k++) {
		infos[k] = tpi_info_of(x);
		if (k == 0)
			continue;
		infos[k].dtype = stash;
		for (unsigned d = axis; d < x->rank; d++)
			infos[k].sizes[d] = 1;
	}
	return rc;
}

/* RMSNormalization: of the dtype of scale, which may be another one. */
static enum tp_status
infer_rms_norm(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc = infer_layer_norm(c, infos, err);

	infos[0].dtype = c->in[1]->dtype;
	if (!rc && !tpi_normalize_kernels[c->in[1]->dtype])
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: scale of dtype %s", c->op->onnx,
		    tp_dtype_name(c->in[1]->dtype));
	return rc;
}

/* x and y in f64, where they are of two dtypes. */
static enum tp_status
widen_both(const struct tpi_call *c, struct tpi_normalize *job, unsigned lead,
    struct tp_err *err)
{
	struct tp_tensor *x = NULL, *y = NULL;
	const int64_t *sizes = tp_tensor_sizes(c->in[0]);
	unsigned rank = c->in[0]->rank;
	enum tp_status rc = tpi_op_doubles(c, c->in[0], sizes, rank, &x, err);

	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, sizes, rank, &y, err);
	if (!rc)
		rc = tpi_rows_flatten(x, lead, &job->operands[TPI_NORM_X], err);
	if (!rc)
		rc = tpi_rows_flatten(y, lead, &job->operands[TPI_NORM_Y], err);
	tp_tensor_free(x);
	tp_tensor_free(y);
	return rc;
}

/* One f64 a row for each of the outputs that are asked for. */
static enum tp_status
make_figures(const struct tpi_call *c, struct tpi_normalize *job, unsigned axis,
    struct tp_err *err)
{
	static const int operands[] = {
	    TPI_NORM_Y, TPI_NORM_MEAN, TPI_NORM_INVERSE};
	int64_t sizes[TP_MAX_RANK + 1];
	enum tp_status rc = TP_OK;

	for (unsigned d = 0; d < axis; d++)
		sizes[d] = tp_tensor_sizes(c->in[0])[d];
	sizes[axis] = 1;
	for (size_t k = 1; k < c->n_out && !rc; k++)
		rc = tpi_op_temp(c, TP_DTYPE_F64, sizes, axis + 1,
		    &job->operands[operands[k]], err);
	return rc;
}

static enum tp_status
give_figure(
    struct tp_tensor *out, const struct tp_tensor *figure, struct tp_err *err)
{
	struct tp_tensor *shaped = NULL;
	enum tp_status rc = tp_tensor_reshape(
	    figure, tp_tensor_sizes(out), out->rank, &shaped, err);

	if (!rc)
		rc = tp_tensor_assign(out, shaped, TP_OVERFLOW_INF, err);
	tp_tensor_free(shaped);
	return rc;
}

static enum tp_status
run_layer_norm(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_normalize job = tpi_normalize_begin(c);
	struct tp_tensor *mean, *inverse;
	unsigned axis = 0;
	enum tp_status rc = tpi_op_axis(
	    c, tpi_attr_int(c, "axis", -1), c->in[0]->rank, &axis, err);

	job.is_centered = !is_rms(c);
	if (!rc)
		rc = c->in[0]->dtype == c->out[0]->dtype
			 ? tpi_normalize_flatten(
			       &job, c->in[0], c->out[0], axis, err)
			 : widen_both(c, &job, axis, err);
	if (!rc && c->in[1])
		rc = take_parameter(
		    c, 1, axis, &job.operands[TPI_NORM_SCALE], err);
	if (!rc && c->in[2])
		rc = take_parameter(
		    c, 2, axis, &job.operands[TPI_NORM_BIAS], err);
	if (!rc)
		rc = make_figures(c, &job, axis, err);
	if (!rc)
		rc = tpi_normalize_rows(c, &job, axis, err);
	mean = job.operands[TPI_NORM_MEAN];
	inverse = job.operands[TPI_NORM_INVERSE];
	if (!rc && mean)
		rc = give_figure(c->out[1], mean, err);
	if (!rc && inverse)
		rc = give_figure(c->out[2], inverse, err);
	return tpi_normalize_end(&job, c->out[0], rc, err);
}

static const struct tpi_attr_spec attrs[] = {{"axis", TP_ATTR_INT},
    {"epsilon", TP_ATTR_FLOAT}, {"stash_type", TP_ATTR_INT}, {NULL, 0}};

const struct tp_op tpi_layer_norm_ops[] = {
    {
	.name = "layer_norm",
	.onnx = "LayerNormalization",
	.since = 17,
	/* Scale is optional here, for tp_layer_norm. */
	.min_in = 1,
	.max_in = 3,
	.min_out = 1,
	.max_out = 3,
	.attrs = attrs,
	.infer = infer_layer_norm,
	.run = run_layer_norm,
	.kernels = tpi_normalize_kernels,
    },
    {
	.name = "rms_norm",
	.onnx = "RMSNormalization",
	.since = 23,
	.min_in = 2,
	.max_in = 2,
	.min_out = 1,
	.max_out = 1,
	.attrs = attrs,
	.infer = infer_rms_norm,
	.run = run_layer_norm,
	.kernels = tpi_normalize_kernels,
    },
    {.name = NULL},
};
