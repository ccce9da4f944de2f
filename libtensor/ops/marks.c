/* SPDX-License-Identifier: Apache-2.0 */
/* marks.c - NonZero, OneHot: where something is, and something where it is */
#include "moves.h"

#include <inttypes.h>
#include <string.h>

#include "tp/copy.h"

#include "../tensor.h"
#include "indices.h"

#include "../banned.h"

/*
 * The bits of an element that are not zero where it is not: no sign of floats.
 */
static uint64_t
value_bits(enum tp_dtype dtype)
{
	unsigned bits = tp_dtype_bits(dtype);

	if (tp_dtype_kind(dtype) == TP_KIND_COMPLEX)
		return bits == 64 ? UINT64_C(0x7fffffff7fffffff)
				  : UINT64_C(0x7fffffffffffffff);
	/* Without a minus zero, 0x80 is NaN. */
	if (tp_dtype_kind(dtype) != TP_KIND_FLOAT ||
	    dtype == TP_DTYPE_F8E4M3FNUZ || dtype == TP_DTYPE_F8E5M2FNUZ)
		return UINT64_MAX;
	return (UINT64_C(1) << (bits - 1)) - 1;
}

/* The numbers of elements that are not zero, into list unless it is NULL. */
#define FIND(type)                                          \
	for (size_t i = 0; i < n; i++)                      \
		if (((const type *)data)[i] & (type)mask) { \
			if (list)                           \
				list[count] = (int64_t)i;   \
			count++;                            \
		}

static size_t
find_nonzero(
    const void *data, size_t size, uint64_t mask, size_t n, int64_t *list)
{
	const uint64_t *pair = data;
	size_t count = 0;

	switch (size) {
	case 1:
		FIND(uint8_t)
		break;
	case 2:
		FIND(uint16_t)
		break;
	case 4:
		FIND(uint32_t)
		break;
	case 8:
		FIND(uint64_t)
		break;
	default:
		for (size_t i = 0; i < n; i++)
			if ((pair[2 * i] | pair[2 * i + 1]) & mask) {
				if (list)
					list[count] = (int64_t)i;
				count++;
			}
	}
	return count;
}

/* Row d of the result has coordinate d of each. */
static void
write_coordinates(
    const struct tp_tensor *x, const int64_t *list, size_t n, int64_t *out)
{
	int64_t below = 1;

	for (unsigned d = x->rank; d-- > 0;) {
		int64_t size = tp_tensor_sizes(x)[d];

		for (size_t i = 0; i < n; i++)
			out[d * n + i] = list[i] / below % size;
		below *= size;
	}
}

static enum tp_status
run_nonzero(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *packed = NULL;
	struct tpi_indices list = {0};
	const struct tp_tensor *x = c->in[0];
	/* An E8M0 is a power of two. */
	bool never = x->dtype == TP_DTYPE_F8E8M0;
	uint64_t mask = value_bits(tpi_op_widens(c) ? c->moves : x->dtype);
	size_t n = (size_t)x->n_elems, size = tpi_element_size(x), count = n;
	enum tp_status rc = tp_tensor_contiguous(x, &packed, err);

	if (!rc && !never)
		count =
		    find_nonzero(tp_tensor_data(packed), size, mask, n, NULL);
	if (!rc)
		rc = tpi_indices_make(c, &list, count, err);
	if (!rc && !never)
		find_nonzero(tp_tensor_data(packed), size, mask, n, list.at);
	for (size_t i = 0; i < n && never && !rc; i++)
		list.at[i] = (int64_t)i;
	if (!rc)
		rc = tpi_op_temp(c, TP_DTYPE_I64,
		    (const int64_t[]){x->rank, (int64_t)count}, 2, &c->out[0],
		    err);
	if (!rc)
		write_coordinates(
		    x, list.at, count, tp_tensor_data_mut(c->out[0]));
	tpi_indices_release(&list);
	tp_tensor_free(packed);
	return rc;
}

static enum tp_status
find_depth(const struct tpi_call *c, unsigned *axis, int64_t *depth,
    struct tp_err *err)
{
	struct tpi_indices list = {0};
	enum tp_status rc;

	rc = tpi_op_axis(
	    c, tpi_attr_int(c, "axis", -1), c->in[0]->rank + 1, axis, err);
	if (!rc)
		rc = tpi_indices_from_any(c, 1, &list, err);
	if (!rc && (list.n != 1 || list.at[0] < 0))
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: depth is %zu numbers, the first %" PRId64
		    "; expected one that is not negative",
		    c->op->onnx, list.n, list.n ? list.at[0] : 0);
	if (!rc)
		*depth = list.at[0];
	if (!rc && c->in[2]->n_elems != 2)
		rc = tp_fail(err, TP_EARG, TP_NO_OFFSET,
		    "%s: values has shape %s, expected two elements",
		    c->op->onnx,
		    TP_SHAPE_TEXT(tp_tensor_sizes(c->in[2]), c->in[2]->rank));
	tpi_indices_release(&list);
	return rc;
}

static enum tp_status
infer_one_hot(
    const struct tpi_call *c, struct tpi_info *infos, struct tp_err *err)
{
	const struct tp_tensor *t = c->in[0];
	unsigned axis = 0;
	int64_t depth = 0;
	enum tp_status rc = find_depth(c, &axis, &depth, err);

	infos[0] = (struct tpi_info){.dtype = c->in[2]->dtype};
	for (unsigned d = 0; d <= t->rank && !rc; d++)
		rc = tpi_push_size(c, &infos[0],
		    d == axis ? depth
			      : tp_tensor_sizes(t)[d < axis ? d : d - 1],
		    err);
	return rc;
}

static enum tp_status
run_one_hot(struct tpi_call *c, struct tp_err *err)
{
	struct tp_tensor *y = c->out[0], *values = NULL;
	/* Opset 11 lets negative ones count from the end. */
	bool wraps = c->op->since >= 11;
	size_t size = tpi_element_size(y), inner = 1;
	char *data = tpi_tensor_address(y);
	struct tpi_indices list = {0};
	const char *off;
	unsigned axis = 0;
	int64_t depth = 0;
	enum tp_status rc = find_depth(c, &axis, &depth, err);

	if (!rc)
		rc = tp_tensor_contiguous(c->in[2], &values, err);
	if (!rc)
		rc = tpi_indices_from_any(c, 0, &list, err);
	for (unsigned d = axis + 1; d < y->rank; d++)
		inner *= (size_t)tp_tensor_sizes(y)[d];
	if (!rc) {
		off = tp_tensor_data(values);
		tpi_fill(data, off, size, (size_t)y->n_elems);
	}
	for (size_t i = 0; i < list.n && !rc; i++) {
		int64_t at = list.at[i];
		size_t row;

		if (at < 0 && wraps && at >= -depth)
			at += depth;
		if (at < 0 || at >= depth)
			continue;
		row = i / inner * (size_t)depth + (size_t)at;
		memcpy(
		    data + (row * inner + i % inner) * size, off + size, size);
	}
	tpi_indices_release(&list);
	tp_tensor_free(values);
	return rc;
}

static const struct tpi_attr_spec axis_attrs[] = {
    {"axis", TP_ATTR_INT}, {NULL, 0}};

#define ONE_HOT(from, to)                                                      \
	{                                                                      \
		.name = "one_hot", .onnx = "OneHot", .since = from,            \
		.until = to, .min_in = 3, .max_in = 3, .min_out = 1,           \
		.max_out = 1, .flags = TPI_OP_MOVES, .strings_in = TPI_BIT(2), \
		.strings_out = TPI_BIT(0), .attrs = axis_attrs,                \
		.infer = infer_one_hot, .run = run_one_hot                     \
	}

const struct tp_op tpi_marks_ops[] = {
    ONE_HOT(11, 0),
    ONE_HOT(9, 10),
    {.name = "nonzero",
	.onnx = "NonZero",
	.since = 9,
	.min_in = 1,
	.max_in = 1,
	.min_out = 1,
	.max_out = 1,
	.flags = TPI_OP_MAKES | TPI_OP_MOVES,
	.strings_in = TPI_BIT(0),
	.run = run_nonzero},
    {.name = NULL},
};
