/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normalize.c - InstanceNormalization, GroupNormalization,
 * MeanVarianceNormalization: a row is a channel, a group of channels, any set
 * of axes
 */
#include "normalize.h"

#include <inttypes.h>

#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

/* Is input k of that dtype, a list of n? */
static enum tp_status
check_list(const struct tpi_call *c, size_t k, enum tp_dtype dtype, int64_t n,
    struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];

	if (t->dtype != dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s, expected %s", c->op->onnx, k,
		    tp_dtype_name(t->dtype), tp_dtype_name(dtype));
	if (t->rank != 1 || tp_tensor_sizes(t)[0] != n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has shape %s, expected [%lld]", c->op->onnx,
		    k, TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    (long long)n);
	return TP_OK;
}

/* [N, C, …] with a scale and a bias for each of n, mostly C. */
static enum tp_status
check_channels(const struct tpi_call *c, int64_t n, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 1; k < 3 && !rc; k++)
		rc = check_list(c, k, c->in[0]->dtype, n, err);
	return rc;
}

static enum tp_status
check_rank(const struct tpi_call *c, struct tp_err *err)
{
	if (c->in[0]->rank >= 2)
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: input 0 has rank %u, expected 2 or more", c->op->onnx,
	    c->in[0]->rank);
}

static enum tp_status
infer_instance_norm(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc = check_rank(c, err);

	infos[0] = tpi_info_of(c->in[0]);
	return rc ? rc : check_channels(c, infos[0].sizes[1], err);
}

static enum tp_status
run_instance_norm(struct tpi_call *c, struct tp_err *err)
{
	const int64_t sizes[] = {1, tp_tensor_sizes(c->in[0])[1], 1};
	struct tpi_normalize job = tpi_normalize_begin(c);
	enum tp_status rc =
	    tpi_normalize_flatten(&job, c->in[0], c->out[0], 2, err);

	for (size_t k = 1; k < 3 && !rc; k++)
		rc = tpi_op_doubles(c, c->in[k], sizes, 3,
		    &job.operands[TPI_NORM_SCALE + k - 1], err);
	if (!rc)
		rc = tpi_normalize_rows(c, &job, 2, err);
	return tpi_normalize_end(&job, c->out[0], rc, err);
}

static enum tp_status
infer_group_norm(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int64_t groups = tpi_attr_int(c, "num_groups", 0), channels;
	enum tp_status rc = check_rank(c, err);

	infos[0] = tpi_info_of(c->in[0]);
	if (rc)
		return rc;
	channels = infos[0].sizes[1];
	if (groups < 1 || channels % groups)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: num_groups %" PRId64 " does not divide the %" PRId64
		    " channels",
		    c->op->onnx, groups, channels);
	return check_channels(c, c->op->until ? groups : channels, err);
}

/* [N, C, …] as [N, groups, …]. */
static enum tp_status
group_channels(
    struct tp_tensor **t, const struct tpi_call *c, struct tp_err *err)
{
	const int64_t *x = tp_tensor_sizes(*t);
	int64_t groups = tpi_attr_int(c, "num_groups", 0);
	const int64_t sizes[] = {x[0], groups, x[1] / groups * x[2]};
	struct tp_tensor *grouped = NULL;
	enum tp_status rc = tp_tensor_reshape(*t, sizes, 3, &grouped, err);

	tp_tensor_free(*t);
	*t = grouped;
	return rc;
}

/*
 * From opset 21 scale and bias are those of channels, and have to be repeated
 * along a row, which is a group of them; before, those of groups.
 */
static enum tp_status
take_group_parameter(const struct tpi_call *c, size_t k, int64_t area,
    struct tp_tensor **out, struct tp_err *err)
{
	int64_t n = tp_tensor_sizes(c->in[k])[0];
	const int64_t sizes[] = {1, n, 1}, repeated[] = {1, n, area};
	struct tp_tensor *wide = NULL, *full = NULL;
	enum tp_status rc = tpi_op_doubles(c, c->in[k], sizes, 3, &wide, err);

	if (rc || c->op->until) {
		*out = wide;
		return rc;
	}
	rc = tp_tensor_expand(wide, repeated, 3, &full, err);
	if (!rc)
		rc = tpi_rows_flatten(full, 2, out, err);
	if (!rc)
		rc = group_channels(out, c, err);
	tp_tensor_free(wide);
	tp_tensor_free(full);
	return rc;
}

static enum tp_status
run_group_norm(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_normalize job = tpi_normalize_begin(c);
	int64_t area = 0;
	enum tp_status rc =
	    tpi_normalize_flatten(&job, c->in[0], c->out[0], 2, err);

	if (!rc) {
		area = tp_tensor_sizes(job.operands[TPI_NORM_X])[2];
		rc = group_channels(&job.operands[TPI_NORM_X], c, err);
	}
	if (!rc)
		rc = group_channels(&job.operands[TPI_NORM_Y], c, err);
	for (size_t k = 1; k < 3 && !rc; k++)
		rc = take_group_parameter(
		    c, k, area, &job.operands[TPI_NORM_SCALE + k - 1], err);
	if (!rc)
		rc = tpi_normalize_rows(c, &job, 2, err);
	return tpi_normalize_end(&job, c->out[0], rc, err);
}

/* The axes of x in another order: those that are not normalized, the others. */
static enum tp_status
order_axes(
    const struct tpi_call *c, int *order, unsigned *n_kept, struct tp_err *err)
{
	static const int64_t usual[] = {0, 2, 3};
	const struct tp_attr *axes = tpi_attr_find(c, "axes");
	const int64_t *list = axes ? axes->ints : usual;
	size_t n = axes ? axes->n : 3;
	bool is_taken[TP_MAX_RANK] = {false};
	unsigned rank = c->in[0]->rank, at = 0, axis = 0;

	for (size_t i = 0; i < n; i++) {
		enum tp_status rc = tpi_op_axis(c, list[i], rank, &axis, err);

		if (rc)
			return rc;
		is_taken[axis] = true;
	}
	for (unsigned d = 0; d < rank; d++)
		if (!is_taken[d])
			order[at++] = (int)d;
	*n_kept = at;
	for (unsigned d = 0; d < rank; d++)
		if (is_taken[d])
			order[at++] = (int)d;
	return TP_OK;
}

static enum tp_status
infer_mean_variance(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int order[TP_MAX_RANK];
	unsigned n_kept = 0;

	infos[0] = tpi_info_of(c->in[0]);
	return order_axes(c, order, &n_kept, err);
}

static enum tp_status
run_mean_variance(struct tpi_call *c, struct tp_err *err)
{
	struct tpi_normalize job = {.beside = 1e-9, .is_centered = true};
	struct tp_tensor *x = NULL, *y = NULL;
	int order[TP_MAX_RANK];
	unsigned n_kept = 0, rank = c->in[0]->rank;
	enum tp_status rc = order_axes(c, order, &n_kept, err);

	if (!rc)
		rc = tp_tensor_permute(c->in[0], order, rank, &x, err);
	if (!rc)
		rc = tp_tensor_permute(c->out[0], order, rank, &y, err);
	if (!rc)
		rc = tpi_normalize_flatten(&job, x, y, n_kept, err);
	if (!rc)
		rc = tpi_normalize_rows(c, &job, n_kept, err);
	rc = tpi_normalize_end(&job, y, rc, err);
	tp_tensor_free(x);
	tp_tensor_free(y);
	return rc;
}

static const struct tpi_attr_spec instance_attrs[] = {
    {"epsilon", TP_ATTR_FLOAT}, {"consumed_inputs", TP_ATTR_INTS}, {NULL, 0}};
static const struct tpi_attr_spec group_attrs[] = {{"epsilon", TP_ATTR_FLOAT},
    {"num_groups", TP_ATTR_INT}, {"stash_type", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec axes_attrs[] = {
    {"axes", TP_ATTR_INTS}, {NULL, 0}};

#define ROW(c_name, onnx_name, from, to, inputs, list)                         \
	{                                                                      \
		.name = #c_name, .onnx = onnx_name, .since = from,             \
		.until = to, .min_in = inputs, .max_in = inputs, .min_out = 1, \
		.max_out = 1, .attrs = list, .infer = infer_##c_name,          \
		.run = run_##c_name, .kernels = tpi_normalize_kernels          \
	}

const struct tp_op tpi_normalize_ops[] = {
    ROW(instance_norm, "InstanceNormalization", 1, 0, 3, instance_attrs),
    ROW(group_norm, "GroupNormalization", 21, 0, 3, group_attrs),
    ROW(group_norm, "GroupNormalization", 18, 20, 3, group_attrs),
    ROW(mean_variance, "MeanVarianceNormalization", 9, 0, 1, axes_attrs),
    {.name = NULL},
};
