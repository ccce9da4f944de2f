/* SPDX-License-Identifier: Apache-2.0 */
/*
 * re2.c - patterns of RE2 as patterns of PCRE2
 *
 * RE2 knows no look-around, no references back and no possessive repeats, and
 * what only PCRE2 knows is refused. What both read differently is rewritten:
 *
 *	RE2	PCRE2
 *	\s	[\t\n\f\r ]	there it has \v too
 *	\v	\x0b		there it is a set
 *	\12	\o{12}		there it may be a group
 *	{,3	\{,3		no repeat in RE2
 */
#include "re2.h"

#include <string.h>

#include "../banned.h"

/* A pattern as it is read and as PCRE2 gets it. */
struct rewriting {
	const char *from, *end;
	char *to;
	bool in_class;
	bool repeats; /* what went before says how often */
};

static void
put(struct rewriting *w, const char *text)
{
	size_t n = strlen(text);

	memcpy(w->to, text, n);
	w->to += n;
}

static void
copy(struct rewriting *w, size_t n)
{
	memcpy(w->to, w->from, n);
	w->to += n;
	w->from += n;
}

/* Up to and with that character, or all if it is not there. */
static void
copy_to(struct rewriting *w, char last)
{
	const char *p = memchr(w->from, last, (size_t)(w->end - w->from));

	copy(w, (size_t)((p ? p + 1 : w->end) - w->from));
}

/* Up to three octal digits as \o{…}: \12 could be a group to PCRE2. */
static bool
rewrite_octal(struct rewriting *w)
{
	const char *p = w->from;
	int n = 0;

	while (n < 3 && w->from < w->end && *w->from >= '0' && *w->from <= '7')
		n++, w->from++;
	/* One digit is a group, which RE2 does not look back to. */
	if (n == 0 || (n == 1 && *p != '0'))
		return false;
	put(w, "\\o{");
	memcpy(w->to, p, (size_t)n);
	w->to += n;
	put(w, "}");
	return true;
}

/* Behind a backslash; other letters than these mean nothing to RE2. */
static bool
rewrite_escape(struct rewriting *w)
{
	static const char letters[] = "aftnrdDwWpPxQEbBAz";
	char ch = *w->from;
	bool is_letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');

	if (ch >= '0' && ch <= '9')
		return rewrite_octal(w);
	if (is_letter && !memchr("sSv", ch, 3) &&
	    !memchr(letters, ch, sizeof(letters) - 1))
		return false;
	w->from++;
	if (ch == 's' || ch == 'S') {
		put(w, w->in_class ? "" : "[");
		put(w, ch == 's' ? "\\t\\n\\f\\r " : "\\S\\x0b");
		put(w, w->in_class ? "" : "]");
	} else if (ch == 'v') {
		put(w, "\\x0b");
	} else {
		*w->to++ = '\\';
		*w->to++ = ch;
		/* A name or number in braces, which are no repeat. */
		if (memchr("pPx", ch, 3) && w->from < w->end && *w->from == '{')
			copy_to(w, '}');
	}
	return true;
}

/* Behind "(?": names, flags and plain groups. */
static bool
is_known_group(const struct rewriting *w)
{
	const char *p = w->from;

	if (p < w->end && *p == 'P')
		return p + 1 < w->end && p[1] == '<';
	if (p < w->end && *p == '<')
		return p + 1 < w->end && p[1] != '=' && p[1] != '!';
	while (p < w->end && (*p == '-' || memchr("imsU", *p, 4)))
		p++;
	return p < w->end && (*p == ':' || *p == ')');
}

/* The length of a repeat {n}, {n,} or {n,m}; 0 for any other brace. */
static size_t
repeat_at(const struct rewriting *w)
{
	const char *p = w->from + 1;
	bool has_comma = false;

	while (p < w->end && ((*p >= '0' && *p <= '9') ||
				 (*p == ',' && !has_comma && p[-1] != '{'))) {
		has_comma = has_comma || *p == ',';
		p++;
	}
	return p < w->end && *p == '}' && p > w->from + 1
		   ? (size_t)(p + 1 - w->from)
		   : 0;
}

/* The start of a set; a ] that comes first is one of it. */
static void
open_class(struct rewriting *w)
{
	w->in_class = true;
	copy(w, 1);
	if (w->from < w->end && *w->from == '^')
		copy(w, 1);
	if (w->from < w->end && *w->from == ']')
		copy(w, 1);
}

static bool
open_group(struct rewriting *w)
{
	copy(w, 1);
	if (w->from == w->end || *w->from == '*')
		return false;
	if (*w->from != '?')
		return true;
	copy(w, 1);
	return is_known_group(w);
}

static bool
rewrite_one(struct rewriting *w)
{
	char ch = *w->from;
	bool was_repeat = w->repeats;
	size_t n = 0;

	w->repeats = false;
	if (ch == '\\')
		return ++w->from < w->end && rewrite_escape(w);
	if (w->in_class) {
		w->in_class = ch != ']';
		copy(w, 1);
		return true;
	}
	switch (ch) {
	case '[':
		open_class(w);
		return true;
	case '(':
		return open_group(w);
	case '{':
		n = repeat_at(w);
		if (n == 0)
			put(w, "\\");
		break;
	case '+':
		/* A repeat that gives nothing back: a++ */
		if (was_repeat)
			return false;
		n = 1;
		break;
	case '*':
	case '?':
		n = 1;
		break;
	default:
		break;
	}
	w->repeats = n > 0;
	copy(w, n ? n : 1);
	return true;
}

/* Between \Q and \E all is as it stands. */
static void
copy_quoted(struct rewriting *w)
{
	while (w->from < w->end) {
		if (w->end - w->from >= 2 && w->from[0] == '\\' &&
		    w->from[1] == 'E')
			break;
		*w->to++ = *w->from++;
	}
}

bool
tpi_re2_rewrite(struct tp_str pattern, char *out, size_t *len)
{
	struct rewriting w = {
	    .from = pattern.s, .end = pattern.s + pattern.len, .to = out};

	while (w.from < w.end) {
		bool quotes = w.end - w.from >= 2 && w.from[0] == '\\' &&
			      w.from[1] == 'Q';

		if (!rewrite_one(&w))
			return false;
		if (quotes)
			copy_quoted(&w);
	}
	*len = (size_t)(w.to - out);
	return true;
}
