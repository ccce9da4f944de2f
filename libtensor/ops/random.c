/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.c - RandomUniform, RandomNormal, Bernoulli, Multinomial
 *
 * Numbers are drawn in row-major order, on one thread, as doubles and rounded
 * once; twister.h says how they come about. Without a seed of their own nodes
 * get different ones from that of the run.
 */
#include "chunk.h"
#include "twister.h"

#include <inttypes.h>
#include <math.h>

#include "../tensor.h"

#include "../banned.h"

/*
 * Fill output 0 with what draw makes of an element of input 0, if there is one.
 */
typedef double draw_fn(struct tpi_twister *t, const double *how, double x);

static void
fill(struct tpi_call *c, draw_fn *draw, const double *how, bool has_input)
{
	int64_t strides[TP_MAX_RANK];
	struct tp_tensor *y = c->out[0];
	struct tp_strided from = {0};
	union tpi_chunk room;
	struct tpi_twister t;
	double x[TPI_CHUNK];

	tpi_twister_begin(&t, c);
	if (has_input)
		from = tpi_broadcast_to(c->in[0], y, strides);
	for (uint64_t at = 0; at < y->n_elems; at += TPI_CHUNK) {
		uint64_t left = y->n_elems - at;
		size_t n = left < TPI_CHUNK ? (size_t)left : TPI_CHUNK;

		if (has_input)
			tpi_load_doubles(c->in[0]->dtype,
			    tpi_chunk_read(&from, at, n, &room), n, x);
		for (size_t i = 0; i < n; i++)
			x[i] = draw(&t, how, has_input ? x[i] : 0);
		tpi_store_doubles(y->dtype, x, n, tpi_chunk_place(y, at));
	}
}

static double
draw_uniform(struct tpi_twister *t, const double *how, double x)
{
	(void)x;
	return how[0] + (how[1] - how[0]) * tpi_twister_uniform(t);
}

static double
draw_normal(struct tpi_twister *t, const double *how, double x)
{
	(void)x;
	return how[0] + how[1] * tpi_twister_normal(t);
}

/* 1 with probability x. */
static double
draw_bernoulli(struct tpi_twister *t, const double *how, double x)
{
	(void)how;
	return tpi_twister_uniform(t) < x;
}

static enum tp_status
run_uniform(struct tpi_call *c, struct tp_err *err)
{
	const double how[] = {
	    tpi_attr_float(c, "low", 0), tpi_attr_float(c, "high", 1)};

	(void)err;
	fill(c, draw_uniform, how, false);
	return TP_OK;
}

static enum tp_status
run_normal(struct tpi_call *c, struct tp_err *err)
{
	const double how[] = {
	    tpi_attr_float(c, "mean", 0), tpi_attr_float(c, "scale", 1)};

	(void)err;
	fill(c, draw_normal, how, false);
	return TP_OK;
}

static enum tp_status
run_bernoulli(struct tpi_call *c, struct tp_err *err)
{
	(void)err;
	fill(c, draw_bernoulli, NULL, true);
	return TP_OK;
}

static enum tp_status
check_float(const struct tpi_call *c, enum tp_dtype dtype, struct tp_err *err)
{
	if (tpi_float_dtypes[dtype])
		return TP_OK;
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "%s: numbers of dtype %s", c->op->onnx, tp_dtype_name(dtype));
}

/* The shape is an attribute. */
static enum tp_status
infer_shape(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct tpi_info *y = &infos[0];
	enum tp_status rc;
	bool given;
	size_t n;

	rc = tpi_attr_dtype(c, "dtype", TP_DTYPE_F32, &y->dtype, err);
	if (!rc)
		rc = check_float(c, y->dtype, err);
	if (!rc)
		rc = tpi_int_list(
		    c, "shape", TPI_OP_FEW, y->sizes, &n, &given, err);
	if (rc)
		return rc;
	if (!given)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: attribute 'shape' is missing", c->op->onnx);
	y->rank = (unsigned)n;
	return TP_OK;
}

/* The shape is that of input 0, and so is the dtype, unless one is given. */
static enum tp_status
infer_like(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc;

	infos[0] = tpi_info_of(c->in[0]);
	rc = tpi_attr_dtype(c, "dtype", c->in[0]->dtype, &infos[0].dtype, err);
	return rc ? rc : check_float(c, infos[0].dtype, err);
}

/* Ones and zeros may be of any dtype but those that are no real numbers. */
static enum tp_status
infer_bernoulli(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_dtype dtype = TP_DTYPE_NONE;
	enum tp_status rc =
	    tpi_attr_dtype(c, "dtype", c->in[0]->dtype, &dtype, err);
	enum tp_dtype_kind kind = tp_dtype_kind(dtype);

	infos[0] = tpi_info_of(c->in[0]);
	infos[0].dtype = dtype;
	if (!rc && (kind == TP_KIND_COMPLEX || kind == TP_KIND_STRING))
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: numbers of dtype %s", c->op->onnx,
		    tp_dtype_name(dtype));
	return rc;
}

/* Input 0: [batch, classes] of logarithms of weights. */
static enum tp_status
infer_multinomial(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int64_t n = tpi_attr_int(c, "sample_size", 1);
	const struct tp_tensor *x = c->in[0];
	struct tpi_info *y = &infos[0];
	enum tp_status rc =
	    tpi_attr_dtype(c, "dtype", TP_DTYPE_I32, &y->dtype, err);

	if (rc)
		return rc;
	if (y->dtype != TP_DTYPE_I32 && y->dtype != TP_DTYPE_I64)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: dtype is %s, expected i32 or i64", c->op->onnx,
		    tp_dtype_name(y->dtype));
	if (x->rank != 2 || n < 0 ||
	    (tp_tensor_sizes(x)[1] == 0 && x->rank == 2 &&
		tp_tensor_sizes(x)[0] && n))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: sample_size %" PRId64 " from shape %s, expected "
		    "[batch, classes]",
		    c->op->onnx, n, TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	y->rank = 2;
	y->sizes[0] = tp_tensor_sizes(x)[0];
	y->sizes[1] = n;
	return TP_OK;
}

/*
 * The class at which the running sum of weights first exceeds u of the total;
 * rounding may leave none: then the last that has a weight.
 */
static size_t
pick(const double *logits, size_t n, double largest, double total, double u)
{
	double sum = 0;
	size_t last = 0;

	for (size_t k = 0; k < n; k++) {
		double weight = exp(logits[k] - largest);

		sum += weight;
		if (sum > u * total)
			return k;
		if (weight > 0)
			last = k;
	}
	return last;
}

static void
draw_row(struct tpi_twister *t, const double *logits, size_t n, double *drawn,
    size_t n_drawn)
{
	double largest = -(double)INFINITY, total = 0;

	for (size_t k = 0; k < n; k++)
		largest = logits[k] > largest ? logits[k] : largest;
	for (size_t k = 0; k < n; k++)
		total += exp(logits[k] - largest);
	for (size_t i = 0; i < n_drawn; i++)
		drawn[i] = (double)pick(
		    logits, n, largest, total, tpi_twister_uniform(t));
}

static enum tp_status
run_multinomial(struct tpi_call *c, struct tp_err *err)
{
	const int64_t *sizes = tp_tensor_sizes(c->in[0]);
	size_t n = (size_t)sizes[1];
	size_t n_drawn = (size_t)tp_tensor_sizes(c->out[0])[1];
	struct tp_tensor *x = NULL, *drawn = NULL;
	struct tpi_twister t;
	enum tp_status rc = tpi_op_doubles(c, c->in[0], sizes, 2, &x, err);

	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, tp_tensor_sizes(c->out[0]), 2,
		    &drawn, err);
	if (!rc) {
		const double *logits = tp_tensor_data(x);
		double *to = tp_tensor_data_mut(drawn);

		tpi_twister_begin(&t, c);
		for (int64_t row = 0; row < sizes[0]; row++)
			draw_row(&t, logits + (size_t)row * n, n,
			    to + (size_t)row * n_drawn, n_drawn);
		tpi_store_doubles(c->out[0]->dtype, to, (size_t)drawn->n_elems,
		    tp_tensor_data_mut(c->out[0]));
	}
	tp_tensor_free(drawn);
	tp_tensor_free(x);
	return rc;
}

static const struct tpi_attr_spec uniform_attrs[] = {{"dtype", TP_ATTR_INT},
    {"high", TP_ATTR_FLOAT}, {"low", TP_ATTR_FLOAT}, {"seed", TP_ATTR_FLOAT},
    {"shape", TP_ATTR_INTS}, {NULL, 0}};
static const struct tpi_attr_spec normal_attrs[] = {{"dtype", TP_ATTR_INT},
    {"mean", TP_ATTR_FLOAT}, {"scale", TP_ATTR_FLOAT}, {"seed", TP_ATTR_FLOAT},
    {"shape", TP_ATTR_INTS}, {NULL, 0}};
static const struct tpi_attr_spec uniform_like_attrs[] = {
    {"dtype", TP_ATTR_INT}, {"high", TP_ATTR_FLOAT}, {"low", TP_ATTR_FLOAT},
    {"seed", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec normal_like_attrs[] = {{"dtype", TP_ATTR_INT},
    {"mean", TP_ATTR_FLOAT}, {"scale", TP_ATTR_FLOAT}, {"seed", TP_ATTR_FLOAT},
    {NULL, 0}};
static const struct tpi_attr_spec bernoulli_attrs[] = {
    {"dtype", TP_ATTR_INT}, {"seed", TP_ATTR_FLOAT}, {NULL, 0}};
static const struct tpi_attr_spec multinomial_attrs[] = {{"dtype", TP_ATTR_INT},
    {"sample_size", TP_ATTR_INT}, {"seed", TP_ATTR_FLOAT}, {NULL, 0}};

#define ROW(op, onnx_name, from, n_in, spec, infer_fn, run_fn, table)          \
	{                                                                      \
		.name = #op, .onnx = onnx_name, .since = from, .min_in = n_in, \
		.max_in = n_in, .min_out = 1, .max_out = 1, .attrs = spec,     \
		.infer = infer_fn, .run = run_fn, .kernels = table             \
	}

const struct tp_op tpi_random_ops[] = {
    ROW(random_uniform, "RandomUniform", 1, 0, uniform_attrs, infer_shape,
	run_uniform, NULL),
    ROW(random_uniform_like, "RandomUniformLike", 1, 1, uniform_like_attrs,
	infer_like, run_uniform, NULL),
    ROW(random_normal, "RandomNormal", 1, 0, normal_attrs, infer_shape,
	run_normal, NULL),
    ROW(random_normal_like, "RandomNormalLike", 1, 1, normal_like_attrs,
	infer_like, run_normal, NULL),
    ROW(bernoulli, "Bernoulli", 15, 1, bernoulli_attrs, infer_bernoulli,
	run_bernoulli, tpi_float_dtypes),
    ROW(multinomial, "Multinomial", 7, 1, multinomial_attrs, infer_multinomial,
	run_multinomial, tpi_float_dtypes),
    {.name = NULL},
};
