/* SPDX-License-Identifier: Apache-2.0 */
/* op_attr.c - attributes of an operator from the command line */
#include "op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tp/onnx_dtype.h"

#include "run_files.h"

/* What attribute i points to. */
struct op_attr_memory {
	char *text; /* a copy that was cut into pieces */
	int64_t *ints;
	double *floats;
	struct tp_str *strings;
	struct tp_value value;
};

static enum tp_status
wrong(const char *text, const char *what, struct tp_err *err)
{
	return tp_fail(
	    err, TP_EARG, TP_NO_OFFSET, "--attr %.120s: %s", text, what);
}

static enum tp_status
no_memory(struct tp_err *err)
{
	return tp_fail(
	    err, TP_ENOMEM, TP_NO_OFFSET, "out of memory for attributes");
}

/* An integer, or a dtype by name: its number in ONNX. */
static bool
parse_int(const char *text, int64_t *out)
{
	enum tp_dtype dtype;

	if (cli_int_parse(text, out))
		return true;
	dtype = tp_dtype_find(text);
	*out = tp_onnx_code(dtype);
	return dtype != TP_DTYPE_NONE && *out != 0;
}

static bool
parse_float(const char *text, double *out)
{
	char *end = NULL;

	errno = 0;
	*out = strtod(text, &end);
	return end != text && *end == '\0';
}

/* Cut at commas; returns how many pieces, of which *pieces borrows. */
static size_t
cut(char *text, const char ***pieces)
{
	size_t n = 1;

	if (!*text) {
		*pieces = calloc(1, sizeof(**pieces));
		return 0;
	}
	for (const char *s = text; *s; s++)
		n += *s == ',';
	*pieces = calloc(n, sizeof(**pieces));
	if (!*pieces)
		return 0;
	n = 0;
	for (char *s = text, *comma; s; s = comma) {
		comma = strchr(s, ',');
		if (comma)
			*comma++ = '\0';
		(*pieces)[n++] = s;
	}
	return n;
}

static enum tp_status
parse_list(const char *whole, struct op_attr_memory *m, struct tp_attr *a,
    const char **pieces, size_t n, struct tp_err *err)
{
	m->ints = calloc(n + 1, sizeof(*m->ints));
	m->floats = calloc(n + 1, sizeof(*m->floats));
	m->strings = calloc(n + 1, sizeof(*m->strings));
	if (!m->ints || !m->floats || !m->strings)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		m->strings[i] = tp_str(pieces[i]);
		if (a->kind == TP_ATTR_INTS &&
		    !parse_int(pieces[i], &m->ints[i]))
			return wrong(whole, "expected whole numbers", err);
		if (a->kind == TP_ATTR_FLOATS &&
		    !parse_float(pieces[i], &m->floats[i]))
			return wrong(whole, "expected numbers", err);
	}
	a->n = n;
	if (a->kind == TP_ATTR_INTS)
		a->ints = m->ints;
	else if (a->kind == TP_ATTR_FLOATS)
		a->floats = m->floats;
	else
		a->strings = m->strings;
	return TP_OK;
}

static enum tp_status
parse_value(const char *whole, const char *text, struct op_attr_memory *m,
    struct tp_strings *strings, struct tp_attr *a, struct tp_err *err)
{
	const char **pieces = NULL;
	enum tp_status rc;
	size_t n;

	switch (a->kind) {
	case TP_ATTR_INT:
		return parse_int(text, &a->i)
			   ? TP_OK
			   : wrong(whole, "expected a whole number", err);
	case TP_ATTR_FLOAT:
		return parse_float(text, &a->f)
			   ? TP_OK
			   : wrong(whole, "expected a number", err);
	case TP_ATTR_STRING:
		a->s = tp_str(text);
		return TP_OK;
	case TP_ATTR_TENSOR:
		a->tensor = &m->value;
		return run_files_value(text, strings, &m->value, err);
	case TP_ATTR_GRAPH:
	case TP_ATTR_TYPE:
		return tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "--attr %.120s: a %s cannot be given here", whole,
		    tp_attr_kind_name(a->kind));
	case TP_ATTR_INTS:
	case TP_ATTR_FLOATS:
	case TP_ATTR_STRINGS:
		break;
	}
	m->text = strdup(text);
	n = m->text ? cut(m->text, &pieces) : 0;
	rc = pieces ? parse_list(whole, m, a, pieces, n, err) : no_memory(err);
	free(pieces);
	return rc;
}

static bool
find_kind(const struct tp_op *op, struct tp_str name, enum tp_attr_kind *kind)
{
	const char *own;

	for (size_t i = 0; (own = tp_op_attr_at(op, i, kind)); i++)
		if (!tp_str_cmp(tp_str(own), name))
			return true;
	return false;
}

enum tp_status
op_attrs_parse(const struct tp_op *op, const struct cli_list *list,
    struct tp_strings *strings, struct op_attrs *out, struct tp_err *err)
{
	enum tp_status rc = TP_OK;

	*out =
	    (struct op_attrs){.items = calloc(list->n + 1, sizeof(*out->items)),
		.memory = calloc(list->n + 1, sizeof(*out->memory))};
	if (!out->items || !out->memory)
		return no_memory(err);
	for (; out->n < list->n && !rc; out->n++) {
		const char *text = list->items[out->n].text;
		const char *equals = strchr(text, '=');
		struct tp_attr *a = &out->items[out->n];

		if (!equals)
			return wrong(text, "not K=V", err);
		a->name = (struct tp_str){text, (size_t)(equals - text)};
		if (!find_kind(op, a->name, &a->kind))
			return wrong(
			    text, "the operator has no such attribute", err);
		rc = parse_value(
		    text, equals + 1, &out->memory[out->n], strings, a, err);
	}
	return rc;
}

void
op_attrs_release(struct op_attrs *a)
{
	for (size_t i = 0; a->memory && i < a->n; i++) {
		free(a->memory[i].text);
		free(a->memory[i].ints);
		free(a->memory[i].floats);
		free(a->memory[i].strings);
		tp_value_release(&a->memory[i].value);
	}
	free(a->items);
	free(a->memory);
	*a = (struct op_attrs){.items = NULL};
}
