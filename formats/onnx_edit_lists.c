/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_edit_lists.c - nodes and weights that come into a graph, or go
 *
 *	node	    in front of the node that had number `before`
 *	initializer behind the one it belongs to
 *
 * Both in the order in which they were added.
 */
#include "onnx_edit.h"

#include <stdlib.h>

#include "grow.h"
#include "onnx_message.h"

#include "banned.h"

static enum tp_status
add(struct tpi_onnx_edit *e, struct tpi_onnx_additions *list,
    struct tpi_onnx_addition item, struct tp_err *err)
{
	void *p = tpi_grow(e->alloc, list->items, list->n + 1, &list->cap,
	    sizeof(*list->items));

	if (!p)
		return tpi_onnx_edit_no_memory(err);
	list->items = p;
	item.number = list->n;
	list->items[list->n++] = item;
	return TP_OK;
}

enum tp_status
tpi_onnx_edit_node(struct tpi_onnx_edit *e, size_t scope, size_t before,
    TpOnnx__NodeProto *node, struct tp_err *err)
{
	return add(e, &e->nodes,
	    (struct tpi_onnx_addition){
		.scope = scope, .before = before, .message = node},
	    err);
}

static enum tp_status
add_constant(struct tpi_onnx_edit *e, size_t scope, size_t before,
    TpOnnx__TensorProto *t, struct tp_err *err)
{
	TpOnnx__AttributeProto *a = NULL;
	TpOnnx__NodeProto *node = NULL;
	enum tp_status rc;

	rc = tpi_onnx_edit_new_node(
	    e, "Constant", tpi_onnx_str(t->name), NULL, 0, &node, err);
	if (!rc)
		rc = tpi_onnx_edit_attribute(e, node, "value", 4, &a, err);
	if (rc)
		return rc;
	a->t = t;
	return tpi_onnx_edit_node(e, scope, before, node, err);
}

enum tp_status
tpi_onnx_edit_tensor(struct tpi_onnx_edit *e, size_t slot, size_t before,
    TpOnnx__TensorProto *t, struct tp_err *err)
{
	const struct tpi_onnx_slot *s = &e->slots.items[slot];
	TpOnnx__GraphProto *g = e->slots.scopes[s->scope].graph;
	bool old = e->model->ir_version < 4;
	enum tp_status rc = TP_OK;

	/* Inner graphs of such models have no inputs of that kind. */
	if (s->kind != TPI_SLOT_INITIALIZER || (old && s->scope))
		return add_constant(e, s->scope, before, t, err);
	if (old)
		rc = tpi_onnx_edit_new_input(e, g, t, err);
	return rc ? rc
		  : add(e, &e->tensors,
			(struct tpi_onnx_addition){.scope = s->scope,
			    .after = s->tensor,
			    .message = t},
			err);
}

/* Any message by its address. */
static struct tp_str
key_of(const void *const *message)
{
	return (struct tp_str){(const char *)message, sizeof(*message)};
}

enum tp_status
tpi_onnx_edit_remove(
    struct tpi_onnx_edit *e, const void *message, struct tp_err *err)
{
	const void **key = tpi_arena_array(&e->arena, 1, sizeof(*key));
	enum tp_status rc;

	if (!key)
		return tpi_onnx_edit_no_memory(err);
	*key = message;
	rc = tp_map_add(&e->removed, key_of(key), 0, NULL, err);
	return rc == TP_EARG ? TP_OK : rc;
}

static bool
is_removed(const struct tpi_onnx_edit *e, const void *message)
{
	size_t value;

	return tp_map_find(&e->removed, key_of(&message), &value);
}

/*
 * ---- one scope ----
 */

/* What is left of the additions, and the names that are gone from the scope. */
struct pass {
	struct tpi_onnx_edit *e;
	size_t scope;
	size_t next_node, next_tensor;
	struct tp_map gone;
};

static enum tp_status
tell_gone(struct pass *p, ProtobufCBinaryData name, struct tp_err *err)
{
	enum tp_status rc =
	    tp_map_add(&p->gone, tpi_onnx_str(name), 0, NULL, err);

	return rc == TP_EARG ? TP_OK : rc;
}

/* The next addition, if it belongs in front of the node. */
static TpOnnx__NodeProto *
take_node(struct pass *p, size_t before)
{
	const struct tpi_onnx_additions *list = &p->e->nodes;
	const struct tpi_onnx_addition *a;

	if (p->next_node == list->n)
		return NULL;
	a = &list->items[p->next_node];
	if (a->scope != p->scope || a->before > before)
		return NULL;
	p->next_node++;
	return a->message;
}

static enum tp_status
order_nodes(struct pass *p, size_t *n_nodes, TpOnnx__NodeProto ***nodes,
    struct tp_err *err)
{
	struct tpi_onnx_edit *e = p->e;
	TpOnnx__NodeProto **list = tpi_arena_array(
	    &e->arena, *n_nodes + e->nodes.n, sizeof(TpOnnx__NodeProto *));
	TpOnnx__NodeProto *node;
	enum tp_status rc = TP_OK;
	size_t n = 0;

	if (!list)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; !rc && i <= *n_nodes; i++) {
		while ((node = take_node(p, i)))
			list[n++] = node;
		if (i == *n_nodes)
			break;
		node = (*nodes)[i];
		if (!is_removed(e, node)) {
			list[n++] = node;
			continue;
		}
		for (size_t k = 0; !rc && k < node->n_output; k++)
			rc = tell_gone(p, node->output[k], err);
	}
	*nodes = list;
	*n_nodes = n;
	return rc;
}

static enum tp_status
order_initializers(struct pass *p, TpOnnx__GraphProto *g, struct tp_err *err)
{
	struct tpi_onnx_edit *e = p->e;
	const struct tpi_onnx_additions *more = &e->tensors;
	TpOnnx__TensorProto **list = tpi_arena_array(&e->arena,
	    g->n_initializer + more->n, sizeof(TpOnnx__TensorProto *));
	enum tp_status rc = TP_OK;
	size_t n = 0;

	if (!list)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; !rc && i < g->n_initializer; i++) {
		TpOnnx__TensorProto *t = g->initializer[i];

		if (is_removed(e, t))
			rc = tell_gone(p, t->name, err);
		else
			list[n++] = t;
		for (; p->next_tensor < more->n &&
		       more->items[p->next_tensor].after == t;
		     p->next_tensor++)
			list[n++] = more->items[p->next_tensor].message;
	}
	g->initializer = list;
	g->n_initializer = n;
	return rc;
}

/* Nothing is told any more of what is gone. */
static void
forget_values(
    const struct pass *p, size_t *n_values, TpOnnx__ValueInfoProto **values)
{
	size_t n = 0, value;

	for (size_t i = 0; i < *n_values; i++)
		if (!tp_map_find(
			&p->gone, tpi_onnx_str(values[i]->name), &value))
			values[n++] = values[i];
	*n_values = n;
}

static enum tp_status
order_scope(struct pass *p, struct tp_err *err)
{
	const struct tpi_onnx_scope *s = &p->e->slots.scopes[p->scope];
	TpOnnx__GraphProto *g = s->graph;
	TpOnnx__FunctionProto *f = s->function;
	enum tp_status rc;

	if (f)
		return order_nodes(p, &f->n_node, &f->node, err);
	rc = order_nodes(p, &g->n_node, &g->node, err);
	if (!rc)
		rc = order_initializers(p, g, err);
	if (rc || !p->gone.n_used)
		return rc;
	forget_values(p, &g->n_value_info, g->value_info);
	if (p->e->model->ir_version < 4)
		forget_values(p, &g->n_input, g->input);
	return TP_OK;
}

/* By scope, then by place, then as they came. */
static int
compare_additions(const void *left, const void *right)
{
	const struct tpi_onnx_addition *a = left, *b = right;

	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (a->before != b->before)
		return a->before < b->before ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void
sort(struct tpi_onnx_additions *list)
{
	if (list->n)
		qsort(list->items, list->n, sizeof(*list->items),
		    compare_additions);
}

/*
 * ---- the whole ----
 */

const void *
tpi_onnx_edit_weight(const struct tpi_onnx_slot *slot)
{
	return slot->tensor   ? (const void *)slot->tensor
	       : slot->sparse ? (const void *)slot->sparse
			      : (const void *)slot->attribute;
}

/* The weights of the graph that is ready, by their addresses. */
static enum tp_status
index_weights(struct tpi_onnx_edit *e, struct tp_err *err)
{
	size_t n = e->after.n_items;
	const void **keys = tpi_arena_array(&e->arena, n, sizeof(*keys));
	enum tp_status rc = TP_OK;

	if (!keys)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; !rc && i < n; i++) {
		keys[i] = tpi_onnx_edit_weight(&e->after.items[i]);
		rc = tp_map_add(&e->places, key_of(&keys[i]), i, NULL, err);
	}
	return rc;
}

enum tp_status
tpi_onnx_edit_finish(struct tpi_onnx_edit *e, struct tp_err *err)
{
	struct pass p = {.e = e};
	enum tp_status rc = TP_OK;

	sort(&e->nodes);
	sort(&e->tensors);
	for (; !rc && p.scope < e->slots.n_scopes; p.scope++) {
		tp_map_init(&p.gone, e->alloc);
		rc = order_scope(&p, err);
		tp_map_release(&p.gone);
	}
	if (!rc)
		rc = tpi_onnx_slots_find(&e->after, e->alloc, e->model,
		    e->constants, &e->limits, err);
	return rc ? rc : index_weights(e, err);
}

void
tpi_onnx_edit_name_entry(
    const struct tpi_onnx_edit *e, const void *weight, struct tp_entry *entry)
{
	const struct tpi_onnx_slot *s;
	size_t i;

	if (!tp_map_find(&e->places, key_of(&weight), &i))
		return;
	s = &e->after.items[i];
	entry->name = s->name;
	entry->scope = e->after.scopes[s->scope].path;
	entry->local = s->local;
}

enum tp_status
tpi_onnx_edit_pack(const struct tpi_onnx_edit *e, struct tpi_arena *arena,
    struct tp_attachment *out, struct tp_err *err)
{
	const ProtobufCMessage *m = &e->model->base;
	size_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *data = tpi_arena_array(arena, n ? n : 1, 1);

	if (!data)
		return tpi_onnx_edit_no_memory(err);
	protobuf_c_message_pack(m, data);
	*out = (struct tp_attachment){TP_STR(TP_ATTACHMENT_ONNX), data, n};
	return TP_OK;
}
