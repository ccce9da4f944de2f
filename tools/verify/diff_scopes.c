/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_scopes.c - tensors of inner graphs whose nodes have moved
 *
 *	4.then_branch/11.body:w		 in a model
 *	6.then_branch/13.body:w		 in the same with two more nodes
 *
 * Names of inner weights tell the numbers of nodes. Without those, SCOPE:NAME
 * is compared, where it is the only one of its kind.
 */
#include "diff.h"

#include <string.h>

#include "tp/alloc.h"

#define AMBIGUOUS (TP_NONE - 1)

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The scope without numbers of nodes, ':', the local name; in `to`. */
static struct tp_str
make_key(const struct tp_entry *e, char *to)
{
	size_t n = 0;

	for (size_t i = 0; i < e->scope.len; i++) {
		bool begins = i == 0 || e->scope.s[i - 1] == '/';

		while (begins && i < e->scope.len && is_digit(e->scope.s[i]))
			i++;
		if (i < e->scope.len)
			to[n++] = e->scope.s[i];
	}
	to[n++] = ':';
	memcpy(to + n, e->local.s, e->local.len);
	return (struct tp_str){to, n + e->local.len};
}

static size_t
key_room(const struct tp_entry *e)
{
	return e->scope.len + 1 + e->local.len;
}

/* Number the entries that are in inner graphs. */
static enum tp_status
add_names(struct diff_scopes *s, const struct tp_reader *r, struct tp_err *err)
{
	enum tp_status rc = TP_OK;
	char *at = s->text;

	for (size_t i = 0; !rc && i < tp_reader_n_entries(r); i++) {
		const struct tp_entry *e = tp_reader_entry(r, i);
		struct tp_str key;
		size_t first = 0;

		if (!e->scope.len)
			continue;
		key = make_key(e, at);
		at += key.len;
		rc = tp_map_add(&s->names, key, s->n, &first, err);
		if (!rc)
			s->entries[s->n++] = i;
		else if (rc == TP_EARG) {
			s->entries[first] = AMBIGUOUS;
			rc = TP_OK;
		}
	}
	return rc;
}

enum tp_status
diff_scopes_init(
    struct diff_scopes *s, const struct tp_reader *r, struct tp_err *err)
{
	size_t n = tp_reader_n_entries(r);

	*s = (struct diff_scopes){.cap = n};
	tp_map_init(&s->names, NULL);
	for (size_t i = 0; i < n; i++)
		s->nbytes += key_room(tp_reader_entry(r, i));
	s->entries = tp_mem_array(NULL, n, sizeof(*s->entries));
	s->text = tp_mem_array(NULL, s->nbytes, 1);
	if (!s->entries || !s->text)
		return tp_fail(
		    err, TP_ENOMEM, TP_NO_OFFSET, "no memory for names");
	return add_names(s, r, err);
}

size_t
diff_scopes_find(const struct diff_scopes *s, const struct tp_entry *e)
{
	char *key = e->scope.len ? tp_mem_array(NULL, key_room(e), 1) : NULL;
	size_t i, found = TP_NONE;

	if (!key)
		return TP_NONE;
	if (tp_map_find(&s->names, make_key(e, key), &i) &&
	    s->entries[i] != AMBIGUOUS)
		found = s->entries[i];
	tp_mem_free(NULL, key, key_room(e), 1);
	return found;
}

void
diff_scopes_release(struct diff_scopes *s)
{
	tp_map_release(&s->names);
	tp_mem_free(NULL, s->text, s->nbytes, 1);
	tp_mem_free(NULL, s->entries, s->cap, sizeof(*s->entries));
	*s = (struct diff_scopes){.n = 0};
}
