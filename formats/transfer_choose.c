/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_choose.c - which entries the output has, and what they are called
 *
 * Without a graph: the entries of all inputs in order, as the caller's function
 * decides. With one: the entries of the graph in its order, each filled from
 * the chosen entry of the same name.
 */
#include "transfer_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/shape.h"

#include "banned.h"

const char *
tpi_reader_path(const struct tp_reader *r)
{
	const char *path = tp_reader_file(r, 0, NULL);

	return path ? path : "(input)";
}

/* True if a conversion between the two exists; it does not depend on values. */
static bool
cast_exists(enum tp_dtype from, enum tp_dtype to)
{
	uint64_t in[2] = {0}, out[2];

	return from == to || !tp_convert(to, out, from, in, 0,
				 TP_OVERFLOW_SATURATE, 0, NULL, NULL);
}

static enum tp_status
name_clash(struct tp_transfer *t, const struct tpi_item *a,
    const struct tpi_item *b, struct tp_err *err)
{
	const struct tp_entry *ea = a->item.source, *eb = b->item.source;

	if (!tp_str_cmp(ea->name, eb->name))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s' is in both %s and %s", TP_BRIEF(ea->name),
		    tpi_reader_path(a->reader), tpi_reader_path(b->reader));
	if (t->n_readers == 1)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensors '%s' and '%s' would both be named '%s'",
		    TP_BRIEF(ea->name), TP_BRIEF(eb->name),
		    TP_BRIEF(a->item.name));
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "tensors '%s' of %s and '%s' of %s would both be named '%s'",
	    TP_BRIEF(ea->name), tpi_reader_path(a->reader), TP_BRIEF(eb->name),
	    tpi_reader_path(b->reader), TP_BRIEF(a->item.name));
}

/* Ask about one entry and take it in. */
static enum tp_status
choose_entry(struct tp_transfer *t, struct tp_reader *r, size_t i,
    struct tp_map *names, struct tp_err *err)
{
	const struct tp_transfer_options *o = &t->options;
	const struct tp_entry *e = tp_reader_entry(r, i);
	struct tp_choice choice = {.name = e->name, .dtype = e->dtype};
	struct tpi_item *it = &t->items[t->n_items];
	enum tp_status rc = TP_OK;
	size_t taken = 0;

	if (o->choose)
		rc = o->choose(o->choose_ctx, r, i, &choice, err);
	if (rc)
		return rc;
	if (choice.drop || tp_str_cmp(choice.name, e->name))
		t->all_kept = false;
	if (choice.drop)
		return TP_OK;
	if (!cast_exists(e->dtype, choice.dtype))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': %s cannot be converted to %s",
		    TP_BRIEF(e->name), tp_dtype_name(e->dtype),
		    tp_dtype_name(choice.dtype));

	*it = (struct tpi_item){.reader = r, .entry = i};
	it->item = (struct tp_transfer_item){
	    .name = tpi_arena_str(&t->arena, choice.name),
	    .reader = r,
	    .source = e,
	    .file =
		tp_reader_file(r, tp_reader_storage(r, e->storage)->file, NULL),
	    .dtype = choice.dtype,
	    .shared = TP_NONE,
	};
	if (!it->item.name.s)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a tensor's name");
	rc = tp_map_add(names, it->item.name, t->n_items, &taken, err);
	if (rc == TP_EARG)
		return name_clash(t, &t->items[taken], it, err);
	if (rc)
		return rc;
	t->n_items++;
	return TP_OK;
}

/* Names for an error message: as many as there is room for. */
struct name_list {
	char text[320];
	size_t len, n, n_shown;
};

static void
add_name(struct name_list *l, struct tp_str name)
{
	const char *brief = TP_BRIEF(name);
	size_t room = sizeof(l->text) - l->len;
	size_t need = strlen(brief) + sizeof(", ''");

	l->n++;
	if (l->n_shown + 1 < l->n || need > room)
		return;
	l->len += (size_t)snprintf(
	    l->text + l->len, room, "%s'%s'", l->n_shown ? ", " : "", brief);
	l->n_shown++;
}

static enum tp_status
fail_names(struct tp_err *err, const struct name_list *l, const char *what,
    const char *path)
{
	char more[40] = "";

	if (l->n > l->n_shown)
		snprintf(
		    more, sizeof(more), " and %zu more", l->n - l->n_shown);
	return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
	    "%zu tensor%s %s %s: %s%s", l->n, l->n == 1 ? "" : "s", what, path,
	    l->text, more);
}

static bool
same_shape(const struct tp_entry *a, const struct tp_entry *b)
{
	return a->rank == b->rank &&
	       (a->rank == 0 ||
		   !memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)));
}

/*
 * Fill one slot of the graph. Integers below 8 bits come back from the bytes
 * that they were widened to for a format without them.
 */
static enum tp_status
fill_slot(struct tpi_item *it, const struct tp_entry *slot,
    const struct tpi_item *chosen, struct tp_err *err)
{
	const struct tp_entry *e = chosen->item.source;
	enum tp_dtype_kind kind = tp_dtype_kind(slot->dtype);

	if (!same_shape(e, slot))
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "tensor '%s': shape %s does not fit the graph's %s",
		    TP_BRIEF(slot->name), TP_SHAPE_TEXT(e->shape, e->rank),
		    TP_SHAPE_TEXT(slot->shape, slot->rank));
	*it = *chosen;
	it->slot = slot;
	if ((kind == TP_KIND_INT || kind == TP_KIND_UINT) &&
	    tp_dtype_bits(slot->dtype) < 8 && it->item.dtype == e->dtype &&
	    tp_dtype_kind(e->dtype) == kind && tp_dtype_bits(e->dtype) == 8)
		it->item.dtype = slot->dtype;
	return TP_OK;
}

/* Replace the items by those of the graph, filled from the items. */
static enum tp_status
match_graph(
    struct tp_transfer *t, const struct tp_map *names, struct tp_err *err)
{
	struct tp_reader *g = t->options.graph;
	size_t n = tp_reader_n_entries(g);
	struct tpi_item *items = tpi_arena_array(&t->arena, n, sizeof(*items));
	struct name_list missing = {.n = 0}, extra = {.n = 0};
	enum tp_status rc;

	if (!items)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu tensors", n);
	for (size_t i = 0; i < n; i++) {
		const struct tp_entry *slot = tp_reader_entry(g, i);
		struct tpi_item *it = &items[i];
		size_t k = 0;

		if (tp_map_find(names, slot->name, &k)) {
			rc = fill_slot(it, slot, &t->items[k], err);
			if (rc)
				return rc;
			continue;
		}
		if (slot->dtype != TP_DTYPE_STRING) {
			add_name(&missing, slot->name);
			continue;
		}
		*it = (struct tpi_item){.reader = g, .entry = i, .slot = slot};
		it->item = (struct tp_transfer_item){.name = slot->name,
		    .reader = g,
		    .source = slot,
		    .file = tp_reader_file(
			g, tp_reader_storage(g, slot->storage)->file, NULL),
		    .dtype = slot->dtype,
		    .shared = TP_NONE};
	}
	if (missing.n)
		return fail_names(err, &missing, "of the graph missing for",
		    tpi_reader_path(g));

	for (size_t i = 0; i < t->n_items; i++)
		if (tp_reader_find(g, t->items[i].item.name) == TP_NONE)
			add_name(&extra, t->items[i].item.name);
	if (extra.n)
		return fail_names(err, &extra,
		    "without a place in the graph of", tpi_reader_path(g));
	t->items = items;
	t->n_items = n;
	return TP_OK;
}

enum tp_status
tpi_transfer_choose(struct tp_transfer *t, struct tp_err *err)
{
	struct tp_map names;
	enum tp_status rc = TP_OK;
	size_t n = 0;

	for (size_t i = 0; i < t->n_readers; i++)
		if (tp_add_size(n, tp_reader_n_entries(t->readers[i]), &n))
			return tp_fail(
			    err, TP_ELIMIT, TP_NO_OFFSET, "too many tensors");
	t->items = tpi_arena_array(&t->arena, n, sizeof(*t->items));
	if (!t->items)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for %zu tensors", n);

	t->all_kept = true;
	tp_map_init(&names, t->alloc);
	for (size_t i = 0; !rc && i < t->n_readers; i++)
		for (size_t k = 0;
		     !rc && k < tp_reader_n_entries(t->readers[i]); k++)
			rc = choose_entry(t, t->readers[i], k, &names, err);
	if (!rc && t->options.graph)
		rc = match_graph(t, &names, err);
	tp_map_release(&names);
	return rc;
}
