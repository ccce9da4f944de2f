/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_dequantize_nodes.c - what becomes of the graph when weights are widened
 */
#include "onnx_dequantize.h"

#include "tp/onnx_dtype.h"

#include "onnx_graph.h"
#include "onnx_message.h"
#include "onnx_uses.h"

#include "banned.h"

/* The nodes go. */
static enum tp_status
remove_nodes(struct tpi_onnx_edit *e, const struct tpi_onnx_expansion *x,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t k = 0; !rc && k < x->n_nodes; k++)
		rc = tpi_onnx_edit_remove(e, x->nodes[k], err);
	if (!rc && x->zero_cast)
		rc = tpi_onnx_edit_remove(e, x->zero_cast, err);
	return rc;
}

/* A tpi_onnx_use_fn: ctx are the new names. */
static enum tp_status
rename_use(void *ctx, const struct tpi_onnx_use *use, struct tp_err *err)
{
	const struct tp_str *names = ctx;

	(void)err;
	*use->name = tpi_onnx_bytes(names[use->tensor]);
	return TP_OK;
}

/* What used the numbers uses the weight. */
static enum tp_status
rewire(struct tpi_onnx_widening *w, struct tp_err *err)
{
	struct tpi_onnx_edit *e = w->e;
	struct tpi_onnx_local *locals =
	    tpi_arena_array(&e->arena, w->all.n, sizeof(*locals));
	struct tp_str *names =
	    tpi_arena_array(&e->arena, w->all.n, sizeof(*names));
	enum tp_status rc = TP_OK;
	size_t n = 0;

	if (!locals || !names)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; !rc && i < w->all.n; i++) {
		const struct tpi_onnx_expansion *x = &w->all.items[i];

		if (!w->slots[x->codes].chosen)
			continue;
		locals[n] = (struct tpi_onnx_local){
		    tpi_onnx_scope_id(&e->slots.scopes[x->scope]),
		    tpi_onnx_str(tpi_onnx_expansion_last(x)->output[0])};
		names[n++] = e->slots.items[x->codes].local;
		rc = remove_nodes(e, x, err);
	}
	return rc ? rc
		  : tpi_onnx_each_use(
			e->model, locals, n, e->alloc, rename_use, names, err);
}

static enum tp_status
remove_part(struct tpi_onnx_widening *w, size_t slot, struct tp_err *err)
{
	const struct tpi_onnx_slot *s;

	if (slot == TP_NONE || w->slots[slot].used || w->slots[slot].gone)
		return TP_OK;
	s = &w->e->slots.items[slot];
	w->slots[slot].gone = true;
	return tpi_onnx_edit_remove(w->e,
	    s->node ? (const void *)s->node : (const void *)s->tensor, err);
}

/* Scales and zero points that none of the remaining nodes uses. */
static enum tp_status
remove_parts(struct tpi_onnx_widening *w, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < w->all.n; i++) {
		const struct tpi_onnx_expansion *x = &w->all.items[i];

		if (w->slots[x->codes].chosen)
			continue;
		if (x->scale != TP_NONE)
			w->slots[x->scale].used = true;
		if (x->zero != TP_NONE)
			w->slots[x->zero].used = true;
	}
	for (size_t i = 0; !rc && i < w->all.n; i++) {
		const struct tpi_onnx_expansion *x = &w->all.items[i];

		if (!w->slots[x->codes].chosen)
			continue;
		rc = remove_part(w, x->scale, err);
		if (!rc)
			rc = remove_part(w, x->zero, err);
	}
	return rc;
}

/* The weights are f32, wherever the model tells of them. */
static enum tp_status
retype(struct tpi_onnx_widening *w, struct tp_err *err)
{
	struct tpi_onnx_edit *e = w->e;
	size_t n_slots = e->slots.n_items, n = 0;
	struct tpi_onnx_local *locals =
	    tpi_arena_array(&e->arena, n_slots, sizeof(*locals));
	int32_t *types = tpi_arena_array(&e->arena, n_slots, sizeof(*types));

	if (!locals || !types)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; i < n_slots; i++) {
		if (!w->slots[i].chosen)
			continue;
		types[n] = e->slots.items[i].tensor->data_type =
		    tp_onnx_code(TP_DTYPE_F32);
		locals[n++] = tpi_onnx_edit_local(e, i);
	}
	return tpi_onnx_retype_values(
	    e->model, locals, types, n, e->alloc, err);
}

enum tp_status
tpi_onnx_widen(struct tpi_onnx_widening *w, struct tp_err *err)
{
	enum tp_status rc = rewire(w, err);

	if (!rc)
		rc = remove_parts(w, err);
	if (!rc)
		rc = retype(w, err);
	return rc ? rc : tpi_onnx_edit_finish(w->e, err);
}
