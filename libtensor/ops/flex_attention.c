/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flex_attention.c - FlexAttention: attention whose scores and probabilities a
 * graph may change
 *
 * The graphs see all scores at once, [batch, heads, n_q, n_k], in the dtype of
 * softmax_precision. Where there is no graph numbers stay in f64.
 */
#include "heads.h"

#include "tp/layout.h"

#include "../tensor.h"
#include "body.h"
#include "rows.h"
#include "softmax.h"

#include "../banned.h"

struct flex {
	struct tpi_heads heads;
	enum tp_dtype precision;
	struct tp_tensor *scores; /* f64; probabilities later */
};

static enum tp_status
read_flex(const struct tpi_call *c, struct flex *f, struct tp_err *err)
{
	enum tp_dtype usual =
	    c->in[0]->dtype == TP_DTYPE_F64 ? TP_DTYPE_F64 : TP_DTYPE_F32;
	enum tp_status rc;

	*f = (struct flex){.precision = usual};
	rc = tpi_attr_dtype(c, "softmax_precision", usual, &f->precision, err);
	if (!rc && !tpi_float_dtypes[f->precision])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: softmax_precision is %s, expected a float",
		    c->op->onnx, tp_dtype_name(f->precision));
	for (size_t k = 0; k < 3 && !rc; k++)
		if (c->in[k]->rank != 4 || c->in[k]->dtype != c->in[0]->dtype)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s and shape %s, expected "
			    "%s and rank 4",
			    c->op->onnx, k, tp_dtype_name(c->in[k]->dtype),
			    TP_SHAPE_TEXT(
				tp_tensor_sizes(c->in[k]), c->in[k]->rank),
			    tp_dtype_name(c->in[0]->dtype));
	if (!rc)
		rc = tpi_heads_read(c, 0, 0, &f->heads, err);
	f->heads.scale = tpi_attr_float(c, "scale", f->heads.scale);
	return rc;
}

static enum tp_status
infer_flex(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct flex f;
	enum tp_status rc = read_flex(c, &f, err);

	if (rc)
		return rc;
	infos[0] = tpi_info_of(c->in[0]);
	infos[0].sizes[3] = f.heads.v_size;
	return TP_OK;
}

/* What a graph makes of the scores, under their shape and dtype. */
static enum tp_status
take_changed(const struct tpi_call *c, struct flex *f, const char *name,
    const struct tp_value *made, struct tp_err *err)
{
	const struct tp_tensor *t =
	    made->kind == TP_VALUE_TENSOR ? made->tensor : NULL;
	const int64_t *sizes = tp_tensor_sizes(f->scores);
	bool fits = t && t->rank == 4 && t->dtype == f->precision;

	for (unsigned d = 0; d < 4 && fits; d++)
		fits = tp_tensor_sizes(t)[d] == sizes[d];
	if (!fits)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s gives a %s %s of shape %s, expected %s and %s",
		    c->op->onnx, name, t ? tp_dtype_name(t->dtype) : "",
		    tp_value_kind_name(made->kind),
		    t ? TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank) : "?",
		    tp_dtype_name(f->precision), TP_SHAPE_TEXT(sizes, 4));
	return tp_tensor_assign(f->scores, t, TP_OVERFLOW_INF, err);
}

/* The graph of an attribute over the scores, if there is one. */
static enum tp_status
change(const struct tpi_call *c, struct flex *f, const char *name,
    struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);
	struct tp_value in = tp_value_of(NULL), out = tp_value_of(NULL);
	enum tp_status rc;

	if (!a)
		return TP_OK;
	rc = tpi_op_temp(
	    c, f->precision, tp_tensor_sizes(f->scores), 4, &in.tensor, err);
	if (rc)
		return rc;
	in = tp_value_of(in.tensor);
	rc = tp_tensor_assign(in.tensor, f->scores, TP_OVERFLOW_INF, err);
	if (!rc)
		rc = tpi_run_graph(c, a->graph, &in, 1, &out, 1, err);
	if (!rc)
		rc = take_changed(c, f, name, &out, err);
	tp_value_release(&in);
	tp_value_release(&out);
	return rc;
}

/* Kernel of rows.h on scores. */
static void
softmax_row(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	(void)ctx;
	(void)steps;
	tpi_softmax_row((double *)(void *)data[0], n);
}

static enum tp_status
make_probabilities(struct tpi_call *c, struct flex *f, struct tp_err *err)
{
	const struct tpi_rows rows = {
	    .kernel = softmax_row,
	    .operands = {f->scores},
	    .n_written = 1,
	    .n_operands = 1,
	    .axis = 3,
	    .n = f->heads.n_k,
	};

	return tpi_rows_run(c, &rows, err);
}

static enum tp_status
attend(struct tpi_call *c, struct flex *f, struct tp_err *err)
{
	const struct tpi_heads *h = &f->heads;
	struct tpi_span all = tpi_heads_all(h);
	double *scores = tp_tensor_data_mut(f->scores);
	enum tp_status rc = tpi_heads_scores(c, h, &all, scores, err);

	if (!rc)
		rc = change(c, f, "score_mod", err);
	if (!rc)
		rc = make_probabilities(c, f, err);
	if (!rc)
		rc = change(c, f, "prob_mod", err);
	return rc ? rc : tpi_heads_sum(c, h, &all, scores, c->out[0], err);
}

static enum tp_status
run_flex(struct tpi_call *c, struct tp_err *err)
{
	struct flex f;
	enum tp_status rc = read_flex(c, &f, err);

	if (!rc)
		rc = tpi_heads_take(
		    c, &f.heads, c->in[0], c->in[1], c->in[2], err);
	if (!rc) {
		const int64_t sizes[] = {
		    f.heads.n_batch, f.heads.n_heads, f.heads.n_q, f.heads.n_k};

		rc = tpi_op_temp(c, TP_DTYPE_F64, sizes, 4, &f.scores, err);
	}
	if (!rc)
		rc = attend(c, &f, err);
	tp_tensor_free(f.scores);
	tpi_heads_drop(&f.heads);
	return rc;
}

static const struct tpi_attr_spec attrs[] = {{"prob_mod", TP_ATTR_GRAPH},
    {"scale", TP_ATTR_FLOAT}, {"score_mod", TP_ATTR_GRAPH},
    {"softmax_precision", TP_ATTR_INT}, {NULL, 0}};

const struct tp_op tpi_flex_attention_ops[] = {
    {
	.name = "flex_attention",
	.onnx = "FlexAttention",
	.domain = "ai.onnx.preview",
	.since = 1,
	.min_in = 3,
	.max_in = 3,
	.min_out = 1,
	.max_out = 1,
	.attrs = attrs,
	.infer = infer_flex,
	.run = run_flex,
	.kernels = tpi_float_dtypes,
    },
    {.name = NULL},
};
