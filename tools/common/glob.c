/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.c - one pass with one place to come back to
 *
 * Only the last `*` can still grow: what an earlier one matched need never be
 * reconsidered, because a longer match of it only leaves less for the rest.
 */
#include "glob.h"

#include <string.h>

#include "tp/utf8.h"

/* Codes of bytes that are not UTF-8 lie above all characters. */
#define NOT_UTF8 0x200000u

/* The character at s[*i], which is moved past it. */
static uint32_t
take(struct tp_str s, size_t *i)
{
	uint32_t code;
	size_t n = tp_utf8_decode(s.s + *i, s.len - *i, &code);

	if (n == 0) {
		code = NOT_UTF8 + (unsigned char)s.s[*i];
		n = 1;
	}
	*i += n;
	return code;
}

static bool
is_between(uint32_t c, uint32_t low, uint32_t high)
{
	return low <= c && c <= high;
}

/* The class between "[:" and ":]"; ASCII only, so that no locale matters. */
static bool
in_class(struct tp_str name, uint32_t c)
{
	static const char *const names[] = {"digit", "lower", "upper", "alpha",
	    "alnum", "xdigit", "space", "punct"};
	bool digit = is_between(c, '0', '9'), lower = is_between(c, 'a', 'z');
	bool upper = is_between(c, 'A', 'Z');
	const bool is[] = {digit, lower, upper, lower || upper,
	    lower || upper || digit,
	    digit || is_between(c, 'a', 'f') || is_between(c, 'A', 'F'),
	    c == ' ' || is_between(c, '\t', '\r'),
	    is_between(c, '!', '~') && !lower && !upper && !digit};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!tp_str_cmp(name, tp_str(names[i])))
			return is[i];
	return false;
}

/* If a class begins at p[*i] ("[:"), moves past it. */
static bool
take_class(struct tp_str p, size_t *i, struct tp_str *name)
{
	size_t end;

	if (p.len - *i < 2 || memcmp(p.s + *i, "[:", 2) != 0)
		return false;
	for (end = *i + 2; end + 1 < p.len; end++)
		if (p.s[end] == ':' && p.s[end + 1] == ']') {
			*name = (struct tp_str){p.s + *i + 2, end - *i - 2};
			*i = end + 2;
			return true;
		}
	return false;
}

/*
 * The set that begins behind a '[' at p[*i]: true if it is closed, and then
 * *i is behind it and *matches says whether c is in it.
 */
static bool
take_set(struct tp_str p, size_t *i, uint32_t c, bool *matches)
{
	size_t at = *i;
	bool negated = false, found = false, first = true;
	struct tp_str name;

	if (at < p.len && (p.s[at] == '!' || p.s[at] == '^')) {
		negated = true;
		at++;
	}
	for (; at < p.len && (first || p.s[at] != ']'); first = false) {
		uint32_t low, high;

		if (take_class(p, &at, &name)) {
			found |= in_class(name, c);
			continue;
		}
		if (p.s[at] == '\\' && at + 1 < p.len)
			at++;
		low = high = take(p, &at);
		if (p.len - at >= 2 && p.s[at] == '-' && p.s[at + 1] != ']') {
			at++;
			if (p.s[at] == '\\' && at + 1 < p.len)
				at++;
			high = take(p, &at);
		}
		found |= is_between(c, low, high);
	}
	if (at >= p.len)
		return false;
	*i = at + 1;
	*matches = found != negated;
	return true;
}

/* Whether the part of the pattern at *i, not a '*', takes c; moves past it. */
static bool
takes(struct tp_str p, size_t *i, uint32_t c)
{
	bool matches;

	if (p.s[*i] == '?') {
		++*i;
		return true;
	}
	if (p.s[*i] == '[') {
		size_t at = *i + 1;

		if (take_set(p, &at, c, &matches)) {
			*i = at;
			return matches;
		}
	}
	if (p.s[*i] == '\\' && *i + 1 < p.len)
		++*i;
	return take(p, i) == c;
}

bool
cli_glob(struct tp_str pattern, struct tp_str name)
{
	size_t p = 0, n = 0, retry_p = 0, retry_n = 0;
	bool starred = false;

	while (p < pattern.len || n < name.len) {
		if (p < pattern.len && pattern.s[p] == '*') {
			starred = true;
			retry_p = ++p;
			retry_n = n;
			continue;
		}
		if (p < pattern.len && n < name.len &&
		    takes(pattern, &p, take(name, &n)))
			continue;
		if (!starred || retry_n >= name.len)
			return false;
		/* Let the last star take one character more. */
		take(name, &retry_n);
		n = retry_n;
		p = retry_p;
	}
	return true;
}

static bool
matches_any(const struct cli_list *list, struct tp_str name)
{
	for (size_t i = 0; i < list->n; i++)
		if (cli_glob(tp_str(list->items[i].text), name))
			return true;
	return false;
}

bool
cli_filter_takes(const struct cli_filter *filter, struct tp_str name)
{
	if (filter->include.n && !matches_any(&filter->include, name))
		return false;
	return !matches_any(&filter->exclude, name);
}
