/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_expansions.c - nodes that make floats of narrowed weights
 *
 * A node that ends one is followed backwards, by the makers of its inputs in
 * the same scope.
 */
#include "onnx_expansions.h"

#include <string.h>

#include "tp/map.h"
#include "tp/onnx_dtype.h"

#include "grow.h"
#include "onnx_message.h"
#include "proto_copy.h"

#include "banned.h"

struct find {
	const struct tpi_onnx_slots *slots;
	struct tpi_onnx_expansions *x;
	struct tp_map weights;	/* scope and local name, to slots */
	struct tpi_arena arena; /* keys that are in the map */
	struct tpi_copy key;	/* one to look for */
	/* The scope that is looked at. */
	size_t scope;
	TpOnnx__NodeProto **nodes;
	struct tp_map makers; /* outputs of Cast and Sub, to nodes */
};

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for narrowed weights");
}

/*
 * ---- weights by name ----
 */

static struct tp_str
make_key(char *p, size_t scope, struct tp_str local)
{
	memcpy(p, &scope, sizeof(scope));
	memcpy(p + sizeof(scope), local.s, local.len);
	return (struct tp_str){p, local.len + sizeof(scope)};
}

static enum tp_status
index_weights(struct find *f, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < f->slots->n_items; i++) {
		const struct tpi_onnx_slot *slot = &f->slots->items[i];
		char *p = tpi_arena_array(
		    &f->arena, slot->local.len + sizeof(slot->scope), 1);

		if (!p)
			return no_memory(err);
		rc = tp_map_add(&f->weights,
		    make_key(p, slot->scope, slot->local), i, NULL, err);
	}
	return rc;
}

/* The weight that a name means: of this scope, or of one around it. */
static enum tp_status
find_weight(
    struct find *f, ProtobufCBinaryData name, size_t *slot, struct tp_err *err)
{
	struct tp_str local = tpi_onnx_str(name);
	enum tp_status rc;
	uint8_t *p;

	*slot = TP_NONE;
	f->key.n = 0;
	rc = tpi_copy_add(&f->key, local.len + sizeof(f->scope), &p, err);
	if (rc)
		return rc;
	for (size_t scope = f->scope; local.len && scope != TP_NONE;
	     scope = f->slots->scopes[scope].parent)
		if (tp_map_find(
			&f->weights, make_key((char *)p, scope, local), slot))
			break;
	return TP_OK;
}

/*
 * ---- nodes ----
 */

static enum tp_status
index_makers(struct find *f, size_t n_nodes, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n_nodes; i++) {
		const TpOnnx__NodeProto *node = f->nodes[i];

		if (node->n_output != 1 ||
		    !(tpi_onnx_is_op(node, TP_STR("Cast")) ||
			tpi_onnx_is_op(node, TP_STR("Sub"))))
			continue;
		rc = tp_map_add(
		    &f->makers, tpi_onnx_str(node->output[0]), i, NULL, err);
		if (rc == TP_EARG)
			rc = TP_OK;
	}
	return rc;
}

static TpOnnx__NodeProto *
maker_of(const struct find *f, ProtobufCBinaryData name)
{
	size_t i;

	return name.len && tp_map_find(&f->makers, tpi_onnx_str(name), &i)
		   ? f->nodes[i]
		   : NULL;
}

/* A Cast to f32, by number or, before opset 6, by name. */
static bool
casts_to_f32(const TpOnnx__NodeProto *node)
{
	const TpOnnx__AttributeProto *to =
	    tpi_onnx_attribute(node, TP_STR("to"));

	if (!tpi_onnx_is_op(node, TP_STR("Cast")) || node->n_input != 1 ||
	    node->n_output != 1 || !to)
		return false;
	return to->has_i ? to->i == tp_onnx_code(TP_DTYPE_F32)
			 : !tp_str_cmp(tpi_onnx_str(to->s), TP_STR("FLOAT"));
}

static enum tp_dtype
dtype_of(const struct find *f, size_t slot)
{
	const TpOnnx__TensorProto *t = f->slots->items[slot].tensor;

	return t ? tp_onnx_dtype(t->data_type) : TP_DTYPE_NONE;
}

static enum tp_status
add(struct find *f, const struct tpi_onnx_expansion *item, struct tp_err *err)
{
	struct tpi_onnx_expansions *x = f->x;
	void *p =
	    tpi_grow(x->alloc, x->items, x->n + 1, &x->cap, sizeof(*x->items));

	if (!p)
		return no_memory(err);
	x->items = p;
	x->items[x->n++] = *item;
	return TP_OK;
}

static enum tp_status
look_at_dequantize(struct find *f, TpOnnx__NodeProto *node, struct tp_err *err)
{
	struct tpi_onnx_expansion x = {
	    .scope = f->scope, .zero = TP_NONE, .nodes = {node}, .n_nodes = 1};
	bool has_zero = node->n_input > 2 && node->input[2].len;
	enum tp_status rc;

	if (node->n_input < 2 || node->n_output != 1)
		return TP_OK;
	rc = find_weight(f, node->input[0], &x.codes, err);
	if (!rc)
		rc = find_weight(f, node->input[1], &x.scale, err);
	if (!rc && has_zero)
		rc = find_weight(f, node->input[2], &x.zero, err);
	/* What the graph computes is no weight. */
	if (rc || x.codes == TP_NONE || x.scale == TP_NONE ||
	    (has_zero && x.zero == TP_NONE))
		return rc;
	return add(f, &x, err);
}

/* The part of a Mul's left operand: Cast, or Sub of two of them. */
static bool
follow(
    const struct find *f, TpOnnx__NodeProto *left, struct tpi_onnx_expansion *x)
{
	if (left && tpi_onnx_is_op(left, TP_STR("Sub"))) {
		if (left->n_input != 2)
			return false;
		x->zero_cast = maker_of(f, left->input[1]);
		if (!x->zero_cast || !casts_to_f32(x->zero_cast))
			return false;
		x->nodes[0] = maker_of(f, left->input[0]);
		x->nodes[1] = left;
		x->n_nodes = 2;
	} else {
		x->nodes[0] = left;
		x->n_nodes = 1;
	}
	return x->nodes[0] && casts_to_f32(x->nodes[0]);
}

static enum tp_status
look_at_product(struct find *f, TpOnnx__NodeProto *node, struct tp_err *err)
{
	struct tpi_onnx_expansion x = {.scope = f->scope, .zero = TP_NONE};
	enum tp_status rc;

	if (node->n_input != 2 || node->n_output != 1 ||
	    !follow(f, maker_of(f, node->input[0]), &x))
		return TP_OK;
	x.nodes[x.n_nodes++] = node;
	rc = find_weight(f, x.nodes[0]->input[0], &x.codes, err);
	if (!rc)
		rc = find_weight(f, node->input[1], &x.scale, err);
	if (!rc && x.zero_cast)
		rc = find_weight(f, x.zero_cast->input[0], &x.zero, err);
	if (rc || x.codes == TP_NONE || x.scale == TP_NONE ||
	    (x.zero_cast && x.zero == TP_NONE))
		return rc;
	return add(f, &x, err);
}

static enum tp_status
look_at_cast(struct find *f, TpOnnx__NodeProto *node, struct tp_err *err)
{
	struct tpi_onnx_expansion x = {.scope = f->scope,
	    .scale = TP_NONE,
	    .zero = TP_NONE,
	    .nodes = {node},
	    .n_nodes = 1};
	enum tp_dtype dtype;
	enum tp_status rc;

	if (!casts_to_f32(node))
		return TP_OK;
	rc = find_weight(f, node->input[0], &x.codes, err);
	if (rc || x.codes == TP_NONE)
		return rc;
	dtype = dtype_of(f, x.codes);
	return tp_dtype_kind(dtype) == TP_KIND_FLOAT &&
		       tp_dtype_bits(dtype) < 32
		   ? add(f, &x, err)
		   : TP_OK;
}

static enum tp_status
look_at_scope(struct find *f, struct tp_err *err)
{
	const struct tpi_onnx_scope *s = &f->slots->scopes[f->scope];
	size_t n = s->graph ? s->graph->n_node : s->function->n_node;
	enum tp_status rc;

	f->nodes = s->graph ? s->graph->node : s->function->node;
	rc = index_makers(f, n, err);
	for (size_t i = 0; !rc && i < n; i++) {
		TpOnnx__NodeProto *node = f->nodes[i];

		if (tpi_onnx_is_op(node, TP_STR("DequantizeLinear")))
			rc = look_at_dequantize(f, node, err);
		else if (tpi_onnx_is_op(node, TP_STR("Mul")))
			rc = look_at_product(f, node, err);
		else if (tpi_onnx_is_op(node, TP_STR("Cast")))
			rc = look_at_cast(f, node, err);
	}
	return rc;
}

enum tp_status
tpi_onnx_expansions_find(struct tpi_onnx_expansions *x,
    const struct tpi_onnx_slots *slots, struct tp_err *err)
{
	struct find f = {.slots = slots, .x = x, .key.alloc = slots->alloc};
	enum tp_status rc;

	*x = (struct tpi_onnx_expansions){.alloc = slots->alloc};
	tp_map_init(&f.weights, slots->alloc);
	tpi_arena_init(&f.arena, slots->alloc);
	rc = index_weights(&f, err);
	for (; !rc && f.scope < slots->n_scopes; f.scope++) {
		tp_map_init(&f.makers, slots->alloc);
		rc = look_at_scope(&f, err);
		tp_map_release(&f.makers);
	}
	tp_map_release(&f.weights);
	tpi_arena_release(&f.arena);
	tpi_copy_release(&f.key);
	if (rc)
		tpi_onnx_expansions_release(x);
	return rc;
}

void
tpi_onnx_expansions_release(struct tpi_onnx_expansions *x)
{
	tp_mem_free(x->alloc, x->items, x->cap, sizeof(*x->items));
	*x = (struct tpi_onnx_expansions){.alloc = x->alloc};
}
