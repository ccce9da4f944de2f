/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotary.c - RotaryEmbedding: pairs of numbers of each head, turned by angles
 * that grow with the position
 *
 *	(a, b) becomes (a cos - b sin, a sin + b cos)
 *
 * Pairs are neighbors or, if they are not interleaved, one of the first half
 * and one of the second. Cosines and sines are rows of a table that is indexed
 * by position, or given for each position of each sequence.
 */
#include "heads.h"

#include <inttypes.h>

#include "tp/layout.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

enum { X, COS, SIN, POSITIONS };

struct rotary {
	int64_t n_batch, n_heads, n, size;
	int64_t n_pairs;  /* of the first 2 * n_pairs numbers of a head */
	int64_t row_size; /* of cosines */
	bool is_interleaved;
	struct tp_tensor *x, *cos, *sin; /* f64 */
	struct tp_tensor *positions;	 /* i64 [batch, n], or NULL */
};

static enum tp_status
read_x(const struct tpi_call *c, struct rotary *r, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[X];
	const int64_t *s = tp_tensor_sizes(x);
	int64_t n_heads = tpi_attr_int(c, "num_heads", 0), turned;

	if (x->rank != 4 &&
	    (x->rank != 3 || n_heads < 1 || s[2] % n_heads != 0))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 of shape %s, expected rank 4, or 3 with "
		    "num_heads, which is %" PRId64,
		    c->op->onnx, TP_SHAPE_TEXT(s, x->rank), n_heads);
	*r = (struct rotary){
	    .n_batch = s[0],
	    .n_heads = x->rank == 4 ? s[1] : n_heads,
	    .n = x->rank == 4 ? s[2] : s[1],
	    .size = x->rank == 4 ? s[3] : s[2] / n_heads,
	    .is_interleaved = tpi_attr_int(c, "interleaved", 0) != 0,
	};
	turned = tpi_attr_int(c, "rotary_embedding_dim", 0);
	turned = turned ? turned : r->size;
	if (turned < 0 || turned > r->size || turned % 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %" PRId64 " of %" PRId64
		    " numbers of a head are to be turned",
		    c->op->onnx, turned, r->size);
	r->n_pairs = turned / 2;
	return TP_OK;
}

static enum tp_status
check_table(const struct tpi_call *c, const struct rotary *r, size_t k,
    struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];
	const int64_t *s = tp_tensor_sizes(t);
	unsigned rank = c->in[POSITIONS] ? 2 : 3;

	if (t->dtype != c->in[X]->dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s, input 0 has %s", c->op->onnx,
		    k, tp_dtype_name(t->dtype), tp_dtype_name(c->in[X]->dtype));
	if (t->rank != rank || s[rank - 1] < r->n_pairs ||
	    (rank == 3 && (s[0] != r->n_batch || s[1] != r->n)))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has shape %s for %" PRId64
		    " pairs, expected %s",
		    c->op->onnx, k, TP_SHAPE_TEXT(s, t->rank), r->n_pairs,
		    rank == 2 ? "[positions, pairs]" : "[batch, n, pairs]");
	return TP_OK;
}

static enum tp_status
check_positions(
    const struct tpi_call *c, const struct rotary *r, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[POSITIONS];

	if (!t || (t->dtype == TP_DTYPE_I64 && t->rank == 2 &&
		      tp_tensor_sizes(t)[0] == r->n_batch &&
		      tp_tensor_sizes(t)[1] == r->n))
		return TP_OK;
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "%s: position_ids have dtype %s and shape %s, expected i64 and "
	    "[%" PRId64 ", %" PRId64 "]",
	    c->op->onnx, tp_dtype_name(t->dtype),
	    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank), r->n_batch, r->n);
}

static enum tp_status
read_rotary(const struct tpi_call *c, struct rotary *r, struct tp_err *err)
{
	enum tp_status rc = read_x(c, r, err);

	if (!rc)
		rc = check_positions(c, r, err);
	if (!rc)
		rc = check_table(c, r, COS, err);
	if (!rc)
		rc = check_table(c, r, SIN, err);
	if (!rc && tp_tensor_sizes(c->in[COS])[c->in[COS]->rank - 1] !=
		       tp_tensor_sizes(c->in[SIN])[c->in[SIN]->rank - 1])
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: cosines have shape %s, sines %s", c->op->onnx,
		    TP_SHAPE_TEXT(
			tp_tensor_sizes(c->in[COS]), c->in[COS]->rank),
		    TP_SHAPE_TEXT(
			tp_tensor_sizes(c->in[SIN]), c->in[SIN]->rank));
	return rc;
}

static enum tp_status
infer_rotary(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct rotary r;

	infos[0] = tpi_info_of(c->in[X]);
	return read_rotary(c, &r, err);
}

static enum tp_status
take_positions(const struct tpi_call *c, struct rotary *r, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[POSITIONS];
	int64_t n_rows;
	const int64_t *at;
	enum tp_status rc;

	if (!t)
		return TP_OK;
	rc = tpi_op_temp(
	    c, TP_DTYPE_I64, tp_tensor_sizes(t), 2, &r->positions, err);
	if (!rc)
		rc = tp_tensor_assign(r->positions, t, TP_OVERFLOW_INF, err);
	if (rc)
		return rc;
	at = tp_tensor_data(r->positions);
	n_rows = tp_tensor_sizes(c->in[COS])[0];
	if (tp_tensor_sizes(c->in[SIN])[0] < n_rows)
		n_rows = tp_tensor_sizes(c->in[SIN])[0];
	for (uint64_t i = 0; i < t->n_elems; i++)
		if (at[i] < 0 || at[i] >= n_rows)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: position %" PRId64 " of a table of %" PRId64,
			    c->op->onnx, at[i], n_rows);
	return TP_OK;
}

static enum tp_status
take_doubles(const struct tpi_call *c, struct rotary *r, struct tp_err *err)
{
	const struct tp_tensor *cos = c->in[COS], *sin = c->in[SIN];
	struct tp_tensor *x = NULL;
	enum tp_status rc = tpi_heads_split(c->in[X], r->n_heads, &x, err);

	if (!rc)
		rc = tpi_op_doubles(c, x, tp_tensor_sizes(x), 4, &r->x, err);
	if (!rc)
		rc = tpi_op_doubles(
		    c, cos, tp_tensor_sizes(cos), cos->rank, &r->cos, err);
	if (!rc)
		rc = tpi_op_doubles(
		    c, sin, tp_tensor_sizes(sin), sin->rank, &r->sin, err);
	r->row_size = tp_tensor_sizes(cos)[cos->rank - 1];
	tp_tensor_free(x);
	return rc;
}

static void
turn_row(
    const struct rotary *r, double *x, const double *cos, const double *sin)
{
	size_t n = (size_t)r->n_pairs;

	for (size_t i = 0; i < n; i++) {
		double *a = r->is_interleaved ? x + 2 * i : x + i;
		double *b = r->is_interleaved ? a + 1 : a + n;
		double real = *a * cos[i] - *b * sin[i];

		*b = *a * sin[i] + *b * cos[i];
		*a = real;
	}
}

static void
turn(const struct rotary *r)
{
	const int64_t *at = r->positions ? tp_tensor_data(r->positions) : NULL;
	const double *cos = tp_tensor_data(r->cos);
	const double *sin = tp_tensor_data(r->sin);
	double *x = tp_tensor_data_mut(r->x);
	int64_t n_rows = r->n_batch * r->n_heads * r->n;

	for (int64_t row = 0; row < n_rows; row++) {
		int64_t batch = row / (r->n_heads * r->n);
		int64_t place = batch * r->n + row % r->n;
		int64_t from = (at ? at[place] : place) * r->row_size;

		turn_row(r, x + row * r->size, cos + from, sin + from);
	}
}

static enum tp_status
run_rotary(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *y = NULL;
	struct rotary r;
	enum tp_status rc = read_rotary(c, &r, err);

	if (!rc)
		rc = take_positions(c, &r, err);
	if (!rc)
		rc = take_doubles(c, &r, err);
	if (!rc && c->out[0]->n_elems > 0)
		turn(&r);
	if (!rc)
		rc = tpi_heads_split(c->out[0], r.n_heads, &y, err);
	if (!rc)
		rc = tp_tensor_assign(y, r.x, TP_OVERFLOW_INF, err);
	tp_tensor_free(y);
	tp_tensor_free(r.x);
	tp_tensor_free(r.cos);
	tp_tensor_free(r.sin);
	tp_tensor_free(r.positions);
	return rc;
}

static const struct tpi_attr_spec attrs[] = {{"interleaved", TP_ATTR_INT},
    {"num_heads", TP_ATTR_INT}, {"rotary_embedding_dim", TP_ATTR_INT},
    {NULL, 0}};

const struct tp_op tpi_rotary_ops[] = {
    {
	.name = "rotary_embedding",
	.onnx = "RotaryEmbedding",
	.since = 23,
	.min_in = 3,
	.max_in = 4,
	.min_out = 1,
	.max_out = 1,
	.attrs = attrs,
	.infer = infer_rotary,
	.run = run_rotary,
	.kernels = tpi_float_dtypes,
    },
    {.name = NULL},
};
