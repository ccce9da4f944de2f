/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_quantize_uses.c - which weights of a graph can be narrowed
 */
#include "onnx_quantize.h"

#include <stdarg.h>
#include <string.h>

#include "onnx_message.h"
#include "onnx_uses.h"

#include "banned.h"

/* Axes of the table that are not numbers. */
enum {
	AXIS_LAST = -1,
	AXIS_FREE = -2,	  /* of a product: what stays */
	AXIS_SUMMED = -3, /* and what it sums over */
	AXIS_ATTR = -4,	  /* as the attribute says */
};

static const struct consumer {
	const char *op_type;
	size_t input;
	int channels, blocks;
} consumers[] = {
#define TPI_ONNX_CONSUMER(op_type, input, channels, blocks) \
	{op_type, input, channels, blocks},
#include "onnx_consumers.def"
#undef TPI_ONNX_CONSUMER
};

struct look {
	struct tpi_onnx_edit *e;
	const struct tp_reader *r;
	struct tpi_arena *arena;
	struct tpi_onnx_weight *w; /* of entries */
	const struct tpi_onnx_local *locals;
};

static enum tp_status keep(struct look *l, struct tpi_onnx_weight *w,
    struct tp_err *err, const char *fmt, ...) TP_PRINTF(4, 5);

static enum tp_status
keep(struct look *l, struct tpi_onnx_weight *w, struct tp_err *err,
    const char *fmt, ...)
{
	enum tp_status rc;
	va_list ap;

	va_start(ap, fmt);
	rc = tpi_onnx_edit_reason(l->arena, &w->why, err, fmt, ap);
	va_end(ap);
	return rc;
}

static const struct consumer *
find_consumer(const struct tpi_onnx_use *use)
{
	for (size_t i = 0; i < sizeof(consumers) / sizeof(*consumers); i++)
		if (use->input == consumers[i].input &&
		    tpi_onnx_is_op(use->node, tp_str(consumers[i].op_type)))
			return &consumers[i];
	return NULL;
}

static int64_t
attribute_of(const TpOnnx__NodeProto *node, struct tp_str name)
{
	const TpOnnx__AttributeProto *a = tpi_onnx_attribute(node, name);

	return a && a->has_i ? a->i : 0;
}

/*
 * A product's operands as they lie: a row of input 0 is multiplied with a
 * column of input 1, unless one is turned round.
 */
static unsigned
product_axis(const struct tpi_onnx_use *use, unsigned rank, bool summed)
{
	bool turned =
	    attribute_of(use->node,
		use->input ? TP_STR("transB") : TP_STR("transA")) != 0;
	bool last = (use->input == 0) == summed;

	return last != turned ? rank - 1 : rank - 2;
}

/* An axis of the table for a weight of two axes and more. */
static unsigned
axis_of(int axis, const struct tpi_onnx_use *use, unsigned rank)
{
	int64_t a;

	switch (axis) {
	case AXIS_LAST:
		return rank - 1;
	case AXIS_FREE:
	case AXIS_SUMMED:
		return product_axis(use, rank, axis == AXIS_SUMMED);
	case AXIS_ATTR:
		a = attribute_of(use->node, TP_STR("axis"));
		a = a < 0 ? a + rank : a;
		return a >= 0 && a < rank ? (unsigned)a : 0;
	default:
		return (unsigned)axis < rank ? (unsigned)axis : rank - 1;
	}
}

/* The node of the weight's own scope in which the use is, perhaps deep. */
static void
mark_place(
    struct look *l, const struct tpi_onnx_use *use, struct tpi_onnx_weight *w)
{
	const struct tpi_onnx_frame *f = use->frame;

	while (f && f->scope != l->locals[use->tensor].scope)
		f = f->outer;
	if (f && f->node < w->before)
		w->before = f->node;
}

static enum tp_status
look_at_input(struct look *l, const struct tpi_onnx_use *use,
    const struct tp_entry *e, struct tpi_onnx_weight *w, struct tp_err *err)
{
	const struct consumer *c = find_consumer(use);
	const TpOnnx__NodeProto *node = use->node;
	struct tp_str name = tpi_onnx_str(node->name);

	if (!name.len && node->n_output)
		name = tpi_onnx_str(node->output[0]);
	if (!c)
		return keep(l, w, err,
		    "node '%.80s' (%.40s) uses it, which is not known to "
		    "take narrowed weights",
		    TP_BRIEF(name), TP_BRIEF(tpi_onnx_str(node->op_type)));
	mark_place(l, use, w);
	if (w->used)
		return TP_OK;
	w->used = true;
	if (e->rank < 2)
		return TP_OK;
	w->channel_axis = axis_of(c->channels, use, e->rank);
	w->block_axis = axis_of(c->blocks, use, e->rank);
	/* Blocks of one element would be larger than the floats. */
	if (e->shape[w->block_axis] == 1)
		w->block_axis = w->channel_axis;
	return TP_OK;
}

/* A tpi_onnx_use_fn. */
static enum tp_status
look_at(void *ctx, const struct tpi_onnx_use *use, struct tp_err *err)
{
	struct look *l = ctx;
	size_t entry = l->e->entry_of[use->tensor];
	struct tpi_onnx_weight *w = &l->w[entry];

	switch (use->kind) {
	case TPI_USE_INPUT:
		return look_at_input(
		    l, use, tp_reader_entry(l->r, entry), w, err);
	case TPI_USE_OUTPUT:
		return keep(l, w, err, "it is an output of a graph");
	case TPI_USE_BINDING:
		return keep(l, w, err, "training reads or assigns it");
	case TPI_USE_FUNCTION:
		return keep(l, w, err, "it is part of a function");
	}
	return TP_OK;
}

/* What only the slot tells. */
static enum tp_status
look_at_slot(struct look *l, size_t i, struct tp_err *err)
{
	const struct tpi_onnx_slot *s = &l->e->slots.items[i];
	const struct tp_entry *e = tp_reader_entry(l->r, l->e->entry_of[i]);
	struct tpi_onnx_weight *w = &l->w[l->e->entry_of[i]];
	size_t root = s->scope;

	while (l->e->slots.scopes[root].parent != TP_NONE)
		root = l->e->slots.scopes[root].parent;
	w->before = SIZE_MAX;
	if (l->e->slots.scopes[root].function)
		return keep(l, w, err, "it is part of a function");
	if (root)
		return keep(l, w, err, "it is part of training");
	if (s->kind != TPI_SLOT_INITIALIZER && s->kind != TPI_SLOT_VALUE)
		return keep(l, w, err, "it is no tensor of numbers");
	if (e->dtype != TP_DTYPE_F32)
		return keep(
		    l, w, err, "of a graph only weights of f32 are narrowed");
	return TP_OK;
}

/* Callers may replace an initializer that is an input, from IR version 4 on. */
static enum tp_status
look_at_inputs(struct look *l, struct tp_err *err)
{
	const TpOnnx__ModelProto *m = l->e->model;
	enum tp_status rc = TP_OK;

	if (m->ir_version < 4)
		return TP_OK;
	for (size_t i = 0; !rc && i < m->graph->n_input; i++) {
		/* Names of the main graph are those of entries. */
		size_t entry = tp_reader_find(
		    l->r, tpi_onnx_str(m->graph->input[i]->name));

		if (entry != TP_NONE)
			rc = keep(l, &l->w[entry], err,
			    "callers may replace it: it is an input of the "
			    "graph too");
	}
	return rc;
}

enum tp_status
tpi_onnx_find_weights(struct tpi_onnx_edit *e, const struct tp_reader *r,
    struct tpi_arena *arena, struct tpi_onnx_weight *w, struct tp_err *err)
{
	size_t n = e->slots.n_items;
	struct tpi_onnx_local *locals =
	    tpi_arena_array(&e->arena, n, sizeof(*locals));
	struct look l = {
	    .e = e, .r = r, .arena = arena, .w = w, .locals = locals};
	enum tp_status rc = locals ? TP_OK : tpi_onnx_edit_no_memory(err);

	for (size_t i = 0; !rc && i < n; i++) {
		locals[i] = tpi_onnx_edit_local(e, i);
		rc = look_at_slot(&l, i, err);
	}
	if (!rc)
		rc = look_at_inputs(&l, err);
	if (!rc)
		rc = tpi_onnx_each_use(
		    e->model, locals, n, e->alloc, look_at, &l, err);
	for (size_t i = 0; !rc && i < n; i++) {
		struct tpi_onnx_weight *one = &w[e->entry_of[i]];

		if (!one->used)
			rc = keep(&l, one, err, "no node uses it");
	}
	return rc;
}
