/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk.c - TopK: the k largest or smallest along an axis
 *
 * A heap of k with the worst on top sees all elements once. Of equal ones the
 * first come first; NaN is larger than all numbers. Strings are ordered by
 * their bytes.
 */
#include "moves.h"

#include <inttypes.h>
#include <string.h>

#include "tp/copy.h"
#include "tp/parallel.h"

#include "../tensor.h"
#include "indices.h"
#include "order.h"

#include "../banned.h"

/* The smaller one is the better. */
struct entry {
	uint64_t key;
	int64_t index;
};

static bool
is_better(struct entry a, struct entry b)
{
	return a.key != b.key ? a.key < b.key : a.index < b.index;
}

/* heap[at] may be better than what is below it: sink until it is not. */
static void
sink(struct entry *heap, size_t n, size_t at)
{
	struct entry e = heap[at];

	while (2 * at + 1 < n) {
		size_t child = 2 * at + 1;

		if (child + 1 < n && is_better(heap[child], heap[child + 1]))
			child++;
		if (!is_better(e, heap[child]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = e;
}

struct search {
	const uint64_t *keys;
	uint64_t flip; /* of the bits of keys, so that smaller is better */
	size_t n, k;   /* along the axis */
	size_t inner;  /* from one of them to the next */
	uint64_t n_lanes;
	const char *src;
	char *values;
	int64_t *indices; /* NULL if they are not wanted */
	size_t size;
	struct entry *heaps; /* k for each part */
	size_t n_parts;
};

static void
search_lane(const struct search *s, uint64_t lane, struct entry *heap)
{
	size_t column = (size_t)lane % s->inner;
	size_t from = (size_t)lane / s->inner * s->n * s->inner + column;
	size_t to = (size_t)lane / s->inner * s->k * s->inner + column;

	for (size_t i = 0; i < s->n && s->k; i++) {
		struct entry e = {
		    s->keys[from + i * s->inner] ^ s->flip, (int64_t)i};

		if (i < s->k) {
			heap[i] = e;
			for (size_t at = s->k / 2; i + 1 == s->k && at-- > 0;)
				sink(heap, s->k, at);
		} else if (is_better(e, heap[0])) {
			heap[0] = e;
			sink(heap, s->k, 0);
		}
	}
	/* The worst goes to the end of what is left. */
	for (size_t n = s->k; n-- > 0;) {
		size_t at = to + n * s->inner;
		struct entry worst = heap[0];

		if (s->indices)
			s->indices[at] = worst.index;
		memcpy(s->values + at * s->size,
		    s->src + (from + (size_t)worst.index * s->inner) * s->size,
		    s->size);
		heap[0] = heap[n];
		sink(heap, n, 0);
	}
}

static void
search_part(void *ctx, size_t part)
{
	const struct search *s = ctx;
	struct tpi_share mine = tpi_share(s->n_lanes, s->n_parts, part);

	for (uint64_t lane = mine.from; lane < mine.end; lane++)
		search_lane(s, lane, s->heaps + part * s->k);
}

/* Opset 1 has k as an attribute. */
static enum tp_status
find_k(const struct tpi_call *c, unsigned *axis, int64_t *k, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	enum tp_status rc;

	rc = tpi_op_axis(c, tpi_attr_int(c, "axis", -1), x->rank, axis, err);
	if (!rc && c->op->until == 9)
		*k = tpi_attr_int(c, "k", -1);
	else if (!rc)
		rc = tpi_int_input(c, 1, -1, k, err);
	if (!rc && (*k < 0 || *k > tp_tensor_sizes(x)[*axis]))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: k is %" PRId64 " along an axis of size %" PRId64,
		    c->op->onnx, *k, tp_tensor_sizes(x)[*axis]);
	return rc;
}

static enum tp_status
infer_topk(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	unsigned axis = 0;
	int64_t k = 0;
	enum tp_status rc = find_k(c, &axis, &k, err);

	infos[0] = tpi_info_of(c->in[0]);
	infos[0].sizes[axis] = k;
	if (c->n_out > 1) {
		infos[1] = infos[0];
		infos[1].dtype = TP_DTYPE_I64;
	}
	return rc;
}

static enum tp_status
search(struct tpi_call *c, struct search *s, struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	struct tpi_keys keys = {NULL, 0, NULL};
	size_t n_entries;
	enum tp_status rc = tp_tensor_contiguous(c->in[0], &packed, err);

	if (!rc)
		rc = tpi_keys_take(c, 0, &keys, err);
	s->keys = keys.at;
	s->src = rc ? NULL : tpi_tensor_address(packed);
	s->n_parts = tpi_op_parts(c, c->in[0]->n_elems, s->n_lanes);
	n_entries = s->k * s->n_parts;
	s->heaps = tp_mem_array(c->alloc, n_entries, sizeof(*s->heaps));
	if (!rc && !s->heaps)
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for %zu entries", c->op->onnx, n_entries);
	if (!rc)
		tp_parallel(c->n_threads, s->n_parts, search_part, s);
	tp_mem_free(c->alloc, s->heaps, n_entries, sizeof(*s->heaps));
	tpi_keys_release(&keys);
	tp_tensor_free(packed);
	return rc;
}

static enum tp_status
run_topk(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	struct search s = {.inner = 1};
	unsigned axis = 0;
	int64_t k = 0;
	enum tp_status rc = find_k(c, &axis, &k, err);

	if (rc || x->n_elems == 0)
		return rc;
	s.k = (size_t)k;
	s.n = (size_t)tp_tensor_sizes(x)[axis];
	for (unsigned d = axis + 1; d < x->rank; d++)
		s.inner *= (size_t)tp_tensor_sizes(x)[d];
	s.n_lanes = x->n_elems / s.n;
	s.flip = tpi_attr_int(c, "largest", 1) ? UINT64_MAX : 0;
	s.size = tpi_element_size(x);
	s.values = tpi_tensor_address(c->out[0]);
	if (c->n_out > 1)
		s.indices = tp_tensor_data_mut(c->out[1]);
	return search(c, &s, err);
}

static const struct tpi_attr_spec topk_1_attrs[] = {
    {"axis", TP_ATTR_INT}, {"k", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec topk_10_attrs[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec topk_attrs[] = {{"axis", TP_ATTR_INT},
    {"largest", TP_ATTR_INT}, {"sorted", TP_ATTR_INT}, {NULL, 0}};

/* Complex numbers have no order. */
#define ORDERED (~(TPI_BIT(TP_DTYPE_C64) | TPI_BIT(TP_DTYPE_C128)))

#define ROW(from, to, n_in, spec)                                            \
	{                                                                    \
		.name = "topk", .onnx = "TopK", .since = from, .until = to,  \
		.min_in = n_in, .max_in = n_in, .min_out = 1, .max_out = 2,  \
		.flags = TPI_OP_MOVES, .strings_in = TPI_BIT(0),             \
		.strings_out = TPI_BIT(0), .attrs = spec, .dtypes = ORDERED, \
		.infer = infer_topk, .run = run_topk                         \
	}

const struct tp_op tpi_topk_ops[] = {
    ROW(11, 0, 2, topk_attrs),
    ROW(10, 10, 2, topk_10_attrs),
    ROW(1, 9, 1, topk_1_attrs),
    {.name = NULL},
};
