/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - values of a graph and the lists that sequences and optionals are */
#include "tp/value.h"

#include <stdatomic.h>

#include "banned.h"

struct tp_list {
	const struct tp_alloc *alloc;
	atomic_size_t n_refs;
	struct tp_type type;
	unsigned depth; /* of lists in it, and 1 */
	size_t n;
	struct tp_value *items;
};

/* ONNX nests two; a graph that goes on and on is stopped by this. */
#define MAX_DEPTH 8

static const char *const kind_names[] = {
    [TP_VALUE_NONE] = "absent",
    [TP_VALUE_TENSOR] = "tensor",
    [TP_VALUE_STRINGS] = "tensor of strings",
    [TP_VALUE_SEQUENCE] = "sequence",
    [TP_VALUE_OPTIONAL] = "optional",
};

const char *
tp_value_kind_name(enum tp_value_kind kind)
{
	return (unsigned)kind <= TP_VALUE_OPTIONAL ? kind_names[kind] : "?";
}

struct tp_value
tp_value_of(struct tp_tensor *t)
{
	return (struct tp_value){t ? TP_VALUE_TENSOR : TP_VALUE_NONE, t, NULL};
}

static void
unref(struct tp_list *list)
{
	if (!list || atomic_fetch_sub_explicit(
			 &list->n_refs, 1, memory_order_acq_rel) > 1)
		return;
	/* As deep as MAX_DEPTH. */
	for (size_t i = 0; i < list->n; i++)
		tp_value_release(&list->items[i]);
	tp_mem_free(list->alloc, list->items, list->n, sizeof(*list->items));
	tp_mem_free(list->alloc, list, 1, sizeof(*list));
}

void
tp_value_release(struct tp_value *v)
{
	tp_tensor_free(v->tensor);
	unref(v->list);
	*v = (struct tp_value){TP_VALUE_NONE, NULL, NULL};
}

bool
tp_value_has_tensor(const struct tp_value *v)
{
	return v->kind == TP_VALUE_TENSOR || v->kind == TP_VALUE_STRINGS;
}

enum tp_status
tp_value_copy(
    const struct tp_value *v, struct tp_value *out, struct tp_err *err)
{
	struct tp_value copy = {v->kind, NULL, v->list};
	enum tp_status rc = TP_OK;

	*out = (struct tp_value){TP_VALUE_NONE, NULL, NULL};
	if (v->tensor)
		rc = tp_tensor_alias(v->tensor, &copy.tensor, err);
	if (rc)
		return rc;
	if (v->list)
		atomic_fetch_add_explicit(
		    &v->list->n_refs, 1, memory_order_relaxed);
	*out = copy;
	return TP_OK;
}

struct tp_type
tp_value_type(const struct tp_value *v)
{
	struct tp_type type = {v->kind, TP_VALUE_NONE, TP_DTYPE_NONE};

	if (v->list)
		return v->list->type;
	if (v->kind == TP_VALUE_STRINGS) {
		type.kind = TP_VALUE_TENSOR;
		type.dtype = TP_DTYPE_STRING;
	} else if (v->kind == TP_VALUE_TENSOR) {
		type.dtype = tp_tensor_dtype(v->tensor);
	}
	return type;
}

static void
release_all(struct tp_value *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		tp_value_release(&items[i]);
}

static unsigned
depth_of(const struct tp_value *items, size_t n)
{
	unsigned depth = 1;

	for (size_t i = 0; i < n; i++)
		if (items[i].list && items[i].list->depth >= depth)
			depth = items[i].list->depth + 1;
	return depth;
}

enum tp_status
tp_list_new(const struct tp_alloc *alloc, struct tp_type type,
    struct tp_value *items, size_t n, struct tp_value *out, struct tp_err *err)
{
	unsigned depth = depth_of(items, n);
	struct tp_list *list = NULL;
	struct tp_value *own = NULL;

	*out = (struct tp_value){TP_VALUE_NONE, NULL, NULL};
	if (depth > MAX_DEPTH) {
		release_all(items, n);
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "lists more than %d deep", MAX_DEPTH);
	}
	list = tp_mem_array(alloc, 1, sizeof(*list));
	own = tp_mem_array(alloc, n, sizeof(*own));
	if (!list || !own) {
		release_all(items, n);
		tp_mem_free(alloc, own, n, sizeof(*own));
		tp_mem_free(alloc, list, 1, sizeof(*list));
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a list of %zu values", n);
	}
	for (size_t i = 0; i < n; i++) {
		own[i] = items[i];
		items[i] = (struct tp_value){TP_VALUE_NONE, NULL, NULL};
	}
	list->alloc = alloc;
	atomic_init(&list->n_refs, 1);
	list->type = type;
	list->depth = depth;
	list->n = n;
	list->items = own;
	*out = (struct tp_value){type.kind, NULL, list};
	return TP_OK;
}

size_t
tp_list_count(const struct tp_list *list)
{
	return list->n;
}

const struct tp_value *
tp_list_at(const struct tp_list *list, size_t i)
{
	return &list->items[i];
}
