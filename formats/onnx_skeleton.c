/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_skeleton.c - weights back into the graph they belong to
 *
 * The skeleton is the model without the values of its weights. Its slots are
 * found and named as a reader finds and names them, so each takes the entry of
 * its name, and what is left over on either side is an error. The skeleton came
 * out of a file and may say anything.
 */
#include "onnx_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tp/map.h"
#include "tp/shape.h"

#include "onnx_dtype.h"
#include "onnx_graph.h"
#include "proto_skim.h"

#include "banned.h"

#define MAX_LISTED 10 /* names in a message */

/* AttributeProto.type */
#define TYPE_TENSOR 4
#define TYPE_SPARSE_TENSOR 11

/* The attributes of a Constant that hold plain numbers or strings. */
static const struct plain_form {
	enum tpi_slot_kind kind;
	enum tp_dtype dtype;
	unsigned rank;
	unsigned number; /* of the field of AttributeProto */
	enum tpi_onnx_form form;
} plain_forms[] = {
    {TPI_SLOT_VALUE_FLOAT, TP_DTYPE_F32, 0, 2, TPI_FORM_FIXED32},
    {TPI_SLOT_VALUE_FLOATS, TP_DTYPE_F32, 1, 7, TPI_FORM_FIXED32},
    {TPI_SLOT_VALUE_INT, TP_DTYPE_I64, 0, 3, TPI_FORM_VARINT},
    {TPI_SLOT_VALUE_INTS, TP_DTYPE_I64, 1, 8, TPI_FORM_VARINT},
    {TPI_SLOT_VALUE_STRING, TP_DTYPE_STRING, 0, 4, TPI_FORM_BYTES},
    {TPI_SLOT_VALUE_STRINGS, TP_DTYPE_STRING, 1, 9, TPI_FORM_BYTES},
};

static const struct plain_form *
find_plain_form(enum tpi_slot_kind kind)
{
	for (size_t i = 0; i < sizeof(plain_forms) / sizeof(*plain_forms); i++)
		if (plain_forms[i].kind == kind)
			return &plain_forms[i];
	return NULL;
}

/* What goes on while slots and entries are matched. */
struct match {
	struct tpi_onnx_out *o;
	struct tp_map names;	/* of entries */
	uint8_t *used;		/* entries that have a slot */
	struct tp_str *missing; /* the first names that no entry has */
	size_t n_missing;
	const void **scopes; /* the graph or function of each scope */
	struct tpi_onnx_retype *retypes;
	size_t n_retypes;
	bool moved; /* an initializer became sparse, or dense */
};

/*
 * ---- names ----
 */

static bool
holds_values(const TpOnnx__TensorProto *t)
{
	return t->has_raw_data || t->n_float_data || t->n_int32_data ||
	       t->n_string_data || t->n_int64_data || t->n_double_data ||
	       t->n_uint64_data || (t->data_location && t->n_external_data);
}

/* Does a Constant still have its value? */
static bool
is_full(const struct tpi_onnx_slot *slot)
{
	const TpOnnx__AttributeProto *a = slot->attribute;

	if (!a)
		return false;
	return a->has_f || a->has_i || a->has_s || a->n_floats || a->n_ints ||
	       a->n_strings || (slot->tensor && holds_values(slot->tensor)) ||
	       (slot->sparse && slot->sparse->values &&
		   holds_values(slot->sparse->values));
}

/*
 * A reader either takes the values of all Constants or leaves all Constants
 * alone; one that has its value tells that they are no slots.
 */
static enum tp_status
find_slots(
    struct tpi_onnx_out *o, const struct tp_limits *limits, struct tp_err *err)
{
	bool kept = false;
	enum tp_status rc;

	rc = tpi_onnx_slots_find(
	    &o->slots, o->alloc, o->message, true, limits, err);
	for (size_t i = 0; !rc && !kept && i < o->slots.n_items; i++)
		kept = is_full(&o->slots.items[i]);
	if (!kept || rc)
		return rc;
	tpi_onnx_slots_release(&o->slots);
	return tpi_onnx_slots_find(
	    &o->slots, o->alloc, o->message, false, limits, err);
}

struct text {
	char *s;
	size_t n, size;
};

static void
say(struct text *t, const char *s)
{
	int n = snprintf(t->s + t->n, t->size - t->n, "%s", s);

	if (n > 0)
		t->n +=
		    (size_t)n < t->size - t->n ? (size_t)n : t->size - t->n - 1;
}

static void
say_names(struct text *t, const struct tp_str *names, size_t n)
{
	for (size_t i = 0; i < n && i < MAX_LISTED; i++) {
		say(t, i ? ", '" : " '");
		say(t, TP_BRIEF(names[i]));
		say(t, "'");
	}
	if (n > MAX_LISTED)
		say(t, ", …");
}

static enum tp_status
report_names(struct match *m, struct tp_err *err)
{
	struct tp_str extra[MAX_LISTED];
	char buf[TP_ERR_MSG_SIZE];
	struct text t = {buf, 0, sizeof(buf)};
	size_t n_extra = 0;
	char count[80];

	for (size_t i = 0; i < m->o->m->n_entries; i++)
		if (!m->used[i] && n_extra++ < MAX_LISTED)
			extra[n_extra - 1] = m->o->m->entries[i].name;
	if (!m->n_missing && !n_extra)
		return TP_OK;
	if (m->n_missing) {
		snprintf(count, sizeof(count),
		    "%zu of %zu tensors of the graph are missing:",
		    m->n_missing, m->o->slots.n_items);
		say(&t, count);
		say_names(&t, m->missing, m->n_missing);
	}
	if (n_extra) {
		snprintf(count, sizeof(count),
		    "%s%zu of %zu tensors are not in the graph:",
		    m->n_missing ? "; " : "", n_extra, m->o->m->n_entries);
		say(&t, count);
		say_names(&t, extra, n_extra);
	}
	return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET, "%s", buf);
}

/* Entries by name, and whose each slot is; nothing is changed before. */
static enum tp_status
match_names(struct match *m, struct tp_err *err)
{
	struct tpi_onnx_out *o = m->o;
	enum tp_status rc = TP_OK;
	size_t entry;

	for (size_t i = 0; !rc && i < o->m->n_entries; i++)
		rc = tp_map_add(&m->names, o->m->entries[i].name, i, NULL, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < o->slots.n_items; i++) {
		struct tp_str name = o->slots.items[i].name;

		if (tp_map_find(&m->names, name, &entry))
			m->used[entry] = 1;
		else if (m->n_missing++ < MAX_LISTED)
			m->missing[m->n_missing - 1] = name;
	}
	return report_names(m, err);
}

/*
 * ---- shapes and types ----
 */

/* What the skeleton knows of a slot; dims NULL: no shape. */
struct expected {
	enum tp_dtype dtype; /* TP_DTYPE_NONE: any */
	const int64_t *dims;
	size_t n_dims;
	const struct plain_form *plain;
};

static struct expected
expect(const struct tpi_onnx_slot *slot)
{
	static const int64_t no_dims[1];
	struct expected x = {.plain = find_plain_form(slot->kind)};

	if (x.plain)
		x.dtype = x.plain->dtype;
	if (slot->tensor) {
		x.dtype = tpi_onnx_dtype(slot->tensor->data_type);
		x.n_dims = slot->tensor->n_dims;
		x.dims = x.n_dims ? slot->tensor->dims : no_dims;
	}
	if (slot->sparse) {
		if (slot->sparse->values)
			x.dtype =
			    tpi_onnx_dtype(slot->sparse->values->data_type);
		x.n_dims = slot->sparse->n_dims;
		x.dims = x.n_dims ? slot->sparse->dims : no_dims;
	}
	return x;
}

static enum tp_status
check_shape(
    const struct expected *x, const struct tp_entry *e, struct tp_err *err)
{
	size_t shown = x->n_dims < TP_MAX_RANK ? x->n_dims : TP_MAX_RANK;

	if (x->plain && e->rank != x->plain->rank)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s' has shape %s, the graph expects %s",
		    TP_BRIEF(e->name), TP_SHAPE_TEXT(e->shape, e->rank),
		    x->plain->rank ? "one axis" : "[]");
	if (!x->dims)
		return TP_OK;
	if (x->n_dims != e->rank ||
	    (e->rank && memcmp(x->dims, e->shape, e->rank * sizeof(int64_t))))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s' has shape %s, the graph expects %s",
		    TP_BRIEF(e->name), TP_SHAPE_TEXT(e->shape, e->rank),
		    TP_SHAPE_TEXT(x->dims, (unsigned)shown));
	return TP_OK;
}

/* The first look at a slot: shapes must agree, other dtypes are noted. */
static enum tp_status
check_slot(struct match *m, const struct tpi_onnx_slot *slot,
    const struct tp_entry *e, struct tp_err *err)
{
	struct expected x = expect(slot);
	enum tp_status rc = check_shape(&x, e, err);

	if (rc || x.dtype == TP_DTYPE_NONE || x.dtype == e->dtype)
		return rc;
	m->retypes[m->n_retypes++] = (struct tpi_onnx_retype){
	    .scope = m->scopes[slot->scope],
	    .name = slot->local,
	    .entry = e->name,
	    .from = x.dtype,
	    .to = e->dtype,
	    .code = tpi_onnx_code(e->dtype),
	};
	return TP_OK;
}

static const struct tp_entry *
entry_of(const struct match *m, const struct tpi_onnx_slot *slot)
{
	size_t entry = 0;

	return tp_map_find(&m->names, slot->name, &entry)
		   ? &m->o->m->entries[entry]
		   : NULL;
}

/*
 * Scopes without a graph are the functions, each once and in order. A scope is
 * known by the address of its graph or function.
 */
static void
name_scopes(struct match *m)
{
	const struct tpi_onnx_slots *s = &m->o->slots;
	const TpOnnx__ModelProto *model = m->o->message;
	size_t n_functions = 0;

	for (size_t i = 0; i < s->n_scopes; i++)
		m->scopes[i] =
		    s->scopes[i].graph
			? (const void *)s->scopes[i].graph
			: (const void *)model->functions[n_functions++];
}

static enum tp_status
check_slots(struct match *m, struct tp_err *err)
{
	struct tpi_onnx_out *o = m->o;
	enum tp_status rc = TP_OK;

	name_scopes(m);
	for (size_t i = 0; !rc && i < o->slots.n_items; i++)
		rc = check_slot(m, &o->slots.items[i],
		    entry_of(m, &o->slots.items[i]), err);
	if (!rc)
		rc = tpi_onnx_retype(
		    o->message, m->retypes, m->n_retypes, o->alloc, err);
	return rc;
}

/*
 * ---- values ----
 */

static void
clear_attribute(TpOnnx__AttributeProto *a)
{
	a->has_f = a->has_i = a->has_s = 0;
	a->n_floats = a->n_ints = a->n_strings = 0;
	a->t = NULL;
	a->sparse_tensor = NULL;
}

static void
set_attribute(TpOnnx__AttributeProto *a, struct tp_str name, int32_t type)
{
	clear_attribute(a);
	a->has_name = a->has_type = 1;
	a->name = tpi_onnx_bytes(name);
	a->type = type;
}

/* A Constant that is to hold a sparse tensor, or one that is not any more. */
static enum tp_status
fill_attribute(struct tpi_onnx_out *o, struct tpi_onnx_slot *slot,
    const struct tp_entry *e, struct tp_err *err)
{
	const struct plain_form *plain = find_plain_form(slot->kind);
	TpOnnx__AttributeProto *a = slot->attribute;

	if (plain && !e->sparse && e->dtype == plain->dtype) {
		clear_attribute(a);
		return tpi_onnx_fill_field(
		    o, &a->base, plain->number, plain->form, e, err);
	}
	if (e->sparse) {
		if (!slot->sparse)
			slot->sparse = TPI_ONNX_MESSAGE(
			    o, SparseTensorProto, sparse_tensor_proto);
		if (!slot->sparse)
			return tpi_onnx_no_memory(err);
		set_attribute(a, TP_STR("sparse_value"), TYPE_SPARSE_TENSOR);
		a->sparse_tensor = slot->sparse;
		return tpi_onnx_fill_sparse(o, slot->sparse, e, err);
	}
	if (!slot->tensor && slot->sparse)
		slot->tensor = slot->sparse->values;
	if (!slot->tensor)
		slot->tensor = TPI_ONNX_MESSAGE(o, TensorProto, tensor_proto);
	if (!slot->tensor)
		return tpi_onnx_no_memory(err);
	set_attribute(a, TP_STR("value"), TYPE_TENSOR);
	a->t = slot->tensor;
	return tpi_onnx_fill_dense(o, slot->tensor, e, true, err);
}

static enum tp_status
fill_initializer(struct match *m, struct tpi_onnx_slot *slot,
    const struct tp_entry *e, struct tp_err *err)
{
	struct tpi_onnx_out *o = m->o;

	if (e->sparse) {
		if (!slot->sparse) {
			slot->sparse = TPI_ONNX_MESSAGE(
			    o, SparseTensorProto, sparse_tensor_proto);
			if (!slot->sparse)
				return tpi_onnx_no_memory(err);
			slot->sparse->values = slot->tensor;
			slot->tensor = NULL;
			m->moved = true;
		}
		return tpi_onnx_fill_sparse(o, slot->sparse, e, err);
	}
	if (!slot->tensor) {
		slot->tensor = slot->sparse->values;
		slot->sparse = NULL;
		m->moved = true;
	}
	return tpi_onnx_fill_dense(o, slot->tensor, e, false, err);
}

/*
 * Initializers moved between the two lists of their graphs: make all lists
 * anew, in the order of the slots.
 */
static enum tp_status
relist_initializers(struct tpi_onnx_out *o, struct tp_err *err)
{
	for (size_t i = 0; i < o->slots.n_scopes; i++) {
		TpOnnx__GraphProto *g = o->slots.scopes[i].graph;
		size_t n;

		if (!g)
			continue;
		n = g->n_initializer + g->n_sparse_initializer;
		g->initializer = tpi_arena_array(&o->arena, n, sizeof(void *));
		g->sparse_initializer =
		    tpi_arena_array(&o->arena, n, sizeof(void *));
		if (!g->initializer || !g->sparse_initializer)
			return tpi_onnx_no_memory(err);
		g->n_initializer = g->n_sparse_initializer = 0;
	}
	for (size_t i = 0; i < o->slots.n_items; i++) {
		const struct tpi_onnx_slot *slot = &o->slots.items[i];
		TpOnnx__GraphProto *g = o->slots.scopes[slot->scope].graph;

		if (slot->attribute)
			continue;
		if (slot->sparse)
			g->sparse_initializer[g->n_sparse_initializer++] =
			    slot->sparse;
		else
			g->initializer[g->n_initializer++] = slot->tensor;
	}
	return TP_OK;
}

static enum tp_status
fill_slots(struct match *m, struct tp_err *err)
{
	struct tpi_onnx_out *o = m->o;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < o->slots.n_items; i++) {
		struct tpi_onnx_slot *slot = &o->slots.items[i];
		const struct tp_entry *e = entry_of(m, slot);

		rc = slot->attribute ? fill_attribute(o, slot, e, err)
				     : fill_initializer(m, slot, e, err);
	}
	if (!rc && m->moved)
		rc = relist_initializers(o, err);
	return rc;
}

enum tp_status
tpi_onnx_fill_skeleton(struct tpi_onnx_out *o,
    const struct tp_attachment *skeleton, struct tp_err *err)
{
	struct tp_limits limits = tp_limits_default();
	struct tp_str missing[MAX_LISTED];
	struct match m = {.o = o, .missing = missing};
	ProtobufCMessage *message = NULL;
	enum tp_status rc;

	rc = tpi_skim_unpack(&o->pool.base, skeleton->data, skeleton->nbytes,
	    &tp_onnx__model_proto__descriptor, &limits, &message, err);
	if (rc)
		return rc;
	o->message = (TpOnnx__ModelProto *)message;
	if (!o->message->graph)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "attachment " TP_ATTACHMENT_ONNX ": no graph");
	rc = find_slots(o, &limits, err);
	if (rc)
		return rc;

	tp_map_init(&m.names, o->alloc);
	m.used = tpi_arena_array(&o->arena, o->m->n_entries, 1);
	m.scopes =
	    tpi_arena_array(&o->arena, o->slots.n_scopes, sizeof(*m.scopes));
	m.retypes =
	    tpi_arena_array(&o->arena, o->slots.n_items, sizeof(*m.retypes));
	if (!m.used || !m.scopes || !m.retypes)
		rc = tpi_onnx_no_memory(err);
	if (!rc)
		rc = match_names(&m, err);
	if (!rc)
		rc = check_slots(&m, err);
	if (!rc)
		rc = fill_slots(&m, err);
	tp_map_release(&m.names);
	return rc;
}
