/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rename.c - s/RE/NEW/, OLD=NEW, and prefixes
 *
 * RE is a PCRE2 pattern. In NEW, \1 … \9 (or $1, ${name}) stand for groups and
 * \0 for the whole match.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rename.h"

/* A name that grows beyond this is a mistake in the rules. */
#define NAME_MAX_BYTES ((size_t)1 << 20)
/* Steps of one match: a pattern that explodes fails instead of hanging. */
#define MATCH_STEPS 10000000

enum rename_kind { RENAME_REGEX, RENAME_EXACT, RENAME_STRIP, RENAME_ADD };

struct rename_rule {
	struct rename_rule *next;
	enum rename_kind kind;
	const char *text; /* as given; borrowed */
	char *old, *new;  /* parts of the text, unescaped */
	size_t old_len, new_len;
	pcre2_code *re;
	pcre2_match_context *limits;
	uint32_t substitute; /* options of pcre2_substitute */
	size_t n_used;
	char *buf; /* the last result */
	size_t buf_size;
};

void
rename_free(struct rename_rule *rules)
{
	struct rename_rule *next;

	for (struct rename_rule *r = rules; r; r = next) {
		next = r->next;
		pcre2_code_free(r->re);
		pcre2_match_context_free(r->limits);
		free(r->old);
		free(r->new);
		free(r->buf);
		free(r);
	}
}

/* The next delimiter at or after p that no backslash precedes, or NULL. */
static const char *
find_delimiter(const char *p, char delimiter)
{
	for (; *p && *p != delimiter; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p : NULL;
}

/* Copy a pattern; an escaped delimiter becomes the delimiter itself. */
static size_t
copy_pattern(char *out, const char *p, const char *end, char delimiter)
{
	size_t n = 0;

	while (p < end) {
		if (*p == '\\' && p + 1 < end && p[1] == delimiter)
			p++;
		else if (*p == '\\' && p + 1 < end)
			out[n++] = *p++;
		out[n++] = *p++;
	}
	return n;
}

/*
 * Copy a replacement into the language of pcre2_substitute, in which ${1} is a
 * group: \1 becomes that, \\ and an escaped delimiter become themselves.
 */
static size_t
copy_replacement(char *out, const char *p, const char *end, char delimiter)
{
	size_t n = 0;

	for (; p < end; p++) {
		if (*p != '\\' || p + 1 == end) {
			out[n++] = *p;
			continue;
		}
		p++;
		if (*p >= '0' && *p <= '9') {
			out[n++] = '$';
			out[n++] = '{';
			out[n++] = *p;
			out[n++] = '}';
		} else if (*p == '$') {
			out[n++] = '$';
			out[n++] = '$';
		} else {
			if (*p != delimiter && *p != '\\')
				out[n++] = '\\';
			out[n++] = *p;
		}
	}
	return n;
}

static const char *
compile(struct rename_rule *r, uint32_t flags)
{
	static char message[200];
	PCRE2_SIZE at = 0;
	int code = 0;

	r->re = pcre2_compile((PCRE2_SPTR)r->old, r->old_len, PCRE2_UTF | flags,
	    &code, &at, NULL);
	if (!r->re) {
		size_t n;

		n = (size_t)snprintf(message, sizeof(message),
		    "bad pattern at character %zu: ", (size_t)at + 1);
		pcre2_get_error_message(
		    code, (PCRE2_UCHAR *)message + n, sizeof(message) - n);
		return message;
	}
	pcre2_jit_compile(r->re, PCRE2_JIT_COMPLETE);
	r->limits = pcre2_match_context_create(NULL);
	if (!r->limits)
		return cli_no_memory;
	pcre2_set_match_limit(r->limits, MATCH_STEPS);
	return NULL;
}

/* True if the text is s, a delimiter, and three parts with good flags. */
static bool
is_regex(const char *text, const char **mid, const char **end)
{
	if (text[0] != 's' || !text[1] || !strchr("/|#,:@!", text[1]))
		return false;
	*mid = find_delimiter(text + 2, text[1]);
	*end = *mid ? find_delimiter(*mid + 1, text[1]) : NULL;
	return *end && strspn(*end + 1, "gi") == strlen(*end + 1);
}

static const char *
parse_regex(struct rename_rule *r, const char *mid, const char *end)
{
	const char *text = r->text;
	char delimiter = text[1];
	uint32_t flags = 0;

	r->kind = RENAME_REGEX;
	r->substitute = PCRE2_SUBSTITUTE_OVERFLOW_LENGTH;
	for (const char *p = end + 1; *p; p++)
		if (*p == 'g')
			r->substitute |= PCRE2_SUBSTITUTE_GLOBAL;
		else
			flags |= PCRE2_CASELESS;
	r->old = malloc((size_t)(mid - text));
	r->new = malloc((size_t)(end - mid) * 2 + 1);
	if (!r->old || !r->new)
		return cli_no_memory;
	r->old_len = copy_pattern(r->old, text + 2, mid, delimiter);
	r->new_len = copy_replacement(r->new, mid + 1, end, delimiter);
	return compile(r, flags);
}

static const char *
copy_part(char **out, size_t *len, const char *s, size_t n)
{
	*out = malloc(n + 1);
	if (!*out)
		return cli_no_memory;
	memcpy(*out, s, n);
	(*out)[n] = '\0';
	*len = n;
	return NULL;
}

static const char *
parse_exact(struct rename_rule *r)
{
	const char *equals = strchr(r->text, '=');
	const char *wrong;

	if (!equals)
		return "neither s/RE/NEW/ nor OLD=NEW";
	r->kind = RENAME_EXACT;
	wrong = copy_part(
	    &r->old, &r->old_len, r->text, (size_t)(equals - r->text));
	return wrong ? wrong
		     : copy_part(&r->new, &r->new_len, equals + 1,
			   strlen(equals + 1));
}

static const char *
parse_one(const char *option, const char *text, struct rename_rule **out)
{
	struct rename_rule *r = calloc(1, sizeof(*r));
	const char *mid = NULL, *end = NULL, *wrong;

	*out = NULL;
	if (!r)
		return cli_no_memory;
	r->text = text;
	if (strcmp(option, "rename") != 0) {
		r->kind =
		    strcmp(option, "add-prefix") ? RENAME_STRIP : RENAME_ADD;
		wrong = copy_part(&r->new, &r->new_len, text, strlen(text));
	} else if (is_regex(text, &mid, &end)) {
		wrong = parse_regex(r, mid, end);
	} else {
		wrong = parse_exact(r);
	}
	if (wrong)
		rename_free(r);
	else
		*out = r;
	return wrong;
}

const char *
rename_parse(const struct cli_list *list, struct rename_rule **out,
    const struct cli_list_item **at)
{
	const char *wrong = NULL;

	*out = NULL;
	for (size_t i = 0; !wrong && i < list->n; i++) {
		*at = &list->items[i];
		wrong = parse_one((*at)->option->name, (*at)->text, out);
		if (!wrong)
			out = &(*out)->next;
	}
	return wrong;
}

static bool
make_room(struct rename_rule *r, size_t n)
{
	char *grown;

	if (n <= r->buf_size)
		return true;
	grown = realloc(r->buf, n);
	if (!grown)
		return false;
	r->buf = grown;
	r->buf_size = n;
	return true;
}

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET, "no memory for a name");
}

static enum tp_status
substitute(struct rename_rule *r, struct tp_str *name, struct tp_err *err)
{
	char why[120] = "";
	int n;

	for (size_t want = name->len + 64;; want = r->buf_size * 2) {
		PCRE2_SIZE len;

		if (want > NAME_MAX_BYTES * 2)
			return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
			    "tensor '%s': --rename %s makes a name longer than "
			    "%zu bytes",
			    TP_BRIEF(*name), r->text, NAME_MAX_BYTES);
		if (!make_room(r, want))
			return no_memory(err);
		len = r->buf_size;
		n = pcre2_substitute(r->re, (PCRE2_SPTR)name->s, name->len, 0,
		    r->substitute, NULL, r->limits, (PCRE2_SPTR)r->new,
		    r->new_len, (PCRE2_UCHAR *)r->buf, &len);
		if (n == PCRE2_ERROR_NOMEMORY)
			continue;
		if (n > 0)
			*name = (struct tp_str){r->buf, len};
		break;
	}
	r->n_used += n > 0;
	if (n >= 0)
		return TP_OK;
	pcre2_get_error_message(n, (PCRE2_UCHAR *)why, sizeof(why));
	return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
	    "tensor '%s': --rename %s: %s", TP_BRIEF(*name), r->text, why);
}

static enum tp_status
add_prefix(struct rename_rule *r, struct tp_str *name, struct tp_err *err)
{
	if (name->len > NAME_MAX_BYTES || !make_room(r, r->new_len + name->len))
		return no_memory(err);
	memcpy(r->buf, r->new, r->new_len);
	memcpy(r->buf + r->new_len, name->s, name->len);
	*name = (struct tp_str){r->buf, r->new_len + name->len};
	r->n_used++;
	return TP_OK;
}

static enum tp_status
apply(struct rename_rule *r, struct tp_str *name, struct tp_err *err)
{
	switch (r->kind) {
	case RENAME_REGEX:
		return substitute(r, name, err);
	case RENAME_EXACT:
		if (tp_str_cmp(*name, (struct tp_str){r->old, r->old_len}))
			return TP_OK;
		*name = (struct tp_str){r->new, r->new_len};
		r->n_used++;
		return TP_OK;
	case RENAME_STRIP:
		if (name->len < r->new_len ||
		    memcmp(name->s, r->new, r->new_len) != 0)
			return TP_OK;
		name->s += r->new_len;
		name->len -= r->new_len;
		r->n_used++;
		return TP_OK;
	case RENAME_ADD:
		return add_prefix(r, name, err);
	}
	return TP_OK;
}

enum tp_status
rename_apply(struct rename_rule *rules, struct tp_str name, struct tp_str *out,
    struct tp_err *err)
{
	for (struct rename_rule *r = rules; r; r = r->next) {
		enum tp_status rc = apply(r, &name, err);

		if (rc)
			return rc;
	}
	*out = name;
	return TP_OK;
}

enum tp_status
rename_finish(const struct rename_rule *rules, struct tp_err *err)
{
	for (const struct rename_rule *r = rules; r; r = r->next) {
		if (r->n_used)
			continue;
		if (r->kind == RENAME_EXACT)
			return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
			    "--rename %s: no tensor has that name", r->text);
		cli_note("no tensor's name was changed by '%s'", r->text);
	}
	return TP_OK;
}
