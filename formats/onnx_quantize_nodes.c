/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_quantize_nodes.c - the nodes that make floats of narrowed weights
 *
 * Names are those of the weight with something behind them, so they are the
 * same whenever the same weight is narrowed again.
 */
#include "onnx_quantize.h"

#include "tp/onnx_dtype.h"
#include "tp/shape.h"

#include "onnx_graph.h"
#include "onnx_message.h"
#include "onnx_uses.h"

#include "banned.h"

/* AttributeProto.type */
#define TYPE_INT 2
#define TYPE_STRING 3
#define TYPE_INTS 7

/* Of Cast, whose `to` was a text before opset 6. */
#define CAST_BY_NUMBER 6
/* Of Sub and Mul, which had attributes for it before opset 7. */
#define NUMPY_BROADCASTING 7

struct nodes {
	struct tpi_onnx_edit *e;
	int64_t opset;
	const struct tpi_onnx_narrowed *item;
	struct tp_str local, scale, zero; /* zero.len 0: there is none */
	size_t scope;
};

void
tpi_onnx_part_shape(
    const struct tpi_narrow *n, int64_t opset, unsigned *rank, int64_t *shape)
{
	const struct tp_recipe *p = &n->recipe;
	bool arithmetic = tpi_onnx_expand_of(p, opset) == TPI_EXPAND_ARITHMETIC;

	*rank = 0;
	if (p->per == TP_PER_TENSOR)
		return;
	if (p->per == TP_PER_BLOCK) {
		for (unsigned d = 0; d < n->e->rank; d++)
			shape[d] = n->e->shape[d];
		shape[p->axis] = (int64_t)n->groups.n_blocks;
		*rank = n->e->rank;
		return;
	}
	shape[(*rank)++] = (int64_t)n->groups.n_groups;
	/* [C, 1, 1, …] stands beside the axis when ranks differ. */
	for (unsigned d = p->axis + 1;
	     arithmetic && opset >= NUMPY_BROADCASTING && d < n->e->rank; d++)
		shape[(*rank)++] = 1;
}

static enum tp_status
add_int(struct nodes *x, TpOnnx__NodeProto *node, const char *name,
    int64_t value, struct tp_err *err)
{
	TpOnnx__AttributeProto *a = NULL;
	enum tp_status rc =
	    tpi_onnx_edit_attribute(x->e, node, name, TYPE_INT, &a, err);

	if (rc)
		return rc;
	a->has_i = 1;
	a->i = value;
	return TP_OK;
}

/* A node whose output is called W and suffix. */
static enum tp_status
add_node(struct nodes *x, const char *op_type, const char *suffix,
    const struct tp_str *inputs, size_t n_inputs, TpOnnx__NodeProto **node,
    struct tp_str *output, struct tp_err *err)
{
	enum tp_status rc =
	    tpi_onnx_edit_name(x->e, x->local, suffix, output, err);

	if (!rc)
		rc = tpi_onnx_edit_new_node(
		    x->e, op_type, *output, inputs, n_inputs, node, err);
	if (!rc)
		rc = tpi_onnx_edit_node(
		    x->e, x->scope, x->item->w->before, *node, err);
	return rc;
}

static enum tp_status
add_cast(struct nodes *x, struct tp_str input, const char *suffix,
    struct tp_str *output, struct tp_err *err)
{
	TpOnnx__AttributeProto *a = NULL;
	TpOnnx__NodeProto *node = NULL;
	enum tp_status rc =
	    add_node(x, "Cast", suffix, &input, 1, &node, output, err);

	if (rc)
		return rc;
	if (x->opset >= CAST_BY_NUMBER)
		return add_int(x, node, "to", tp_onnx_code(TP_DTYPE_F32), err);
	rc = tpi_onnx_edit_attribute(x->e, node, "to", TYPE_STRING, &a, err);
	if (rc)
		return rc;
	a->has_s = 1;
	a->s = tpi_onnx_bytes(TP_STR("FLOAT"));
	return TP_OK;
}

/* Sub or Mul of the codes and one number for each channel. */
static enum tp_status
add_binary(struct nodes *x, const char *op_type, struct tp_str left,
    struct tp_str right, const char *suffix, struct tp_str *output,
    struct tp_err *err)
{
	const struct tp_recipe *p = &x->item->n->recipe;
	const struct tp_str inputs[] = {left, right};
	TpOnnx__NodeProto *node = NULL;
	enum tp_status rc =
	    add_node(x, op_type, suffix, inputs, 2, &node, output, err);

	if (rc || x->opset >= NUMPY_BROADCASTING)
		return rc;
	rc = add_int(x, node, "broadcast", 1, err);
	if (!rc && p->per == TP_PER_CHANNEL)
		rc = add_int(x, node, "axis", p->axis, err);
	return rc;
}

static enum tp_status
add_arithmetic(struct nodes *x, struct tp_str *output, struct tp_err *err)
{
	struct tp_str codes, zero;
	enum tp_status rc = add_cast(x, x->local, "_cast", &codes, err);

	if (!rc && x->zero.len) {
		rc = add_cast(x, x->zero, "_zero_point_cast", &zero, err);
		if (!rc)
			rc = add_binary(
			    x, "Sub", codes, zero, "_shifted", &codes, err);
	}
	return rc ? rc
		  : add_binary(
			x, "Mul", codes, x->scale, "_dequantized", output, err);
}

static enum tp_status
add_dequantize(struct nodes *x, struct tp_str *output, struct tp_err *err)
{
	const struct tp_recipe *p = &x->item->n->recipe;
	const struct tp_str inputs[] = {x->local, x->scale, x->zero};
	TpOnnx__NodeProto *node = NULL;
	enum tp_status rc = add_node(x, "DequantizeLinear", "_dequantized",
	    inputs, x->zero.len ? 3 : 2, &node, output, err);

	if (!rc && p->per != TP_PER_TENSOR)
		rc = add_int(x, node, "axis", p->axis, err);
	if (!rc && p->per == TP_PER_BLOCK)
		rc = add_int(x, node, "block_size", (int64_t)p->block, err);
	return rc;
}

/* Scales or zero points as a weight of their own. */
static enum tp_status
add_part(struct nodes *x, struct tpi_onnx_narrowed *item,
    enum tpi_narrow_part part, const char *suffix, struct tp_str *name,
    struct tp_err *err)
{
	enum tp_dtype dtype = tpi_narrow_dtype(item->n, part);
	int64_t shape[TP_MAX_RANK];
	unsigned rank = 0;
	enum tp_status rc;

	if (dtype == TP_DTYPE_NONE)
		return TP_OK;
	tpi_onnx_part_shape(item->n, x->opset, &rank, shape);
	rc = tpi_onnx_edit_name(x->e, x->local, suffix, name, err);
	if (!rc)
		rc = tpi_onnx_edit_new_tensor(x->e, *name, tp_onnx_code(dtype),
		    rank, shape, &item->parts[part], err);
	return rc ? rc
		  : tpi_onnx_edit_tensor(x->e, item->slot, item->w->before,
			item->parts[part], err);
}

static enum tp_status
narrow(struct tpi_onnx_edit *e, struct tpi_onnx_narrowed *item,
    struct tp_str *output, struct tp_err *err)
{
	struct tpi_onnx_slot *slot = &e->slots.items[item->slot];
	struct nodes x = {.e = e,
	    .opset = tpi_onnx_edit_opset(e),
	    .item = item,
	    .local = slot->local,
	    .scope = slot->scope};
	enum tp_status rc;

	item->parts[TPI_CODES] = slot->tensor;
	slot->tensor->data_type =
	    tp_onnx_code(tpi_narrow_dtype(item->n, TPI_CODES));
	rc = add_part(&x, item, TPI_SCALES, "_scale", &x.scale, err);
	if (!rc)
		rc = add_part(&x, item, TPI_ZEROS, "_zero_point", &x.zero, err);
	if (rc)
		return rc;
	switch (tpi_onnx_expand_of(&item->n->recipe, x.opset)) {
	case TPI_EXPAND_DEQUANTIZE:
		return add_dequantize(&x, output, err);
	case TPI_EXPAND_ARITHMETIC:
		return add_arithmetic(&x, output, err);
	case TPI_EXPAND_CAST:
		return add_cast(&x, x.local, "_dequantized", output, err);
	}
	return TP_OK;
}

struct rename {
	struct tpi_onnx_edit *e;
	const struct tpi_onnx_narrowed *items;
	const struct tp_str *names; /* of each item's floats */
};

/*
 * A Transpose that does not say how turns all axes round. ONNX Runtime (1.30)
 * moves it in front of a DequantizeLinear with an axis, and stops when it finds
 * no perm there.
 */
static enum tp_status
say_perm(struct tpi_onnx_edit *e, TpOnnx__NodeProto *node, unsigned rank,
    struct tp_err *err)
{
	TpOnnx__AttributeProto *a = NULL;
	int64_t *perm = tpi_arena_array(&e->arena, rank, sizeof(*perm));
	enum tp_status rc =
	    tpi_onnx_edit_attribute(e, node, "perm", TYPE_INTS, &a, err);

	if (rc)
		return rc;
	if (!perm)
		return tpi_onnx_edit_no_memory(err);
	for (unsigned d = 0; d < rank; d++)
		perm[d] = rank - 1 - d;
	a->ints = perm;
	a->n_ints = rank;
	return TP_OK;
}

/* A tpi_onnx_use_fn. */
static enum tp_status
rename_use(void *ctx, const struct tpi_onnx_use *use, struct tp_err *err)
{
	const struct rename *r = ctx;

	if (use->kind != TPI_USE_INPUT)
		return TP_OK;
	*use->name = tpi_onnx_bytes(r->names[use->tensor]);
	if (!tpi_onnx_is_op(use->node, TP_STR("Transpose")) ||
	    tpi_onnx_attribute(use->node, TP_STR("perm")))
		return TP_OK;
	return say_perm(r->e, use->node, r->items[use->tensor].n->e->rank, err);
}

enum tp_status
tpi_onnx_narrow_weights(struct tpi_onnx_edit *e,
    struct tpi_onnx_narrowed *items, size_t n, struct tp_err *err)
{
	struct tpi_onnx_local *locals =
	    tpi_arena_array(&e->arena, n, sizeof(*locals));
	struct tp_str *outputs =
	    tpi_arena_array(&e->arena, n, sizeof(*outputs));
	int32_t *types = tpi_arena_array(&e->arena, n, sizeof(*types));
	struct rename r = {.e = e, .items = items, .names = outputs};
	enum tp_status rc = TP_OK;

	if (!locals || !outputs || !types)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; !rc && i < n; i++) {
		rc = narrow(e, &items[i], &outputs[i], err);
		locals[i] = tpi_onnx_edit_local(e, items[i].slot);
		types[i] = items[i].parts[TPI_CODES]->data_type;
	}
	if (!rc)
		rc = tpi_onnx_each_use(
		    e->model, locals, n, e->alloc, rename_use, &r, err);
	if (!rc)
		rc = tpi_onnx_retype_values(
		    e->model, locals, types, n, e->alloc, err);
	return rc;
}
