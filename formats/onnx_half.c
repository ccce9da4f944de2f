/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_half.c - can a graph compute with f16, and which weights become so?
 *
 * Nothing is changed before it is known that all of it can be.
 */
#include "onnx_half.h"

#include "tp/onnx_dtype.h"

#include "onnx_message.h"
#include "onnx_uses.h"
#include "plugin.h"

#include "banned.h"

/* Of Cast, whose `to` was a text before opset 6. */
#define CAST_BY_NUMBER 6

static enum tp_status
refuse(const char *what, struct tp_str name, struct tp_err *err)
{
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "the graph cannot compute with f16: %s%s%s%s", what,
	    name.len ? " '" : "", name.len ? TP_BRIEF(name) : "",
	    name.len ? "'" : "");
}

/* A tpi_onnx_use_fn: a use by who keeps computing with f32 does not count. */
static enum tp_status
look_at(void *ctx, const struct tpi_onnx_use *use, struct tp_err *err)
{
	struct tpi_onnx_half *h = ctx;
	const struct tpi_half_op *op;
	ProtobufCBinaryData name;
	const struct tpi_onnx_slot *slot = &h->e->slots.items[use->tensor];
	const struct tpi_half_value *v;

	if (use->kind == TPI_USE_OUTPUT &&
	    use->frame->scope == (const void *)h->e->model->graph)
		return refuse("an output is the weight", slot->local, err);
	name = tpi_onnx_bytes(slot->local);
	v = tpi_onnx_half_find(h, slot->scope, name);
	op = use->kind == TPI_USE_INPUT ? tpi_onnx_half_op(use->node) : NULL;
	if (v && v->is_f32 && !(op && op->kept))
		h->half[use->tensor] = true;
	return TP_OK;
}

static enum tp_status
choose_weights(struct tpi_onnx_half *h, struct tp_err *err)
{
	const struct tpi_onnx_slots *slots = &h->e->slots;
	struct tpi_onnx_local *locals =
	    tpi_arena_array(&h->e->arena, slots->n_items, sizeof(*locals));
	enum tp_status rc;

	if (!locals)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; i < slots->n_items; i++)
		locals[i] = tpi_onnx_edit_local(h->e, i);
	rc = tpi_onnx_each_use(
	    h->e->model, locals, slots->n_items, h->e->alloc, look_at, h, err);
	for (size_t i = 0; !rc && i < slots->n_items; i++) {
		struct tpi_half_value *v =
		    tpi_onnx_half_find(h, slots->items[i].scope,
			tpi_onnx_bytes(slots->items[i].local));

		if (v && v->is_f32 && !h->half[i])
			v->stays = true;
	}
	return rc;
}

/* Inputs that are weights, outputs that are inputs. */
static enum tp_status
check_interface(
    struct tpi_onnx_half *h, const struct tp_reader *r, struct tp_err *err)
{
	const TpOnnx__ModelProto *m = h->e->model;
	const TpOnnx__GraphProto *g = m->graph;

	for (size_t i = 0; i < g->n_input; i++) {
		struct tp_str name = tpi_onnx_str(g->input[i]->name);

		if (m->ir_version >= 4 && tp_reader_find(r, name) != TP_NONE)
			return refuse(
			    "callers may replace the weight", name, err);
	}
	for (size_t i = 0; i < g->n_output; i++) {
		const struct tpi_half_value *v =
		    tpi_onnx_half_find(h, 0, g->output[i]->name);

		if (v && v->is_input)
			return refuse("an output is the input",
			    tpi_onnx_str(g->output[i]->name), err);
	}
	return TP_OK;
}

enum tp_status
tpi_onnx_half_open(struct tpi_onnx_half *h, struct tpi_onnx_edit *e,
    struct tp_reader *r, struct tp_err *err)
{
	size_t n = e->slots.n_items;
	enum tp_status rc;

	*h = (struct tpi_onnx_half){.e = e};
	tp_map_init(&h->graphs, e->alloc);
	tp_map_init(&h->names, e->alloc);
	tp_map_init(&h->places, e->alloc);
	h->half = tpi_arena_array(&e->arena, n, sizeof(*h->half));
	h->tensors = tpi_arena_array(&e->arena, n, sizeof(*h->tensors));
	h->entries = tpi_arena_array(&e->arena, n, sizeof(*h->entries));
	if (!h->half || !h->tensors || !h->entries)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; i < n; i++)
		h->entries[i] = tp_reader_entry(r, e->entry_of[i]);
	if (e->model->n_functions)
		return refuse("the model has functions", TP_STR(""), err);
	if (e->model->n_training_info)
		return refuse("the model is trained", TP_STR(""), err);
	if (tpi_onnx_edit_opset(e) < CAST_BY_NUMBER)
		return refuse("its opset is below 6", TP_STR(""), err);
	rc = tpi_onnx_half_types(h, err);
	if (!rc)
		rc = check_interface(h, r, err);
	return rc ? rc : choose_weights(h, err);
}

void
tpi_onnx_half_release(struct tpi_onnx_half *h)
{
	if (!h->e)
		return;
	tp_map_release(&h->graphs);
	tp_map_release(&h->names);
	tp_map_release(&h->places);
	tp_mem_free(h->e->alloc, h->values, h->cap_values, sizeof(*h->values));
	h->e = NULL;
}
