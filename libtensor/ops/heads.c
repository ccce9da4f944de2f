/* SPDX-License-Identifier: Apache-2.0 */
/* heads.c - queries, keys and values of attention, by head */
#include "heads.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/view.h"

#include "../tensor.h"
#include "gemm.h"

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
	enum tp_status rc = tp_tensor_alias(q, &h->q, err);

	h->n_k = tp_tensor_sizes(k)[2];
	if (!rc)
		rc = tp_tensor_alias(k, &h->k, err);
	if (!rc)
		rc = tpi_op_doubles(c, v, tp_tensor_sizes(v), 4, &h->v, err);
	return rc;
}

void
tpi_heads_drop(struct tpi_heads *h)
{
	tp_tensor_free(h->q);
	tp_tensor_free(h->k);
	tp_tensor_free(h->v);
}

struct tpi_span
tpi_heads_all(const struct tpi_heads *h)
{
	return (struct tpi_span){
	    .n_heads = (size_t)h->n_batch * (size_t)h->n_heads,
	    .n_queries = h->n_q,
	};
}

struct tpi_span
tpi_heads_span(const struct tpi_heads *h, uint64_t row, uint64_t n)
{
	uint64_t n_q = (uint64_t)h->n_q;
	uint64_t n_rows = n / (h->n_k ? (uint64_t)h->n_k : 1);
	uint64_t n_all = (uint64_t)h->n_batch * (uint64_t)h->n_heads;
	struct tpi_span span = {.head = row / n_q,
	    .n_heads = 1,
	    .query = (int64_t)(row % n_q),
	    .n_queries = h->n_q - (int64_t)(row % n_q)};

	if (n_rows == 0)
		n_rows = 1;
	if (span.query == 0 && n_rows >= n_q)
		span.n_heads = (size_t)(n_rows / n_q);
	if (span.n_heads > n_all - span.head)
		span.n_heads = (size_t)(n_all - span.head);
	if ((uint64_t)span.n_queries > n_rows)
		span.n_queries = (int64_t)n_rows;
	return span;
}

/* What products of a span have in common. */
struct products {
	const struct tpi_heads *h;
	const struct tpi_span *span;
	double *scores;
	const struct tp_tensor *y;
};

/* Bytes from the first element of t to that of a head, at a query or key. */
static int64_t
offset_of(const struct tp_tensor *t, int64_t batch, int64_t head, int64_t at)
{
	const int64_t *strides = tp_tensor_strides(t);

	return (batch * strides[0] + head * strides[1] + at * strides[2]) *
	       (int64_t)(tp_dtype_bits(t->dtype) / 8);
}

static int64_t
step_of(const struct tp_tensor *t, unsigned d)
{
	return tp_tensor_strides(t)[d] * (int64_t)(tp_dtype_bits(t->dtype) / 8);
}

/* Where head i of the span is in what goes by query, and in what by key. */
static void
go_to_head(const struct products *p, uint64_t i,
    const struct tp_tensor *by_query, const struct tp_tensor *by_key,
    int64_t *at_query, int64_t *at_key)
{
	const struct tpi_heads *h = p->h;
	int64_t all = (int64_t)(p->span->head + i);
	int64_t batch = all / h->n_heads, head = all % h->n_heads;

	*at_query = offset_of(by_query, batch, head, p->span->query);
	*at_key =
	    offset_of(by_key, batch, head / (h->n_heads / h->n_kv_heads), 0);
}

static void
go_to_scores(const void *ctx, uint64_t i, struct tpi_gemm *g)
{
	const struct products *p = ctx;
	int64_t at_query, at_key;

	go_to_head(p, i, p->h->q, p->h->k, &at_query, &at_key);
	g->a.data = tpi_tensor_address(p->h->q) + at_query;
	g->b.data = tpi_tensor_address(p->h->k) + at_key;
	g->y = (char *)(p->scores + i * g->m * g->n);
}

static void
put_scores(const struct tpi_gemm *g, size_t i, size_t j, double *sums, size_t n)
{
	double scale = ((const struct products *)g->ctx)->h->scale;
	char *to = g->y + (int64_t)i * g->y_row + (int64_t)(j * sizeof(*sums));

	for (size_t k = 0; k < n; k++)
		sums[k] *= scale;
	memcpy(to, sums, n * sizeof(*sums));
}

enum tp_status
tpi_heads_scores(const struct tpi_call *c, const struct tpi_heads *h,
    const struct tpi_span *span, double *scores, struct tp_err *err)
{
	struct products p = {h, span, scores, NULL};
	struct tpi_gemm g = {
	    .m = (size_t)span->n_queries,
	    .n = (size_t)h->n_k,
	    .k = (size_t)h->size,
	    .dtype = h->q->dtype,
	    .a = {NULL, step_of(h->q, 2), step_of(h->q, 3)},
	    .b = {NULL, step_of(h->k, 2), step_of(h->k, 3)},
	    .put = put_scores,
	    .y_row = h->n_k * (int64_t)sizeof(*scores),
	    .ctx = &p,
	};

	return tpi_gemm_run(c, &g, span->n_heads, go_to_scores, err);
}

static void
go_to_values(const void *ctx, uint64_t i, struct tpi_gemm *g)
{
	const struct products *p = ctx;
	int64_t at_query, at_key;

	go_to_head(p, i, p->y, p->h->v, &at_query, &at_key);
	g->a.data = (const char *)(p->scores + i * g->m * g->k);
	g->b.data = tpi_tensor_address(p->h->v) + at_key;
	g->y = tpi_tensor_address(p->y) + at_query;
}

static void
put_values(const struct tpi_gemm *g, size_t i, size_t j, double *sums, size_t n)
{
	const struct tp_tensor *y = ((const struct products *)g->ctx)->y;
	int64_t size = tp_dtype_bits(y->dtype) / 8;
	char *to[2] = {
	    g->y + (int64_t)i * g->y_row + (int64_t)j * size, (char *)sums};

	tpi_pack[y->dtype](NULL, to, NULL, n);
}

enum tp_status
tpi_heads_sum(const struct tpi_call *c, const struct tpi_heads *h,
    const struct tpi_span *span, double *scores, const struct tp_tensor *y,
    struct tp_err *err)
{
	struct products p = {h, span, scores, y};
	struct tpi_gemm g = {
	    .m = (size_t)span->n_queries,
	    .n = (size_t)h->v_size,
	    .k = (size_t)h->n_k,
	    .dtype = TP_DTYPE_F64,
	    .a = {NULL, h->n_k * (int64_t)sizeof(*scores), sizeof(*scores)},
	    .b = {NULL, step_of(h->v, 3), step_of(h->v, 2)},
	    .put = put_values,
	    .y_row = step_of(y, 2),
	    .ctx = &p,
	};

	return tpi_gemm_run(c, &g, span->n_heads, go_to_values, err);
}
