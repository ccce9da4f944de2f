/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_names.c - a name for every slot of a model
 *
 *	main graph	w		as it is, twice is an error
 *	elsewhere	SCOPE:w		or, where that is taken,
 *			SCOPE:w#2	and so on until it is free
 */
#include "onnx_names.h"

#include <stdio.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/map.h"

#include "grow.h"

#include "banned.h"

enum tp_status
tpi_onnx_join(struct tpi_onnx_slots *s, struct tp_str a, struct tp_str b,
    struct tp_str c, struct tp_str *out, struct tp_err *err)
{
	size_t len;
	char *p;

	if (tp_add_size(a.len, b.len, &len) || tp_add_size(len, c.len, &len) ||
	    len >= s->bytes_left)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "names of inner graphs take too much room, the last is "
		    "'%s' in '%s'",
		    TP_BRIEF(c), TP_BRIEF(a));
	s->bytes_left -= len + 1;
	p = tpi_arena_array(&s->arena, len + 1, 1);
	if (!p)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "out of memory for a name of %zu bytes", len);
	memcpy(p, a.s, a.len);
	memcpy(p + a.len, b.s, b.len);
	memcpy(p + a.len + b.len, c.s, c.len);
	*out = (struct tp_str){p, len};
	return TP_OK;
}

/* Names that were given. */
struct names {
	struct tp_map taken;  /* in the model */
	struct tp_map scoped; /* inner ones, by scope and local name */
	struct tp_map bases;  /* SCOPE:NAME to a place in next */
	size_t *next;	      /* the suffix to try */
	size_t n_next, cap_next;
};

static enum tp_status
name_twice(struct tpi_onnx_slots *s, const struct tpi_onnx_slot *slot,
    struct tp_err *err)
{
	struct tp_str path = s->scopes[slot->scope].path;

	return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
	    "tensor '%s' appears twice in %s", TP_BRIEF(slot->local),
	    path.len ? TP_BRIEF(path) : "the main graph");
}

/* Try "#2", "#3", … from where an earlier slot of the same base stopped. */
static enum tp_status
add_suffix(struct tpi_onnx_slots *s, struct names *n, struct tp_str base,
    size_t number, struct tp_err *err)
{
	struct tpi_onnx_slot *slot = &s->items[number];
	size_t which;
	char suffix[24];
	enum tp_status rc;
	void *p;

	if (!tp_map_find(&n->bases, base, &which)) {
		p = tpi_grow(s->alloc, n->next, n->n_next + 1, &n->cap_next,
		    sizeof(*n->next));
		if (!p)
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "out of memory for the names of a graph");
		n->next = p;
		rc = tp_map_add(&n->bases, base, n->n_next, NULL, err);
		if (rc)
			return rc;
		which = n->n_next++;
		n->next[which] = 2;
	}
	do {
		snprintf(suffix, sizeof(suffix), "#%zu", n->next[which]++);
		rc = tpi_onnx_join(
		    s, base, tp_str(suffix), TP_STR(""), &slot->name, err);
		if (!rc)
			rc = tp_map_add(
			    &n->taken, slot->name, number, NULL, err);
	} while (rc == TP_EARG);
	return rc;
}

static enum tp_status
name_inner(struct tpi_onnx_slots *s, struct names *n, size_t number,
    struct tp_err *err)
{
	struct tpi_onnx_slot *slot = &s->items[number];
	struct tp_str key, base;
	char scope[24];
	enum tp_status rc;

	/* Paths may repeat (overloaded functions), scopes do not. */
	snprintf(scope, sizeof(scope), "%zu:", slot->scope);
	rc =
	    tpi_onnx_join(s, tp_str(scope), slot->local, TP_STR(""), &key, err);
	if (rc)
		return rc;
	rc = tp_map_add(&n->scoped, key, number, NULL, err);
	if (rc)
		return rc == TP_EARG ? name_twice(s, slot, err) : rc;

	rc = tpi_onnx_join(s, s->scopes[slot->scope].path, TP_STR(":"),
	    slot->local, &base, err);
	if (rc)
		return rc;
	slot->name = base;
	rc = tp_map_add(&n->taken, base, number, NULL, err);
	return rc == TP_EARG ? add_suffix(s, n, base, number, err) : rc;
}

/* The main graph first: its names stay what they are. */
enum tp_status
tpi_onnx_name_slots(struct tpi_onnx_slots *s, struct tp_err *err)
{
	struct names n = {.next = NULL};
	enum tp_status rc = TP_OK;

	tp_map_init(&n.taken, s->alloc);
	tp_map_init(&n.scoped, s->alloc);
	tp_map_init(&n.bases, s->alloc);
	for (size_t i = 0; i < s->n_items && !rc; i++) {
		if (s->items[i].scope)
			continue;
		s->items[i].name = s->items[i].local;
		rc = tp_map_add(&n.taken, s->items[i].name, i, NULL, err);
		if (rc == TP_EARG)
			rc = name_twice(s, &s->items[i], err);
	}
	for (size_t i = 0; i < s->n_items && !rc; i++)
		if (s->items[i].scope)
			rc = name_inner(s, &n, i, err);
	tp_mem_free(s->alloc, n.next, n.cap_next, sizeof(*n.next));
	tp_map_release(&n.taken);
	tp_map_release(&n.scoped);
	tp_map_release(&n.bases);
	return rc;
}
