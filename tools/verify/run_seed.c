/* SPDX-License-Identifier: Apache-2.0 */
/* run_seed.c - inputs from a seed, the same on every machine */
#include "run_seed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/tensor.h"

struct range {
	int64_t low, high;
};

const char *
run_seed_find(const struct cli_list *list, struct tp_str name)
{
	for (size_t i = list->n; i-- > 0;) {
		const char *text = list->items[i].text;

		if (strlen(text) > name.len && text[name.len] == '=' &&
		    !memcmp(text, name.s, name.len))
			return text + name.len + 1;
	}
	return NULL;
}

/* "1,3,224,224"; "" is a scalar. */
static bool
parse_shape(const char *text, int64_t sizes[TP_MAX_RANK], unsigned *rank)
{
	char *end;

	for (*rank = 0; *text; ++*rank) {
		if (*rank == TP_MAX_RANK || *text < '0' || *text > '9')
			return false;
		sizes[*rank] = strtoll(text, &end, 10);
		if (sizes[*rank] == INT64_MAX || (*end && *end != ','))
			return false;
		if (*end && !end[1])
			return false;
		text = *end ? end + 1 : end;
	}
	return true;
}

/* "7" or "-3..7" */
static bool
parse_range(const char *text, struct range *r)
{
	const char *dots = strstr(text, "..");
	char low[32];

	if (!dots) {
		r->high = 0;
		return cli_int_parse(text, &r->low) && (r->high = r->low, true);
	}
	if ((size_t)(dots - text) >= sizeof(low))
		return false;
	memcpy(low, text, (size_t)(dots - text));
	low[dots - text] = '\0';
	return cli_int_parse(low, &r->low) &&
	       cli_int_parse(dots + 2, &r->high) && r->low <= r->high;
}

/* What follows the last '=': of the whole text where there is none. */
static const char *
after_name(const char *text)
{
	const char *equals = strrchr(text, '=');

	return equals ? equals + 1 : text;
}

const char *
run_seed_check(const struct run_seed_options *o)
{
	static char message[200];
	int64_t sizes[TP_MAX_RANK];
	struct range r;
	unsigned rank;

	for (size_t i = 0; i < o->shapes.n; i++) {
		const char *text = o->shapes.items[i].text;

		if (strchr(text, '=') &&
		    parse_shape(after_name(text), sizes, &rank))
			continue;
		snprintf(message, sizeof(message),
		    "--shape %.120s: not NAME=SIZE,SIZE,...", text);
		return message;
	}
	for (size_t i = 0; i < o->ints.n; i++) {
		const char *text = o->ints.items[i].text;

		if (parse_range(after_name(text), &r))
			continue;
		snprintf(message, sizeof(message),
		    "--int %.120s: not [NAME=]N or [NAME=]LOW..HIGH", text);
		return message;
	}
	return NULL;
}

/* The range of an input: one by name, else the last that is for all. */
static struct range
range_of(const struct run_seed_options *o, struct tp_str name)
{
	const char *own = run_seed_find(&o->ints, name);
	struct range r = {0, 1}, any;

	if (own && parse_range(own, &r))
		return r;
	for (size_t i = 0; i < o->ints.n; i++)
		if (parse_range(o->ints.items[i].text, &any))
			r = any;
	return r;
}

static uint64_t
begin(uint64_t seed, struct tp_str name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ (uint8_t)name.s[i]) * UINT64_C(0x100000001b3);
	return seed + hash;
}

static uint64_t
draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static enum tp_status
shape_of(const struct run_seed_options *o, const struct tp_binding *input,
    int64_t sizes[TP_MAX_RANK], unsigned *rank, struct tp_err *err)
{
	const char *given = run_seed_find(&o->shapes, input->name);

	if (given && parse_shape(given, sizes, rank))
		return TP_OK;
	if (!input->has_shape)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "input '%s' has no declared shape: give one with --shape",
		    TP_BRIEF(input->name));
	*rank = input->rank;
	for (unsigned d = 0; d < *rank; d++)
		sizes[d] = input->sizes[d] < 0 ? 1 : input->sizes[d];
	return TP_OK;
}

static uint64_t
draw_int(uint64_t *state, struct range r)
{
	uint64_t n = (uint64_t)r.high - (uint64_t)r.low + 1;
	uint64_t x = draw(state);

	return (uint64_t)r.low + (n ? x % n : x);
}

/* n elements, a few at a time through the widest type of their kind. */
static enum tp_status
fill(
    struct tp_tensor *t, uint64_t state, struct range range, struct tp_err *err)
{
	enum { N = 256 };
	const enum tp_dtype dtype = tp_tensor_dtype(t);
	const enum tp_dtype_kind kind = tp_dtype_kind(dtype);
	const uint64_t n = tp_tensor_numel(t);
	char *to = tp_tensor_data_mut(t);
	double reals[N];
	uint64_t ints[N];
	enum tp_status rc = TP_OK;

	for (uint64_t i = 0; i < n && !rc; i += N) {
		size_t part = n - i < N ? (size_t)(n - i) : N;
		char *at = to + i * tp_dtype_bits(dtype) / 8;

		for (size_t k = 0; k < part; k++) {
			if (kind == TP_KIND_FLOAT)
				reals[k] =
				    (double)(draw(&state) >> 11) * 0x1p-52 - 1;
			else if (kind == TP_KIND_BOOL)
				ints[k] = draw(&state) >> 63;
			else
				ints[k] = draw_int(&state, range);
		}
		if (kind == TP_KIND_FLOAT)
			rc = tp_convert(dtype, at, TP_DTYPE_F64, reals, part,
			    TP_OVERFLOW_SATURATE, i, NULL, err);
		else
			rc = tp_convert(dtype, at,
			    kind == TP_KIND_UINT ? TP_DTYPE_U64 : TP_DTYPE_I64,
			    ints, part, TP_OVERFLOW_ERROR, i, NULL, err);
	}
	return rc;
}

enum tp_status
run_seed_value(const struct run_seed_options *o, const struct tp_binding *input,
    struct tp_value *out, struct tp_err *err)
{
	const enum tp_dtype dtype = input->type.dtype;
	const enum tp_dtype_kind kind = tp_dtype_kind(dtype);
	struct tp_err why = TP_ERR_INIT;
	int64_t sizes[TP_MAX_RANK];
	struct tp_tensor *t = NULL;
	unsigned rank = 0;
	enum tp_status rc;

	*out = (struct tp_value){.kind = TP_VALUE_NONE};
	if (input->type.kind != TP_VALUE_TENSOR || kind == TP_KIND_NONE ||
	    kind == TP_KIND_STRING || kind == TP_KIND_COMPLEX)
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "input '%s' is a %s of %s, which no seed makes: give it "
		    "with --input",
		    TP_BRIEF(input->name), tp_value_kind_name(input->type.kind),
		    tp_dtype_name(dtype));
	rc = shape_of(o, input, sizes, &rank, err);
	if (rc)
		return rc;
	rc = tp_tensor_empty(NULL, dtype, sizes, rank, &t, &why);
	if (!rc && tp_tensor_numel(t))
		rc = fill(t, begin(o->seed, input->name),
		    range_of(o, input->name), &why);
	if (rc) {
		tp_tensor_free(t);
		return tp_fail(err, rc, TP_NO_OFFSET, "input '%s': %s",
		    TP_BRIEF(input->name), why.msg);
	}
	*out = tp_value_of(t);
	return TP_OK;
}
