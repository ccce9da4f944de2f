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

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tp/map.h"
#include "tp/onnx_dtype.h"
#include "tp/shape.h"

#include "onnx_graph.h"
#include "proto_skim.h"

#include "banned.h"

#define MAX_LISTED 10 /* names in a message */

/* What goes on while slots and entries are matched. */
struct match {
	struct tpi_onnx_out *o;
	struct tp_map names;	/* of entries */
	uint8_t *used;		/* entries that have a slot */
	struct tp_str *missing; /* the first names that no entry has */
	size_t n_missing;
	struct tpi_onnx_retype *retypes;
	size_t n_retypes;
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

/* Can a tensor without values be all there is? */
static bool
is_empty(const int64_t *dims, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (dims[i] == 0)
			return true;
	return false;
}

enum value_state { VALUE_TAKEN, VALUE_THERE, VALUE_EITHER };

/* Is the value of a Constant still in it? */
static enum value_state
look_at_value(const struct tpi_onnx_slot *slot)
{
	const TpOnnx__AttributeProto *a = slot->attribute;
	const TpOnnx__TensorProto *t = slot->tensor;

	if (slot->sparse)
		t = slot->sparse->values;
	if (a->has_f || a->has_i || a->has_s || a->n_floats || a->n_ints ||
	    a->n_strings || (t && holds_values(t)))
		return VALUE_THERE;
	return t && is_empty(t->dims, t->n_dims) ? VALUE_EITHER : VALUE_TAKEN;
}

/*
 * A reader either takes the values of all Constants or leaves all Constants
 * alone, and then they are no slots. One that has its value tells; if all are
 * of no elements, the entries tell. An empty list is not told from one that was
 * taken: rather ask for it than lose it.
 */
static enum tp_status
find_slots(struct match *m, const struct tp_limits *limits, struct tp_err *err)
{
	struct tpi_onnx_out *o = m->o;
	bool there = false, taken = false;
	enum tp_status rc;
	size_t entry;

	rc = tpi_onnx_slots_find(
	    &o->slots, o->alloc, o->message, true, limits, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < o->slots.n_items; i++) {
		const struct tpi_onnx_slot *slot = &o->slots.items[i];
		enum value_state state;

		if (!slot->attribute)
			continue;
		state = look_at_value(slot);
		there |= state == VALUE_THERE;
		taken |= state == VALUE_TAKEN ||
			 tp_map_find(&m->names, slot->name, &entry);
	}
	if (taken && !there)
		return TP_OK;
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

/* Errors of reading the skeleton say where it was. */
static enum tp_status
in_attachment(enum tp_status rc, struct tp_err *err)
{
	struct tp_err inner;

	if (!rc || !err)
		return rc;
	inner = *err;
	return tp_fail(err, rc, TP_NO_OFFSET,
	    "attachment " TP_ATTACHMENT_ONNX ": %s", inner.msg);
}

static enum tp_status
index_entries(struct match *m, struct tp_err *err)
{
	const struct tp_model *model = m->o->m;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < model->n_entries; i++)
		rc =
		    tp_map_add(&m->names, model->entries[i].name, i, NULL, err);
	return rc;
}

/* Whose each slot is; nothing is changed before. */
static enum tp_status
match_names(struct match *m, struct tp_err *err)
{
	struct tpi_onnx_out *o = m->o;
	size_t entry;

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
	const struct tpi_onnx_plain *plain;
};

static struct expected
expect(const struct tpi_onnx_slot *slot)
{
	static const int64_t no_dims[1];
	struct expected x = {.plain = tpi_onnx_plain(slot->kind)};

	if (x.plain)
		x.dtype = x.plain->dtype;
	if (slot->tensor) {
		x.dtype = tp_onnx_dtype(slot->tensor->data_type);
		x.n_dims = slot->tensor->n_dims;
		x.dims = x.n_dims ? slot->tensor->dims : no_dims;
	}
	if (slot->sparse) {
		if (slot->sparse->values)
			x.dtype =
			    tp_onnx_dtype(slot->sparse->values->data_type);
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
	    .at = {tpi_onnx_scope_id(&m->o->slots.scopes[slot->scope]),
		slot->local},
	    .entry = e->name,
	    .from = x.dtype,
	    .to = e->dtype,
	    .code = tp_onnx_code(e->dtype),
	};
	return TP_OK;
}

static const struct tp_entry *
entry_of(const struct match *m, const struct tpi_onnx_slot *slot)
{
	size_t entry = 0;
	bool found = tp_map_find(&m->names, slot->name, &entry);

	/* report_names refuses slots without. */
	assert(found);
	(void)found;
	return &m->o->m->entries[entry];
}

static enum tp_status
check_slots(struct match *m, struct tp_err *err)
{
	struct tpi_onnx_out *o = m->o;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < o->slots.n_items; i++)
		rc = check_slot(m, &o->slots.items[i],
		    entry_of(m, &o->slots.items[i]), err);
	if (!rc)
		rc = tpi_onnx_retype(
		    o->message, m->retypes, m->n_retypes, o->alloc, err);
	return rc;
}

/*
 * ---- the whole ----
 */

static enum tp_status
fill_graph(struct match *m, struct tp_err *err)
{
	struct tpi_onnx_out *o = m->o;
	bool moved = false;
	enum tp_status rc;

	m->used = tpi_arena_array(&o->arena, o->m->n_entries, 1);
	m->retypes =
	    tpi_arena_array(&o->arena, o->slots.n_items, sizeof(*m->retypes));
	if (!m->used || !m->retypes)
		return tpi_onnx_no_memory(err);
	rc = match_names(m, err);
	if (!rc)
		rc = check_slots(m, err);
	for (size_t i = 0; !rc && i < o->slots.n_items; i++)
		rc = tpi_onnx_fill_slot(o, &o->slots.items[i],
		    entry_of(m, &o->slots.items[i]), &moved, err);
	if (!rc && moved)
		rc = tpi_onnx_relist(o, err);
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
	o->message = (TpOnnx__ModelProto *)message;
	if (!rc && !o->message->graph)
		rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET, "no graph");
	if (rc)
		return in_attachment(rc, err);
	tp_map_init(&m.names, o->alloc);
	rc = index_entries(&m, err);
	if (!rc)
		rc = in_attachment(find_slots(&m, &limits, err), err);
	if (!rc)
		rc = fill_graph(&m, err);
	tp_map_release(&m.names);
	return rc;
}
