/* SPDX-License-Identifier: Apache-2.0 */
/* fn_views.c - permute, slice, select, expand, reshape: views with a history */
#include "fn.h"

#include <inttypes.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/copy.h"
#include "tp/layout.h"
#include "tp/ops.h"
#include "tp/shape.h"
#include "tp/view.h"

#include "batch.h"
#include "tensor.h"

#include "banned.h"

#define FORWARD(name)                                                       \
	static enum tp_status forward_##name(const struct tpi_fn *fn,       \
	    const struct tpi_args *args, const struct tp_tensor *const *in, \
	    unsigned n_in, struct tp_tensor *into, struct tp_tensor **out,  \
	    struct tp_err *err)

#define BACKWARD(name)                                                     \
	static enum tp_status back_##name(const struct tpi_node *n,        \
	    unsigned k, const struct tp_tensor *g, struct tp_tensor **out, \
	    struct tp_err *err)

#define BATCH(name)                                                 \
	static enum tp_status batch_##name(const struct tpi_fn *fn, \
	    const struct tpi_batch_call *b, struct tp_tensor **out, \
	    struct tp_err *err)

#define UNUSED_FORWARD() ((void)fn, (void)n_in, (void)into)

FORWARD(permute)
{
	int axes[TP_MAX_RANK];

	UNUSED_FORWARD();
	for (unsigned d = 0; d < args->n; d++)
		axes[d] = (int)args->list[d];
	return tp_tensor_permute(in[0], axes, args->n, out, err);
}

BACKWARD(permute)
{
	int axes[TP_MAX_RANK];

	(void)k;
	for (unsigned d = 0; d < n->args.n; d++)
		axes[n->args.list[d]] = (int)d;
	return tp_tensor_permute(g, axes, n->args.n, out, err);
}

BATCH(permute)
{
	int64_t list[TP_MAX_RANK] = {0};
	const struct tpi_args args = {.n = b->args->n + 1, .list = list};

	if (args.n > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET, "rank %u", args.n);
	for (unsigned d = 1; d < args.n; d++)
		list[d] = b->args->list[d - 1] + 1;
	return tpi_apply(fn, &args, b->in, 1, NULL, out, err);
}

FORWARD(slice)
{
	UNUSED_FORWARD();
	return tp_tensor_slice(
	    in[0], args->axis, args->start, args->stop, args->step, out, err);
}

FORWARD(select)
{
	UNUSED_FORWARD();
	return tp_tensor_select(in[0], args->axis, args->start, out, err);
}

/* Zeros, and g where the view was. */
static enum tp_status
put_back(const struct tpi_node *n, const struct tp_tensor *g,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *full = NULL, *part = NULL;
	const struct tp_tensor *in[1];
	enum tp_status rc;

	*out = NULL;
	rc = tp_tensor_empty(
	    n->alloc, g->dtype, n->sizes[0], n->ranks[0], &full, err);
	in[0] = full;
	if (!rc)
		rc = n->fn->forward(n->fn, &n->args, in, 1, NULL, &part, err);
	if (!rc)
		rc = tp_tensor_assign(part, g, TP_OVERFLOW_INF, err);
	tp_tensor_free(part);
	if (rc)
		tp_tensor_free(full);
	else
		*out = full;
	return rc;
}

BACKWARD(part)
{
	(void)k;
	return put_back(n, g, out, err);
}

/* One axis, one further behind the batch. */
BATCH(axis)
{
	struct tpi_args args = *b->args;

	args.axis++;
	return tpi_apply(fn, &args, b->in, 1, NULL, out, err);
}

FORWARD(expand)
{
	UNUSED_FORWARD();
	return tp_tensor_expand(in[0], args->list, args->n, out, err);
}

BACKWARD(expand)
{
	(void)k;
	return tpi_reduce_to(g, n->sizes[0], n->ranks[0], out, err);
}

BATCH(expand)
{
	int64_t list[TP_MAX_RANK];
	const struct tpi_args args = {.n = b->args->n + 1, .list = list};
	struct tpi_calc c = {.err = err};
	const struct tp_tensor *in[1];
	struct tp_tensor *made = NULL;

	*out = NULL;
	if (args.n > TP_MAX_RANK || b->args->n < b->ranks[0])
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "a tensor of rank %u expanded to rank %u", b->ranks[0],
		    b->args->n);
	list[0] = b->size;
	for (unsigned d = 0; d < b->args->n; d++)
		list[d + 1] = b->args->list[d];
	/* A -1 of an axis that the example lacks would now be one of size 1. */
	for (unsigned d = 0; d < b->args->n - b->ranks[0]; d++)
		if (list[d + 1] < 0)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "axis %u is new and has size %" PRId64, d,
			    list[d + 1]);
	in[0] = tpi_batch_align(&c, b, 0, b->args->n);
	if (!c.rc) {
		c.rc = tpi_apply(fn, &args, in, 1, NULL, &made, err);
		if (!c.rc)
			in[0] = tpi_calc_keep(&c, TP_OK, &made);
	}
	return tpi_calc_end(&c, in[0], out);
}

FORWARD(reshape)
{
	struct tp_tensor *packed = NULL;
	enum tp_status rc =
	    tp_tensor_reshape(in[0], args->list, args->n, out, err);

	UNUSED_FORWARD();
	if (rc != TP_EUNSUPPORTED || in[0]->quantizer || in[0]->sparse)
		return rc;
	rc = tp_tensor_contiguous(in[0], &packed, err);
	if (!rc)
		rc = tp_tensor_reshape(packed, args->list, args->n, out, err);
	tp_tensor_free(packed);
	return rc;
}

BACKWARD(reshape)
{
	const struct tpi_args args = {.n = n->ranks[0], .list = n->sizes[0]};

	(void)k;
	return forward_reshape(n->fn, &args, &g, 1, NULL, out, err);
}

/* A size of -1 is that of an example, also when there is none. */
BATCH(reshape)
{
	int64_t list[TP_MAX_RANK];
	const struct tpi_args args = {.n = b->args->n + 1, .list = list};
	int64_t numel = 1, known = 1;

	*out = NULL;
	if (args.n > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET, "rank %u", args.n);
	list[0] = b->size;
	for (unsigned d = 0; d < b->ranks[0]; d++)
		numel *= tp_tensor_sizes(b->in[0])[d + 1];
	for (unsigned d = 0; d < b->args->n; d++) {
		list[d + 1] = b->args->list[d];
		if (list[d + 1] >= 0 && tp_mul_i64(known, list[d + 1], &known))
			known = INT64_MAX;
	}
	for (unsigned d = 1; d < args.n; d++)
		if (list[d] == -1 && known > 0 && numel % known == 0) {
			list[d] = numel / known;
			break;
		}
	return tpi_apply(fn, &args, b->in, 1, NULL, out, err);
}

#define FN(op, back, batches)               \
	const struct tpi_fn tpi_fn_##op = { \
	    .name = #op,                    \
	    .forward = forward_##op,        \
	    .backward = back_##back,        \
	    .batch = batch_##batches,       \
	    .is_view = true,                \
	}

FN(permute, permute, permute);
FN(slice, part, axis);
FN(select, part, axis);
FN(expand, expand, expand);
FN(reshape, reshape, reshape);
