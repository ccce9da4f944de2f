/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.c - Attention
 *
 *	Y = softmax(cap(q k * scale) + mask) v
 *
 * for each query of each head, where keys and values are those of the past and
 * then the new ones. A query that sees no key gives 0. On demand scores are
 * shown as they are after one of the steps.
 */
#include "attention.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/layout.h"
#include "tp/parallel.h"
#include "tp/view.h"

#include "../tensor.h"
#include "gemm.h"
#include "softmax.h"

#include "../banned.h"

enum { PAST_KEY = 4, PAST_VALUE };
enum { Y, PRESENT_KEY, PRESENT_VALUE, SCORES };
/* Values of qk_matmul_output_mode: the last step that is shown. */
enum step { PRODUCT, CAP, BIAS, PROBABILITY };

struct attention {
	struct tpi_heads heads;
	struct tpi_sight sight;
	double cap;		  /* 0: none */
	int64_t shown;		  /* the step whose scores are an output */
	struct tp_tensor *y;	  /* by head; a view of the output */
	struct tp_tensor *scores; /* the output that shows them, or NULL */
	struct tpi_span span;
	uint64_t row;	/* the first of the span */
	double *room;	/* n_room, for scores of a span */
	double *biases; /* n_k for each part */
	size_t n_room, n_parts;
};

/* Scores that are worked on together: 16 MiB of them. */
#define SPAN (UINT64_C(1) << 21)

/* Past keys or values, if there are any: [batch, kv_heads, n_past, size]. */
static enum tp_status
check_past(const struct tpi_call *c, const struct tpi_heads *h, size_t k,
    int64_t size, int64_t n_past, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];
	const int64_t sizes[] = {h->n_batch, h->n_kv_heads, n_past, size};

	if (t->dtype != c->in[k - 3]->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s, input %zu %s", c->op->onnx, k,
		    tp_dtype_name(t->dtype), k - 3,
		    tp_dtype_name(c->in[k - 3]->dtype));
	if (t->rank != 4 ||
	    memcmp(tp_tensor_sizes(t), sizes, sizeof(sizes)) != 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has shape %s, expected %s", c->op->onnx, k,
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    TP_SHAPE_TEXT(sizes, 4));
	return TP_OK;
}

static enum tp_status
read_past(const struct tpi_call *c, const struct tpi_heads *h, int64_t *n_past,
    struct tp_err *err)
{
	const struct tp_tensor *key = c->in[PAST_KEY];
	const struct tp_tensor *value = c->in[PAST_VALUE];
	int64_t n_all = 0;
	enum tp_status rc;

	*n_past = 0;
	if (!key && !value)
		return TP_OK;
	if (!key || !value)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: past_key and past_value are given together",
		    c->op->onnx);
	*n_past = key->rank == 4 ? tp_tensor_sizes(key)[2] : 0;
	if (tp_add_i64(*n_past, h->n_k, &n_all))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %" PRId64 " past keys", c->op->onnx, *n_past);
	rc = check_past(c, h, PAST_KEY, h->size, *n_past, err);
	return rc ? rc : check_past(c, h, PAST_VALUE, h->v_size, *n_past, err);
}

static enum tp_status
check_attrs(
    const struct tpi_call *c, const struct attention *a, struct tp_err *err)
{
	enum tp_dtype precision = TP_DTYPE_F32;
	enum tp_status rc = tpi_attr_dtype(
	    c, "softmax_precision", TP_DTYPE_F32, &precision, err);

	if (!rc && !tpi_float_dtypes[precision])
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: softmax_precision is %s, expected a float",
		    c->op->onnx, tp_dtype_name(precision));
	if (!rc && (a->shown < PRODUCT || a->shown > PROBABILITY))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: qk_matmul_output_mode is %" PRId64
		    ", expected 0, 1, 2 or 3",
		    c->op->onnx, a->shown);
	if (!rc && c->in[1]->dtype != c->in[0]->dtype)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: keys have dtype %s, queries %s", c->op->onnx,
		    tp_dtype_name(c->in[1]->dtype),
		    tp_dtype_name(c->in[0]->dtype));
	if (!rc && !tpi_float_dtypes[c->in[2]->dtype])
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s: values of dtype %s", c->op->onnx,
		    tp_dtype_name(c->in[2]->dtype));
	return rc;
}

static enum tp_status
read_attention(
    const struct tpi_call *c, struct attention *a, struct tp_err *err)
{
	int64_t n_past = 0;
	enum tp_status rc;

	*a = (struct attention){.cap = tpi_attr_float(c, "softcap", 0),
	    .shown = tpi_attr_int(c, "qk_matmul_output_mode", 0)};
	rc = check_attrs(c, a, err);
	if (!rc)
		rc = tpi_heads_read(c, tpi_attr_int(c, "q_num_heads", 0),
		    tpi_attr_int(c, "kv_num_heads", 0), &a->heads, err);
	if (!rc)
		rc = read_past(c, &a->heads, &n_past, err);
	if (!rc)
		rc = tpi_sight_read(c, &a->heads, n_past, &a->sight, err);
	a->heads.scale = tpi_attr_float(c, "scale", a->heads.scale);
	return rc;
}

static struct tpi_info
info_of(enum tp_dtype dtype, int64_t a, int64_t b, int64_t c, int64_t d)
{
	return (struct tpi_info){dtype, 4, {a, b, c, d}};
}

static enum tp_status
infer_attention(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_dtype dtype = c->in[0]->dtype;
	struct attention a;
	enum tp_status rc = read_attention(c, &a, err);
	const struct tpi_heads *h = &a.heads;
	int64_t n_k = a.sight.n_k;

	if (rc)
		return rc;
	infos[Y] = info_of(dtype, h->n_batch, h->n_heads, h->n_q, h->v_size);
	if (h->is_flat) {
		infos[Y].rank = 3;
		infos[Y].sizes[1] = h->n_q;
		if (tp_mul_i64(h->n_heads, h->v_size, &infos[Y].sizes[2]))
			return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
			    "%s: %" PRId64 " heads of %" PRId64, c->op->onnx,
			    h->n_heads, h->v_size);
	}
	if (c->n_out > PRESENT_KEY)
		infos[PRESENT_KEY] =
		    info_of(dtype, h->n_batch, h->n_kv_heads, n_k, h->size);
	if (c->n_out > PRESENT_VALUE)
		infos[PRESENT_VALUE] = info_of(
		    c->in[2]->dtype, h->n_batch, h->n_kv_heads, n_k, h->v_size);
	if (c->n_out > SCORES)
		infos[SCORES] =
		    info_of(dtype, h->n_batch, h->n_heads, h->n_q, n_k);
	return TP_OK;
}

/*
 * The past and what is new of input k behind one another, in the output that
 * shows it or elsewhere.
 */
static enum tp_status
join_past(const struct tpi_call *c, const struct attention *a, size_t k,
    struct tp_tensor **out, struct tp_err *err)
{
	const struct tp_tensor *past = c->in[k + 3];
	const struct tpi_heads *h = &a->heads;
	int64_t n_past = a->sight.n_past;
	const int64_t sizes[] = {h->n_batch, h->n_kv_heads, a->sight.n_k,
	    k == 1 ? h->size : h->v_size};
	struct tp_tensor *fresh = NULL, *part = NULL;
	enum tp_status rc =
	    tpi_heads_split(c->in[k], h->n_kv_heads, &fresh, err);

	*out = NULL;
	if (rc || (!past && c->n_out <= k)) {
		*out = fresh;
		return rc;
	}
	rc = c->n_out > k ? tp_tensor_alias(c->out[k], out, err)
			  : tpi_op_temp(c, fresh->dtype, sizes, 4, out, err);
	if (!rc)
		rc = tp_tensor_narrow(*out, 2, n_past, h->n_k, &part, err);
	if (!rc)
		rc = tp_tensor_assign(part, fresh, TP_OVERFLOW_INF, err);
	tp_tensor_free(part);
	part = NULL;
	if (!rc && past)
		rc = tp_tensor_narrow(*out, 2, 0, n_past, &part, err);
	if (!rc && past)
		rc = tp_tensor_assign(part, past, TP_OVERFLOW_INF, err);
	tp_tensor_free(part);
	tp_tensor_free(fresh);
	return rc;
}

static enum tp_status
take_heads(const struct tpi_call *c, struct attention *a, struct tp_err *err)
{
	struct tp_tensor *q = NULL, *k = NULL, *v = NULL;
	enum tp_status rc =
	    tpi_heads_split(c->in[0], a->heads.n_heads, &q, err);

	if (!rc)
		rc = join_past(c, a, 1, &k, err);
	if (!rc)
		rc = join_past(c, a, 2, &v, err);
	if (!rc)
		rc = tpi_heads_take(c, &a->heads, q, k, v, err);
	tp_tensor_free(q);
	tp_tensor_free(k);
	tp_tensor_free(v);
	return rc;
}

static enum tp_status
make_room(const struct tpi_call *c, struct attention *a, struct tp_err *err)
{
	const struct tpi_heads *h = &a->heads;
	struct tpi_span span = tpi_heads_span(h, 0, SPAN);
	size_t n_rows = span.n_heads * (size_t)span.n_queries;
	size_t n_k = (size_t)h->n_k;

	a->n_parts = tpi_op_parts(c, n_rows * (uint64_t)n_k * 10, n_rows);
	if (tp_mul_size(n_rows, n_k, &a->n_room))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %" PRId64 " keys", c->op->onnx, h->n_k);
	/* Without keys there is still a row to point to. */
	a->n_room += a->n_room == 0;
	a->room = tpi_op_scratch(c, a->n_room, sizeof(double));
	a->biases = tpi_op_scratch(c, a->n_parts, n_k * sizeof(double) + 1);
	if (a->room && a->biases)
		return TP_OK;
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "%s: no memory for scores of %" PRId64 " keys", c->op->onnx,
	    h->n_k);
}

/* Scores after a step, if they are wanted. */
static void
show(const struct attention *a, enum step step, uint64_t row, double *scores)
{
	size_t n = (size_t)a->heads.n_k;
	char *data[2] = {NULL, (char *)scores};

	if (!a->scores || a->shown != (int64_t)step)
		return;
	data[0] = tpi_tensor_address(a->scores) +
		  row * n * (tp_dtype_bits(a->scores->dtype) / 8);
	tpi_pack[a->scores->dtype](NULL, data, NULL, n);
}

/* From the scores of a row to its probabilities. */
static void
weigh(const struct attention *a, uint64_t row, double *s, double *bias)
{
	const struct tpi_heads *h = &a->heads;
	size_t n = (size_t)h->n_k;
	uint64_t head = row / (uint64_t)h->n_q;
	bool sees = tpi_sight_row(&a->sight, head / (uint64_t)h->n_heads,
	    head % (uint64_t)h->n_heads, (int64_t)(row % (uint64_t)h->n_q),
	    bias);

	show(a, PRODUCT, row, s);
	for (size_t j = 0; j < n && a->cap != 0; j++)
		s[j] = a->cap * tanh(s[j] / a->cap);
	show(a, CAP, row, s);
	for (size_t j = 0; j < n; j++)
		s[j] += bias[j];
	show(a, BIAS, row, s);
	if (sees)
		tpi_softmax_row(s, n);
	else
		memset(s, 0, n * sizeof(*s));
	show(a, PROBABILITY, row, s);
}

static void
weigh_part(void *ctx, size_t k)
{
	const struct attention *a = ctx;
	size_t n = (size_t)a->heads.n_k;
	size_t n_rows = a->span.n_heads * (size_t)a->span.n_queries;
	double *bias = a->biases + k * n;

	for (size_t i = k; i < n_rows; i += a->n_parts)
		weigh(a, a->row + i, a->room + i * n, bias);
}

/* A span of rows after the other. */
static enum tp_status
attend(struct tpi_call *c, struct attention *a, struct tp_err *err)
{
	const struct tpi_heads *h = &a->heads;
	uint64_t n_rows =
	    (uint64_t)h->n_batch * (uint64_t)h->n_heads * (uint64_t)h->n_q;
	enum tp_status rc = TP_OK;

	while (a->row < n_rows && !rc) {
		a->span = tpi_heads_span(h, a->row, SPAN);
		rc = tpi_heads_scores(c, h, &a->span, a->room, err);
		if (rc)
			break;
		tp_parallel(c->n_threads, a->n_parts, weigh_part, a);
		rc = tpi_heads_sum(c, h, &a->span, a->room, a->y, err);
		a->row += a->span.n_heads * (uint64_t)a->span.n_queries;
	}
	return rc;
}

static enum tp_status
run_attention(struct tpi_call *c, struct tp_err *err)
{
	struct attention a;
	enum tp_status rc = read_attention(c, &a, err);

	if (!rc)
		rc = take_heads(c, &a, err);
	if (!rc)
		rc = tpi_sight_take(c, &a.heads, &a.sight, err);
	if (!rc)
		rc = tpi_heads_split(c->out[Y], a.heads.n_heads, &a.y, err);
	if (!rc && c->n_out > SCORES)
		a.scores = c->out[SCORES];
	if (!rc && a.heads.n_batch && a.heads.n_heads && a.heads.n_q) {
		rc = make_room(c, &a, err);
		if (!rc)
			rc = attend(c, &a, err);
		tp_mem_free(c->alloc, a.room, a.n_room, sizeof(double));
		tp_mem_free(c->alloc, a.biases, a.n_parts,
		    (size_t)a.heads.n_k * sizeof(double) + 1);
	}
	tp_tensor_free(a.y);
	tpi_sight_drop(&a.sight);
	tpi_heads_drop(&a.heads);
	return rc;
}

#define COMMON                                                                \
	{"is_causal", TP_ATTR_INT}, {"kv_num_heads", TP_ATTR_INT},            \
	    {"q_num_heads", TP_ATTR_INT},                                     \
	    {"qk_matmul_output_mode", TP_ATTR_INT}, {"scale", TP_ATTR_FLOAT}, \
	    {"softcap", TP_ATTR_FLOAT},                                       \
	{                                                                     \
		"softmax_precision", TP_ATTR_INT                              \
	}

static const struct tpi_attr_spec attrs_23[] = {COMMON, {NULL, 0}};
static const struct tpi_attr_spec attrs_25[] = {COMMON,
    {"left_window_size", TP_ATTR_INT}, {"right_window_size", TP_ATTR_INT},
    {NULL, 0}};

#define ROW(from, to, inputs, list)                                       \
	{                                                                 \
		.name = "attention", .onnx = "Attention", .since = from,  \
		.until = to, .min_in = 3, .max_in = inputs, .min_out = 1, \
		.max_out = 4, .attrs = list, .infer = infer_attention,    \
		.run = run_attention, .kernels = tpi_float_dtypes         \
	}

const struct tp_op tpi_attention_ops[] = {
    ROW(25, 0, 7, attrs_25),
    ROW(24, 24, 7, attrs_23),
    ROW(23, 23, 6, attrs_23),
    {.name = NULL},
};
