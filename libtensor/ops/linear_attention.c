/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_attention.c - LinearAttention: a matrix of what was seen so far
 * instead of all keys and values
 *
 * The state S of a head of keys is [size, v_size]. A step
 *
 *	S = exp(decay) . S, by row                            if it is gated
 *	w = beta * (v - transpose(S) k), or v if it learns no difference
 *	S = S + k w
 *	y = scale * q S, for each head of queries that shares S
 */
#include "heads.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/layout.h"
#include "tp/parallel.h"
#include "tp/view.h"

#include "../tensor.h"
#include "vector.h"

#include "../banned.h"

enum { Q, K, V, PAST, DECAY, BETA, N_INPUTS };

struct linear {
	struct tpi_heads heads; /* sizes alone */
	bool is_gated, is_delta;
	/* f64 by head: [batch, heads, n, …]; the past as it is; or NULL. */
	struct tp_tensor *in[N_INPUTS];
	struct tp_tensor *y, *state;
	double *room; /* v_size for each head of keys */
	size_t n_room;
};

static enum tp_status
read_rule(const struct tpi_call *c, struct linear *l, struct tp_err *err)
{
	static const struct {
		const char *name;
		bool is_gated, is_delta;
	} rules[] = {{"linear", false, false}, {"gated", true, false},
	    {"delta", false, true}, {"gated_delta", true, true}};
	const struct tp_attr *a = tpi_attr_find(c, "update_rule");
	struct tp_str name = a ? a->s : TP_STR("gated_delta");

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (tp_str_cmp(name, tp_str(rules[i].name)) != 0)
			continue;
		*l = (struct linear){.is_gated = rules[i].is_gated,
		    .is_delta = rules[i].is_delta};
		if ((l->is_gated && !c->in[DECAY]) ||
		    (l->is_delta && !c->in[BETA]))
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: update_rule '%s' needs %s", c->op->onnx,
			    rules[i].name,
			    l->is_gated && !c->in[DECAY] ? "decay" : "beta");
		return TP_OK;
	}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: update_rule is '%s', expected linear, gated, delta or "
	    "gated_delta",
	    c->op->onnx, TP_BRIEF(name));
}

/* [batch, n, one or other]. */
static enum tp_status
check_gate(const struct tpi_call *c, const struct tpi_heads *h, size_t k,
    int64_t one, int64_t other, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];
	const int64_t *s = t ? tp_tensor_sizes(t) : NULL;

	if (!t || (t->rank == 3 && s[0] == h->n_batch && s[1] == h->n_q &&
		      (s[2] == one || s[2] == other)))
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: input %zu has shape %s, expected [%" PRId64 ", %" PRId64
	    ", %" PRId64 " or %" PRId64 "]",
	    c->op->onnx, k, TP_SHAPE_TEXT(s, t->rank), h->n_batch, h->n_q, one,
	    other);
}

static enum tp_status
check_inputs(
    const struct tpi_call *c, const struct tpi_heads *h, struct tp_err *err)
{
	const int64_t past[] = {h->n_batch, h->n_kv_heads, h->size, h->v_size};
	const struct tp_tensor *t = c->in[PAST];

	if (!h->is_flat || h->n_q != h->n_k)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: queries of shape %s for keys of shape %s, expected "
		    "rank 3 and as many of both",
		    c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(c->in[Q]), c->in[Q]->rank),
		    TP_SHAPE_TEXT(tp_tensor_sizes(c->in[K]), c->in[K]->rank));
	for (size_t k = 1; k < N_INPUTS; k++)
		if (c->in[k] && !tpi_float_dtypes[c->in[k]->dtype])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s, expected a float",
			    c->op->onnx, k, tp_dtype_name(c->in[k]->dtype));
	if (t && (t->rank != 4 ||
		     memcmp(tp_tensor_sizes(t), past, sizeof(past)) != 0))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: past_state has shape %s, expected %s", c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank),
		    TP_SHAPE_TEXT(past, 4));
	return TP_OK;
}

static enum tp_status
read_linear(const struct tpi_call *c, struct linear *l, struct tp_err *err)
{
	struct tpi_heads *h = &l->heads;
	double scale = tpi_attr_float(c, "scale", 0);
	enum tp_status rc = read_rule(c, l, err);

	if (!rc)
		rc = tpi_heads_read(c, tpi_attr_int(c, "q_num_heads", 0),
		    tpi_attr_int(c, "kv_num_heads", 0), h, err);
	if (!rc)
		rc = check_inputs(c, h, err);
	if (!rc)
		rc = check_gate(c, h, DECAY, tp_tensor_sizes(c->in[K])[2],
		    h->n_kv_heads, err);
	if (!rc)
		rc = check_gate(c, h, BETA, h->n_kv_heads, 1, err);
	if (!rc && scale != 0)
		h->scale = scale;
	return rc;
}

static enum tp_status
infer_linear(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct linear l;
	enum tp_status rc = read_linear(c, &l, err);
	const struct tpi_heads *h = &l.heads;

	if (rc)
		return rc;
	infos[0] = tpi_info_of(c->in[Q]);
	if (tp_mul_i64(h->n_heads, h->v_size, &infos[0].sizes[2]))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %" PRId64 " heads of %" PRId64, c->op->onnx,
		    h->n_heads, h->v_size);
	if (c->n_out > 1)
		infos[1] = (struct tpi_info){
		    (c->in[PAST] ? c->in[PAST] : c->in[Q])->dtype, 4,
		    {h->n_batch, h->n_kv_heads, h->size, h->v_size}};
	return TP_OK;
}

/* An input by head: n_heads lie side by side in it. */
static enum tp_status
take_input(const struct tpi_call *c, struct linear *l, size_t k,
    int64_t n_heads, struct tp_err *err)
{
	struct tp_tensor *by_head = NULL;
	enum tp_status rc;

	if (!c->in[k])
		return TP_OK;
	rc = tpi_heads_split(c->in[k], n_heads, &by_head, err);
	if (!rc)
		rc = tpi_op_doubles(
		    c, by_head, tp_tensor_sizes(by_head), 4, &l->in[k], err);
	tp_tensor_free(by_head);
	return rc;
}

static enum tp_status
take_inputs(const struct tpi_call *c, struct linear *l, struct tp_err *err)
{
	int64_t n_kv = l->heads.n_kv_heads;
	bool is_one = c->in[BETA] && tp_tensor_sizes(c->in[BETA])[2] == 1;
	enum tp_status rc = take_input(c, l, Q, l->heads.n_heads, err);

	if (!rc)
		rc = take_input(c, l, K, n_kv, err);
	if (!rc)
		rc = take_input(c, l, V, n_kv, err);
	if (!rc)
		rc = take_input(c, l, PAST, n_kv, err);
	if (!rc && l->is_gated)
		rc = take_input(c, l, DECAY, n_kv, err);
	if (!rc && l->is_delta)
		rc = take_input(c, l, BETA, is_one ? 1 : n_kv, err);
	return rc;
}

static enum tp_status
make_room(const struct tpi_call *c, struct linear *l, struct tp_err *err)
{
	const struct tpi_heads *h = &l->heads;
	const int64_t y[] = {h->n_batch, h->n_heads, h->n_q, h->v_size};
	const int64_t state[] = {h->n_batch, h->n_kv_heads, h->size, h->v_size};
	enum tp_status rc = tpi_op_temp(c, TP_DTYPE_F64, y, 4, &l->y, err);

	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_F64, state, 4, &l->state, err);
	if (rc)
		return rc;
	if (tp_mul_size((size_t)h->n_batch * (size_t)h->n_kv_heads,
		(size_t)h->v_size, &l->n_room))
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: values of %" PRId64, c->op->onnx, h->v_size);
	if (l->n_room)
		l->room = tp_mem_array(c->alloc, l->n_room, sizeof(double));
	if (l->n_room && !l->room)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for values of %" PRId64, c->op->onnx,
		    h->v_size);
	return TP_OK;
}

/* Row `row` of the last axis. */
static double *
row_of(const struct tp_tensor *t, size_t row)
{
	return (double *)(void *)tpi_tensor_address(t) +
	       row * (size_t)tp_tensor_sizes(t)[3];
}

/* Let the state fade: by a number for each of its rows, or one for all. */
static void
fade(double *s, const double *decay, bool is_one, size_t size, size_t n)
{
	for (size_t d = 0; d < size; d++) {
		double factor = exp(decay[is_one ? 0 : d]);

		for (size_t e = 0; e < n; e++)
			s[d * n + e] *= factor;
	}
}

/* Step t: what is seen goes into the state of one head of keys. */
static void
learn(const struct linear *l, size_t batch, size_t kv, size_t t, double *s,
    double *w)
{
	const struct tpi_heads *h = &l->heads;
	size_t size = (size_t)h->size, n = (size_t)h->v_size;
	size_t head = batch * (size_t)h->n_kv_heads + kv;
	size_t row = head * (size_t)h->n_q + t;
	const double *k = row_of(l->in[K], row), *v = row_of(l->in[V], row);

	if (l->is_gated)
		fade(s, row_of(l->in[DECAY], row),
		    tp_tensor_sizes(l->in[DECAY])[3] == 1, size, n);
	memset(w, 0, n * sizeof(*w));
	if (l->is_delta) {
		size_t n_beta = (size_t)tp_tensor_sizes(l->in[BETA])[1];
		size_t at = batch * n_beta + (n_beta == 1 ? 0 : kv);
		double beta = *row_of(l->in[BETA], at * (size_t)h->n_q + t);

		tpi_add_product(w, k, size, s, n, n);
		for (size_t e = 0; e < n; e++)
			w[e] = beta * (v[e] - w[e]);
	} else {
		memcpy(w, v, n * sizeof(*w));
	}
	for (size_t d = 0; d < size; d++)
		for (size_t e = 0; e < n; e++)
			s[d * n + e] += k[d] * w[e];
}

/* One head of keys of one example, and the heads of queries that share it. */
static void
run_head(void *ctx, size_t head)
{
	const struct linear *l = ctx;
	const struct tpi_heads *h = &l->heads;
	size_t n_kv = (size_t)h->n_kv_heads,
	       n_shared = (size_t)h->n_heads / n_kv;
	size_t size = (size_t)h->size, n = (size_t)h->v_size;
	size_t n_q = (size_t)h->n_q;
	double *s = row_of(l->state, head * size);
	double *w = l->room + head * n;

	if (l->in[PAST])
		memcpy(
		    s, row_of(l->in[PAST], head * size), size * n * sizeof(*s));
	else
		memset(s, 0, size * n * sizeof(*s));
	for (size_t t = 0; t < n_q; t++) {
		learn(l, head / n_kv, head % n_kv, t, s, w);
		for (size_t i = 0; i < n_shared; i++) {
			size_t row = (head * n_shared + i) * n_q + t;
			double *y = row_of(l->y, row);

			memset(y, 0, n * sizeof(*y));
			tpi_add_product(
			    y, row_of(l->in[Q], row), size, s, n, n);
			for (size_t e = 0; e < n; e++)
				y[e] *= h->scale;
		}
	}
}

static enum tp_status
give_results(
    const struct tpi_call *c, const struct linear *l, struct tp_err *err)
{
	struct tp_tensor *y = NULL;
	enum tp_status rc =
	    tpi_heads_split(c->out[0], l->heads.n_heads, &y, err);

	if (!rc)
		rc = tp_tensor_assign(y, l->y, TP_OVERFLOW_INF, err);
	if (!rc && c->n_out > 1)
		rc =
		    tp_tensor_assign(c->out[1], l->state, TP_OVERFLOW_INF, err);
	tp_tensor_free(y);
	return rc;
}

static enum tp_status
run_linear(struct tpi_call *c, struct tp_err *err)
{
	struct linear l;
	enum tp_status rc = read_linear(c, &l, err);

	if (!rc)
		rc = take_inputs(c, &l, err);
	if (!rc)
		rc = make_room(c, &l, err);
	if (!rc && l.n_room > 0)
		tp_parallel(c->n_threads,
		    (size_t)l.heads.n_batch * (size_t)l.heads.n_kv_heads,
		    run_head, &l);
	if (!rc)
		rc = give_results(c, &l, err);
	for (size_t k = 0; k < N_INPUTS; k++)
		tp_tensor_free(l.in[k]);
	tp_tensor_free(l.y);
	tp_tensor_free(l.state);
	tp_mem_free(c->alloc, l.room, l.n_room, sizeof(double));
	return rc;
}

/* chunk_size is about how, not what. */
static const struct tpi_attr_spec attrs[] = {{"chunk_size", TP_ATTR_INT},
    {"kv_num_heads", TP_ATTR_INT}, {"q_num_heads", TP_ATTR_INT},
    {"scale", TP_ATTR_FLOAT}, {"update_rule", TP_ATTR_STRING}, {NULL, 0}};

const struct tp_op tpi_linear_attention_ops[] = {
    {
	.name = "linear_attention",
	.onnx = "LinearAttention",
	.since = 27,
	.min_in = 3,
	.max_in = N_INPUTS,
	.min_out = 1,
	.max_out = 2,
	.attrs = attrs,
	.infer = infer_linear,
	.run = run_linear,
	.kernels = tpi_float_dtypes,
    },
    {.name = NULL},
};
