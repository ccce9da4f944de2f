/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.c - NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss
 *
 * x is [N, C, …], targets are [N, …] and name one of C classes each. The loss
 * of an example is -log p[target] * weight[target], where the first loss is
 * given log p, and the second makes it of x. A target that equals ignore_index,
 * which need not be a class, costs nothing and has no weight.
 */
#include "kernel.h"
#include "rows.h"
#include "softmax.h"

#include <inttypes.h>
#include <string.h>

#include "tp/access.h"
#include "tp/layout.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

enum reduction { NONE, SUM, MEAN };

struct loss {
	enum reduction reduction;
	bool is_cross_entropy; /* x is not log p yet */
	bool ignores;
	int64_t ignored;
	const double *weights; /* of C classes; NULL: all 1 */
	/* Examples in their order, as [N, 1, …]. */
	struct tp_tensor *targets, *losses, *shares;
};

/*
 * Kernels of rows.h on one f64 for the loss and one for its weight, log p (or
 * absent), x and one i64 for the target; scratch holds a row.
 */
#define LOSS(OP, ID, T, W, LOAD, STORE)                                      \
	static void OP##_##ID(                                               \
	    void *ctx, char *const *data, const int64_t *steps, size_t n)    \
	{                                                                    \
		const struct tpi_row *row = ctx;                             \
		double *p = row->scratch;                                    \
                                                                             \
		for (size_t i = 0; i < n; i++)                               \
			p[i] = LOAD(*TPI_CONST_AT(T, data[3], steps[3], i)); \
		judge(row, data, n);                                         \
		for (size_t i = 0; i < n && data[2]; i++)                    \
			*TPI_AT(T, data[2], steps[2], i) = STORE(p[i]);      \
	}

static void
judge(const struct tpi_row *row, char *const *data, size_t n)
{
	const struct loss *l = row->how;
	int64_t target = *(const int64_t *)(const void *)data[4];
	bool counts = !l->ignores || target != l->ignored;
	double share = counts && l->weights ? l->weights[target] : counts;

	if (l->is_cross_entropy)
		tpi_log_softmax_row(row->scratch, n);
	*(double *)(void *)data[0] = counts ? -row->scratch[target] * share : 0;
	*(double *)(void *)data[1] = share;
}

TPI_FOREACH_DOUBLE(LOSS, loss)

static tp_loop_fn *const loss_kernels[TP_DTYPE_COUNT] = {
    TPI_FOREACH_DOUBLE(TPI_KERNEL_ROW, loss)};

static enum tp_status
read_attrs(const struct tpi_call *c, struct loss *l, struct tp_err *err)
{
	static const char *const names[] = {
	    [NONE] = "none", [SUM] = "sum", [MEAN] = "mean"};
	const struct tp_attr *reduction = tpi_attr_find(c, "reduction");
	const struct tp_attr *ignore = tpi_attr_find(c, "ignore_index");
	struct tp_str name = reduction ? reduction->s : TP_STR("mean");

	*l = (struct loss){.ignores = ignore != NULL,
	    .ignored = ignore ? ignore->i : 0,
	    .is_cross_entropy = c->op->max_out == 2};
	for (int k = NONE; k <= MEAN; k++)
		if (tp_str_cmp(name, tp_str(names[k])) == 0) {
			l->reduction = (enum reduction)k;
			return TP_OK;
		}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: reduction is '%s', expected none, sum or mean", c->op->onnx,
	    TP_BRIEF(name));
}

static enum tp_status
check_inputs(const struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0], *t = c->in[1], *w = c->in[2];
	bool fits = x->rank >= 2 && t->rank == x->rank - 1;

	for (unsigned d = 0; fits && d < t->rank; d++)
		fits = tp_tensor_sizes(t)[d] == tp_tensor_sizes(x)[d + (d > 0)];
	if (!fits)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: targets of shape %s for input of shape %s, expected "
		    "[N, ...] for [N, C, ...]",
		    c->op->onnx, TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(x), x->rank));
	if (t->dtype != TP_DTYPE_I64 && t->dtype != TP_DTYPE_I32)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: targets of dtype %s, expected i64 or i32", c->op->onnx,
		    tp_dtype_name(t->dtype));
	if (w && (w->rank != 1 || w->dtype != x->dtype ||
		     tp_tensor_sizes(w)[0] != tp_tensor_sizes(x)[1]))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: weights of dtype %s and shape %s, expected %s and "
		    "[%" PRId64 "]",
		    c->op->onnx, tp_dtype_name(w->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(w), w->rank),
		    tp_dtype_name(x->dtype), tp_tensor_sizes(x)[1]);
	return TP_OK;
}

static enum tp_status
infer_loss(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct loss l;
	enum tp_status rc = read_attrs(c, &l, err);

	if (!rc)
		rc = check_inputs(c, err);
	if (rc)
		return rc;
	infos[0] = tpi_info_of(c->in[1]);
	infos[0].dtype = c->in[0]->dtype;
	if (l.reduction != NONE)
		infos[0].rank = 0;
	if (c->n_out > 1)
		infos[1] = tpi_info_of(c->in[0]);
	return TP_OK;
}

/* Every target is a class of x or ignored. */
static enum tp_status
check_targets(
    const struct tpi_call *c, const struct loss *l, struct tp_err *err)
{
	const int64_t *t = tp_tensor_data(l->targets);
	int64_t n_classes = tp_tensor_sizes(c->in[0])[1];

	for (uint64_t i = 0; i < l->targets->n_elems; i++)
		if ((t[i] < 0 || t[i] >= n_classes) &&
		    !(l->ignores && t[i] == l->ignored))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: target %" PRIu64 " is %" PRId64
			    ", there are %" PRId64 " classes",
			    c->op->onnx, i, t[i], n_classes);
	return TP_OK;
}

static enum tp_status
take_targets(const struct tpi_call *c, struct loss *l, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[1];
	struct tp_tensor *packed = NULL;
	enum tp_status rc = tpi_op_temp(
	    c, TP_DTYPE_I64, tp_tensor_sizes(t), t->rank, &packed, err);

	if (!rc)
		rc = tp_tensor_assign(packed, t, TP_OVERFLOW_INF, err);
	if (!rc)
		rc = tp_tensor_unsqueeze(packed, 1, &l->targets, err);
	tp_tensor_free(packed);
	return rc ? rc : check_targets(c, l, err);
}

/* Sum or mean by weight of the losses, in their order. */
static double
join(const struct loss *l)
{
	const double *losses = tp_tensor_data(l->losses);
	const double *shares = tp_tensor_data(l->shares);
	double sum = 0, share = 0;

	for (uint64_t i = 0; i < l->losses->n_elems; i++) {
		sum += losses[i];
		share += shares[i];
	}
	return l->reduction == MEAN ? sum / share : sum;
}

static enum tp_status
give_loss(struct tpi_call *c, const struct loss *l, struct tp_err *err)
{
	struct tp_tensor *shaped = NULL;
	enum tp_status rc;

	if (l->reduction != NONE)
		return tp_tensor_fill(c->out[0], join(l), TP_OVERFLOW_INF, err);
	rc = tp_tensor_squeeze(l->losses, 1, &shaped, err);
	if (!rc)
		rc = tp_tensor_assign(c->out[0], shaped, TP_OVERFLOW_INF, err);
	tp_tensor_free(shaped);
	return rc;
}

static enum tp_status
run_examples(struct tpi_call *c, const struct loss *l, struct tp_err *err)
{
	int64_t n_classes = tp_tensor_sizes(c->in[0])[1];
	struct tpi_rows rows = {
	    .kernel = c->kernel,
	    .how = l,
	    .operands = {l->losses, l->shares, c->n_out > 1 ? c->out[1] : NULL,
		c->in[0], l->targets},
	    .n_written = 3,
	    .n_operands = 5,
	    .axis = 1,
	    .n = n_classes,
	    .n_scratch = (size_t)n_classes,
	};

	return tpi_rows_run(c, &rows, err);
}

static enum tp_status
run_loss(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *weights = NULL;
	const int64_t *sizes;
	struct loss l;
	enum tp_status rc = read_attrs(c, &l, err);

	if (!rc)
		rc = take_targets(c, &l, err);
	if (!rc && c->in[2])
		rc = tpi_op_doubles(
		    c, c->in[2], tp_tensor_sizes(c->in[2]), 1, &weights, err);
	if (!rc) {
		l.weights = weights ? tp_tensor_data(weights) : NULL;
		sizes = tp_tensor_sizes(l.targets);
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, sizes, l.targets->rank, &l.losses, err);
	}
	if (!rc)
		rc = tpi_op_temp(
		    c, TP_DTYPE_F64, sizes, l.targets->rank, &l.shares, err);
	if (!rc)
		rc = run_examples(c, &l, err);
	if (!rc)
		rc = give_loss(c, &l, err);
	tp_tensor_free(weights);
	tp_tensor_free(l.targets);
	tp_tensor_free(l.losses);
	tp_tensor_free(l.shares);
	return rc;
}

static const struct tpi_attr_spec attrs[] = {
    {"ignore_index", TP_ATTR_INT}, {"reduction", TP_ATTR_STRING}, {NULL, 0}};

#define ROW(c_name, onnx_name, outputs)                                        \
	{                                                                      \
		.name = c_name, .onnx = onnx_name, .since = 12, .min_in = 2,   \
		.max_in = 3, .min_out = 1, .max_out = outputs, .attrs = attrs, \
		.infer = infer_loss, .run = run_loss, .kernels = loss_kernels  \
	}

const struct tp_op tpi_loss_ops[] = {
    ROW("nll_loss", "NegativeLogLikelihoodLoss", 1),
    ROW("cross_entropy_loss", "SoftmaxCrossEntropyLoss", 2),
    {.name = NULL},
};
