/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_edit.c - a graph without weights, while it is changed
 *
 * What is dropped stays in the pool until the whole goes. New messages and
 * lists are in an arena, which protobuf-c's own destructor would not
 * understand.
 */
#include "onnx_edit.h"

#include <stdio.h>
#include <string.h>

#include "tp/onnx.h"

#include "onnx_check.h"
#include "onnx_message.h"
#include "plugin.h"
#include "proto_skim.h"

#include "banned.h"

enum tp_status
tpi_onnx_edit_no_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
	    "out of memory for the changes of a graph");
}

enum tp_status
tpi_onnx_edit_reason(struct tpi_arena *arena, const char **why,
    struct tp_err *err, const char *fmt, va_list ap)
{
	char text[256];

	if (*why)
		return TP_OK;
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	*why = tpi_arena_str(arena, tp_str(text)).s;
	return *why ? TP_OK : tpi_onnx_edit_no_memory(err);
}

/*
 * ---- names ----
 */

/* Names may occur many times. */
static enum tp_status
take_name(struct tpi_onnx_edit *e, ProtobufCBinaryData name, struct tp_err *err)
{
	enum tp_status rc =
	    tp_map_add(&e->names, tpi_onnx_str(name), 0, NULL, err);

	return rc == TP_EARG ? TP_OK : rc;
}

static enum tp_status
take_values(struct tpi_onnx_edit *e, TpOnnx__ValueInfoProto *const *values,
    size_t n, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n; i++)
		rc = take_name(e, values[i]->name, err);
	return rc;
}

static enum tp_status
take_nodes(struct tpi_onnx_edit *e, TpOnnx__NodeProto *const *nodes, size_t n,
    struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < n; i++) {
		rc = take_name(e, nodes[i]->name, err);
		for (size_t k = 0; !rc && k < nodes[i]->n_output; k++)
			rc = take_name(e, nodes[i]->output[k], err);
	}
	return rc;
}

static enum tp_status
take_names(struct tpi_onnx_edit *e, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < e->slots.n_items; i++)
		rc = take_name(e, tpi_onnx_bytes(e->slots.items[i].local), err);
	for (size_t i = 0; !rc && i < e->slots.n_scopes; i++) {
		const TpOnnx__GraphProto *g = e->slots.scopes[i].graph;
		const TpOnnx__FunctionProto *f = e->slots.scopes[i].function;

		if (f) {
			rc = take_nodes(e, f->node, f->n_node, err);
			continue;
		}
		rc = take_values(e, g->input, g->n_input, err);
		if (!rc)
			rc =
			    take_values(e, g->value_info, g->n_value_info, err);
		if (!rc)
			rc = take_nodes(e, g->node, g->n_node, err);
	}
	return rc;
}

enum tp_status
tpi_onnx_edit_name(struct tpi_onnx_edit *e, struct tp_str base,
    const char *suffix, struct tp_str *out, struct tp_err *err)
{
	size_t room = strlen(suffix) + 24, n;
	char *p = tpi_arena_array(&e->arena, base.len + room, 1);
	enum tp_status rc;

	if (!p)
		return tpi_onnx_edit_no_memory(err);
	memcpy(p, base.s, base.len);
	for (size_t i = 1;; i++) {
		if (i == 1)
			snprintf(p + base.len, room, "%s", suffix);
		else
			snprintf(p + base.len, room, "%s_%zu", suffix, i);
		n = base.len + strlen(p + base.len);
		*out = (struct tp_str){p, n};
		rc = tp_map_add(&e->names, *out, 0, NULL, err);
		if (rc != TP_EARG)
			return rc;
	}
}

/*
 * ---- open and close ----
 */

/* The slots and whose they are; constants that the reader kept are none. */
static enum tp_status
find_slots(struct tpi_onnx_edit *e, struct tp_reader *r, bool constants,
    bool *fits, struct tp_err *err)
{
	enum tp_status rc = tpi_onnx_slots_find(
	    &e->slots, e->alloc, e->model, constants, &e->limits, err);

	e->constants = constants;
	*fits = true;
	if (rc)
		return rc;
	e->entry_of =
	    tpi_arena_array(&e->arena, e->slots.n_items, sizeof(*e->entry_of));
	if (!e->entry_of)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; i < e->slots.n_items; i++) {
		e->entry_of[i] = tp_reader_find(r, e->slots.items[i].name);
		if (e->entry_of[i] == TP_NONE)
			*fits = false;
		else
			e->slot_of[e->entry_of[i]] = i;
	}
	return TP_OK;
}

static enum tp_status
index_slots(struct tpi_onnx_edit *e, struct tp_reader *r, struct tp_err *err)
{
	bool fits;
	enum tp_status rc;

	e->n_entries = tp_reader_n_entries(r);
	e->slot_of =
	    tpi_arena_array(&e->arena, e->n_entries, sizeof(*e->slot_of));
	if (!e->slot_of)
		return tpi_onnx_edit_no_memory(err);
	for (size_t i = 0; i < e->n_entries; i++)
		e->slot_of[i] = TP_NONE;
	rc = find_slots(e, r, true, &fits, err);
	if (!rc && !fits) {
		tpi_onnx_slots_release(&e->slots);
		rc = find_slots(e, r, false, &fits, err);
	}
	if (!rc && !fits)
		rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "attachment " TP_ATTACHMENT_ONNX
		    ": weights of the graph are no tensors of the file");
	return rc;
}

enum tp_status
tpi_onnx_edit_open(
    struct tpi_onnx_edit *e, struct tp_reader *r, struct tp_err *err)
{
	struct tp_attachment graph;
	ProtobufCMessage *m = NULL;
	enum tp_status rc;

	*e = (struct tpi_onnx_edit){.alloc = r->alloc,
	    .limits = r->limits,
	    .slots.alloc = r->alloc,
	    .after.alloc = r->alloc};
	tpi_pool_init(&e->pool, r->alloc);
	tpi_arena_init(&e->arena, r->alloc);
	tp_map_init(&e->names, r->alloc);
	tp_map_init(&e->places, r->alloc);
	tp_map_init(&e->removed, r->alloc);
	rc = tpi_onnx_find_graph(r, &graph, err);
	if (!rc)
		rc = tpi_skim_unpack(&e->pool.base, graph.data, graph.nbytes,
		    &tp_onnx__model_proto__descriptor, &e->limits, &m, err);
	e->model = (TpOnnx__ModelProto *)m;
	if (!rc && !e->model->graph)
		rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "attachment " TP_ATTACHMENT_ONNX ": no graph");
	if (!rc)
		rc = index_slots(e, r, err);
	if (!rc)
		rc = take_names(e, err);
	if (rc)
		tpi_onnx_edit_close(e);
	return rc;
}

void
tpi_onnx_edit_close(struct tpi_onnx_edit *e)
{
	tp_mem_free(
	    e->alloc, e->nodes.items, e->nodes.cap, sizeof(*e->nodes.items));
	tp_mem_free(e->alloc, e->tensors.items, e->tensors.cap,
	    sizeof(*e->tensors.items));
	tp_map_release(&e->places);
	tp_map_release(&e->removed);
	tp_map_release(&e->names);
	tpi_onnx_slots_release(&e->after);
	tpi_onnx_slots_release(&e->slots);
	tpi_arena_release(&e->arena);
	tpi_pool_release(&e->pool);
	e->nodes = e->tensors = (struct tpi_onnx_additions){.n = 0};
	e->model = NULL;
}

struct tpi_onnx_local
tpi_onnx_edit_local(const struct tpi_onnx_edit *e, size_t slot)
{
	const struct tpi_onnx_slot *s = &e->slots.items[slot];

	return (struct tpi_onnx_local){
	    tpi_onnx_scope_id(&e->slots.scopes[s->scope]), s->local};
}

int64_t
tpi_onnx_edit_opset(const struct tpi_onnx_edit *e)
{
	for (size_t i = 0; i < e->model->n_opset_import; i++) {
		const TpOnnx__OperatorSetIdProto *o = e->model->opset_import[i];

		if (tpi_onnx_is_default(o->domain))
			return o->version;
	}
	return 0;
}
