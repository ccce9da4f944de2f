/* SPDX-License-Identifier: Apache-2.0 */
/* attention_mask.c - who is seen by whom */
#include "attention.h"

#include <inttypes.h>
#include <math.h>

#include "tp/layout.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

enum { MASK = 3, LENS = 6 };

/* No position is further away, and sums of a few do not overflow. */
#define FAR (INT64_C(1) << 60)

static int64_t
window(const struct tpi_call *c, const char *name)
{
	int64_t n = tpi_attr_int(c, name, -1);

	return n < 0 ? -1 : n > FAR ? FAR : n;
}

static enum tp_status
check_lens(
    const struct tpi_call *c, const struct tpi_heads *h, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[LENS];

	if (!t)
		return TP_OK;
	if (t->dtype != TP_DTYPE_I64 || t->rank != 1 ||
	    tp_tensor_sizes(t)[0] != h->n_batch)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: nonpad_kv_seqlen has dtype %s and shape %s, expected "
		    "i64 and [%" PRId64 "]",
		    c->op->onnx, tp_dtype_name(t->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank), h->n_batch);
	return TP_OK;
}

/*
 * Up to opset 23 a mask of one key is for all of them; from 24 on it is padded
 * like any that is short.
 */
static int64_t
mask_keys(const struct tpi_call *c, int64_t n_k)
{
	const struct tp_tensor *t = c->in[MASK];
	int64_t n = t->rank ? tp_tensor_sizes(t)[t->rank - 1] : 1;

	return n == 1 && (c->op->since < 24 || t->rank == 0) ? n_k : n;
}

static enum tp_status
check_mask(const struct tpi_call *c, const struct tpi_heads *h,
    const struct tpi_sight *s, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[MASK];
	const int64_t full[] = {h->n_batch, h->n_heads, h->n_q, s->n_k};
	bool fits = true;

	if (!t)
		return TP_OK;
	if (t->dtype != TP_DTYPE_BOOL && !tpi_float_dtypes[t->dtype])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: attn_mask has dtype %s, expected bool or a float",
		    c->op->onnx, tp_dtype_name(t->dtype));
	for (unsigned d = 0; d < t->rank && t->rank <= 4 && fits; d++) {
		int64_t size = tp_tensor_sizes(t)[t->rank - 1 - d];

		fits =
		    d == 0 ? size <= s->n_k : size == 1 || size == full[3 - d];
	}
	if (t->rank <= 4 && fits)
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: attn_mask of shape %s for scores of shape %s", c->op->onnx,
	    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank), TP_SHAPE_TEXT(full, 4));
}

enum tp_status
tpi_sight_read(const struct tpi_call *c, const struct tpi_heads *h,
    int64_t n_past, struct tpi_sight *s, struct tp_err *err)
{
	enum tp_status rc;

	*s = (struct tpi_sight){.is_causal = tpi_attr_int(c, "is_causal", 0),
	    .left = window(c, "left_window_size"),
	    .right = window(c, "right_window_size"),
	    .n_past = n_past,
	    .n_q = h->n_q,
	    .n_k = n_past + h->n_k};
	if (h->n_q > FAR || s->n_k > FAR)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %" PRId64 " queries and %" PRId64 " keys", c->op->onnx,
		    h->n_q, s->n_k);
	rc = check_lens(c, h, err);
	return rc ? rc : check_mask(c, h, s, err);
}

static enum tp_status
take_lens(const struct tpi_call *c, struct tpi_sight *s, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[LENS];
	const int64_t *lens;
	enum tp_status rc;

	if (!t)
		return TP_OK;
	rc = tpi_op_temp(c, TP_DTYPE_I64, tp_tensor_sizes(t), 1, &s->lens, err);
	if (!rc)
		rc = tp_tensor_assign(s->lens, t, TP_OVERFLOW_INF, err);
	if (rc)
		return rc;
	lens = tp_tensor_data(s->lens);
	for (uint64_t b = 0; b < t->n_elems; b++)
		if (lens[b] < 0 || lens[b] > s->n_k)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: sequence %" PRIu64 " has %" PRId64
			    " keys of %" PRId64,
			    c->op->onnx, b, lens[b], s->n_k);
	return TP_OK;
}

enum tp_status
tpi_sight_take(const struct tpi_call *c, const struct tpi_heads *h,
    struct tpi_sight *s, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[MASK];
	struct tp_tensor *wide = NULL;
	enum tp_status rc = take_lens(c, s, err);

	if (!rc && t) {
		const int64_t sizes[] = {
		    h->n_batch, h->n_heads, h->n_q, mask_keys(c, s->n_k)};

		s->is_choice = t->dtype == TP_DTYPE_BOOL;
		rc = tpi_op_doubles(
		    c, t, tp_tensor_sizes(t), t->rank, &wide, err);
		if (!rc)
			rc = tp_tensor_expand(wide, sizes, 4, &s->mask, err);
		tp_tensor_free(wide);
	}
	return rc;
}

void
tpi_sight_drop(struct tpi_sight *s)
{
	tp_tensor_free(s->lens);
	tp_tensor_free(s->mask);
}

/* The mask's numbers for keys from .. to - 1. */
static void
add_mask(const struct tpi_sight *s, uint64_t batch, uint64_t head,
    int64_t query, int64_t from, int64_t to, double *bias)
{
	const int64_t *strides = tp_tensor_strides(s->mask);
	const double *m =
	    (const double *)(const void *)tpi_tensor_address(s->mask) +
	    (int64_t)batch * strides[0] + (int64_t)head * strides[1] +
	    query * strides[2];

	for (int64_t j = from; j < to; j++) {
		double x = m[j * strides[3]];

		bias[j] = !s->is_choice ? x : x != 0 ? 0 : -(double)INFINITY;
	}
}

bool
tpi_sight_row(const struct tpi_sight *s, uint64_t batch, uint64_t head,
    int64_t query, double *bias)
{
	const int64_t *lens = s->lens ? tp_tensor_data(s->lens) : NULL;
	int64_t end = lens ? lens[batch] : s->n_k, begin = 0;
	int64_t at = query + (lens ? lens[batch] - s->n_q : s->n_past);
	bool sees = false;

	if (s->mask && end > tp_tensor_sizes(s->mask)[3])
		end = tp_tensor_sizes(s->mask)[3];
	if (s->is_causal && end > at + 1)
		end = at + 1;
	if (s->right >= 0 && end > at + s->right + 1)
		end = at + s->right + 1;
	if (s->left >= 0 && begin < at - s->left)
		begin = at - s->left;
	for (int64_t j = 0; j < s->n_k; j++)
		bias[j] = j >= begin && j < end ? 0 : -(double)INFINITY;
	if (s->mask)
		add_mask(s, batch, head, query, begin, end, bias);
	for (int64_t j = begin; j < end && !sees; j++)
		sees = bias[j] != -(double)INFINITY;
	return sees;
}
