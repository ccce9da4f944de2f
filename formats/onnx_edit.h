/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_edit.h - a graph without weights, while it is changed
 *
 *  1. tpi_onnx_edit_open: the graph of a reader as messages, its slots, and the
 *     entry of the reader that belongs into each.
 *  2. Change the messages; new ones are made here, in the arena of the edit.
 *     Lists do not change yet: what is to come is noted with tpi_onnx_edit_node
 *     and tpi_onnx_edit_tensor, what is to go with tpi_onnx_edit_remove.
 *  3. tpi_onnx_edit_finish puts the lists in order. Slots have new names then,
 *     since a name tells the numbers of the nodes around a weight:
 *     tpi_onnx_edit_name_entry tells them.
 *  4. tpi_onnx_edit_pack, then tpi_onnx_edit_close.
 */
#ifndef TPI_ONNX_EDIT_H
#define TPI_ONNX_EDIT_H

#include <stdarg.h>

#include "tp/format.h"
#include "tp/map.h"

#include "arena.h"
#include "onnx.pb-c.h"
#include "onnx_scopes.h"
#include "onnx_slots.h"
#include "pool.h"

/* Something new for a list of a scope. */
struct tpi_onnx_addition {
	size_t scope;
	size_t before;			  /* node: in front of this one */
	const TpOnnx__TensorProto *after; /* tensor: behind this one */
	size_t number;			  /* keeps the order of adding */
	void *message;
};

struct tpi_onnx_additions {
	struct tpi_onnx_addition *items;
	size_t n, cap;
};

struct tpi_onnx_edit {
	const struct tp_alloc *alloc;
	struct tp_limits limits;
	struct tpi_pool pool;	/* the messages as they were */
	struct tpi_arena arena; /* what is new */
	TpOnnx__ModelProto *model;
	bool constants;
	struct tpi_onnx_slots slots; /* of the graph as it was */
	size_t *entry_of;	     /* of each slot */
	size_t *slot_of;	     /* of each entry, or TP_NONE */
	size_t n_entries;
	struct tp_map names; /* of all values and nodes of the model */
	int64_t raisable; /* the opset may be raised to this: it was checked */
	struct tpi_onnx_additions nodes, tensors;
	struct tp_map removed;	     /* addresses of messages */
	struct tpi_onnx_slots after; /* once it is finished */
	struct tp_map places; /* addresses of weights, to slots of after */
};

/*
 * r must have a graph, and entries for all its slots. On failure *e is
 * released.
 */
enum tp_status tpi_onnx_edit_open(
    struct tpi_onnx_edit *e, struct tp_reader *r, struct tp_err *err);
void tpi_onnx_edit_close(struct tpi_onnx_edit *e);

enum tp_status tpi_onnx_edit_no_memory(struct tp_err *err);

/* Why a weight is kept: *why, unless there is a reason already. */
enum tp_status tpi_onnx_edit_reason(struct tpi_arena *arena, const char **why,
    struct tp_err *err, const char *fmt, va_list ap) TP_PRINTF(4, 0);

/* Slot i as others know it. */
struct tpi_onnx_local tpi_onnx_edit_local(
    const struct tpi_onnx_edit *e, size_t slot);

/* The opset of ONNX's own operators; 0 if they are not imported. */
int64_t tpi_onnx_edit_opset(const struct tpi_onnx_edit *e);

/* A name that nothing has yet: base and suffix, perhaps a number behind. */
enum tp_status tpi_onnx_edit_name(struct tpi_onnx_edit *e, struct tp_str base,
    const char *suffix, struct tp_str *out, struct tp_err *err);

/*
 * ---- onnx_edit_new.c ----
 */

/* A tensor without values. */
enum tp_status tpi_onnx_edit_new_tensor(struct tpi_onnx_edit *e,
    struct tp_str name, int32_t type, unsigned rank, const int64_t *shape,
    TpOnnx__TensorProto **out, struct tp_err *err);

/* A node with one output, of the same name, and room for inputs. */
enum tp_status tpi_onnx_edit_new_node(struct tpi_onnx_edit *e,
    const char *op_type, struct tp_str output, const struct tp_str *inputs,
    size_t n_inputs, TpOnnx__NodeProto **out, struct tp_err *err);

/* One more attribute, of which name and type are filled in. */
enum tp_status tpi_onnx_edit_attribute(struct tpi_onnx_edit *e,
    TpOnnx__NodeProto *node, const char *name, int32_t type,
    TpOnnx__AttributeProto **out, struct tp_err *err);

/* One more input of a graph: of the name and type of t. */
enum tp_status tpi_onnx_edit_new_input(struct tpi_onnx_edit *e,
    TpOnnx__GraphProto *g, const TpOnnx__TensorProto *t, struct tp_err *err);

/*
 * ---- onnx_edit_lists.c ----
 */

/* A node in front of the one of that number. */
enum tp_status tpi_onnx_edit_node(struct tpi_onnx_edit *e, size_t scope,
    size_t before, TpOnnx__NodeProto *node, struct tp_err *err);

/*
 * A weight beside that of a slot: an initializer if that is one, else a
 * Constant in front of a node. Models of IR version 3 list it as an input too.
 */
enum tp_status tpi_onnx_edit_tensor(struct tpi_onnx_edit *e, size_t slot,
    size_t before, TpOnnx__TensorProto *t, struct tp_err *err);

/* A node or initializer that goes, and what is told of its values. */
enum tp_status tpi_onnx_edit_remove(
    struct tpi_onnx_edit *e, const void *message, struct tp_err *err);

enum tp_status tpi_onnx_edit_finish(
    struct tpi_onnx_edit *e, struct tp_err *err);

/*
 * Once it is finished: give an entry the name, scope and local name of the slot
 * of a weight. One that is no weight of the graph keeps its own.
 */
void tpi_onnx_edit_name_entry(
    const struct tpi_onnx_edit *e, const void *weight, struct tp_entry *entry);
/* By what a slot's weight is known: its tensor, or its attribute. */
const void *tpi_onnx_edit_weight(const struct tpi_onnx_slot *slot);

/* The graph as bytes in an arena. */
enum tp_status tpi_onnx_edit_pack(const struct tpi_onnx_edit *e,
    struct tpi_arena *arena, struct tp_attachment *out, struct tp_err *err);

#endif
