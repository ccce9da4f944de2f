/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - members and values of checked JSON text, by cJSON */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tp/checked.h"
#include "tp/utf8.h"

#include "banned.h"

/* Stands before the text of a number in what cJSON gets. */
#define NUMBER_MARK '\xff'

enum tp_status
tpi_json_init(struct tpi_json *j, const struct tp_alloc *alloc,
    const char *text, size_t size, uint64_t offset, struct tp_err *err)
{
	size_t valid = tp_utf8_check(text, size);

	memset(j, 0, sizeof(*j));
	if (valid < size)
		return tp_fail(err, TP_EFORMAT, offset + valid,
		    "byte 0x%02x in JSON is not UTF-8",
		    (unsigned char)text[valid]);
	j->alloc = alloc;
	j->text = text;
	j->size = size;
	j->offset = offset;
	return TP_OK;
}

void
tpi_json_release(struct tpi_json *j)
{
	for (unsigned i = 0; i < TPI_JSON_LEVELS; i++)
		cJSON_Delete(j->level[i].key);
	cJSON_Delete(j->value);
	memset(j, 0, sizeof(*j));
}

uint64_t
tpi_json_at(struct tpi_json *j)
{
	tpi_json_peek(j);
	return j->offset + j->pos;
}

const char *
tpi_json_kind(struct tpi_json *j)
{
	switch (tpi_json_peek(j)) {
	case '{':
		return "an object";
	case '[':
		return "an array";
	case '"':
		return "a string";
	case 't':
		return "true";
	case 'f':
		return "false";
	case 'n':
		return "null";
	case -1:
		return "nothing";
	default:
		return "a number";
	}
}

static bool
is_in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' ||
	       c == 'e' || c == 'E';
}

/*
 * The copy of a value that cJSON gets. The text is valid, so every token can be
 * told by its first byte. out has room for the extent and three bytes more for
 * each number.
 */
static size_t
write_copy(const struct tpi_json *j, const struct tpi_json_extent *x, char *out)
{
	const char *s = j->text;
	size_t n = 0, i = x->begin;
	bool in_string = false;

	while (i < x->end) {
		char c = s[i];

		if (in_string && c == '\\') {
			if (x->end - i >= 6 && !memcmp(s + i, "\\u0000", 6)) {
				out[n++] = '\xc0';
				out[n++] = '\x80';
				i += 6;
				continue;
			}
			out[n++] = c;
			out[n++] = s[i + 1];
			i += 2;
		} else if (!in_string && (c == '-' || (c >= '0' && c <= '9'))) {
			out[n++] = '"';
			out[n++] = NUMBER_MARK;
			while (i < x->end && is_in_number(s[i]))
				out[n++] = s[i++];
			out[n++] = '"';
		} else {
			in_string ^= c == '"';
			out[n++] = c;
			i++;
		}
	}
	return n;
}

static enum tp_status
give_to_cjson(struct tpi_json *j, const struct tpi_json_extent *x, cJSON **out,
    struct tp_err *err)
{
	size_t len = x->end - x->begin, room, n;
	char small[256];
	char *copy = small;

	if (tp_mul_size(x->n_numbers, 3, &room) ||
	    tp_add_size(room, len, &room) || tp_add_size(room, 1, &room))
		return tp_fail(err, TP_ELIMIT, j->offset + x->begin,
		    "a JSON value of %zu bytes is too large", len);
	if (room > sizeof(small)) {
		copy = tp_mem_array(j->alloc, room, 1);
		if (!copy)
			return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
			    "no memory for a JSON value of %zu bytes", len);
	}
	n = write_copy(j, x, copy);
	copy[n] = '\0';
	*out = cJSON_ParseWithLengthOpts(copy, n, NULL, false);
	if (copy != small)
		tp_mem_free(j->alloc, copy, room, 1);
	if (!*out)
		return tp_fail(err, TP_ENOMEM, TP_NO_OFFSET,
		    "no memory for a JSON value of %zu bytes", len);
	return TP_OK;
}

/* C0 80 is NUL again, in place; nothing else in UTF-8 begins with C0. */
static struct tp_str
with_nuls(char *s)
{
	size_t n = 0;

	for (const char *p = s; *p; p++) {
		bool nul = *p == '\xc0';

		s[n++] = nul ? '\0' : *p;
		p += nul;
	}
	s[n] = '\0';
	return (struct tp_str){s, n};
}

/*
 * The string at x. One without escapes is borrowed from the text; another goes
 * through cJSON and is kept in *holder.
 */
static enum tp_status
read_string(struct tpi_json *j, const struct tpi_json_extent *x, cJSON **holder,
    struct tp_str *out, struct tp_err *err)
{
	enum tp_status rc;

	cJSON_Delete(*holder);
	*holder = NULL;
	if (!x->has_escapes) {
		*out = (struct tp_str){
		    j->text + x->begin + 1, x->end - x->begin - 2};
		return TP_OK;
	}
	rc = give_to_cjson(j, x, holder, err);
	if (rc)
		return rc;

	*out = with_nuls((*holder)->valuestring);
	return TP_OK;
}

enum tp_status
tpi_json_object(struct tpi_json *j, struct tp_err *err)
{
	if (tpi_json_peek(j) != '{')
		return tpi_json_unexpected(j, "'{'", err);
	if (j->n_levels == TPI_JSON_LEVELS)
		return tp_fail(err, TP_EARG, j->offset + j->pos,
		    "JSON objects entered too deep");
	j->pos++;
	j->level[j->n_levels++].any = false;
	return TP_OK;
}

enum tp_status
tpi_json_member(
    struct tpi_json *j, bool *more, struct tp_str *key, struct tp_err *err)
{
	unsigned top = j->n_levels - 1;
	struct tpi_json_extent x = {0};
	enum tp_status rc;
	int c = tpi_json_peek(j);

	if (c == '}') {
		j->pos++;
		j->n_levels--;
		*more = false;
		return TP_OK;
	}
	if (j->level[top].any) {
		if (c != ',')
			return tpi_json_unexpected(j, "',' or '}'", err);
		j->pos++;
	}
	rc = tpi_json_scan_key(j, &x, err);
	if (rc)
		return rc;
	rc = read_string(j, &x, &j->level[top].key, key, err);
	if (rc)
		return rc;
	j->level[top].any = true;
	*more = true;
	return TP_OK;
}

enum tp_status
tpi_json_skip(struct tpi_json *j, struct tp_err *err)
{
	struct tpi_json_extent x;

	return tpi_json_scan(j, &x, err);
}

enum tp_status
tpi_json_string(struct tpi_json *j, struct tp_str *out, struct tp_err *err)
{
	struct tpi_json_extent x;
	enum tp_status rc;

	if (tpi_json_peek(j) != '"')
		return tpi_json_unexpected(j, "a string", err);
	rc = tpi_json_scan(j, &x, err);
	return rc ? rc : read_string(j, &x, &j->value, out, err);
}

enum tp_status
tpi_json_take(struct tpi_json *j, size_t max_values, const cJSON **out,
    struct tp_err *err)
{
	struct tpi_json_extent x;
	enum tp_status rc;

	rc = tpi_json_scan(j, &x, err);
	if (rc)
		return rc;
	if (x.n_values > max_values)
		return tp_fail(err, TP_ELIMIT, j->offset + x.begin,
		    "a JSON value of %zu parts, the limit is %zu", x.n_values,
		    max_values);
	cJSON_Delete(j->value);
	j->value = NULL;
	rc = give_to_cjson(j, &x, &j->value, err);
	if (rc)
		return rc;
	*out = j->value;
	return TP_OK;
}

enum tp_status
tpi_json_end(struct tpi_json *j, struct tp_err *err)
{
	if (tpi_json_peek(j) != -1)
		return tpi_json_unexpected(j, "the end of the text", err);
	return TP_OK;
}

/* The text of a number as it stood in the file, or NULL. */
static const char *
number_text(const cJSON *item)
{
	if (!cJSON_IsString(item) || item->valuestring[0] != NUMBER_MARK)
		return NULL;
	return item->valuestring + 1;
}

/* One digit or more that comes next, as a number. */
static bool
scan_u64(struct tpi_json *j, uint64_t *value)
{
	const size_t begin = j->pos;
	uint64_t v = 0;

	while (j->pos < j->size && j->text[j->pos] >= '0' &&
	       j->text[j->pos] <= '9')
		if (tp_mul_u64(v, 10, &v) ||
		    tp_add_u64(v, (uint64_t)(j->text[j->pos++] - '0'), &v))
			return false;
	*value = v;
	return j->pos > begin;
}

/* The digits at the beginning of s; what follows them is *rest. */
static bool
read_digits(const char *s, uint64_t *value, const char **rest)
{
	uint64_t v = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		if (tp_mul_u64(v, 10, &v) ||
		    tp_add_u64(v, (uint64_t)(*s - '0'), &v))
			return false;
	*value = v;
	*rest = s;
	return true;
}

bool
tpi_json_u64s(struct tpi_json *j, uint64_t *values, size_t max, size_t *n)
{
	const size_t begin = j->pos;
	int c = tpi_json_peek(j);
	size_t k = 0;

	if (c != '[')
		goto other;
	j->pos++;
	c = tpi_json_peek(j);
	while (c != ']') {
		size_t first = j->pos;

		if (k == max || !scan_u64(j, &values[k]) ||
		    (j->text[first] == '0' && j->pos - first > 1))
			goto other;
		k++;
		c = tpi_json_peek(j);
		if (c != ',' && c != ']')
			goto other;
		if (c == ',') {
			j->pos++;
			if (tpi_json_peek(j) == ']')
				goto other;
		}
	}
	j->pos++;
	*n = k;
	return true;
other:
	j->pos = begin;
	return false;
}

bool
tpi_json_text(const cJSON *item, struct tp_str *text)
{
	if (!cJSON_IsString(item) || item->valuestring[0] == NUMBER_MARK)
		return false;
	*text = with_nuls(item->valuestring);
	return true;
}

bool
tpi_json_u64(const cJSON *item, uint64_t *value)
{
	const char *s = number_text(item), *rest;
	uint64_t v;

	if (!s || !read_digits(s, &v, &rest) || *rest)
		return false;
	*value = v;
	return true;
}

bool
tpi_json_whole(const cJSON *item, uint64_t *value)
{
	const char *s = number_text(item), *rest;
	uint64_t v;

	if (!s || !read_digits(s, &v, &rest) || rest == s)
		return false;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0");
	if (*rest)
		return false;
	*value = v;
	return true;
}

const char *
tpi_json_show(const cJSON *item, char buf[TPI_JSON_SHOW_SIZE])
{
	const char *number = number_text(item);

	if (number)
		snprintf(buf, TPI_JSON_SHOW_SIZE, "%.40s%s", number,
		    strlen(number) > 40 ? "..." : "");
	else if (cJSON_IsString(item))
		snprintf(buf, TPI_JSON_SHOW_SIZE, "a string");
	else if (cJSON_IsObject(item))
		snprintf(buf, TPI_JSON_SHOW_SIZE, "an object");
	else if (cJSON_IsArray(item))
		snprintf(buf, TPI_JSON_SHOW_SIZE, "an array");
	else if (cJSON_IsBool(item))
		snprintf(buf, TPI_JSON_SHOW_SIZE, "%s",
		    cJSON_IsTrue(item) ? "true" : "false");
	else
		snprintf(buf, TPI_JSON_SHOW_SIZE, "null");
	return buf;
}
