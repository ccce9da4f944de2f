/* SPDX-License-Identifier: Apache-2.0 */
/* op.c - finding an operator, and what its rows are made of */
#include "op.h"

#include <inttypes.h>
#include <string.h>

#include "tp/broadcast.h"
#include "tp/onnx_dtype.h"

#include "tensor.h"

#include "banned.h"

#define TP_OP_FAMILY(name) extern const struct tp_op tpi_##name##_ops[];
#include "ops/families.def"
#undef TP_OP_FAMILY

static const struct tp_op *const families[] = {
#define TP_OP_FAMILY(name) tpi_##name##_ops,
#include "ops/families.def"
#undef TP_OP_FAMILY
};

#define N_FAMILIES (sizeof(families) / sizeof(families[0]))

static const char *const attr_kinds[] = {
    [TP_ATTR_INT] = "int",
    [TP_ATTR_FLOAT] = "float",
    [TP_ATTR_STRING] = "string",
    [TP_ATTR_INTS] = "ints",
    [TP_ATTR_FLOATS] = "floats",
    [TP_ATTR_STRINGS] = "strings",
    [TP_ATTR_TENSOR] = "tensor",
    [TP_ATTR_GRAPH] = "graph",
    [TP_ATTR_TYPE] = "type",
};

const char *
tp_attr_kind_name(enum tp_attr_kind kind)
{
	return (unsigned)kind <= TP_ATTR_TYPE ? attr_kinds[kind] : "?";
}

/* The row behind op, which is of family *f; NULL for the first and the last. */
static const struct tp_op *
next_op(const struct tp_op *op, size_t *f)
{
	if (op)
		op++;
	else
		op = families[ *f = 0];
	while (!op->name && ++*f < N_FAMILIES)
		op = families[*f];
	return op->name ? op : NULL;
}

const struct tp_op *
tp_op_at(size_t i)
{
	for (size_t f = 0; f < N_FAMILIES; f++)
		for (const struct tp_op *op = families[f]; op->name; op++)
			if (i-- == 0)
				return op;
	return NULL;
}

struct tp_op_info
tp_op_info(const struct tp_op *op)
{
	return (struct tp_op_info){op->name, op->onnx,
	    op->domain ? op->domain : "", op->since, op->until, op->min_in,
	    op->max_in, op->min_out, op->max_out};
}

const char *
tp_op_attr_at(const struct tp_op *op, size_t i, enum tp_attr_kind *kind)
{
	for (size_t k = 0; op->attrs && op->attrs[k].name; k++)
		if (k == i) {
			*kind = op->attrs[k].kind;
			return op->attrs[k].name;
		}
	return NULL;
}

bool
tp_op_takes(const struct tp_op *op, enum tp_dtype dtype)
{
	if (op->dtypes && !(op->dtypes & TPI_BIT((unsigned)dtype)))
		return false;
	if (dtype == TP_DTYPE_STRING)
		return op->strings_in || op->flags & TPI_OP_VALUES;
	if ((unsigned)dtype >= TP_DTYPE_COUNT || tp_dtype_bits(dtype) == 0)
		return false;
	return !op->kernels || op->kernels[dtype];
}

static bool
is_called(const struct tp_op *op, struct tp_str domain, struct tp_str name)
{
	struct tp_str own = tp_str(op->domain ? op->domain : "");

	if (name.len == 0 || name.s[0] != op->onnx[0] ||
	    tp_str_cmp(tp_str(op->onnx), name))
		return false;
	if (tp_str_cmp(domain, TP_STR("ai.onnx")) == 0)
		domain = TP_STR("");
	return tp_str_cmp(own, domain) == 0;
}

enum tp_status
tp_op_find(struct tp_str domain, struct tp_str name, int opset,
    const struct tp_op **out, struct tp_err *err)
{
	const struct tp_op *op = NULL, *oldest = NULL;
	size_t family = 0;

	*out = NULL;
	while ((op = next_op(op, &family))) {
		if (!is_called(op, domain, name))
			continue;
		if (opset >= op->since && (!op->until || opset <= op->until)) {
			*out = op;
			return TP_OK;
		}
		if (!oldest || op->since < oldest->since)
			oldest = op;
	}
	if (oldest)
		return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
		    "operator %s of opset %d: implemented from opset %d on",
		    oldest->onnx, opset, oldest->since);
	return tp_fail(err, TP_ENOTFOUND, TP_NO_OFFSET,
	    "no operator '%s' in domain '%s'", TP_BRIEF(name),
	    TP_BRIEF(domain));
}

const struct tp_op *
tpi_op_newest(const char *onnx)
{
	const struct tp_op *op = NULL;
	size_t family = 0;

	while ((op = next_op(op, &family)))
		if (!op->until && !strcmp(op->onnx, onnx))
			break;
	return op;
}

static void
no_kernel(void *ctx, char *const *data, const int64_t *steps, size_t n)
{
	(void)ctx;
	(void)data;
	(void)steps;
	(void)n;
}

tp_loop_fn *const tpi_float_dtypes[TP_DTYPE_COUNT] = {
    [TP_DTYPE_F16] = no_kernel,
    [TP_DTYPE_BF16] = no_kernel,
    [TP_DTYPE_F32] = no_kernel,
    [TP_DTYPE_F64] = no_kernel,
};

tp_loop_fn *const tpi_number_dtypes[TP_DTYPE_COUNT] = {
    [TP_DTYPE_F16] = no_kernel,
    [TP_DTYPE_BF16] = no_kernel,
    [TP_DTYPE_F32] = no_kernel,
    [TP_DTYPE_F64] = no_kernel,
    [TP_DTYPE_I32] = no_kernel,
    [TP_DTYPE_I64] = no_kernel,
};

const struct tp_attr *
tpi_attr_find(const struct tpi_call *c, const char *name)
{
	for (size_t i = 0; i < c->n_attrs; i++)
		if (tp_str_cmp(c->attrs[i].name, tp_str(name)) == 0)
			return &c->attrs[i];
	return NULL;
}

int64_t
tpi_attr_int(const struct tpi_call *c, const char *name, int64_t otherwise)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	return a ? a->i : otherwise;
}

double
tpi_attr_float(const struct tpi_call *c, const char *name, double otherwise)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	return a ? a->f : otherwise;
}

enum tp_status
tpi_attr_choice(const struct tpi_call *c, const char *name,
    const char *const *names, unsigned n, unsigned otherwise, unsigned *choice,
    struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	*choice = otherwise;
	if (!a)
		return TP_OK;
	for (unsigned k = 0; k < n; k++)
		if (names[k] && tp_str_cmp(a->s, tp_str(names[k])) == 0) {
			*choice = k;
			return TP_OK;
		}
	return tp_fail(err, TP_EARG, TP_NO_OFFSET, "%s: %s is '%s'",
	    c->op->onnx, name, TP_BRIEF(a->s));
}

enum tp_status
tpi_attr_dtype(const struct tpi_call *c, const char *name,
    enum tp_dtype otherwise, enum tp_dtype *dtype, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);

	*dtype = a ? tp_onnx_dtype(a->i) : otherwise;
	if (*dtype == TP_DTYPE_NONE)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s is %" PRId64 ", the number of no dtype",
		    c->op->onnx, name, a ? a->i : 0);
	return TP_OK;
}

enum tp_status
tpi_op_axis(const struct tpi_call *c, int64_t axis, unsigned rank,
    unsigned *found, struct tp_err *err)
{
	int64_t n = rank;

	if (axis < -n || axis >= n)
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: axis %" PRId64 " of a tensor of rank %u", c->op->onnx,
		    axis, rank);
	*found = (unsigned)(axis < 0 ? axis + n : axis);
	return TP_OK;
}

static int64_t
int_at(const struct tp_tensor *t, int64_t i)
{
	const char *p = tpi_tensor_address(t);

	if (t->rank)
		i *= tp_tensor_strides(t)[0];
	return t->dtype == TP_DTYPE_I64 ? ((const int64_t *)(const void *)p)[i]
					: ((const int32_t *)(const void *)p)[i];
}

enum tp_status
tpi_int_list(const struct tpi_call *c, const char *name, size_t k,
    int64_t *list, size_t *n, bool *given, struct tp_err *err)
{
	const struct tp_attr *a = tpi_attr_find(c, name);
	const struct tp_tensor *t = k < TPI_OP_FEW ? c->in[k] : NULL;
	size_t count;

	*given = a || t;
	*n = 0;
	if (!a && !t)
		return TP_OK;
	if (!a && ((t->dtype != TP_DTYPE_I64 && t->dtype != TP_DTYPE_I32) ||
		      t->rank > 1))
		return tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: %s has dtype %s and shape %s, expected a list of i64",
		    c->op->onnx, name, tp_dtype_name(t->dtype),
		    TP_SHAPE_TEXT(tp_tensor_sizes(t), t->rank));
	count = a ? a->n : (size_t)t->n_elems;
	if (count > TP_MAX_RANK)
		return tp_fail(err, TP_ELIMIT, TP_NO_OFFSET,
		    "%s: %s has %zu elements, the largest rank is %u",
		    c->op->onnx, name, count, TP_MAX_RANK);
	for (size_t i = 0; i < count; i++)
		list[i] = a ? a->ints[i] : int_at(t, (int64_t)i);
	*n = count;
	return TP_OK;
}

bool
tpi_is_strings(const struct tpi_call *c, size_t k)
{
	return k < c->n_in && c->values[k].kind == TP_VALUE_STRINGS;
}

bool
tpi_is_integer(enum tp_dtype dtype)
{
	enum tp_dtype_kind kind = tp_dtype_kind(dtype);

	return kind == TP_KIND_INT || kind == TP_KIND_UINT;
}

bool
tpi_same_shape(const struct tp_tensor *a, const struct tp_tensor *b)
{
	return a->rank == b->rank &&
	       (!a->rank || !memcmp(tp_tensor_sizes(a), tp_tensor_sizes(b),
				a->rank * sizeof(int64_t)));
}

struct tpi_info
tpi_info_of(const struct tp_tensor *t)
{
	struct tpi_info info = {.dtype = t->dtype, .rank = t->rank};

	if (t->rank)
		memcpy(info.sizes, tp_tensor_sizes(t),
		    t->rank * sizeof(info.sizes[0]));
	return info;
}

enum tp_status
tpi_infer_same(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	(void)err;
	infos[0] = tpi_info_of(c->in[0]);
	return TP_OK;
}

enum tp_status
tpi_infer_broadcast(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	struct tpi_info *y = &infos[0];
	enum tp_status rc = TP_OK;

	*y = tpi_info_of(c->in[0]);
	for (size_t k = 1; k < c->n_in && !rc; k++) {
		const struct tp_tensor *t = c->in[k];
		int64_t sizes[TP_MAX_RANK];
		struct tp_shape_ref shapes[] = {{sizes, y->rank}, {NULL, 0}};

		if (!t)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu is missing", c->op->onnx, k);
		shapes[1] = (struct tp_shape_ref){tp_tensor_sizes(t), t->rank};
		if (t->dtype != y->dtype)
			return tp_fail(err, TP_EARG, TP_NO_OFFSET,
			    "%s: input %zu has dtype %s, input 0 has %s",
			    c->op->onnx, k, tp_dtype_name(t->dtype),
			    tp_dtype_name(y->dtype));
		memcpy(sizes, y->sizes, sizeof(sizes));
		rc = tp_broadcast_shape(shapes, 2, y->sizes, &y->rank, err);
	}
	return rc;
}
