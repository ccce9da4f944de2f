/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_loss.c - what the target cannot hold, and what helps
 *
 * The model is laid out and shown to the target; each loss it tells is recorded
 * and its remedy applied, until the target tells none. Remedies apply also when
 * they are not allowed, so that a plan shows all at once; tp_transfer_check is
 * what refuses.
 */
#include "transfer_plan.h"

#include <stdio.h>
#include <string.h>

#include "tp/checked.h"

#include "banned.h"

/* One remedy can bring up another loss, but not many times. */
#define MAX_ROUNDS 8

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for the list of losses");
}

static bool
make_room(struct tp_transfer *t)
{
	size_t cap = t->cap_losses ? t->cap_losses * 2 : 16;
	struct tp_loss *grown;

	if (t->n_losses < t->cap_losses)
		return true;
	grown = tpi_arena_array(&t->arena, cap, sizeof(*grown));
	if (!grown)
		return false;
	if (t->n_losses)
		memcpy(grown, t->losses, t->n_losses * sizeof(*grown));
	t->losses = grown;
	t->cap_losses = cap;
	return true;
}

enum tp_status
tpi_transfer_lose(struct tp_transfer *t, struct tpi_item *item,
    enum tp_loss_kind kind, const char *why, const char *remedy,
    struct tp_err *err)
{
	struct tp_loss loss = {
	    .kind = kind,
	    .name = item ? item->item.name : TP_STR(""),
	    .item = item ? (size_t)(item - t->items) : TP_NONE,
	    .remedy = remedy,
	    .allowed = (t->options.allow_loss & (unsigned)kind) != 0,
	};

	if (item)
		item->item.losses |= (unsigned)kind;
	loss.why = tpi_arena_str(&t->arena, tp_str(why)).s;
	if (!loss.why || !make_room(t))
		return no_memory(err);
	t->losses[t->n_losses++] = loss;
	return TP_OK;
}

/* What stands in for a dtype that the target lacks. */
static const struct {
	enum tp_dtype dtype, instead;
	const char *remedy;
} stand_ins[] = {
    {TP_DTYPE_U2, TP_DTYPE_U8, "the same values are stored as u8"},
    {TP_DTYPE_U4, TP_DTYPE_U8, "the same values are stored as u8"},
    {TP_DTYPE_I2, TP_DTYPE_I8, "the same values are stored as i8"},
    {TP_DTYPE_I4, TP_DTYPE_I8, "the same values are stored as i8"},
    {TP_DTYPE_C128, TP_DTYPE_C64, "it is converted to c64"},
};

/*
 * Give the item another dtype, or leave it out if it is text. Returns what was
 * done, or NULL.
 */
static const char *
replace_dtype(struct tpi_item *it)
{
	if (it->item.dtype == TP_DTYPE_STRING) {
		it->item.how = TP_HOW_LEFT_OUT;
		return "the tensor is left out";
	}
	for (size_t i = 0; i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++)
		if (stand_ins[i].dtype == it->item.dtype) {
			it->item.dtype = stand_ins[i].instead;
			return stand_ins[i].remedy;
		}
	return NULL;
}

/*
 * Another name: control characters and '%' become %XX. Where that changes
 * nothing (the empty name, one that the target keeps for itself) a '%' follows.
 */
static struct tp_str
escape_name(struct tpi_arena *a, struct tp_str name)
{
	static const char hex[] = "0123456789ABCDEF";
	struct tp_str out = {NULL, 0};
	char *p;
	size_t n;

	if (tp_mul_size(name.len, 3, &n))
		return out;
	p = tpi_arena_array(a, n + 2, 1);
	if (!p)
		return out;
	out.s = p;
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.s[i];

		if (c >= 0x20 && c != 0x7f && c != '%') {
			p[out.len++] = name.s[i];
			continue;
		}
		p[out.len++] = '%';
		p[out.len++] = hex[c >> 4];
		p[out.len++] = hex[c & 15];
	}
	if (out.len == name.len)
		p[out.len++] = '%';
	return out;
}

/* One round of remedies. */
struct round {
	struct tp_transfer *t;
	struct tp_map names; /* of the items; filled when first needed */
	bool changed;
	enum tp_status rc;
	struct tp_err *err;
};

/* True if no item has that name; it has one then. */
static bool
claim_name(struct round *r, struct tp_str name)
{
	bool empty = r->names.n_used == 0;

	for (size_t i = 0; empty && i < r->t->n_items; i++) {
		r->rc = tp_map_add(
		    &r->names, r->t->items[i].item.name, i, NULL, r->err);
		if (r->rc)
			return false;
	}
	return !tp_map_add(&r->names, name, 0, NULL, NULL);
}

static const char *
replace_name(struct round *r, struct tpi_item *it)
{
	struct tp_str name = escape_name(&r->t->arena, it->item.name);

	if (!name.s) {
		r->rc = no_memory(r->err);
		return NULL;
	}
	if (!claim_name(r, name))
		return NULL;
	it->item.name = name;
	return "other characters take their place";
}

/* Set a remedy's flag, once. */
static const char *
apply(bool *flag, const char *remedy)
{
	if (*flag)
		return NULL;
	*flag = true;
	return remedy;
}

/* Do what helps against one loss of an item; NULL when nothing does. */
static const char *
remedy_item(struct round *r, struct tpi_item *it, enum tp_loss_kind kind)
{
	switch (kind) {
	case TP_LOSS_DTYPE:
		return replace_dtype(it);
	case TP_LOSS_ALIAS:
		return apply(&it->untie, "the bytes are stored once more");
	case TP_LOSS_NAME:
		return replace_name(r, it);
	case TP_LOSS_STRIDES:
		return apply(&it->pack, "elements are put in row-major order");
	case TP_LOSS_QUANTIZATION:
		return apply(&it->drop_quant,
		    "the numbers are stored without their quantizer");
	case TP_LOSS_SPARSE:
		return apply(&it->densify, "zeros are stored too");
	case TP_LOSS_METADATA:
	case TP_LOSS_ALL:
		break;
	}
	return NULL;
}

/* A tp_loss_fn: record the loss and do something about it. */
static void
on_loss(void *ctx, size_t entry, enum tp_loss_kind kind, const char *why)
{
	struct round *r = ctx;
	struct tp_transfer *t = r->t;
	struct tpi_item *it = NULL;
	struct tp_str name = TP_STR("");
	const char *remedy = NULL;

	if (r->rc)
		return;
	if (entry == TP_NONE && kind == TP_LOSS_METADATA && t->n_meta) {
		t->n_meta = 0;
		remedy = "metadata is left out";
	} else if (entry != TP_NONE) {
		it = &t->items[t->item_at[entry]];
		name = it->item.name;
		remedy = remedy_item(r, it, kind);
	}
	if (r->rc)
		return;
	r->changed |= remedy != NULL;
	r->rc = tpi_transfer_lose(t, it, kind, why, remedy, r->err);
	if (!r->rc && it)
		t->losses[t->n_losses - 1].name = name;
}

enum tp_status
tpi_transfer_layout(struct tp_transfer *t, struct tp_err *err)
{
	struct round r = {.t = t, .changed = true, .err = err};

	tp_map_init(&r.names, t->alloc);
	for (unsigned i = 0; !r.rc && r.changed && i < MAX_ROUNDS; i++) {
		r.changed = false;
		r.rc = tpi_transfer_lay(t, err);
		if (!r.rc)
			tp_format_loses(t->format, &t->options.create,
			    &t->model, on_loss, &r);
	}
	tp_map_release(&r.names);
	return r.rc;
}

enum tp_status
tp_transfer_check(const struct tp_transfer *t, struct tp_err *err)
{
	const struct tp_loss *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < t->n_losses; i++) {
		const struct tp_loss *l = &t->losses[i];

		if (l->allowed && l->remedy)
			continue;
		first = first ? first : l;
		n++;
	}
	if (n == 0)
		return TP_OK;
	if (first->item == TP_NONE)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%zu loss%s not allowed; the first: %s: %s", n,
		    n == 1 ? "" : "es", tp_loss_name(first->kind), first->why);
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "%zu loss%s not allowed; the first: %s: tensor '%s': %s", n,
	    n == 1 ? "" : "es", tp_loss_name(first->kind),
	    TP_BRIEF(first->name), first->why);
}
