/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.c - the values of tensors: --values NAME[SLICE]
 *
 * Text is that of NumPy's print; JSON has all values in row-major order. The
 * brackets belong to the name when there is a tensor of that name.
 */
#include "inspect.h"

#include <stdlib.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"
#include "tp/print.h"

#include "cli_json.h"
#include "slice.h"
#include "strings.h"
#include "text.h"

#define PIECE 512 /* elements that go to JSON at a time */

/* One argument, resolved: elements in memory, and which of them. */
struct values {
	const struct tp_entry *e;
	struct tp_str slice_text;
	struct slice slice;
	struct tp_tensor *t; /* NULL for strings */
	struct string_array *strings;
};

/* Split the text at a bracket so that what is before it names a tensor. */
static enum tp_status
find_tensor(struct inspect_file *f, const char *text, size_t *entry,
    struct tp_str *slice, struct tp_err *err)
{
	size_t len = strlen(text);

	*slice = TP_STR("");
	*entry = tp_reader_find(f->r, (struct tp_str){text, len});
	if (*entry != TP_NONE)
		return TP_OK;
	if (len == 0 || text[len - 1] != ']')
		len = 0;
	for (size_t i = len; i-- > 0;) {
		if (text[i] != '[')
			continue;
		*entry = tp_reader_find(f->r, (struct tp_str){text, i});
		if (*entry == TP_NONE)
			continue;
		*slice = (struct tp_str){text + i + 1, len - i - 2};
		return TP_OK;
	}
	return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET, "no tensor '%s'",
	    TP_BRIEF(tp_str(text)));
}

static void
close_values(struct values *v)
{
	tp_tensor_free(v->t);
	string_array_free(v->strings);
	v->t = NULL;
	v->strings = NULL;
}

static enum tp_status
open_values(struct inspect_file *f, const char *text, struct values *v,
    struct tp_err *err)
{
	enum tp_status rc;
	size_t entry;

	*v = (struct values){.e = NULL};
	rc = find_tensor(f, text, &entry, &v->slice_text, err);
	if (rc)
		return rc;
	v->e = tp_reader_entry(f->r, entry);
	v->slice.rank = v->e->rank;
	memcpy(v->slice.sizes, v->e->shape,
	    v->e->rank * sizeof(v->slice.sizes[0]));
	if (v->e->dtype == TP_DTYPE_STRING) {
		tp_shape_strides(v->e->shape, v->e->rank, v->slice.strides);
		rc = string_array_new(f->r, entry, &v->strings, err);
	} else {
		rc = tp_reader_tensor(f->r, entry, &v->t, err);
		if (!rc) {
			memcpy(v->slice.strides, tp_tensor_strides(v->t),
			    v->e->rank * sizeof(v->slice.strides[0]));
			v->slice.first = (int64_t)tp_tensor_first(v->t);
		}
	}
	if (!rc)
		rc = slice_apply(&v->slice, v->slice_text, err);
	if (rc)
		close_values(v);
	return rc;
}

/* The chosen elements as the library takes them. */
static struct tp_strided
strided_of(const struct values *v)
{
	struct tp_strided s = tp_tensor_strided(v->t);

	s.rank = v->slice.rank;
	s.sizes = v->slice.sizes;
	s.strides = v->slice.strides;
	s.first = (uint64_t)v->slice.first;
	return s;
}

/* A tp_write_fn. */
static int
write_stdout(void *ctx, const char *s, size_t n)
{
	(void)ctx;
	return fwrite(s, 1, n, stdout) < n;
}

static enum tp_status
put_text(const struct values *v, struct tp_err *err)
{
	struct tp_strided s;
	enum tp_status rc;

	if (v->strings) {
		string_array_print(v->strings, &v->slice, stdout);
		putc('\n', stdout);
		return TP_OK;
	}
	s = strided_of(v);
	rc = tp_print(&s, NULL, write_stdout, NULL, err);
	putc('\n', stdout);
	return rc;
}

/* A failed write is told at the end, by cli_finish. */
static void
report(struct inspect_file *f, const struct tp_err *err)
{
	if (err->status == TP_EARG) {
		cli_message_about(f->path, "--values: %s", err->msg);
		f->status = cli_worst(f->status, CLI_USAGE);
	} else if (err->status && !cli_output_failed()) {
		f->status = cli_worst(f->status, cli_report(f->path, err));
	}
}

void
inspect_values(struct inspect_file *f)
{
	const struct cli_list *list = &inspect_options.values;

	for (size_t i = 0; i < list->n && !cli_output_failed(); i++) {
		struct tp_err err = TP_ERR_INIT;
		struct values v;

		if (i > 0)
			putc('\n', stdout);
		if (list->n > 1) {
			cli_put_name(stdout, tp_str(list->items[i].text),
			    CLI_NAME_COLUMNS);
			fputs(":\n", stdout);
		}
		if (!open_values(f, list->items[i].text, &v, &err))
			(void)!put_text(&v, &err);
		close_values(&v);
		report(f, &err);
	}
}

/* One element of packed data of a dtype that is not narrower than a byte. */
static void
put_json_element(
    struct tp_json *j, enum tp_dtype dtype, const void *data, size_t i)
{
	switch (tp_dtype_kind(dtype)) {
	case TP_KIND_BOOL:
		tp_json_bool(j, ((const uint8_t *)data)[i] != 0);
		return;
	case TP_KIND_UINT:
		tp_json_u64(j, ((const uint64_t *)data)[i]);
		return;
	case TP_KIND_INT:
		tp_json_i64(j, ((const int64_t *)data)[i]);
		return;
	case TP_KIND_FLOAT:
		if (dtype == TP_DTYPE_F64)
			tp_json_double(j, ((const double *)data)[i]);
		else
			tp_json_float(j, ((const float *)data)[i]);
		return;
	case TP_KIND_COMPLEX:
		tp_json_row_begin(j);
		for (size_t part = 2 * i; part < 2 * i + 2; part++)
			if (dtype == TP_DTYPE_C64)
				tp_json_float(j, ((const float *)data)[part]);
			else
				tp_json_double(j, ((const double *)data)[part]);
		tp_json_array_end(j);
		return;
	case TP_KIND_STRING:
	case TP_KIND_NONE:
		tp_json_null(j);
		return;
	}
}

/* Narrow numbers are widened to what put_json_element knows. */
static enum tp_dtype
wide_dtype(enum tp_dtype dtype)
{
	switch (tp_dtype_kind(dtype)) {
	case TP_KIND_UINT:
		return TP_DTYPE_U64;
	case TP_KIND_INT:
		return TP_DTYPE_I64;
	case TP_KIND_FLOAT:
		return dtype == TP_DTYPE_F64 ? dtype : TP_DTYPE_F32;
	case TP_KIND_BOOL:
	case TP_KIND_COMPLEX:
	case TP_KIND_STRING:
	case TP_KIND_NONE:
		return dtype;
	}
	return dtype;
}

static enum tp_status
put_json_numbers(struct tp_json *j, const struct values *v, struct tp_err *err)
{
	enum tp_dtype wide = wide_dtype(v->e->dtype);
	struct tp_strided s = strided_of(v);
	union {
		uint64_t align;
		uint8_t bytes[PIECE * 16];
	} packed, widened;
	uint64_t n_elems;
	enum tp_status rc;

	rc = tp_shape_numel(s.sizes, s.rank, &n_elems, err);
	for (uint64_t at = 0; !rc && at < n_elems; at += PIECE) {
		size_t n =
		    n_elems - at < PIECE ? (size_t)(n_elems - at) : PIECE;

		tp_gather(&s, at, n, packed.bytes);
		rc = tp_convert(wide, widened.bytes, v->e->dtype, packed.bytes,
		    n, TP_OVERFLOW_SATURATE, at, NULL, err);
		for (size_t i = 0; !rc && i < n; i++)
			put_json_element(j, wide, widened.bytes, i);
		if (cli_output_failed())
			break;
	}
	return rc;
}

static void
put_json_slice(struct tp_json *j, const struct values *v, struct tp_err *err)
{
	cli_json_str(j, "tensor", v->e->name);
	cli_json_text(j, "dtype", tp_dtype_name(v->e->dtype));
	tp_json_key(j, "shape");
	tp_json_row_begin(j);
	for (unsigned i = 0; i < v->slice.rank; i++)
		tp_json_i64(j, v->slice.sizes[i]);
	tp_json_array_end(j);
	tp_json_key(j, "values");
	tp_json_row_begin(j);
	if (v->strings)
		string_array_json(v->strings, &v->slice, j);
	else
		(void)!put_json_numbers(j, v, err);
	tp_json_array_end(j);
}

void
inspect_json_values(struct tp_json *j, struct inspect_file *f)
{
	const struct cli_list *list = &inspect_options.values;

	tp_json_key(j, "values");
	tp_json_array_begin(j);
	for (size_t i = 0; i < list->n && !cli_output_failed(); i++) {
		struct tp_err err = TP_ERR_INIT;
		struct values v;

		tp_json_object_begin(j);
		cli_json_text(j, "asked", list->items[i].text);
		if (!open_values(f, list->items[i].text, &v, &err))
			put_json_slice(j, &v, &err);
		if (err.status)
			inspect_json_error(j, &err);
		tp_json_object_end(j);
		close_values(&v);
		report(f, &err);
	}
	tp_json_array_end(j);
}
