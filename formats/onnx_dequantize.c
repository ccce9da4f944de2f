/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_dequantize.c - which weights of a graph can be widened
 *
 * Expansions are found by names; here every use of a weight and of each value
 * on the way is looked at, as scopes show it. A weight is widened only if all
 * its uses are such expansions, of the same meaning, and nothing looks at what
 * lies between.
 */
#include "onnx_dequantize.h"

#include <assert.h>
#include <stdarg.h>

#include "tp/onnx_dtype.h"

#include "onnx_message.h"
#include "onnx_uses.h"

#include "banned.h"

/* A value that an expansion makes: the output of one of its nodes. */
struct value {
	size_t expansion;
	const TpOnnx__NodeProto *next; /* who takes it; NULL: anyone */
	size_t input;
};

struct look {
	struct tpi_onnx_widening *w;
	const struct tp_reader *r;
	struct tpi_arena *arena;
	struct tpi_onnx_local *locals; /* slots, then values */
	struct value *values;
	size_t n_values;
	bool *confirmed;      /* expansions: the weight is used as it seems */
	struct tp_map owners; /* nodes that take weights, to expansions */
};

static enum tp_status keep(struct look *l, size_t slot, struct tp_err *err,
    const char *fmt, ...) TP_PRINTF(4, 5);

static enum tp_status
keep(struct look *l, size_t slot, struct tp_err *err, const char *fmt, ...)
{
	struct tpi_onnx_wide *s = &l->w->slots[slot];
	enum tp_status rc;
	va_list ap;

	va_start(ap, fmt);
	rc = tpi_onnx_edit_reason(l->arena, &s->why, err, fmt, ap);
	va_end(ap);
	return rc;
}

static const struct tp_entry *
entry_of(const struct look *l, size_t slot)
{
	return slot == TP_NONE ? NULL
			       : tp_reader_entry(l->r, l->w->e->entry_of[slot]);
}

static size_t
number_of(const struct look *l, size_t slot)
{
	return slot == TP_NONE ? TP_NONE : l->w->e->entry_of[slot];
}

/*
 * ---- expansions ----
 */

static bool
gives_f32(const struct look *l, const struct tpi_onnx_expansion *x)
{
	const TpOnnx__AttributeProto *a = tpi_onnx_attribute(
	    tpi_onnx_expansion_last(x), TP_STR("output_dtype"));
	int32_t f32 = tp_onnx_code(TP_DTYPE_F32);

	if (a && a->has_i && a->i)
		return a->i == f32;
	return entry_of(l, x->scale)->dtype == TP_DTYPE_F32;
}

static bool
same_info(const struct tp_quant_info *a, const struct tp_quant_info *b)
{
	return a->per == b->per && a->axis == b->axis && a->block == b->block &&
	       a->scale == b->scale && a->zero_point == b->zero_point;
}

static bool
is_code(const struct tp_entry *w)
{
	enum tp_dtype_kind kind;
	unsigned bits;

	assert(w);
	kind = tp_dtype_kind(w->dtype);
	bits = tp_dtype_bits(w->dtype);

	return (kind == TP_KIND_INT || kind == TP_KIND_UINT) &&
	       (bits == 4 || bits == 8);
}

/* The meaning that an expansion gives to its weight. */
static enum tp_status
look_at_expansion(
    struct look *l, const struct tpi_onnx_expansion *x, struct tp_err *err)
{
	struct tpi_onnx_wide *s = &l->w->slots[x->codes];
	struct tp_quant_info info = {.per = TP_PER_TENSOR};
	bool first = !s->found && !s->why;

	if (x->scale != TP_NONE) {
		if (!is_code(entry_of(l, x->codes)))
			return keep(l, x->codes, err,
			    "only codes of 4 and 8 bits are made floats");
		if (!tpi_onnx_expansion_fits(x, entry_of(l, x->codes),
			entry_of(l, x->scale), entry_of(l, x->zero), &info))
			return keep(l, x->codes, err,
			    "its scales or zero points do not fit it");
		if (!gives_f32(l, x))
			return keep(l, x->codes, err,
			    "the graph makes other floats than f32 of it");
	}
	info.scale = number_of(l, x->scale);
	info.zero_point = number_of(l, x->zero);
	if (!first && (s->is_cast != (x->scale == TP_NONE) ||
			  !same_info(&s->info, &info)))
		return keep(l, x->codes, err,
		    "nodes make different numbers of the same codes");
	s->found = true;
	s->is_cast = x->scale == TP_NONE;
	s->info = info;
	return TP_OK;
}

static void
add_value(struct look *l, size_t expansion, const TpOnnx__NodeProto *node,
    const TpOnnx__NodeProto *next, size_t input)
{
	const struct tpi_onnx_slots *slots = &l->w->e->slots;
	size_t scope = l->w->all.items[expansion].scope;

	l->locals[slots->n_items + l->n_values] =
	    (struct tpi_onnx_local){tpi_onnx_scope_id(&slots->scopes[scope]),
		tpi_onnx_str(node->output[0])};
	l->values[l->n_values++] = (struct value){expansion, next, input};
}

static struct tp_str
key_of(TpOnnx__NodeProto *const *node)
{
	return (struct tp_str){(const char *)node, sizeof(*node)};
}

/* A node that takes a weight belongs to one expansion, or none can go. */
static enum tp_status
own(struct look *l, TpOnnx__NodeProto *const *node, size_t i,
    struct tp_err *err)
{
	static const char why[] = "nodes that make numbers of it are shared";
	const struct tpi_onnx_expansion *all = l->w->all.items;
	size_t other = i;
	enum tp_status rc =
	    tp_map_add(&l->owners, key_of(node), i, &other, err);

	if (rc != TP_EARG || other == i)
		return rc == TP_EARG ? TP_OK : rc;
	rc = keep(l, all[i].codes, err, why);
	return rc ? rc : keep(l, all[other].codes, err, why);
}

static enum tp_status
index_expansion(struct look *l, size_t i, struct tp_err *err)
{
	const struct tpi_onnx_expansion *x = &l->w->all.items[i];
	enum tp_status rc = look_at_expansion(l, x, err);

	for (size_t k = 0; !rc && k < x->n_nodes; k++) {
		add_value(l, i, x->nodes[k],
		    k + 1 < x->n_nodes ? x->nodes[k + 1] : NULL, 0);
		rc = own(l, &x->nodes[k], i, err);
	}
	if (rc || !x->zero_cast)
		return rc;
	add_value(l, i, x->zero_cast, x->nodes[1], 1);
	return own(l, &x->zero_cast, i, err);
}

/*
 * ---- uses ----
 */

static struct tp_str
node_name(const TpOnnx__NodeProto *node)
{
	return node->name.len || !node->n_output
		   ? tpi_onnx_str(node->name)
		   : tpi_onnx_str(node->output[0]);
}

/* Does its expansion use a scale or zero point as such? */
static bool
is_part(const struct tpi_onnx_expansion *x, const struct tpi_onnx_use *use)
{
	if (use->tensor == x->scale && use->input == 1 &&
	    use->node == tpi_onnx_expansion_last(x))
		return true;
	return use->tensor == x->zero &&
	       (x->zero_cast ? use->node == x->zero_cast
			     : use->input == 2 && use->node == x->nodes[0]);
}

static enum tp_status
look_at_slot(struct look *l, const struct tpi_onnx_use *use, struct tp_err *err)
{
	const struct tpi_onnx_expansion *x = NULL;
	size_t slot = use->tensor, i = 0;

	if (use->kind == TPI_USE_FUNCTION)
		return keep(l, slot, err, "it is part of a function");
	if (use->kind == TPI_USE_INPUT &&
	    tp_map_find(&l->owners, key_of(&use->node), &i))
		x = &l->w->all.items[i];
	if (x && x->codes == slot && use->node == x->nodes[0] &&
	    use->input == 0) {
		l->confirmed[i] = true;
		return TP_OK;
	}
	if (x && is_part(x, use))
		return TP_OK;
	l->w->slots[slot].used = true;
	if (use->kind != TPI_USE_INPUT)
		return keep(
		    l, slot, err, "it is an output, or training uses it");
	return keep(l, slot, err, "node '%.80s' (%.40s) computes with it",
	    TP_BRIEF(node_name(use->node)),
	    TP_BRIEF(tpi_onnx_str(use->node->op_type)));
}

static enum tp_status
look_at_value(
    struct look *l, const struct tpi_onnx_use *use, struct tp_err *err)
{
	const struct tpi_onnx_slots *slots = &l->w->e->slots;
	const struct value *v = &l->values[use->tensor - slots->n_items];
	size_t codes = l->w->all.items[v->expansion].codes;
	ProtobufCBinaryData name = tpi_onnx_bytes(slots->items[codes].local);

	if (use->kind == TPI_USE_FUNCTION)
		return keep(l, codes, err, "it is part of a function");
	if (use->kind != TPI_USE_INPUT)
		return keep(l, codes, err,
		    "what is made of it is an output of a graph");
	if (v->next)
		return use->node == v->next && use->input == v->input
			   ? TP_OK
			   : keep(l, codes, err,
				 "node '%.80s' uses what is made of it half "
				 "way",
				 TP_BRIEF(node_name(use->node)));
	if (tpi_onnx_scopes_find(use->scopes, &name) != codes)
		return keep(l, codes, err,
		    "where it is used its name means something else");
	return TP_OK;
}

/* A tpi_onnx_use_fn. */
static enum tp_status
look_at(void *ctx, const struct tpi_onnx_use *use, struct tp_err *err)
{
	struct look *l = ctx;

	return use->tensor < l->w->e->slots.n_items
		   ? look_at_slot(l, use, err)
		   : look_at_value(l, use, err);
}

/* Callers may replace an initializer that is an input, from IR version 4 on. */
static enum tp_status
look_at_inputs(struct look *l, struct tp_err *err)
{
	const struct tpi_onnx_edit *e = l->w->e;
	enum tp_status rc = TP_OK;

	for (size_t i = 0;
	     !rc && e->model->ir_version >= 4 && i < e->model->graph->n_input;
	     i++) {
		size_t entry = tp_reader_find(
		    l->r, tpi_onnx_str(e->model->graph->input[i]->name));

		if (entry == TP_NONE || e->slot_of[entry] == TP_NONE)
			continue;
		l->w->slots[e->slot_of[entry]].used = true;
		rc = keep(l, e->slot_of[entry], err,
		    "callers may replace it: it is an input of the graph too");
	}
	return rc;
}

/* Scales that callers may replace, and uses that were not what they seemed. */
static enum tp_status
look_back(struct look *l, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	for (size_t i = 0; !rc && i < l->w->all.n; i++) {
		const struct tpi_onnx_expansion *x = &l->w->all.items[i];

		if (!l->confirmed[i])
			rc = keep(l, x->codes, err,
			    "where it is used its name means something else");
	}
	for (size_t i = 0; i < l->w->e->slots.n_items; i++)
		if (l->w->slots[i].why)
			l->w->slots[i].found = false;
	return rc;
}

static enum tp_status
look_at_all(struct look *l, struct tp_err *err)
{
	struct tpi_onnx_widening *w = l->w;
	size_t n = w->e->slots.n_items;
	enum tp_status rc = TP_OK;

	for (size_t i = 0; i < n; i++)
		l->locals[i] = tpi_onnx_edit_local(w->e, i);
	for (size_t i = 0; !rc && i < w->all.n; i++)
		rc = index_expansion(l, i, err);
	if (!rc)
		rc = look_at_inputs(l, err);
	if (!rc)
		rc = tpi_onnx_each_use(w->e->model, l->locals, n + l->n_values,
		    w->e->alloc, look_at, l, err);
	return rc ? rc : look_back(l, err);
}

enum tp_status
tpi_onnx_widening_open(struct tpi_onnx_widening *w, struct tpi_onnx_edit *e,
    const struct tp_reader *r, struct tpi_arena *arena, struct tp_err *err)
{
	struct look l = {.w = w, .r = r, .arena = arena};
	struct tpi_arena *a = &e->arena;
	size_t n = e->slots.n_items, n_values;
	enum tp_status rc;

	*w = (struct tpi_onnx_widening){.e = e, .all.alloc = e->alloc};
	rc = tpi_onnx_expansions_find(&w->all, &e->slots, err);
	if (rc)
		return rc;
	/* Of each node, and of the Cast of a zero point. */
	n_values = w->all.n * (TPI_MAX_EXPANSION + 1);
	w->slots = tpi_arena_array(a, n, sizeof(*w->slots));
	l.locals = tpi_arena_array(a, n + n_values, sizeof(*l.locals));
	l.values = tpi_arena_array(a, n_values, sizeof(*l.values));
	l.confirmed = tpi_arena_array(a, w->all.n, sizeof(*l.confirmed));
	if (!w->slots || !l.locals || !l.values || !l.confirmed)
		return tpi_onnx_edit_no_memory(err);
	tp_map_init(&l.owners, e->alloc);
	rc = look_at_all(&l, err);
	tp_map_release(&l.owners);
	return rc;
}

void
tpi_onnx_widening_release(struct tpi_onnx_widening *w)
{
	tpi_onnx_expansions_release(&w->all);
}
