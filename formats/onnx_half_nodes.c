/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_half_nodes.c - what becomes of a graph that computes with f16
 */
#include "onnx_half.h"

#include "tp/onnx_dtype.h"

#include "onnx_message.h"
#include "onnx_uses.h"

#include "banned.h"

/* AttributeProto.type */
#define TYPE_INT 2
#define TYPE_TENSOR 4

/*
 * ---- casts ----
 */

static enum tp_status
add_cast(struct tpi_onnx_half *h, size_t scope, size_t before,
    struct tp_str from, struct tp_str to, enum tp_dtype dtype,
    struct tp_err *err)
{
	TpOnnx__AttributeProto *a = NULL;
	TpOnnx__NodeProto *node = NULL;
	enum tp_status rc;

	rc = tpi_onnx_edit_new_node(h->e, "Cast", to, &from, 1, &node, err);
	if (!rc)
		rc = tpi_onnx_edit_attribute(
		    h->e, node, "to", TYPE_INT, &a, err);
	if (rc)
		return rc;
	a->has_i = 1;
	a->i = tp_onnx_code(dtype);
	return tpi_onnx_edit_node(h->e, scope, before, node, err);
}

/* An input as f32. */
static enum tp_status
widen_input(struct tpi_onnx_half *h, size_t scope, size_t at,
    ProtobufCBinaryData *name, struct tp_err *err)
{
	const struct tpi_half_value *v = tpi_onnx_half_find(h, scope, *name);
	struct tp_str old = tpi_onnx_str(*name), wide;
	enum tp_status rc;

	if (!v || !v->is_f32 || v->stays)
		return TP_OK;
	rc = tpi_onnx_edit_name(h->e, old, "_float", &wide, err);
	if (!rc)
		rc = add_cast(h, scope, at, old, wide, TP_DTYPE_F32, err);
	if (!rc)
		*name = tpi_onnx_bytes(wide);
	return rc;
}

/* An output that is f32 as f16, under the name that it had. */
static enum tp_status
narrow_output(struct tpi_onnx_half *h, size_t scope, size_t at,
    ProtobufCBinaryData *name, struct tp_err *err)
{
	const struct tpi_half_value *v = tpi_onnx_half_find(h, scope, *name);
	struct tp_str old = tpi_onnx_str(*name), wide;
	enum tp_status rc;

	if (!v || !v->is_f32)
		return TP_OK;
	rc = tpi_onnx_edit_name(h->e, old, "_float", &wide, err);
	if (!rc)
		rc = add_cast(h, scope, at + 1, wide, old, TP_DTYPE_F16, err);
	if (!rc)
		*name = tpi_onnx_bytes(wide);
	return rc;
}

static enum tp_status
change_node(struct tpi_onnx_half *h, size_t scope, size_t at,
    TpOnnx__NodeProto *node, struct tp_err *err)
{
	const struct tpi_half_op *op = tpi_onnx_half_op(node);
	TpOnnx__AttributeProto *to = tpi_onnx_attribute(node, TP_STR("to"));
	enum tp_status rc = TP_OK;

	if (to && to->i == tp_onnx_code(TP_DTYPE_F32))
		to->i = tp_onnx_code(TP_DTYPE_F16);
	if (!op || !op->kept)
		return TP_OK;
	for (size_t k = 0; !rc && k < node->n_input; k++)
		rc = widen_input(h, scope, at, &node->input[k], err);
	for (size_t k = 0; !rc && k < node->n_output; k++)
		rc = narrow_output(h, scope, at, &node->output[k], err);
	return rc;
}

static enum tp_status
change_nodes(struct tpi_onnx_half *h, struct tp_err *err)
{
	const struct tpi_onnx_slots *slots = &h->e->slots;
	enum tp_status rc = TP_OK;

	for (size_t s = 0; !rc && s < slots->n_scopes; s++) {
		const TpOnnx__GraphProto *g = slots->scopes[s].graph;

		for (size_t i = 0; !rc && i < g->n_node; i++)
			rc = change_node(h, s, i, g->node[i], err);
	}
	return rc;
}

/*
 * ---- inputs and outputs of the model ----
 */

/* Values of the main graph that stay f32, and what stands for each inside. */
struct interface {
	const struct tpi_onnx_half *h;
	struct tpi_onnx_local *locals;
	struct tp_str *inside;
	size_t n, n_inputs;
};

static enum tp_status
add_value(struct tpi_onnx_half *h, struct interface *x, bool is_output,
    ProtobufCBinaryData name, struct tp_err *err)
{
	struct tpi_half_value *v = tpi_onnx_half_find(h, 0, name);
	struct tp_str old = tpi_onnx_str(name);

	/* A weight is an input of IR version 3. */
	if (!v || !v->is_f32 || v->is_weight || v->stays)
		return TP_OK;
	v->stays = true;
	v->output = is_output ? x->n + 1 : 0;
	x->locals[x->n] = (struct tpi_onnx_local){h->e->model->graph, old};
	return tpi_onnx_edit_name(h->e, old, "_half", &x->inside[x->n++], err);
}

/* A tpi_onnx_use_fn. */
static enum tp_status
rename_use(void *ctx, const struct tpi_onnx_use *use, struct tp_err *err)
{
	const struct interface *x = ctx;

	(void)err;
	if (use->kind == TPI_USE_INPUT ||
	    use->frame->scope != (const void *)x->h->e->model->graph)
		*use->name = tpi_onnx_bytes(x->inside[use->tensor]);
	return TP_OK;
}

/* What a node of the main graph gives as an output has another name there. */
static void
rename_outputs(struct tpi_onnx_half *h, const struct interface *x)
{
	const TpOnnx__GraphProto *g = h->e->model->graph;

	for (size_t i = 0; i < g->n_node; i++)
		for (size_t k = 0; k < g->node[i]->n_output; k++) {
			ProtobufCBinaryData *name = &g->node[i]->output[k];
			const struct tpi_half_value *v =
			    tpi_onnx_half_find(h, 0, *name);

			if (v && v->output)
				*name =
				    tpi_onnx_bytes(x->inside[v->output - 1]);
		}
}

static enum tp_status
change_interface(struct tpi_onnx_half *h, struct tp_err *err)
{
	TpOnnx__GraphProto *g = h->e->model->graph;
	size_t n = g->n_input + g->n_output;
	struct tpi_arena *a = &h->e->arena;
	struct interface x = {.h = h,
	    .locals = tpi_arena_array(a, n, sizeof(*x.locals)),
	    .inside = tpi_arena_array(a, n, sizeof(*x.inside))};
	enum tp_status rc = TP_OK;

	if (!x.locals || !x.inside)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; !rc && i < g->n_input; i++)
		rc = add_value(h, &x, false, g->input[i]->name, err);
	x.n_inputs = x.n;
	for (size_t i = 0; !rc && i < g->n_output; i++)
		rc = add_value(h, &x, true, g->output[i]->name, err);
	if (!rc)
		rc = tpi_onnx_each_use(h->e->model, x.locals, x.n, h->e->alloc,
		    rename_use, &x, err);
	if (rc)
		return rc;
	rename_outputs(h, &x);
	for (size_t i = 0; !rc && i < x.n; i++) {
		bool input = i < x.n_inputs;
		struct tp_str outside = x.locals[i].name;

		rc = tpi_onnx_half_define(h, 0, x.inside[i], err);
		if (!rc)
			rc = add_cast(h, 0, input ? 0 : g->n_node,
			    input ? outside : x.inside[i],
			    input ? x.inside[i] : outside,
			    input ? TP_DTYPE_F16 : TP_DTYPE_F32, err);
	}
	return rc;
}

/*
 * ---- weights and types ----
 */

/* A Constant whose value is plain numbers gets a tensor, which has a type. */
static enum tp_status
make_tensor(
    struct tpi_onnx_half *h, struct tpi_onnx_slot *s, struct tp_err *err)
{
	const struct tp_entry *e = h->entries[s - h->e->slots.items];
	TpOnnx__AttributeProto *a = s->attribute;
	enum tp_status rc = tpi_onnx_edit_new_tensor(
	    h->e, s->local, 0, e->rank, e->shape, &s->tensor, err);

	if (rc)
		return rc;
	a->name = tpi_onnx_bytes(TP_STR("value"));
	a->has_type = 1;
	a->type = TYPE_TENSOR;
	a->t = s->tensor;
	return TP_OK;
}

static enum tp_status
change_weights(struct tpi_onnx_half *h, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < h->e->slots.n_items; i++) {
		struct tpi_onnx_slot *s = &h->e->slots.items[i];

		if (!h->half[i])
			continue;
		if (!s->tensor)
			rc = make_tensor(h, s, err);
		if (rc)
			break;
		s->tensor->data_type = tp_onnx_code(TP_DTYPE_F16);
		h->tensors[i] = s->tensor;
	}
	return rc;
}

static void
retype(struct tpi_onnx_half *h, size_t scope,
    TpOnnx__ValueInfoProto *const *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const TpOnnx__TypeProto *type = values[i]->type;
		const struct tpi_half_value *v =
		    tpi_onnx_half_find(h, scope, values[i]->name);

		if (v && v->is_f32 && !v->stays && type && type->tensor_type &&
		    type->tensor_type->has_elem_type)
			type->tensor_type->elem_type =
			    tp_onnx_code(TP_DTYPE_F16);
	}
}

static void
retype_all(struct tpi_onnx_half *h)
{
	for (size_t s = 0; s < h->e->slots.n_scopes; s++) {
		const TpOnnx__GraphProto *g = h->e->slots.scopes[s].graph;

		retype(h, s, g->input, g->n_input);
		retype(h, s, g->output, g->n_output);
		retype(h, s, g->value_info, g->n_value_info);
	}
}

enum tp_status
tpi_onnx_half_apply(struct tpi_onnx_half *h, struct tp_err *err)
{
	enum tp_status rc = change_interface(h, err);

	if (!rc)
		rc = change_nodes(h, err);
	if (!rc)
		rc = change_weights(h, err);
	if (rc)
		return rc;
	retype_all(h);
	return tpi_onnx_edit_finish(h->e, err);
}
