/* SPDX-License-Identifier: Apache-2.0 */
/* heads.c - queries, keys and values of attention, by head, in f64 */
#include "heads.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

/* [batch, heads, n, size] of input k, heads side by side or not. */
static enum tp_status
read_sizes(const struct tpi_call *c, size_t k, int64_t n_heads, int64_t *sizes,
    struct tp_err *err)
{
	const struct tp_tensor *t = c->in[k];
	const int64_t *s = tp_tensor_sizes(t);

	if (t->rank != c->in[0]->rank || t->rank < 3 || t->rank > 4)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has shape %s, expected rank 4, or 3 as all "
		    "of them",
		    c->op->onnx, k, TP_SHAPE_TEXT(s, t->rank));
	if (t->rank == 4) {
		memcpy(sizes, s, 4 * sizeof(*s));
		return TP_OK;
	}
	if (n_heads < 1 || s[2] % n_heads)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu of shape %s does not have %" PRId64
		    " heads side by side",
		    c->op->onnx, k, TP_SHAPE_TEXT(s, 3), n_heads);
	sizes[0] = s[0];
	sizes[1] = n_heads;
	sizes[2] = s[1];
	sizes[3] = s[2] / n_heads;
	return TP_OK;
}

static enum tp_status
check_rows(
    const struct tpi_call *c, const struct tpi_heads *h, struct tp_err *err)
{
	uint64_t rows = 0;

	if (!tp_mul_u64((uint64_t)h->n_batch, (uint64_t)h->n_heads, &rows) &&
	    !tp_mul_u64(rows, (uint64_t)h->n_q, &rows))
		return TP_OK;
	return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
	    "%s: %" PRId64 " queries of %" PRId64 " heads", c->op->onnx, h->n_q,
	    h->n_heads);
}

enum tp_status
tpi_heads_read(const struct tpi_call *c, int64_t n_heads, int64_t n_kv_heads,
    struct tpi_heads *h, struct tp_err *err)
{
	int64_t q[4], k[4], v[4];
	enum tp_status rc = read_sizes(c, 0, n_heads, q, err);

	if (!rc)
		rc = read_sizes(c, 1, n_kv_heads, k, err);
	if (!rc)
		rc = read_sizes(c, 2, n_kv_heads, v, err);
	if (rc)
		return rc;
	if (k[0] != q[0] || k[3] != q[3] || memcmp(k, v, 3 * sizeof(k[0])) != 0)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: shapes of queries, keys and values do not fit: %s, %s "
		    "and %s by head",
		    c->op->onnx, TP_SHAPE_TEXT(q, 4), TP_SHAPE_TEXT(k, 4),
		    TP_SHAPE_TEXT(v, 4));
	if (k[1] < 1 || q[1] % k[1])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %" PRId64 " heads of queries do not share %" PRId64
		    " of keys",
		    c->op->onnx, q[1], k[1]);
	*h = (struct tpi_heads){.n_batch = q[0],
	    .n_heads = q[1],
	    .n_kv_heads = k[1],
	    .n_q = q[2],
	    .n_k = k[2],
	    .size = q[3],
	    .v_size = v[3],
	    .is_flat = c->in[0]->rank == 3,
	    .scale = 1 / sqrt((double)q[3])};
	return check_rows(c, h, err);
}

enum tp_status
tpi_heads_split(const struct tp_tensor *t, int64_t n_heads,
    struct tp_tensor **out, struct tp_err *err)
{
	const int64_t *s = tp_tensor_sizes(t);
	struct tp_tensor *packed = NULL, *shaped = NULL;
	int64_t sizes[4];
	enum tp_status rc;

	*out = NULL;
	if (t->rank == 4)
		return tp_tensor_alias(t, out, err);
	sizes[0] = s[0];
	sizes[1] = s[1];
	sizes[2] = n_heads;
	sizes[3] = s[2] / n_heads;
	rc = tp_tensor_contiguous(t, &packed, err);
	if (!rc)
		rc = tp_tensor_reshape(packed, sizes, 4, &shaped, err);
	if (!rc)
		rc = tp_tensor_transpose(shaped, 1, 2, out, err);
	tp_tensor_free(packed);
	tp_tensor_free(shaped);
	return rc;
}

enum tp_status
tpi_heads_take(const struct tpi_call *c, struct tpi_heads *h,
    const struct tp_tensor *q, const struct tp_tensor *k,
    const struct tp_tensor *v, struct tp_err *err)
{
	struct tp_tensor *turned = NULL;
	enum tp_status rc = tp_tensor_transpose(k, 2, 3, &turned, err);

	h->n_k = tp_tensor_sizes(k)[2];
	if (!rc)
		rc = tpi_op_doubles(
		    c, turned, tp_tensor_sizes(turned), 4, &h->k, err);
	if (!rc)
		rc = tpi_op_doubles(c, q, tp_tensor_sizes(q), 4, &h->q, err);
	if (!rc)
		rc = tpi_op_doubles(c, v, tp_tensor_sizes(v), 4, &h->v, err);
	tp_tensor_free(turned);
	return rc;
}

void
tpi_heads_drop(struct tpi_heads *h)
{
	tp_tensor_free(h->q);
	tp_tensor_free(h->k);
	tp_tensor_free(h->v);
}

uint64_t
tpi_heads_rows(const struct tpi_heads *h)
{
	return (uint64_t)h->n_batch * (uint64_t)h->n_heads * (uint64_t)h->n_q;
}

/* The keys or values of a row: those of its batch and the head it shares. */
static const double *
shared(const struct tpi_heads *h, const struct tp_tensor *t, uint64_t row)
{
	uint64_t head = row / (uint64_t)h->n_q;
	uint64_t n_heads = (uint64_t)h->n_heads;
	uint64_t n_kv_heads = (uint64_t)h->n_kv_heads;
	uint64_t kv = head / n_heads * n_kv_heads +
		      head % n_heads / (n_heads / n_kv_heads);
	uint64_t size = t->n_elems / ((uint64_t)h->n_batch * n_kv_heads);

	return (const double *)(const void *)tpi_tensor_address(t) + kv * size;
}

/* y += sum over k of v[k] * m[k][…], rows of n numbers. */
static void
add_product(double *restrict y, const double *restrict v, size_t n_rows,
    const double *restrict m, size_t n)
{
	for (size_t k = 0; k < n_rows; k++)
		for (size_t j = 0; j < n; j++)
			y[j] += v[k] * m[k * n + j];
}

void
tpi_heads_scores(
    const struct tpi_heads *h, uint64_t row, double *restrict scores)
{
	size_t n = (size_t)h->n_k, size = (size_t)h->size;
	const double *q =
	    (const double *)(const void *)tpi_tensor_address(h->q) + row * size;

	memset(scores, 0, n * sizeof(*scores));
	add_product(scores, q, size, shared(h, h->k, row), n);
	for (size_t j = 0; j < n; j++)
		scores[j] *= h->scale;
}

void
tpi_heads_sum(const struct tpi_heads *h, uint64_t row, const double *restrict p,
    double *restrict y)
{
	size_t n = (size_t)h->v_size;

	memset(y, 0, n * sizeof(*y));
	add_product(y, p, (size_t)h->n_k, shared(h, h->v, row), n);
}
