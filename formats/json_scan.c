/* SPDX-License-Identifier: Apache-2.0 */
/* json_scan.c - the grammar of RFC 8259, without recursion */
#include "json.h"

#include <string.h>

#include "banned.h"

int
tpi_json_peek(struct tpi_json *j)
{
	while (j->pos < j->size) {
		char c = j->text[j->pos];

		if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
			return (unsigned char)c;
		j->pos++;
	}
	return -1;
}

enum tp_status
tpi_json_unexpected(
    struct tpi_json *j, const char *expected, struct tp_err *err)
{
	uint64_t at = j->offset + j->pos;
	unsigned char c;

	if (j->pos >= j->size)
		return tp_fail(err, TP_EFORMAT, at,
		    "the JSON text ends where %s is expected", expected);
	c = (unsigned char)j->text[j->pos];
	if (c < 0x20 || c >= 0x7f)
		return tp_fail(err, TP_EFORMAT, at,
		    "byte 0x%02x in JSON where %s is expected", c, expected);
	return tp_fail(err, TP_EFORMAT, at, "'%c' in JSON where %s is expected",
	    c, expected);
}

static bool
next_is(const struct tpi_json *j, char c)
{
	return j->pos < j->size && j->text[j->pos] == c;
}

static bool
next_is_digit(const struct tpi_json *j)
{
	return j->pos < j->size && j->text[j->pos] >= '0' &&
	       j->text[j->pos] <= '9';
}

/* The four digits behind \u. */
static enum tp_status
scan_hex(struct tpi_json *j, unsigned *code, struct tp_err *err)
{
	*code = 0;
	for (int i = 0; i < 4; i++) {
		char c = j->pos < j->size ? j->text[j->pos] : '\0';
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'F')
			digit = (unsigned)(c - 'A') + 10;
		else
			return tpi_json_unexpected(j, "a hex digit", err);
		*code = *code << 4 | digit;
		j->pos++;
	}
	return TP_OK;
}

/* pos is behind the backslash. */
static enum tp_status
scan_escape(struct tpi_json *j, struct tp_err *err)
{
	uint64_t at = j->offset + j->pos - 1;
	enum tp_status rc;
	unsigned high, low;

	if (j->pos >= j->size || j->text[j->pos] == '\0' ||
	    !strchr("\"\\/bfnrtu", j->text[j->pos]))
		return tpi_json_unexpected(j, "an escape", err);
	if (j->text[j->pos++] != 'u')
		return TP_OK;
	rc = scan_hex(j, &high, err);
	if (rc || high < 0xd800 || high > 0xdfff)
		return rc;

	/* Half a pair is no character; the other half must follow. */
	if (high < 0xdc00 && next_is(j, '\\') && j->size - j->pos >= 2 &&
	    j->text[j->pos + 1] == 'u') {
		j->pos += 2;
		rc = scan_hex(j, &low, err);
		if (rc)
			return rc;
		if (low >= 0xdc00 && low <= 0xdfff)
			return TP_OK;
	}
	return tp_fail(err, TP_EFORMAT, at,
	    "\\u%04x in JSON is half a surrogate pair", high);
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The high bit of each byte that is zero, and perhaps of some behind it. */
static uint64_t
zero_bytes(uint64_t word)
{
	return (word - EACH_BYTE(0x01)) & ~word & EACH_BYTE(0x80);
}

/*
 * The first byte from i on that is not plain text: a quote, a backslash, a
 * control character; or the end. Eight bytes a step while all are plain.
 */
static size_t
skip_plain(const struct tpi_json *j, size_t i)
{
	const unsigned char *text = (const unsigned char *)j->text;

	while (j->size - i >= 8) {
		uint64_t word, control;

		memcpy(&word, text + i, 8);
		control = (word - EACH_BYTE(0x20)) & ~word & EACH_BYTE(0x80);
		if (control | zero_bytes(word ^ EACH_BYTE('"')) |
		    zero_bytes(word ^ EACH_BYTE('\\')))
			break;
		i += 8;
	}
	while (
	    i < j->size && text[i] >= 0x20 && text[i] != '"' && text[i] != '\\')
		i++;
	return i;
}

/* pos is at the opening quote. */
static enum tp_status
scan_string(struct tpi_json *j, bool *has_escapes, struct tp_err *err)
{
	const unsigned char *text = (const unsigned char *)j->text;
	size_t begin = j->pos++;

	for (;;) {
		size_t i = skip_plain(j, j->pos);
		enum tp_status rc;

		j->pos = i;
		if (i >= j->size)
			return tp_fail(err, TP_EFORMAT, j->offset + begin,
			    "a string in JSON has no closing quote");
		j->pos++;
		if (text[i] == '"')
			return TP_OK;
		if (text[i] < 0x20)
			return tp_fail(err, TP_EFORMAT, j->offset + i,
			    "control character 0x%02x in a JSON string",
			    text[i]);
		*has_escapes = true;
		rc = scan_escape(j, err);
		if (rc)
			return rc;
	}
}

static enum tp_status
scan_digits(struct tpi_json *j, struct tp_err *err)
{
	if (!next_is_digit(j))
		return tpi_json_unexpected(j, "a digit", err);
	while (next_is_digit(j))
		j->pos++;
	return TP_OK;
}

static enum tp_status
scan_number(struct tpi_json *j, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	if (next_is(j, '-'))
		j->pos++;
	if (next_is(j, '0')) {
		j->pos++;
		if (next_is_digit(j))
			return tp_fail(err, TP_EFORMAT, j->offset + j->pos - 1,
			    "a number in JSON begins with 0");
	} else {
		rc = scan_digits(j, err);
	}
	if (!rc && next_is(j, '.')) {
		j->pos++;
		rc = scan_digits(j, err);
	}
	if (!rc && (next_is(j, 'e') || next_is(j, 'E'))) {
		j->pos++;
		if (next_is(j, '+') || next_is(j, '-'))
			j->pos++;
		rc = scan_digits(j, err);
	}
	return rc;
}

/* true, false, null */
static enum tp_status
scan_word(struct tpi_json *j, struct tp_err *err)
{
	static const struct tp_str words[] = {
	    {"true", 4}, {"false", 5}, {"null", 4}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = words[i].len;

		if (j->size - j->pos >= n &&
		    !memcmp(j->text + j->pos, words[i].s, n)) {
			j->pos += n;
			return TP_OK;
		}
	}
	return tpi_json_unexpected(j, "a value", err);
}

static enum tp_status
scan_scalar(struct tpi_json *j, struct tpi_json_extent *x, struct tp_err *err)
{
	if (next_is(j, '"'))
		return scan_string(j, &x->has_escapes, err);
	if (next_is(j, '-') || next_is_digit(j)) {
		x->n_numbers++;
		return scan_number(j, err);
	}
	return scan_word(j, err);
}

enum tp_status
tpi_json_scan_key(
    struct tpi_json *j, struct tpi_json_extent *x, struct tp_err *err)
{
	enum tp_status rc;

	if (tpi_json_peek(j) != '"')
		return tpi_json_unexpected(j, "a key in quotes", err);
	x->begin = j->pos;
	rc = scan_string(j, &x->has_escapes, err);
	if (rc)
		return rc;
	x->end = j->pos;
	if (tpi_json_peek(j) != ':')
		return tpi_json_unexpected(j, "':'", err);
	j->pos++;
	return TP_OK;
}

/*
 * After a value inside *depth brackets: close those that end here. *more tells
 * that another value follows.
 */
static enum tp_status
scan_after(struct tpi_json *j, struct tpi_json_extent *x, unsigned *depth,
    bool *more, struct tp_err *err)
{
	struct tpi_json_extent key = {0};
	enum tp_status rc;

	*more = false;
	while (*depth) {
		bool object = j->open[*depth - 1] == '{';
		int c = tpi_json_peek(j);

		if (c == (object ? '}' : ']')) {
			j->pos++;
			--*depth;
			continue;
		}
		if (c != ',')
			return tpi_json_unexpected(
			    j, object ? "',' or '}'" : "',' or ']'", err);
		j->pos++;
		*more = true;
		rc = object ? tpi_json_scan_key(j, &key, err) : TP_OK;
		x->has_escapes |= key.has_escapes;
		return rc;
	}
	return TP_OK;
}

/* An opening bracket; *closed if the other one follows at once. */
static enum tp_status
scan_open(struct tpi_json *j, struct tpi_json_extent *x, unsigned *depth,
    bool *closed, struct tp_err *err)
{
	struct tpi_json_extent key = {0};
	char c = j->text[j->pos];
	enum tp_status rc;

	if (*depth + j->n_levels >= TPI_JSON_DEPTH)
		return tp_fail(err, TP_ELIMIT, j->offset + j->pos,
		    "JSON nested more than %d deep", TPI_JSON_DEPTH);
	j->open[(*depth)++] = c;
	j->pos++;
	*closed = tpi_json_peek(j) == (c == '{' ? '}' : ']');
	if (*closed || c == '[')
		return TP_OK;
	rc = tpi_json_scan_key(j, &key, err);
	x->has_escapes |= key.has_escapes;
	return rc;
}

enum tp_status
tpi_json_scan(struct tpi_json *j, struct tpi_json_extent *x, struct tp_err *err)
{
	unsigned depth = 0;
	bool more = true;

	*x = (struct tpi_json_extent){0};
	tpi_json_peek(j);
	x->begin = j->pos;
	while (more) {
		int c = tpi_json_peek(j);
		bool closed = true;
		enum tp_status rc;

		x->n_values++;
		if (c == '{' || c == '[')
			rc = scan_open(j, x, &depth, &closed, err);
		else
			rc = scan_scalar(j, x, err);
		if (!rc && closed)
			rc = scan_after(j, x, &depth, &more, err);
		if (rc)
			return rc;
	}
	x->end = j->pos;
	return TP_OK;
}
