/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear.c - LinearRegressor, LinearClassifier of ai.onnx.ml
 *
 *	X [N, F] or [F]		scores [N, E] = X coefficients' + intercepts
 *
 * A classifier of two labels may have one row of coefficients, that of the
 * second label; the score of the first is its negative.
 */
#include "../op.h"

#include <inttypes.h>
#include <string.h>

#include "tp/layout.h"

#include "../tensor.h"
#include "scores.h"

#include "../banned.h"

struct linear {
	size_t n_rows, n_features, n_scores;	 /* rows of coefficients */
	const double *coefficients, *intercepts; /* intercepts may be NULL */
	enum tpi_scores after;
};

static int64_t
count_samples(const struct tp_tensor *x)
{
	return x->rank == 2 ? tp_tensor_sizes(x)[0] : 1;
}

/* n_scores: how many are wanted. */
static enum tp_status
read_linear(const struct tpi_call *c, struct linear *l, size_t n_scores,
    struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "coefficients");
	const struct tp_attr *b = tpi_attr_find(c, "intercepts");
	const struct tp_tensor *x = c->in[0];

	memset(l, 0, sizeof(*l));
	if (x->rank < 1 || x->rank > 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: an input of rank %u, expected 1 or 2", c->op->onnx,
		    x->rank);
	l->n_features = (size_t)tp_tensor_sizes(x)[x->rank - 1];
	l->n_rows = n_scores;
	if (a && n_scores == 2 && a->n == l->n_features)
		l->n_rows = 1;
	l->n_scores = n_scores;
	if (!a || !l->n_features || a->n % l->n_features ||
	    a->n / l->n_features != l->n_rows)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu coefficients for %zu features and %zu scores",
		    c->op->onnx, a ? a->n : 0, l->n_features, n_scores);
	if (b && b->n != l->n_rows)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu intercepts, expected %zu", c->op->onnx, b->n,
		    l->n_rows);
	l->coefficients = a->floats;
	l->intercepts = b ? b->floats : NULL;
	return tpi_scores_read(c, &l->after, err);
}

/* Scores of one sample, as they are before post_transform. */
static void
score(const struct linear *l, const double *x, double *y)
{
	for (size_t k = 0; k < l->n_rows; k++) {
		const double *row = l->coefficients + k * l->n_features;

		y[k] = 0;
		for (size_t i = 0; i < l->n_features; i++)
			y[k] += row[i] * x[i];
		if (l->intercepts)
			y[k] += l->intercepts[k];
	}
}

static size_t
find_largest(const double *y, size_t n)
{
	size_t best = 0;

	for (size_t k = 1; k < n; k++)
		if (y[k] > y[best])
			best = k;
	return best;
}

/* y: f64 [samples, scores]; best, unless it is NULL: the number of a class. */
static enum tp_status
score_all(const struct tpi_call *c, const struct linear *l, double *y,
    size_t *best, struct tp_err *err)
{
	const struct tp_tensor *in = c->in[0];
	struct tp_tensor *x = NULL;
	size_t n = (size_t)count_samples(in);
	enum tp_status rc =
	    tpi_op_doubles(c, in, tp_tensor_sizes(in), in->rank, &x, err);

	for (size_t r = 0; r < n && !rc; r++, y += l->n_scores) {
		score(l, (const double *)tp_tensor_data(x) + r * l->n_features,
		    y);
		if (l->n_rows < l->n_scores) {
			y[1] = y[0];
			y[0] = -y[1];
		}
		if (best)
			best[r] = find_largest(y, l->n_scores);
		tpi_scores_finish(l->after, y, l->n_scores);
	}
	tp_tensor_free(x);
	return rc;
}

static void
set_scores(const struct tpi_call *c, struct tpi_info *info, size_t n)
{
	*info = (struct tpi_info){.dtype = TP_DTYPE_F32,
	    .rank = 2,
	    .sizes = {count_samples(c->in[0]), (int64_t)n}};
}

static enum tp_status
read_regressor(const struct tpi_call *c, struct linear *l, struct tp_err *err)
{
	int64_t n = tpi_attr_int(c, "targets", 1);
	enum tp_status rc;

	if (n < 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %" PRId64 " targets", c->op->onnx, n);
	rc = read_linear(c, l, (size_t)n, err);
	if (!rc && l->n_rows != l->n_scores)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: coefficients of one target of two", c->op->onnx);
	return rc;
}

static enum tp_status
infer_regressor(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct linear l;
	enum tp_status rc = read_regressor(c, &l, err);

	if (!rc)
		set_scores(c, &infos[0], l.n_scores);
	return rc;
}

static enum tp_status
run_regressor(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *y = NULL;
	struct linear l;
	enum tp_status rc = read_regressor(c, &l, err);

	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, tp_tensor_sizes(c->out[0]), 2, &y, err);
	if (!rc)
		rc = score_all(c, &l, tp_tensor_data_mut(y), NULL, err);
	if (!rc)
		rc = tp_tensor_assign(c->out[0], y, TP_OVERFLOW_INF, err);
	tp_tensor_free(y);
	return rc;
}

/* The labels: strings or integers. */
static enum tp_status
read_classifier(const struct tpi_call *c, struct linear *l,
    const struct tp_attr **labels, struct tp_err *err)
{
	const struct tp_attr *ints = tpi_attr_find(c, "classlabels_ints");
	const struct tp_attr *texts = tpi_attr_find(c, "classlabels_strings");

	*labels = texts ? texts : ints;
	if (!texts == !ints || (*labels)->n == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: labels of %s",
		    c->op->onnx, texts && ints ? "both kinds" : "no kind");
	return read_linear(c, l, (*labels)->n, err);
}

static enum tp_status
infer_classifier(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_attr *labels = NULL;
	struct linear l;
	enum tp_status rc = read_classifier(c, &l, &labels, err);

	if (rc)
		return rc;
	infos[0] = (struct tpi_info){.dtype = labels->kind == TP_ATTR_STRINGS
						  ? TP_DTYPE_STRING
						  : TP_DTYPE_I64,
	    .rank = 1,
	    .sizes = {count_samples(c->in[0])}};
	if (c->n_out > 1)
		set_scores(c, &infos[1], l.n_scores);
	return TP_OK;
}

static enum tp_status
write_label(const struct tpi_call *c, const struct tp_attr *labels, size_t k,
    size_t at, struct tp_err *err)
{
	void *y = tp_tensor_data_mut(c->out[0]);

	if (labels->kind == TP_ATTR_INTS) {
		((int64_t *)y)[at] = labels->ints[k];
		return TP_OK;
	}
	if (!c->opts->strings)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: no pool of strings was given", c->op->onnx);
	return tp_strings_add(
	    c->opts->strings, labels->strings[k], (uint64_t *)y + at, err);
}

static enum tp_status
run_classifier(struct tpi_call *c, struct tp_err *err)
{
	size_t n = (size_t)count_samples(c->in[0]), *best = NULL;
	const struct tp_attr *labels = NULL;
	struct tp_tensor *y = NULL;
	struct linear l;
	enum tp_status rc = read_classifier(c, &l, &labels, err);

	if (rc)
		return rc;
	best = tp_mem_array(c->alloc, n, sizeof(*best));
	if (!best)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu samples", c->op->onnx, n);
	rc = tpi_op_temp(c, TP_DTYPE_F64,
	    (const int64_t[]){(int64_t)n, (int64_t)l.n_scores}, 2, &y, err);
	if (!rc)
		rc = score_all(c, &l, tp_tensor_data_mut(y), best, err);
	for (size_t r = 0; r < n && !rc; r++)
		rc = write_label(c, labels, best[r], r, err);
	if (!rc && c->n_out > 1)
		rc = tp_tensor_assign(c->out[1], y, TP_OVERFLOW_INF, err);
	tp_mem_free(c->alloc, best, n, sizeof(*best));
	tp_tensor_free(y);
	return rc;
}

static const struct tpi_attr_spec regressor_attrs[] = {
    {"coefficients", TP_ATTR_FLOATS}, {"intercepts", TP_ATTR_FLOATS},
    {"post_transform", TP_ATTR_STRING}, {"targets", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec classifier_attrs[] = {
    {"classlabels_ints", TP_ATTR_INTS},
    {"classlabels_strings", TP_ATTR_STRINGS}, {"coefficients", TP_ATTR_FLOATS},
    {"intercepts", TP_ATTR_FLOATS}, {"multi_class", TP_ATTR_INT},
    {"post_transform", TP_ATTR_STRING}, {NULL, 0}};

#define ROW(op, onnx_name, outs)                                              \
	{                                                                     \
		.name = "linear_" #op, .onnx = onnx_name,                     \
		.domain = "ai.onnx.ml", .since = 1, .min_in = 1, .max_in = 1, \
		.min_out = 1, .max_out = outs, .attrs = op##_attrs,           \
		.infer = infer_##op, .run = run_##op,                         \
		.kernels = tpi_number_dtypes                                  \
	}

const struct tp_op tpi_linear_ops[] = {
    ROW(regressor, "LinearRegressor", 1),
    ROW(classifier, "LinearClassifier", 2),
    {.name = NULL},
};
