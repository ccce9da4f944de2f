/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - escaping, widths, numbers */
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tp/utf8.h"

/* The longest piece: \UNNNNNNNN and a NUL. */
#define PIECE_SIZE 12

struct range {
	uint32_t first, last;
};

/* Characters that a terminal draws over the one before them. */
static const struct range combining[] = {
    {0x300, 0x36f},
    {0x483, 0x489},
    {0x591, 0x5bd},
    {0x610, 0x61a},
    {0x64b, 0x65f},
    {0x93c, 0x93c},
    {0x94d, 0x94d},
    {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff},
    {0xfe20, 0xfe2f},
    {0x1f3fb, 0x1f3ff},
};

/* Characters that take two columns. */
static const struct range wide[] = {
    {0x1100, 0x115f},
    {0x231a, 0x231b},
    {0x2e80, 0x303e},
    {0x3041, 0xa4cf},
    {0xa960, 0xa97f},
    {0xac00, 0xd7a3},
    {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},
    {0xff00, 0xff60},
    {0xffe0, 0xffe6},
    {0x1f004, 0x1f004},
    {0x1f1e6, 0x1f64f},
    {0x1f680, 0x1f6ff},
    {0x1f7e0, 0x1f7eb},
    {0x1f900, 0x1f9ff},
    {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd},
};

static bool
lies_in(const struct range *ranges, size_t n, uint32_t code)
{
	for (size_t i = 0; i < n && code >= ranges[i].first; i++)
		if (code <= ranges[i].last)
			return true;
	return false;
}
#define LIES_IN(ranges, code) \
	lies_in((ranges), sizeof(ranges) / sizeof((ranges)[0]), (code))

/*
 * True for a mark that stands on nothing, or on so many that it would be drawn
 * over other lines: no writing needs more. Marks take no column, so without
 * this a name could be as long as it likes.
 */
#define MAX_MARKS 4

static bool
is_stray_mark(struct tp_str text, size_t at)
{
	for (size_t n = 0; n < MAX_MARKS && at > 0; n++) {
		uint32_t code = 0;
		size_t end = at;

		do
			at--;
		while (at > 0 && end - at < 4 &&
		       ((unsigned char)text.s[at] & 0xc0) == 0x80);
		if (tp_utf8_decode(text.s + at, end - at, &code) != end - at ||
		    !LIES_IN(combining, code))
			return false;
	}
	return true;
}

static bool
has(struct tp_str text, size_t at, struct tp_str what)
{
	return text.len - at >= what.len &&
	       !memcmp(text.s + at, what.s, what.len);
}

/*
 * True if the character there must not be printed as it is because CI systems
 * obey what they read: GitHub a line that begins with "::", after blanks, too
 * (all but U+0020 are escaped), it and Azure also "##[" and "##vso[" anywhere
 * in one.
 */
static bool
begins_command(struct tp_str text, size_t at)
{
	if (has(text, at, TP_STR("##[")) || has(text, at, TP_STR("##vso[")))
		return true;
	if (at > 0)
		return false;
	while (at < text.len && text.s[at] == ' ')
		at++;
	return has(text, at, TP_STR("::"));
}

static void
put_number_escape(char piece[PIECE_SIZE], uint32_t code)
{
	snprintf(piece, PIECE_SIZE,
	    code < 0x80	     ? "\\x%02x"
	    : code < 0x10000 ? "\\u%04x"
			     : "\\U%08x",
	    (unsigned)code);
}

/*
 * One character of the text, which does not end at `at`, ready to print in
 * piece. Returns how many bytes it was and sets its columns.
 */
static size_t
take_piece(struct tp_str text, size_t at, bool prose, char piece[PIECE_SIZE],
    size_t *width)
{
	static const char letters[] = "abtnvfr"; /* 7 to 13 */
	const char *s = text.s + at;
	uint32_t code;
	size_t len = tp_utf8_decode(s, text.len - at, &code);

	if (len == 0) {
		snprintf(piece, PIECE_SIZE, "\\x%02x", (unsigned char)s[0]);
		len = 1;
	} else if (code == '\\' && !prose) {
		memcpy(piece, "\\\\", 3);
	} else if (code >= 8 && code <= 13 && code != 11) {
		snprintf(piece, PIECE_SIZE, "\\%c", letters[code - 7]);
	} else if (tp_utf8_is_hidden(code) ||
		   (LIES_IN(combining, code) && is_stray_mark(text, at)) ||
		   ((at == 0 || code == '#') && begins_command(text, at))) {
		put_number_escape(piece, code);
	} else {
		memcpy(piece, s, len);
		piece[len] = '\0';
		*width = LIES_IN(combining, code) ? 0
			 : LIES_IN(wide, code)	  ? 2
						  : 1;
		return len;
	}
	*width = strlen(piece);
	return len;
}

/* True if the n bytes print as they are, one column each. */
static bool
is_plain(struct tp_str s, bool prose)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.s[i] < 0x20 || s.s[i] > 0x7e ||
		    (s.s[i] == '\\' && !prose) ||
		    ((i == 0 || s.s[i] == '#') && begins_command(s, i)))
			return false;
	return true;
}

/* All columns of the name. */
static size_t
full_width(struct tp_str name)
{
	char piece[PIECE_SIZE];
	size_t total = 0, width;

	if (is_plain(name, false))
		return name.len;
	for (size_t i = 0; i < name.len; total += width)
		i += take_piece(name, i, false, piece, &width);
	return total;
}

/*
 * The characters of the name that lie wholly in columns from … to - 1; returns
 * their columns.
 */
static size_t
put_columns(FILE *out, struct tp_str name, size_t from, size_t to)
{
	char piece[PIECE_SIZE];
	size_t at = 0, width, total = 0;

	for (size_t i = 0; i < name.len && at < to; at += width) {
		i += take_piece(name, i, false, piece, &width);
		if (at < from || at + width > to)
			continue;
		fputs(piece, out);
		total += width;
	}
	return total;
}

bool
cli_name_is_plain(struct tp_str name)
{
	char piece[PIECE_SIZE];
	size_t width, len;

	for (size_t i = 0; i < name.len; i += len) {
		len = take_piece(name, i, false, piece, &width);
		if (strlen(piece) != len || memcmp(piece, name.s + i, len))
			return false;
	}
	return true;
}

size_t
cli_name_width(struct tp_str name, size_t max)
{
	size_t full = full_width(name);

	return max && full > max ? max : full;
}

size_t
cli_put_name(FILE *out, struct tp_str name, size_t max)
{
	size_t full = full_width(name), head, tail, total;

	if (max == 0 || full <= max) {
		if (full == name.len && is_plain(name, false)) {
			fwrite(name.s, 1, name.len, out);
			return full;
		}
		return put_columns(out, name, 0, full + 1);
	}
	/* Escapes and wide characters are not cut: there may be fewer. */
	head = (max - 3) / 2;
	tail = max - 3 - head;
	total = put_columns(out, name, 0, head);
	fputs("...", out);
	return total + 3 + put_columns(out, name, full - tail, full + 1);
}

void
cli_put_text(FILE *out, struct tp_str text)
{
	char piece[PIECE_SIZE];
	size_t width;

	if (is_plain(text, true)) {
		fwrite(text.s, 1, text.len, out);
		return;
	}
	for (size_t i = 0; i < text.len;) {
		i += take_piece(text, i, true, piece, &width);
		fputs(piece, out);
	}
}

char *
cli_plain_new(struct tp_str text, bool is_name, size_t max, size_t *n)
{
	char *plain = NULL;
	FILE *f = open_memstream(&plain, n);
	bool failed;

	if (!f)
		return NULL;
	if (is_name)
		cli_put_name(f, text, max);
	else
		cli_put_text(f, text);
	failed = ferror(f);
	failed |= fclose(f) != 0;
	/* At the end the C library may find no memory and say nothing: then
	 * there is no text. */
	if (!failed)
		return plain;
	free(plain);
	return NULL;
}

void
cli_put_spaces(FILE *out, size_t n)
{
	static const char spaces[] = "                                ";

	for (; n >= sizeof(spaces) - 1; n -= sizeof(spaces) - 1)
		fwrite(spaces, 1, sizeof(spaces) - 1, out);
	fwrite(spaces, 1, n, out);
}

size_t
cli_u64_width(uint64_t v)
{
	size_t n = 1;

	for (; v >= 10; v /= 10)
		n++;
	return n;
}

void
cli_put_u64(FILE *out, uint64_t v, size_t width)
{
	char digits[20];
	size_t n = 0;

	do
		digits[sizeof(digits) - ++n] = (char)('0' + v % 10);
	while (v /= 10);
	if (width > n)
		cli_put_spaces(out, width - n);
	fwrite(digits + sizeof(digits) - n, 1, n, out);
}

const char *
cli_human_bytes(uint64_t nbytes, char buf[CLI_HUMAN_SIZE])
{
	static const char units[] = "KMGTPE";
	uint64_t unit = 1024, tenths;
	size_t i = 0;

	if (nbytes < 1024) {
		snprintf(buf, CLI_HUMAN_SIZE, "%" PRIu64 " B", nbytes);
		return buf;
	}
	while (i < 5 && nbytes / unit >= 1024) {
		unit *= 1024;
		i++;
	}
	/* Rounded down, so that nothing looks larger than it is. */
	tenths = nbytes % unit / (unit / 512) * 10 / 512;
	snprintf(buf, CLI_HUMAN_SIZE, "%" PRIu64 ".%" PRIu64 " %ciB",
	    nbytes / unit, tenths, units[i]);
	return buf;
}

const char *
cli_colour(enum cli_colour colour)
{
	static const char *const codes[CLI_COLOUR_COUNT] = {
	    "\033[0m", "\033[1m", "\033[2m"};
	static int on = -1;

	if (on < 0) {
		const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

		on = isatty(STDOUT_FILENO) && !(no && *no) && term &&
		     strcmp(term, "dumb") != 0;
	}
	return on ? codes[colour] : "";
}
