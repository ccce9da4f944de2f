/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - Normalizer, OneHotEncoder, FeatureVectorizer of ai.onnx.ml: what
 * becomes f32 features
 */
#include "../op.h"

#include <inttypes.h>
#include <math.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/convert.h"
#include "tp/layout.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

enum norm { NORM_MAX, NORM_L1, NORM_L2 };

static enum tp_status
infer_normalizer(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];

	if (x->rank < 1 || x->rank > 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: an input of rank %u, expected 1 or 2", c->op->onnx,
		    x->rank);
	infos[0] = tpi_info_of(x);
	infos[0].dtype = TP_DTYPE_F32;
	return TP_OK;
}

/* A row whose divisor is 0 stays as it is. */
static void
normalize(enum norm norm, double *x, size_t n)
{
	double by = norm == NORM_MAX ? -(double)INFINITY : 0;

	for (size_t i = 0; i < n; i++)
		if (norm == NORM_MAX)
			by = x[i] > by ? x[i] : by;
		else
			by += norm == NORM_L1 ? fabs(x[i]) : x[i] * x[i];
	if (norm == NORM_L2)
		by = sqrt(by);
	for (size_t i = 0; i < n && by != 0; i++)
		x[i] /= by;
}

static enum tp_status
run_normalizer(struct tpi_call *c, struct tp_err *err)
{
	static const char *const names[] = {"MAX", "L1", "L2"};
	const struct tp_tensor *in = c->in[0];
	size_t n = (size_t)tp_tensor_sizes(in)[in->rank - 1];
	struct tp_tensor *x = NULL;
	unsigned norm = NORM_MAX;
	enum tp_status rc =
	    tpi_attr_choice(c, "norm", names, 3, NORM_MAX, &norm, err);

	if (!rc)
		rc = tpi_op_doubles(
		    c, in, tp_tensor_sizes(in), in->rank, &x, err);
	for (size_t at = 0; !rc && at < x->n_elems; at += n)
		normalize(
		    (enum norm)norm, (double *)tp_tensor_data_mut(x) + at, n);
	if (!rc)
		rc = tp_tensor_assign(c->out[0], x, TP_OVERFLOW_INF, err);
	tp_tensor_free(x);
	return rc;
}

/* The categories, strings for strings. */
static enum tp_status
find_categories(
    const struct tpi_call *c, const struct tp_attr **cats, struct tp_err *err)
{
	const char *name =
	    tpi_is_strings(c, 0) ? "cats_strings" : "cats_int64s";

	*cats = tpi_attr_find(c, name);
	if (!*cats)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: %s is missing",
		    c->op->onnx, name);
	return TP_OK;
}

static enum tp_status
infer_one_hot(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_attr *cats = NULL;
	enum tp_dtype_kind kind = tp_dtype_kind(c->in[0]->dtype);
	enum tp_status rc = find_categories(c, &cats, err);

	if (!rc && kind != TP_KIND_INT && kind != TP_KIND_UINT &&
	    kind != TP_KIND_FLOAT)
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s of dtype %s; it takes real numbers and strings",
		    c->op->onnx, tp_dtype_name(c->in[0]->dtype));
	infos[0] = tpi_info_of(c->in[0]);
	infos[0].dtype = TP_DTYPE_F32;
	if (!rc && infos[0].rank == TP_MAX_RANK)
		rc = tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: the result has more than %u axes", c->op->onnx,
		    TP_MAX_RANK);
	if (!rc)
		infos[0].sizes[infos[0].rank++] = (int64_t)cats->n;
	return rc;
}

static bool
is_category(const struct tpi_call *c, const struct tp_attr *cats, size_t k,
    const struct tp_tensor *x, uint64_t i)
{
	const void *data = tp_tensor_data(x);

	if (cats->kind == TP_ATTR_STRINGS)
		return tp_str_cmp(cats->strings[k],
			   tp_strings_at(c->opts->strings,
			       ((const uint64_t *)data)[i])) == 0;
	if (x->dtype == TP_DTYPE_I64)
		return ((const int64_t *)data)[i] == cats->ints[k];
	return tp_load_f64(x->dtype, data, (size_t)i) == (double)cats->ints[k];
}

static enum tp_status
run_one_hot(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_attr *cats = NULL;
	struct tp_tensor *x = NULL;
	enum tp_status rc = find_categories(c, &cats, err);

	if (!rc && tpi_is_strings(c, 0) && !c->opts->strings)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: no pool of strings was given", c->op->onnx);
	if (!rc)
		rc = tp_tensor_contiguous(c->in[0], &x, err);
	for (uint64_t i = 0; !rc && i < x->n_elems; i++) {
		float *y = (float *)tp_tensor_data_mut(c->out[0]) + i * cats->n;
		bool found = false;

		for (size_t k = 0; k < cats->n; k++) {
			y[k] = is_category(c, cats, k, x, i);
			found = found || y[k] != 0;
		}
		if (!found && !tpi_attr_int(c, "zeros", 1))
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: element %" PRIu64 " is of no category",
			    c->op->onnx, i);
	}
	tp_tensor_free(x);
	return rc;
}

/* Features of input k: all of a vector, one row. */
static int64_t
count_features(const struct tp_tensor *x)
{
	return tp_tensor_sizes(x)[x->rank - 1];
}

static enum tp_status
infer_vectorizer(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "inputdimensions");
	int64_t n_rows = -1, n = 0;

	if (a && a->n != c->n_in)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu inputdimensions for %zu inputs", c->op->onnx, a->n,
		    c->n_in);
	for (size_t k = 0; k < c->n_in; k++) {
		const struct tp_tensor *x = c->in[k];
		bool fits = x && x->rank >= 1 && x->rank <= 2 &&
			    tp_dtype_kind(x->dtype) != TP_KIND_COMPLEX;
		int64_t rows =
		    !fits || x->rank == 1 ? 1 : tp_tensor_sizes(x)[0];

		if (!fits || (k && rows != n_rows) ||
		    (a && a->ints[k] != count_features(x)) ||
		    tp_add_i64(n, count_features(x), &n))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has not the rows or features that "
			    "are expected",
			    c->op->onnx, k);
		n_rows = rows;
	}
	infos[0] = (struct tpi_info){
	    .dtype = TP_DTYPE_F32, .rank = 2, .sizes = {n_rows, n}};
	return TP_OK;
}

/* Each input to its columns. */
static enum tp_status
run_vectorizer(struct tpi_call *c, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	int64_t at = 0;

	for (size_t k = 0; k < c->n_in && !rc; k++) {
		int64_t n = count_features(c->in[k]);
		struct tp_tensor *columns = NULL;

		rc =
		    tp_tensor_slice(c->out[0], 1, at, at + n, 1, &columns, err);
		if (!rc)
			rc = tp_tensor_assign(
			    columns, c->in[k], TP_OVERFLOW_INF, err);
		tp_tensor_free(columns);
		at += n;
	}
	return rc;
}

static const struct tpi_attr_spec normalizer_attrs[] = {
    {"norm", TP_ATTR_STRING}, {NULL, 0}};
static const struct tpi_attr_spec one_hot_attrs[] = {
    {"cats_int64s", TP_ATTR_INTS}, {"cats_strings", TP_ATTR_STRINGS},
    {"zeros", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec vectorizer_attrs[] = {
    {"inputdimensions", TP_ATTR_INTS}, {NULL, 0}};

#define ROW(op, c_name, onnx_name, most, strings, table)                   \
	{                                                                  \
		.name = c_name, .onnx = onnx_name, .domain = "ai.onnx.ml", \
		.since = 1, .min_in = 1, .max_in = most, .min_out = 1,     \
		.max_out = 1, .strings_in = strings, .attrs = op##_attrs,  \
		.infer = infer_##op, .run = run_##op, .kernels = table     \
	}

const struct tp_op tpi_encode_ops[] = {
    ROW(normalizer, "normalizer", "Normalizer", 1, 0, tpi_number_dtypes),
    ROW(one_hot, "one_hot_encoder", "OneHotEncoder", 1, TPI_BIT(0), NULL),
    ROW(vectorizer, "feature_vectorizer", "FeatureVectorizer", TP_OP_ANY, 0,
	NULL),
    {.name = NULL},
};
