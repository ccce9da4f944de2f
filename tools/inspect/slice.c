/* SPDX-License-Identifier: Apache-2.0 */
/* slice.c - "0:2, ::3" applied to sizes and strides */
#include "slice.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/view.h"

/* One part between commas. */
struct part {
	enum { PART_INDEX, PART_RANGE, PART_REST } kind;
	int64_t start, stop, step; /* PART_INDEX: start alone */
};

struct text {
	const char *s, *end;
};

static void
skip_spaces(struct text *t)
{
	while (t->s < t->end && (*t->s == ' ' || *t->s == '\t'))
		t->s++;
}

static bool
take_char(struct text *t, char c)
{
	skip_spaces(t);
	if (t->s == t->end || *t->s != c)
		return false;
	t->s++;
	skip_spaces(t);
	return true;
}

/*
 * An integer, if there is one: *any tells. False when it does not fit; numbers
 * beyond all sizes mean the same as the largest, but TP_OMIT must not be hit.
 */
static bool
take_integer(struct text *t, int64_t *out, bool *any)
{
	bool negative = take_char(t, '-');
	int64_t n = 0;

	*any = false;
	for (; t->s < t->end && *t->s >= '0' && *t->s <= '9'; t->s++) {
		*any = true;
		if (tp_mul_i64(n, 10, &n) || tp_add_i64(n, *t->s - '0', &n))
			return false;
	}
	skip_spaces(t);
	if (*any)
		*out = negative ? -n : n;
	return *any || !negative;
}

static bool
take_part(struct text *t, struct part *p)
{
	bool any, more;

	*p = (struct part){PART_INDEX, TP_OMIT, TP_OMIT, 1};
	skip_spaces(t);
	if (t->end - t->s >= 3 && !memcmp(t->s, "...", 3)) {
		t->s += 3;
		skip_spaces(t);
		p->kind = PART_REST;
		return true;
	}
	if (!take_integer(t, &p->start, &any))
		return false;
	more = take_char(t, ':');
	if (!more)
		return any;
	p->kind = PART_RANGE;
	if (!take_integer(t, &p->stop, &any))
		return false;
	if (!take_char(t, ':'))
		return true;
	return take_integer(t, &p->step, &any) && p->step != 0;
}

/* Axis `from` of the old slice becomes the next of the new one, or is gone. */
static enum tp_status
apply_part(const struct slice *old, unsigned from, const struct part *p,
    struct slice *s, struct tp_err *err)
{
	int64_t size = old->sizes[from], stride = old->strides[from];
	int64_t first, count, step;

	if (p->kind == PART_INDEX) {
		first = p->start < 0 ? p->start + size : p->start;
		if (first < 0 || first >= size)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "index %" PRId64 " of axis %u, whose size is "
			    "%" PRId64,
			    p->start, from, size);
		s->first += first * stride;
		return TP_OK;
	}
	tp_slice_clamp(size, p->start, p->stop, p->step, &first, &count);
	if (count > 0)
		s->first += first * stride;
	/* A step that leads out of the axis at once is never taken. */
	step = count > 1 ? p->step * stride : stride;
	s->sizes[s->rank] = count;
	s->strides[s->rank++] = step;
	return TP_OK;
}

static enum tp_status
bad_text(struct tp_str text, const char *at, struct tp_err *err)
{
	return tp_fail(err, TP_EARG, TP_NO_OFFSET,
	    "cannot understand '[%s]' from character %zu on", TP_BRIEF(text),
	    (size_t)(at - text.s) + 1);
}

/* The parts, and how many of them take an axis. */
static enum tp_status
parse(struct tp_str text, struct part parts[TP_MAX_RANK + 1], unsigned *n_parts,
    unsigned *n_axes, struct tp_err *err)
{
	struct text t = {text.s, text.s + text.len};
	bool rest = false;

	*n_parts = *n_axes = 0;
	skip_spaces(&t);
	while (t.s < t.end) {
		const char *at = t.s;
		struct part *p = &parts[*n_parts];

		if (*n_parts > TP_MAX_RANK || !take_part(&t, p) ||
		    (rest && p->kind == PART_REST))
			return bad_text(text, at, err);
		rest |= p->kind == PART_REST;
		*n_axes += p->kind != PART_REST;
		++*n_parts;
		if (t.s < t.end && !take_char(&t, ','))
			return bad_text(text, t.s, err);
	}
	return TP_OK;
}

enum tp_status
slice_apply(struct slice *s, struct tp_str text, struct tp_err *err)
{
	const struct part whole = {PART_RANGE, TP_OMIT, TP_OMIT, 1};
	struct part parts[TP_MAX_RANK + 1];
	struct slice narrowed = {.first = s->first};
	unsigned n_parts, n_axes, from = 0;
	enum tp_status rc;

	rc = parse(text, parts, &n_parts, &n_axes, err);
	if (rc)
		return rc;
	if (n_axes > s->rank)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "'[%s]' names %u axes of %u", TP_BRIEF(text), n_axes,
		    s->rank);
	for (unsigned i = 0; !rc && i < n_parts; i++) {
		unsigned n = parts[i].kind == PART_REST ? s->rank - n_axes : 1;

		for (; !rc && n; n--)
			rc = apply_part(s, from++,
			    parts[i].kind == PART_REST ? &whole : &parts[i],
			    &narrowed, err);
	}
	while (!rc && from < s->rank)
		rc = apply_part(s, from++, &whole, &narrowed, err);
	if (!rc)
		*s = narrowed;
	return rc;
}
