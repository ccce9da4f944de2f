/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_pairs.c - which tensor of B belongs to which of A
 *
 * The name in B is what --map says, else the name in A after --rename, else the
 * same in an inner graph whose nodes have other numbers. The patterns of all
 * options see names of A, and those of B that A has not.
 */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/map.h"

#include "cli_file.h"

/* A file of pairs of names. */
struct name_map {
	char *text;
	struct name_pair {
		struct tp_str a, b;
		size_t n_used;
	} * pairs;
	size_t n, cap;
	struct tp_map by_a;
};

#define MAP_MAX_BYTES ((size_t)256 << 20)

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "no memory for names");
}

/* NAME-IN-A tab NAME-IN-B; without a tab, spaces divide. */
static enum tp_status
add_line(
    struct name_map *m, char *line, size_t n, uint64_t at, struct tp_err *err)
{
	char *tab = memchr(line, '\t', n);
	char *space = memchr(line, ' ', n);
	char *end = line + n, *second = tab ? tab + 1 : space;
	struct name_pair *grown;

	while (!tab && second && second < end && *second == ' ')
		second++;
	if (!second || (!tab && memchr(second, ' ', (size_t)(end - second))))
		return tp_fail(err, TP_EFORMAT, at,
		    "--map: a line is not two names with a tab between them");
	if (m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 64;

		grown =
		    tp_mem_grow(NULL, m->pairs, m->cap, cap, sizeof(*grown));
		if (!grown)
			return no_memory(err);
		m->pairs = grown;
		m->cap = cap;
	}
	m->pairs[m->n++] =
	    (struct name_pair){{line, (size_t)((tab ? tab : space) - line)},
		{second, (size_t)(end - second)}, 0};
	return TP_OK;
}

static enum tp_status
map_read(struct name_map *m, const char *path, struct tp_err *err)
{
	size_t len = 0;
	enum tp_status rc =
	    cli_read_file(path, MAP_MAX_BYTES, &m->text, &len, err);

	for (size_t at = 0; !rc && at < len;) {
		char *line = m->text + at;
		char *end = memchr(line, '\n', len - at);
		size_t n = end ? (size_t)(end - line) : len - at;
		size_t next = at + n + 1;

		if (n > 0 && line[n - 1] == '\r')
			n--;
		if (n > 0 && line[0] != '#')
			rc = add_line(m, line, n, at, err);
		at = next;
	}
	for (size_t i = 0; !rc && i < m->n; i++)
		if (tp_map_add(&m->by_a, m->pairs[i].a, i, NULL, err))
			rc = tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "--map: '%s' appears twice",
			    TP_BRIEF(m->pairs[i].a));
	return rc;
}

static void
map_release(struct name_map *m)
{
	tp_map_release(&m->by_a);
	tp_mem_free(NULL, m->pairs, m->cap, sizeof(*m->pairs));
	free(m->text);
}

static bool
matches(const struct cli_list *list, struct tp_str name, bool *used)
{
	bool any = false;

	for (size_t i = 0; i < list->n; i++)
		if (cli_glob(tp_str(list->items[i].text), name))
			any = used[i] = true;
	return any;
}

/* What pairing needs beside its results. */
struct pairing {
	const struct diff_options *o;
	struct tp_reader *const *r;
	struct name_map map;
	struct diff_scopes scopes; /* of B */
	size_t *taken_by;	   /* for each of B: the pair, or TP_NONE */
	bool *transpose_used;
};

static enum tp_status
find_partner(
    struct pairing *p, struct tp_str name, size_t *out, struct tp_err *err)
{
	struct tp_str other;
	enum tp_status rc;
	size_t at;

	if (tp_map_find(&p->map.by_a, name, &at)) {
		p->map.pairs[at].n_used++;
		*out = tp_reader_find(p->r[1], p->map.pairs[at].b);
		return TP_OK;
	}
	rc = rename_apply(p->o->renames, name, &other, err);
	if (!rc)
		*out = tp_reader_find(p->r[1], other);
	return rc;
}

/* Those of A's inner graphs that have none, and what is left for them in B. */
static void
pair_moved(struct pairing *p, struct diff_pairs *out)
{
	for (size_t i = 0; i < out->n; i++) {
		struct diff_pair *pair = &out->pairs[i];
		size_t other;

		if (pair->entry[1] != TP_NONE)
			continue;
		other = diff_scopes_find(
		    &p->scopes, tp_reader_entry(p->r[0], pair->entry[0]));
		if (other == TP_NONE || p->taken_by[other] != TP_NONE)
			continue;
		pair->entry[1] = other;
		p->taken_by[other] = i;
	}
}

static enum tp_status
pair_all_of_a(struct pairing *p, struct diff_pairs *out, struct tp_err *err)
{
	for (size_t i = 0; i < tp_reader_n_entries(p->r[0]); i++) {
		const struct tp_entry *e = tp_reader_entry(p->r[0], i);
		struct diff_pair *pair = &out->pairs[out->n];
		size_t partner = TP_NONE, other;
		enum tp_status rc = find_partner(p, e->name, &partner, err);

		if (rc)
			return rc;
		pair->entry[0] = i;
		pair->entry[1] = partner;
		pair->excluded = !cli_filter_takes(&p->o->filter, e->name);
		pair->transposed =
		    matches(&p->o->transpose, e->name, p->transpose_used);
		other = partner == TP_NONE ? TP_NONE : p->taken_by[partner];
		if (other != TP_NONE && !pair->excluded &&
		    !out->pairs[other].excluded)
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "'%s' and '%s' of the first file both belong to "
			    "'%s' of the second",
			    TP_BRIEF(tp_reader_entry(
				p->r[0], out->pairs[other].entry[0])
					 ->name),
			    TP_BRIEF(e->name),
			    TP_BRIEF(tp_reader_entry(p->r[1], partner)->name));
		if (partner != TP_NONE && (other == TP_NONE || !pair->excluded))
			p->taken_by[partner] = out->n;
		out->n++;
	}
	return TP_OK;
}

static void
add_rest_of_b(struct pairing *p, struct diff_pairs *out)
{
	for (size_t i = 0; i < tp_reader_n_entries(p->r[1]); i++) {
		const struct tp_entry *e = tp_reader_entry(p->r[1], i);

		if (p->taken_by[i] != TP_NONE)
			continue;
		out->pairs[out->n++] = (struct diff_pair){.entry = {TP_NONE, i},
		    .excluded = !cli_filter_takes(&p->o->filter, e->name)};
	}
}

/* Options that named something which is not there. */
static enum tp_status
check_used(const struct pairing *p, struct tp_err *err)
{
	for (size_t i = 0; i < p->map.n; i++)
		if (!p->map.pairs[i].n_used)
			return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
			    "--map: the first file has no tensor '%s'",
			    TP_BRIEF(p->map.pairs[i].a));
	for (size_t i = 0; i < p->o->transpose.n; i++)
		if (!p->transpose_used[i])
			cli_note("no tensor was transposed by --transpose %s",
			    p->o->transpose.items[i].text);
	return rename_finish(p->o->renames, err);
}

enum tp_status
diff_pairs_make(struct diff_pairs *out, const struct diff_options *o,
    struct tp_reader *const r[2], const char **path, struct tp_err *err)
{
	struct pairing p = {.o = o, .r = r};
	size_t n_b = tp_reader_n_entries(r[1]);
	enum tp_status rc = TP_OK;

	*path = NULL;
	tp_map_init(&p.map.by_a, NULL);
	*out = (struct diff_pairs){.cap = tp_reader_n_entries(r[0]) + n_b};
	out->pairs = tp_mem_array(NULL, out->cap, sizeof(*out->pairs));
	p.taken_by = tp_mem_array(NULL, n_b, sizeof(*p.taken_by));
	p.transpose_used = tp_mem_array(NULL, o->transpose.n, sizeof(bool));
	if (!out->pairs || !p.taken_by || !p.transpose_used)
		rc = no_memory(err);
	if (!rc && o->map) {
		*path = o->map;
		rc = map_read(&p.map, o->map, err);
	}
	if (!rc) {
		*path = NULL;
		for (size_t i = 0; i < n_b; i++)
			p.taken_by[i] = TP_NONE;
		rc = pair_all_of_a(&p, out, err);
	}
	if (!rc)
		rc = diff_scopes_init(&p.scopes, r[1], err);
	if (!rc)
		pair_moved(&p, out);
	if (!rc)
		rc = check_used(&p, err);
	if (!rc)
		add_rest_of_b(&p, out);
	tp_mem_free(NULL, p.taken_by, n_b, sizeof(*p.taken_by));
	tp_mem_free(NULL, p.transpose_used, o->transpose.n, sizeof(bool));
	diff_scopes_release(&p.scopes);
	map_release(&p.map);
	return rc;
}

void
diff_pairs_release(struct diff_pairs *p)
{
	for (size_t i = 0; i < p->n; i++)
		tp_mem_free(
		    NULL, p->pairs[i].figures, 1, sizeof(*p->pairs[i].figures));
	tp_mem_free(NULL, p->pairs, p->cap, sizeof(*p->pairs));
	*p = (struct diff_pairs){NULL, 0, 0};
}
