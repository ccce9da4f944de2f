/* SPDX-License-Identifier: Apache-2.0 */
/* sums.c - the text of a manifest */
#include "sums.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tp/alloc.h"
#include "tp/utf8.h"

#include "cli_file.h"
#include "text.h"

#define HEX_DIGITS ((size_t)2 * SHA256_SIZE)
/* Longer than any manifest of the tensors that a reader accepts should be. */
#define MAX_SIZE ((size_t)1 << 30)

/*
 * ---- writing ----
 */

bool
sums_put(FILE *out, struct sha256 *whole, const struct sum *sum)
{
	/* "\" if the name is escaped, the hash, two spaces, the name. */
	char head[SHA256_TEXT_SIZE + 4], text[SHA256_TEXT_SIZE];
	size_t n_head, size = 0;
	char *name = cli_plain_new(sum->name, true, 0, &size);

	if (!name)
		return false;
	n_head = (size_t)snprintf(head, sizeof(head), "%s%s  ",
	    cli_name_is_plain(sum->name) ? "" : "\\",
	    sha256_text(sum->hash, text));
	sha256_add(whole, head, n_head);
	sha256_add(whole, name, size);
	sha256_add(whole, "\n", 1);
	if (out) {
		fwrite(head, 1, n_head, out);
		fwrite(name, 1, size, out);
		putc('\n', out);
	}
	free(name);
	return true;
}

void
sums_put_whole(FILE *out, const uint8_t whole[SHA256_SIZE], size_t n)
{
	char text[SHA256_TEXT_SIZE];

	fprintf(out, "%s = %zu tensor%s\n", sha256_text(whole, text), n,
	    n == 1 ? "" : "s");
}

/*
 * ---- reading ----
 */

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
parse_hash(const char *s, size_t n, uint8_t hash[SHA256_SIZE])
{
	if (n < HEX_DIGITS)
		return false;
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		int high = hex_digit(s[2 * i]), low = hex_digit(s[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		hash[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* n digits of an escape; false if they are not there. */
static bool
parse_code(const char *s, size_t left, size_t n, uint32_t *code)
{
	*code = 0;
	if (left < n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int digit = hex_digit(s[i]);

		if (digit < 0)
			return false;
		*code = *code << 4 | (uint32_t)digit;
	}
	return true;
}

/* A character above U+007F as UTF-8; 0 bytes if it is none. */
static size_t
encode(uint32_t code, char *out)
{
	if (code < 0x80 || code > 0x10ffff || (code >> 11) == 0x1b)
		return 0;
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* One escape at s, behind the backslash; what it takes, or 0. */
static size_t
unescape_one(const char *s, size_t left, char *out, size_t *n_out)
{
	static const char letters[] = "bfnrt\\", bytes[] = "\b\f\n\r\t\\";
	const char *at = left && s[0] ? strchr(letters, s[0]) : NULL;
	size_t n = 0;
	uint32_t code;

	if (at) {
		*out = bytes[at - letters];
		*n_out = 1;
		return 1;
	}
	if (left)
		n = s[0] == 'x' ? 2 : s[0] == 'u' ? 4 : s[0] == 'U' ? 8 : 0;
	if (n == 0 || !parse_code(s + 1, left - 1, n, &code))
		return 0;
	if (n == 2) {
		*out = (char)code;
		*n_out = 1;
	} else {
		*n_out = encode(code, out);
	}
	return *n_out ? n + 1 : 0;
}

/* In place: escapes are never shorter than what they stand for. */
static bool
unescape(char *s, size_t *len)
{
	size_t n = 0, step, made;

	for (size_t i = 0; i < *len; n += made) {
		char piece[4];

		made = step = 1;
		piece[0] = s[i];
		if (s[i] == '\\') {
			step =
			    unescape_one(s + i + 1, *len - i - 1, piece, &made);
			if (step == 0)
				return false;
			step++;
		}
		memcpy(s + n, piece, made);
		i += step;
	}
	*len = n;
	return true;
}

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for a manifest");
}

static enum tp_status
take_tensor(
    struct sums *s, size_t line, const struct sum *sum, struct tp_err *err)
{
	enum tp_status rc;

	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 256;
		struct sum *grown =
		    tp_mem_grow(NULL, s->items, s->cap, cap, sizeof(*grown));

		if (!grown)
			return no_memory(err);
		s->items = grown;
		s->cap = cap;
	}
	rc = tp_map_add(&s->by_name, sum->name, s->n, NULL, err);
	if (rc == TP_EARG)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "line %zu: tensor '%s' appears twice", line,
		    TP_BRIEF(sum->name));
	s->items[s->n++] = *sum;
	return rc;
}

/* "HASH = N tensors", and nothing behind it. */
static enum tp_status
take_whole(struct sums *s, const char *at, size_t len, const uint8_t *above,
    bool is_last, struct tp_err *err)
{
	char expected[48];
	int n = snprintf(expected, sizeof(expected), " = %zu tensor%s", s->n,
	    s->n == 1 ? "" : "s");

	if (!is_last)
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "there are lines behind that of the whole model");
	if ((size_t)n != len || memcmp(at, expected, len))
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "the last line does not say '%s'", expected + 1);
	if (memcmp(s->whole, above, SHA256_SIZE))
		return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
		    "the hash of the last line is not that of the lines above: "
		    "something was edited");
	return TP_OK;
}

/* Line by line; the hash of those above must be the last one's. */
static enum tp_status
parse(struct sums *s, size_t size, struct tp_err *err)
{
	struct sha256 whole;
	size_t line = 1;
	enum tp_status rc = TP_OK;

	sha256_init(&whole);
	for (size_t i = 0; !rc && i < size; line++) {
		char *at = s->text + i, *end = memchr(at, '\n', size - i);
		bool escaped = *at == '\\';
		size_t len = end ? (size_t)(end - at) : size - i;
		size_t head = HEX_DIGITS + escaped, rest;
		struct sum sum;

		i += len + 1;
		if (!end || len < head + 2 ||
		    !parse_hash(at + escaped, len - escaped, sum.hash))
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "line %zu is not of a manifest", line);
		rest = len - head;
		if (!escaped && at[head] == ' ' && at[head + 1] == '=') {
			uint8_t above[SHA256_SIZE];

			sha256_end(&whole, above);
			memcpy(s->whole, sum.hash, SHA256_SIZE);
			return take_whole(
			    s, at + head, rest, above, i == size, err);
		}
		sha256_add(&whole, at, len + 1);
		if (at[head] != ' ' || at[head + 1] != ' ')
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "line %zu is not of a manifest", line);
		sum.name = (struct tp_str){at + head + 2, rest - 2};
		if (escaped && !unescape(at + head + 2, &sum.name.len))
			return tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			    "line %zu has an unknown escape", line);
		rc = take_tensor(s, line, &sum, err);
	}
	return rc ? rc
		  : tp_fail(err, TP_EFORMAT, TP_NO_OFFSET,
			"the last line, of the whole model, is missing");
}

enum tp_status
sums_read(struct sums *s, const char *path, struct tp_err *err)
{
	enum tp_status rc;
	size_t n = 0;

	*s = (struct sums){.text = NULL};
	tp_map_init(&s->by_name, NULL);
	rc = cli_read_file(path, MAX_SIZE, &s->text, &n, err);
	if (!rc)
		rc = parse(s, n, err);
	if (rc)
		sums_release(s);
	return rc;
}

void
sums_release(struct sums *s)
{
	tp_map_release(&s->by_name);
	if (s->items)
		tp_mem_free(NULL, s->items, s->cap, sizeof(*s->items));
	free(s->text);
	*s = (struct sums){.text = NULL};
}
