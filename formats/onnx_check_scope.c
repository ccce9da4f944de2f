/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_check_scope.c - what names mean in a graph, and whether its nodes can be
 * ordered by them
 */
#include "onnx_check.h"

#include <stdio.h>

#include "onnx_slots.h"
#include "plugin.h"

#include "banned.h"

void
tpi_check_scope_init(struct tpi_check *c, struct tpi_check_scope *s)
{
	tp_map_init(&s->names, c->alloc);
	tp_map_init(&s->initializers, c->alloc);
}

void
tpi_check_scope_release(struct tpi_check *c, struct tpi_check_scope *s)
{
	tp_map_release(&s->names);
	tp_map_release(&s->initializers);
	tp_mem_free(c->alloc, s->edges, s->cap_edges, sizeof(*s->edges));
	s->edges = NULL;
}

/* "node 3", "an input or initializer" */
static const char *
definer(size_t def, char buf[48])
{
	if (def == 0)
		return "an input or initializer";
	snprintf(buf, 48, "node %zu", def - 1);
	return buf;
}

void
tpi_check_define(struct tpi_check *c, struct tpi_check_scope *s,
    struct tp_str name, size_t def)
{
	size_t taken = 0, outer_def;
	char one[48], two[48];
	enum tp_status rc;

	rc = tp_map_add(&s->names, name, def, &taken, NULL);
	if (rc == TP_EARG) {
		tpi_check_say(c, s, true, "'%s' is defined twice: by %s and %s",
		    TP_BRIEF(name), definer(taken, one), definer(def, two));
		return;
	}
	c->no_memory |= rc != TP_OK;
	for (const struct tpi_check_scope *o = s->outer; o; o = o->outer)
		if (tp_map_find(&o->names, name, &outer_def)) {
			tpi_check_say(c, s, false,
			    "'%s' hides one of that name around it",
			    TP_BRIEF(name));
			return;
		}
}

/* In scope s, the node at which the walk stands uses what node j defines. */
static void
add_edge(struct tpi_check *c, struct tpi_check_scope *s, size_t j)
{
	struct tpi_check_edge *grown;
	size_t cap;

	if (s->at >= s->n_nodes)
		return;
	if (s->n_edges == s->cap_edges) {
		cap = s->cap_edges ? s->cap_edges * 2 : 64;
		grown = tp_mem_grow(
		    c->alloc, s->edges, s->cap_edges, cap, sizeof(*grown));
		if (!grown) {
			c->no_memory = true;
			return;
		}
		s->edges = grown;
		s->cap_edges = cap;
	}
	s->edges[s->n_edges++] = (struct tpi_check_edge){j, s->at};
}

/* True if the name means something in s or around it. */
bool
tpi_check_use(
    struct tpi_check *c, struct tpi_check_scope *s, struct tp_str name)
{
	size_t def;

	for (; s; s = s->outer) {
		if (!tp_map_find(&s->names, name, &def))
			continue;
		if (def == 0)
			return true;
		add_edge(c, s, def - 1);
		if (def - 1 >= s->at && !s->late.s) {
			s->late = name;
			s->late_user = s->at;
			s->late_maker = def - 1;
		}
		return true;
	}
	return false;
}

/*
 * ---- can the nodes be sorted? ----
 */

static void
tell_order(struct tpi_check *c, struct tpi_check_scope *s, size_t in_cycle)
{
	if (in_cycle != TP_NONE)
		tpi_check_say(c, s, true,
		    "the nodes cannot be ordered: node %zu (%s) needs its own "
		    "result",
		    in_cycle,
		    TP_BRIEF(tpi_onnx_str(s->nodes[in_cycle]->op_type)));
	else
		tpi_check_say(c, s, false,
		    "the nodes are not in order: node %zu uses '%s' of node "
		    "%zu",
		    s->late_user, TP_BRIEF(s->late), s->late_maker);
}

/* A node of a cycle, or TP_NONE; first and work have n_nodes + 1 places. */
static size_t
find_cycle(
    struct tpi_check_scope *s, size_t *first, size_t *work, size_t *users)
{
	size_t n = s->n_nodes, n_work = 0, done = 0, at = TP_NONE;
	size_t *waits = work + n + 1;

	/* users[first[i] … first[i + 1] - 1] need node i. */
	for (size_t e = 0; e < s->n_edges; e++) {
		first[s->edges[e].maker + 1]++;
		waits[s->edges[e].user]++;
	}
	for (size_t i = 0; i < n; i++)
		first[i + 1] += first[i];
	for (size_t e = 0; e < s->n_edges; e++)
		users[--first[s->edges[e].maker + 1]] = s->edges[e].user;
	for (size_t i = 0; i < n; i++)
		if (waits[i] == 0)
			work[n_work++] = i;
	while (done < n_work) {
		size_t i = work[done++];
		size_t begin = first[i + 1];
		size_t end = i + 1 < n ? first[i + 2] : s->n_edges;

		for (size_t u = begin; u < end; u++)
			if (--waits[users[u]] == 0)
				work[n_work++] = users[u];
	}
	/* Each that is left waits for one that is left: go back n times. */
	for (size_t i = 0; i < n; i++)
		first[i] = TP_NONE;
	for (size_t e = 0; e < s->n_edges; e++)
		if (waits[s->edges[e].user] && waits[s->edges[e].maker]) {
			at = s->edges[e].user;
			first[at] = s->edges[e].maker;
		}
	for (size_t i = 0; i < n && at != TP_NONE; i++)
		at = first[at];
	return at;
}

void
tpi_check_order(struct tpi_check *c, struct tpi_check_scope *s)
{
	size_t n = s->n_nodes, *first, *work, *users;

	if (!s->late.s || c->no_memory)
		return;
	first = tp_mem_array(c->alloc, n + 2, sizeof(*first));
	work = tp_mem_array(c->alloc, 2 * n + 2, sizeof(*work));
	users = tp_mem_array(c->alloc, s->n_edges, sizeof(*users));
	if (first && work && users)
		tell_order(c, s, find_cycle(s, first, work, users));
	else
		c->no_memory = true;
	tp_mem_free(c->alloc, first, n + 2, sizeof(*first));
	tp_mem_free(c->alloc, work, 2 * n + 2, sizeof(*work));
	tp_mem_free(c->alloc, users, s->n_edges, sizeof(*users));
}
