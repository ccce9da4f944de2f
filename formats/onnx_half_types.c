/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_half_types.c - which values of a graph are f32
 *
 * From inputs and weights on, node by node, as onnx_half.def says. Inner graphs
 * are walked where they stand, with a recursion that their nesting bounds.
 */
#include "onnx_half.h"

#include <assert.h>

#include "tp/onnx_dtype.h"

#include "grow.h"
#include "onnx_message.h"

#include "banned.h"

enum { HALF, KEPT };
enum outputs {
	FIRST,
	SECOND,
	THIRD,
	ALL,
	NONE,
	TO,
	DTYPE,
	VALUE,
	SCALE,
	WEIGHT,
	BRANCH,
	LOOP,
	SCAN
};

static const struct tpi_half_op ops[] = {
#define TPI_ONNX_HALF(op_type, how, outputs) {op_type, how == KEPT, outputs},
#include "onnx_half.def"
#undef TPI_ONNX_HALF
};

const struct tpi_half_op *
tpi_onnx_half_op(const TpOnnx__NodeProto *node)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (tpi_onnx_is_op(node, tp_str(ops[i].op_type)))
			return &ops[i];
	return NULL;
}

static enum tp_status
refuse(const TpOnnx__NodeProto *node, const char *why, struct tp_err *err)
{
	struct tp_str name = node->name.len || !node->n_output
				 ? tpi_onnx_str(node->name)
				 : tpi_onnx_str(node->output[0]);

	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "the graph cannot compute with f16: node '%.80s' (%.40s) %s",
	    TP_BRIEF(name), TP_BRIEF(tpi_onnx_str(node->op_type)), why);
}

/*
 * ---- values by name ----
 */

/* A name's number in a scope. */
struct place {
	size_t scope, name;
};

static struct tp_str
key_of(const struct place *p)
{
	return (struct tp_str){(const char *)p, sizeof(*p)};
}

struct tpi_half_value *
tpi_onnx_half_find(
    struct tpi_onnx_half *h, size_t scope, ProtobufCBinaryData name)
{
	struct place p = {.scope = scope};
	size_t i;

	if (!name.len || !tp_map_find(&h->names, tpi_onnx_str(name), &p.name))
		return NULL;
	for (; p.scope != TP_NONE; p.scope = h->e->slots.scopes[p.scope].parent)
		if (tp_map_find(&h->places, key_of(&p), &i))
			return &h->values[i];
	return NULL;
}

static enum tp_status
define(struct tpi_onnx_half *h, size_t scope, ProtobufCBinaryData name,
    bool is_f32, struct tp_err *err)
{
	struct place *p = tpi_arena_array(&h->e->arena, 1, sizeof(*p));
	size_t i = h->n_values;
	enum tp_status rc;
	void *grown;

	if (!name.len)
		return TP_OK;
	grown = tpi_grow(
	    h->e->alloc, h->values, i + 1, &h->cap_values, sizeof(*h->values));
	if (!p || !grown)
		return tpi_onnx_edit_no_memory(err);
	h->values = grown;
	*p = (struct place){scope, h->names.n_used};
	rc = tp_map_add(&h->names, tpi_onnx_str(name), p->name, &p->name, err);
	if (!rc || rc == TP_EARG)
		rc = tp_map_add(&h->places, key_of(p), i, &i, err);
	if (rc && rc != TP_EARG)
		return rc;
	if (!rc)
		h->n_values++;
	h->values[i] = (struct tpi_half_value){.is_f32 = is_f32};
	return TP_OK;
}

enum tp_status
tpi_onnx_half_define(struct tpi_onnx_half *h, size_t scope, struct tp_str name,
    struct tp_err *err)
{
	return define(h, scope, tpi_onnx_bytes(name), true, err);
}

/*
 * ---- outputs of a node ----
 */

static enum tp_status walk_graph(struct tpi_onnx_half *h, TpOnnx__GraphProto *g,
    const bool *inputs, size_t n_inputs, struct tp_err *err);

static enum tp_status
type_of(struct tpi_onnx_half *h, size_t scope, const TpOnnx__NodeProto *node,
    size_t input, bool *is_f32, struct tp_err *err)
{
	const struct tpi_half_value *v;

	*is_f32 = false;
	if (input >= node->n_input || !node->input[input].len)
		return TP_OK;
	v = tpi_onnx_half_find(h, scope, node->input[input]);
	if (!v)
		return refuse(node, "has an input of unknown type", err);
	*is_f32 = v->is_f32;
	return TP_OK;
}

/* Does an attribute of a data_type say f32? Absent: `otherwise`. */
static bool
says_f32(const TpOnnx__NodeProto *node, struct tp_str name, bool otherwise)
{
	const TpOnnx__AttributeProto *a = tpi_onnx_attribute(node, name);

	if (!a)
		return otherwise;
	return (a->t ? a->t->data_type : (int32_t)a->i) ==
	       tp_onnx_code(TP_DTYPE_F32);
}

static TpOnnx__GraphProto *
body_of(const TpOnnx__NodeProto *node, struct tp_str name)
{
	const TpOnnx__AttributeProto *a = tpi_onnx_attribute(node, name);

	return a ? a->g : NULL;
}

/* Is output i of an inner graph f32? */
static bool
gives_f32(struct tpi_onnx_half *h, const TpOnnx__GraphProto *g, size_t i)
{
	const struct tpi_half_value *v;
	size_t scope = 0;

	if (i >= g->n_output ||
	    !tp_map_find(&h->graphs,
		(struct tp_str){(const char *)&g, sizeof(g)}, &scope))
		return false;
	v = tpi_onnx_half_find(h, scope, g->output[i]->name);
	return v && v->is_f32;
}

static enum tp_status
walk_branches(struct tpi_onnx_half *h, size_t scope, TpOnnx__NodeProto *node,
    struct tp_err *err)
{
	TpOnnx__GraphProto *a = body_of(node, TP_STR("then_branch"));
	TpOnnx__GraphProto *b = body_of(node, TP_STR("else_branch"));
	enum tp_status rc;

	if (!a || !b)
		return refuse(node, "has no two branches", err);
	rc = walk_graph(h, a, NULL, 0, err);
	if (!rc)
		rc = walk_graph(h, b, NULL, 0, err);
	for (size_t i = 0; !rc && i < node->n_output; i++) {
		bool is_f32 = gives_f32(h, a, i);

		if (is_f32 != gives_f32(h, b, i))
			return refuse(
			    node, "gives another type in each branch", err);
		rc = define(h, scope, node->output[i], is_f32, err);
	}
	return rc;
}

/*
 * The body of a Loop has the number of the round and a condition before what
 * is carried on, and gives a condition first. That of a Scan has neither.
 */
static enum tp_status
walk_body(struct tpi_onnx_half *h, size_t scope, TpOnnx__NodeProto *node,
    bool loop, struct tp_err *err)
{
	TpOnnx__GraphProto *g = body_of(node, TP_STR("body"));
	size_t n = node->n_input + 2;
	bool *types = tpi_arena_array(&h->e->arena, n, sizeof(*types));
	enum tp_status rc = TP_OK;

	if (!g)
		return refuse(node, "has no body", err);
	if (!loop && tpi_onnx_edit_opset(h->e) < 9)
		return refuse(node, "is of another kind before opset 9", err);
	if (!types)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = loop ? 2 : 0; !rc && i < node->n_input; i++)
		rc = type_of(h, scope, node, i, &types[i], err);
	if (!rc)
		rc = walk_graph(h, g, types, n, err);
	for (size_t i = 0; !rc && i < node->n_output; i++)
		rc = define(h, scope, node->output[i],
		    gives_f32(h, g, i + (loop ? 1 : 0)), err);
	return rc;
}

/* Is output k of a node f32, as its row says? */
static bool
output_is_f32(const struct tpi_half_op *op, const TpOnnx__NodeProto *node,
    const bool inputs[3], size_t k)
{
	switch ((enum outputs)op->outputs) {
	case FIRST:
		return k == 0 && inputs[0];
	case SECOND:
		return k == 0 && inputs[1];
	case THIRD:
		return k == 0 && inputs[2];
	case ALL:
		return inputs[0];
	case TO:
		return says_f32(node, TP_STR("to"), false);
	case DTYPE:
		return says_f32(node, TP_STR("dtype"), true);
	case VALUE:
		return says_f32(node, TP_STR("value"), true);
	case SCALE:
		return k == 1;
	case NONE:
	case WEIGHT:
	case BRANCH:
	case LOOP:
	case SCAN:
		break;
	}
	return false;
}

static enum tp_status
walk_node(struct tpi_onnx_half *h, size_t scope, TpOnnx__NodeProto *node,
    struct tp_err *err)
{
	const struct tpi_half_op *op = tpi_onnx_half_op(node);
	bool inputs[3] = {false}, any;
	enum tp_status rc = TP_OK;

	if (!op)
		return refuse(node, "is not known to", err);
	/* All are looked at: an unknown one is no surprise later. */
	for (size_t i = 0; !rc && i < node->n_input; i++)
		rc = type_of(h, scope, node, i, i < 3 ? &inputs[i] : &any, err);
	if (rc)
		return rc;
	switch ((enum outputs)op->outputs) {
	case WEIGHT:
		/* Constants that were no weights: none of ours. */
		return tpi_onnx_half_find(h, scope, node->output[0])
			   ? TP_OK
			   : refuse(node, "is no weight", err);
	case BRANCH:
		return walk_branches(h, scope, node, err);
	case LOOP:
	case SCAN:
		return walk_body(h, scope, node, op->outputs == LOOP, err);
	case FIRST:
	case SECOND:
	case THIRD:
	case ALL:
	case NONE:
	case TO:
	case DTYPE:
	case VALUE:
	case SCALE:
		break;
	}
	for (size_t k = 0; !rc && k < node->n_output; k++)
		rc = define(h, scope, node->output[k],
		    output_is_f32(op, node, inputs, k), err);
	return rc;
}

/*
 * ---- graphs ----
 */

/* A declared type, or that of what is handed in. */
static enum tp_status
define_input(struct tpi_onnx_half *h, size_t scope,
    const TpOnnx__ValueInfoProto *v, bool handed, struct tp_err *err)
{
	const TpOnnx__TypeProto *type = v->type;
	struct tpi_half_value *defined;
	enum tp_status rc;

	/* An initializer is defined already. */
	if (!scope && tpi_onnx_half_find(h, 0, v->name))
		return TP_OK;
	if (type && type->tensor_type && type->tensor_type->has_elem_type)
		handed =
		    type->tensor_type->elem_type == tp_onnx_code(TP_DTYPE_F32);
	else if (type && !type->tensor_type)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "the graph cannot compute with f16: input '%s' is no "
		    "tensor",
		    TP_BRIEF(tpi_onnx_str(v->name)));
	rc = define(h, scope, v->name, handed, err);
	defined = rc ? NULL : tpi_onnx_half_find(h, scope, v->name);
	if (defined)
		defined->is_input = !scope;
	return rc;
}

static enum tp_status
walk_graph(struct tpi_onnx_half *h, TpOnnx__GraphProto *g, const bool *inputs,
    size_t n_inputs, struct tp_err *err)
{
	size_t scope = 0;
	enum tp_status rc = TP_OK;

	if (!tp_map_find(&h->graphs,
		(struct tp_str){(const char *)&g, sizeof(g)}, &scope))
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; !rc && i < g->n_input; i++)
		rc = define_input(
		    h, scope, g->input[i], i < n_inputs && inputs[i], err);
	for (size_t i = 0; !rc && i < g->n_node; i++)
		rc = walk_node(h, scope, g->node[i], err);
	return rc;
}

/* Weights first: they are there wherever they stand. */
static enum tp_status
define_weights(struct tpi_onnx_half *h, struct tp_err *err)
{
	const struct tpi_onnx_slots *slots = &h->e->slots;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < slots->n_items; i++) {
		const struct tpi_onnx_slot *s = &slots->items[i];
		ProtobufCBinaryData name = tpi_onnx_bytes(s->local);

		if (s->sparse)
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "the graph cannot compute with f16: tensor '%s' is "
			    "sparse",
			    TP_BRIEF(s->name));
		rc = define(h, s->scope, name,
		    s->tensor
			? s->tensor->data_type == tp_onnx_code(TP_DTYPE_F32)
			: s->kind == TPI_SLOT_VALUE_FLOAT ||
			      s->kind == TPI_SLOT_VALUE_FLOATS,
		    err);
		if (!rc) {
			struct tpi_half_value *v =
			    tpi_onnx_half_find(h, s->scope, name);

			assert(v);
			v->is_weight = true;
		}
	}
	return rc;
}

enum tp_status
tpi_onnx_half_types(struct tpi_onnx_half *h, struct tp_err *err)
{
	struct tpi_onnx_slots *slots = &h->e->slots;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < slots->n_scopes; i++) {
		TpOnnx__GraphProto **g = &slots->scopes[i].graph;

		rc = tp_map_add(&h->graphs,
		    (struct tp_str){(const char *)g, sizeof(*g)}, i, NULL, err);
	}
	if (!rc)
		rc = define_weights(h, err);
	return rc ? rc : walk_graph(h, h->e->model->graph, NULL, 0, err);
}
