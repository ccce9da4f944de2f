/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.c - ArrayFeatureExtractor, Binarizer, Imputer, Scaler of ai.onnx.ml:
 * features, which lie along the last axis, one by one
 *
 * They are computed in f64: integers up to 2^53 are exact.
 */
#include "chunk.h"

#include <inttypes.h>

#include "../tensor.h"
#include "indices.h"
#include "moves.h"

#include "../banned.h"

/* Of a vector the features become a row. */
static enum tp_status
infer_extract(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];

	if (x->rank == 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 is a scalar", c->op->onnx);
	infos[0] = tpi_info_of(x);
	if (x->rank == 1) {
		infos[0].rank = 2;
		infos[0].sizes[0] = 1;
	}
	infos[0].sizes[infos[0].rank - 1] = (int64_t)c->in[1]->n_elems;
	return TP_OK;
}

static enum tp_status
run_extract(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const int64_t *sizes = tp_tensor_sizes(x);
	struct tpi_pick_axis axes[TP_MAX_RANK];
	struct tpi_indices list;
	enum tp_status rc = tpi_indices_take(c, NULL, 1, &list, NULL, err);

	for (size_t i = 0; i < list.n && !rc; i++)
		if (list.at[i] < 0 || list.at[i] >= sizes[x->rank - 1])
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: feature %" PRId64 " of %" PRId64, c->op->onnx,
			    list.at[i], sizes[x->rank - 1]);
	for (unsigned d = 0; d + 1 < x->rank; d++)
		axes[d] = (struct tpi_pick_axis){sizes[d], NULL};
	axes[x->rank - 1] = (struct tpi_pick_axis){(int64_t)list.n, list.at};
	if (!rc)
		rc = tpi_pick(c, x, axes, NULL, c->out[0], err);
	tpi_indices_release(&list);
	return rc;
}

/* y = f(x, number of the feature) */
struct features {
	const struct tp_tensor *x;
	struct tp_tensor *y;
	uint64_t n; /* features */
	double (*fn)(const struct features *f, double x, uint64_t feature);
	double threshold, replaced;
	const struct tp_attr *imputed, *offset, *scale; /* or NULL */
};

static void
feature_chunk(void *ctx, uint64_t from, size_t n)
{
	const struct features *f = ctx;
	struct tp_strided s = tp_tensor_strided(f->x);
	union tpi_chunk room;
	double x[TPI_CHUNK];

	tpi_load_doubles(f->x->dtype, tpi_chunk_read(&s, from, n, &room), n, x);
	for (size_t i = 0; i < n; i++)
		x[i] = f->fn(f, x[i], (from + i) % f->n);
	tpi_store_doubles(f->y->dtype, x, n, tpi_chunk_place(f->y, from));
}

static void
run_features(struct tpi_call *c, struct features *f)
{
	f->x = c->in[0];
	f->y = c->out[0];
	f->n = f->x->rank ? (uint64_t)tp_tensor_sizes(f->x)[f->x->rank - 1] : 1;
	tpi_for_chunks(c, f->x->n_elems, feature_chunk, f);
}

static double
binarize(const struct features *f, double x, uint64_t feature)
{
	(void)feature;
	return x > f->threshold;
}

static enum tp_status
run_binarizer(struct tpi_call *c, struct tp_err *err)
{
	struct features f = {.fn = binarize};

	(void)err;
	f.threshold = tpi_attr_float(c, "threshold", 0);
	run_features(c, &f);
	return TP_OK;
}

/* A list has a number for each feature, or one for all. */
static double
number_of(const struct tp_attr *a, uint64_t feature, double otherwise)
{
	size_t i = !a || a->n == 1 ? 0 : (size_t)feature;

	if (!a)
		return otherwise;
	return a->kind == TP_ATTR_INTS ? (double)a->ints[i] : a->floats[i];
}

static enum tp_status
check_list(const struct tpi_call *c, const char *name,
    const struct tp_attr **list, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t n = x->rank ? tp_tensor_sizes(x)[x->rank - 1] : 1;

	*list = tpi_attr_find(c, name);
	if (*list && (*list)->n != 1 && (*list)->n != (uint64_t)n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has %zu elements for %" PRId64 " features",
		    c->op->onnx, name, (*list)->n, n);
	return TP_OK;
}

static double
scale(const struct features *f, double x, uint64_t feature)
{
	return (x - number_of(f->offset, feature, 0)) *
	       number_of(f->scale, feature, 1);
}

static enum tp_status
infer_scaler(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	(void)err;
	infos[0] = tpi_info_of(c->in[0]);
	infos[0].dtype = TP_DTYPE_F32;
	return TP_OK;
}

static enum tp_status
run_scaler(struct tpi_call *c, struct tp_err *err)
{
	struct features f = {.fn = scale};
	enum tp_status rc = check_list(c, "offset", &f.offset, err);

	if (!rc)
		rc = check_list(c, "scale", &f.scale, err);
	if (!rc)
		run_features(c, &f);
	return rc;
}

/* What is replaced may be NaN. */
static double
impute(const struct features *f, double x, uint64_t feature)
{
	bool is_missing =
	    f->replaced != f->replaced ? x != x : x == f->replaced;

	return is_missing ? number_of(f->imputed, feature, x) : x;
}

static enum tp_status
run_imputer(struct tpi_call *c, struct tp_err *err)
{
	bool is_float = tp_dtype_kind(c->in[0]->dtype) == TP_KIND_FLOAT;
	struct features f = {.fn = impute};
	const char *name =
	    is_float ? "imputed_value_floats" : "imputed_value_int64s";
	enum tp_status rc = check_list(c, name, &f.imputed, err);

	if (!rc && !f.imputed)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: %s is missing",
		    c->op->onnx, name);
	f.replaced = is_float
			 ? tpi_attr_float(c, "replaced_value_float", 0)
			 : (double)tpi_attr_int(c, "replaced_value_int64", 0);
	if (!rc)
		run_features(c, &f);
	return rc;
}

static const struct tpi_attr_spec binarizer_attrs[] = {
    {"threshold", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec scaler_attrs[] = {
    {"offset", TP_ATTR_FLOATS}, {"scale", TP_ATTR_FLOATS}, {NULL, 0}};
static const struct tpi_attr_spec imputer_attrs[] = {
    {"imputed_value_floats", TP_ATTR_FLOATS},
    {"imputed_value_int64s", TP_ATTR_INTS},
    {"replaced_value_float", TP_ATTR_FLOAT},
    {"replaced_value_int64", TP_ATTR_INT}, {NULL, 0}};

#define ROW(op, onnx_name, infer_fn)                                    \
	{                                                               \
		.name = #op, .onnx = onnx_name, .domain = "ai.onnx.ml", \
		.since = 1, .min_in = 1, .max_in = 1, .min_out = 1,     \
		.max_out = 1, .attrs = op##_attrs, .infer = infer_fn,   \
		.run = run_##op, .kernels = tpi_number_dtypes           \
	}

const struct tp_op tpi_features_ops[] = {
    ROW(binarizer, "Binarizer", tpi_infer_same),
    ROW(scaler, "Scaler", infer_scaler),
    ROW(imputer, "Imputer", tpi_infer_same),
    {.name = "array_feature_extractor",
	.onnx = "ArrayFeatureExtractor",
	.domain = "ai.onnx.ml",
	.since = 1,
	.min_in = 2,
	.max_in = 2,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_MOVES,
	.strings_in = TPI_BIT(0),
	.strings_out = TPI_BIT(0),
	.infer = infer_extract,
	.run = run_extract},
    {.name = NULL},
};
