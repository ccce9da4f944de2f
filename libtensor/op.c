/* SPDX-License-Identifier: Apache-2.0 */
/* op.c - finding an operator, and what is known of it */
#include "op.h"

#include <string.h>

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
