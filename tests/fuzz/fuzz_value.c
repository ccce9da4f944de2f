/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_value.c - values of graphs in files of their own: tensors, sequences,
 * optionals
 *
 * What is read has the type that was asked for, and reads the same again.
 */
#include "fuzz.h"

#include <string.h>

#include "tp/copy.h"
#include "tp/onnx_program.h"

#define POOL_BYTES ((size_t)2 << 20)

static const struct tp_type types[] = {
    {TP_VALUE_NONE, TP_VALUE_NONE, TP_DTYPE_NONE},
    {TP_VALUE_TENSOR, TP_VALUE_NONE, TP_DTYPE_F32},
    {TP_VALUE_TENSOR, TP_VALUE_NONE, TP_DTYPE_BF16},
    {TP_VALUE_TENSOR, TP_VALUE_NONE, TP_DTYPE_STRING},
    {TP_VALUE_SEQUENCE, TP_VALUE_TENSOR, TP_DTYPE_F32},
    {TP_VALUE_SEQUENCE, TP_VALUE_TENSOR, TP_DTYPE_STRING},
    {TP_VALUE_OPTIONAL, TP_VALUE_TENSOR, TP_DTYPE_I64},
    {TP_VALUE_OPTIONAL, TP_VALUE_SEQUENCE, TP_DTYPE_F32},
};

static void must_be_same(const struct tp_value *a, const struct tp_value *b);

static void
must_be_same_tensor(const struct tp_tensor *a, const struct tp_tensor *b)
{
	struct tp_strided x = tp_tensor_strided(a), y = tp_tensor_strided(b);
	size_t n = (size_t)tp_tensor_numel(a);
	uint64_t nbytes = 0;
	uint8_t *p, *q;

	MUST(tp_tensor_dtype(a) == tp_tensor_dtype(b));
	MUST(tp_tensor_numel(b) == n);
	MUST(!tp_dtype_nbytes(tp_tensor_dtype(a), n, &nbytes, NULL));
	p = calloc((size_t)nbytes + 1, 1);
	q = calloc((size_t)nbytes + 1, 1);
	MUST(p && q);
	tp_gather(&x, 0, n, p);
	tp_gather(&y, 0, n, q);
	MUST(!memcmp(p, q, (size_t)nbytes));
	free(p);
	free(q);
}

static void
must_be_same(const struct tp_value *a, const struct tp_value *b)
{
	MUST(a->kind == b->kind);
	if (tp_value_has_tensor(a)) {
		must_be_same_tensor(a->tensor, b->tensor);
	} else if (a->kind != TP_VALUE_NONE) {
		MUST(tp_list_count(a->list) == tp_list_count(b->list));
		for (size_t i = 0; i < tp_list_count(a->list); i++)
			must_be_same(
			    tp_list_at(a->list, i), tp_list_at(b->list, i));
	}
}

/* A tensor where nothing was asked for; strings are tensors too. */
static bool
is_of(const struct tp_value *v, const struct tp_type *type)
{
	if (type->kind == TP_VALUE_NONE || type->kind == TP_VALUE_TENSOR)
		return tp_value_has_tensor(v);
	return v->kind == type->kind;
}

static enum tp_status
read_value(const char *path, unsigned flags, const struct tp_type *type,
    struct tp_strings *strings, struct tp_value *out)
{
	const struct tp_open_options o = {
	    .limits = {.expansion = FUZZ_EXPANSION}, .flags = flags};
	struct fuzz_cost cost = {0, 0};
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	fuzz_begin();
	rc = tp_onnx_value_read(path, &o, type, strings, out, &err);
	fuzz_end(&cost, "reading a value");
	MUST(!rc || (err.msg[0] && out->kind == TP_VALUE_NONE));
	MUST(rc || is_of(out, type));
	return rc;
}

/* The same while memory ends; and a file that is not there. */
static void
read_failing(
    const char *path, const struct tp_type *type, struct tp_strings *strings)
{
	struct tp_open_options o = {
	    .limits = {.expansion = FUZZ_EXPANSION}, .alloc = fuzz_failing()};
	struct tp_value v = tp_value_of(NULL);
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	rc = tp_onnx_value_read(path, &o, type, strings, &v, &err);
	MUST(!rc || (err.msg[0] && v.kind == TP_VALUE_NONE));
	tp_value_release(&v);
	fuzz_failed();
	o.alloc = NULL;
	path = fuzz_path("nothing");
	rc = tp_onnx_value_read(path, &o, type, strings, &v, &err);
	MUST(rc == TP_EIO);
}

void
fuzz_input(const uint8_t *data, size_t n)
{
	unsigned choice = fuzz_choice(data, &n);
	const struct tp_type *type = &types[choice % 8];
	const char *path = fuzz_file("input_0.pb", data, n);
	struct tp_value a = tp_value_of(NULL), b = tp_value_of(NULL);
	struct tp_strings *strings = NULL;
	struct tp_err err = TP_ERR_INIT;
	enum tp_status rc;

	MUST_OK(tp_strings_new(NULL, POOL_BYTES, &strings, &err), &err);
	read_failing(path, type, strings);
	rc = read_value(path, 0, type, strings, &a);
	MUST(read_value(path, TP_OPEN_NO_MMAP, type, strings, &b) == rc);
	if (!rc)
		must_be_same(&a, &b);
	tp_value_release(&a);
	tp_value_release(&b);
	tp_strings_free(strings);
}
