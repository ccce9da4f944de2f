/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_norm.c - BatchNormalization
 *
 * x is [N, C, …], with numbers for each of C. To test, they are given; to
 * train, a row of normalize.h is all of a channel, and what is given is moved
 * toward its mean and variance. Which of the two it is has been told by an
 * attribute (is_test, later training_mode) and between them by the number of
 * outputs.
 */
#include "normalize.h"

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/layout.h"
#include "tp/view.h"

#include "../tensor.h"
#include "kernel.h"

#include "../banned.h"

enum { SCALE = 1, BIAS, MEAN, VARIANCE, N_INPUTS };

/*
 * Kernels of rows.h on y and x, which are packed, and three f64: those of one
 * channel for all of a row, or a row of them where each element is a channel.
 */
enum { ROW_Y, ROW_X, ROW_MEAN, ROW_FACTOR, ROW_BIAS, N_OPERANDS };

#define SHIFT(LOAD, STORE, I)          \
	for (size_t i = 0; i < n; i++) \
		y[i] = STORE((LOAD(x[i]) - mean[I]) * factor[I] + bias[I]);

#define TEST(OP, ID, T, W, LOAD, STORE)                                    \
	static void OP##_##ID(                                             \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)  \
	{                                                                  \
		T *y = (T *)(void *)data[ROW_Y];                           \
		const T *x = (const T *)(void *)data[ROW_X];               \
		const double *mean = (double *)(void *)data[ROW_MEAN];     \
		const double *factor = (double *)(void *)data[ROW_FACTOR]; \
		const double *bias = (double *)(void *)data[ROW_BIAS];     \
                                                                           \
		(void)ctx;                                                 \
		if (steps[ROW_MEAN])                                       \
			SHIFT(LOAD, STORE, i)                              \
		else                                                       \
			SHIFT(LOAD, STORE, 0)                              \
	}

TPI_FOREACH_DOUBLE(TEST, test)

static tp_loop_fn *const test_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, test)};

/* x as [N, channels, what lies behind one of them]. */
struct geometry {
	int64_t sizes[3];
};

/*
 * Without channels it is one. Up to opset 8, spatial 0 makes every element of
 * an example a channel of its own.
 */
static enum tp_status
find_geometry(const struct tpi_call *c, struct geometry *g, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const int64_t *sizes = tp_tensor_sizes(x);
	bool overflows = false;

	*g = (struct geometry){{1, 1, 1}};
	for (unsigned d = 0; d < x->rank && !overflows; d++) {
		int64_t *size = &g->sizes[d < 2 ? d : 2];

		overflows = tp_mul_i64(*size, sizes[d], size);
	}
	if (!overflows && !tpi_attr_int(c, "spatial", 1)) {
		overflows = tp_mul_i64(g->sizes[1], g->sizes[2], &g->sizes[1]);
		g->sizes[2] = 1;
	}
	if (x->rank == 0 || overflows)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 has shape %s, expected [N, C, ...]",
		    c->op->onnx, TP_SHAPE_TEXT(sizes, x->rank));
	return TP_OK;
}

static bool
is_training(const struct tpi_call *c)
{
	if (c->op->since >= 14)
		return tpi_attr_int(c, "training_mode", 0) != 0;
	return c->op->since >= 7 ? c->n_out > 1
				 : !tpi_attr_int(c, "is_test", 0);
}

static enum tp_status
check_inputs(
    const struct tpi_call *c, const struct geometry *g, struct tp_err *err)
{
	for (size_t k = SCALE; k < N_INPUTS; k++) {
		const struct tp_tensor *t = c->in[k];
		size_t like = k <= BIAS ? (size_t)SCALE : (size_t)MEAN;

		if (!test_kernels[t->dtype] || t->dtype != c->in[like]->dtype)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s, input %zu %s",
			    c->op->onnx, k, tp_dtype_name(t->dtype), like,
			    tp_dtype_name(c->in[like]->dtype));
		if (t->n_elems != (uint64_t)g->sizes[1])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has shape %s, expected one number "
			    "for each of %lld channels",
			    c->op->onnx, k,
			    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
			    (long long)g->sizes[1]);
	}
	return TP_OK;
}

static enum tp_status
infer_batch_norm(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct geometry g;
	enum tp_status rc = find_geometry(c, &g, err);

	if (rc)
		return rc;
	if (c->n_out > 1 && !is_training(c))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu outputs, there is only 1 without training",
		    c->op->onnx, c->n_out);
	/* Running mean and variance, then those of this batch. */
	infos[0] = tpi_info_of(c->in[0]);
	for (size_t k = 1; k < c->n_out; k++)
		infos[k] = tpi_info_of(c->in[MEAN]);
	return check_inputs(c, &g, err);
}

/* scale / sqrt(variance + epsilon), over the variance. */
static void
make_factor(
    const struct tpi_call *c, struct tp_tensor *variance, const double *scale)
{
	double epsilon = tpi_attr_float(c, "epsilon", (double)1e-5f);
	double *x = tp_tensor_data_mut(variance);

	for (uint64_t i = 0; i < variance->n_elems; i++)
		x[i] = scale[i] / sqrt(x[i] + epsilon);
}

static enum tp_status
take_parameters(const struct tpi_call *c, const struct geometry *g,
    struct tp_tensor **made, struct tp_err *err)
{
	const int64_t sizes[] = {1, g->sizes[1], 1};
	struct tp_tensor *scale = NULL;
	enum tp_status rc =
	    tpi_op_doubles(c, c->in[SCALE], sizes, 3, &scale, err);

	if (!rc)
		rc = tpi_op_doubles(
		    c, c->in[BIAS], sizes, 3, &made[ROW_BIAS], err);
	if (!rc)
		rc = tpi_op_doubles(
		    c, c->in[MEAN], sizes, 3, &made[ROW_MEAN], err);
	if (!rc)
		rc = tpi_op_doubles(
		    c, c->in[VARIANCE], sizes, 3, &made[ROW_FACTOR], err);
	if (!rc)
		make_factor(c, made[ROW_FACTOR], tp_tensor_data(scale));
	tp_tensor_free(scale);
	return rc;
}

static enum tp_status
run_test(struct tpi_call *c, const struct geometry *g, struct tp_err *err)
{
	struct tp_tensor *made[N_OPERANDS] = {NULL}, *packed = NULL;
	unsigned axis = g->sizes[2] == 1 ? 1 : 2;
	struct tpi_rows rows = {
	    .kernel = test_kernels[c->in[0]->dtype],
	    .n_written = 1,
	    .n_operands = N_OPERANDS,
	    .axis = axis,
	    .n = g->sizes[axis],
	};
	enum tp_status rc =
	    tp_tensor_reshape(c->out[0], g->sizes, 3, &made[ROW_Y], err);

	if (!rc)
		rc = tp_tensor_contiguous(c->in[0], &packed, err);
	if (!rc)
		rc = tp_tensor_reshape(packed, g->sizes, 3, &made[ROW_X], err);
	if (!rc)
		rc = take_parameters(c, g, made, err);
	for (unsigned k = 0; k < N_OPERANDS; k++)
		rows.operands[k] = made[k];
	if (!rc)
		rc = tpi_rows_run(c, &rows, err);
	for (unsigned k = 0; k < N_OPERANDS; k++)
		tp_tensor_free(made[k]);
	tp_tensor_free(packed);
	return rc;
}

/* before * momentum + batch * (1 - momentum) */
static enum tp_status
give_running(const struct tpi_call *c, size_t input, struct tp_tensor *batch,
    struct tp_tensor *out, struct tp_err *err)
{
	double momentum = tpi_attr_float(c, "momentum", (double)0.9f);
	const double *now = tp_tensor_data(batch);
	struct tp_tensor *moved = NULL;
	enum tp_status rc = tpi_op_doubles(
	    c, c->in[input], tp_tensor_sizes(out), out->rank, &moved, err);

	if (!rc) {
		double *x = tp_tensor_data_mut(moved);

		for (uint64_t i = 0; i < moved->n_elems; i++)
			x[i] = x[i] * momentum + now[i] * (1 - momentum);
		rc = tp_tensor_assign(out, moved, TP_OVERFLOW_INF, err);
	}
	tp_tensor_free(moved);
	return rc;
}

static enum tp_status
give_batch(
    struct tp_tensor *out, const struct tp_tensor *batch, struct tp_err *err)
{
	struct tp_tensor *shaped = NULL;
	enum tp_status rc = tp_tensor_reshape(
	    batch, tp_tensor_sizes(out), out->rank, &shaped, err);

	if (!rc)
		rc = tp_tensor_assign(out, shaped, TP_OVERFLOW_INF, err);
	tp_tensor_free(shaped);
	return rc;
}

static enum tp_status
give_figures(const struct tpi_call *c, const struct tpi_normalize *job,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 1; k < c->n_out && !rc; k++) {
		bool is_mean = k % 2;
		struct tp_tensor *batch =
		    job->operands[is_mean ? TPI_NORM_MEAN : TPI_NORM_VARIANCE];

		rc = k < 3 ? give_running(c, is_mean ? MEAN : VARIANCE, batch,
				 c->out[k], err)
			   : give_batch(c->out[k], batch, err);
	}
	return rc;
}

/* Channels first, then rows of all that is in one. */
static enum tp_status
by_channel(const struct tp_tensor *t, const struct geometry *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *packed = NULL, *shaped = NULL;
	enum tp_status rc = tp_tensor_contiguous(t, &packed, err);

	*out = NULL;
	if (!rc)
		rc = tp_tensor_reshape(packed, g->sizes, 3, &shaped, err);
	if (!rc)
		rc = tp_tensor_transpose(shaped, 0, 1, out, err);
	tp_tensor_free(packed);
	tp_tensor_free(shaped);
	return rc;
}

static enum tp_status
run_training(struct tpi_call *c, const struct geometry *g, struct tp_err *err)
{
	const int64_t channels[] = {g->sizes[1], 1};
	struct tpi_normalize job = tpi_normalize_begin(c);
	struct tp_tensor *x = NULL, *y = NULL;
	enum tp_status rc = by_channel(c->in[0], g, &x, err);

	if (!rc)
		rc = by_channel(c->out[0], g, &y, err);
	if (!rc)
		rc = tpi_normalize_flatten(&job, x, y, 1, err);
	if (!rc)
		rc = tpi_op_doubles(c, c->in[SCALE], channels, 2,
		    &job.operands[TPI_NORM_SCALE], err);
	if (!rc)
		rc = tpi_op_doubles(c, c->in[BIAS], channels, 2,
		    &job.operands[TPI_NORM_BIAS], err);
	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, channels, 2,
		    &job.operands[TPI_NORM_MEAN], err);
	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, channels, 2,
		    &job.operands[TPI_NORM_VARIANCE], err);
	if (!rc)
		rc = tpi_normalize_rows(c, &job, 1, err);
	if (!rc)
		rc = give_figures(c, &job, err);
	rc = tpi_normalize_end(&job, y, rc, err);
	tp_tensor_free(x);
	tp_tensor_free(y);
	return rc;
}

static enum tp_status
run_batch_norm(struct tpi_call *c, struct tp_err *err)
{
	struct geometry g;
	enum tp_status rc = find_geometry(c, &g, err);

	if (rc)
		return rc;
	return is_training(c) ? run_training(c, &g, err) : run_test(c, &g, err);
}

#define COMMON                            \
	{"epsilon", TP_ATTR_FLOAT},       \
	{                                 \
		"momentum", TP_ATTR_FLOAT \
	}

static const struct tpi_attr_spec attrs_1[] = {COMMON, {"is_test", TP_ATTR_INT},
    {"spatial", TP_ATTR_INT}, {"consumed_inputs", TP_ATTR_INTS}, {NULL, 0}};
static const struct tpi_attr_spec attrs_7[] = {
    COMMON, {"spatial", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec attrs_9[] = {COMMON, {NULL, 0}};
static const struct tpi_attr_spec attrs_14[] = {
    COMMON, {"training_mode", TP_ATTR_INT}, {NULL, 0}};

#define ROW(from, to, most_out)                                        \
	{                                                              \
		.name = "batch_norm", .onnx = "BatchNormalization",    \
		.since = from, .until = to, .min_in = N_INPUTS,        \
		.max_in = N_INPUTS, .min_out = 1, .max_out = most_out, \
		.attrs = attrs_##from, .infer = infer_batch_norm,      \
		.run = run_batch_norm, .kernels = test_kernels         \
	}

const struct tp_op tpi_batch_norm_ops[] = {
    ROW(14, 0, 3),
    ROW(9, 13, 5),
    ROW(7, 8, 5),
    ROW(1, 6, 5),
    {.name = NULL},
};
