/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sequence.c - SequenceConstruct, -Empty, -Insert, -Erase, -At, -Length,
 * SplitToSequence, ConcatFromSequence
 *
 * A sequence never changes: those that make another one share its tensors.
 */
#include "../op.h"

#include <inttypes.h>
#include <string.h>

#include "tp/view.h"

#include "../tensor.h"
#include "indices.h"

#include "../banned.h"

/* A tensor without elements can be cut into any number of others. */
#define MAX_ITEMS (1 << 24)

static enum tp_status
take_sequence(
    const struct tpi_call *c, const struct tp_list **list, struct tp_err *err)
{
	const struct tp_value *v = &c->values[0];

	if (v->kind != TP_VALUE_SEQUENCE)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input 0 is a %s, expected a sequence", c->op->onnx,
		    tp_value_kind_name(v->kind));
	*list = v->list;
	return TP_OK;
}

/* Input k as an index from 0 to most, negative ones from the end. */
static enum tp_status
find_position(const struct tpi_call *c, size_t k, size_t n, int64_t otherwise,
    int64_t most, size_t *at, struct tp_err *err)
{
	int64_t i = 0;
	enum tp_status rc = tpi_int_input(c, k, otherwise, &i, err);

	if (!rc && (i < -(int64_t)n || i > most))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: position %" PRId64 " of a sequence of %zu",
		    c->op->onnx, i, n);
	if (!rc)
		*at = (size_t)(i < 0 ? i + (int64_t)n : i);
	return rc;
}

static enum tp_status
make_room(const struct tpi_call *c, size_t n, struct tp_value **items,
    struct tp_err *err)
{
	if (n > MAX_ITEMS)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: a sequence of %zu, the longest is %d", c->op->onnx, n,
		    MAX_ITEMS);
	*items = tp_mem_array(c->alloc, n, sizeof(**items));
	if (!*items)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "%s: no memory for a sequence of %zu", c->op->onnx, n);
	return TP_OK;
}

/* The items, whatever became of them, go into the result or away. */
static enum tp_status
give(struct tpi_call *c, struct tp_type element, struct tp_value *items,
    size_t n, enum tp_status rc, struct tp_err *err)
{
	struct tp_type type = {TP_VALUE_SEQUENCE, element.kind, element.dtype};

	if (!rc)
		rc = tp_list_new(c->alloc, type, items, n, &c->results[0], err);
	for (size_t i = 0; i < n; i++)
		tp_value_release(&items[i]);
	tp_mem_free(c->alloc, items, n, sizeof(*items));
	return rc;
}

/* What a sequence holds. */
static struct tp_type
element_type(const struct tp_value *sequence)
{
	struct tp_type type = tp_value_type(sequence);

	return (struct tp_type){type.element, TP_VALUE_NONE, type.dtype};
}

static enum tp_status
check_item(
    const struct tpi_call *c, size_t k, enum tp_dtype dtype, struct tp_err *err)
{
	struct tp_type type = tp_value_type(&c->values[k]);

	if (!tp_value_has_tensor(&c->values[k]))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu is a %s, expected a tensor", c->op->onnx, k,
		    tp_value_kind_name(c->values[k].kind));
	if (dtype != TP_DTYPE_NONE && type.dtype != dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input %zu has dtype %s, the sequence %s", c->op->onnx,
		    k, tp_dtype_name(type.dtype), tp_dtype_name(dtype));
	return TP_OK;
}

static enum tp_status
run_sequence_construct(struct tpi_call *c, struct tp_err *err)
{
	struct tp_type type = tp_value_type(&c->values[0]);
	struct tp_value *items = NULL;
	enum tp_status rc = make_room(c, c->n_in, &items, err);

	if (rc)
		return rc;
	for (size_t k = 0; k < c->n_in && !rc; k++) {
		rc = check_item(c, k, type.dtype, err);
		if (!rc)
			rc = tp_value_copy(&c->values[k], &items[k], err);
	}
	return give(c, type, items, c->n_in, rc, err);
}

static enum tp_status
run_sequence_empty(struct tpi_call *c, struct tp_err *err)
{
	struct tp_type type = {TP_VALUE_SEQUENCE, TP_VALUE_TENSOR, 0};
	enum tp_status rc =
	    tpi_attr_dtype(c, "dtype", TP_DTYPE_F32, &type.dtype, err);

	return rc ? rc
		  : tp_list_new(c->alloc, type, NULL, 0, &c->results[0], err);
}

static enum tp_status
run_sequence_length(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_list *list = NULL;
	struct tp_tensor *t = NULL;
	enum tp_status rc = take_sequence(c, &list, err);

	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_I64, NULL, 0, &t, err);
	if (rc)
		return rc;
	*(int64_t *)tp_tensor_data_mut(t) = (int64_t)tp_list_count(list);
	c->results[0] = tp_value_of(t);
	return TP_OK;
}

static enum tp_status
run_sequence_at(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_list *list = NULL;
	enum tp_status rc = take_sequence(c, &list, err);
	size_t n = rc ? 0 : tp_list_count(list), at = 0;

	if (!rc)
		rc = find_position(c, 1, n, 0, (int64_t)n - 1, &at, err);
	return rc ? rc
		  : tp_value_copy(tp_list_at(list, at), &c->results[0], err);
}

/* The items of a list with one left out, or input 1 put in, at a place. */
static enum tp_status
rebuild(struct tpi_call *c, const struct tp_list *list, size_t at, bool inserts,
    struct tp_err *err)
{
	size_t n = tp_list_count(list) + inserts - !inserts;
	struct tp_value *items = NULL;
	enum tp_status rc = make_room(c, n, &items, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++) {
		const struct tp_value *from;

		if (inserts)
			from = i == at ? &c->values[1]
				       : tp_list_at(list, i - (i > at));
		else
			from = tp_list_at(list, i + (i >= at));
		rc = tp_value_copy(from, &items[i], err);
	}
	return give(c, element_type(&c->values[0]), items, n, rc, err);
}

static enum tp_status
run_sequence_insert(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_list *list = NULL;
	enum tp_status rc = take_sequence(c, &list, err);
	size_t n = rc ? 0 : tp_list_count(list), at = 0;

	if (!rc)
		rc = check_item(c, 1, tp_value_type(&c->values[0]).dtype, err);
	if (!rc)
		rc = find_position(c, 2, n, (int64_t)n, (int64_t)n, &at, err);
	return rc ? rc : rebuild(c, list, at, true, err);
}

static enum tp_status
run_sequence_erase(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_list *list = NULL;
	enum tp_status rc = take_sequence(c, &list, err);
	size_t n = rc ? 0 : tp_list_count(list), at = 0;

	if (!rc)
		rc = find_position(
		    c, 1, n, (int64_t)n - 1, (int64_t)n - 1, &at, err);
	if (!rc && n == 0)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the sequence is empty", c->op->onnx);
	return rc ? rc : rebuild(c, list, at, false, err);
}

/* How an axis is cut: sizes of a list, or equal ones of which the last may be
 * smaller. */
struct cutting {
	unsigned axis;
	bool drops; /* the axis, of size 1 then */
	struct tpi_indices sizes;
	int64_t chunk; /* unless there is a list */
	size_t n;
};

static enum tp_status
check_sizes(const struct tpi_call *c, const struct cutting *k, int64_t size,
    struct tp_err *err)
{
	int64_t left = size;

	for (size_t i = 0; i < k->sizes.n; i++) {
		int64_t part = k->sizes.at[i];

		if (part < 0 || part > left)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: part %zu has size %" PRId64 ", %" PRId64
			    " are left",
			    c->op->onnx, i, part, left);
		left -= part;
	}
	if (left)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the parts leave %" PRId64 " of %" PRId64, c->op->onnx,
		    left, size);
	return TP_OK;
}

static enum tp_status
find_cutting(const struct tpi_call *c, struct cutting *k, struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	const struct tp_tensor *split = c->n_in > 1 ? c->in[1] : NULL;
	int64_t size;
	enum tp_status rc;

	memset(k, 0, sizeof(*k));
	k->chunk = 1;
	rc = tpi_op_axis(c, tpi_attr_int(c, "axis", 0), x->rank, &k->axis, err);
	if (rc)
		return rc;
	size = tp_tensor_sizes(x)[k->axis];
	if (split && split->rank == 1) {
		rc = tpi_indices_take(c, NULL, 1, &k->sizes, NULL, err);
		k->n = k->sizes.n;
		return rc ? rc : check_sizes(c, k, size, err);
	}
	rc = tpi_int_input(c, 1, 1, &k->chunk, err);
	if (!rc && k->chunk <= 0)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: parts of size %" PRId64, c->op->onnx, k->chunk);
	if (!rc)
		k->n = (size_t)(size / k->chunk + (size % k->chunk != 0));
	k->drops = !split && tpi_attr_int(c, "keepdims", 1) == 0;
	return rc;
}

static enum tp_status
cut(const struct tpi_call *c, const struct cutting *k, struct tp_value *items,
    struct tp_err *err)
{
	const struct tp_tensor *x = c->in[0];
	int64_t left = tp_tensor_sizes(x)[k->axis], start = 0;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < k->n && !rc; i++) {
		struct tp_tensor *part = NULL;
		int64_t size = k->sizes.at	 ? k->sizes.at[i]
			       : k->chunk < left ? k->chunk
						 : left;

		rc = k->drops
			 ? tp_tensor_select(x, (int)k->axis, start, &part, err)
			 : tp_tensor_narrow(
			       x, (int)k->axis, start, size, &part, err);
		if (!rc)
			items[i] =
			    (struct tp_value){c->values[0].kind, part, NULL};
		start += size;
		left -= size;
	}
	return rc;
}

static enum tp_status
run_split_to_sequence(struct tpi_call *c, struct tp_err *err)
{
	struct tp_value *items = NULL;
	struct cutting k;
	enum tp_status rc = check_item(c, 0, TP_DTYPE_NONE, err);

	if (rc)
		return rc;
	rc = find_cutting(c, &k, err);
	if (!rc)
		rc = make_room(c, k.n, &items, err);
	if (!rc)
		rc = cut(c, &k, items, err);
	if (items)
		rc = give(c, tp_value_type(&c->values[0]), items, k.n, rc, err);
	tpi_indices_release(&k.sizes);
	return rc;
}

/* Concat does the work, on views with one more axis where that is new. */
static enum tp_status
run_concat_from_sequence(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_attr *axis = tpi_attr_find(c, "axis");
	bool is_new = tpi_attr_int(c, "new_axis", 0) != 0;
	struct tp_op_opts opts = *c->opts;
	const struct tp_list *list = NULL;
	struct tp_value *items = NULL;
	enum tp_status rc = take_sequence(c, &list, err);
	size_t n = rc ? 0 : tp_list_count(list);

	if (!rc && (n == 0 || !axis))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: %s", c->op->onnx,
		    axis ? "the sequence is empty" : "axis is missing");
	if (rc)
		return rc;
	rc = make_room(c, n, &items, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++) {
		const struct tp_value *v = tp_list_at(list, i);
		unsigned at = 0;

		if (!is_new) {
			rc = tp_value_copy(v, &items[i], err);
			continue;
		}
		rc = tpi_op_axis(c, axis->i, v->tensor->rank + 1, &at, err);
		if (!rc)
			rc = tp_tensor_unsqueeze(
			    v->tensor, (int)at, &items[i].tensor, err);
		if (!rc)
			items[i].kind = v->kind;
	}
	opts.into = NULL;
	if (!rc)
		rc = tp_op_run(tpi_op_newest("Concat"), axis, 1, items, n,
		    &c->results[0], 1, &opts, err);
	for (size_t i = 0; i < n; i++)
		tp_value_release(&items[i]);
	tp_mem_free(c->alloc, items, n, sizeof(*items));
	return rc;
}

static const struct tpi_attr_spec empty_attrs[] = {
    {"dtype", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec split_attrs[] = {
    {"axis", TP_ATTR_INT}, {"keepdims", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec concat_attrs[] = {
    {"axis", TP_ATTR_INT}, {"new_axis", TP_ATTR_INT}, {NULL, 0}};

#define ROW(op, onnx_name, from, to, least, most, spec)                      \
	{                                                                    \
		.name = #op, .onnx = onnx_name, .since = from, .until = to,  \
		.min_in = least, .max_in = most, .min_out = 1, .max_out = 1, \
		.flags = TPI_OP_VALUES, .attrs = spec, .run = run_##op       \
	}

const struct tp_op tpi_sequence_ops[] = {
    ROW(sequence_construct, "SequenceConstruct", 11, 0, 1, TP_OP_ANY, NULL),
    ROW(sequence_empty, "SequenceEmpty", 11, 0, 0, 0, empty_attrs),
    ROW(sequence_length, "SequenceLength", 11, 0, 1, 1, NULL),
    ROW(sequence_at, "SequenceAt", 11, 0, 2, 2, NULL),
    ROW(sequence_insert, "SequenceInsert", 11, 0, 2, 3, NULL),
    ROW(sequence_erase, "SequenceErase", 11, 0, 1, 2, NULL),
    ROW(split_to_sequence, "SplitToSequence", 11, 0, 1, 2, split_attrs),
    ROW(concat_from_sequence, "ConcatFromSequence", 11, 0, 1, 1, concat_attrs),
    {.name = NULL},
};
