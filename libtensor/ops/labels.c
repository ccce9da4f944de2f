/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.c - LabelEncoder, CategoryMapper: what is in a table, for its keys
 *
 *	opset	keys			values
 *	1	classes_strings, and their numbers, either way
 *	2	keys_KIND		values_KIND	strings, int64s, floats
 *	4	also keys_tensor	values_tensor
 *
 * A key is 64 bits: a whole number, that of a string in the pool, or the bits
 * of a double, where 0 is -0 and all NaN are one. Of equal keys the first holds.
 */
#include "../op.h"

#include <inttypes.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/copy.h"
#include "tp/map.h"
#include "tp/sparse.h"

#include "../tensor.h"
#include "moves.h"

#include "../banned.h"

/* A column of a table: packed numbers, strings as u64. */
struct column {
	enum tp_dtype dtype; /* STRING, or of the numbers */
	struct tp_tensor *t;
};

struct labels {
	struct column keys, values, otherwise;
	struct tp_tensor *bits; /* the keys as u64, which the map points to */
	struct tp_map at;	/* from a key to the row */
};

static enum tp_status
take_strings(const struct tpi_call *c, const struct tp_str *texts, size_t n,
    struct column *out, struct tp_err *err)
{
	enum tp_status rc = tpi_op_temp(
	    c, TP_DTYPE_U64, (const int64_t[]){(int64_t)n}, 1, &out->t, err);

	out->dtype = TP_DTYPE_STRING;
	if (!rc && !c->opts->strings)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: no pool of strings was given", c->op->onnx);
	for (size_t i = 0; i < n && !rc; i++)
		rc = tp_strings_add(c->opts->strings, texts[i],
		    (uint64_t *)tp_tensor_data_mut(out->t) + i, err);
	return rc;
}

static enum tp_status
take_numbers(const struct tpi_call *c, enum tp_dtype dtype, enum tp_dtype from,
    const void *numbers, size_t n, struct column *out, struct tp_err *err)
{
	enum tp_status rc = tpi_op_temp(
	    c, dtype, (const int64_t[]){(int64_t)n}, 1, &out->t, err);

	out->dtype = dtype;
	if (!rc && n)
		rc = tp_convert(dtype, tp_tensor_data_mut(out->t), from,
		    numbers, n, TP_OVERFLOW_INF, 0, NULL, err);
	return rc;
}

static enum tp_status
take_tensor(const struct tpi_call *c, const struct tp_attr *a,
    struct column *out, struct tp_err *err)
{
	const struct tp_value *v = a->tensor;

	if (!tp_value_has_tensor(v) || tp_tensor_is_sparse(v->tensor) ||
	    v->tensor->rank > 1 || tp_dtype_bits(v->tensor->dtype) < 8 ||
	    tp_dtype_kind(v->tensor->dtype) == TP_KIND_COMPLEX)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s is no list of strings or real numbers", c->op->onnx,
		    TP_BRIEF(a->name));
	out->dtype =
	    v->kind == TP_VALUE_STRINGS ? TP_DTYPE_STRING : v->tensor->dtype;
	return tpi_pack_as(c, v->tensor,
	    (const int64_t[]){(int64_t)v->tensor->n_elems}, 1, &out->t, err);
}

static enum tp_status
take_column(const struct tpi_call *c, const struct tp_attr *a,
    struct column *out, struct tp_err *err)
{
	switch (a->kind) {
	case TP_ATTR_STRING:
		return take_strings(c, &a->s, 1, out, err);
	case TP_ATTR_STRINGS:
		return take_strings(c, a->strings, a->n, out, err);
	case TP_ATTR_INT:
		return take_numbers(
		    c, TP_DTYPE_I64, TP_DTYPE_I64, &a->i, 1, out, err);
	case TP_ATTR_INTS:
		return take_numbers(
		    c, TP_DTYPE_I64, TP_DTYPE_I64, a->ints, a->n, out, err);
	case TP_ATTR_FLOAT:
		return take_numbers(
		    c, TP_DTYPE_F32, TP_DTYPE_F64, &a->f, 1, out, err);
	case TP_ATTR_FLOATS:
		return take_numbers(
		    c, TP_DTYPE_F32, TP_DTYPE_F64, a->floats, a->n, out, err);
	case TP_ATTR_TENSOR:
		return take_tensor(c, a, out, err);
	case TP_ATTR_GRAPH:
	case TP_ATTR_TYPE:
		break;
	}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: %s is no list",
	    c->op->onnx, TP_BRIEF(a->name));
}

/* 0, 1, 2, … for the classes of opset 1. */
static enum tp_status
take_counting(
    const struct tpi_call *c, size_t n, struct column *out, struct tp_err *err)
{
	enum tp_status rc = tpi_op_temp(
	    c, TP_DTYPE_I64, (const int64_t[]){(int64_t)n}, 1, &out->t, err);

	out->dtype = TP_DTYPE_I64;
	for (size_t i = 0; i < n && !rc; i++)
		((int64_t *)tp_tensor_data_mut(out->t))[i] = (int64_t)i;
	return rc;
}

/* The one of some attributes that is there, or NULL. */
static enum tp_status
find_one(const struct tpi_call *c, const char *const *names,
    const struct tp_attr **found, struct tp_err *err)
{
	*found = NULL;
	for (; *names; names++) {
		const struct tp_attr *a = tpi_attr_find(c, *names);

		if (a && *found)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: both %s and %s", c->op->onnx,
			    TP_BRIEF((*found)->name), *names);
		if (a)
			*found = a;
	}
	return TP_OK;
}

static enum tp_status
read_encoder(const struct tpi_call *c, struct labels *l, struct tp_err *err)
{
	static const char *const keys[] = {
	    "keys_strings", "keys_int64s", "keys_floats", "keys_tensor", NULL};
	static const char *const values[] = {"values_strings", "values_int64s",
	    "values_floats", "values_tensor", NULL};
	const struct tp_attr *k = NULL, *v = NULL;
	enum tp_status rc = find_one(c, keys, &k, err);

	if (!rc)
		rc = find_one(c, values, &v, err);
	if (!rc && (!k || !v))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: no %s",
		    c->op->onnx, k ? "values" : "keys");
	if (!rc)
		rc = take_column(c, k, &l->keys, err);
	return rc ? rc : take_column(c, v, &l->values, err);
}

/* Strings and numbers, in the direction of the input. */
static enum tp_status
read_pairs(const struct tpi_call *c, struct labels *l, struct tp_err *err)
{
	const struct tp_attr *names = tpi_attr_find(c, "cats_strings");
	const struct tp_attr *numbers = tpi_attr_find(c, "cats_int64s");
	bool from_strings = tpi_is_strings(c, 0);
	struct column *texts = from_strings ? &l->keys : &l->values;
	struct column *ints = from_strings ? &l->values : &l->keys;
	bool counts = c->op->onnx[0] == 'L';
	enum tp_status rc = TP_OK;

	if (counts)
		names = tpi_attr_find(c, "classes_strings");
	if (!names || (!counts && !numbers))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: no categories",
		    c->op->onnx);
	rc = take_column(c, names, texts, err);
	if (!rc)
		rc = counts ? take_counting(c, names->n, ints, err)
			    : take_column(c, numbers, ints, err);
	return rc;
}

/* What those without a key get, by the dtype of the values. */
static enum tp_status
read_default(const struct tpi_call *c, struct labels *l, struct tp_err *err)
{
	const struct tp_str unused = TP_STR("_Unused");
	const int64_t below = -1;
	const double zero = -0.0;
	const struct tp_attr *a = tpi_attr_find(c, "default_tensor");
	enum tp_dtype dtype = l->values.dtype;

	if (!a)
		a = tpi_attr_find(c, dtype == TP_DTYPE_STRING ? "default_string"
				     : tp_dtype_kind(dtype) == TP_KIND_FLOAT
					 ? "default_float"
					 : "default_int64");
	if (a && a->kind != TP_ATTR_INT && a->kind != TP_ATTR_FLOAT)
		return take_column(c, a, &l->otherwise, err);
	if (dtype == TP_DTYPE_STRING)
		return take_strings(c, &unused, 1, &l->otherwise, err);
	if (tp_dtype_kind(dtype) == TP_KIND_FLOAT)
		return take_numbers(c, dtype, TP_DTYPE_F64, a ? &a->f : &zero,
		    1, &l->otherwise, err);
	return take_numbers(
	    c, dtype, TP_DTYPE_I64, a ? &a->i : &below, 1, &l->otherwise, err);
}

static uint64_t
key_at(enum tp_dtype dtype, const void *data, size_t i)
{
	double x;
	uint64_t bits;

	if (dtype == TP_DTYPE_STRING || dtype == TP_DTYPE_I64 ||
	    dtype == TP_DTYPE_U64)
		return ((const uint64_t *)data)[i];
	x = tp_load_f64(dtype, data, i);
	if (tp_dtype_kind(dtype) != TP_KIND_FLOAT)
		return (uint64_t)(int64_t)x;
	if (x != x)
		return UINT64_MAX;
	x += 0.0;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static struct tp_str
text_of(const uint64_t *key)
{
	return (struct tp_str){(const char *)(const void *)key, sizeof(*key)};
}

static enum tp_status
fill_map(const struct tpi_call *c, struct labels *l, struct tp_err *err)
{
	size_t n = (size_t)l->keys.t->n_elems;
	uint64_t *bits;
	enum tp_status rc = tpi_op_temp(
	    c, TP_DTYPE_U64, (const int64_t[]){(int64_t)n}, 1, &l->bits, err);

	if (rc)
		return rc;
	bits = tp_tensor_data_mut(l->bits);
	for (size_t i = 0; i < n && !rc; i++) {
		size_t taken;

		bits[i] = key_at(l->keys.dtype, tp_tensor_data(l->keys.t), i);
		if (!tp_map_find(&l->at, text_of(&bits[i]), &taken))
			rc =
			    tp_map_add(&l->at, text_of(&bits[i]), i, NULL, err);
	}
	return rc;
}

static enum tp_status
check_labels(
    const struct tpi_call *c, const struct labels *l, struct tp_err *err)
{
	enum tp_dtype x =
	    tpi_is_strings(c, 0) ? TP_DTYPE_STRING : c->in[0]->dtype;

	if (l->keys.t->n_elems != l->values.t->n_elems)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %" PRIu64 " keys and %" PRIu64 " values", c->op->onnx,
		    l->keys.t->n_elems, l->values.t->n_elems);
	if (x != l->keys.dtype)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the input has dtype %s, the keys have %s", c->op->onnx,
		    tp_dtype_name(x), tp_dtype_name(l->keys.dtype));
	if (l->otherwise.dtype != l->values.dtype ||
	    l->otherwise.t->n_elems != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: the default is not one %s", c->op->onnx,
		    tp_dtype_name(l->values.dtype));
	return TP_OK;
}

static void
release_labels(struct labels *l)
{
	tp_map_release(&l->at);
	tp_tensor_free(l->bits);
	tp_tensor_free(l->keys.t);
	tp_tensor_free(l->values.t);
	tp_tensor_free(l->otherwise.t);
}

/* Released whatever the outcome. */
static enum tp_status
read_labels(const struct tpi_call *c, struct labels *l, struct tp_err *err)
{
	bool pairs = c->op->onnx[0] == 'C' || c->op->since == 1;
	enum tp_status rc;

	memset(l, 0, sizeof(*l));
	tp_map_init(&l->at, c->alloc);
	rc = pairs ? read_pairs(c, l, err) : read_encoder(c, l, err);
	if (!rc)
		rc = read_default(c, l, err);
	return rc ? rc : check_labels(c, l, err);
}

static enum tp_status
infer_labels(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct labels l;
	enum tp_status rc = read_labels(c, &l, err);

	infos[0] = tpi_info_of(c->in[0]);
	infos[0].dtype = l.values.dtype;
	release_labels(&l);
	return rc;
}

static enum tp_status
run_labels(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *x = NULL;
	struct labels l;
	size_t size = tpi_element_size(c->out[0]);
	enum tp_status rc = read_labels(c, &l, err);

	if (!rc)
		rc = fill_map(c, &l, err);
	if (!rc)
		rc = tp_tensor_contiguous(c->in[0], &x, err);
	for (size_t i = 0; !rc && i < x->n_elems; i++) {
		uint64_t key = key_at(l.keys.dtype, tp_tensor_data(x), i);
		const char *from = tp_tensor_data(l.otherwise.t);
		size_t row;

		if (tp_map_find(&l.at, text_of(&key), &row))
			from = (const char *)tp_tensor_data(l.values.t) +
			       row * size;
		memcpy((char *)tp_tensor_data_mut(c->out[0]) + i * size, from,
		    size);
	}
	tp_tensor_free(x);
	release_labels(&l);
	return rc;
}

/* clang-format off */
#define DEFAULTS {"default_int64", TP_ATTR_INT}, {"default_string", TP_ATTR_STRING}
#define ENCODER_2 DEFAULTS, {"default_float", TP_ATTR_FLOAT}, \
	{"keys_floats", TP_ATTR_FLOATS}, {"keys_int64s", TP_ATTR_INTS}, \
	{"keys_strings", TP_ATTR_STRINGS}, {"values_floats", TP_ATTR_FLOATS}, \
	{"values_int64s", TP_ATTR_INTS}, {"values_strings", TP_ATTR_STRINGS}
static const struct tpi_attr_spec encoder_1_attrs[] = {
    DEFAULTS, {"classes_strings", TP_ATTR_STRINGS}, {NULL, 0}};
static const struct tpi_attr_spec encoder_2_attrs[] = {ENCODER_2, {NULL, 0}};
static const struct tpi_attr_spec encoder_4_attrs[] = {ENCODER_2,
    {"default_tensor", TP_ATTR_TENSOR}, {"keys_tensor", TP_ATTR_TENSOR},
    {"values_tensor", TP_ATTR_TENSOR}, {NULL, 0}};
static const struct tpi_attr_spec mapper_attrs[] = {DEFAULTS,
    {"cats_int64s", TP_ATTR_INTS}, {"cats_strings", TP_ATTR_STRINGS},
    {NULL, 0}};
/* clang-format on */

#define ROW(c_name, onnx_name, from, to, spec)                             \
	{                                                                  \
		.name = c_name, .onnx = onnx_name, .domain = "ai.onnx.ml", \
		.since = from, .until = to, .min_in = 1, .max_in = 1,      \
		.min_out = 1, .max_out = 1, .strings_in = TPI_BIT(0),      \
		.attrs = spec, .infer = infer_labels, .run = run_labels    \
	}

const struct tp_op tpi_labels_ops[] = {
    ROW("label_encoder", "LabelEncoder", 4, 0, encoder_4_attrs),
    ROW("label_encoder", "LabelEncoder", 2, 3, encoder_2_attrs),
    ROW("label_encoder", "LabelEncoder", 1, 1, encoder_1_attrs),
    ROW("category_mapper", "CategoryMapper", 1, 0, mapper_attrs),
    {.name = NULL},
};
