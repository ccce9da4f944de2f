/* SPDX-License-Identifier: Apache-2.0 */
/* vmap.c - wrappers around batches, and functions that are given them */
#include "tp/vmap.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "tp/ops.h"
#include "tp/shape.h"

#include "batch.h"
#include "tensor.h"

#include "banned.h"

bool
tp_tensor_is_batch(const struct tp_tensor *t)
{
	return t->batch != NULL;
}

uint64_t
tpi_batch_level(const struct tp_tensor *const *in, unsigned n_in)
{
	uint64_t level = 0;

	for (unsigned k = 0; k < n_in; k++)
		if (in[k] && in[k]->batch && in[k]->batch->level > level)
			level = in[k]->batch->level;
	return level;
}

enum tp_status
tpi_batch_wrap(struct tp_tensor *value, uint64_t level, struct tp_tensor **out,
    struct tp_err *err)
{
	struct tp_tensor *t = NULL;
	enum tp_status rc;

	*out = NULL;
	/* Without examples there is no first one to look at. */
	if (value->n_elems == 0)
		rc = tp_tensor_empty(value->alloc, value->dtype,
		    tp_tensor_sizes(value) + 1, value->rank - 1, &t, err);
	else
		rc = tp_tensor_new(value->storage, value->dtype,
		    tp_tensor_sizes(value) + 1, tp_tensor_strides(value) + 1,
		    value->rank - 1, value->first, &t, err);
	if (!rc) {
		t->batch = tp_mem_array(t->alloc, 1, sizeof(*t->batch));
		if (!t->batch)
			rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "no memory for a batch");
	}
	if (rc) {
		tp_tensor_free(t);
		tp_tensor_free(value);
		return rc;
	}
	*t->batch = (struct tp_batch){value, level};
	*out = t;
	return TP_OK;
}

enum tp_status
tpi_batch_alias(
    const struct tp_tensor *t, struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *value = NULL;
	enum tp_status rc = tp_tensor_alias(t->batch->value, &value, err);

	return rc ? rc : tpi_batch_wrap(value, t->batch->level, out, err);
}

const struct tp_tensor *
tpi_batch_align(struct tpi_calc *c, const struct tpi_batch_call *b, unsigned k,
    unsigned rank)
{
	const struct tp_tensor *t = b->in[k];
	unsigned ones = rank > b->ranks[k] ? rank - b->ranks[k] : 0;
	int64_t sizes[TP_MAX_RANK];
	struct tp_tensor *made = NULL;
	enum tp_status rc;

	if (c->rc || !b->is_batch[k] || ones == 0)
		return t;
	if (rank + 1 > TP_MAX_RANK) {
		c->rc = tp_fail(c->err, TP_ELIMIT, TP_NO_OFFSET,
		    "rank %u and a batch, the largest is %u", rank,
		    TP_MAX_RANK);
		return NULL;
	}
	sizes[0] = tp_tensor_sizes(t)[0];
	for (unsigned d = 0; d < ones; d++)
		sizes[1 + d] = 1;
	if (b->ranks[k])
		memcpy(sizes + 1 + ones, tp_tensor_sizes(t) + 1,
		    b->ranks[k] * sizeof(*sizes));
	rc = tp_reshape(t, sizes, rank + 1, &made, c->err);
	return tpi_calc_keep(c, rc, &made);
}

/* Wrappers may lie in each other, as deep as calls of tp_vmap did. */
void
tpi_batch_drop(struct tp_tensor *t)
{
	if (!t->batch)
		return;
	tp_tensor_free(t->batch->value);
	tp_mem_free(t->alloc, t->batch, 1, sizeof(*t->batch));
	t->batch = NULL;
}

enum tp_status
tpi_apply_batched(const struct tpi_fn *fn, const struct tpi_args *args,
    const struct tp_tensor *const *in, unsigned n_in, struct tp_tensor *into,
    struct tp_tensor **out, struct tp_err *err)
{
	uint64_t level = tpi_batch_level(in, n_in);
	struct tpi_batch_call b = {.args = args, .n_in = n_in};
	struct tp_tensor *made = NULL;
	enum tp_status rc;

	for (unsigned k = 0; k < n_in; k++) {
		const struct tp_tensor *t = in[k];

		b.in[k] = t;
		b.ranks[k] = t ? t->rank : 0;
		b.is_batch[k] = t && t->batch && t->batch->level == level;
		if (b.is_batch[k]) {
			b.in[k] = t->batch->value;
			b.size = tp_tensor_sizes(b.in[k])[0];
		}
	}
	if (into) {
		if (!b.is_batch[0])
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s in place: the result differs from example to "
			    "example, its place does not",
			    fn->name);
		b.into = into->batch->value;
	}
	rc = fn->batch(fn, &b, into ? NULL : &made, err);
	return rc || into ? rc : tpi_batch_wrap(made, level, out, err);
}

/* An axis moved from one place to another, as a view with a history. */
static enum tp_status
move_axis(const struct tp_tensor *t, unsigned from, unsigned to,
    struct tp_tensor **out, struct tp_err *err)
{
	int axes[TP_MAX_RANK];
	unsigned n = 0;

	for (unsigned d = 0; d < t->rank; d++) {
		if (d == to)
			axes[d] = (int)from;
		else {
			n += n == from;
			axes[d] = (int)n++;
		}
	}
	return tp_permute(t, axes, t->rank, out, err);
}

static enum tp_status
find_axis(const char *what, size_t k, int axis, unsigned rank, unsigned *found,
    struct tp_err *err)
{
	int n = (int)rank;

	if (axis < -n || axis >= n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "axis %d of %s %zu, which has rank %u", axis, what, k,
		    rank);
	*found = (unsigned)(axis < 0 ? axis + n : axis);
	return TP_OK;
}

/* The number of examples, which all inputs that have some agree on. */
static enum tp_status
count_examples(const int *in_axes, const struct tp_tensor *const *inputs,
    size_t n, int64_t *size, struct tp_err *err)
{
	size_t first = n;
	unsigned axis = 0;

	for (size_t k = 0; k < n; k++) {
		enum tp_status rc;

		if (in_axes[k] == TP_VMAP_NONE)
			continue;
		rc = find_axis(
		    "input", k, in_axes[k], inputs[k]->rank, &axis, err);
		if (rc)
			return rc;
		if (first == n) {
			first = k;
			*size = tp_tensor_sizes(inputs[k])[axis];
		} else if (*size != tp_tensor_sizes(inputs[k])[axis]) {
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "input %zu has %" PRId64
			    " examples, input %zu has %" PRId64,
			    k, tp_tensor_sizes(inputs[k])[axis], first, *size);
		}
	}
	return first < n ? TP_OK
			 : tp_fail(err, TP_EARG, TP_NO_OFFSET,
			       "no input has an axis of examples");
}

static enum tp_status
wrap_input(const struct tp_tensor *t, int in_axis, uint64_t level,
    struct tp_tensor **out, struct tp_err *err)
{
	struct tp_tensor *value = NULL;
	unsigned axis = 0;
	enum tp_status rc = find_axis("input", 0, in_axis, t->rank, &axis, err);

	if (!rc)
		rc = move_axis(t, axis, 0, &value, err);
	return rc ? rc : tpi_batch_wrap(value, level, out, err);
}

/* Replace an output, which is taken, by what it stands for. */
static enum tp_status
unwrap_output(struct tp_tensor **output, size_t k, int out_axis, int64_t size,
    uint64_t level, struct tp_err *err)
{
	const struct tp_tensor *value;
	struct tp_tensor *t = *output, *full = NULL;
	int64_t sizes[TP_MAX_RANK];
	unsigned axis = 0;
	enum tp_status rc =
	    find_axis("output", k, out_axis, t->rank + 1, &axis, err);

	*output = NULL;
	value = t->batch && t->batch->level == level ? t->batch->value : NULL;
	if (!rc && !value && t->rank == TP_MAX_RANK)
		rc = tp_fail(
		    err, TP_ELIMIT, TP_NO_OFFSET, "rank %u", t->rank + 1);
	if (!rc && !value) {
		sizes[0] = size;
		if (t->rank)
			memcpy(sizes + 1, tp_tensor_sizes(t),
			    t->rank * sizeof(*sizes));
		rc = tp_expand(t, sizes, t->rank + 1, &full, err);
		value = full;
	}
	if (!rc)
		rc = move_axis(value, 0, axis, output, err);
	tp_tensor_free(full);
	tp_tensor_free(t);
	return rc;
}

enum tp_status
tp_vmap(tp_vmap_fn *fn, void *ctx, const int *in_axes,
    const struct tp_tensor *const *inputs, size_t n_inputs, const int *out_axes,
    struct tp_tensor **outputs, size_t n_outputs, struct tp_err *err)
{
	/* An inner call begins later than the one around it. */
	static atomic_uint_least64_t last;
	const struct tp_alloc *alloc = n_inputs ? inputs[0]->alloc : NULL;
	const struct tp_tensor **seen = NULL;
	struct tp_tensor **made = NULL;
	uint64_t level;
	int64_t size = 0;
	enum tp_status rc;

	for (size_t k = 0; k < n_outputs; k++)
		outputs[k] = NULL;
	rc = count_examples(in_axes, inputs, n_inputs, &size, err);
	if (rc)
		return rc;
	level = atomic_fetch_add(&last, 1) + 1;
	seen = tp_mem_array(alloc, n_inputs, sizeof(*seen));
	made = tp_mem_array(alloc, n_inputs, sizeof(*made));
	if (!seen || !made)
		rc = tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu inputs", n_inputs);
	for (size_t k = 0; k < n_inputs && !rc; k++) {
		if (in_axes[k] != TP_VMAP_NONE)
			rc = wrap_input(
			    inputs[k], in_axes[k], level, &made[k], err);
		seen[k] = made[k] ? made[k] : inputs[k];
	}
	if (!rc)
		rc = fn(ctx, seen, n_inputs, outputs, n_outputs, err);
	for (size_t k = 0; k < n_outputs && !rc; k++)
		rc = unwrap_output(
		    &outputs[k], k, out_axes[k], size, level, err);
	for (size_t k = 0; k < n_outputs && rc; k++) {
		tp_tensor_free(outputs[k]);
		outputs[k] = NULL;
	}
	for (size_t k = 0; k < n_inputs && made; k++)
		tp_tensor_free(made[k]);
	tp_mem_free(alloc, made, n_inputs, sizeof(*made));
	tp_mem_free(alloc, (void *)seen, n_inputs, sizeof(*seen));
	return rc;
}
