/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make.c - Constant, ConstantOfShape, EyeLike, Shape, Size: tensors that come
 * from attributes and shapes
 */
#include "moves.h"

#include <inttypes.h>
#include <string.h>

#include "tp/convert.h"
#include "tp/sparse.h"
#include "tp/view.h"

#include "../tensor.h"

#include "../banned.h"

/* A row-major tensor of n numbers of dtype `from`; rank 0 has one. */
static enum tp_status
tensor_of(const struct tpi_call *c, enum tp_dtype dtype, enum tp_dtype from,
    const void *numbers, size_t n, unsigned rank, struct tp_value *out,
    struct tp_err *err)
{
	const int64_t size = (int64_t)n;
	struct tp_tensor *t = NULL;
	enum tp_status rc = tpi_op_temp(c, dtype, &size, rank, &t, err);

	if (!rc && n)
		rc = tp_convert(dtype, tp_tensor_data_mut(t), from, numbers, n,
		    TP_OVERFLOW_INF, 0, NULL, err);
	if (rc)
		tp_tensor_free(t);
	else
		*out = tp_value_of(t);
	return rc;
}

static enum tp_status
strings_of(const struct tpi_call *c, const struct tp_str *texts, size_t n,
    unsigned rank, struct tp_value *out, struct tp_err *err)
{
	const int64_t size = (int64_t)n;
	struct tp_tensor *t = NULL;
	enum tp_status rc = tpi_op_temp(c, TP_DTYPE_U64, &size, rank, &t, err);

	if (!rc && !c->opts->strings)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: no pool of strings was given", c->op->onnx);
	for (size_t i = 0; i < n && !rc; i++)
		rc = tp_strings_add(c->opts->strings, texts[i],
		    (uint64_t *)tp_tensor_data_mut(t) + i, err);
	if (rc)
		tp_tensor_free(t);
	else
		*out = (struct tp_value){TP_VALUE_STRINGS, t, NULL};
	return rc;
}

static enum tp_status
constant_tensor(
    const struct tp_value *v, struct tp_value *out, struct tp_err *err)
{
	struct tp_tensor *dense = NULL;
	enum tp_status rc;

	if (!tp_value_has_tensor(v) || !tp_tensor_is_sparse(v->tensor))
		return tp_value_copy(v, out, err);
	rc = tp_to_dense(v->tensor, &dense, err);
	if (!rc)
		*out = (struct tp_value){v->kind, dense, NULL};
	return rc;
}

static enum tp_status
run_constant(struct tpi_call *c, struct tp_err *err)
{
	const struct tp_attr *a = c->attrs;
	struct tp_value *out = &c->results[0];

	if (c->n_attrs != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %zu values, expected one", c->op->onnx, c->n_attrs);
	switch (a->kind) {
	case TP_ATTR_TENSOR:
		return constant_tensor(a->tensor, out, err);
	case TP_ATTR_INT:
		return tensor_of(
		    c, TP_DTYPE_I64, TP_DTYPE_I64, &a->i, 1, 0, out, err);
	case TP_ATTR_INTS:
		return tensor_of(
		    c, TP_DTYPE_I64, TP_DTYPE_I64, a->ints, a->n, 1, out, err);
	case TP_ATTR_FLOAT:
		return tensor_of(
		    c, TP_DTYPE_F32, TP_DTYPE_F64, &a->f, 1, 0, out, err);
	case TP_ATTR_FLOATS:
		return tensor_of(c, TP_DTYPE_F32, TP_DTYPE_F64, a->floats, a->n,
		    1, out, err);
	case TP_ATTR_STRING:
		return strings_of(c, &a->s, 1, 0, out, err);
	case TP_ATTR_STRINGS:
		return strings_of(c, a->strings, a->n, 1, out, err);
	case TP_ATTR_GRAPH:
	case TP_ATTR_TYPE:
		break;
	}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: a value of kind %s",
	    c->op->onnx, tp_attr_kind_name(a->kind));
}

/* The element of ConstantOfShape, an f32 zero if there is none. */
static enum tp_status
find_element(const struct tpi_call *c, struct tp_value *out, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, "value");
	const struct tp_value *v = a ? a->tensor : NULL;
	struct tp_tensor *element = NULL;
	const double zero = 0;
	enum tp_status rc;

	if (!v)
		return tensor_of(
		    c, TP_DTYPE_F32, TP_DTYPE_F64, &zero, 1, 0, out, err);
	if (!tp_value_has_tensor(v) || tp_tensor_is_sparse(v->tensor) ||
	    tp_tensor_numel(v->tensor) != 1)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: value is not one element", c->op->onnx);
	rc = tp_tensor_reshape(v->tensor, NULL, 0, &element, err);
	if (!rc)
		*out = (struct tp_value){v->kind, element, NULL};
	return rc;
}

/* One element, seen everywhere. */
static enum tp_status
run_constant_of_shape(struct tpi_call *c, struct tp_err *err)
{
	struct tp_value element = {TP_VALUE_NONE, NULL, NULL};
	int64_t sizes[TP_MAX_RANK];
	struct tp_tensor *t = NULL;
	size_t n = 0;
	bool given;
	enum tp_status rc = tpi_int_list(c, "shape", 0, sizes, &n, &given, err);

	for (size_t d = 0; d < n && !rc; d++)
		if (sizes[d] < 0)
			rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: size %" PRId64 " of axis %zu", c->op->onnx,
			    sizes[d], d);
	if (!rc)
		rc = find_element(c, &element, err);
	if (!rc)
		rc = tp_tensor_expand(
		    element.tensor, sizes, (unsigned)n, &t, err);
	if (!rc)
		c->results[0] = (struct tp_value){element.kind, t, NULL};
	tp_value_release(&element);
	return rc;
}

static enum tp_status
infer_shape(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	int64_t rank = c->in[0]->rank;
	int64_t start = tpi_attr_int(c, "start", 0);
	int64_t end = tpi_attr_int(c, "end", rank);

	(void)err;
	tp_slice_clamp(rank, start == TP_OMIT ? start + 1 : start,
	    end == TP_OMIT ? end + 1 : end, 1, &start, &end);
	infos[0] = (struct tpi_info){TP_DTYPE_I64, 1, {end}};
	return TP_OK;
}

static enum tp_status
run_shape(struct tpi_call *c, struct tp_err *err)
{
	int64_t start = tpi_attr_int(c, "start", 0), n;
	const struct tp_tensor *x = c->in[0];

	(void)err;
	tp_slice_clamp(x->rank, start == TP_OMIT ? start + 1 : start, x->rank,
	    1, &start, &n);
	n = (int64_t)c->out[0]->n_elems;
	if (n)
		memcpy(tpi_tensor_address(c->out[0]),
		    tp_tensor_sizes(x) + start, (size_t)n * sizeof(int64_t));
	return TP_OK;
}

static enum tp_status
infer_size(const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	(void)c;
	(void)err;
	infos[0] = (struct tpi_info){.dtype = TP_DTYPE_I64};
	return TP_OK;
}

static enum tp_status
run_size(struct tpi_call *c, struct tp_err *err)
{
	int64_t n = (int64_t)c->in[0]->n_elems;

	(void)err;
	memcpy(tpi_tensor_address(c->out[0]), &n, sizeof(n));
	return TP_OK;
}

static enum tp_status
infer_eye_like(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	enum tp_status rc;

	if (c->in[0]->rank != 2)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: input of rank %u, expected 2", c->op->onnx,
		    c->in[0]->rank);
	infos[0] = tpi_info_of(c->in[0]);
	rc = tpi_attr_dtype(c, "dtype", c->in[0]->dtype, &infos[0].dtype, err);
	if (!rc && (tp_dtype_bits(infos[0].dtype) < 8))
		rc = tp_fail(err, TP_EUNSUPPORTED, TP_NO_OFFSET,
		    "%s of dtype %s", c->op->onnx,
		    tp_dtype_name(infos[0].dtype));
	return rc;
}

/* Ones at [i, i + k]. */
static enum tp_status
run_eye_like(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *y = c->out[0];
	int64_t n_rows = tp_tensor_sizes(y)[0], n = tp_tensor_sizes(y)[1];
	int64_t k = tpi_attr_int(c, "k", 0), row;
	size_t size = tpi_element_size(y);
	char one[16] = {0}, *data = tpi_tensor_address(y);
	const double value = 1;
	enum tp_status rc;

	if (k <= -n_rows || k >= n)
		return TP_OK;
	rc = tp_convert(y->dtype, one, TP_DTYPE_F64, &value, 1, TP_OVERFLOW_INF,
	    0, NULL, err);
	for (row = k < 0 ? -k : 0; row < n_rows && row + k < n && !rc; row++)
		memcpy(data + (size_t)(row * n + row + k) * size, one, size);
	return rc;
}

static const struct tpi_attr_spec constant_1_attrs[] = {
    {"value", TP_ATTR_TENSOR}, {NULL, 0}};
static const struct tpi_attr_spec constant_11_attrs[] = {
    {"sparse_value", TP_ATTR_TENSOR}, {"value", TP_ATTR_TENSOR}, {NULL, 0}};
static const struct tpi_attr_spec constant_attrs[] = {
    {"sparse_value", TP_ATTR_TENSOR}, {"value", TP_ATTR_TENSOR},
    {"value_float", TP_ATTR_FLOAT}, {"value_floats", TP_ATTR_FLOATS},
    {"value_int", TP_ATTR_INT}, {"value_ints", TP_ATTR_INTS},
    {"value_string", TP_ATTR_STRING}, {"value_strings", TP_ATTR_STRINGS},
    {NULL, 0}};
static const struct tpi_attr_spec value_attrs[] = {
    {"value", TP_ATTR_TENSOR}, {NULL, 0}};
static const struct tpi_attr_spec shape_attrs[] = {
    {"end", TP_ATTR_INT}, {"start", TP_ATTR_INT}, {NULL, 0}};
static const struct tpi_attr_spec eye_attrs[] = {
    {"dtype", TP_ATTR_INT}, {"k", TP_ATTR_INT}, {NULL, 0}};

#define CONSTANT(from, to, spec)                                           \
	{                                                                  \
		.name = "constant", .onnx = "Constant", .since = from,     \
		.until = to, .min_out = 1, .max_out = 1,                   \
		.flags = TPI_OP_VALUES, .attrs = spec, .run = run_constant \
	}
#define ROW(op, onnx_name, from, to, how, strings, spec)                    \
	{                                                                   \
		.name = #op, .onnx = onnx_name, .since = from, .until = to, \
		.min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,       \
		.flags = how, .strings_in = strings, .attrs = spec,         \
		.infer = infer_##op, .run = run_##op                        \
	}

const struct tp_op tpi_make_ops[] = {
    CONSTANT(12, 0, constant_attrs),
    CONSTANT(11, 11, constant_11_attrs),
    CONSTANT(1, 10, constant_1_attrs),
    {.name = "constant_of_shape",
	.onnx = "ConstantOfShape",
	.since = 9,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_VALUES,
	.attrs = value_attrs,
	.run = run_constant_of_shape},
    ROW(shape, "Shape", 15, 0, 0, TPI_BIT(0), shape_attrs),
    ROW(shape, "Shape", 1, 14, 0, TPI_BIT(0), NULL),
    ROW(size, "Size", 1, 0, 0, TPI_BIT(0), NULL),
    ROW(eye_like, "EyeLike", 9, 0, TPI_OP_ON_ZEROS, 0, eye_attrs),
    {.name = NULL},
};
