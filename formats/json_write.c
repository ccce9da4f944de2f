/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.c - JSON text out, escaped as serde_json does it */
#include "tp/json.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tp/utf8.h"

#include "banned.h"

static void
flush(struct tp_json *j)
{
	if (j->n_buffered && !j->failed)
		j->failed = j->write(j->ctx, j->buffer, j->n_buffered);
	j->n_buffered = 0;
}

static void
put(struct tp_json *j, const char *s, size_t n)
{
	if (n > sizeof(j->buffer) - j->n_buffered)
		flush(j);
	if (n > sizeof(j->buffer)) {
		if (!j->failed)
			j->failed = j->write(j->ctx, s, n);
		return;
	}
	memcpy(j->buffer + j->n_buffered, s, n);
	j->n_buffered += n;
}

static void
put_literal(struct tp_json *j, const char *s)
{
	put(j, s, strlen(s));
}

static void
new_line(struct tp_json *j)
{
	put(j, "\n", 1);
	for (unsigned i = 0; i < j->depth; i++)
		put(j, "  ", 2);
}

/* What stands between the item before and the one that begins now. */
static void
begin_item(struct tp_json *j)
{
	bool pretty = j->style == TP_JSON_PRETTY;

	if (j->after_key) {
		j->after_key = false;
		return;
	}
	if (j->depth == 0)
		return;
	if (j->any[j->depth])
		put_literal(j, pretty && j->flat ? ", " : ",");
	j->any[j->depth] = true;
	if (pretty && !j->flat)
		new_line(j);
}

static void
begin_container(struct tp_json *j, const char *bracket)
{
	begin_item(j);
	if (j->depth == TP_JSON_DEPTH)
		j->failed = TP_JSON_MISUSE;
	if (j->failed)
		return;
	j->depth++;
	j->any[j->depth] = false;
	put_literal(j, bracket);
}

static void
end_container(struct tp_json *j, const char *bracket)
{
	bool any = j->any[j->depth];
	bool flat = j->flat != 0;

	if (!j->failed && (j->depth == 0 || j->after_key))
		j->failed = TP_JSON_MISUSE;
	if (j->failed)
		return;
	if (j->flat == j->depth)
		j->flat = 0;
	j->depth--;
	if (any && !flat && j->style == TP_JSON_PRETTY)
		new_line(j);
	put_literal(j, bracket);
}

/* One unit of UTF-16 as \uNNNN. */
static void
put_unit(struct tp_json *j, uint32_t unit)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = {'\\', 'u', hex[unit >> 12], hex[unit >> 8 & 15],
	    hex[unit >> 4 & 15], hex[unit & 15]};

	put(j, text, sizeof(text));
}

/* The escape of a hidden character, a quote or a backslash. */
static void
put_escape(struct tp_json *j, uint32_t code)
{
	static const char named[] = "\b\f\n\r\t\"\\";
	static const char letter[] = "bfnrt\"\\";
	const char *p = code && code < 0x80 ? strchr(named, (int)code) : NULL;

	if (p) {
		put(j, (char[]){'\\', letter[p - named]}, 2);
	} else if (code < 0x10000) {
		put_unit(j, code);
	} else {
		put_unit(j, 0xd800 + ((code - 0x10000) >> 10));
		put_unit(j, 0xdc00 + ((code - 0x10000) & 0x3ff));
	}
}

/*
 * JSON asks for an escape of controls below a blank, quotes and backslashes.
 * What people may see on a terminal escapes all that is hidden, and the first
 * half of "##", which CI systems obey where it is followed by a command.
 */
static bool
needs_escape(const struct tp_json *j, struct tp_str s, size_t at, uint32_t code)
{
	if (code < 0x20 || code == '"' || code == '\\')
		return true;
	if (j->style != TP_JSON_PRETTY)
		return false;
	if (code == '#')
		return at + 1 < s.len && s.s[at + 1] == '#';
	return code >= 0x7f && tp_utf8_is_hidden(code);
}

static void
put_string(struct tp_json *j, struct tp_str s)
{
	size_t run = 0, n;

	put(j, "\"", 1);
	for (size_t i = 0; i < s.len; i += n) {
		uint32_t code = (unsigned char)s.s[i];

		n = 1;
		if (code >= 0x80)
			n = tp_utf8_decode(s.s + i, s.len - i, &code);
		if (n && !needs_escape(j, s, i, code))
			continue;
		put(j, s.s + run, i - run);
		if (n)
			put_escape(j, code);
		else
			put_literal(j, "\xef\xbf\xbd");
		n = n ? n : 1;
		run = i + n;
	}
	if (s.len)
		put(j, s.s + run, s.len - run);
	put(j, "\"", 1);
}

/*
 * A finite number as printf writes it, which may be with the decimal point of
 * some locale, as JSON has it. A whole number gets ".0": it is no integer.
 */
static void
put_number(struct tp_json *j, const char *printed)
{
	char text[64];
	size_t n = 0;
	bool is_real = false;

	for (const char *p = printed; *p && n < sizeof(text) - 3; p++) {
		bool usual = (*p >= '0' && *p <= '9') || *p == '-' ||
			     *p == '+' || *p == 'e';

		is_real |= !usual || *p == 'e';
		if (usual)
			text[n++] = *p;
		else if (n && text[n - 1] != '.')
			text[n++] = '.';
	}
	if (!is_real) {
		text[n++] = '.';
		text[n++] = '0';
	}
	put(j, text, n);
}

static bool
put_special(struct tp_json *j, double value)
{
	begin_item(j);
	if (isnan(value))
		put_literal(j, "\"NaN\"");
	else if (isinf(value))
		put_literal(j, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
	else
		return false;
	return true;
}

void
tp_json_init(struct tp_json *j, tp_json_write_fn *write, void *ctx,
    enum tp_json_style style)
{
	memset(j, 0, sizeof(*j));
	j->write = write;
	j->ctx = ctx;
	j->style = style;
}

void
tp_json_object_begin(struct tp_json *j)
{
	begin_container(j, "{");
}

void
tp_json_object_end(struct tp_json *j)
{
	end_container(j, "}");
}

void
tp_json_array_begin(struct tp_json *j)
{
	begin_container(j, "[");
}

void
tp_json_row_begin(struct tp_json *j)
{
	begin_container(j, "[");
	if (!j->flat && !j->failed)
		j->flat = j->depth;
}

void
tp_json_array_end(struct tp_json *j)
{
	end_container(j, "]");
}

void
tp_json_key(struct tp_json *j, const char *key)
{
	tp_json_key_str(j, tp_str(key));
}

void
tp_json_key_str(struct tp_json *j, struct tp_str key)
{
	begin_item(j);
	put_string(j, key);
	put_literal(j, j->style == TP_JSON_PRETTY ? ": " : ":");
	j->after_key = true;
}

void
tp_json_text(struct tp_json *j, const char *value)
{
	tp_json_str(j, tp_str(value));
}

void
tp_json_str(struct tp_json *j, struct tp_str value)
{
	begin_item(j);
	put_string(j, value);
}

void
tp_json_u64(struct tp_json *j, uint64_t value)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRIu64, value);

	begin_item(j);
	put(j, text, (size_t)n);
}

void
tp_json_i64(struct tp_json *j, int64_t value)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%" PRId64, value);

	begin_item(j);
	put(j, text, (size_t)n);
}

void
tp_json_bool(struct tp_json *j, bool value)
{
	begin_item(j);
	put_literal(j, value ? "true" : "false");
}

void
tp_json_null(struct tp_json *j)
{
	begin_item(j);
	put_literal(j, "null");
}

/*
 * A normal double that has a decimal text of 15 digits or fewer is printed as
 * that text by %.15g, so the search begins there; subnormals have fewer.
 */
void
tp_json_double(struct tp_json *j, double value)
{
	char text[64];
	int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;

	if (put_special(j, value))
		return;
	for (;; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (digits == 17 || strtod(text, NULL) == value)
			break;
	}
	put_number(j, text);
}

void
tp_json_float(struct tp_json *j, float value)
{
	char text[64];
	int digits = fabsf(value) < FLT_MIN ? 1 : FLT_DIG;

	if (put_special(j, (double)value))
		return;
	for (;; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, (double)value);
		if (digits == 9 || strtof(text, NULL) == value)
			break;
	}
	put_number(j, text);
}

int
tp_json_finish(struct tp_json *j)
{
	if (!j->failed && (j->depth || j->after_key))
		j->failed = TP_JSON_MISUSE;
	if (j->style == TP_JSON_PRETTY)
		put(j, "\n", 1);
	flush(j);
	return j->failed;
}
